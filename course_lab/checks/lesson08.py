"""Checks for lesson 08: NTK's factor, a cache under dynamic NTK, factors of the learner's own."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_utils.encodings import DynamicNTK, Linear, LongRoPE, Scaling
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
)
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.texts import text


def _first_unfinished(d: int, base: float, trained: float, angle: float = 2 * math.pi) -> int:
    """Return the first pair that does not turn by ``angle`` in training; d/2 if all do."""
    for m in range(d // 2):
        if trained * base ** (-2 * m / d) < angle:
            return m
    return d // 2


def _factor_of_pair(m: float, d: int, trained: int, target: int) -> float:
    """Return the factor that slows pair m by target/trained."""
    return (target / trained) ** ((d - 2) / (2 * m))


def _ntk_factor(d: int, base: float, trained: int, target: int) -> float:
    m = _first_unfinished(d, base, trained)
    return 1.0 if m == d // 2 else _factor_of_pair(m, d, trained, target)


def _always_slowed(d: int, base: float, trained: int, target: int) -> float:
    return _factor_of_pair(_first_unfinished(d, base, trained), d, trained, target)


def _one_pair_too_early(d: int, base: float, trained: int, target: int) -> float:
    return _factor_of_pair(_first_unfinished(d, base, trained) - 1, d, trained, target)


def _exponent_of_theta(d: int, base: float, trained: int, target: int) -> float:
    return _always_slowed(d, base, trained, target) ** (d / (d - 2))


def _inverted_power(d: int, base: float, trained: int, target: int) -> float:
    return (target / trained) ** (2 * _first_unfinished(d, base, trained) / (d - 2))


def _between_two_pairs(d: int, base: float, trained: int, target: int) -> float:
    m = d / 2 * math.log(trained / (2 * math.pi), base)
    return _factor_of_pair(m, d, trained, target)


def _radians_for_turns(d: int, base: float, trained: int, target: int) -> float:
    m = _first_unfinished(d, base, trained, angle=1.0)
    return _factor_of_pair(m, d, trained, target)


def _scaled_base(d: int, base: float, trained: int, target: int) -> float:
    return base * _ntk_factor(d, base, trained, target) ** (d / (d - 2))


check_ntk_factor = Check(
    "ntk_factor",
    _ntk_factor,
    cases=[
        (128, 10_000.0, 4096, 32_768),
        (32, 10_000.0, 64, 512),
        (64, 500_000.0, 8192, 131_072),
        (16, 100.0, 64, 160),
        (32, 10_000.0, 64, 64),
        (8, 10.0, 100, 400),
    ],
    mistakes=[
        Mistake(
            "this is the factor of the slowest pair",
            "Of the pairs that must be slowed by the extension, which is slowed least?",
            lambda d, base, trained, target: target / trained,
        ),
        Mistake(
            "the pair you take has finished a turn in training",
            "It has seen all angles. Which is the fastest that has not?",
            _one_pair_too_early,
        ),
        Mistake(
            "the exponent is that of b^(−2m/d)",
            "A factor of s makes the base b · s^(d/(d−2)). What is the power of s in θ then?",
            _exponent_of_theta,
        ),
        Mistake(
            "the power is the wrong way round",
            "You know by how much the pair is to be slowed, and look for the factor. Which is s?",
            _inverted_power,
        ),
        Mistake(
            "the edge lies between two pairs",
            "Pairs have whole numbers. Which is the first that makes no whole turn?",
            _between_two_pairs,
        ),
        Mistake(
            "a radian is taken for a turn",
            "By which angle has a hand turned that has seen every direction?",
            _radians_for_turns,
        ),
        Mistake(
            "a pair is slowed although all have finished a turn",
            "Where no pair meets a new angle, which factor is enough?",
            _always_slowed,
        ),
        Mistake(
            "this is the base, not the factor",
            "Which argument does NTK(…) take?",
            _scaled_base,
        ),
    ],
    hints=(
        "Print which pairs finish a turn within the trained length. Only the others can meet new "
        "angles. By how much must each of them be slowed at least?",
        "All of them by target/trained. A factor of s slows pair m by s^(2m/(d−2)), slow pairs "
        "more. So one pair decides.",
        "It is the first m with trained · θ_m < 2π. Solve s^(2m/(d−2)) = target/trained for s. If "
        "there is no such m, the factor is 1.",
    ),
)


def _turned(
    x: Tensor, positions: Tensor, base: float, scaling: Scaling | None, length: float
) -> Tensor:
    """Turn (seq, d) at these positions, under the frequencies for a text of this length."""
    frequencies, _ = scaled_frequencies(x.shape[-1], base, scaling, length)
    return apply_rope(x, rope_angles(positions, frequencies))


def _scores(query: Tensor, keys: Tensor) -> Tensor:
    """Return the scores of a turned query, (1, d), with turned keys, (seq, d)."""
    return keys @ query[0] / query.shape[-1] ** 0.5


def _cached_scores(
    q: Tensor, keys: Tensor, trained: int, base: float, *, uncounted: int = 0, ahead: int = 0
) -> Tensor:
    """Return the right scores, or those with tokens uncounted or the query too far ahead."""
    scaling, positions = DynamicNTK(1.0, trained), torch.arange(len(keys))
    length = len(keys) - uncounted
    query = _turned(q[None], positions[-1:] + ahead, base, scaling, length)
    return _scores(query, _turned(keys, positions, base, scaling, length))


def _each_key_at_its_moment(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    scaling, positions = DynamicNTK(1.0, trained), torch.arange(len(keys))
    cached = [
        _turned(keys[p : p + 1], positions[p : p + 1], base, scaling, p + 1.0)
        for p in range(len(keys))
    ]
    query = _turned(q[None], positions[-1:], base, scaling, len(keys))
    return _scores(query, torch.cat(cached))


def _with_scalings(
    q: Tensor, keys: Tensor, base: float, of_query: Scaling | None, of_keys: Scaling | None
) -> Tensor:
    positions, length = torch.arange(len(keys)), len(keys)
    query = _turned(q[None], positions[-1:], base, of_query, length)
    return _scores(query, _turned(keys, positions, base, of_keys, length))


def _interpolated(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    scaling = Linear(max(len(keys) / trained, 1))
    return _with_scalings(q, keys, base, scaling, scaling)


def _keys_unscaled(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    return _with_scalings(q, keys, base, DynamicNTK(1.0, trained), None)


check_cached_scores = Check(
    "cached_scores",
    _cached_scores,
    cases=[
        (randn(8, seed=1), randn(24, 8, seed=2), 8, 100.0),
        (randn(16, seed=3), randn(40, 16, seed=4), 10, 10000.0),
        (randn(8, seed=5), randn(6, 8, seed=6), 12, 100.0),
    ],
    mistakes=[
        Mistake(
            "every key keeps the base of its own moment",
            "An early and a late key were turned under two bases. What does their offset to the "
            "query still say?",
            _each_key_at_its_moment,
        ),
        Mistake(
            "the query has the new base, the keys the old one",
            "Put query and key at the same position and turn both. Do the turns cancel?",
            _keys_unscaled,
        ),
        Mistake(
            "the base has not grown",
            "There are more keys than the trained length. What does dynamic NTK do then?",
            lambda q, keys, trained, base: _with_scalings(q, keys, base, None, None),
        ),
        Mistake(
            "the new token is not counted",
            "With positions 0 … n − 1, how many are in use?",
            lambda q, keys, trained, base: _cached_scores(q, keys, trained, base, uncounted=1),
        ),
        Mistake(
            "the query stands one position too far",
            "The query is the newest token, and its own key is the last. Which position is that?",
            lambda q, keys, trained, base: _cached_scores(q, keys, trained, base, ahead=1),
        ),
        Mistake(
            "positions are interpolated",
            "Dynamic NTK leaves the fastest pair alone. Are neighbours still a whole step apart "
            "with yours?",
            _interpolated,
        ),
    ],
    hints=(
        "How many positions are in use when the query comes? Under which frequencies must both "
        "sides of a dot product have been turned?",
        "What can a cache store so that it stays right when the base changes?",
        "Get frequencies once, for length n, with DynamicNTK(1.0, trained); turn all keys and the "
        "query with them.",
    ),
)


# Nats above the shipped model's loss as it was trained, at its own 64 bytes.
MOST_AT_64, MOST_AT_512 = 0.15, 0.45
_BASE = 10_000.0


@cache
def _losses(factors: tuple[float, ...] | None) -> tuple[float, float]:
    """Return the shipped model's loss at 64 and 512 bytes, on text that the lesson never shows."""
    trained = shipped.length("rope")
    scaling = None if factors is None else LongRoPE(list(factors), 1.0, trained)
    model = shipped.model("rope", scaling=scaling)
    passages = text.split(text.documentation()).held_out[[1, 3, 4], :1025]
    at_64, _ = sliding_loss(model, passages, 64, 512)
    at_512, _ = sliding_loss(model, passages, 512, 512)
    return at_64, at_512


def _turns(d: int, trained: int) -> Tensor:
    """Return how many turns each pair makes in training, (d/2,)."""
    return (trained * rope_frequencies(d, _BASE) / (2 * math.pi)).float()


_TURNS_OF_SHIPPED_MODEL = _turns(32, 64)


def _judge_factors(factors: Any, turns: Tensor, s: float) -> str:
    """Say what is wrong with factors, (d/2,), for a context that grows s times.

    Those for the shipped model are judged by its losses, others by what must hold for any head.
    """
    if not isinstance(factors, Tensor) or factors.shape != turns.shape:
        kind = f"shape {tuple(factors.shape)}" if isinstance(factors, Tensor) else repr(factors)
        return f"expected a tensor with a factor for each of {len(turns)} pairs, got {kind:.80}."
    factors = factors.detach().float()
    if not bool((factors.isfinite() & (factors > 0)).all()):
        low, high = factors.min(), factors.max()
        return f"factors are above 0 and finite; yours run from {low} to {high}."
    if torch.equal(turns, _TURNS_OF_SHIPPED_MODEL):
        return _judge_by_losses(factors)
    if bool((factors[turns >= 32] > 1.05).any()):
        return "pairs that make more than 32 turns are slowed: neighbours come closer together."
    if bool((factors[turns < 1 / s] < 0.95 * s).any()):
        return f"pairs that make less than 1/{s:g} of a turn meet new angles: slow them by {s:g}."
    return ""


def _judge_by_losses(factors: Tensor) -> str:
    unchanged, _ = _losses(None)
    at_64, at_512 = _losses(tuple(factors.tolist()))
    if at_64 - unchanged <= MOST_AT_64 and at_512 - unchanged <= MOST_AT_512:
        return ""
    return (
        f"the shipped model loses {at_64 - unchanged:.2f} nats at 64 bytes and "
        f"{at_512 - unchanged:.2f} at 512. At most {MOST_AT_64} and {MOST_AT_512} are allowed."
    )


def _ramp(turns: Tensor, s: float) -> Tensor:
    """Return factors with a ramp in the logarithm of the turns, from 0.5 to 5.7."""
    share_kept = ((turns / 0.5).log() / math.log(5.7 / 0.5)).clamp(0, 1)
    return 1 / (share_kept + (1 - share_kept) / s)


def _step(turns: Tensor, s: float) -> Tensor:
    return torch.where(turns >= 1, 1.0, s)


check_factors = Check(
    "factors",
    _ramp,
    cases=[(_TURNS_OF_SHIPPED_MODEL, 8.0), (_turns(128, 4096), 8.0), (_turns(128, 2048), 32.0)],
    mistakes=[
        Mistake(
            "all pairs are slowed: this is interpolation",
            "Which pairs tell neighbours apart, and what becomes of 64 bytes without them?",
            lambda turns, s: torch.full_like(turns, s),
        ),
        Mistake(
            "no pair is slowed",
            "Which angles do the slow pairs reach at 512 bytes?",
            lambda turns, s: torch.ones_like(turns),
        ),
        Mistake(
            "the wrong pairs are slowed",
            "One pair makes 10 turns in training, another 0.01. Which needs to be slowed?",
            lambda turns, s: torch.where(turns >= 1, s, 1.0),
        ),
        Mistake(
            "these are the new speeds, not the factors by which pairs are slowed",
            "With a factor of 8 a pair turns 8 times as slowly. Which of your factors are above 1?",
            lambda turns, s: 1 / _step(turns, s),
        ),
        Mistake(
            "this is the larger base of NTK-aware scaling",
            "Which pairs between fast and slow does it slow too little?",
            lambda turns, s: s ** (torch.arange(len(turns)) / (len(turns) - 1)),
        ),
        Mistake(
            "pairs are counted, and their turns are ignored",
            "How many pairs finish a turn here, and how many in a head of 64 pairs?",
            lambda turns, s: torch.where(torch.arange(len(turns)) < 3, 1.0, s),
        ),
        Mistake(
            "this is the step from above",
            "It is good at 64 bytes and a little too high at 512. Where it jumps, could a pair be "
            "slowed by something between 1 and s?",
            _step,
        ),
        Mistake(
            "the factors grow evenly from pair to pair",
            "Of the pairs that finished a turn, how many do you slow by more than 2?",
            lambda turns, s: torch.linspace(1.0, s, len(turns)),
        ),
    ],
    hints=(
        "At the two ends there is no choice. Print the turns: which three or four pairs are left?",
        "Change one pair at a time with loss_with. What does the pair that makes 1.02 turns like, "
        "and the next one, with 0.57?",
        "Between 1 and s, a ramp: from 1 for pairs with 5.7 turns to s for those with half a turn, "
        "in the logarithm of the turns. Or the step, but with 0.57 turns slowed by 6, not by 8.",
    ),
    judge=_judge_factors,
)
