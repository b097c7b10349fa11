"""The six open patients: one-layer language models with a fault each, beside healthy twins.

The fault of each is for the learner to find; their letters say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import torch

from course_lab.clinic.faulty_encodings import (
    DistancePays,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.held_back import Grades, Test, calls_healthy
from course_utils import validation
from course_utils.devices import isolated_rng
from course_utils.encodings import Maker
from course_utils.models import Block, TinyTransformer

BYTES = 256  # ids of a model that reads text byte by byte
SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 1, "n_heads": 4, "max_len": 64}


@dataclass(frozen=True)
class OpenPatient:
    """A patient's fault and encoding, and the encoding of its healthy twin.

    ``right_line`` and ``wrong_line`` are what was meant and what was written, in short; ``seen``
    are public reports of such a mistake or a relative of it, name → address.
    """

    fault: str
    encoding: Maker
    twin: str
    right_line: str
    wrong_line: str
    seen: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)


CASES = {
    "A": OpenPatient(
        "layouts",
        TwoLayouts,
        "rope",
        "turn(q, neighbours), turn(k, neighbours)",
        "turn(q, neighbours), turn(k, halves)",
        {
            "a relative, in converted weights: TinyLlama 24": "https://github.com/jzhang38/TinyLlama/issues/24"
        },
    ),
    "B": OpenPatient(
        "cache",
        RowsFromZero,
        "rope",
        "n_cached + arange(n_new)",
        "arange(n_new)",
        {"transformers 19045": "https://github.com/huggingface/transformers/issues/19045"},
    ),
    "C": OpenPatient(
        "sign",
        DistancePays,
        "alibi",
        "slope * (j - i)",
        "slope * (i - j)",
        {"attention-gym 86": "https://github.com/meta-pytorch/attention-gym/pull/86"},
    ),
    "D": OpenPatient(
        "angles",
        RoundedAngles,
        "rope",
        "p.float() * theta.float()",
        "p.bfloat16() * theta.bfloat16()",
        {
            "gpt-neox 1003": "https://github.com/EleutherAI/gpt-neox/issues/1003",
            "transformers 29285": "https://github.com/huggingface/transformers/pull/29285",
        },
    ),
    "E": OpenPatient(
        "axis",
        RowsByText,
        "sinusoidal",
        "x + pe[:x.size(1)].transpose(0, 1)",
        "x + pe[:x.size(0)]",
        {
            "Lightning 19138, where the sum was dropped too": "https://github.com/Lightning-AI/pytorch-lightning/issues/19138"
        },
    ),
    "F": OpenPatient(
        "shortcut",
        Shortcut,
        "alibi",
        "(slope * j).float()",
        "(slope * j).bfloat16()",
        {
            "Megatron-DeepSpeed 101": "https://github.com/bigscience-workshop/Megatron-DeepSpeed/pull/101",
        },
        {"rounding": torch.bfloat16},
    ),
}


def patient(letter: str, seed: int = 0) -> TinyTransformer:
    """Return patient A, B, C, D, E or F before any training."""
    case = CASES[validation.choice("letter", letter, CASES)]
    return _model(case.encoding, seed, **case.options)


def twin(letter: str, seed: int = 0) -> TinyTransformer:
    """Return a healthy model that starts with the same weights as that patient."""
    return _model(CASES[validation.choice("letter", letter, CASES)].twin, seed)


def without_position(seed: int = 0) -> TinyTransformer:
    """Return a model without position that starts with the same weights as the patients."""
    return _model("none", seed)


def _model(encoding: str | Maker, seed: int, **options: Any) -> TinyTransformer:
    with isolated_rng(seed):
        return TinyTransformer(BYTES, encoding, **SIZES, **options)


def board(grades: Mapping[str, Grades]) -> dict[str, dict[str, tuple[bool, str]]]:
    """What tests found on the held-back layers with the fault of each open patient.

    Args:
        grades: by the test's name, what :func:`~course_lab.clinic.grade` says of it.

    Returns:
        For each test and letter, whether the test is right about all layers, and a text such as
        "2 of 3": sick layers found of all sick ones. Where healthy layers are not cleared, it says
        how many.
    """
    results: dict[str, dict[str, tuple[bool, str]]] = {}
    for name, of_test in grades.items():
        results[name] = {}
        for letter, case in CASES.items():
            sick_found, sick, cleared, healthy = of_test[case.fault]
            all_right = sick_found == sick and cleared == healthy
            blamed = f", blames {healthy - cleared}" if cleared < healthy else ""
            results[name][letter] = (all_right, f"{sick_found} of {sick}{blamed}")
    return results


def visit(
    tests: Mapping[str, Test], models: Mapping[str, TinyTransformer]
) -> dict[str, dict[str, tuple[bool, str]]]:
    """Try tests on the open patients, after training.

    A test finds a patient if it calls its attention sick, and that of its twin healthy.

    Args:
        tests: by name.
        models: the patients by letter, and their twins by the name of their encoding.

    Returns:
        For each test and letter, whether the patient is found, and the outcome: "found", "cleared"
        with its twin or "alone cleared", or "twin too" where both are called sick.
    """
    attention = {name: cast(Block, model.blocks[0]).attention for name, model in models.items()}
    results: dict[str, dict[str, tuple[bool, str]]] = {}
    for name, test in tests.items():
        healthy = {model: calls_healthy(test, layer) for model, layer in attention.items()}
        results[name] = {}
        for letter, case in CASES.items():
            if healthy[letter]:
                outcome = "cleared" if healthy[case.twin] else "alone cleared"
                results[name][letter] = (False, outcome)
            elif healthy[case.twin]:
                results[name][letter] = (True, "found")
            else:
                results[name][letter] = (False, "twin too")
    return results
