"""The held-back layers of each fault, sick and healthy ones, on which a learner's test is graded.

A test takes an attention layer and returns True for a healthy one. It may look at all that the
layer does. All layers of one ward promise the same; their sizes, numbers and dtypes differ.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from course_lab.clinic.faulty_encodings import (
    DistancePays,
    Faulty,
    Prices,
    PriceStopsRising,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.layers import layer
from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import Maker, PositionalEncoding, create
from course_utils.encodings.functional import convert_layout

Test = Callable[[MultiHeadAttention], bool]
TestBesideReference = Callable[[MultiHeadAttention, MultiHeadAttention], bool]
Grades = dict[str, tuple[int, int, int, int]]

# What is wrong, in words, for each ward.
FAULTS = {
    "axis": "rows of the table by the text's number in the batch",
    "cache": "what follows a cache is counted from 0 again",
    "sign": "distance pays, or costs nothing",
    "layouts": "queries and keys turn in different pairs",
    "angles": "angles rounded to half precision",
    "shortcut": "the price m · j rounded to half precision",
}


@dataclass(frozen=True)
class Patient:
    """A layer, whether it is healthy, and what it is, in words that no message shows."""

    layer: MultiHeadAttention
    healthy: bool
    what: str

    @property
    def reference(self) -> MultiHeadAttention:
        """The layer in float64, with the library's encoding that was meant, or a healthy one's own.

        Its numbers are never quite the layer's, except where that is healthy and in float64 itself.
        """
        right = copy.deepcopy(self.layer)
        if not self.healthy and isinstance(right.encoding, Faulty):
            right.encoding = right.encoding.meant()
        return right.double().requires_grad_(False)


def ward(fault: str) -> list[Patient]:
    """Return the held-back layers of a fault, sick and healthy ones, always the same.

    ``fault`` is one of :data:`FAULTS`.
    """
    patients = _WARDS[validation.choice("fault", fault, FAULTS)]()
    for number, patient in enumerate(patients, start=1):
        patient.layer.__name__ = f"layer {number}"  # type: ignore[assignment]
    return patients


def grade_beside_reference(test: TestBesideReference) -> Grades:
    """Grade a test that gets a layer and its reference, on all wards; see :func:`grade`."""
    grades = {}
    for fault in FAULTS:
        patients = ward(fault)
        passed = {p.layer: bool(test(p.layer, p.reference)) for p in patients}
        grades[fault] = _counted(patients, passed)
    return grades


def grade(test: Test, *faults: str) -> Grades:
    """Grade a test on the wards of these faults, or on all.

    Returns:
        For each ward: sick layers found, sick layers in all, healthy layers cleared, healthy layers
        in all. A test that raises has called the layer sick.
    """
    grades = {}
    for fault in faults or FAULTS:
        patients = ward(fault)
        passed = {p.layer: calls_healthy(test, p.layer) for p in patients}
        grades[fault] = _counted(patients, passed)
    return grades


def _counted(
    patients: list[Patient], passed: dict[MultiHeadAttention, bool]
) -> tuple[int, int, int, int]:
    sick = [p.layer for p in patients if not p.healthy]
    healthy = [p.layer for p in patients if p.healthy]
    found = sum(not passed[layer] for layer in sick)
    return found, len(sick), sum(passed[layer] for layer in healthy), len(healthy)


def unnamed_layers() -> dict[str, Patient]:
    """Return four layers, P to S, which say that a text has one output, however it is read.

    Three of them break that promise, each in one way of reading: from a far start, in pieces, or
    among other texts.
    """
    rounded = Shortcut(64, 4, rounding=torch.bfloat16)
    return {
        "P": _sick(rounded, 61, FAULTS["shortcut"]),
        "Q": _sick(RowsByText(64, 4), 62, FAULTS["axis"]),
        "R": _converted(63),
        "S": _sick(RowsFromZero(64, 4), 64, FAULTS["cache"]),
    }


def smallest_starts(test: Callable[[MultiHeadAttention, int], bool]) -> dict[str, int | None]:
    """For each sick layer of "layouts", "angles" and "shortcut", where a test first finds it.

    Returns:
        What the layer is, and the smallest of the starts 1, 2, 4, …, 4096 and 8000 at which
        ``test(layer, start)`` calls it sick; None where it calls it healthy at all of them. At
        starts between them, and at larger ones, it may say otherwise.
    """
    starts = [2**power for power in range(13)] + [8000]
    sick = [
        patient
        for fault in ("layouts", "angles", "shortcut")
        for patient in ward(fault)
        if not patient.healthy
    ]
    smallest: dict[str, int | None] = {}
    for patient in sick:
        finding = (n for n in starts if not calls_healthy(_from(n, test), patient.layer))
        smallest[patient.what] = next(finding, None)
    return smallest


def _from(start: int, test: Callable[[MultiHeadAttention, int], bool]) -> Test:
    """The test of a layer with its start fixed."""
    return lambda layer: test(layer, start)


def accepts(test: Test, fault: str) -> bool:
    """Whether a test finds every sick layer of a ward and clears every healthy one."""
    sick_found, sick, healthy_cleared, healthy = grade(test, fault)[fault]
    return sick_found == sick and healthy_cleared == healthy


def healthy(tests: Mapping[str, Test], maker: str | Maker) -> dict[str, bool]:
    """What each test says of a causal layer with an encoding, by name or class; see :func:`ward`.

    An encoding that no layer can be made of is not healthy.
    """

    def says(test: Test) -> bool:
        try:
            examined = layer(create(maker, d_model=64, n_heads=4, causal=True))
        except Exception:  # it is somebody's first try
            return False
        return calls_healthy(test, examined)

    return {name: says(test) for name, test in tests.items()}


def calls_healthy(test: Test, layer: MultiHeadAttention) -> bool:
    """Whether a test calls a layer healthy; one that raises does not."""
    try:
        return bool(test(layer))
    except Exception:
        return False


def _sick(encoding: PositionalEncoding, seed: int, name: str, **options: Any) -> Patient:
    return Patient(layer(encoding, seed, **options), healthy=False, what=name)


def _healthy(encoding: PositionalEncoding, seed: int, name: str, **options: Any) -> Patient:
    return Patient(layer(encoding, seed, **options), healthy=True, what=name)


def _rope(
    seed: int,
    name: str,
    sizes: tuple[int, int] = (64, 4),
    dtype: torch.dtype = torch.float32,
    **options: Any,
) -> Patient:
    d_model, n_heads = sizes
    rope = create("rope", d_model=d_model, n_heads=n_heads, **options)
    return _healthy(rope, seed, f"RoPE, {name}", dtype=dtype)


def _converted(seed: int) -> Patient:
    """RoPE in halves, its weights reordered to match: it computes the same as before."""
    patient = _rope(seed, "in halves, its weights too", layout="half")
    for projection in (patient.layer.W_q, patient.layer.W_k):
        projection.weight.copy_(convert_layout(projection.weight, 4, "interleaved", "half"))
    return patient


def _sinusoidal(seed: int, base: float, dtype: torch.dtype) -> Patient:
    sinusoids = create("sinusoidal", d_model=48, n_heads=2, base=base)
    return _healthy(sinusoids, seed, f"sinusoids, base {base:g}", dtype=dtype)


def _alibi(seed: int) -> Patient:
    return _healthy(create("alibi", d_model=64, n_heads=4), seed, "ALiBi")


def _prices(seed: int, **options: Any) -> Patient:
    slopes = (0.9, 0.05, 0.3)
    return _healthy(Prices(48, 3, slopes, shift=2.0), seed, "other slopes, shifted", **options)


def _axis() -> list[Patient]:
    with isolated_rng(1):
        table = create("learned", d_model=64, n_heads=4, max_len=8192, std=1.0)
        factors = create("multiplicative", d_model=64, n_heads=4, max_len=8192, std=1.0)
    other_base = RowsByText(96, 2, base=100.0)
    return [
        _sick(RowsByText(64, 4), 1, FAULTS["axis"]),
        _sinusoidal(2, 1e4, torch.float32),
        _healthy(table, 3, "a learned table"),
        _sick(RowsByText(64, 4, how="multiply"), 4, "the same, multiplied"),
        _sinusoidal(5, 500.0, torch.float64),
        _sick(other_base, 6, "the same, another base, float64", dtype=torch.float64),
        _healthy(factors, 7, "a learned table, multiplied"),
    ]


def _cache() -> list[Patient]:
    other_base = RowsFromZero(48, 3, base=500.0)
    return [
        _rope(11, "as published"),
        _sick(RowsFromZero(64, 4), 12, FAULTS["cache"]),
        _converted(13),
        _sick(RowsFromZero(64, 4, door="embed"), 14, "sinusoids, counted from 0 after a cache"),
        _prices(15),
        _sick(other_base, 16, "RoPE, base 500, counted from 0", dtype=torch.float64),
        _sinusoidal(17, 100.0, torch.float32),
    ]


def _sign() -> list[Patient]:
    with isolated_rng(2):
        kerple = create("kerple", d_model=64, n_heads=4)
    for_later_keys = DistancePays(48, 3, where="later")
    return [
        _alibi(21),
        _sick(DistancePays(64, 4), 22, FAULTS["sign"]),
        _prices(23),
        _sick(DistancePays(64, 4, where="one head"), 24, "in one head distance pays"),
        _healthy(Shortcut(64, 4), 25, "ALiBi by its shortcut"),
        _sick(for_later_keys, 26, "for later keys distance pays", causal=False),
        _healthy(kerple, 27, "KERPLE", dtype=torch.float64),
        _prices(28, causal=False),
        _sick(DistancePays(96, 8), 29, "distance pays, 8 heads", dtype=torch.float64),
        _sick(PriceStopsRising(64, 4), 30, "after one step distance costs no more"),
        _healthy(create("alibi", d_model=96, n_heads=8), 31, "ALiBi, 8 heads", causal=False),
        _sick(PriceStopsRising(64, 4, how="turning"), 32, "after four steps distance pays"),
        _sick(PriceStopsRising(64, 4, how="absent"), 33, "distance costs nothing", causal=False),
        _prices(34, causal=False, dtype=torch.float64),
        _sick(DistancePays(64, 4, where="last head"), 35, "in the last head distance pays"),
        _alibi(36),
    ]


def _layouts() -> list[Patient]:
    return [
        _sick(TwoLayouts(64, 4), 31, FAULTS["layouts"]),
        _rope(32, "as published"),
        _rope(33, "in halves", layout="half"),
        _sick(TwoLayouts(64, 4, queries="half"), 34, "the same pairs, the other way round"),
        _converted(35),
        _sick(
            TwoLayouts(48, 3, base=500.0),
            36,
            "queries and keys turn in different pairs, base 500",
            dtype=torch.float64,
        ),
        _rope(37, "half of each head turns", fraction=0.5),
    ]


def _angles() -> list[Patient]:
    other_base = RoundedAngles(48, 3, layout="half", base=500.0)
    to_float16 = RoundedAngles(64, 4, rounding=torch.float16)
    in_three_heads = RoundedAngles(64, 4, rounding=torch.float16, faulty_heads=3)
    return [
        _rope(41, "base 500", base=500.0),
        _sick(RoundedAngles(64, 4), 42, "angles rounded to bfloat16"),
        _sick(other_base, 43, "angles rounded to bfloat16, base 500", dtype=torch.float64),
        _converted(44),
        _sick(to_float16, 45, "angles rounded to float16"),
        _sick(in_three_heads, 47, "angles rounded to float16, in three heads"),
        _rope(46, "float64", (48, 3), dtype=torch.float64),
    ]


def _shortcut() -> list[Patient]:
    to_bfloat16 = Shortcut(64, 4, rounding=torch.bfloat16)
    eight_heads = Shortcut(64, 8, rounding=torch.bfloat16)
    to_float16 = Shortcut(64, 4, rounding=torch.float16)
    in_two_heads = Shortcut(64, 4, rounding=torch.bfloat16, faulty_heads=2)
    return [
        _healthy(Shortcut(64, 4), 51, "the shortcut m · j, exact"),
        _sick(to_bfloat16, 52, "m · j rounded to bfloat16"),
        _alibi(53),
        _sick(eight_heads, 54, "m · j rounded to bfloat16, 8 heads", dtype=torch.float64),
        _prices(55),
        _sick(to_float16, 56, "m · j rounded to float16"),
        _sick(in_two_heads, 57, "m · j rounded to bfloat16, in two heads"),
    ]


_WARDS: dict[str, Callable[[], list[Patient]]] = {
    "axis": _axis,
    "cache": _cache,
    "sign": _sign,
    "layouts": _layouts,
    "angles": _angles,
    "shortcut": _shortcut,
}
