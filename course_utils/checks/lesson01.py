"""Checks for lesson 01: entropy, the causal mask, the equivariance test, counting without PE."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_utils.checks.core import Check, Mistake
from course_utils.measures import entropy

Function = Callable[[Tensor], Tensor]


def _random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


_causal = _random(5, 5, seed=1).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf).softmax(-1)

check_entropy = Check(
    "entropy",
    entropy,
    cases=[
        (torch.full((3, 4), 0.25),),
        (_random(4, 6).softmax(-1),),
        (_random(2, 3, 5, seed=2).softmax(-1),),
        (_causal,),
    ],
    mistakes=[
        Mistake(
            "the unit is bits, not nats",
            "Which logarithm turns 4 equal weights into 1.386?",
            lambda w: entropy(w) / torch.log(torch.tensor(2.0)),
        ),
        Mistake(
            "the sign is the wrong way round",
            "A weight is below 1, so what sign has its logarithm?",
            lambda w: -entropy(w),
        ),
        Mistake(
            "a weight of 0 gives nan",
            "What does w · log w tend to as w goes to 0, and what does the computer make of it?",
            lambda w: -(w * w.log()).sum(-1),
        ),
        Mistake(
            "the sum runs over the queries",
            "Which axis of the weights sums to 1?",
            lambda w: torch.special.entr(w).sum(-2),
        ),
        Mistake(
            "there is one number for the whole matrix",
            "Each query has an entropy of its own. What shape should come back?",
            lambda w: entropy(w).mean(),
        ),
    ],
    hints=(
        "One number comes back for each query: the last axis disappears.",
        "Entropy is −Σ w·log w over the keys, with the natural logarithm.",
        "Where w is 0 the term must be 0. torch.special.entr and torch.xlogy know that.",
    ),
)


def _hidden(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).triu(diagonal=1)


check_hidden_keys = Check(
    "hidden_keys",
    _hidden,
    cases=[(4,), (1,), (7,)],
    mistakes=[
        Mistake(
            "the past is hidden, not the future",
            "Row 0 is the first query. Which keys may it see?",
            lambda n: _hidden(n).T.contiguous(),
        ),
        Mistake(
            "a token cannot see itself",
            "What would the softmax of the first query be over, if even key 0 were hidden?",
            lambda n: torch.ones(n, n, dtype=torch.bool).triu(diagonal=0),
        ),
        Mistake(
            "True stands for visible",
            "Which value should a key have that the query must not see?",
            lambda n: ~_hidden(n),
        ),
        Mistake(
            "nothing is hidden",
            "Which entries have a key after the query?",
            lambda n: torch.zeros(n, n, dtype=torch.bool),
        ),
    ],
    hints=(
        "The result is a square of booleans. Row i belongs to query i, column j to key j.",
        "Key j is hidden from query i when j is larger than i.",
        "Compare torch.arange(n)[None, :] with torch.arange(n)[:, None], or use triu.",
    ),
)


def attend(x: Tensor) -> Tensor:
    """Self-attention without projections: equivariant."""
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(-1) @ x


def attend_with_positions(x: Tensor) -> Tensor:
    """The same with the place added to the first feature: not equivariant."""
    place = torch.zeros_like(x)
    place[:, 0] = torch.arange(len(x))
    return attend(x + place)


def reverse_rows(x: Tensor) -> Tensor:
    """Not equivariant, though the set of rows stays the same."""
    return x.flip(0)


def double(x: Tensor) -> Tensor:
    """Each row on its own: equivariant without any rounding."""
    return 2 * x


def _equivariant(f: Function, x: Tensor, perm: Tensor) -> bool:
    return torch.allclose(f(x[perm]), f(x)[perm], atol=1e-5)


_x = _random(40, 16, seed=3)
_cycle = torch.roll(torch.arange(40), 1)

check_is_equivariant = Check(
    "is_equivariant",
    _equivariant,
    cases=[
        (attend, _x, _cycle),
        (attend, _x, torch.arange(40).flip(0)),
        (attend_with_positions, _x, _cycle),
        (attend_with_positions, _x, torch.arange(40).flip(0)),
        (reverse_rows, _x, _cycle),
        (double, _x, _cycle),
    ],
    mistakes=[
        Mistake(
            "the shuffled output is indexed by perm once more",
            "Undoing a shuffle takes the inverse permutation. For which shuffles is that the "
            "shuffle itself?",
            lambda f, x, perm: torch.allclose(f(x), f(x[perm])[perm], atol=1e-5),
        ),
        Mistake(
            "this asks for invariance",
            "Should the output of a shuffled sentence be the same, or the same rows elsewhere?",
            lambda f, x, perm: torch.allclose(f(x), f(x[perm]), atol=1e-5),
        ),
        Mistake(
            "only the sum over the tokens is compared",
            "Which functions keep the sum but put the rows in the wrong places?",
            lambda f, x, perm: torch.allclose(f(x).sum(0), f(x[perm]).sum(0), atol=1e-3),
        ),
        Mistake(
            "the comparison is exact",
            "Sums in another order round differently. How close is close enough in float32?",
            lambda f, x, perm: torch.equal(f(x[perm]), f(x)[perm]),
        ),
        Mistake(
            "the answer is True whatever the function does",
            "What should a function get that adds to each row its place before it attends?",
            lambda f, x, perm: True,
        ),
    ],
    hints=(
        "Write down what happens to token 0 on each side of the comparison.",
        "Two orders of work: shuffle then f, or f then shuffle. They should give the same rows.",
        "Each side of the comparison is indexed by perm exactly once.",
    ),
)


def _count(n: int) -> Tensor:
    weights = torch.tril(torch.ones(n, n)) / torch.arange(1, n + 1)[:, None]
    marker = torch.zeros(n)
    marker[0] = 1.0
    return 1 / (weights @ marker) - 1


check_count = Check(
    "count",
    _count,
    cases=[(1,), (5,), (32,)],
    mistakes=[
        Mistake(
            "counting starts at 1",
            "What is the output at the first token, and what is its position?",
            lambda n: _count(n) + 1,
        ),
        Mistake(
            "this is the attended marker, not yet the position",
            "The output at position p is 1/(p + 1). Which function takes that to p?",
            lambda n: 1 / (_count(n) + 1),
        ),
        Mistake(
            "every position gets the same answer",
            "How many keys does the query at position p see when the mask is causal?",
            lambda n: torch.full((n,), float(n - 1)),
        ),
        Mistake(
            "the marker stands on the last token",
            "Which token does every query see?",
            lambda n: torch.where(torch.arange(n) == n - 1, float(n - 1), torch.inf),
        ),
    ],
    hints=(
        "Causal attention with equal scores averages the tokens seen so far.",
        "Give the first token the value 1 and all others 0. Average. What is left at position p?",
        "weights @ marker is 1/(p + 1). Solve for p.",
    ),
    tolerance=1e-3,
)
