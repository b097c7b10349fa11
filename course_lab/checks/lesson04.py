"""Checks for lesson 04: T5's buckets, DeBERTa's third term, skewing while a text is generated."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import LEAVES_TORCH, LargestTensor, NoLoops, Without
from course_utils.encodings.functional import deberta_scores, skew, t5_bucket, toeplitz


def _assigned(distance: Tensor, n_buckets: int, passed: Tensor, exact: int | None = None) -> Tensor:
    """Return the bucket of each distance.

    Args:
        distance: positions between the query and each earlier key.
        n_buckets: how many buckets there are.
        passed: how many of the far buckets lie before each distance.
        exact: e, how many distances have a bucket each; by default half of the buckets.
    """
    exact = n_buckets // 2 if exact is None else exact
    far = (exact + passed.long()).clamp(max=n_buckets - 1)
    return torch.where(distance < exact, distance, far)


def _share(distance: Tensor, max_distance: int, exact: int) -> Tensor:
    """Return how much of the way from log e to log max_distance has been covered."""
    return (distance.clamp(min=exact).double() / exact).log() / math.log(max_distance / exact)


def _with_exact(distance: Tensor, n_buckets: int, max_distance: int, exact: int) -> Tensor:
    passed = _share(distance, max_distance, exact) * (n_buckets - exact)
    return _assigned(distance, n_buckets, passed, exact)


def _causal_bucket(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    return _with_exact(distance, n_buckets, max_distance, n_buckets // 2)


def _split_evenly(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    return _assigned(distance, n_buckets, (distance - e) / (max_distance - e) * (n_buckets - e))


def _doubling(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    return _assigned(distance, n_buckets, (distance.clamp(min=e) / e).log2())


def _without_a_last_bucket(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    far = e + (_share(distance, max_distance, e) * (n_buckets - e)).long()
    return torch.where(distance < e, distance, far)


def _logarithm_of_the_distance(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    ratio = distance.clamp(min=e).log() / math.log(max_distance / e)
    return _assigned(distance, n_buckets, ratio * (n_buckets - e))


def _one_bucket_unused(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    e = n_buckets // 2
    return _assigned(distance, n_buckets, _share(distance, max_distance, e) * e)


def _rounded_by(rounding: Callable[[Tensor], Tensor]) -> Callable[[Tensor, int, int], Tensor]:
    """Return an answer that does not round fractions down."""

    def bucket(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
        e = n_buckets // 2
        passed = _share(distance, max_distance, e) * (n_buckets - e)
        return _assigned(distance, n_buckets, rounding(passed))

    return bucket


def _table_of_blogs(distance: Tensor, n_buckets: int, max_distance: int) -> Tensor:
    first_distances = torch.tensor([1, 2, 3, 4, 5, 6, 7, 8, 12, 20])
    return (distance[..., None] >= first_distances).sum(-1)


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
            _table_of_blogs,
        ),
        Mistake(
            "far distances are split evenly",
            "Should the bucket that starts at 100 be as wide as the one that starts at 20?",
            _split_evenly,
        ),
        Mistake(
            "the far buckets grow by a fixed factor of two",
            "At which distance should the last bucket be full? Does your formula know it?",
            _doubling,
        ),
        Mistake(
            "far distances go past the last bucket",
            "How many rows does the table have, and which bucket do you return at distance 1000?",
            _without_a_last_bucket,
        ),
        Mistake(
            "only a quarter of the buckets hold one distance",
            "Here all keys are earlier than the query. How many directions must the buckets serve?",
            lambda distance, n, m: _with_exact(distance, n, m, n // 4),
        ),
        Mistake(
            "half of the buckets are kept for later keys",
            "This model is causal. Which keys can it see?",
            lambda distance, n, m: t5_bucket(-distance, n + n % 2, m, True),
        ),
        *(
            Mistake(
                f"fractions are rounded {direction}",
                "The formula has ⌊ ⌋ around a fraction. What do these brackets make of 2.7?",
                _rounded_by(rounding),
            )
            for direction, rounding in (("to the nearer bucket", torch.round), ("up", torch.ceil))
        ),
        Mistake(
            "the logarithm is that of the distance, not of its ratio to e",
            "At distance e no far bucket has been passed yet. What is your logarithm there?",
            _logarithm_of_the_distance,
        ),
        Mistake(
            "with an odd number of buckets e is rounded up",
            "What does ⌊9/2⌋ give, and how many distances have a bucket each then?",
            lambda distance, n, m: _with_exact(distance, n, m, n - n // 2),
        ),
        Mistake(
            "with an odd number of buckets one is never used",
            "Of 9 buckets e = 4 hold one distance each. How many are left for the others?",
            _one_bucket_unused,
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


def _shifted_line(rows: Tensor, dropped: int) -> Tensor:
    """Pad a column of zeros on the left, flatten, drop the first numbers, cut into rows again."""
    return F.pad(rows, (1, 0)).flatten()[dropped:].reshape(rows.shape)


def _hide_later_keys(rows: Tensor) -> Tensor:
    """Set to 0 what belongs to keys later than their query; the last query is the newest."""
    n_queries, n_keys = rows.shape
    return rows.tril(n_keys - n_queries)


def _skew_new(rows: Tensor) -> Tensor:
    return _hide_later_keys(_shifted_line(rows, dropped=len(rows)))


def _padded_on_the_right(rows: Tensor) -> Tensor:
    line = F.pad(rows, (0, 1)).flatten()
    return _hide_later_keys(line[: rows.numel()].reshape(rows.shape))


_INDEXING = ("indexing", "gather", "take", "take_along_dim", "index_select", "scatter", "scatter_")
_NO_TABLES = "No index tables: how can reshaping move rows?"

check_skew_new = Check(
    "skew_new",
    _skew_new,
    cases=[
        (torch.arange(1.0, 10.0).reshape(3, 3),),
        (randn(1, 5),),
        (randn(3, 8, seed=1),),
        (randn(7, 8, seed=2),),
        (torch.full((1, 1), 2.0),),
    ],
    mistakes=[
        Mistake(
            "nothing has moved",
            "The last column of the input is offset 0, a query and itself. In which column of the "
            "result is the key at the first query's own position?",
            _hide_later_keys,
        ),
        Mistake(
            "this is right only where all queries are new",
            "The newest query must not move at all. With 3 queries and 8 keys, which number of the "
            "line must come first?",
            lambda rows: _hide_later_keys(_shifted_line(rows, dropped=rows.shape[1])),
        ),
        Mistake(
            "later keys hold leftovers",
            "Which offset would a key later than its query have, and is it in the input?",
            lambda rows: _shifted_line(rows, dropped=len(rows)),
        ),
        Mistake(
            "the mask treats the first new query as the first of the text",
            "With 3 new queries of 8, how many keys does the first of them see?",
            lambda rows: _skew_new(rows).tril(),
        ),
        Mistake(
            "the extra column is on the wrong side",
            "The first query must move by m − 1 to the left, the last not at all. Which way do "
            "your rows move?",
            _padded_on_the_right,
        ),
        Mistake(
            "each row is reversed, not moved",
            "Take the last row: its entries already stand in the order of the keys. Are they "
            "still?",
            lambda rows: _hide_later_keys(rows.flip(-1)),
        ),
        Mistake(
            "all rows move by the same number of steps",
            "The columns count offsets from each query's own position. Do all queries share one?",
            lambda rows: _hide_later_keys(rows.roll(1 - len(rows), 1)),
        ),
    ],
    hints=(
        "Write down 2 new queries of 4 keys: the input, with its offsets, and the desired result. "
        "How far does each row move?",
        "Lay all rows out as one long line. One extra column changes where the line is cut, and "
        "each row starts one later than the row before it. Where must the line begin?",
        "Pad one column of zeros on the left, flatten, drop the first m entries, and cut the line "
        "into rows of n again. Then hide later keys: the first query sees n − m + 1 keys.",
    ),
    rules=[
        NoLoops((randn(3, 8),), (randn(20, 64),)),
        Without((skew, toeplitz), (*_INDEXING, *LEAVES_TORCH), why=_NO_TABLES),
        LargestTensor((randn(20, 64),), lambda rows: 4 * rows.numel(), why=_NO_TABLES),
    ],
)


def _row_numbers(keys: Tensor, table: Tensor, sign: int = 1, shift: int = 0) -> Tensor:
    """Return row j − i + k for query i and key j, i − j + k for sign −1, not cut off yet."""
    positions = torch.arange(len(keys))
    return sign * (positions[None] - positions[:, None]) + len(table) // 2 + shift


def _clamped(rows: Tensor, table: Tensor) -> Tensor:
    return rows.clamp(0, len(table) - 1)


def _products(keys: Tensor, table: Tensor, rows: Tensor) -> Tensor:
    return (table[rows] * keys).sum(-1)  # table[rows[i, j]] · keys[j]


def _position_to_content(keys: Tensor, table: Tensor, **changes: int) -> Tensor:
    return _products(keys, table, _clamped(_row_numbers(keys, table, **changes), table))


def _keys_at_the_query(keys: Tensor, table: Tensor) -> Tensor:
    rows = _clamped(_row_numbers(keys, table), table)
    return (table[rows] * keys[:, None]).sum(-1)


def _cut_off_late(keys: Tensor, table: Tensor) -> Tensor:
    return _products(keys, table, _row_numbers(keys, table).clamp(0, len(table)))


check_position_to_content = Check(
    "position_to_content",
    _position_to_content,
    cases=[
        (randn(3, 4), randn(8, 4, seed=1)),
        (randn(6, 4, seed=2), randn(4, 4, seed=3)),
        (randn(9, 2, seed=4), randn(6, 2, seed=5)),
        (randn(1, 3, seed=6), randn(2, 3, seed=7)),
    ],
    mistakes=[
        Mistake(
            "this is what the released code does",
            "Take a key one position earlier than its query. From whose point of view does this "
            "term count, and how far away is the query from there?",
            lambda keys, table: _position_to_content(keys, table, sign=-1),
        ),
        Mistake(
            "queries and keys have changed places",
            "Row i, column j of the result belongs to query i and key j. What is in your row i?",
            lambda keys, table: _position_to_content(keys, table).T,
        ),
        Mistake(
            "far offsets wrap around",
            "What should δ be for all keys at distance k and beyond?",
            lambda keys, table: _products(keys, table, _row_numbers(keys, table) % len(table)),
        ),
        Mistake(
            "each row is one too low",
            "Which row does δ name for a key at the query's own position?",
            lambda keys, table: _position_to_content(keys, table, shift=-1),
        ),
        Mistake(
            "the content is that of the query's position",
            "The term is k_j · Qr. Which of i and j picks the row of keys?",
            _keys_at_the_query,
        ),
        Mistake(
            "the farthest offset has no row",
            "A table of 2k rows ends at row 2k − 1. Where is your δ cut off?",
            _cut_off_late,
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
