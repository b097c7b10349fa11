"""Checks for lesson 04: Shaw's scores in little memory, one key singled out by straight slopes.

Of its closer look: DeBERTa's third term, skewing while a text is generated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import describe, difference
from course_lab.checks.core import Check, Mistake, Verdict, randn
from course_lab.checks.rules import (
    LEAVES_TORCH,
    Case,
    LargestTensor,
    NoLoops,
    Observation,
    Rule,
    Without,
)
from course_lab.straight_heads import best_readout, keys_asked, straight_weights
from course_utils.encodings.functional import deberta_scores, shaw_scores, skew, toeplitz

COMPILED = (
    "it is compiled, so that the size of what it makes is out of sight. How large is its largest "
    "tensor? Pass the function itself."
)


@dataclass(frozen=True)
class _InSight(Rule):
    """Some operation that is observed makes the result. Compiled code is not observed."""

    case: Case

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Ask for plain PyTorch."""
        observation = Observation(answer, self.case, seconds)
        if any(tensor.shape == observation.answer.shape for tensor in observation.tensors):
            return ""
        return COMPILED


@dataclass(frozen=True)
class _RightWhenLarge(Rule):
    """The numbers are right in a case as large as those in which memory is measured."""

    case: Case
    reference: Function

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say where the first number differs."""
        outcome = call(answer, self.case, seconds).answer
        if isinstance(outcome, BaseException):
            return f"called with {describe(self.case)}, it ends with {type(outcome).__name__}."
        if difference(outcome, self.reference(*self.case)):
            return f"called with {describe(self.case)}, it returns other numbers than `literal`."
        return ""


def _within_4n2(q: Tensor, table: Tensor, why: str) -> LargestTensor:
    """No tensor of more than 4n² numbers where n queries meet the table."""
    return LargestTensor((q, table), lambda q, table: 4 * len(q) ** 2, why=why)


class _PlainCheck(Check):
    """A check that does not wait for ``torch.compile``, which takes longer than an answer may."""

    def verdict(self, answer: Any) -> Verdict:
        """Return what calling the check would print."""
        if hasattr(answer, "_torchdynamo_orig_callable"):
            return self._wrong(COMPILED, "rule")
        return super().verdict(answer)


def _all_offsets(n: int) -> Tensor:
    """The 2n − 1 offsets of n queries and keys, from the lowest on."""
    return torch.arange(1 - n, n)


def _cut(products: Tensor, start: int) -> Tensor:
    """From (n, 2n − 1) make (n, n): one line from ``start`` on, cut into rows one shorter."""
    n = len(products)
    padded = F.pad(products.flatten(), (0, 2 * n))
    return padded[start:][: n * (2 * n - 2)].reshape(n, -1)[:, :n]


def _offsets(n: int) -> Tensor:
    """Return j − i of query i and key j, (n, n)."""
    return torch.arange(n) - torch.arange(n)[:, None]


def _shaw_from_scratch(q: Tensor, table: Tensor) -> Tensor:
    n, k = len(q), len(table) // 2
    return (q @ table.T).gather(1, _offsets(n).clamp(-k, k) + k)


def _by_row(row: Callable[[Tensor, int], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that looks rows up by offsets (n, n) and k; rows are taken modulo 2k + 1."""

    def answer(q: Tensor, table: Tensor) -> Tensor:
        rows = row(_offsets(len(q)), len(table) // 2) % len(table)
        return (q @ table.T).gather(1, rows)

    return answer


def _line(q: Tensor, table: Tensor) -> Tensor:
    """All products of queries and offsets, row after row."""
    n, k = len(q), len(table) // 2
    return (q @ table[_all_offsets(n).clamp(-k, k) + k].T).flatten()


def _not_moved(q: Tensor, table: Tensor) -> Tensor:
    n, k = len(q), len(table) // 2
    return q @ table[torch.arange(1 - n, 1).clamp(-k, k) + k].T


def _rolled_alike(q: Tensor, table: Tensor) -> Tensor:
    n, k = len(q), len(table) // 2
    return (q @ table[_all_offsets(n).clamp(-k, k) + k].T)[:, n - 1 :]


def _cut_at(start: Callable[[int], int]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that begins the long line elsewhere, at ``start(n)``."""

    def answer(q: Tensor, table: Tensor) -> Tensor:
        n, k = len(q), len(table) // 2
        return _cut(q @ table[_all_offsets(n).clamp(-k, k) + k].T, start(n))

    return answer


def _last_columns(q: Tensor, table: Tensor) -> Tensor:
    n = len(q)
    return _line(q, table)[n - 1 : n * (2 * n - 1) - 1].reshape(n, -1)[:, -n:]


def _rows_of_n(q: Tensor, table: Tensor) -> Tensor:
    n = len(q)
    return _line(q, table)[n - 1 :][: n * n].reshape(n, n)


def _zero_beyond_k(q: Tensor, table: Tensor) -> Tensor:
    far = _offsets(len(q)).abs() > len(table) // 2
    return _shaw_from_scratch(q, table).masked_fill(far, 0)


def _unclipped_gather(q: Tensor, table: Tensor) -> Tensor:
    return (q @ table.T).gather(1, _offsets(len(q)) + len(table) // 2)


def _unclipped_indices(q: Tensor, table: Tensor) -> Tensor:
    queries = torch.arange(len(q))[:, None]
    return (q @ table.T)[queries, _offsets(len(q)) + len(table) // 2]


def _rows(q: Tensor, table: Tensor) -> Tensor:
    """The row of the table for each query and key, (n, n)."""
    k = len(table) // 2
    return _offsets(len(q)).clamp(-k, k) + k


def _with_k(k_of: Callable[[Tensor], int]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that takes another number for k."""

    def answer(q: Tensor, table: Tensor) -> Tensor:
        k = k_of(table)
        return (q @ table.T).gather(1, _offsets(len(q)).clamp(-k, k) + k)

    return answer


def _with_fixed_k(k: int) -> Callable[[Tensor, Tensor], Tensor]:
    return _with_k(lambda _: k)


def _without_plus_k(q: Tensor, table: Tensor) -> Tensor:
    return (q @ table.T).gather(1, _rows(q, table) - len(table) // 2)


def _distances_alone(q: Tensor, table: Tensor) -> Tensor:
    return (q @ table.T).gather(1, _offsets(len(q)).abs().clamp(max=len(table) // 2))


def _causal_skew(q: Tensor, table: Tensor) -> Tensor:
    return _shifted_line(_not_moved(q, table), dropped=len(q))


def _clipped_on_one_side(q: Tensor, table: Tensor) -> Tensor:
    queries, k = torch.arange(len(q))[:, None], len(table) // 2
    return (q @ table.T)[queries, _offsets(len(q)).clamp(max=k) + k]


def _rows_numbered_by_floats(q: Tensor, table: Tensor) -> Tensor:
    n, k = len(q), (len(table) - 1) / 2
    offsets = (torch.arange(n) - torch.arange(n)[:, None]).clamp(-k, k)
    return (q @ table.T).gather(1, offsets + k)


def _with_offsets_of_twelve_tokens(q: Tensor, table: Tensor) -> Tensor:
    k = len(table) // 2
    return (q @ table.T).gather(1, _offsets(12).clamp(-k, k) + k)


def _with_offsets_of_the_table(q: Tensor, table: Tensor) -> Tensor:
    k = len(table) // 2
    return (q @ table.T).gather(1, _offsets(len(table)).clamp(-k, k) + k)


def _indexed_by_offsets_of_the_table(q: Tensor, table: Tensor) -> Tensor:
    n, k = len(table), len(table) // 2
    return (q @ table.T)[torch.arange(n)[:, None], _offsets(n).clamp(-k, k) + k]


def _summed_over_keys(q: Tensor, table: Tensor) -> Tensor:
    return (q[:, None] * table[_rows(q, table)]).sum(1)


def _moved_by_reshaping(
    kept: Callable[[Tensor, int], Tensor],
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that moves rows as Transformer-XL's code does, with too few columns."""

    def answer(q: Tensor, table: Tensor) -> Tensor:
        n = len(q)
        moved = F.pad(q @ table.T, (1, 0)).flatten()[n:].reshape(n, -1)
        # Too few columns are filled up: their number alone says little of how they came about.
        return kept(F.pad(moved, (0, max(0, n - moved.shape[1])), value=math.nan), n)

    return answer


def _steps_too_long(q: Tensor, table: Tensor) -> Tensor:
    n = len(q)
    return _line(q, table).as_strided((n, n), (2 * n, 1), n - 1)


def _what_shaw_lacks(answer: Tensor, q: Tensor, table: Tensor) -> str:
    """Say which product the first wrong score is, or that it is none; "" where all are right."""
    right = _shaw_from_scratch(q, table)
    text = difference(answer, right)
    if not text or not isinstance(answer, Tensor) or answer.dtype != right.dtype:
        return text
    if answer.ndim == 2 and len(answer) == len(q) and answer.shape != right.shape:
        return (
            f"{text} A query meets {len(q)} keys here, and the table has {len(table)} rows. Which "
            "of the two do your columns count?"
        )
    if answer.shape != right.shape:
        return text
    if not answer.any():
        return "all your numbers are 0. What does `literal` multiply, and where is it in yours?"
    factor = (answer * right).sum() / (right * right).sum()
    if not difference(answer, factor * right):
        return (
            f"each number is {factor:.3g} times what `literal` returns. Which of your operations "
            "is not one of its?"
        )
    if torch.allclose(answer, right, rtol=0.03, atol=0.03 * float(right.abs().max())):
        return (
            f"all your numbers are near, and some differ by {(answer - right).abs().max():.1g}. "
            "In which dtype do you multiply, and how many digits has it?"
        )
    wrong = ~torch.isclose(answer, right, rtol=1e-4, atol=1e-4)
    query, key = wrong.nonzero()[0].tolist() if wrong.any() else (0, 0)
    entry = answer[query, key]
    same = torch.isclose(q @ table.T, entry, rtol=1e-5, atol=1e-5)
    same_query = same[query].nonzero()
    pair = [query, int(same_query[0])] if len(same_query) else same.nonzero().flatten()[:2].tolist()
    if not pair:
        return (
            f"yours[{query}, {key}] is no product of a query with a row of the table. What does "
            "`literal` multiply there?"
        )
    return (
        f"yours[{query}, {key}] is query {pair[0]} times row {pair[1]} of the table, where row 0 "
        f"belongs to offset −{len(table) // 2}. Which query is asked for there, and which offset "
        f"has key {key} from it?"
    )


check_shaw = _PlainCheck(
    "shaw_from_scratch",
    _shaw_from_scratch,
    cases=[
        (randn(3, 4), randn(9, 4, seed=1)),
        (randn(7, 4, seed=2), randn(5, 4, seed=3)),
        (randn(12, 6, seed=4), randn(3, 6, seed=5)),
        (randn(5, 3, seed=6), randn(9, 3, seed=7)),
        (randn(2, 3, seed=8), randn(5, 3, seed=9)),
    ],
    mistakes=[
        Mistake(
            "before and after have changed places",
            "The key after its query has offset 1. Which row of the table belongs to it?",
            _by_row(lambda offsets, k: (-offsets).clamp(-k, k) + k),
        ),
        Mistake(
            "far offsets are not clipped",
            "What does table[c + k] read when c is −k − 1?",
            _by_row(lambda offsets, k: offsets + k),
        ),
        Mistake(
            "far offsets are not clipped",
            "Which row of the table does c + k ask for when c is k + 1?",
            _unclipped_gather,
            _unclipped_indices,
        ),
        Mistake(
            "a row is asked for that the table lacks",
            "How many columns has what you pick from, and which are they? A table for offsets −1, "
            "0 and 1 has three rows: what is k there, and what is it for r rows?",
            _with_k(len),
            raises=r"index \d+ is out of bounds for dimension 1",
        ),
        Mistake(
            "offsets are clipped on one side alone",
            "Which row does c + k ask for when c is −k − 1?",
            _clipped_on_one_side,
            _by_row(lambda offsets, k: offsets.clamp(max=k) + k),
        ),
        Mistake(
            "offsets are clipped on one side alone",
            "Which row does c + k ask for when c is k + 1?",
            _by_row(lambda offsets, k: offsets.clamp(min=-k) + k),
        ),
        Mistake(
            "far offsets wrap around",
            "Offset k is in the table's last row. In which row should k + 1 be looked up?",
            _by_row(lambda offsets, k: offsets),
        ),
        Mistake(
            "rows are moved, and some offsets have no column",
            "How many columns has one row of q @ table.T, and which offset begins row 1? How many "
            "offsets are there between n queries and n keys?",
            _moved_by_reshaping(lambda moved, n: moved[:, :n]),
            _moved_by_reshaping(lambda moved, n: moved[:, -n:]),
        ),
        Mistake(
            "the steps along the line are too long",
            "How many numbers of the line lie between key 0 of one query and key 0 of the next?",
            _steps_too_long,
            raises="out of bounds for storage",
        ),
        Mistake(
            "k comes from the queries' width",
            "Which of the two arguments knows up to which offset there are vectors?",
            lambda q, table: _with_k(lambda _: q.shape[1] // 2)(q, table),
        ),
        Mistake(
            "rows and queries do not fit",
            "Which two axes does a product of matrices add up over, and which two hold the "
            "features?",
            lambda q, table: q @ table,
            raises="shapes cannot be multiplied",
        ),
        Mistake(
            "all queries share the middle query's offsets",
            "Is a key as far from query 0 as from the middle one?",
            lambda q, table: (q @ table.T)[:, _rows(q, table)[len(q) // 2]],
        ),
        Mistake(
            "k is fixed",
            "Tables of several lengths come in. Up to which offset does one of 9 rows go?",
            *(_with_fixed_k(k) for k in (1, 2)),
        ),
        Mistake(
            "each offset is one too high",
            "Which offset has a key from the query at its own position?",
            _by_row(lambda offsets, k: (offsets + 1).clamp(-k, k) + k),
        ),
        Mistake(
            "each offset is one too low",
            "Which offset has a key from the query at its own position?",
            _by_row(lambda offsets, k: (offsets - 1).clamp(-k, k) + k),
        ),
        Mistake(
            "the row is one too high",
            "Row 0 belongs to offset −k. Which belongs to offset 0?",
            _by_row(lambda offsets, k: offsets.clamp(-k, k) + k + 1),
        ),
        Mistake(
            "the row is one too low",
            "Row 0 belongs to offset −k. Which belongs to offset 0?",
            _by_row(lambda offsets, k: offsets.clamp(-k, k) + k - 1),
        ),
        Mistake(
            "these are the words' own products",
            "What does `literal` multiply a query with?",
            lambda q, table: q @ q.T,
        ),
        Mistake(
            "rows are numbered by floats",
            "(len(table) - 1) / 2 is 2.0 for five rows. Which division gives a whole number?",
            _rows_numbered_by_floats,
            raises=r"dtype int32/int64 for index|indices must be long, int|only integer tensors",
        ),
        Mistake(
            "the offsets are those of another text",
            "Of how many tokens are your offsets, and how many queries come in? Did you make them "
            "inside the function?",
            _with_offsets_of_twelve_tokens,
            raises=r"\[12, 12\]|\(12\)",
        ),
        Mistake(
            "the offsets are those of as many tokens as the table has rows",
            "Which of the two arguments knows how many queries there are?",
            _with_offsets_of_the_table,
            _indexed_by_offsets_of_the_table,
        ),
        Mistake(
            "`@` adds up over the keys",
            "How many axes has `table[c + k]`? Over which of them does `@` add up, and over which "
            "does `literal`?",
            lambda q, table: q @ table[_rows(q, table)],
            lambda q, table: q[:, None] @ table[_rows(q, table)],
            raises="Expected size for first two dimensions of batch2",
        ),
        Mistake(
            "`index_select` picks the same columns for every query",
            "It takes one list of numbers. You have one for each query: which function takes "
            "those?",
            lambda q, table: (q @ table.T).index_select(1, _rows(q, table)),
            raises="Index is supposed to be a vector",
        ),
        Mistake(
            "the products are added up over the keys",
            "`literal` returns one number for each query and key. Over which axis does it add up?",
            _summed_over_keys,
        ),
        Mistake(
            "the scores are added up",
            "`literal` returns one number for each query and key. Which of the two axes is "
            "gone from your result?",
            lambda q, table: _shaw_from_scratch(q, table).sum(1),
            lambda q, table: _shaw_from_scratch(q, table).sum(0),
            lambda q, table: _shaw_from_scratch(q, table).mean(1),
        ),
        Mistake(
            "rows count the table's vectors",
            "Row i of the result belongs to query i, column j to key j. What do your rows and "
            "columns count?",
            lambda q, table: table @ q.T,
        ),
        Mistake(
            "these are weights",
            "What does `literal` return: scores or their softmax?",
            lambda q, table: _shaw_from_scratch(q, table).softmax(0),
        ),
        Mistake(
            "earlier keys are hidden",
            "What does `literal` return for a key before its query?",
            lambda q, table: _shaw_from_scratch(q, table).triu(),
        ),
        Mistake(
            "the sign is turned",
            "What does `literal` return where a query and its offset's vector point the same way?",
            lambda q, table: -_shaw_from_scratch(q, table),
        ),
        Mistake(
            "row 0 of the table is used for offset 0",
            "Which row of the table belongs to the query's own position?",
            _without_plus_k,
            raises=r"index -\d+ is out of bounds for dimension 1",
        ),
        Mistake(
            "only distances count",
            "Do the tokens before and after the query share a vector?",
            _distances_alone,
        ),
        Mistake(
            "rows of the table are picked along the wrong axis",
            "In q @ table.T, which axis counts queries and which the table's vectors? Along which "
            "do you pick?",
            lambda q, table: (q @ table.T).gather(0, _rows(q, table)),
            raises="out of bounds for dimension 0|apart from dimension 0",
        ),
        Mistake(
            "rows of the table are picked along the wrong axis",
            "In q @ table.T, which axis counts queries and which the table's vectors? Along which "
            "do you pick?",
            lambda q, table: (q @ table.T)[_rows(q, table)],
        ),
        Mistake(
            "the product lies the wrong way round",
            "In table @ q.T, which axis counts queries and which the table's vectors? Along which "
            "do you pick?",
            lambda q, table: (table @ q.T).gather(1, _rows(q, table)),
            raises=r"index \[(7, 7|12, 12)\] to be no larger than self \[[35], (7|12)\]"
            r"|out of bounds for dimension 1 with size [235]\b",
        ),
        Mistake(
            "the key's vector is multiplied",
            "Row i of the result belongs to query i. Whose vector meets the offset's there?",
            lambda q, table: (table @ q.T).gather(0, _rows(q, table)),
        ),
        Mistake(
            "each query meets the row numbers of all queries",
            "Your result has three axes. Query i needs row i of c + k alone: how do you pair them?",
            lambda q, table: (q @ table.T)[:, _rows(q, table)],
        ),
        Mistake(
            "each query meets the row numbers of all queries",
            "Your result has n·n columns. Query i needs row i of c + k alone: how do you pair "
            "them?",
            lambda q, table: (q @ table.T).index_select(1, _rows(q, table).flatten()),
        ),
        Mistake(
            "the products are one long line",
            "Your result has one axis. Along which axis of q @ table.T does each query pick its "
            "own? (Without dim, `take_along_dim` flattens.)",
            lambda q, table: (q @ table.T).flatten()[_rows(q, table).flatten()],
        ),
        Mistake(
            "all products are those of query 0",
            "Whose products should stand in row 1? (`take` counts along the flattened tensor: at "
            "which number does query 1 begin there?)",
            lambda q, table: (q @ table.T).take(_rows(q, table)),
        ),
        Mistake(
            "these are the offsets' vectors",
            "What does each query do with the vector of an offset?",
            lambda q, table: table[_rows(q, table)],
        ),
        Mistake(
            "these are the rows' numbers",
            "You know which row each query and key need. What is multiplied with that row?",
            lambda q, table: _rows(q, table),
        ),
        Mistake(
            "these are the offsets",
            "You know which offset each key has. What is multiplied with its vector?",
            lambda q, table: _offsets(len(q)),
            lambda q, table: _offsets(len(q)).clamp(-(len(table) // 2), len(table) // 2),
        ),
        Mistake(
            "the queries have no say",
            "With the same offset, should two different queries get the same score?",
            lambda q, table: table.sum(-1)[_rows(q, table)],
        ),
        Mistake(
            "vectors are added up before they are multiplied",
            "What is the product of two vectors: a product of sums, or a sum of products?",
            lambda q, table: q.sum(-1, keepdim=True) * table.sum(-1)[_rows(q, table)],
        ),
        Mistake(
            "these are weights",
            "What does `literal` return: scores or their softmax?",
            lambda q, table: _shaw_from_scratch(q, table).softmax(-1),
        ),
        Mistake(
            "the words' own products are added",
            "What does `literal` multiply a query with: the key, its offset's vector, or both?",
            lambda q, table: _shaw_from_scratch(q, table) + q @ q.T,
        ),
        Mistake(
            "offsets beyond k count as nothing",
            "What is clip(k + 1, −k, k), and which vector belongs to it?",
            _zero_beyond_k,
        ),
        Mistake(
            "the columns count the table's rows",
            "Column c of your result belongs to row c of the table. Which column does query i need "
            "for key j?",
            lambda q, table: q @ table.T,
        ),
        Mistake(
            "the columns count offsets",
            "Your columns count all offsets. Which of them does query i need for key j?",
            lambda q, table: _line(q, table).reshape(len(q), -1),
        ),
        Mistake(
            "row 0 of the table is used for offset 0",
            "Which row of the table belongs to the query's own position?",
            _by_row(lambda offsets, k: offsets.clamp(-k, k)),
        ),
        Mistake(
            "offsets are clipped at 0 and k",
            "Which offsets do earlier keys have?",
            _by_row(lambda offsets, k: offsets.clamp(0, k) + k),
            _by_row(lambda offsets, k: offsets.clamp(0, k)),
        ),
        Mistake(
            "only one query's keys are picked",
            "How many rows do your row numbers have, and how many queries are there?",
            lambda q, table: (q @ table.T).gather(1, _rows(q, table)[:1]),
        ),
        Mistake(
            "only one key a query is picked",
            "How many columns do your row numbers have, and how many keys does a query meet?",
            lambda q, table: (q @ table.T).gather(1, _rows(q, table)[:, :1]),
        ),
        Mistake(
            "only distances count",
            "Do the tokens before and after the query share a vector?",
            _by_row(lambda offsets, k: offsets.abs().clamp(max=k) + k),
        ),
        Mistake(
            "the scores are divided by √d",
            "What does `literal` return: scaled scores or not?",
            lambda q, table: _shaw_from_scratch(q, table) / q.shape[-1] ** 0.5,
        ),
        Mistake(
            "queries and keys have changed places",
            "Row i of the result belongs to query i. Whose vector is multiplied there?",
            lambda q, table: _shaw_from_scratch(q, table).T,
        ),
        Mistake(
            "all queries share query 0's offsets",
            "Is a key as far from query 0 as from the others? In row i, in which column is offset "
            "0?",
            _rolled_alike,
        ),
        Mistake(
            "all queries share the last query's offsets",
            "Your last column is offset 0 for every query. At which key is it, for query 0?",
            _not_moved,
        ),
        Mistake(
            "the line is cut one place too early",
            "The first row must begin at offset 0. In which column of the product is that?",
            _cut_at(lambda n: n - 2),
        ),
        Mistake(
            "the line is cut one place too late",
            "The first row must begin at offset 0. In which column of the product is that?",
            _cut_at(lambda n: n),
        ),
        Mistake(
            "the line is not cut at its beginning",
            "The first row must begin at offset 0. In which column of the product is that?",
            _cut_at(lambda n: 0),
        ),
        Mistake(
            "later keys are hidden",
            "What does `literal` return for a key after its query?",
            lambda q, table: _shaw_from_scratch(q, table).tril(),
            lambda q, table: _shaw_from_scratch(q, table).masked_fill(
                torch.ones(len(q), len(q), dtype=torch.bool).triu(1), -math.inf
            ),
        ),
        Mistake(
            "later keys are hidden, and the query's own",
            "What does `literal` return for a key after its query, and for the query's own?",
            lambda q, table: _shaw_from_scratch(q, table).tril(-1),
        ),
        Mistake(
            "earlier keys are hidden, and the query's own",
            "What does `literal` return for a key before its query, and for the query's own?",
            lambda q, table: _shaw_from_scratch(q, table).triu(1),
        ),
        Mistake(
            "rows are clipped at k",
            "Once k is added, which rows belong to offsets −k and k: where do you clip?",
            _by_row(lambda offsets, k: (offsets + k).clamp(0, k)),
            _by_row(lambda offsets, k: (offsets + k).clamp(-k, k)),
        ),
        Mistake(
            "the first and the last row are never used",
            "Which row of the table belongs to offset k, and which to −k?",
            _by_row(lambda offsets, k: offsets.clamp(1 - k, k - 1) + k),
        ),
        Mistake(
            "later keys hold leftovers of other rows",
            "Which offsets do keys after their query have? Are they among your columns?",
            _causal_skew,
        ),
        Mistake(
            "the last offset is never used",
            "Which row of the table belongs to offset k?",
            _by_row(lambda offsets, k: offsets.clamp(-k, k - 1) + k),
        ),
        Mistake(
            "the wrong columns of each row are kept",
            "The first row begins at offset 0. Where in it are the keys of query 0?",
            _last_columns,
        ),
        Mistake(
            "the line is cut into rows of n",
            "From offset 0 of one row to offset 0 of the next: how many steps along the line? "
            "And from key 0 of one query to key 0 of the next?",
            _rows_of_n,
        ),
    ],
    hints=(
        "How many different vectors does the table hold? What would each query's product with each "
        "of them be good for?",
        "q @ table.T is (n, 2k + 1): row i holds query i's products with all vectors. Which of its "
        "columns belongs to key 0, which to key 1? Write them down for n = 3 and k = 1.",
        "The columns wanted form an (n, n) tensor of numbers. torch.gather picks along axis 1 by "
        "such a tensor.",
    ),
    rules=[
        Without((shaw_scores, skew, toeplitz, _shaw_from_scratch)),
        Without(
            (torch.vmap,),
            why="What it makes is out of sight: the large tensor may be among it. How large is the "
            "largest tensor of yours, if you write vmap's axis out?",
        ),
        Without(
            operations=LEAVES_TORCH,
            why="That leaves PyTorch, and the size of what is made there is out of sight. Which "
            "operation of PyTorch does the same?",
        ),
        NoLoops((randn(6, 4), randn(3, 4)), (randn(20, 24), randn(13, 24))),  # some are clipped
        NoLoops((randn(3, 4), randn(9, 4)), (randn(9, 24), randn(33, 24))),  # none is
        Without(
            operations=("one_hot",),
            why="It makes a number for each query, key and row of the table, all 0 but one a pair. "
            "What picks that one without the others?",
        ),
        _within_4n2(
            randn(40, 16),
            randn(9, 16),
            "How many different vectors does the table hold, and along which axis of the large "
            "tensor do you add up in the end?",
        ),
        _within_4n2(
            randn(40, 16),
            randn(33, 16),
            "With more rows in the table it grows by d numbers a query and row. Which operation "
            "multiplies and adds up over d at once?",
        ),
        _within_4n2(
            randn(40, 64),
            randn(33, 64),
            "Vectors here are four times as long. Does your largest tensor still grow with d?",
        ),
        _InSight((randn(4, 3), randn(5, 3))),
        _RightWhenLarge((randn(40, 16), randn(33, 16)), _shaw_from_scratch),
    ],
    judge=_what_shaw_lacks,
)


def _last_weights(slopes: Tensor, n: int) -> Tensor:
    """Weights that the last of n queries gives the keys, one row a slope, (heads, n)."""
    return (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(-1)


def _factors(weights: Tensor, wished: int = -1) -> Tensor:
    """The factors with which weights (heads, heads) add up to 1 at one key and to 0 elsewhere."""
    target = torch.eye(len(weights), dtype=weights.dtype)[wished]
    return torch.linalg.solve(weights.T, target)


def _first_weights(slopes: Tensor, n: int) -> Tensor:
    """Those weights at as many keys as there are heads, (heads, heads)."""
    return _last_weights(slopes, n)[:, : len(slopes)]


def _single_out(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n)[:, : len(slopes)])


def _near_keys_favoured(slopes: Tensor, n: int) -> Tensor:
    return _single_out(-slopes, n)


def _without_softmax(slopes: Tensor, n: int) -> Tensor:
    powers = (slopes[:, None] * torch.arange(n - 1, -1, -1)).exp()
    return _factors(powers[:, : len(slopes)])


def _numerators(slopes: Tensor, n: int) -> Tensor:
    return _factors((-slopes[:, None] * torch.arange(n)).exp()[:, : len(slopes)])


def _one_at_every_key(slopes: Tensor, n: int) -> Tensor:
    weights = _last_weights(slopes, n)[:, : len(slopes)]
    return torch.linalg.solve(weights.T, torch.ones_like(slopes))


def _one_key_more(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n + 1)[:, : len(slopes)])


def _equations_of_heads(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n)[:, : len(slopes)].T)


def _least_squares(slopes: Tensor, n: int) -> Tensor:
    target = torch.eye(n, dtype=slopes.dtype)[len(slopes) - 1]
    return torch.linalg.lstsq(_last_weights(slopes, n).T, target[:, None]).solution[:, 0]


def _first_keys_alone(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, len(slopes)))


def _last_keys(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n)[:, -len(slopes) :])


def _all_queries(slopes: Tensor, n: int) -> Tensor:
    return best_readout(straight_weights(slopes.tolist(), n), keys_asked(len(slopes) - 1, n))


def _softmax_over_heads(slopes: Tensor, n: int) -> Tensor:
    shares = (slopes[:, None] * torch.arange(n - 1, -1, -1)).softmax(0)
    return _factors(shares[:, : len(slopes)])


def _numerators_over_heads(slopes: Tensor, n: int) -> Tensor:
    return _factors((-slopes[:, None] * torch.arange(n)).softmax(0)[:, : len(slopes)])


def _softmax_over_all(slopes: Tensor, n: int) -> Tensor:
    powers = (slopes[:, None] * torch.arange(n - 1, -1, -1)).exp()
    return _factors((powers / powers.sum())[:, : len(slopes)])


def _one_key_late(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n)[:, 1 : len(slopes) + 1])


def _of_endless_texts(slopes: Tensor, n: int) -> Tensor:
    shares = (1 - (-slopes).exp())[:, None] * (-slopes[:, None] * torch.arange(len(slopes))).exp()
    return torch.linalg.pinv(shares.T)[:, -1]


def _wish_turned_about(slopes: Tensor, n: int) -> Tensor:
    wished = torch.ones_like(slopes)
    wished[-1] = 0
    return torch.linalg.solve(_first_weights(slopes, n).T, wished)


def _last_pair(scaled: bool) -> Callable[[Tensor, int], Tensor]:
    """Return an answer in which the last two heads cancel key 0 and the others are left out."""

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, factors = _last_weights(slopes, n), torch.zeros_like(slopes)
        factors[-1] = 1
        if len(slopes) > 1:
            factors[-2] = -weights[-1, 0] / weights[-2, 0]
        return factors / (factors @ weights[:, len(slopes) - 1]) if scaled else factors

    return answer


def _steep_from_gentle(by_slope: bool, single: float) -> Callable[[Tensor, int], Tensor]:
    """Return an answer that subtracts a part of one head from another, as the lesson does.

    Args:
        by_slope: whether it is the steepest and the gentlest head, or the first and the last.
        single: the factor of a head that is both.
    """

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, factors = _last_weights(slopes, n), torch.zeros_like(slopes)
        steep, gentle = (int(slopes.argmax()), int(slopes.argmin())) if by_slope else (0, -1)
        factors[gentle] = 1
        factors[steep] = -weights[gentle, 0] / weights[steep, 0] if len(slopes) > 1 else single
        return factors

    return answer


def _one_head_alone(kept: Callable[[Tensor], int], scaled: bool) -> Callable[[Tensor, int], Tensor]:
    """Return an answer that leaves all heads but one out."""

    def answer(slopes: Tensor, n: int) -> Tensor:
        factors, head = torch.zeros_like(slopes), kept(slopes)
        at_last_key = _last_weights(slopes, n)[head, len(slopes) - 1]
        factors[head] = 1 / at_last_key if scaled else 1
        return factors

    return answer


def _without_an_axis_for_heads(slopes: Tensor, n: int) -> Tensor:
    return _factors((slopes * torch.arange(n - 1, -1, -1)).softmax(-1)[:, : len(slopes)])


def _wish_past_its_end(slopes: Tensor, n: int) -> Tensor:
    wished = torch.zeros_like(slopes)
    wished[len(slopes)] = 1
    return torch.linalg.solve(_first_weights(slopes, n).T, wished)


def _rounded_fit(slopes: Tensor, n: int) -> Tensor:
    return _all_queries(slopes, n).round(decimals=1)


def _two_heads_alone(slopes: Tensor, n: int) -> Tensor:
    factors = torch.zeros_like(slopes)
    factors[:2] = _single_out(slopes[:2], n)
    return factors


def _of_scores(slopes: Tensor, n: int) -> Tensor:
    scores = slopes[:, None] * torch.arange(n - 1, -1, -1)
    return _factors(scores[:, : len(slopes)])


def _inverse(slopes: Tensor, n: int) -> Tensor:
    return torch.linalg.inv(_last_weights(slopes, n)[:, : len(slopes)])


def _float32_target(slopes: Tensor, n: int) -> Tensor:
    weights = _last_weights(slopes, n)[:, : len(slopes)]
    return torch.linalg.solve(weights.T, torch.eye(len(slopes))[-1])


def _wished_at(key: Callable[[int], int], among: Callable[[int], int]) -> Callable[..., Tensor]:
    """Return an answer with 1 at ``key(heads)`` and 0 at the other first ``among(heads)`` keys.

    By least squares, the smallest factors where there are several.
    """

    def answer(slopes: Tensor, n: int) -> Tensor:
        heads = len(slopes)
        keys = min(among(heads), n)
        wished = torch.zeros(keys, dtype=slopes.dtype)
        wished[max(0, min(key(heads), keys - 1))] = 1
        return torch.linalg.pinv(_last_weights(slopes, n)[:, :keys].T) @ wished

    return answer


def _ends_alone(slopes: Tensor, n: int) -> Tensor:
    heads = len(slopes)
    asked = _last_weights(slopes, n)[:, sorted({0, heads - 1})]
    return torch.linalg.pinv(asked.T)[:, -1]


def _key_0_alone(
    kept: Callable[[Tensor], int] = lambda slopes: len(slopes) - 1,
    shared: bool = True,
    scaled_at: Callable[[int], int] | None = None,
) -> Callable[[Tensor, int], Tensor]:
    """Return an answer that keeps one head and subtracts the others until key 0 is gone.

    Args:
        kept: the head that is kept.
        shared: whether each of the others cancels its share of key 0, or all of it.
        scaled_at: the key, of a number of heads, where the sum is 1 in the end.
    """

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, head, heads = _last_weights(slopes, n), kept(slopes), len(slopes)
        share = max(heads - 1, 1) if shared else 1
        factors = -weights[head, 0] / weights[:, 0] / share
        factors[head] = 1
        return factors if scaled_at is None else factors / (factors @ weights[:, scaled_at(heads)])

    return answer


def _first_head_cancels(scaled: bool) -> Callable[[Tensor, int], Tensor]:
    """Return an answer in which the first head cancels key 0 for all others, which stay as is."""

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, factors = _last_weights(slopes, n), torch.ones_like(slopes)
        if len(slopes) > 1:
            factors[0] = -weights[1:, 0].sum() / weights[0, 0]
        return factors / (factors @ weights[:, len(slopes) - 1]) if scaled else factors

    return answer


def _gentlest(slopes: Tensor) -> int:
    return int(slopes.argmin())


def _in_a_chain(slopes: Tensor, n: int) -> Tensor:
    ratios = _last_weights(slopes, n)[:, 0]
    signs = (-1.0) ** torch.arange(len(slopes) - 1, -1, -1)
    return signs.to(slopes.dtype) * ratios[-1] / ratios


def _two_heads_of(first: int, second: int) -> Callable[[Tensor, int], Tensor]:
    """Return an answer that leaves all heads but two out."""

    def answer(slopes: Tensor, n: int) -> Tensor:
        if len(slopes) == 1:
            return _single_out(slopes, n)
        factors = torch.zeros_like(slopes)
        factors[[first, second]] = _single_out(slopes[[first, second]], n)
        return factors

    return answer


def _log_weights(slopes: Tensor, n: int) -> Tensor:
    weights = (slopes[:, None] * torch.arange(n - 1, -1, -1)).log_softmax(-1)
    return _factors(weights[:, : len(slopes)])


def _alternating(slopes: Tensor, n: int) -> Tensor:
    return (-1.0) ** torch.arange(len(slopes) - 1, -1, -1, dtype=slopes.dtype)


def _all_keys(slopes: Tensor, n: int) -> Tensor:
    return torch.linalg.solve(_last_weights(slopes, n).T, torch.eye(n, dtype=slopes.dtype)[0])


def _in_turn(
    backwards: bool = False, scaled: bool = True, kept: int = -1, crossed: bool = False
) -> Callable[[Tensor, int], Tensor]:
    """Return an answer in which one head after another cancels one key, and then is left alone.

    ``crossed``: the last of these heads cancels key 0.
    """

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, heads = _last_weights(slopes, n), len(slopes)
        factors = torch.zeros_like(slopes)
        factors[kept] = 1
        cancelling = [head for head in range(heads) if head != kept % heads]
        steps = list(zip(cancelling[:: -1 if crossed else 1], range(heads - 1), strict=True))
        for head, key in reversed(steps) if backwards else steps:
            factors[head] -= (factors @ weights)[key] / weights[head, key]
        return factors / (factors @ weights[:, heads - 1]) if scaled else factors

    return answer


def _one_ratio(of_all: bool, scaled: bool) -> Callable[[Tensor, int], Tensor]:
    """Return an answer that subtracts the other heads from the last one by the same factor.

    Args:
        of_all: whether together they cancel key 0, or the first of them does.
        scaled: whether the sum is 1 at the key asked for in the end.
    """

    def answer(slopes: Tensor, n: int) -> Tensor:
        weights, others = _last_weights(slopes, n), max(len(slopes) - 1, 1)
        at_key_0 = weights[:others, 0].sum() if of_all else weights[0, 0]
        factors = -(weights[-1, 0] / at_key_0).expand(len(slopes)).clone()
        factors[-1] = 1
        return factors / (factors @ weights[:, len(slopes) - 1]) if scaled else factors

    return answer


def _of_four_keys(slopes: Tensor, n: int) -> Tensor:
    return _factors(_last_weights(slopes, n)[:, :4])


def _wished_at_four_keys(slopes: Tensor, n: int) -> Tensor:
    wished = torch.tensor([0, 0, 0, 1], dtype=slopes.dtype)
    return torch.linalg.solve(_first_weights(slopes, n).T, wished)


def _for_two_heads(slopes: Tensor, n: int) -> Tensor:
    first, second = slopes
    return _single_out(torch.stack([first, second]), n)


def _two_factors(slopes: Tensor, n: int) -> Tensor:
    weights = _last_weights(slopes[:2], n)
    return _row(-(weights[-1, 0] / weights[0, 0]).item(), 1.0)


def _what_single_out_lacks(answer: Tensor, slopes: Tensor, n: int) -> str:
    """Say what the sum is at each of the first keys; "" where the factors are right."""
    right = _single_out(slopes, n)
    text = difference(answer, right)
    if not isinstance(answer, Tensor) or answer.shape != right.shape:
        return text
    sums = answer.detach().double() @ _last_weights(slopes, n)[:, : len(slopes)]
    wished = torch.eye(len(slopes), dtype=torch.float64)[-1]
    if not text and torch.allclose(sums, wished, atol=1e-3):
        return ""
    # Of more than two heads logarithms give a singular system, so no Mistake can have them.
    if len(slopes) == 2 and not difference(answer, _log_weights(slopes, n)):
        return "these are from logarithms of weights. What do the weights of a head add up to?"
    rounded = [number if abs(number) > 1e-9 else 0.0 for number in sums.tolist()]
    keys = ", ".join(str(key) for key in range(len(slopes)))
    sums_text = (
        f"with your factors the sum at key{'s' if len(slopes) > 1 else ''} {keys} is "
        f"{', '.join(f'{number:.4g}' for number in rounded)}. "
    )
    if answer.dtype == right.dtype and _ridged(answer, _first_weights(slopes, n)):
        return sums_text + (
            "Do you add a small number to the diagonal (a ridge)? Then the equations hold only "
            "nearly. As many equations as unknowns: what do they need beyond the matrix itself?"
        )
    if (decimals := _decimals_of_weights(answer, slopes, n)) is not None:
        return sums_text + (
            f"They are exact for weights rounded to {decimals} decimal{'s' * (decimals > 1)}. What "
            "does a large factor make of what was cut off?"
        )
    if not text or right.abs().max() > 1e6:  # smaller cases come first: here precision runs out
        sums_text += f"The right factors go up to {right.abs().max():,.0f}. "
        if torch.equal(answer.double(), answer.float().double()):
            return sums_text + (
                "How many digits has float32, and in which dtype do you compute and return them?"
            )
        if not difference(answer, _of_float32_weights(slopes, n)):
            return sums_text + (
                "These are exact for weights with the digits of float32. Print the dtype of your "
                "distances, and of `slopes[0] * distance`: what do they make of a float64 slope?"
            )
        if _cut_off(answer, right, _first_weights(slopes, n)):
            return sums_text + (
                "Yours lack the mixture of heads that changes the sums least. Is there a cut-off "
                "in your way, such as rcond? `solve` has none."
            )
        if _of_normal_equations(answer, _first_weights(slopes, n)):
            return sums_text + (
                "Do you multiply the matrix by its own transpose, AᵀA? That squares how far errors "
                "grow. A is square already: what solves Ax = b?"
            )
        return sums_text + (
            "Has everything on the way the digits of float64, and what is the dtype of "
            "`slopes[0] * distance`? If that is float64, too: by how much does a product such as "
            "AᵀA, or a cut-off such as rcond, worsen such a system?"
        )
    if answer.abs().max() > 1e4 * right.abs().max():
        return sums_text + (
            f"Your factors go up to {answer.abs().max():.0e}, the right ones to "
            f"{right.abs().max():.3g}. Of which query are your weights? Do heads of different "
            "slopes differ there?"
        )
    if (query := _query_of(answer, slopes, n)) is not None:
        return sums_text + (
            f"For query {query} your factors are right. Of which of the {n} queries are weights "
            "asked for?"
        )
    if answer.dtype == right.dtype and _approached(answer, right, _first_weights(slopes, n)):
        return sums_text + (
            "Do you approach the factors in steps? Along one mixture of heads the sums hardly "
            "change, and steps are slow. With as many equations as unknowns, what solves them at "
            "once?"
        )
    if len(slopes) > 2:  # a case of two heads comes first, and was right
        return sums_text + (
            f"Your factors of two heads are right. With {len(slopes)}, several keys have to be 0 "
            "at the same time: which of your steps undoes what another has done?"
        )
    return sums_text + "What should it be at each?"


def _of_float32_weights(slopes: Tensor, n: int) -> Tensor:
    """The factors of weights in float32, as a head at a time has them with distances in float32."""
    distances = torch.arange(n - 1, -1, -1.0)
    weights = torch.stack([(slope * distances).softmax(0) for slope in slopes])
    return _factors(weights[:, : len(slopes)].double())


def _decimals_of_weights(answer: Tensor, slopes: Tensor, n: int) -> int | None:
    """The decimals of rounded weights that these factors are right for; None if there are none."""
    for decimals in range(1, 13):
        rounded = _first_weights(slopes, n).round(decimals=decimals)
        inverse, singular = torch.linalg.inv_ex(rounded)
        if not singular and torch.allclose(inverse[-1], answer.double(), rtol=1e-6):
            return decimals
    return None


def _cut_off(answer: Tensor, right: Tensor, weights: Tensor) -> bool:
    """Whether factors have nothing of the mixture of heads that changes the sums least."""
    weakest = torch.linalg.svd(weights.T).Vh[-1]
    return bool((weakest @ answer.double()).abs() < 1e-6 * (weakest @ right).abs())


def _of_normal_equations(answer: Tensor, weights: Tensor) -> bool:
    """Whether factors solve AᵀAx = Aᵀb as well as float64 can, where A has these weights."""
    matrix = weights.T
    lacking = torch.eye(len(weights), dtype=weights.dtype)[-1] - matrix @ answer.double()
    size = torch.linalg.matrix_norm(matrix, 2) ** 2 * answer.double().norm()
    return bool((matrix.T @ lacking).norm() < 1e-13 * size)


def _approached(answer: Tensor, right: Tensor, weights: Tensor) -> bool:
    """Whether factors look as if they came nearer in steps, and had not yet arrived.

    Such factors are right along the mixture of heads that changes the sums most, and fall short
    along the one that changes them least.
    """
    mixtures = torch.linalg.svd(weights.T).Vh  # (heads, heads), the strongest first
    shares = (mixtures @ answer.double()) / (mixtures @ right.double())
    weakest = shares[-1].item()
    return len(right) > 1 and abs(shares[0].item() - 1) < 0.05 and 0.001 < weakest < 0.98


def _ridged(answer: Tensor, weights: Tensor) -> bool:
    """Whether factors solve the system, or its normal equations, with a ridge on the diagonal.

    Then what the equations lack is a multiple of the factors.
    """
    lacking = torch.eye(len(weights), dtype=weights.dtype)[-1] - weights.T @ answer
    likeness = [F.cosine_similarity(of, answer, dim=0) for of in (lacking, weights @ lacking)]
    return len(answer) > 1 and bool(max(likeness) > 1 - 1e-7)


def _query_of(answer: Tensor, slopes: Tensor, n: int) -> int | None:
    """The query, not the last, whose sum is as wished with these factors; None if there is none."""
    heads = len(slopes)
    wished = torch.eye(heads, dtype=torch.float64)[-1]
    for query in range(heads - 1, n - 1):
        sums = answer.double() @ _last_weights(slopes.double(), query + 1)[:, :heads]
        if torch.allclose(sums, wished, atol=1e-4):
            return query
    return None


def _of_mean_weights(slopes: Tensor, n: int) -> Tensor:
    return _factors(straight_weights(slopes.tolist(), n).mean(1)[:, : len(slopes)])


def _of_query_0(slopes: Tensor, n: int) -> Tensor:  # and one key late: singular for one head too
    return _factors(straight_weights(slopes.tolist(), n)[:, 0, 1 : len(slopes) + 1])


def _rescaled(factor: Callable[[Tensor, int], float]) -> Callable[[Tensor, int], Tensor]:
    """Return an answer whose scores are ``factor(slopes, n)`` times as large."""
    return lambda slopes, n: _single_out(factor(slopes, n) * slopes, n)


def _rounded(decimals: int) -> Callable[[Tensor, int], Tensor]:
    return lambda slopes, n: _single_out(slopes, n).round(decimals=decimals)


def _row(*slopes: float) -> Tensor:
    return torch.tensor(slopes, dtype=torch.float64)


check_single_out = Check(
    "single_out",
    _single_out,
    cases=[
        (_row(2.0, 1.0), 9),
        (_row(3.0, 2.0, 1.0), 9),
        (_row(1.0, 3.0), 4),
        (_row(1.5), 6),
        (_row(5.0, 3.5, 2.5, 1.5), 12),
        (_row(0.5, 0.0, 1.5), 5),
        (torch.linspace(6, 1, 6, dtype=torch.float64), 9),  # more than float32 can bear
        (_row(-1.0, 0.5), 6),  # a slope below 0: the query's own key has the largest weight
    ],
    mistakes=[
        Mistake(
            "the axis of a single head is dropped",
            "One head has one factor. In which shape should it come back, and in which does it?",
            lambda slopes, n: _single_out(slopes, n).squeeze(),
        ),
        Mistake(
            "the heads favour near keys",
            "With a slope above 0, which key should have the largest weight? And which keys does "
            "your system speak of?",
            _near_keys_favoured,
        ),
        Mistake(
            "heads and keys share one axis",
            "Each head has a weight for each key. Which axis should count heads, and which keys? "
            "What shape must `slopes` have to meet n distances?",
            _without_an_axis_for_heads,
            raises=r"size of tensor a \(\d\) must match the size of tensor b \(([4569]|12)\) at "
            r"non-singleton dimension 0|size of tensor a \(([4569]|12)\) must match the size of "
            r"tensor b \(\d\) at non-singleton dimension 0|shapes \(\d+,\) \(\d+,\)"
            r"|too many indices for tensor of dimension 1",  # with one head
        ),
        Mistake(
            "an entry is asked for past the last",
            "Heads and keys are counted from 0. With two heads, which number has the last of the "
            "keys where the sum is prescribed?",
            _wish_past_its_end,
            raises=r"index (\d+) is out of bounds for (?:dimension|axis) \d with size \1\b",
        ),
        Mistake(
            "one head alone has a factor",
            "One head's weights are all above 0, so its sum is not 0 at key 0. Which other head "
            "can take that away?",
            *(
                _one_head_alone(kept, scaled)
                for kept in (_gentlest, lambda slopes: 0, lambda slopes: len(slopes) - 1)
                for scaled in (True, False)
            ),
        ),
        Mistake(
            "slopes below 0 are turned",
            "Which key has the largest weight, if a slope is −1?",
            lambda slopes, n: _single_out(slopes.abs(), n),
        ),
        Mistake(
            "slopes below 0 are taken for 0",
            "Which key has the largest weight, if a slope is −1?",
            lambda slopes, n: _single_out(slopes.clamp(min=0), n),
        ),
        Mistake(
            "key 0 is singled out",
            "At which key should the sum be 1, and at which 0?",
            lambda slopes, n: _factors(_last_weights(slopes, n)[:, : len(slopes)], wished=0),
        ),
        Mistake(
            "these are not attention's weights",
            "What do the weights of a head add up to?",
            _without_softmax,
        ),
        Mistake(
            "these are the numerators alone",
            "What do the weights of a head add up to?",
            _numerators,
        ),
        Mistake(
            "the sum is 1 at each of the first keys",
            "What should the sum be at key 0, if there is more than one head?",
            _one_at_every_key,
        ),
        Mistake(
            "the sign is turned",
            "What is the sum at key heads − 1 with your factors?",
            lambda slopes, n: -_single_out(slopes, n),
        ),
        Mistake(
            "the factors are in the order of sorted slopes",
            "Which head does your first factor belong to?",
            lambda slopes, n: _single_out(slopes.sort().values, n),
            lambda slopes, n: _single_out(slopes.sort(descending=True).values, n),
        ),
        Mistake(
            "the softmax runs over one key too many",
            "How many keys does the last of n queries see, itself included?",
            _one_key_more,
        ),
        Mistake(
            "the softmax runs over one key too few",
            "How many keys does the last of n queries see, itself included?",
            lambda slopes, n: _factors(_last_weights(slopes, n - 1)[:, : len(slopes)]),
        ),
        Mistake(
            "these are scores, not weights",
            "What does attention do with scores before it adds anything up?",
            _of_scores,
        ),
        Mistake(
            "this is the whole inverse",
            "It holds the factors for each of the first keys. Which of them is asked for?",
            _inverse,
        ),
        Mistake(
            "the factors stand in a column",
            "One number a head is asked for, (heads,). Which axis is too many?",
            lambda slopes, n: _single_out(slopes, n)[:, None],
        ),
        Mistake(
            "this is the sum at each key",
            "Your sum has one number a key. What did you multiply each head's weights with?",
            lambda slopes, n: _single_out(slopes, n) @ _last_weights(slopes, n),
        ),
        Mistake(
            "the two sides of the system have different dtypes",
            "The slopes are float64. What is the dtype of torch.eye and torch.zeros, if you do not "
            "say?",
            _float32_target,
            raises="have the same dtype",
        ),
        Mistake(
            "all factors are 0",
            "They make 0 everywhere. What should the sum be at key heads − 1?",
            lambda slopes, n: torch.zeros_like(slopes),
        ),
        Mistake(
            "rows and columns of the system have changed places",
            "Each key is an equation: what are the unknowns that it adds up?",
            _equations_of_heads,
        ),
        Mistake(
            "the sum is as near as it can be to 0 at all other keys",
            "How many keys are asked for, and how many factors do you have?",
            _least_squares,
        ),
        Mistake(
            "the query sees the first keys alone",
            "Over how many keys does the last query's softmax run?",
            _first_keys_alone,
        ),
        Mistake(
            "keys are counted from the end of the text",
            "Which keys come first: those near the query or those near the edge?",
            _last_keys,
        ),
        Mistake(
            "the factors are scaled to add up to 1",
            "What is the sum at key heads − 1 with your factors?",
            lambda slopes, n: _single_out(slopes, n) / _single_out(slopes, n).sum(),
        ),
        Mistake(
            "key 0 alone is cancelled",
            "With three heads, what is left of the sum at key 1? And is it 1 where it should be?",
            _key_0_alone(),
            _key_0_alone(shared=False),
            _key_0_alone(_gentlest),
            _key_0_alone(_gentlest, shared=False),
            _key_0_alone(scaled_at=lambda heads: heads - 1),
            _key_0_alone(scaled_at=lambda heads: min(heads - 1, 1)),
            _key_0_alone(shared=False, scaled_at=lambda heads: heads - 1),
            _key_0_alone(_gentlest, scaled_at=lambda heads: heads - 1),
            _first_head_cancels(scaled=True),
            _first_head_cancels(scaled=False),
            _in_a_chain,
            _last_pair(scaled=True),
            _last_pair(scaled=False),
        ),
        Mistake(
            "a part of one head is subtracted from another, and no more",
            "That removes key 0. What is the sum at key 1 then, and what should it be with two "
            "heads? And which keys have to be 0 with three?",
            *(
                _steep_from_gentle(by_slope, single)
                for by_slope in (False, True)
                for single in (-1.0, 1.0)
            ),
        ),
        Mistake(
            "the factors are scaled",
            "What is the sum at key heads − 1 with your factors?",
            lambda slopes, n: _single_out(slopes, n) / _single_out(slopes, n)[0],
            lambda slopes, n: _single_out(slopes, n) / _single_out(slopes, n)[-1],
            lambda slopes, n: _single_out(slopes, n) / _single_out(slopes, n).abs().max(),
        ),
        Mistake(
            "the factors are scaled to length 1",
            "What is the sum at key heads − 1 with your factors?",
            lambda slopes, n: F.normalize(_single_out(slopes, n), dim=0),
        ),
        Mistake(
            "only the first two heads are used",
            "Two factors make 0 at key 0. How many keys have to be 0 with three heads?",
            _two_heads_alone,
        ),
        Mistake(
            "these are two factors, as for two heads",
            "They make 0 at key 0. What is the sum at key 1 with two heads? And with three, how "
            "many keys have to be 0?",
            _two_factors,
        ),
        Mistake(
            "these are two factors, whatever the slopes",
            "Slopes of 2 and 1 cancel key 0 with these. What do other slopes leave there, and what "
            "should the sum at key 1 be?",
            lambda slopes, n: _row(-0.73, 1.0),
        ),
        Mistake(
            "only two heads have a factor",
            "One number a head is asked for. How many keys have to be 0 with three heads?",
            lambda slopes, n: _single_out(slopes[:2], n),
        ),
        Mistake(
            "only two heads are used",
            "Two factors make 0 at one key. How many keys have to be 0 with three heads?",
            _two_heads_of(-2, -1),
            _two_heads_of(0, -1),
        ),
        Mistake(
            "one key after another is cancelled",
            "With three heads, and key 1 cancelled last: what has that done to the sum at key "
            "0? Which conditions have to hold at the same time?",
            _in_turn(),
            _in_turn(backwards=True),
            _in_turn(scaled=False),
            _in_turn(backwards=True, scaled=False),
            _in_turn(kept=0),
            _in_turn(kept=0, scaled=False),
            *(
                _in_turn(backwards, kept=kept, crossed=True)
                for backwards in (False, True)
                for kept in (-1, 0)
            ),
        ),
        Mistake(
            "all heads but one share a factor",
            "With three heads two keys have to be 0. How many unknowns does that take?",
            *(_one_ratio(of_all, scaled) for of_all in (False, True) for scaled in (False, True)),
        ),
        Mistake(
            "this is written for two heads",
            "How many slopes come in with three heads? And how many conditions has the sum then?",
            _for_two_heads,
            raises=r"values to unpack|vec \(2\)|size of tensor [ab] \(2\)|tensor \[2\]|src \[2\]"
            r"|1x2 and|\d+x\d+ and 2x",
        ),
        Mistake(
            "only key 0 and the key asked for have an equation",
            "With three heads, what is the sum at key 1?",
            _ends_alone,
        ),
        Mistake(
            "key 1 is singled out, however many heads there are",
            "Two heads reach key 1. Which key do three reach?",
            _wished_at(lambda heads: 1, lambda heads: heads),
        ),
        Mistake(
            "the first two keys alone have an equation",
            "With three heads, how many keys are spoken of?",
            _wished_at(lambda heads: 1, lambda heads: min(heads, 2)),
        ),
        Mistake(
            "key 1 is singled out among all keys",
            "How many keys are spoken of, and how many factors do you have?",
            _wished_at(lambda heads: 1, lambda heads: 10**6),
        ),
        Mistake(
            "the key before the one asked for is singled out",
            "At which key should the sum be 1, with two heads?",
            _wished_at(lambda heads: heads - 2, lambda heads: heads),
        ),
        Mistake(
            "one key too few has an equation",
            "With two heads, at which keys is the sum prescribed?",
            _wished_at(lambda heads: heads - 2, lambda heads: max(heads - 1, 1)),
        ),
        Mistake(
            "one key too many has an equation",
            "Beyond key heads − 1 the sum may be anything. How many keys are left?",
            _wished_at(lambda heads: heads - 1, lambda heads: heads + 1),
        ),
        Mistake(
            "the key after the one asked for is singled out",
            "At which key should the sum be 1, with two heads?",
            _wished_at(lambda heads: heads, lambda heads: heads + 1),
            _wished_at(lambda heads: heads, lambda heads: 10**6),
        ),
        Mistake(
            "the last key is singled out",
            "Which keys do straight lines with slopes above 0 reach first?",
            _wished_at(lambda heads: 10**6, lambda heads: 10**6),
        ),
        Mistake(
            "n is fixed",
            "A query that sees other keys has other weights. Where does your function read n?",
            lambda slopes, n: _single_out(slopes, 9),
        ),
        Mistake(
            "heads are subtracted as they are",
            "A steep head has more of key 0 than a gentle one. What is left there?",
            _alternating,
        ),
        Mistake(
            "the factors have lost their signs",
            "All weights are above 0. How can a sum of them be 0 at key 0?",
            lambda slopes, n: _single_out(slopes, n).abs(),
        ),
        Mistake(
            "each head is scaled on its own",
            "Each of your heads alone makes 1 at its key. What is their sum at key 0?",
            lambda slopes, n: 1 / _last_weights(slopes, n)[:, len(slopes) - 1],
        ),
        Mistake(
            "each head is scaled on its own",
            "Each of your heads alone makes a share of 1. What is their sum at key 0?",
            lambda slopes, n: 1 / _last_weights(slopes, n)[:, len(slopes) - 1] / len(slopes),
        ),
        Mistake(
            "the factors are doubled",
            "What is the sum at key heads − 1 with your factors?",
            lambda slopes, n: 2 * _single_out(slopes, n),
        ),
        Mistake(
            "these are the heads' weights",
            "You have what each head gives each key. What makes their sum 0 at key 0?",
            _last_weights,
            lambda slopes, n: _last_weights(slopes, n)[:, : len(slopes)],
        ),
        Mistake(
            "this is a matrix of factors, not one factor a head",
            "It holds factors for each of the keys. Which of them is asked for, and of how many "
            "keys do you speak?",
            lambda slopes, n: torch.linalg.pinv(_last_weights(slopes, n)),
        ),
        Mistake(
            "the factors stand in a matrix of one row",
            "One number a head is asked for, (heads,). Which axis is too many?",
            lambda slopes, n: _single_out(slopes, n)[None],
        ),
        Mistake(
            "the number of heads is fixed",
            "Your system speaks of four keys. Of how many should it, if two heads come in?",
            _of_four_keys,
            _wished_at_four_keys,
            raises=r"they are (4 by \d|\d by 4) matrices|and 4x1\)",
        ),
        Mistake(
            "the system is not square",
            "You have one unknown a head. At how many keys is the sum prescribed? And which "
            "argument of `solve` is the matrix?",
            _all_keys,
            raises="must be batches of square matrices",
        ),
        Mistake(
            "the arguments of `solve` have changed places",
            "To which argument belong the equations, and to which what they should give?",
            lambda slopes, n: torch.linalg.solve(
                torch.eye(len(slopes), dtype=slopes.dtype)[-1],
                _last_weights(slopes, n)[:, : len(slopes)].T,
            ),
            raises="must have at least 2 dimensions",
        ),
        Mistake(
            "with left=False the unknowns stand in rows",
            "`left=False` solves XA = B: X and B have their numbers in rows there. What shape has "
            "your B, and which of A and A.T is then the matrix?",
            lambda slopes, n: torch.linalg.solve(
                _first_weights(slopes, n),
                torch.eye(len(slopes), dtype=slopes.dtype)[-1],
                left=False,
            ),
            raises="for the equation XA = B|not supported for left=False",
        ),
        Mistake(
            "the weights are means over queries",
            "Of which query is the sum asked for, and over how many queries is your mean?",
            _of_mean_weights,
        ),
        Mistake(
            "the weights are query 0's",
            "How many keys does query 0 see? Of which query is the sum asked for?",
            _of_query_0,
            raises="singular",
        ),
        Mistake(
            "the factors are rounded",
            "How far from 0 is the sum at key 0 with your factors? What may a large factor lose?",
            *(_rounded(decimals) for decimals in range(4)),
        ),
        Mistake(
            "the factors have gone through softmax",
            "All your factors are above 0. Can their sum be 0 at key 0?",
            lambda slopes, n: _single_out(slopes, n).softmax(-1),
        ),
        Mistake(
            "the weights are squared",
            "What does the readout multiply with a factor: a head's weights, or their squares?",
            lambda slopes, n: _factors(_first_weights(slopes, n) ** 2),
        ),
        Mistake(
            "the factors are squared",
            "All your factors are above 0. Can their sum be 0 at key 0?",
            lambda slopes, n: _single_out(slopes, n) ** 2,
        ),
        Mistake(
            "the scores are rescaled",
            "What does a head add to its score at distance 1: its slope, or a multiple of it?",
            _rescaled(lambda slopes, n: 0.5),
            _rescaled(lambda slopes, n: 2.0),
            _rescaled(lambda slopes, n: 1 / n),
            _rescaled(lambda slopes, n: 1 / max(n - 1, 1)),
            _rescaled(lambda slopes, n: n**-0.5),
            _rescaled(lambda slopes, n: len(slopes) ** -0.5),
            _rescaled(lambda slopes, n: math.log(2)),
        ),
        Mistake(
            "all heads have the same factor",
            "All your factors are above 0. Can their sum be 0 at key 0?",
            lambda slopes, n: torch.ones_like(slopes),
            lambda slopes, n: torch.ones_like(slopes) / len(slopes),
        ),
        Mistake(
            "the factors are in reverse order",
            "Which head does your first factor belong to?",
            lambda slopes, n: _single_out(slopes, n).flip(0),
        ),
        Mistake(
            "all queries have a say",
            "Of how many queries should the weights add up to 0 and 1?",
            _all_queries,
            _rounded_fit,
        ),
        Mistake(
            "the weights are those of an endless text",
            "How many terms does the sum below the fraction have, with n keys?",
            _of_endless_texts,
        ),
        Mistake(
            "the sum is 0 where it should be 1, and 1 elsewhere",
            "At which key should the sum be 1, and at which 0?",
            _wish_turned_about,
        ),
        Mistake(
            "these are weights, not factors",
            "Each key is an equation for the unknown factors. You have multiplied with what it "
            "should give: what solves it?",
            lambda slopes, n: _first_weights(slopes, n)[-1],
            lambda slopes, n: _first_weights(slopes, n)[:, -1],
        ),
        Mistake(
            "the softmax runs over the heads",
            "Among what does a head share out its weight?",
            _softmax_over_heads,
            _numerators_over_heads,
        ),
        Mistake(
            "heads and keys share one softmax",
            "What do the weights of one head add up to, the last query's on all its keys?",
            _softmax_over_all,
        ),
        Mistake(
            "the keys are counted from 1",
            "With two heads, which two keys are asked for?",
            _one_key_late,
        ),
    ],
    hints=(
        "Write the weights of the last query as a matrix, a row a head. What does the sum at key "
        "0 have to be, in these weights and the unknown factors?",
        "Each of the first keys is one linear equation for the factors. With as many keys as "
        "heads the matrix is square.",
        "The weights are a softmax over n distances, from n − 1 down to 0. torch.linalg.solve "
        "takes a square matrix, a row for each equation, and what the equations should give.",
    ),
    rules=[Without((_single_out, best_readout, straight_weights))],
    judge=_what_single_out_lacks,
    if_slow="Is there a loop that never ends, or one that approaches the factors in steps? With as "
    "many equations as unknowns, what solves them at once?",
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


def _cut_line(rows: Tensor, start: int) -> Tensor:
    """As ``_shifted_line``, with zeros where the line is too short."""
    line = F.pad(F.pad(rows, (1, 0)).flatten()[start:], (0, 2 * len(rows)))
    return line[: rows.numel()].reshape(rows.shape)


def _later(rows: Tensor) -> Tensor:
    """Whether the key is later than the query, True or False, (m, n)."""
    n_queries, n_keys = rows.shape
    return torch.ones_like(rows, dtype=torch.bool).triu(n_keys - n_queries + 1)


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
            "nothing has moved",
            "The last column of the input is offset 0, a query and itself. In which column of the "
            "result is the key at the first query's own position?",
            lambda rows: rows.clone(),
        ),
        Mistake(
            "later keys are hidden by −∞",
            "What does the exercise ask for where the key is later than the query?",
            lambda rows: _skew_new(rows).masked_fill(_later(rows), -math.inf),
        ),
        Mistake(
            "too much is hidden",
            "With 3 new queries of 8, how many keys does the first of them see? Which sign has the "
            "diagonal that ends there?",
            lambda rows: _shifted_line(rows, dropped=len(rows)).tril(rows.shape[0] - rows.shape[1]),
        ),
        Mistake(
            "the line is cut one number too early",
            "Which number of the line is the first query's product with key 0? Write the line down "
            "for 2 queries of 4 keys.",
            lambda rows: _hide_later_keys(_cut_line(rows, len(rows) - 1)),
        ),
        Mistake(
            "the line is cut one number too late",
            "Which number of the line is the first query's product with key 0? Write the line down "
            "for 2 queries of 4 keys.",
            lambda rows: _hide_later_keys(_cut_line(rows, len(rows) + 1)),
        ),
        Mistake(
            "the queries are in reverse order",
            "Which query is in the first row of the input, the oldest or the newest?",
            lambda rows: _skew_new(rows).flip(0),
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


def _distance_rows(keys: Tensor, table: Tensor) -> Tensor:
    k = len(table) // 2
    rows = (_row_numbers(keys, table) - k).abs() + k
    return _products(keys, table, _clamped(rows, table))


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
            "each row is one too high",
            "Which row does δ name for a key at the query's own position?",
            lambda keys, table: _position_to_content(keys, table, shift=1),
        ),
        Mistake(
            "k is not added",
            "Which row does δ name for a key at the query's own position?",
            lambda keys, table: _position_to_content(keys, table, shift=-(len(table) // 2)),
        ),
        Mistake(
            "only distances count",
            "Do a key before its query and one after it, equally far, have the same row?",
            _distance_rows,
        ),
        Mistake(
            "the last row is never read",
            "δ is cut off at 2k − 1. What is it for a key far after its query?",
            lambda keys, table: _products(
                keys, table, _row_numbers(keys, table).clamp(0, len(table) - 2)
            ),
        ),
        Mistake(
            "the table is read from its end",
            "Row 0 belongs to the lowest δ. For which keys is δ(j, i) low, those before or after "
            "their query?",
            lambda keys, table: _position_to_content(keys, table.flip(0)),
        ),
        Mistake(
            "the term is scaled",
            "Does the exercise ask for the term with √(3d) below it, or without?",
            lambda keys, table: _position_to_content(keys, table) / (3 * keys.shape[-1]) ** 0.5,
        ),
        Mistake(
            "the term is scaled",
            "Does the exercise ask for the term divided by √d, or as it is?",
            lambda keys, table: _position_to_content(keys, table) / keys.shape[-1] ** 0.5,
        ),
        Mistake(
            "the columns count the table's rows",
            "Your columns count rows of the table. Which row does query i need for key j?",
            lambda keys, table: keys @ table.T,
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
