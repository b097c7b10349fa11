"""The six open patients: small language models of one layer, each beside its healthy twin.

What is wrong with each is for the reader to find; their letters say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from course_lab.clinic.patients import (
    DistancePays,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.wards import Test, grade, says
from course_utils import validation
from course_utils.devices import isolated_rng
from course_utils.encodings import Maker
from course_utils.models import Block, TinyTransformer

BYTES = 256  # ids that a model of text read byte by byte has
SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 1, "n_heads": 4, "max_len": 64}


@dataclass(frozen=True)
class Case:
    """An open patient: its fault and its encoding, and the encoding of its twin."""

    fault: str
    encoding: Maker
    twin: str
    options: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "A": Case("layouts", TwoLayouts, "rope"),
    "B": Case("cache", RowsFromZero, "rope"),
    "C": Case("sign", DistancePays, "alibi"),
    "D": Case("angles", RoundedAngles, "rope"),
    "E": Case("axis", RowsByText, "sinusoidal"),
    "F": Case("shortcut", Shortcut, "alibi", {"rounding": torch.bfloat16}),
}


def patient(letter: str, seed: int = 0) -> TinyTransformer:
    """Patient A, B, C, D, E or F before any training."""
    case = CASES[validation.choice("letter", letter, CASES)]
    return _model(case.encoding, seed, **case.options)


def twin(letter: str, seed: int = 0) -> TinyTransformer:
    """A healthy model that starts with the same weights as that patient."""
    return _model(CASES[validation.choice("letter", letter, CASES)].twin, seed)


def _model(encoding: str | Maker, seed: int, **options: Any) -> TinyTransformer:
    with isolated_rng(seed):
        return TinyTransformer(BYTES, encoding, **SIZES, **options)


def board(tests: Mapping[str, Test]) -> dict[str, dict[str, tuple[bool, str]]]:
    """How tests do on the held-back patients: test → letter → (right about all, how many).

    The text of "2/3, 4/4" is: sick ones found of those there are, then healthy ones cleared.
    """
    found: dict[str, dict[str, tuple[bool, str]]] = {}
    for name, test in tests.items():
        marks = grade(test)
        found[name] = {}
        for letter, case in CASES.items():
            sick, of_sick, cleared, healthy = marks[case.fault]
            right = sick == of_sick and cleared == healthy
            found[name][letter] = (right, f"{sick}/{of_sick}, {cleared}/{healthy}")
    return found


def visit(
    tests: Mapping[str, Test], models: Mapping[str, TinyTransformer]
) -> dict[str, dict[str, tuple[bool, str]]]:
    """What tests say of the open patients: test → letter → (found, in words).

    ``models`` are the patients by letter and their twins by the name of their encoding. A patient
    is found by a test that calls its attention sick, and that of its twin healthy.
    """
    told: dict[str, dict[str, tuple[bool, str]]] = {}
    for name, test in tests.items():
        healthy = {
            one: says(test, cast(Block, model.blocks[0]).attention) for one, model in models.items()
        }
        told[name] = {}
        for letter, case in CASES.items():
            found = healthy[case.twin] and not healthy[letter]
            words = "found" if found else "cleared" if healthy[letter] else "twin too"
            told[name][letter] = (found, words)
    return told
