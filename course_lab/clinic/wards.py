"""Who is examined: six open patients with their twins, and the held-back ones of each fault.

A test of the clinic takes an attention layer and says True for a healthy one. It may look at all
that the layer does. What the layer promises is the same for all of a ward; its sizes, numbers and
dtype are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from course_lab.clinic.patients import (
    DistancePays,
    Prices,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
    layer,
)
from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import PositionalEncoding, create
from course_utils.encodings.functional import convert_layout

Test = Callable[[MultiHeadAttention], bool]

# What is wrong, in words, by the name of a ward.
FAULTS = {
    "axis": "rows of the table by the text's number in the batch",
    "cache": "what follows a cache is counted from 0 again",
    "sign": "distance pays",
    "layouts": "queries and keys turn in different pairs",
    "angles": "angles rounded to half precision",
    "shortcut": "the price m · j rounded to half precision",
}


@dataclass(frozen=True)
class Patient:
    """A layer, and whether it is healthy."""

    layer: MultiHeadAttention
    healthy: bool


def ward(fault: str) -> list[Patient]:
    """The held-back patients of a fault, sick and healthy ones, always the same.

    ``fault`` is one of :data:`FAULTS`.
    """
    return _WARDS[validation.choice("fault", fault, FAULTS)]()


def grade(test: Test, *faults: str) -> dict[str, tuple[int, int, int, int]]:
    """How a test does on the wards of these faults, or on all.

    Returns:
        For each ward: sick ones found, sick ones there are, healthy ones cleared, healthy ones
        there are. A test that raises has said False.
    """
    found = {}
    for fault in faults or FAULTS:
        patients = ward(fault)
        said = [(one.healthy, says(test, one.layer)) for one in patients]
        sick = [not ok for healthy, ok in said if not healthy]
        cleared = [ok for healthy, ok in said if healthy]
        found[fault] = (sum(sick), len(sick), sum(cleared), len(cleared))
    return found


def accepts(test: Test, fault: str) -> bool:
    """Whether a test finds every sick one of a ward and clears every healthy one."""
    found, sick, cleared, healthy = grade(test, fault)[fault]
    return found == sick and cleared == healthy


def says(test: Test, examined: MultiHeadAttention) -> bool:
    """Whether a test calls a layer healthy; one that raises does not."""
    try:
        return bool(test(examined))
    except Exception:
        return False


HALF, HALVED = torch.bfloat16, torch.float16


def _sick(encoding: PositionalEncoding, seed: int, name: str, **how: Any) -> Patient:
    return Patient(layer(encoding, seed, name=f"a sick one: {name}", **how), healthy=False)


def _healthy(encoding: PositionalEncoding, seed: int, name: str, **how: Any) -> Patient:
    return Patient(layer(encoding, seed, name=f"a healthy one: {name}", **how), healthy=True)


def _rope(seed: int, name: str, sizes: tuple[int, int] = (64, 4), **how: Any) -> Patient:
    dtype = how.pop("dtype", torch.float32)
    made = create("rope", d_model=sizes[0], n_heads=sizes[1], **how)
    return _healthy(made, seed, f"RoPE, {name}", dtype=dtype)


def _converted(seed: int) -> Patient:
    """RoPE in halves, its weights reordered to match: what it computes is as before."""
    found = _rope(seed, "in halves, its weights too", layout="half")
    for one in (found.layer.W_q, found.layer.W_k):
        one.weight.copy_(convert_layout(one.weight, 4, "interleaved", "half"))
    return found


def _sinusoidal(seed: int, base: float, dtype: torch.dtype) -> Patient:
    made = create("sinusoidal", d_model=48, n_heads=2, base=base)
    return _healthy(made, seed, f"sinusoids, base {base:g}", dtype=dtype)


def _alibi(seed: int) -> Patient:
    return _healthy(create("alibi", d_model=64, n_heads=4), seed, "ALiBi")


def _prices(seed: int, **how: Any) -> Patient:
    slopes = (0.9, 0.05, 0.3)
    return _healthy(Prices(48, 3, slopes, shift=2.0), seed, "other slopes, shifted", **how)


def _axis() -> list[Patient]:
    with isolated_rng(1):
        table, factors = (
            create(name, d_model=64, n_heads=4, std=1.0) for name in ("learned", "multiplicative")
        )
    wide = RowsByText(96, 2, base=100.0)
    return [
        _sick(RowsByText(64, 4), 1, FAULTS["axis"]),
        _sinusoidal(2, 1e4, torch.float32),
        _healthy(table, 3, "a learned table"),
        _sick(RowsByText(64, 4, how="multiply"), 4, "the same, multiplied"),
        _sinusoidal(5, 500.0, torch.float64),
        _sick(wide, 6, "the same, another base, float64", dtype=torch.float64),
        _healthy(factors, 7, "a learned table, multiplied"),
    ]


def _cache() -> list[Patient]:
    other = RowsFromZero(48, 3, base=500.0)
    return [
        _rope(11, "as published"),
        _sick(RowsFromZero(64, 4), 12, FAULTS["cache"]),
        _converted(13),
        _sick(RowsFromZero(64, 4, door="embed"), 14, "sinusoids, counted from 0 after a cache"),
        _prices(15),
        _sick(other, 16, "RoPE, base 500, counted from 0", dtype=torch.float64),
        _sinusoidal(17, 100.0, torch.float32),
    ]


def _sign() -> list[Patient]:
    with isolated_rng(2):
        kerple = create("kerple", d_model=64, n_heads=4)
    later = DistancePays(48, 3, where="later")
    return [
        _alibi(21),
        _sick(DistancePays(64, 4), 22, FAULTS["sign"]),
        _prices(23),
        _sick(DistancePays(64, 4, where="one head"), 24, "in one head distance pays"),
        _healthy(Shortcut(64, 4), 25, "ALiBi by its shortcut"),
        _sick(later, 26, "for later keys distance pays", causal=False),
        _healthy(kerple, 27, "KERPLE", dtype=torch.float64),
        _prices(28, causal=False),
        _sick(DistancePays(96, 8), 29, "distance pays, 8 heads", dtype=torch.float64),
    ]


def _layouts() -> list[Patient]:
    return [
        _sick(TwoLayouts(64, 4), 31, FAULTS["layouts"]),
        _rope(32, "as published"),
        _rope(33, "in halves", layout="half"),
        _sick(TwoLayouts(64, 4, queries="half"), 34, "the same, the other way round"),
        _converted(35),
        _sick(TwoLayouts(48, 3, base=500.0), 36, "the same, base 500", dtype=torch.float64),
        _rope(37, "half of each head turns", fraction=0.5),
    ]


def _angles() -> list[Patient]:
    halves = RoundedAngles(48, 3, layout="half", base=500.0)
    return [
        _rope(41, "base 500", base=500.0),
        _sick(RoundedAngles(64, 4), 42, "angles rounded to bfloat16"),
        _sick(halves, 43, "angles rounded to bfloat16, base 500", dtype=torch.float64),
        _converted(44),
        _sick(RoundedAngles(64, 4, rounding=HALVED), 45, "angles rounded to float16"),
        _rope(46, "float64", (48, 3), dtype=torch.float64),
    ]


def _shortcut() -> list[Patient]:
    eight = Shortcut(64, 8, rounding=HALF)
    return [
        _healthy(Shortcut(64, 4), 51, "the shortcut m · j, exact"),
        _sick(Shortcut(64, 4, rounding=HALF), 52, "m · j rounded to bfloat16"),
        _alibi(53),
        _sick(eight, 54, "m · j rounded to bfloat16, 8 heads", dtype=torch.float64),
        _prices(55),
        _sick(Shortcut(64, 4, rounding=HALVED), 56, "m · j rounded to float16"),
    ]


_WARDS: dict[str, Callable[[], list[Patient]]] = {
    "axis": _axis,
    "cache": _cache,
    "sign": _sign,
    "layouts": _layouts,
    "angles": _angles,
    "shortcut": _shortcut,
}
