"""The ways to read a RoPE model past its trained length: its frequencies, changed by name."""

from __future__ import annotations

import math
from typing import Any

from course_utils import validation
from course_utils.encodings import (
    NTK,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Scaling,
    YaRN,
)
from course_utils.encodings.functional import rope_frequencies
from course_utils.experiments.recipe import Recipe, build
from course_utils.models import TinyTransformer

WAYS = (
    "direct", "interpolation", "NTK-aware", "dynamic NTK", "by parts", "YaRN", "Llama 3.1",
    "step",
)  # fmt: skip
WITHOUT_FACTOR = ("direct", "dynamic NTK")  # they are told no factor
BASE = 10_000.0


def slow_factors(d: int, base: float, factor: float, original_len: int) -> list[float]:
    """A step in place of a ramp: s for pairs that do not finish a turn within L, 1 for the others.

    Returns (d / 2,) numbers. LongRoPE would search for a factor for each pair; this does not.

    Raises: as :func:`~course_utils.encodings.functional.rope_frequencies`.
    """
    turns = original_len * rope_frequencies(d, base)[0] / (2 * math.pi)
    return [1.0 if one >= 1 else float(factor) for one in turns.tolist()]


def ramp_alone(d: int, base: float, factor: float, original_len: int) -> LongRoPE:
    """YaRN's frequencies without its attention factor, NTK-by-parts: the shape of LongRoPE."""
    plain = rope_frequencies(d, base)[0]
    ramped = rope_frequencies(d, base, YaRN(factor, original_len), None)[0]
    return LongRoPE((plain / ramped).tolist(), 1.0, max(original_len, 2))


def way_to_stretch(
    way: str, factor: float, original_len: int, d: int, base: float = BASE
) -> Scaling | None:
    """The scaling that reads ``factor`` times the trained length, by the name of its method.

    Args:
        way: one of ``WAYS``; "direct" is no scaling, "by parts" YaRN without temperature, "step"
            likewise without any.
        factor: s. Dynamic NTK gets 1: it finds s from the length that it reads.
        original_len: L.
        d: features of a head, for the ways that have a factor for each pair.
        base: of the plain frequencies.

    Raises:
        TypeError, ValueError: if ``way`` is unknown or a number is not usable.
    """
    made = {
        "direct": lambda: None,
        "interpolation": lambda: Linear(factor),
        "NTK-aware": lambda: NTK(factor),
        "dynamic NTK": lambda: DynamicNTK(1.0, original_len),
        "by parts": lambda: ramp_alone(d, base, factor, original_len),
        "YaRN": lambda: YaRN(factor, original_len),
        "Llama 3.1": lambda: Llama3(factor, original_len),
        "step": lambda: LongRoPE(
            slow_factors(d, base, factor, original_len), 1.0, max(original_len, 2)
        ),
    }
    return made[validation.choice("way", way, made)]()


def stretched(
    model: TinyTransformer, recipe: Recipe, way: str, factor: float, **changes: Any
) -> TinyTransformer:
    """A copy of a trained RoPE model that turns by other frequencies.

    Args:
        model: trained by the recipe, with any vocabulary.
        recipe: says the trained length and the size.
        way: see :func:`way_to_stretch`.
        factor: likewise.
        **changes: more arguments of TinyTransformer, such as ``log_n``.
    """
    scaling = way_to_stretch(way, factor, recipe.length, recipe.d_model // recipe.n_heads)
    changes = {"vocab_size": model.vocab_size, "scaling": scaling, **changes}
    made = build(recipe, **changes).to(model.embedding.weight.device)
    made.load_state_dict(model.state_dict())
    return made.eval()
