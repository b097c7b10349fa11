"""Checks for lesson 08: squeezed positions, NTK's base, YaRN's ramp, a cache under dynamic NTK."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_utils.checks.core import Check, Mistake
from course_utils.encodings import DynamicNTK, Linear, Scaling
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    scaled_frequencies,
)


def _numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


check_squeeze = Check(
    "squeeze",
    lambda positions, trained, wanted: positions * trained / wanted,
    cases=[
        (torch.arange(8), 4, 8),
        (torch.arange(96), 32, 96),
        (torch.tensor([0, 5, 100, 511]), 64, 512),
        (torch.arange(6), 6, 6),
    ],
    mistakes=[
        Mistake(
            "it is the inverse",
            "Trained with 4 positions, asked for 8: which position does the last token get from "
            "you? Has training seen it?",
            lambda positions, trained, wanted: positions * wanted / trained,
        ),
        Mistake(
            "fractions are cut off",
            "Positions 2 and 3 of 8 are now the same number. Must they be?",
            lambda positions, trained, wanted: positions * trained // wanted,
        ),
        Mistake(
            "fractions are rounded",
            "How many different positions are left of 8? A rotation takes any angle.",
            lambda positions, trained, wanted: (positions * trained / wanted).round(),
        ),
        Mistake(
            "far tokens share the last position",
            "What do the last four of 8 tokens get? Can a model tell them apart?",
            lambda positions, trained, wanted: positions.clamp(max=trained - 1).float(),
        ),
        Mistake(
            "positions start again",
            "Which positions do tokens 0 and 4 of 8 get? Who is nearer to token 5?",
            lambda positions, trained, wanted: (positions % trained).float(),
        ),
        Mistake(
            "the ends are made to meet",
            "Position 1 of 8 should move by exactly the factor 4/8. By how much does yours?",
            lambda positions, trained, wanted: positions * (trained - 1) / max(wanted - 1, 1),
        ),
        Mistake(
            "nothing has changed",
            "Which position does the last of 8 tokens have? Which was the last in training?",
            lambda positions, trained, wanted: positions.float(),
        ),
    ],
    hints=(
        "Where should the end of the long text land, on the scale of training?",
        "One factor for all positions. Is it above or below 1 when the text is longer?",
        "Multiply by the trained length and divide by the wanted one, as floats.",
    ),
)

check_ntk_base = Check(
    "ntk_base",
    lambda base, s, d: base * s ** (d / (d - 2)),
    cases=[(10000.0, 4.0, 64), (10000.0, 32.0, 128), (500.0, 2.0, 8), (100.0, 1.0, 16)],
    mistakes=[
        Mistake(
            "the base grows by s alone",
            "Compute the slowest θ, m = d/2 − 1, with the old base and with yours. Is it exactly s "
            "times slower?",
            lambda base, s, d: base * s,
        ),
        Mistake(
            "the exponent is upside down",
            "For d = 8 and s = 2: is your slowest pair slowed by more or by less than 2?",
            lambda base, s, d: base * s ** ((d - 2) / d),
        ),
        Mistake(
            "the base shrinks",
            "Does a smaller base make the slow pairs slower, or faster?",
            lambda base, s, d: base / s ** (d / (d - 2)),
        ),
        Mistake(
            "pairs are counted from 1 to d/2",
            "The slowest pair has m = d/2 − 1. Which exponent of the base does it have?",
            lambda base, s, d: base * s ** ((d + 2) / d),
        ),
        Mistake(
            "d counts pairs, not features",
            "θ of pair m is base^(−2m/d). How large is 2m for the last of d/2 pairs?",
            lambda base, s, d: base * s ** (d / 2 / (d / 2 - 2)),
        ),
        Mistake(
            "s is raised with the base",
            "With s = 1 the base must stay. Does it still, and is the power on s alone?",
            lambda base, s, d: (base * s) ** (d / (d - 2)),
        ),
    ],
    hints=(
        "Only one pair must be slowed by exactly s. Which one, and what is its θ?",
        "Write θ of pair d/2 − 1 with the new base, and set it equal to the old one divided by s.",
        "base' ^ (−(d−2)/d) = base ^ (−(d−2)/d) / s. Solve for base'.",
    ),
)


def _in_turns(turns: Tensor, slow: float, fast: float) -> Tensor:
    """The ramp of YaRN's paper and of Llama 3.1."""
    return ((turns - slow) / (fast - slow)).clamp(0, 1)


def _ramp(turns: Tensor, slow: float, fast: float) -> Tensor:
    """The ramp of YaRN's released code, without its rounding to whole pairs."""
    return _in_turns(turns.log(), math.log(slow), math.log(fast))


check_keep = Check(
    "keep",
    _ramp,
    cases=[
        (torch.tensor([0.2, 1.0, 4.0, 16.5, 32.0, 300.0]), 1.0, 32.0),
        (torch.tensor([0.5, 1.0, 2.0, 3.0, 4.0, 9.0]), 1.0, 4.0),
        (torch.logspace(-2, 3, 30), 2.0, 20.0),
    ],
    mistakes=[
        Mistake(
            "the ramp is the wrong way round",
            "A pair that turns 300 times within the trained length: is it kept or slowed? What is "
            "your γ there?",
            lambda turns, slow, fast: 1 - _ramp(turns, slow, fast),
        ),
        Mistake(
            "the ends have changed places",
            "Put turns = slow into your formula. Which γ should come out?",
            lambda turns, slow, fast: ((turns / fast).log() / math.log(fast / slow)).clamp(0, 1),
        ),
        Mistake(
            "the ramp does not stop at its ends",
            "What is your γ for 300 turns? Can a pair be kept by more than the whole?",
            lambda turns, slow, fast: (turns / slow).log() / math.log(fast / slow),
        ),
        Mistake(
            "it rises from 0 turns on",
            "What is your γ at exactly `slow` turns?",
            lambda turns, slow, fast: (turns / fast).clamp(0, 1),
        ),
        Mistake(
            "the logarithm of the turns is not reduced by that of the lower end",
            "What is your γ at exactly `slow` turns?",
            lambda turns, slow, fast: (turns.log() / math.log(fast)).clamp(0, 1),
        ),
        Mistake(
            "it is a step, not a ramp",
            "What happens between `slow` and `fast` turns?",
            lambda turns, slow, fast: (turns >= fast).float(),
        ),
        Mistake(
            "it is straight in the turns",
            "So YaRN's paper writes it, and Llama 3.1 does. Its released code is straight in the "
            "pair's index. Pairs 1, 2, 3, … make 32, 16, 8, … turns, say: which function of the "
            "turns falls by the same amount from pair to pair?",
            _in_turns,
        ),
        Mistake(
            "the width of the ramp is forgotten",
            "At which number of turns does your γ reach 1?",
            lambda turns, slow, fast: (turns / slow).log().clamp(0, 1),
        ),
    ],
    hints=(
        "Which pairs has training shown whole turns of, many times over? What should γ be there?",
        "A straight line in the logarithm of the turns, 0 at one end and 1 at the other, flat "
        "outside.",
        "Take logarithms of turns and ends. Subtract the lower end, divide by the width, and cut "
        "at 0 and 1 with clamp.",
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


def _new_query_old_keys(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    places = torch.arange(len(keys))
    query = _turned(q[None], places[-1:], base, DynamicNTK(1.0, trained), len(keys))
    return _turned(keys, places, base, None, len(keys)) @ query[0] / len(q) ** 0.5


def _other_scaling(
    q: Tensor, keys: Tensor, base: float, scaling: Scaling | None, root: float
) -> Tensor:
    places = torch.arange(len(keys))
    query = _turned(q[None], places[-1:], base, scaling, len(keys))
    return _turned(keys, places, base, scaling, len(keys)) @ query[0] / root


check_cached_scores = Check(
    "cached_scores",
    _scores,
    cases=[
        (_numbers(8, seed=1), _numbers(24, 8, seed=2), 8, 100.0),
        (_numbers(16, seed=3), _numbers(40, 16, seed=4), 10, 10000.0),
        (_numbers(8, seed=5), _numbers(6, 8, seed=6), 12, 100.0),
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
            _new_query_old_keys,
        ),
        Mistake(
            "the base has not grown",
            "There are more keys than the trained length. What does dynamic NTK do then?",
            lambda q, keys, trained, base: _other_scaling(q, keys, base, None, len(q) ** 0.5),
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
            lambda q, keys, trained, base: _other_scaling(
                q, keys, base, Linear(max(len(keys) / trained, 1)), len(q) ** 0.5
            ),
        ),
        Mistake(
            "√d is missing",
            "By what does attention divide its scores?",
            lambda q, keys, trained, base: _scores(q, keys, trained, base) * len(q) ** 0.5,
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
