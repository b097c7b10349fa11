"""Checks for lesson 06: slopes for any number of heads, ALiBi's cost, attention in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, numbers
from course_lab.checks.rules import AtMost, Case, InParts, Without
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix


def _formula(n_heads: int) -> Tensor:
    """2^(−8h/H) for h = 1 … H, whatever H is."""
    return 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


def _twice(n_heads: int) -> tuple[Tensor, Tensor]:
    """The slopes for the next lower power of two c, and those of 2c that lie between them."""
    lower = 2 ** (n_heads.bit_length() - 1)
    return _formula(lower), _formula(2 * lower)[0::2]


def _extra_first(n_heads: int) -> Tensor:
    slopes, between = _twice(n_heads)
    return torch.cat([between[: n_heads - len(slopes)], slopes])


def _last_ones(n_heads: int) -> Tensor:
    slopes, between = _twice(n_heads)
    return torch.cat([slopes, between.flip(0)])[:n_heads]


def _again(n_heads: int) -> Tensor:
    return _twice(n_heads)[0].repeat(2)[:n_heads]


def _from_the_front(n_heads: int) -> Tensor:
    slopes, _ = _twice(n_heads)
    return torch.cat([slopes, _formula(2 * len(slopes))])[:n_heads]


def _any_slopes(n_heads: int) -> Tensor:
    return torch.cat(_twice(n_heads))[:n_heads]


check_any_slopes = Check(
    "any_slopes",
    _any_slopes,
    cases=[(12,), (3,), (8,), (20,), (1,), (71,)],
    mistakes=[
        Mistake(
            "this is the formula for every number of heads",
            "Print it for 12 heads beside alibi_slopes(12). Which head is the first to differ?",
            _formula,
        ),
        Mistake(
            "these are the first slopes of the next higher power of two",
            "How flat is your flattest head, for 12? And in a model with 8 heads?",
            lambda n: _formula(n if n & (n - 1) == 0 else 2 * len(_twice(n)[0]))[:n],
        ),
        *(
            Mistake(
                "some slopes come twice",
                "Every second slope of 2c is a slope of c too. Which ones are not?",
                twice,
            )
            for twice in (_again, _from_the_front)
        ),
        Mistake(
            "the extra slopes stand first",
            "In alibi_slopes(12), are the slopes of an 8-head model the first or the last ones?",
            _extra_first,
        ),
        Mistake(
            "the extra slopes are taken from the flat end",
            "Of the slopes in between, which come first: the steep or the flat ones?",
            _last_ones,
        ),
        Mistake(
            "the right slopes, but sorted",
            "A trained head has got used to its slope. What if heads change places?",
            lambda n: _any_slopes(n).sort(descending=True).values,
        ),
    ],
    hints=(
        "Start with a power of two that is not larger than n_heads. How many heads are missing?",
        "Compare formula(8) and formula(16) by eye. Which entries of the second are new?",
        "With c = 2 ** (n_heads.bit_length() - 1): formula(c), followed by "
        "formula(2 * c)[0::2][: n_heads − c].",
    ),
    rules=[Without((alibi_slopes,))],
)


def _cost(slopes: Tensor, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return -slopes[:, None, None] * offset_matrix(q_pos, k_pos).abs()


def _signed(slopes: Tensor, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """M · (j − i): right for earlier keys only."""
    return slopes[:, None, None] * offset_matrix(q_pos, k_pos)


def _no_positions(slopes: Tensor, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return _cost(slopes, torch.arange(len(q_pos)), torch.arange(len(k_pos)))


_two, _four = alibi_slopes(2), alibi_slopes(4)

check_cost = Check(
    "cost",
    _cost,
    cases=[
        (_two, torch.arange(4), torch.arange(4)),
        (_four, torch.tensor([5]), torch.arange(6)),
        (_four, torch.arange(3) + 100, torch.arange(5) + 98),
        (_two, torch.tensor([7, 2, 0]), torch.tensor([7, 2, 0])),
    ],
    mistakes=[
        Mistake(
            "this is the published line, which pays for distance",
            "Which key gets the highest number in row 3 of your matrix: the nearest or the "
            "farthest?",
            lambda slopes, q, k: -_signed(slopes, q, k),
        ),
        Mistake(
            "the sign is that of a reward",
            "Is a key 10 positions away to get a higher or a lower score than a neighbour?",
            lambda slopes, q, k: -_cost(slopes, q, k),
        ),
        Mistake(
            "keys ahead of the query are rewarded",
            "This is right where a mask hides the keys ahead. What does your row 0 look like?",
            _signed,
        ),
        Mistake(
            "this is the shortcut that leaves the query out",
            "Does your answer know where the query stands? Is it to be added to scores that have "
            "no mask?",
            lambda slopes, q, k: slopes[:, None, None] * k.expand(len(q), -1),
        ),
        Mistake(
            "the positions are counted, not read",
            "With a cache there may be one query, at position 5. Which position does yours take?",
            _no_positions,
        ),
        Mistake(
            "queries and keys have changed places",
            "The result is (heads, queries, keys). What does your axis 1 count?",
            lambda slopes, q, k: _cost(slopes, q, k).mT,
        ),
    ],
    hints=(
        "Take one query at position 5 and keys 3, 5 and 7. Which three numbers do you want?",
        "Later keys cost as much as earlier ones. Which function forgets the sign of an offset?",
        "k_pos[None, :] − q_pos[:, None] is (queries, keys); slopes[:, None, None] is (heads, 1, "
        "1). Multiply, and mind the minus sign.",
    ),
    rules=[Without((alibi_bias,))],
)


_HIDDEN = -1e30  # finite: −inf less −inf is nan


def _blockwise(
    *case: Any, start: float = _HIDDEN, rescaled: bool = True, shifted: bool = True,
    counted: bool = False, shortcut: bool = False, own: bool = False, stored: bool = False,
    half: bool = False,
) -> Tensor:  # fmt: skip
    """The right answer, or one with the mistake that a flag names."""
    q, k, v, slopes, q_pos, k_pos, causal, block = case
    top = torch.full((*q.shape[:2], 1), start if shifted else 0.0)
    total, out = torch.zeros_like(top), torch.zeros_like(q)
    rows = torch.arange(len(k_pos))
    for keys, values, at, row in zip(
        k.split(block, 1), v.split(block, 1), k_pos.split(block), rows.split(block), strict=True
    ):
        at = torch.arange(len(at)) if counted else at
        offsets = at[None, :] - q_pos[:, None]
        price = -at.expand(len(q_pos), -1) if shortcut else offsets.abs()
        scores = q @ keys.mT / q.shape[-1] ** 0.5 - slopes[:, None, None] * price
        later = row[None, :] > torch.arange(len(q_pos))[:, None] if stored else offsets > 0
        if causal:
            scores = scores.masked_fill(later, -torch.inf)
        largest = scores.amax(-1, keepdim=True)
        new = largest if own else torch.maximum(top, largest) if shifted else top
        weights, shrink = (scores - new).exp(), (top - new).exp() if rescaled else 1.0
        total = total * shrink + weights.sum(-1, keepdim=True)
        out, top = out * (1.0 if half else shrink) + weights @ values, new
    return out / total


def _with(**flags: Any) -> Callable[..., Tensor]:
    return lambda *case: _blockwise(*case, **flags)


def _blocks_apart(*case: Any) -> Tensor:
    """Each block normalised on its own, and the mean of their outputs."""
    q, k, v, slopes, q_pos, k_pos, causal, block = case
    parts = zip(k.split(block, 1), v.split(block, 1), k_pos.split(block), strict=True)
    outs = [
        _blockwise(q, keys, values, slopes, q_pos, at, causal, block) for keys, values, at in parts
    ]
    return torch.stack(outs).mean(0)


def _asked(q_pos: Tensor, k_pos: Tensor, causal: bool, block: int, size: float = 1.0) -> Case:
    """Two heads of width 4."""
    q, k = (numbers(2, len(at), 4, seed=len(at)) * size for at in (q_pos, k_pos))
    return q, k, numbers(2, len(k_pos), 4, seed=9), alibi_slopes(2), q_pos, k_pos, causal, block


_six = torch.arange(6)
_stored = torch.tensor([11, 3, 8, 6, 0, 1, 10, 4, 9, 2, 7, 5])
_long = _asked(torch.arange(96, 160), torch.arange(160), True, 16)

_low = _asked(_six, _six, True, 4)
_low = (-12 - _low[0].abs(), 12 + _low[1].abs(), *_low[2:])  # all scores far below 0

check_blockwise = Check(
    "blockwise",
    _blockwise,
    cases=[
        _asked(_six, _six, False, 3),
        _asked(_six, _six, True, 2),
        _asked(torch.tensor([9]), torch.arange(10), True, 4),
        _asked(torch.tensor([0, 11, 5]), _stored, True, 4),
        _asked(_stored, _stored, False, 5),
        _asked(_six + 40, torch.arange(46), True, 8, size=12.0),
        _asked(_six, _six, True, 100),
        _low,
    ],
    mistakes=[
        *(
            Mistake(
                "what was added up before keeps another scale",
                "A later block takes off another amount. What factor do the old sums lack then?",
                _with(**flags),
            )
            for flags in ({"rescaled": False}, {"rescaled": False, "own": True}, {"half": True})
        ),
        Mistake(
            "a block of which a query sees nothing gives nan",
            "What is the largest of scores that are all −inf, and what is exp(−inf − (−inf))?",
            _with(start=-torch.inf),
        ),
        Mistake(
            "large scores give inf or nan",
            "exp(100) is too large for float32. Which amount may all scores of a query lose?",
            _with(shifted=False),
        ),
        Mistake(
            "the largest score so far starts at 0",
            "What is e^s when all scores of a query are near −300, and what do you divide by then?",
            _with(start=0.0),
        ),
        Mistake(
            "each block has a softmax of its own",
            "A key's weight is its share among all keys. What do you divide by?",
            _blocks_apart,
        ),
        Mistake(
            "positions begin anew in each block",
            "The first key of the second block: how far is it from the query?",
            _with(counted=True),
        ),
        Mistake(
            "this is the shortcut that leaves the query out",
            "Softmax drops what a row shares. Do keys on both sides of a query share m · i?",
            _with(shortcut=True),
        ),
        Mistake(
            "keys are hidden by where they are stored, not by their position",
            "Keys may come in any order. Which numbers say which is later?",
            _with(stored=True),
        ),
    ],
    hints=(
        "The output is one sum over keys, divided by another: Σ e^s v and Σ e^s. Both can be added "
        "up a block at a time.",
        "e^s overflows. Take off the largest score so far, for each query. When a later block "
        "brings a larger one, multiply both old sums by e^(old largest − new largest).",
        "Start with top = −1e30, not −inf: a query may see nothing of the first block. A block: "
        "new = torch.maximum(top, scores.amax(-1, keepdim=True)), both sums times "
        "(top − new).exp(), plus (scores − new).exp() and its product with the block's values.",
    ),
    rules=[
        AtMost(
            _long,
            lambda q, k, *rest: 2 * max(q.shape[1] * rest[-1] * len(q), k.numel()),
            why="Which keys are needed at a time?",
        ),
        InParts(_long, 160, why="Queries can wait, keys come in blocks. What can be added up?"),
    ],
)
