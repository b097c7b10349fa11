"""Checks for lesson 09: a ruler made of padding, and codes of patches without a cross."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case
from course_utils.encodings.functional import sinusoidal_grid, sinusoidal_table

# ★★ A ruler made of padding

PAGES = ((5, 7, 0.5), (1, 12, 0.0), (8, 3, -4.0))  # height, width, brightness
TIMES = 500  # that the layer is applied


def _layer(unit: float, *taps: tuple[int, int, float]) -> tuple[Tensor, float]:
    kernel = torch.zeros(3, 3)
    for row, column, weight in taps:
        kernel[row, column] = weight
    return kernel, unit


def _ruled(got: Any, unit: float) -> str:
    """What is wrong with a kernel and a bias: the first pixel that ends with another number."""
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        return "expected two results, `return kernel, bias`."
    kernel, bias = got
    if not isinstance(kernel, Tensor) or tuple(kernel.shape) != (3, 3):
        shape = tuple(kernel.shape) if isinstance(kernel, Tensor) else type(kernel).__name__
        return f"expected a kernel of shape (3, 3), got {shape}."
    single = isinstance(bias, Tensor) and bias.numel() == 1
    if not single and (isinstance(bias, bool) or not isinstance(bias, (int, float))):
        return f"expected one number for the bias, got {bias!r:.40}."
    weights, added = kernel.detach().cpu().double()[None, None], float(bias)
    for height, width, brightness in PAGES:
        page = torch.full((1, 1, height, width), brightness, dtype=torch.float64)
        for _ in range(TIMES):
            page = F.conv2d(page, weights, padding=1) + added
        wanted = unit * torch.arange(1, width + 1, dtype=torch.float64).expand(height, -1)
        wrong = ~((page[0, 0] - wanted).abs() <= 1e-3 * abs(unit))
        if bool(wrong.any()):
            row, column = (int(i) for i in wrong.nonzero()[0])
            return (
                f"on a page of {height} × {width} pixels, each {brightness:g} at first, the pixel "
                f"in row {row + 1}, column {column + 1} ends at {page[0, 0, row, column]:.4g}, "
                f"not at {wanted[row, column]:g}."
            )
    return ""


check_ruler = Check(
    "ruler",
    lambda unit: _layer(unit, (1, 0, 1.0)),
    cases=[(1.0,), (0.5,), (3.0,), (-2.0,)],
    judge=_ruled,
    mistakes=[
        Mistake(
            "it counts from the right",
            "conv2d does not turn the kernel round. Which neighbour does kernel[1, 2] look at?",
            lambda unit: _layer(unit, (1, 2, 1.0)),
        ),
        Mistake(
            "it counts rows",
            "Which index of the kernel goes down, and which to the right?",
            lambda unit: _layer(unit, (0, 1, 1.0)),
        ),
        Mistake(
            "without a bias the zeros of the padding wipe the page out",
            "Each column has more than the one before. Where could that come from?",
            lambda unit: _layer(0.0, (1, 0, 1.0)),
        ),
        Mistake(
            "each pixel adds to what it had, so the numbers never come to rest",
            "What should a pixel forget, and whose number should it take over?",
            lambda unit: _layer(unit, (1, 1, 1.0)),
        ),
        Mistake(
            "each pixel keeps its own number too, so the numbers grow without end",
            "What should a pixel forget?",
            lambda unit: _layer(unit, (1, 0, 1.0), (1, 1, 1.0)),
        ),
        Mistake(
            "a look at both sides makes a hill: zeros come in from both borders",
            "Which of the four borders shall the ruler start from? Who must not be heard then?",
            lambda unit: _layer(unit, (1, 0, 0.5), (1, 2, 0.5)),
        ),
        Mistake(
            "the mean of all nine makes a hill, for zeros come in from all borders",
            "Which of the four borders shall the ruler start from? Who must not be heard then?",
            lambda unit: (torch.full((3, 3), 1 / 9), unit),
        ),
        Mistake(
            "the pixels above and below take part: in the first and the last row one is padding",
            "Which pixels are in the same row?",
            lambda unit: _layer(unit, *[(row, 0, 1 / 3) for row in range(3)]),
        ),
        Mistake(
            "the unit is always 1",
            "Where does your function use its argument?",
            lambda unit: _layer(1.0, (1, 0, 1.0)),
        ),
        Mistake(
            "the unit is in the kernel: each column has that many times the one before",
            "The numbers shall grow by the same step. Is that a factor, or a summand?",
            lambda unit: _layer(1.0, (1, 0, unit)),
        ),
        Mistake(
            "unit stands in the kernel and in the bias",
            "Columns 1 and 2 differ by one unit. What makes 2 units of 1, a factor or a summand?",
            lambda unit: _layer(unit, (1, 0, unit)),
        ),
    ],
    hints=(
        "Count as a row of people does: each hears the number of one neighbour, and says another.",
        "The first has nobody on that side, and hears the padding: 0. What must everybody add?",
        "The kernel has a single 1, at the left neighbour: kernel[1, 0]. What is left is the bias.",
    ),
)

# ★★ No cross

REACH = 10.0  # patches; offsets so far are looked at
EVEN, FALLEN, FAR = 0.05, 0.8, 4.0


def _page(height: int, width: int, d_model: int) -> Case:
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return rows.flatten(), columns.flatten(), d_model


def _waves(rows: Tensor, columns: Tensor, directions: Tensor, speeds: Tensor) -> Tensor:
    """Codes of waves that run in each of the directions (radians) at each of the speeds."""
    along = rows[:, None] * directions.sin() + columns[:, None] * directions.cos()
    angles = (along[:, :, None] * speeds).flatten(1)
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def _round(rows: Tensor, columns: Tensor, d_model: int, count: int = 8, span: float = 1) -> Tensor:
    directions = torch.arange(count) * (span * math.pi / count)
    return _waves(rows, columns, directions, 0.1 ** torch.linspace(0, 1, d_model // 2 // count))


def _spiral(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    pairs = d_model // 2
    turn, speeds = torch.arange(pairs) * math.pi / pairs, 0.1 ** torch.linspace(0, 1, pairs)
    angles = (rows[:, None] * turn.sin() + columns[:, None] * turn.cos()) * speeds
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def _random(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    waves = 0.4 * torch.randn(2, d_model // 2, generator=generator)
    angles = torch.stack([rows, columns], 1).float() @ waves
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def _evenly(got: Any, rows: Tensor, columns: Tensor, d_model: int) -> str:
    """What is wrong with codes: the two pairs of patches as far apart that differ most."""
    if not isinstance(got, Tensor):
        return f"expected a torch tensor, got {type(got).__name__}."
    if tuple(got.shape) != (len(rows), d_model):
        return f"expected shape {(len(rows), d_model)}, got {tuple(got.shape)}."
    if got.is_complex() or not bool(got.isfinite().all()):
        return "the codes must hold finite real numbers."
    codes = got.detach().cpu().double()
    dots = codes @ codes.T
    own = float(dots.diagonal().mean())
    if not own > 0:
        return "all codes are 0."
    dots = dots / own
    squares = (rows[:, None] - rows).square() + (columns[:, None] - columns).square()
    at_four = float(dots[squares == FAR**2].mean())
    worst, shown = 0.0, (0, 0)
    for square in squares[squares <= REACH**2].unique().tolist():
        at = (squares == square).nonzero()
        found = dots[squares == square]
        if float(found.max() - found.min()) > worst:
            worst = float(found.max() - found.min())
            shown = (int(found.argmax()), int(found.argmin()))
            pairs = [at[one].tolist() for one in shown]
            told = [float(found[one]) for one in shown]
            apart = math.sqrt(square)
    if worst > EVEN:
        first, other = (
            " and ".join(f"({int(rows[i])}, {int(columns[i])})" for i in pair) for pair in pairs
        )
        return (
            f"patches {first} have the dot product {told[0]:.2f}, patches {other} {told[1]:.2f} "
            f"(1: with itself). Both are {apart:.3g} apart."
        )
    if at_four > FALLEN:
        return (
            f"patches 4 apart still have {at_four:.2f} of the dot product of a patch with itself."
        )
    return ""


def _by_distance(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_table((rows.square() + columns.square()).float().sqrt(), d_model, 100.0)


check_round_codes = Check(
    "round_codes",
    _round,
    cases=[_page(16, 16, 128), _page(9, 14, 64), _page(12, 12, 256), _page(20, 4, 128)],
    judge=_evenly,
    mistakes=[
        Mistake(
            "that is the cross",
            "In these codes every wave runs down or across. Where else could waves run?",
            lambda r, c, d: sinusoidal_grid(r, c, d, 100.0),
        ),
        Mistake(
            "that is the cross, with slower waves",
            "In these codes every wave runs down or across. Where else could waves run?",
            lambda r, c, d: sinusoidal_grid(r, c, d),
        ),
        Mistake(
            "the cross is turned by 45 degrees, and still there",
            "Two directions leave a cross. What do more do?",
            lambda r, c, d: _waves(
                r, c, torch.tensor([0.25, 0.75]) * math.pi, 0.1 ** torch.linspace(0, 1, d // 4)
            ),
        ),
        Mistake(
            "four directions leave a star with eight rays",
            "It is rounder than a cross. How could it be rounder still?",
            lambda r, c, d: _round(r, c, d, 4),
        ),
        Mistake(
            "all waves run towards one quarter of the page",
            "A wave looks the same from behind. How far must directions go round?",
            lambda r, c, d: _round(r, c, d, 8, 0.5),
        ),
        Mistake(
            "the first direction and the last are one: half a turn on, a wave looks the same",
            "Which directions do you have, in degrees? Which of them is there twice?",
            lambda r, c, d: _waves(
                r, c, torch.linspace(0, math.pi, 8), 0.1 ** torch.linspace(0, 1, d // 16)
            ),
        ),
        Mistake(
            "each speed runs in a direction of its own, so each alone prefers its direction",
            "What must every speed do for the sum to be round?",
            _spiral,
        ),
        Mistake(
            "directions and speeds are drawn at random, and so few are not even",
            "How could you spread them without luck?",
            _random,
        ),
        Mistake(
            "that is the distance from the corner, not of two patches from each other",
            "Which patches are as far from the corner as (3, 4)? Do they lie together?",
            _by_distance,
        ),
        Mistake(
            "patches are counted row by row, so the one below is far away",
            "What should two patches have in common that lie one above the other?",
            lambda r, c, d: sinusoidal_table(r * (c.max() + 1) + c, d, 100.0),
        ),
    ],
    hints=(
        "Two numbers make a wave over the page. In the lesson's codes each runs down or across.",
        "A wave in direction φ: cos and sin of θ · (row · sin φ + column · cos φ). Take several φ.",
        "8 directions, evenly over half a turn, without its end; each with the same d_model / 16 "
        "speeds, from 1 down to 0.1.",
    ),
)
