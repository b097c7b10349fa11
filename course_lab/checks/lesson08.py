"""Checks for lesson 08: NTK's factor, a cache under dynamic NTK, a stretch of one's own."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, numbers
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


def _unfinished(d: int, base: float, trained: float, turn: float = 2 * math.pi) -> int:
    """The first pair that makes no whole turn within ``trained`` positions; d/2 if all do."""
    return next((m for m in range(d // 2) if trained * base ** (-2 * m / d) < turn), d // 2)


def _root(d: int, base: float, trained: int, wanted: int, before: int = 0) -> float:
    """The factor that slows the first unfinished pair, or one before it, by wanted/trained."""
    m = _unfinished(d, base, trained) - before
    return (wanted / trained) ** ((d - 2) / (2 * m))


def _ntk_factor(d: int, base: float, trained: int, wanted: int) -> float:
    return _root(d, base, trained, wanted) if _unfinished(d, base, trained) < d // 2 else 1.0


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
            "Which of the pairs in need is slowed least, and must yet be slowed by the extension?",
            lambda d, base, trained, wanted: wanted / trained,
        ),
        Mistake(
            "the pair you take has finished a turn in training",
            "It has seen all angles. Which is the fastest that has not?",
            lambda d, base, L, n: _root(d, base, L, n, before=1),
        ),
        Mistake(
            "the exponent is that of b^(−2m/d)",
            "A factor of s makes the base b · s^(d/(d−2)). What is the power of s in θ then?",
            lambda d, *case: _root(d, *case) ** (d / (d - 2)),
        ),
        Mistake(
            "the power is the wrong way round",
            "You know by how much the pair is to be slowed, and ask for the factor. Which is s?",
            lambda d, b, L, n: (n / L) ** (2 * _unfinished(d, b, L) / (d - 2)),
        ),
        Mistake(
            "the edge lies between two pairs",
            "Pairs have whole numbers. Which is the first that makes no whole turn?",
            lambda d, b, L, n: (n / L) ** ((d - 2) / d * math.log(b, L / (2 * math.pi))),
        ),
        Mistake(
            "a radian is taken for a turn",
            "Through which angle has a hand gone that has seen every direction?",
            lambda d, b, L, n: (n / L) ** ((d - 2) / (2 * _unfinished(d, b, L, 1.0))),
        ),
        Mistake(
            "a pair is slowed although all have finished a turn",
            "Where no pair meets a new angle, which factor is enough?",
            _root,
        ),
        Mistake(
            "this is the base, not the factor",
            "What must NTK(…) be given?",
            lambda d, base, *case: base * _ntk_factor(d, base, *case) ** (d / (d - 2)),
        ),
    ],
    hints=(
        "Print which pairs finish a turn within the trained length. Only the others can meet new "
        "angles. By how much must each of them be slowed at least?",
        "All of them by wanted/trained, and a factor of s slows pair m by s^(2m/(d−2)), slow pairs "
        "more. So one pair decides.",
        "It is the first m with trained · θ_m < 2π. Solve s^(2m/(d−2)) = wanted/trained for s. If "
        "there is no such m, the factor is 1.",
    ),
)


def _turned(x: Tensor, at: Tensor, base: float, scaling: Scaling | None, n: float) -> Tensor:
    """(seq, d) at these positions, turned under the frequencies of length n."""
    return apply_rope(x, rope_angles(at, scaled_frequencies(x.shape[-1], base, scaling, n)[0]))


def _scores(
    q: Tensor, keys: Tensor, trained: int, base: float, *, n: int | None = None, at: int = 0
) -> Tensor:
    """The right scores, or those with another length or the query at another place."""
    length = len(keys) if n is None else n
    scaling = DynamicNTK(1.0, trained)
    places = torch.arange(len(keys))
    query = _turned(q[None], places[-1:] + at, base, scaling, length)
    return (_turned(keys, places, base, scaling, length) @ query[0]) / len(q) ** 0.5


def _stale(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    """Each key under the base of the moment at which it came."""
    scaling, places = DynamicNTK(1.0, trained), torch.arange(len(keys))
    old = [
        _turned(key[None], place[None], base, scaling, float(place) + 1)
        for key, place in zip(keys, places, strict=True)
    ]
    query = _turned(q[None], places[-1:], base, scaling, len(keys))
    return torch.cat(old) @ query[0] / len(q) ** 0.5


def _under(
    q: Tensor, keys: Tensor, base: float, of_query: Scaling | None, of_keys: Scaling | None
) -> Tensor:
    places, n = torch.arange(len(keys)), len(keys)
    query = _turned(q[None], places[-1:], base, of_query, n)
    return _turned(keys, places, base, of_keys, n) @ query[0] / len(q) ** 0.5


check_cached_scores = Check(
    "cached_scores",
    _scores,
    cases=[
        (numbers(8, seed=1), numbers(24, 8, seed=2), 8, 100.0),
        (numbers(16, seed=3), numbers(40, 16, seed=4), 10, 10000.0),
        (numbers(8, seed=5), numbers(6, 8, seed=6), 12, 100.0),
    ],
    mistakes=[
        Mistake(
            "every key keeps the base of its own moment",
            "Two keys, one early, one late, were turned under two bases. What does their offset "
            "to the query still say?",
            _stale,
        ),
        Mistake(
            "the query has the new base, the keys the old one",
            "Put query and key at the same place and turn both. Do the turns cancel?",
            lambda q, keys, L, base: _under(q, keys, base, DynamicNTK(1.0, L), None),
        ),
        Mistake(
            "the base has not grown",
            "There are more keys than the trained length. What does dynamic NTK do then?",
            lambda q, keys, L, base: _under(q, keys, base, None, None),
        ),
        Mistake(
            "the new token is not counted",
            "With positions 0 … n − 1, how many are in use?",
            lambda q, keys, trained, base: _scores(q, keys, trained, base, n=len(keys) - 1),
        ),
        Mistake(
            "the query stands one place too far",
            "The query is the newest token, and its own key is the last. Which position is that?",
            lambda q, keys, trained, base: _scores(q, keys, trained, base, at=1),
        ),
        Mistake(
            "positions are interpolated",
            "Dynamic NTK leaves the fastest pair alone. Do your neighbours still stand a whole "
            "step apart?",
            lambda q, keys, L, base: _under(q, keys, base, *[Linear(max(len(keys) / L, 1))] * 2),
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


MOST_AT_64, MOST_AT_512 = 0.15, 0.45  # nats above the model as it is, at its own 64 bytes
_BASE = 10_000.0


@cache
def _losses(factors: tuple[float, ...] | None) -> tuple[float, float]:
    """Loss of the shipped model at 64 and 512 bytes, on text that the lesson does not show."""
    trained = shipped.length("rope")
    scaling = None if factors is None else LongRoPE(list(factors), 1.0, trained)
    model = shipped.model("rope", scaling=scaling)
    passages = text.split(text.documentation()).held_out[[1, 3, 4], :1025]
    return tuple(sliding_loss(model, passages, n, 512)[0] for n in (64, 512))  # type: ignore[return-value]


def _turns(d: int, trained: int) -> Tensor:
    return (trained * rope_frequencies(d, _BASE) / (2 * math.pi)).float()


_OURS = _turns(32, 64)


def _judged(factors: Any, turns: Tensor, s: float) -> str:
    """What is wrong with these factors: by the shipped model, or by what must hold for any head."""
    if not isinstance(factors, Tensor) or factors.shape != turns.shape:
        got = f"shape {tuple(factors.shape)}" if isinstance(factors, Tensor) else repr(factors)
        return f"expected a tensor with a factor for each of {len(turns)} pairs, got {got:.80}."
    factors = factors.detach().float()
    if not bool((factors.isfinite() & (factors > 0)).all()):
        return f"factors are above 0 and finite, yours run from {factors.min()} to {factors.max()}."
    if torch.equal(turns, _OURS):
        now, before = _losses(tuple(factors.tolist())), _losses(None)[0]
        if now[0] - before <= MOST_AT_64 and now[1] - before <= MOST_AT_512:
            return ""
        return (
            f"the shipped model loses {now[0] - before:.2f} nats at 64 bytes and "
            f"{now[1] - before:.2f} at 512. At most {MOST_AT_64} and {MOST_AT_512} are allowed."
        )
    many, none = turns >= 32, turns < 1 / s
    if bool((factors[many] > 1.05).any()):
        return "pairs that make more than 32 turns are slowed: neighbours come closer together."
    if bool((factors[none] < 0.95 * s).any()):
        return f"pairs that make less than 1/{s:g} of a turn meet new angles: slow them by {s:g}."
    return ""


def _factors(turns: Tensor, s: float) -> Tensor:
    """A ramp in the logarithm of the turns, from 0.5 to 5.7."""
    kept = ((turns / 0.5).log() / math.log(5.7 / 0.5)).clamp(0, 1)
    return 1 / (kept + (1 - kept) / s)


def _step(turns: Tensor, s: float) -> Tensor:
    return torch.where(turns >= 1, 1.0, s)


check_factors = Check(
    "factors",
    _factors,
    cases=[(_OURS, 8.0), (_turns(128, 4096), 8.0), (_turns(128, 2048), 32.0)],
    mistakes=[
        Mistake(
            "all pairs are slowed: this is interpolation",
            "Which pairs tell neighbours apart, and what becomes of 64 bytes without them?",
            lambda turns, s: torch.full_like(turns, s),
        ),
        Mistake(
            "no pair is slowed",
            "What do the slow pairs meet at 512 bytes?",
            lambda turns, s: torch.ones_like(turns),
        ),
        Mistake(
            "the wrong pairs are slowed",
            "A pair that makes 10 turns in training, and one that makes 0.01: which needs it?",
            lambda turns, s: torch.where(turns >= 1, s, 1.0),
        ),
        Mistake(
            "these are the new speeds, not the factors by which pairs are slowed",
            "With a factor of 8 a pair turns 8 times as slowly. Which of yours are above 1?",
            lambda turns, s: 1 / _step(turns, s),
        ),
        Mistake(
            "this is the larger base of NTK-aware scaling",
            "Which pairs between fast and slow does it slow too little?",
            lambda turns, s: s ** (torch.arange(len(turns)) / (len(turns) - 1)),
        ),
        Mistake(
            "pairs are counted, their turns not looked at",
            "How many pairs finish a turn here, and how many in a head of 64 pairs?",
            lambda turns, s: torch.where(torch.arange(len(turns)) < 3, 1.0, s),
        ),
        Mistake(
            "this is the step from above",
            "Good at 64 bytes, a little too high at 512. Where it jumps, could a pair be slowed by "
            "something between 1 and s?",
            _step,
        ),
        Mistake(
            "the factors grow evenly from pair to pair",
            "Of the pairs that finished a turn, how many do you slow by more than 2?",
            lambda turns, s: torch.linspace(1.0, s, len(turns)),
        ),
    ],
    hints=(
        "At the two ends there is no choice. Print the turns: which three or four pairs are open?",
        "Change one pair at a time with loss_with. What does the pair that makes 1.02 turns like, "
        "and the next one, with 0.57?",
        "Between 1 and s, a ramp: from 1 for pairs with 5.7 turns to s for those with half a turn, "
        "in the logarithm of the turns. Or the step, but with 0.57 turns slowed by 6, not by 8.",
    ),
    judge=_judged,
)
