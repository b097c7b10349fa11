"""Checks for lesson 03: a table's gradient, interpolation, pieces of a text, untrained rows."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import NoLoops


def _table_gradient(upstream: Tensor, max_len: int) -> Tensor:
    gradient = upstream.new_zeros(max_len, upstream.shape[-1])
    gradient[: upstream.shape[1]] = upstream.sum(0)
    return gradient


def _summed_over_positions(upstream: Tensor, max_len: int) -> Tensor:
    gradient = upstream.new_zeros(max_len, upstream.shape[-1])
    gradient[: upstream.shape[0]] = upstream.sum(1)
    return gradient


check_table_gradient = Check(
    "table_gradient",
    _table_gradient,
    cases=[
        (randn(3, 4, 2), 6),
        (randn(2, 5, 3, seed=1), 5),
        (randn(4, 2, 2, seed=2), 8),
    ],
    mistakes=[
        Mistake(
            "this is the mean over the batch, not the sum",
            "Row 0 was added to every sentence. If a sentence is in the batch twice, does its pull "
            "on row 0 stay the same?",
            lambda upstream, n: _table_gradient(upstream, n) / len(upstream),
        ),
        Mistake(
            "only the first sentence counts",
            "How many sentences of the batch had row 0 added to them?",
            lambda upstream, n: _table_gradient(upstream[:1], n),
        ),
        Mistake(
            "the rows that were not read are missing",
            "The table has max_len rows. How does the loss change when one that was not read "
            "changes?",
            lambda upstream, n: upstream.sum(0),
        ),
        Mistake(
            "the last rows of the table learn, not the first",
            "Which row was added to the first token?",
            lambda upstream, n: _table_gradient(upstream, n).roll(n - upstream.shape[1], 0),
        ),
        Mistake(
            "every row of the table gets the same gradient",
            "Which of the three axes counts sentences, and which counts positions?",
            lambda upstream, n: upstream.sum((0, 1)).expand(n, -1),
        ),
        Mistake(
            "the sum runs over the positions, not over the sentences",
            "upstream is (batch, seq, d_model). Which of its axes counts rows of the table?",
            _summed_over_positions,
        ),
    ],
    hints=(
        "In out = x + table[:seq], which entries of out does one entry of the table reach?",
        "One row reaches the same position of every sentence, so its gradients add up.",
        "Start with zeros of shape (max_len, d_model) and fill the first seq rows.",
    ),
)


def _at_fractions(table: Tensor, fractions: Tensor) -> Tensor:
    """Return the table's rows at fractional row numbers, (n,)."""
    below = fractions.long().clamp(max=len(table) - 1)
    above = (below + 1).clamp(max=len(table) - 1)
    return torch.lerp(table[below], table[above], (fractions - below)[:, None])


def _fractions(table: Tensor, n: int) -> Tensor:
    """Return n row numbers from the first row to the last, in equal steps."""
    return torch.linspace(0, len(table) - 1, n)


def _stretch(table: Tensor, n: int) -> Tensor:
    return _at_fractions(table, _fractions(table, n))


def _stretch_with_swapped_weights(table: Tensor, n: int) -> Tensor:
    fractions = _fractions(table, n)
    below = fractions.long()
    above = (below + 1).clamp(max=len(table) - 1)
    return torch.lerp(table[above], table[below], (fractions - below)[:, None])


def _stretch_like_a_picture(table: Tensor, n: int) -> Tensor:
    return F.interpolate(table.T[None], size=n, mode="linear", align_corners=False)[0].T


check_stretch = Check(
    "stretch",
    _stretch,
    cases=[
        (randn(4, 2), 8),
        (randn(5, 3, seed=1), 9),
        (randn(3, 2, seed=2), 7),
        (randn(6, 2, seed=3), 6),
        (randn(7, 2, seed=4), 4),
        (randn(1, 3, seed=5), 3),
    ],
    mistakes=[
        Mistake(
            "rows are repeated, nothing is read between them",
            "What should stand halfway between row 0 and row 1?",
            lambda table, n: table[_fractions(table, n).round().long()],
        ),
        Mistake(
            "the table is clamped: everything past the end is the last row",
            "The new rows should spread over the whole table. Where in the table does new row 1 "
            "belong?",
            lambda table, n: table[torch.arange(n).clamp(max=len(table) - 1)],
        ),
        Mistake(
            "the step is rows/n, so the ends do not meet",
            "From the first to the last of n places, how many steps is it?",
            lambda table, n: _at_fractions(table, torch.arange(n) * len(table) / n),
        ),
        Mistake(
            "only the row below is read",
            "Row number 2.25 lies between two rows. What does your function take from row 3?",
            lambda table, n: table[_fractions(table, n).long()],
        ),
        Mistake(
            "the rows are read at the centres of cells, as when a picture is resized",
            "Here the first new row is row 0 and the last is the last row. Are yours?",
            _stretch_like_a_picture,
        ),
        Mistake(
            "the weights of the two rows are swapped",
            "Just above row 2, which of rows 2 and 3 should weigh more?",
            _stretch_with_swapped_weights,
        ),
    ],
    hints=(
        "First find, for each of the n new rows, its row number in the old table, a fraction.",
        "The first is 0 and the last is len(table) − 1, in equal steps: torch.linspace.",
        "At 2.25 there is 0.75 of row 2 and 0.25 of row 3. Take care that row 3 exists.",
    ),
)


def _pieces(n: int, window: int, overlap: int) -> int:
    return 1 if n <= window else 1 + math.ceil((n - window) / (window - overlap))


check_pieces = Check(
    "pieces",
    _pieces,
    cases=[
        (100, 512, 0),
        (100, 512, 128),
        (512, 512, 0),
        (513, 512, 0),
        (2000, 512, 128),
        (896, 512, 128),
        (3000, 512, 50),
    ],
    mistakes=[
        Mistake(
            "the overlap is forgotten",
            "By how many tokens does the window move from one piece to the next?",
            lambda n, window, overlap: _pieces(n, window, 0),
        ),
        Mistake(
            "the last tokens are dropped",
            "513 tokens, window 512: where does token 512 go?",
            lambda n, window, overlap: 1 if n <= window else 1 + (n - window) // (window - overlap),
        ),
        Mistake(
            "there is one piece too many when the last one is exactly full",
            "512 tokens, window 512: how many pieces?",
            lambda n, window, overlap: 1 if n < window else 2 + (n - window) // (window - overlap),
        ),
        Mistake(
            "the first piece is counted as if it held only as many new tokens as a later one",
            "How many new tokens does the first piece hold, and how many each later one?",
            lambda n, window, overlap: math.ceil(n / (window - overlap)),
        ),
        Mistake(
            "a text shorter than the overlap gets no piece",
            "Put in 100 tokens, a window of 512 and an overlap of 128. Can the answer be 0?",
            lambda n, window, overlap: math.ceil((n - overlap) / (window - overlap)),
        ),
        Mistake(
            "the overlap is taken off on both sides",
            "Pieces 1 and 2 share overlap tokens, pieces 2 and 3 as well. How far apart do two "
            "pieces start?",
            lambda n, window, overlap: (
                1 if n <= window else 1 + math.ceil((n - window) / (window - 2 * overlap))
            ),
        ),
    ],
    hints=(
        "Draw a text of ten tokens, with a window of four and an overlap of one.",
        "The first piece covers window tokens. Each later piece covers how many new ones?",
        "Divide what is left after the first piece by window − overlap, and round up.",
    ),
    rules=[NoLoops((100, 32, 8), (10**18, 32, 8))],  # no list has so many pieces
)


def _rows_unless(
    is_untrained: Callable[[Tensor, Tensor, int], bool],
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return an answer that raises ValueError where the condition holds."""

    def rows(table: Tensor, positions: Tensor, n_trained: int) -> Tensor:
        if is_untrained(table, positions, n_trained):
            raise ValueError(f"positions must be below {n_trained}, the number of trained rows")
        return table[positions]

    return rows


_table = randn(8, 3)

check_safe_rows = Check(
    "safe_rows",
    _rows_unless(lambda table, positions, n: bool((positions >= n).any())),
    cases=[
        (_table, torch.arange(4), 4),
        (_table, torch.arange(5), 4),
        (_table, torch.tensor([2, 6]), 5),
        (_table, torch.tensor([7, 0, 1]), 6),
        (_table, torch.tensor([3, 3, 3, 3, 3, 3]), 5),
    ],
    mistakes=[
        Mistake(
            "untrained rows are read without an error",
            "The table is as long as the test needs. Does that mean that its rows were trained?",
            _rows_unless(lambda table, positions, n: bool((positions >= len(table)).any())),
        ),
        Mistake(
            "one untrained row slips through",
            "With 4 trained rows, what is the number of the last of them?",
            _rows_unless(lambda table, positions, n: bool((positions > n).any())),
        ),
        Mistake(
            "the last trained row is refused",
            "With 4 trained rows, is position 3 allowed?",
            _rows_unless(lambda table, positions, n: bool((positions >= n - 1).any())),
        ),
        Mistake(
            "the number of positions is compared, not the positions",
            "A single token can stand at position 7. How long is the tensor of its positions?",
            _rows_unless(lambda table, positions, n: len(positions) > n),
        ),
        Mistake(
            "only the last position is looked at",
            "Positions need not be in order. Which of them decides?",
            _rows_unless(lambda table, positions, n: bool(positions[-1] >= n)),
        ),
        Mistake(
            "positions past the trained rows are clamped silently",
            "Will people who read your test results learn that these tokens shared one row?",
            lambda table, positions, n: table[positions.clamp(max=n - 1)],
        ),
    ],
    hints=(
        "There are two lengths here: how many rows exist, and how many ever received a gradient.",
        "Which positions are dangerous? Look at the positions, not at how many there are.",
        "If any position is at least n_trained, raise ValueError. Else return table[positions].",
    ),
)
