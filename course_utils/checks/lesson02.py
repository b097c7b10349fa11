"""Checks for lesson 02: wavelengths, batch-first tables, odd widths, shifts, similarity."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_utils.checks.core import Check, Mistake, numbers
from course_utils.checks.rules import Without
from course_utils.encodings.functional import sinusoidal_frequencies, sinusoidal_table


def _wavelength(m: int, d_model: int, base: float) -> float:
    return 2 * math.pi * base ** (2 * m / d_model)


check_wavelength = Check(
    "wavelength",
    _wavelength,
    cases=[(0, 128, 10000.0), (1, 4, 10000.0), (5, 32, 500.0), (31, 64, 10000.0)],
    mistakes=[
        Mistake(
            "the turn is missing",
            "After how many positions does the angle p·θ reach one full turn, in radians?",
            lambda m, d, base: base ** (2 * m / d),
        ),
        Mistake(
            "the exponent is half of what it should be",
            "Pair m fills columns 2m and 2m + 1. Which of m and 2m stands over d_model?",
            lambda m, d, base: 2 * math.pi * base ** (m / d),
        ),
        Mistake(
            "the higher pairs turn faster",
            "Which sign has the exponent of θ, and what does dividing by θ make of it?",
            lambda m, d, base: 2 * math.pi * base ** (-2 * m / d),
        ),
        Mistake(
            "this is the frequency, not the wavelength",
            "Radians per position or positions per turn: which one was asked for?",
            lambda m, d, base: base ** (-2 * m / d),
        ),
        Mistake(
            "the base is always 10000",
            "Where does your function use its argument base?",
            lambda m, d, base: _wavelength(m, d, 10000.0),
        ),
        Mistake(
            "this is half a turn",
            "Where does the hand point after π radians, and where did it start?",
            lambda m, d, base: _wavelength(m, d, base) / 2,
        ),
    ],
    hints=(
        "The wavelength is the number of positions in one full turn.",
        "The angle of pair m at position p is p·θ with θ = base^(−2m/d_model).",
        "Solve p·θ = 2π for p.",
    ),
)


def _add_positions(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: x.shape[1]]


_long = sinusoidal_table(torch.arange(16), 8)

check_add_positions = Check(
    "add_positions",
    _add_positions,
    cases=[
        (numbers(4, 4, 8), _long),
        (numbers(2, 6, 8, seed=1), _long),
        (numbers(1, 5, 8, seed=2), _long),
    ],
    mistakes=[
        Mistake(
            "every token of a sentence gets the same vector",
            "x is (batch, seq, d_model). Which axis does your slice of the table count, and along "
            "which is it added?",
            lambda x, table: x + table[: x.shape[0], None],
        ),
        Mistake(
            "the table is cut to the batch size, not to the length",
            "With batch and length both 4 nothing shows. Which axis of x are the tokens on?",
            lambda x, table: x + table[: x.shape[0]],
        ),
        Mistake(
            "each token gets the row of the token after it",
            "Which row belongs to position 0?",
            lambda x, table: x + table[1 : x.shape[1] + 1],
        ),
        Mistake(
            "the position replaces the token",
            "What is left of x in your result?",
            lambda x, table: table[: x.shape[1]].expand_as(x),
        ),
        Mistake(
            "the position is multiplied in",
            "The encoding is zero in some columns. What would become of the token there?",
            lambda x, table: x * table[: x.shape[1]],
        ),
        Mistake(
            "the tokens are multiplied by √d_model first",
            "So Vaswani et al. do, before they add. Does the function above?",
            lambda x, table: x * x.shape[-1] ** 0.5 + table[: x.shape[1]],
        ),
    ],
    hints=(
        "Print x.shape and the shape of the slice. Which axes line up when they are added?",
        "Broadcasting lines shapes up from the right: (batch, seq, d_model) with (seq, d_model).",
        "The number of rows to take is the length of the sentences, x.shape[1].",
    ),
)


def _any_width(n: int, width: int) -> Tensor:
    columns = torch.arange(width)
    angles = torch.arange(n)[:, None] * 10000.0 ** (-2 * (columns // 2) / width)
    return torch.where(columns % 2 == 0, angles.sin(), angles.cos())


def _crashes_on_odd(n: int, width: int) -> Tensor:
    angles = torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    table = torch.zeros(n, width)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table


def _zero_last(n: int, width: int) -> Tensor:
    table = _any_width(n, width)
    if width % 2:
        table[:, -1] = 0.0
    return table


check_any_width = Check(
    "any_width",
    _any_width,
    cases=[(6, 4), (6, 5), (10, 7), (3, 1), (1, 3)],
    mistakes=[
        Mistake(
            "an odd width stops the program",
            "For width 5, how many columns are there for sin, and how many for cos?",
            _crashes_on_odd,
        ),
        Mistake(
            "the last column is empty when the width is odd",
            "The frequencies run over the even columns 0, 2, 4. Which function comes first in a "
            "pair, and does it have room?",
            _zero_last,
        ),
        Mistake(
            "a column is missing when the width is odd",
            "How wide is your table for width 5?",
            lambda n, width: _any_width(n, width)[:, : width - width % 2],
        ),
        Mistake(
            "sin fills the first half and cos the second",
            "In this course sin and cos alternate. Which column follows column 0?",
            lambda n, width: torch.cat([_any_width(n, width)[:, odd::2] for odd in (0, 1)], 1),
        ),
        Mistake(
            "the frequencies are those of the next even width",
            "The exponent is −2m over the width. Which width did you divide by?",
            lambda n, width: _any_width(n, width + width % 2)[:, :width],
        ),
        Mistake(
            "the cos columns have frequencies of their own",
            "Columns 2m and 2m + 1 are one clock hand. Do they turn together in your table?",
            lambda n, width: torch.where(
                torch.arange(width) % 2 == 0,
                (torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(width) / width)).sin(),
                (torch.arange(n)[:, None] * 10000.0 ** (-torch.arange(width) / width)).cos(),
            ),
        ),
    ],
    hints=(
        "With an odd width the last pair has room for one of its two numbers only.",
        "There is one more sin column than cos columns. Compute both, then cut cos to fit.",
        "table[:, 1::2] has width // 2 columns: give it angles[:, : width // 2].cos().",
    ),
)


def _shift_block(k: float, theta: float) -> Tensor:
    angle = torch.tensor(k * theta)
    return torch.stack(
        [torch.stack([angle.cos(), angle.sin()]), torch.stack([-angle.sin(), angle.cos()])]
    )


def _block(k: float, theta: float, rows: str) -> Tensor:
    c, s = math.cos(k * theta), math.sin(k * theta)
    table = {"other order": [[c, -s], [s, c]], "reflection": [[c, s], [s, -c]]}
    return torch.tensor(table[rows])


check_shift_block = Check(
    "shift_block",
    _shift_block,
    cases=[(0.0, 0.5), (1.0, 1.0), (3.0, 0.25), (-2.0, 0.7)],
    mistakes=[
        Mistake(
            "this shifts by −k",
            "The vector is (sin, cos), in this order. What does your matrix make of (0, 1)?",
            lambda k, theta: _block(k, theta, "other order"),
        ),
        Mistake(
            "this is a reflection, not a rotation",
            "What should the matrix be for k = 0?",
            lambda k, theta: _block(k, theta, "reflection"),
        ),
        Mistake(
            "the frequency is missing",
            "By how many radians does this pair turn in k positions?",
            lambda k, theta: _shift_block(k, 1.0),
        ),
        Mistake(
            "the shift is missing",
            "Your matrix is the same for every k. Where does k go?",
            lambda k, theta: _shift_block(1.0, theta),
        ),
        Mistake(
            "the angle is taken for degrees",
            "math.cos(3.14159) is about −1. In which unit does it want its angle?",
            lambda k, theta: _shift_block(k, math.radians(theta)),
        ),
        Mistake(
            "this is a vector, not the matrix",
            "The matrix must serve every p. How many numbers has it?",
            lambda k, theta: torch.tensor([math.sin(k * theta), math.cos(k * theta)]),
        ),
    ],
    hints=(
        "sin(a + b) = sin a · cos b + cos a · sin b. There is a second one for cos.",
        "Write sin((p + k)θ) and cos((p + k)θ) with sin pθ and cos pθ, and read off four numbers.",
        "First row: what multiplies sin pθ and cos pθ to give sin((p + k)θ).",
    ),
)


def _similarity(k: int, d_model: int, base: float) -> float:
    return float((k * sinusoidal_frequencies(d_model, base)).cos().mean())


check_similarity = Check(
    "similarity",
    _similarity,
    cases=[(0, 64, 10000.0), (1, 8, 10000.0), (-7, 32, 500.0), (100, 128, 10000.0)],
    mistakes=[
        Mistake(
            "this is the dot product, not the cosine similarity",
            "How long is each of the two vectors?",
            lambda k, d, base: _similarity(k, d, base) * d / 2,
        ),
        Mistake(
            "each pair is counted for one column, yet divided by both",
            "How many pairs are there among d_model columns?",
            lambda k, d, base: _similarity(k, d, base) / 2,
        ),
        Mistake(
            "sin stands where cos should",
            "What is the similarity of a position with itself, at k = 0?",
            lambda k, d, base: float((k * sinusoidal_frequencies(d, base)).sin().mean()),
        ),
        Mistake(
            "the base is always 10000",
            "Where does your function use its argument base?",
            lambda k, d, base: _similarity(k, d, 10000.0),
        ),
        Mistake(
            "the exponent is half of what it should be",
            "θ has −2m over d_model in the exponent, m from 0 to d_model/2 − 1. Is the 2 there?",
            lambda k, d, base: float(
                (k * base ** (-torch.arange(d // 2, dtype=torch.float64) / d)).cos().mean()
            ),
        ),
        Mistake(
            "m runs over the columns, not over the pairs",
            "How many clock hands are there among d_model columns?",
            lambda k, d, base: float(
                (k * base ** (-2 * torch.arange(d, dtype=torch.float64) / d)).cos().mean()
            ),
        ),
    ],
    hints=(
        "The dot product is a sum over pairs. Look at one pair first.",
        "sin a · sin b + cos a · cos b = cos(a − b). What is a − b for pair m?",
        "Average cos(k·θ) over all pairs.",
    ),
    rules=[
        Without((sinusoidal_table,), why="Which part of the two encodings does cos(a − b) need?")
    ],
)
