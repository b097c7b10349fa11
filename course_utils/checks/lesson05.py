"""Checks for lesson 05: one turned pair, the two layouts, scores per head, a key for a distance."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_utils.checks.core import Check, Mistake, numbers
from course_utils.checks.rules import Without
from course_utils.encodings.functional import (
    apply_rope,
    convert_layout,
    rope_angles,
    rope_frequencies,
)


def _turned(pair: Tensor, angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    a, b = pair
    return torch.stack([a * c - b * s, a * s + b * c])


check_turn_pair = Check(
    "turn_pair",
    lambda pair, p, theta: _turned(pair, p * theta),
    cases=[
        (torch.tensor([1.0, 0.0]), 1, 0.5),
        (torch.tensor([0.6, -1.2]), 7, 0.3),
        (torch.tensor([2.0, 1.0]), 0, 0.3),
        (torch.tensor([-0.5, 0.8]), 250, 0.01),
    ],
    mistakes=[
        Mistake(
            "it turns the other way",
            "Turn the pair (1, 0) by 0.5. Is the second number of the result above or below 0?",
            lambda pair, p, theta: _turned(pair, -p * theta),
        ),
        Mistake(
            "the position is left out",
            "By how much does the pair at position 0 turn? And yours?",
            lambda pair, p, theta: _turned(pair, theta),
        ),
        Mistake(
            "the angle is taken for degrees",
            "math.cos(3.14159) is about −1. In which unit does it want its angle?",
            lambda pair, p, theta: _turned(pair, math.radians(p * theta)),
        ),
        Mistake(
            "something is added, not turned",
            "How long is your pair before, and how long after? What does a turn do to a length?",
            lambda pair, p, theta: pair + torch.tensor([math.cos(p * theta), math.sin(p * theta)]),
        ),
        Mistake(
            "each number is multiplied by itself alone",
            "A quarter turn of (1, 0) is (0, 1). Can your second number become 1 when it was 0?",
            lambda pair, p, theta: pair * torch.tensor([math.cos(p * theta), math.sin(p * theta)]),
        ),
        Mistake(
            "the second number is computed from the new first one",
            "Which value of a does your second line use: the old one, or the one just overwritten?",
            lambda pair, p, theta: _overwritten(pair, p * theta),
        ),
    ],
    hints=(
        "By how many radians must the pair turn at position p?",
        "Each new number is made of both old ones, with a cosine and a sine of that angle.",
        "(a, b) becomes (a·cos − b·sin, a·sin + b·cos).",
    ),
    rules=[Without((apply_rope,))],
)


def _overwritten(pair: Tensor, angle: float) -> Tensor:
    c, s = math.cos(angle), math.sin(angle)
    a, b = pair
    a = a * c - b * s
    return torch.stack([a, a * s + b * c])


def _to_half(weight: Tensor, n_heads: int) -> Tensor:
    return weight.unflatten(0, (n_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


check_to_half = Check(
    "to_half",
    _to_half,
    cases=[
        (torch.arange(64.0).reshape(8, 8), 1),
        (numbers(16, 16), 2),
        (numbers(24, 24, seed=1), 3),
    ],
    mistakes=[
        Mistake(
            "it is the way back",
            "Row 1 of your result should hold the first feature of pair 1. Which row of an "
            "interleaved weight is that?",
            lambda weight, n_heads: convert_layout(weight, n_heads, "half", "interleaved"),
        ),
        Mistake(
            "rows have moved from one head to another",
            "Each head has its own pairs. Does your reordering know where a head ends?",
            lambda weight, n_heads: convert_layout(weight, 1, "interleaved", "half"),
        ),
        Mistake(
            "the columns are reordered",
            "Features of q are outputs of the layer. Are those the rows or the columns of its "
            "weight?",
            lambda weight, n_heads: _to_half(weight.T, n_heads).T,
        ),
        Mistake(
            "rows and columns are both reordered",
            "The columns belong to x. Does anything turn there?",
            lambda weight, n_heads: _to_half(_to_half(weight, n_heads).T, n_heads).T,
        ),
        Mistake(
            "nothing has moved",
            "Which feature is the partner of feature 0 of a head, in either layout?",
            lambda weight, n_heads: weight,
        ),
        Mistake(
            "the two halves are exchanged",
            "Feature 0 is the first of pair 0 in either layout. Where is it in yours?",
            lambda weight, n_heads: (
                _to_half(weight, n_heads).unflatten(0, (n_heads, 2, -1)).flip(1).flatten(0, 2)
            ),
        ),
    ],
    hints=(
        "Write down the row numbers of one head with 8 features, in the order that they should "
        "have afterwards.",
        "First come the first features of all pairs of the head, then their second features.",
        "Cut the rows into (heads, pairs, 2, …) with unflatten, swap two of these axes, and "
        "flatten again.",
    ),
    rules=[Without((convert_layout,))],
)


def _rope(x: Tensor, layout: str = "interleaved") -> Tensor:
    """Turn (…, seq, d) at positions 0, 1, …, with the plain frequencies of its width."""
    angles = rope_angles(torch.arange(x.shape[-2]), rope_frequencies(x.shape[-1]))
    return apply_rope(x, angles, layout)


def _cut(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(0, 1)  # (heads, seq, d_head)


def _scores(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.mT / q.shape[-1] ** 0.5


def _heads(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> tuple[Tensor, Tensor]:
    return _cut(x @ W_q, n_heads), _cut(x @ W_k, n_heads)


def _head_scores(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    return _scores(*map(_rope, _heads(x, W_q, W_k, n_heads)))


def _head_axis(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    q, k = (_rope(part.transpose(0, 1)).transpose(0, 1) for part in _heads(x, W_q, W_k, n_heads))
    return _scores(q, k)


def _at_full_width(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    return _scores(_cut(_rope(x @ W_q), n_heads), _cut(_rope(x @ W_k), n_heads))


def _on_x(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    return _scores(*_heads(_rope(x), W_q, W_k, n_heads))


def _only_q(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    q, k = _heads(x, W_q, W_k, n_heads)
    return _scores(_rope(q), k)


def _mixed(x: Tensor, W_q: Tensor, W_k: Tensor, n_heads: int) -> Tensor:
    return _scores(*(_rope(part, "half") for part in _heads(x, W_q, W_k, n_heads)))


check_head_scores = Check(
    "head_scores",
    _head_scores,
    cases=[
        (numbers(3, 8), torch.eye(8), torch.eye(8), 1),
        (numbers(6, 16, seed=1), numbers(16, 16, seed=2) / 4, numbers(16, 16, seed=3) / 4, 2),
        (numbers(5, 24, seed=4), numbers(24, 24, seed=5) / 5, numbers(24, 24, seed=6) / 5, 3),
    ],
    mistakes=[
        Mistake(
            "no score knows any place",
            "Which axis does apply_rope take for the positions, and is it that of the places?",
            _head_axis,
        ),
        Mistake(
            "x is turned before the projections",
            "A matrix stands between your turn and the dot product. Do the turns still cancel?",
            _on_x,
        ),
        Mistake(
            "q and k are turned before they are cut into heads",
            "How fast does the first pair of the last head turn in your code, and how fast should "
            "it?",
            _at_full_width,
        ),
        Mistake(
            "only the queries are turned",
            "Move the whole text by 100 places. What happens to your scores?",
            _only_q,
        ),
        Mistake(
            "the division is missing",
            "How does the size of a sum of d_head products grow with d_head?",
            lambda x, W_q, W_k, n_heads: (
                _head_scores(x, W_q, W_k, n_heads) * (W_q.shape[1] / n_heads) ** 0.5
            ),
        ),
        Mistake(
            "the division is by the width of the whole model",
            "How many products are added up in one head's score?",
            lambda x, W_q, W_k, n_heads: _head_scores(x, W_q, W_k, n_heads) / n_heads**0.5,
        ),
        Mistake(
            "features are paired by halves",
            "Which two features form pair 0 in the layout that was asked for?",
            _mixed,
        ),
    ],
    hints=(
        "Write down the order of the steps: project, cut into heads, turn, multiply. Which shape "
        "is there after each?",
        "Queries must be (heads, seq, d_head) when they are turned, and the frequencies are those "
        "of d_head.",
        "(x @ W_q).unflatten(-1, (n_heads, -1)).transpose(0, 1) cuts. The angles come from "
        "rope_angles(torch.arange(len(x)), rope_frequencies(d_head)).",
    ),
)


def _at(q: Tensor, place: float, base: float, layout: str = "interleaved") -> Tensor:
    angles = rope_angles(torch.tensor([place]), rope_frequencies(len(q), base))
    return apply_rope(q[None], angles, layout)[0]


check_key_for = Check(
    "key_for",
    _at,
    cases=[
        (torch.tensor([1.0, 0.0]), 3, 10000.0),
        (numbers(8), 5, 10000.0),
        (numbers(16, seed=1), 40, 500.0),
        (numbers(4, seed=2), 0, 10000.0),
    ],
    mistakes=[
        Mistake(
            "this key wants to stand ahead of the query",
            "The key's place is smaller than the query's, so it will be turned less. Which way "
            "must you turn it beforehand to make up for that?",
            lambda q, distance, base: _at(q, -distance, base),
        ),
        Mistake(
            "this key is made for distance 0",
            "Where does the distance enter your code?",
            lambda q, distance, base: q.clone(),
        ),
        Mistake(
            "the base is not used",
            "Which speeds do the pairs have when the base is 500?",
            lambda q, distance, base: _at(q, distance, 10000.0),
        ),
        Mistake(
            "the key is made for one position more",
            "Try distance 0. Which key should come back?",
            lambda q, distance, base: _at(q, distance + 1, base),
        ),
        Mistake(
            "features are paired by halves",
            "Which two features form pair 0 in the layout that was asked for?",
            lambda q, distance, base: _at(q, distance, base, "half"),
        ),
        Mistake(
            "all pairs turn at one speed",
            "The key must meet the query in every pair. Do all pairs travel the same angle?",
            lambda q, distance, base: apply_rope(
                q[None], torch.full((1, len(q) // 2), float(distance))
            )[0],
        ),
    ],
    hints=(
        "Of all keys of a given length, which one has the largest dot product with a query? Think "
        "of both after turning.",
        "The query stands at m, the key at m − distance. How much less has the key been turned?",
        "Turn a copy of q as if it stood at position `distance`, with angles from this base.",
    ),
)
