"""Checks for lesson 09: a ruler made of padding, codes without a cross, a head that counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import no_tensor
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case, Rule
from course_utils.encodings.functional import (
    contextual_counts,
    interpolated,
    sinusoidal_grid,
    sinusoidal_table,
)

Pair = tuple[int, int]

# ★ A ruler made of padding

PAGES = ((5, 7, 0.5), (1, 12, 0.0), (8, 3, -4.0))  # height, width, brightness
STEPS = 500  # how often the layer is applied


def _layer(unit: float, *taps: tuple[int, int, float]) -> tuple[Tensor, float]:
    kernel = torch.zeros(3, 3)
    for row, column, weight in taps:
        kernel[row, column] = weight
    return kernel, unit


def _judge_ruler(answer: Any, unit: float) -> str:
    """Say what is wrong with a kernel and a bias: the first pixel that ends at a wrong number."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return "expected two results, `return kernel, bias`."
    kernel, bias = answer
    if not isinstance(kernel, Tensor) or tuple(kernel.shape) != (3, 3):
        shape = tuple(kernel.shape) if isinstance(kernel, Tensor) else type(kernel).__name__
        return f"expected a kernel of shape (3, 3), got {shape}."
    is_tensor = isinstance(bias, Tensor) and bias.numel() == 1
    is_number = isinstance(bias, (int, float)) and not isinstance(bias, bool)
    if not is_tensor and not is_number:
        return f"expected one number for the bias, got {bias!r:.40}."
    weights = kernel.detach().cpu().double()[None, None]
    for height, width, brightness in PAGES:
        page = torch.full((1, 1, height, width), brightness, dtype=torch.float64)
        for _ in range(STEPS):
            page = F.conv2d(page, weights, padding=1) + float(bias)
        expected = unit * torch.arange(1, width + 1, dtype=torch.float64).expand(height, -1)
        wrong = ~((page[0, 0] - expected).abs() <= 1e-3 * abs(unit))
        if bool(wrong.any()):
            row, column = wrong.nonzero()[0].tolist()
            return (
                f"on a page of {height} × {width} pixels, each {brightness:g} at first, the pixel "
                f"in row {row + 1}, column {column + 1} ends at {page[0, 0, row, column]:.4g}, "
                f"not at {expected[row, column]:g}. {_ask_ruler(page[0, 0, row], unit)}"
            )
    return ""


def _ask_ruler(ended: Tensor, unit: float) -> str:
    """Return a question on one row of a page (width,) that did not end as a ruler."""
    if not float(ended.abs().max()) < 1e6:
        return "What do the weights of a pixel add up to? What then becomes of a number each time?"
    if abs(float(ended[0]) - unit) > 1e-3 * abs(unit):
        return (
            "In the first column the pixel on the left is padding. What does a pixel there get in "
            f"pass 1, and in pass {STEPS}?"
        )
    return "The first column is right. What does the second make of the number in the first?"


check_ruler = Check(
    "ruler",
    lambda unit: _layer(unit, (1, 0, 1.0)),
    cases=[(1.0,), (0.5,), (3.0,), (-2.0,)],
    judge=_judge_ruler,
    mistakes=[
        Mistake(
            "it counts from the right",
            "conv2d does not flip the kernel. Which neighbour does kernel[1, 2] look at?",
            lambda unit: _layer(unit, (1, 2, 1.0)),
        ),
        Mistake(
            "it counts rows",
            "Which index of the kernel goes down, and which to the right?",
            lambda unit: _layer(unit, (0, 1, 1.0)),
        ),
        Mistake(
            "without a bias the zeros of the padding erase the page",
            "Each column has more than the one before. Where could that come from?",
            lambda unit: _layer(0.0, (1, 0, 1.0)),
        ),
        Mistake(
            "each pixel adds to its own number, so the numbers never settle",
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
            "From which of the four borders should the ruler start? Which pixels must then have no "
            "say?",
            lambda unit: _layer(unit, (1, 0, 0.5), (1, 2, 0.5)),
        ),
        Mistake(
            "the mean of all nine makes a hill: zeros come in from all borders",
            "From which of the four borders should the ruler start? Which pixels must then have no "
            "say?",
            lambda unit: (torch.full((3, 3), 1 / 9), unit),
        ),
        Mistake(
            "the pixels above and below take part: in the first and the last row one is padding",
            "Which pixels are in the same row?",
            lambda unit: _layer(unit, *[(row, 0, 1 / 3) for row in range(3)]),
        ),
        Mistake(
            "it adds up the three pixels on the left, so the numbers grow without end",
            "How many people should each hear?",
            lambda unit: _layer(unit, *[(row, 0, 1.0) for row in range(3)]),
        ),
        Mistake(
            "it looks up and to the left: zeros come in from the top, too",
            "Which pixels are in the same row?",
            lambda unit: _layer(unit, (0, 0, 1.0)),
        ),
        Mistake(
            "it looks down and to the left: zeros come in from below, too",
            "Which pixels are in the same row?",
            lambda unit: _layer(unit, (2, 0, 1.0)),
        ),
        Mistake(
            "it counts rows, from below",
            "Which index of the kernel goes down, and which to the right?",
            lambda unit: _layer(unit, (2, 1, 1.0)),
        ),
        Mistake(
            "it takes away what the right neighbour has",
            "A ruler starts at one border. Which neighbour does that border tell, and which should "
            "have no say?",
            lambda unit: _layer(unit, (1, 0, 1.0), (1, 2, -1.0)),
        ),
        Mistake(
            "it counts down from the right border, and that starts anew with each width",
            "Which border is always one column away from column 1?",
            lambda unit: _layer(-unit, (1, 2, 1.0)),
        ),
        Mistake(
            "it takes differences, and without a bias they all end at 0, or grow without end",
            "What should a pixel forget, and whose number should it take over?",
            lambda unit: _layer(0.0, (1, 0, -unit), (1, 1, unit)),
        ),
        Mistake(
            "it takes what the left neighbour has from its own number",
            "What should a pixel forget, and whose number should it take over?",
            lambda unit: _layer(unit, (1, 1, 1.0), (1, 0, -1.0)),
        ),
        Mistake(
            "each pixel goes half of the way to its neighbour's number, and then a whole unit on, "
            "so two columns differ by two units",
            "In the end nothing moves any more. By how much does such a layer then let neighbours "
            "differ?",
            lambda unit: _layer(unit, (1, 0, 0.5), (1, 1, 0.5)),
        ),
        Mistake(
            "the unit is always 1",
            "Where does your function use its argument?",
            lambda unit: _layer(1.0, (1, 0, 1.0)),
        ),
        Mistake(
            "the unit is in the kernel: each column is that many times the one before",
            "The numbers should grow by equal steps. Is such a step a factor or a summand?",
            lambda unit: _layer(1.0, (1, 0, unit)),
        ),
        Mistake(
            "the unit is in the kernel and in the bias",
            "Columns 1 and 2 differ by one unit. Does a factor or a summand make 2 units of 1?",
            lambda unit: _layer(unit, (1, 0, unit)),
        ),
    ],
    hints=(
        "Count as people in a row do: each hears a neighbour's number and says another.",
        "The first has nobody on that side and hears the padding: 0. What must everybody add?",
        "One entry of the kernel is enough. Which pixel is it for? And must a number that is "
        "passed on grow or shrink?",
    ),
)

# ★★ No cross

REACH = 10.0  # patches: longest offset that is judged
SPREAD = 0.05  # most by which dot products of patches equally far apart may differ
FAR = 4  # patches apart at which dot products must have fallen
SECONDS_OF_PAGE = 5.0  # the longest that codes to be drawn may take
FALLEN = 0.8  # most that may be left there, of the dot product of a patch with itself


def _page(height: int, width: int, d_model: int) -> Case:
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    return rows.flatten(), columns.flatten(), d_model


def _speeds(count: int) -> Tensor:
    """Return this many speeds from 1 to 0.1 radians a patch."""
    return 0.1 ** torch.linspace(0, 1, count)


def _codes_of_angles(angles: Tensor) -> Tensor:
    return torch.cat([angles.cos(), angles.sin()], dim=1)


def _along(rows: Tensor, columns: Tensor, directions: Tensor) -> Tensor:
    """Return how far each patch lies in each direction (radians), (patches, directions)."""
    return rows[:, None] * directions.sin() + columns[:, None] * directions.cos()


def _waves(rows: Tensor, columns: Tensor, directions: Tensor, speeds: Tensor) -> Tensor:
    """Return codes of waves that run in each of the directions at each of the speeds."""
    return _codes_of_angles((_along(rows, columns, directions)[:, :, None] * speeds).flatten(1))


def _even_directions(
    rows: Tensor, columns: Tensor, d_model: int, count: int = 8, span: float = math.pi
) -> Tensor:
    directions = torch.arange(count) * span / count
    return _waves(rows, columns, directions, _speeds(d_model // 2 // count))


def _cross(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_grid(rows, columns, d_model, 100.0)


def _cross_of_slow_waves(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_grid(rows, columns, d_model)


def _turned_cross(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    directions = torch.tensor([0.25, 0.75]) * math.pi
    return _waves(rows, columns, directions, _speeds(d_model // 4))


def _two_crosses(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    straight = _cross(rows, columns, d_model // 2)
    return torch.cat([straight, _turned_cross(rows, columns, d_model // 2)], dim=1)


def _last_direction_repeated(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return _waves(rows, columns, torch.linspace(0, math.pi, 8), _speeds(d_model // 16))


def _one_direction_a_speed(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    pairs = d_model // 2
    directions = torch.arange(pairs) * math.pi / pairs
    return _codes_of_angles(_along(rows, columns, directions) * _speeds(pairs))


def _one_speed(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return _waves(rows, columns, torch.arange(d_model // 2) * 2 * math.pi / d_model, torch.ones(1))


def _random_waves(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    waves = 0.4 * torch.randn(2, d_model // 2, generator=generator)
    return _codes_of_angles(torch.stack([rows, columns], 1).float() @ waves)


def _distance_from_the_corner(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_table((rows.square() + columns.square()).float().sqrt(), d_model, 100.0)


def _squared_distance_from_the_corner(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_table(rows.square() + columns.square(), d_model, 100.0)


def _distance_from_the_middle(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    """Codes of the distance from patch (8, 8), mine in the lesson's picture."""
    squares = (rows - 8).square() + (columns - 8).square()
    return sinusoidal_table(squares.float().sqrt(), d_model, 100.0)


def _row_by_row(rows: Tensor, columns: Tensor, d_model: int) -> Tensor:
    return sinusoidal_table(rows * (columns.max() + 1) + columns, d_model, 100.0)


def _judge_codes(codes: Any, rows: Tensor, columns: Tensor, d_model: int) -> str:
    """Say what is wrong with codes of patches.

    If their dot products depend on more than distance, name two pairs of patches that show it, and
    ask what it comes from.
    """
    if text := no_tensor(codes):
        return text
    if tuple(codes.shape) != (len(rows), d_model):
        return (
            f"expected shape {(len(rows), d_model)}, got {tuple(codes.shape)}. A wave takes two "
            f"columns, a cosine and a sine: there is room for {d_model // 2}."
        )
    if codes.is_complex() or not bool(codes.isfinite().all()):
        return "the codes must hold finite real numbers."
    dots = _dot_products(codes)
    if not bool(dots.isfinite().all()):
        return "all codes are 0."
    return (
        _unequal_lengths(dots, rows, columns)
        or _unlike_places(dots, rows, columns)
        or _unlike_directions(dots, rows, columns)
        or _too_alike(dots, rows, columns)
        or _come_round(dots, rows, columns)
    )


def _dot_products(codes: Tensor) -> Tensor:
    """Return the dot products of all pairs, divided by the mean of those of a code with itself."""
    codes = codes.detach().cpu().double()
    dots = codes @ codes.T
    return dots / dots.diagonal().mean()


def _seen_as(codes: Any, rows: Tensor, columns: Tensor, d_model: int) -> Any:
    """Return what codes do: their dot products, in whatever order their columns stand."""
    if not isinstance(codes, Tensor) or tuple(codes.shape) != (len(rows), d_model):
        return codes
    return codes if codes.is_complex() else _dot_products(codes)


def _unequal_lengths(dots: Tensor, rows: Tensor, columns: Tensor) -> str:
    own = dots.diagonal()
    longest, shortest = int(own.argmax()), int(own.argmin())
    if own[longest] - own[shortest] <= SPREAD:
        return ""
    long, short = (_patch(patch, rows, columns) for patch in (longest, shortest))
    return (
        f"the codes differ in length: the dot product of patch {long} with itself is "
        f"{own[longest]:.2f}, that of {short} {own[shortest]:.2f} (their mean: 1). Which two "
        "columns give a wave one length wherever it stands? And what comes of it if waves of rows "
        "and of columns share a column of the code?"
    )


def _unlike_places(dots: Tensor, rows: Tensor, columns: Tensor) -> str:
    """Name two pairs with the same offset whose dot products differ."""
    down, right = rows - rows[:, None], columns - columns[:, None]
    offsets = down * 1000 + right
    near = (down.square() + right.square() <= REACH**2) & (offsets > 0)
    extremes = [_extremes(dots, offsets, offset) for offset in offsets[near].unique().tolist()]
    high, low = max(extremes, key=lambda pair: dots[pair[0]] - dots[pair[1]])
    if dots[high] - dots[low] <= SPREAD:
        return ""
    return (
        f"{_two_pairs(dots, high, low, rows, columns)} The second patch is {int(down[high])} down "
        f"and {int(right[high])} to the right both times, so it matters where the two stand. What "
        "do cos a · cos b + sin a · sin b depend on? Has each of your cosines its sine?"
    )


def _unlike_directions(dots: Tensor, rows: Tensor, columns: Tensor) -> str:
    """Name two pairs equally far apart whose dot products differ, and the pattern behind it."""
    squares = (rows[:, None] - rows).square() + (columns[:, None] - columns).square()
    extremes = [_extremes(dots, squares, square) for square in _squares_within(squares, REACH)]
    high, low = max(extremes, key=lambda pair: dots[pair[0]] - dots[pair[1]])
    if dots[high] - dots[low] <= SPREAD:
        return ""
    question = (
        "In which directions do your waves run, in degrees? Are they many enough, evenly spread, "
        "and does each have all speeds?"
    )
    if _joined(dots, rows, columns, lambda down, right: down + right - 1):
        question = "Every wave runs down or across, so this is the cross. Where else could they?"
    elif _joined(dots, rows, columns, lambda down, right: down * right):
        question = (
            "A curve for rows is multiplied by one for columns. For which curve f does f(a) · f(b) "
            "depend on a² + b² alone?"
        )
    return (
        f"{_two_pairs(dots, high, low, rows, columns)} Both are {float(squares[high]) ** 0.5:.3g} "
        f"apart, at {_degrees(high, rows, columns)}° and at {_degrees(low, rows, columns)}°. "
        f"{question}"
    )


def _degrees(pair: Pair, rows: Tensor, columns: Tensor) -> int:
    """Return in which direction one patch lies from the other, from 0 (right) to 179."""
    first, second = pair
    down, right = int(rows[second] - rows[first]), int(columns[second] - columns[first])
    return round(math.degrees(math.atan2(down, right))) % 180


def _joined(
    dots: Tensor, rows: Tensor, columns: Tensor, join: Callable[[Tensor, Tensor], Tensor]
) -> bool:
    """Whether the first patch sees all others by joining what it sees down and to the right."""
    of_first = {
        place: dots[0, n]
        for n, place in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))
    }
    height, width = int(rows.max()) + 1, int(columns.max()) + 1
    down = torch.stack([of_first[row, 0] for row in range(height)])
    right = torch.stack([of_first[0, column] for column in range(width)])
    page = torch.stack([torch.stack([of_first[r, c] for c in range(width)]) for r in range(height)])
    return bool((page - join(down[:, None], right)).abs().max() < 1e-3)


def _too_alike(dots: Tensor, rows: Tensor, columns: Tensor) -> str:
    squares = (rows[:, None] - rows).square() + (columns[:, None] - columns).square()
    left = float(dots[squares == FAR**2].mean())
    if left <= FALLEN:
        return ""
    return (
        f"patches {FAR} apart still have {left:.2f} of the dot product of a patch with itself. "
        "What would faster waves do?"
    )


def _come_round(dots: Tensor, rows: Tensor, columns: Tensor) -> str:
    """Name two distances of which the longer has the larger dot product, on average."""
    squares = (rows[:, None] - rows).square() + (columns[:, None] - columns).square()
    rings = _squares_within(squares, REACH)
    means = torch.stack([dots[squares == square].mean() for square in rings])
    rises = means - means.cummin(0).values
    far = int(rises.argmax())
    if rises[far] <= SPREAD:
        return ""
    near = int(means[:far].argmin())
    return (
        f"patches {rings[far] ** 0.5:.3g} apart have {means[far]:.2f} on average, patches "
        f"{rings[near] ** 0.5:.3g} apart {means[near]:.2f}. A wave comes round again. Which "
        "speeds does each of your directions have, and where do they all agree?"
    )


def _two_pairs(dots: Tensor, high: Pair, low: Pair, rows: Tensor, columns: Tensor) -> str:
    return (
        f"patches {_patches(high, rows, columns)} have the dot product {dots[high]:.2f}, patches "
        f"{_patches(low, rows, columns)} {dots[low]:.2f} (1: with itself)."
    )


def _squares_within(squares: Tensor, reach: float) -> list[int]:
    """Return the squared distances that occur between patches, up to a distance."""
    return squares[squares <= reach**2].unique().tolist()


def _extremes(dots: Tensor, kinds: Tensor, kind: int) -> tuple[Pair, Pair]:
    """Return the two pairs of patches of one kind with the highest and lowest dot product."""
    pairs = (kinds == kind).nonzero()
    there = dots[kinds == kind]
    first, second = pairs[there.argmax()].tolist()
    other_first, other_second = pairs[there.argmin()].tolist()
    return (first, second), (other_first, other_second)


def _patches(pair: Pair, rows: Tensor, columns: Tensor) -> str:
    return " and ".join(_patch(i, rows, columns) for i in pair)


def _patch(patch: int, rows: Tensor, columns: Tensor) -> str:
    return f"({int(rows[patch])}, {int(columns[patch])})"


class OfItsOwn(Rule):
    """A patch has the same code, whatever other patches are on the page."""

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say so where half of the patches get other codes when they come alone."""
        rows, columns, d_model = cases[0]
        codes = call(answer, cases[0], seconds).answer
        alone = call(answer, (rows[1::2], columns[1::2], d_model), seconds).answer
        is_same = isinstance(alone, Tensor) and alone.shape == codes[1::2].shape
        if is_same and torch.allclose(alone, codes[1::2], rtol=0, atol=1e-4):
            return ""
        return (
            "patches get other codes when half of the page is missing. A patch's code should come "
            "from its own row and column."
        )


check_round_codes = Check(
    "round_codes",
    _even_directions,
    cases=[_page(16, 16, 128), _page(9, 14, 64), _page(12, 12, 256), _page(20, 4, 128)],
    judge=_judge_codes,
    effect=_seen_as,
    rules=[OfItsOwn()],
    mistakes=[
        Mistake(
            "this is the cross",
            "In these codes every wave runs down or across. Where else could waves run?",
            _cross,
        ),
        Mistake(
            "this is the cross, with slower waves",
            "In these codes every wave runs down or across. Where else could waves run?",
            _cross_of_slow_waves,
        ),
        Mistake(
            "the cross is turned by 45 degrees and still there",
            "Two directions leave a cross. What do more directions leave?",
            _turned_cross,
        ),
        Mistake(
            "four directions leave a star with eight rays",
            "It is rounder than a cross. How could it be rounder still?",
            lambda rows, columns, d: _even_directions(rows, columns, d, 4),
        ),
        Mistake(
            "eight directions round a full circle are four, each there twice",
            "A wave looks the same from behind. Which of your directions are one?",
            lambda rows, columns, d: _even_directions(rows, columns, d, 8, 2 * math.pi),
        ),
        Mistake(
            "a cross and a cross turned by 45 degrees make a star with eight rays",
            "It is rounder than a cross. How could it be rounder still?",
            _two_crosses,
        ),
        Mistake(
            "all waves run towards one quarter of the page",
            "A wave looks the same from behind. How far round must the directions go?",
            lambda rows, columns, d: _even_directions(rows, columns, d, 8, math.pi / 2),
        ),
        Mistake(
            "the first direction and the last are the same: half a turn on, a wave looks as before",
            "Which directions do you have, in degrees? Which of them is there twice?",
            _last_direction_repeated,
        ),
        Mistake(
            "each speed runs in a direction of its own. Such codes are in use, and cheap, but each "
            "speed prefers its direction, by more than 5 %",
            "What must every speed do for the sum to be rounder?",
            _one_direction_a_speed,
        ),
        Mistake(
            "all waves have one speed, and they come round again: patches 7 apart have more than "
            "patches 3 apart",
            "What would spread the returns?",
            _one_speed,
        ),
        Mistake(
            "directions and speeds are random, and so few of them are not spread evenly",
            "How could you spread them without luck?",
            _random_waves,
        ),
        Mistake(
            "this is the distance from one point, not of two patches from each other",
            "Which patches are as far from that point as (3, 4)? Do they lie together?",
            _distance_from_the_corner,
            _squared_distance_from_the_corner,
            _distance_from_the_middle,
        ),
        Mistake(
            "patches are counted row by row, so the one below is far away",
            "What should two patches have in common that lie one above the other?",
            _row_by_row,
        ),
    ],
    hints=(
        "Two numbers make a wave over the page. In the lesson's codes each runs down or across.",
        "A wave in direction φ: cos and sin of θ · (row · sin φ + column · cos φ). Take several φ.",
        "A wave looks the same from behind, so half a turn of directions is enough. Four are too "
        "few. Each direction gets all the speeds.",
    ),
)


def dots_with(answer: Function, rows: Tensor, columns: Tensor, patch: int) -> Tensor | None:
    """Return the dot products of one patch's code with all, (patches,), 1 with itself.

    The codes are those of an answer to ``check_round_codes``, 128 wide; None if it gives none.
    """
    codes = call(answer, (rows, columns, 128), SECONDS_OF_PAGE).answer
    if not isinstance(codes, Tensor) or codes.ndim != 2 or len(codes) != len(rows):
        return None
    dots = (codes @ codes[patch]).detach().float()
    return dots / dots[patch] if dots.isfinite().all() and dots[patch] > 0 else None


# ★ The second comma from the end

SHARE = 0.9  # least weight that the second comma must get
LONG = " ".join(["so"] * 100)  # words without a comma
COMMAS = (
    "one , two , three , four",
    "He came , saw , and won . Then , he said , all was well .",
    "a , b , c , d , e ,",
    f"now , {LONG} , and {LONG} , then {LONG} .",
    f"{LONG} , well , yes",
)
Head = tuple[Tensor, Tensor]


def _head(
    tokens: Sequence[str],
    *,
    comma: float = 10.0,
    word: float = -10.0,
    liked: int = 2,
    by: float = 12.0,
) -> Head:
    """Return scores of commas and of all else, and a liking of one count."""
    scores = torch.tensor([comma if token == "," else word for token in tokens])
    return scores, _liking(liked, by)


def _liking(count: int, by: float) -> Tensor:
    liking = torch.zeros(8)
    liking[count] = by
    return liking


def _full_stops(tokens: Sequence[str]) -> Head:
    return _head(["," if token == "." else "" for token in tokens])


def _from_two_on(tokens: Sequence[str]) -> Head:
    scores, liking = _head(tokens)
    liking[2:] = 12.0
    return scores, liking


def _table_ends_at_two(tokens: Sequence[str]) -> Head:
    scores, liking = _head(tokens)
    return scores, liking[:3]


def _one_token_only(tokens: Sequence[str]) -> Head:
    scores, liking = _head(tokens)
    commas = (scores > 0).nonzero()
    scores[:] = -10.0
    scores[commas[-2]] = 10.0
    return scores, liking


def _judge_head(answer: Any, tokens: Sequence[str]) -> str:
    """Say what is wrong with a head: its form, or how much the second comma gets, and why."""
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return "expected two results, `return scores, liking`."
    scores, liking = answer
    for name, vector, least in (("scores", scores, len(tokens)), ("liking", liking, 2)):
        if not isinstance(vector, Tensor) or vector.ndim != 1:
            return f"expected {name} to be a tensor with one axis."
        if vector.dtype == torch.bool or not bool(vector.isfinite().all()):
            return (
                f"expected {name} to hold finite numbers, not True, infinite or NaN: they are dot "
                "products."
            )
        if len(vector) < least:
            return f"expected at least {least} {name}, got {len(vector)}."
    if len(scores) != len(tokens):
        return f"expected {len(tokens)} scores, one for each token, got {len(scores)}."
    scores, liking = scores.detach().cpu().double(), liking.detach().cpu().double()
    for token in dict.fromkeys(tokens):
        of_token = [float(scores[j]) for j, other in enumerate(tokens) if other == token]
        if max(of_token) - min(of_token) > 1e-6:
            return (
                f"the scores of “{token}” differ from place to place. A key knows its token, not "
                "where it stands: leave the counting to the gates."
            )
    return _weight_of_second_comma(scores, liking, tokens)


def _weight_of_second_comma(scores: Tensor, liking: Tensor, tokens: Sequence[str]) -> str:
    row = torch.arange(len(tokens))
    counts = contextual_counts(scores[None], row[-1:], row)[0]
    weights = (scores + interpolated(liking, counts)).softmax(0)
    second = [j for j, token in enumerate(tokens) if token == ","][-2]
    if weights[second] >= SHARE:
        return ""
    best = int(weights.argmax())
    return (
        f"the second comma, {len(tokens) - 1 - second} back, gets {weights[second]:.2f} of the "
        f"weight. Its count is {counts[second]:.2f}. Most weight, {weights[best]:.2f}, goes to "
        f"“{tokens[best]}”, {len(tokens) - 1 - best} back. {_question(scores, tokens, second)}"
    )


def _question(scores: Tensor, tokens: Sequence[str], second: int) -> str:
    """Ask about the gates if they miscount, else about the liking."""
    gates = scores.sigmoid()
    others = [float(gates[j]) for j in range(second, len(tokens)) if tokens[j] != ","]
    if bool(((scores >= 0) & (scores <= 1)).all()):
        return "Scores from 0 to 1 look like gates. What does the sigmoid make of 0, of ½ and of 1?"
    if gates[second] < 0.95:
        return (
            f"A comma's gate is open by {gates[second]:.3g}, where it should count 1. What does "
            f"the sigmoid make of {scores[second]:g}?"
        )
    if sum(others) > 0.05:
        return (
            f"The {len(others)} other tokens after it add {sum(others):.2f} to the count, each up "
            f"to {max(others):.3g}. How far must their gates be shut?"
        )
    return (
        "The count is right. Which row of the liking is read there, and how much more does the "
        "second comma get than the others?"
    )


class SameLiking(Rule):
    """The liking is the same for every text."""

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say so where two texts get different ones."""
        likings = [call(answer, case, seconds).answer[1].double() for case in cases]
        longest = max(len(liking) for liking in likings)
        # Larger counts read the last entry, so a longer liking that repeats it is the same wish.
        same = [torch.cat([x, x[-1:].expand(longest - len(x))]) for x in likings]
        if all(torch.equal(liking, same[0]) for liking in same):
            return ""
        return (
            "the liking changes from text to text. It is a wish made before the text is known: "
            "“the second comma”. Leave the counting to the gates."
        )


check_comma_head = Check(
    "comma_head",
    _head,
    cases=[(text.split(),) for text in COMMAS],
    judge=_judge_head,
    rules=[SameLiking()],
    mistakes=[
        Mistake(
            "words score 0, and a gate at 0 is half open",
            "What does the sigmoid make of 0? What score shuts a gate?",
            lambda tokens: _head(tokens, word=0.0),
        ),
        Mistake(
            "scores are gates already, and the sigmoid is applied to them once more",
            "What does the sigmoid make of 0 and of 1?",
            lambda tokens: _head(tokens, comma=1.0, word=0.0),
        ),
        Mistake(
            "at −4 a gate is open by 1.8 %, and a hundred words are enough to count as a comma",
            "How far must a gate be shut, so that 200 words do not count?",
            lambda tokens: _head(tokens, comma=4.0, word=-4.0),
        ),
        Mistake(
            "it counts full stops",
            "Which token's gates should open?",
            _full_stops,
        ),
        Mistake(
            "all gates but those of commas are open",
            "Is a gate open where the score is high or where it is low?",
            lambda tokens: _head(tokens, comma=-10.0, word=10.0),
        ),
        Mistake(
            "it likes the third comma",
            "The last comma has the count 1, if all else is shut. What has the second?",
            lambda tokens: _head(tokens, liked=3),
        ),
        Mistake(
            "it likes the last comma",
            "Row 0 of the table is for a count of 0. Which row is for a count of 2?",
            lambda tokens: _head(tokens, liked=1),
        ),
        Mistake(
            "all commas from the second on are liked alike",
            "What has the second comma that the third has not?",
            _from_two_on,
        ),
        Mistake(
            "the liking ends at a count of 2, and all larger counts read its last row",
            "What does the clamp in cope_from_scratch do to a count of 3?",
            _table_ends_at_two,
        ),
        Mistake(
            "the liking is too weak: other commas get a share",
            "The softmax compares sums. How far apart must two of them be for nine to one?",
            lambda tokens: _head(tokens, by=1.0),
        ),
        Mistake(
            "only one comma has an open gate: you have looked for it yourself",
            "A key knows its own token only. How does the count find the second comma?",
            _one_token_only,
        ),
    ],
    hints=(
        "A token has two chances to stand out: its own score, and the liking of its count.",
        "Commas need a high score, all other tokens a low one. Count how many words there may be.",
        "Two hundred words must add far less than 1 to the count: each gate less than 0.0005, say. "
        "Which score does that? Between commas, whose scores are equal, the liking decides.",
    ),
)
