"""Checks for lesson 06: ALiBi's slopes for any number of heads, its cost, its effective window."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_utils.checks.core import Check, Mistake
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix


def _formula(n_heads: int) -> Tensor:
    """2^(−8h/H) for h = 1 … H, whatever H is."""
    return 2 ** (-8 * torch.arange(1, n_heads + 1) / n_heads)


check_slopes = Check(
    "slopes",
    _formula,
    cases=[(1,), (2,), (4,), (8,), (16,)],
    mistakes=[
        Mistake(
            "the first head is counted as head 0",
            "What is your first slope? With 8 heads it should not be a whole point per position.",
            lambda n: 2 ** (-8 * torch.arange(n) / n),
        ),
        Mistake(
            "the number of heads plays no part",
            "With 16 heads, which exponent should the last head have? Which has yours?",
            lambda n: 2.0 ** -torch.arange(1, n + 1),
        ),
        Mistake(
            "the slopes grow from head to head",
            "Which sign has the exponent, and which head should be the most short-sighted?",
            lambda n: 2 ** (8 * torch.arange(1, n + 1) / n),
        ),
        Mistake(
            "the slopes are negative",
            "The minus sign stands in the bias already. What would a second one do?",
            lambda n: -_formula(n),
        ),
        Mistake(
            "the heads stand in reverse order",
            "Which head has the steepest slope in the formula: h = 1 or h = H?",
            lambda n: _formula(n).flip(0),
        ),
        Mistake(
            "the powers are those of e",
            "The formula halves something a fixed number of times. Which base does it name?",
            lambda n: (-8 * torch.arange(1, n + 1) / n).exp(),
        ),
    ],
    hints=(
        "Write down the two slopes for H = 2 by hand. Then the four for H = 4.",
        "The heads are h = 1, 2, …, H. What is the first exponent, and what is the last?",
        "torch.arange(1, n_heads + 1) holds all h. The rest is one power.",
    ),
)


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


def _repeated(n_heads: int) -> Tensor:
    slopes, _ = _twice(n_heads)
    return torch.cat([slopes, slopes])[:n_heads]


def _cut(n_heads: int) -> Tensor:
    lower = 2 ** (n_heads.bit_length() - 1)
    return _formula(lower if lower == n_heads else 2 * lower)[:n_heads]


check_any_slopes = Check(
    "any_slopes",
    alibi_slopes,
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
            _cut,
        ),
        Mistake(
            "some slopes come twice",
            "Every second slope of 2c is a slope of c too. Which ones are not?",
            _repeated,
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
            lambda n: alibi_slopes(n).sort(descending=True).values,
        ),
    ],
    hints=(
        "Start with a power of two that is not larger than n_heads. How many heads are missing?",
        "Compare formula(8) and formula(16) by eye. Which entries of the second are new?",
        "With c = 2 ** (n_heads.bit_length() - 1): formula(c), followed by "
        "formula(2 * c)[0::2][: n_heads − c].",
    ),
)


def _cost(slopes: Tensor, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    return alibi_bias(offset_matrix(q_pos, k_pos), slopes)


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
        Mistake(
            "distance is squared",
            "ALiBi means linear biases. By how much should the price rise from 3 to 4 positions?",
            lambda slopes, q, k: -slopes[:, None, None] * offset_matrix(q, k) ** 2,
        ),
    ],
    hints=(
        "Take one query at position 5 and keys 3, 5 and 7. Which three numbers do you want?",
        "Later keys cost as much as earlier ones. Which function forgets the sign of an offset?",
        "k_pos[None, :] − q_pos[:, None] is (queries, keys); slopes[:, None, None] is (heads, 1, "
        "1). Multiply, and mind the minus sign.",
    ),
)


def _window(slope: float, share: float, n: int) -> int:
    ratio = math.exp(-slope)
    return math.ceil(math.log(1 - share * (1 - ratio**n)) / -slope)


def _partial(slope: float, count: int) -> float:
    """The weights of the nearest keys, where that of the own place is 1."""
    return sum(math.exp(-slope * distance) for distance in range(count))


check_window = Check(
    "window",
    _window,
    cases=[(0.5, 0.95, 1000), (1 / 16, 0.95, 50), (1 / 256, 0.95, 512), (0.25, 0.5, 7)],
    mistakes=[
        Mistake(
            "this is the window in an endless text",
            "With slope 1/256 and 512 tokens, can the window be larger than the text?",
            lambda slope, share, n: math.ceil(math.log(1 - share) / -slope),
        ),
        Mistake(
            "one key is missing",
            "A window of distance 0 holds one key, the query's own place. What does yours count, "
            "keys or steps?",
            lambda slope, share, n: _window(slope, share, n) - 1,
        ),
        Mistake(
            "all keys weigh the same",
            "Where does your function use the slope?",
            lambda slope, share, n: math.ceil(share * n),
        ),
        Mistake(
            "this is the part that may be left out",
            "Do the keys you count hold `share` of the weight, or what remains?",
            lambda slope, share, n: _window(slope, 1 - share, n),
        ),
        Mistake(
            "the weights are those of base 2",
            "Which function makes weights of scores? By what does it multiply for each position?",
            lambda slope, share, n: _window(slope * math.log(2), share, n),
        ),
        Mistake(
            "the weights are not brought to sum 1",
            "Your weights of all n keys: what do they add up to?",
            lambda slope, share, n: next(
                (k for k in range(1, n + 1) if _partial(slope, k) >= share), n
            ),
        ),
    ],
    hints=(
        "With equal scores, each step back multiplies the weight by the same number. Which?",
        "The first D weights of n have the share (1 − r^D) / (1 − r^n), with r = e^(−slope). A "
        "loop that adds up will do as well.",
        "Set that equal to `share`, solve for D, and round up with math.ceil.",
    ),
)
