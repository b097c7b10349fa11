"""Checks for lesson 04: T5's buckets, DeBERTa's third term, skewing while a text is generated."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.core import Check, Mistake, numbers
from course_lab.checks.rules import OUTSIDE, AtMost, NoLoops, Without
from course_utils.encodings.functional import deberta_scores, skew, t5_bucket, toeplitz


def _dealt(distance: Tensor, n_buckets: int, passed: Tensor, exact: int | None = None) -> Tensor:
    """Near distances have a bucket each, the others so many after those; ``exact`` is e."""
    exact = n_buckets // 2 if exact is None else exact
    return torch.where(distance < exact, distance, (exact + passed.long()).clamp(max=n_buckets - 1))


def _share(distance: Tensor, max_distance: int, exact: int) -> Tensor:
    """How much of the way from log e to log max_distance has been covered."""
    return (distance.clamp(min=exact).double() / exact).log() / math.log(max_distance / exact)


def _with_edge(distance: Tensor, n_buckets: int, max_distance: int, exact: int) -> Tensor:
    passed = _share(distance, max_distance, exact) * (n_buckets - exact)
    return _dealt(distance, n_buckets, passed, exact)


def _causal_bucket(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    return _with_edge(distance, n_buckets, max_distance, n_buckets // 2)


def _evenly(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    return _dealt(distance, n_buckets, (distance - e) / (max_distance - e) * (n_buckets - e))


def _unlimited(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    far = e + (_share(distance, max_distance, e) * (n_buckets - e)).long()
    return torch.where(distance < e, distance, far)


def _whole_logarithm(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    ratio = distance.clamp(min=e).log() / math.log(max_distance / e)
    return _dealt(distance, n_buckets, ratio * (n_buckets - e))


def _blog_table(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    return sum((distance >= edge).long() for edge in (1, 2, 3, 4, 5, 6, 7, 8, 12, 20))  # type: ignore[return-value]


check_causal_bucket = Check(
    "causal_bucket",
    _causal_bucket,
    cases=[
        (torch.tensor([0, 1, 2, 3]), 8, 20),
        (torch.tensor([3, 4, 5, 7, 11, 15, 19, 30]), 8, 20),
        (torch.arange(0, 200, 7), 32, 128),
        (torch.arange(0, 150, 9), 16, 100),
        (torch.arange(40), 9, 30),
        (torch.tensor([[0, 5], [6, 70]]), 5, 50),
    ],
    mistakes=[
        Mistake(
            "this is the simplified table of some blogs",
            "Where does your function use n_buckets and max_distance?",
            _blog_table,
        ),
        Mistake(
            "far distances are split evenly",
            "Should the bucket that starts at 100 be as wide as the one that starts at 20?",
            _evenly,
        ),
        Mistake(
            "the far buckets grow by a fixed factor of two",
            "At which distance should the last bucket be full? Does your formula know it?",
            lambda distance, n, m: _dealt(
                distance, n, (distance.clamp(min=n // 2) / (n // 2)).log2()
            ),
        ),
        Mistake(
            "far distances go past the last bucket",
            "How many rows has the table, and which bucket do you return at distance 1000?",
            _unlimited,
        ),
        Mistake(
            "only a quarter of the buckets hold one distance",
            "Here all keys are earlier than the query. How many directions must the buckets serve?",
            lambda distance, n, m: _with_edge(distance, n, m, n // 4),
        ),
        Mistake(
            "half of the buckets are kept for later keys",
            "This model is causal. Which keys can it see?",
            lambda distance, n, m: t5_bucket(-distance, n + n % 2, m, True),
        ),
        *(
            Mistake(
                f"fractions are rounded {way}",
                "The formula has ⌊ ⌋ around a fraction. What do these brackets make of 2.7?",
                lambda distance, n, m, to=to: _dealt(
                    distance, n, to(_share(distance, m, n // 2) * (n - n // 2))
                ),
            )
            for way, to in (("to the nearer bucket", torch.round), ("up", torch.ceil))
        ),
        Mistake(
            "the logarithm is that of the distance, not of its ratio to e",
            "At distance e no far bucket has been passed yet. What is your logarithm there?",
            _whole_logarithm,
        ),
        Mistake(
            "with an odd number of buckets e is rounded up",
            "What does ⌊9/2⌋ give, and how many distances have a bucket each then?",
            lambda distance, n, m: _with_edge(distance, n, m, n - n // 2),
        ),
        Mistake(
            "with an odd number of buckets one is never used",
            "Of 9 buckets e = 4 hold one distance each. How many are left for the others?",
            lambda distance, n, m: _dealt(distance, n, _share(distance, m, n // 2) * (n // 2)),
        ),
    ],
    hints=(
        "Treat two kinds of distance: those below e = n_buckets // 2, and the rest.",
        "For the rest, which share of the way from log e to log max_distance has been covered? "
        "That share of the n_buckets − e far buckets is behind you.",
        "Round down, add e, and see to it that nothing exceeds n_buckets − 1. Keep log away "
        "from distance 0 with clamp(min=e).",
    ),
    rules=[Without((t5_bucket,))],
)


def _skewed(rows: Tensor, dropped: int) -> Tensor:
    """With a column of zeros before, laid out as one line, less its first numbers, and cut anew."""
    return F.pad(rows, (1, 0)).flatten()[dropped:].reshape(rows.shape)


def _skew_new(rows: Tensor) -> Tensor:
    m, n = rows.shape
    return _skewed(rows, m).tril(n - m)


def _right_pad(rows: Tensor) -> Tensor:
    m, n = rows.shape
    return F.pad(rows, (0, 1)).flatten()[: rows.numel()].reshape(m, n).tril(n - m)


_TABLES = ("indexing", "gather", "take", "take_along_dim", "index_select", "scatter", "scatter_")
_NO_TABLES = "No index tables: how can reshaping move rows?"

check_skew_new = Check(
    "skew_new",
    _skew_new,
    cases=[
        (torch.arange(1.0, 10.0).reshape(3, 3),),
        (numbers(1, 5),),
        (numbers(3, 8, seed=1),),
        (numbers(7, 8, seed=2),),
        (torch.full((1, 1), 2.0),),
    ],
    mistakes=[
        Mistake(
            "nothing has moved",
            "The last column of the input is offset 0, a query and itself. In which column does "
            "the key stand that has the first query's place?",
            lambda rows: rows.tril(rows.shape[1] - rows.shape[0]),
        ),
        Mistake(
            "this is right only where all queries are new",
            "The newest query must not move at all. With 3 queries and 8 keys, which number of the "
            "line must come first?",
            lambda rows: _skewed(rows, rows.shape[1]).tril(rows.shape[1] - rows.shape[0]),
        ),
        Mistake(
            "later keys hold left-overs",
            "Which offset would a key have that is later than its query, and is it in the input?",
            lambda rows: _skewed(rows, rows.shape[0]),
        ),
        Mistake(
            "the mask takes the first new query for the first of the text",
            "With 3 new queries of 8, how many keys does the first of them see?",
            lambda rows: _skew_new(rows).tril(),
        ),
        Mistake(
            "the extra column is on the wrong side",
            "The first query must move by m − 1 to the left, the last not at all. Which way do "
            "your rows move?",
            _right_pad,
        ),
        Mistake(
            "each row is reversed, not moved",
            "Take the last row: its entries already stand in the order of the keys. Are they "
            "still?",
            lambda rows: rows.flip(-1).tril(rows.shape[1] - rows.shape[0]),
        ),
        Mistake(
            "all rows move by the same number of steps",
            "The columns count offsets from each query's own place. Do all queries stand at one?",
            lambda rows: rows.roll(1 - rows.shape[0], 1).tril(rows.shape[1] - rows.shape[0]),
        ),
    ],
    hints=(
        "Write down 2 new queries of 4 keys: the input, with its offsets, and the result that you "
        "want. How far does each row move?",
        "Lay all rows out as one long line. One extra column changes where the line is cut, and "
        "each row starts one later than the row before it. Where must the line begin?",
        "Pad one column of zeros on the left, flatten, drop the first m entries, and cut the line "
        "into rows of n again. Then hide later keys: the first query sees n − m + 1 keys.",
    ),
    rules=[
        NoLoops((numbers(3, 8),), (numbers(20, 64),)),
        Without((skew, toeplitz), (*_TABLES, *OUTSIDE), why=_NO_TABLES),
        AtMost((numbers(20, 64),), lambda rows: 4 * rows.numel(), why=_NO_TABLES),
    ],
)


def _row(keys: Tensor, table: Tensor, sign: int = 1, more: int = 0) -> Tensor:
    """Row j − i + k for query i and key j, i − j + k for sign −1, not cut off yet."""
    place = torch.arange(len(keys))
    return sign * (place[None] - place[:, None]) + len(table) // 2 + more


def _asked(keys: Tensor, table: Tensor, row: Tensor) -> Tensor:
    return (table[row.clamp(0, len(table) - 1)] * keys).sum(-1)  # table[row[i, j]] · keys[j]


def _position_to_content(keys: Tensor, table: Tensor) -> Tensor:
    return _asked(keys, table, _row(keys, table))


def _of_the_query(keys: Tensor, table: Tensor) -> Tensor:
    return (table[_row(keys, table).clamp(0, len(table) - 1)] * keys[:, None]).sum(-1)


def _cut_late(keys: Tensor, table: Tensor) -> Tensor:
    return (table[_row(keys, table).clamp(0, len(table))] * keys).sum(-1)


check_position_to_content = Check(
    "position_to_content",
    _position_to_content,
    cases=[
        (numbers(3, 4), numbers(8, 4, seed=1)),
        (numbers(6, 4, seed=2), numbers(4, 4, seed=3)),
        (numbers(9, 2, seed=4), numbers(6, 2, seed=5)),
        (numbers(1, 3, seed=6), numbers(2, 3, seed=7)),
    ],
    mistakes=[
        Mistake(
            "this is what the released code does",
            "Take a key one place earlier than its query. Whose view is asked for in this term, "
            "and how far away is the query from there?",
            lambda keys, table: _asked(keys, table, _row(keys, table, sign=-1)),
        ),
        Mistake(
            "queries and keys have changed places",
            "Row i, column j of the result belongs to query i and key j. What is in your row i?",
            lambda keys, table: _position_to_content(keys, table).T,
        ),
        Mistake(
            "far offsets come round again",
            "What should δ be for all keys at distance k and beyond?",
            lambda keys, table: _asked(keys, table, _row(keys, table) % len(table)),
        ),
        Mistake(
            "each row is one too low",
            "Which row does δ name for a key at the query's own place?",
            lambda keys, table: _asked(keys, table, _row(keys, table, more=-1)),
        ),
        Mistake(
            "the content is that of the query's place",
            "The term is k_j · Qr. Which of i and j picks the row of keys?",
            _of_the_query,
        ),
        Mistake(
            "the farthest offset has no row",
            "A table of 2k rows ends at row 2k − 1. Where is your δ cut off?",
            _cut_late,
        ),
    ],
    hints=(
        "Build the matrix of row numbers first, and print it for three tokens and k = 4.",
        "δ(a, b) is a − b + k, cut off at 0 and at 2k − 1. Put in a = j and b = i.",
        "With index the (n, n) matrix of row numbers, table[index] is (n, n, d_head). Multiply it "
        "with keys so that axis 1 of the product counts keys, and sum over the last axis.",
    ),
    rules=[Without((deberta_scores,))],
)
