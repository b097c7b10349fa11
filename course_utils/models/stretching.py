"""The ways to read a RoPE model past its trained length, by name: its frequencies, changed."""

import math
from typing import Any

from course_utils import validation
from course_utils.encodings import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies
from course_utils.models import TinyTransformer

WAYS = (
    "direct", "interpolation", "NTK-aware", "dynamic NTK", "by parts", "YaRN", "Llama 3.1",
    "step",
)  # fmt: skip
WITHOUT_FACTOR = ("direct", "dynamic NTK")  # they are told no factor
BASE = 10_000.0  # of the plain frequencies


def way_to_stretch(way: str, factor: float, original_len: int, d: int) -> Scaling | None:
    """The scaling that reads ``factor`` times the trained length, by the name of its method.

    Args:
        way: one of ``WAYS``; "direct" is no scaling, "by parts" YaRN without temperature, "step"
            likewise without any.
        factor: s. Dynamic NTK gets 1: it finds s from the length that it reads.
        original_len: L.
        d: features of a head, for the ways that have a factor for each pair.
    """

    def by_parts() -> LongRoPE:
        """YaRN's frequencies without its attention factor, in the shape of LongRoPE."""
        ramped = scaled_frequencies(d, BASE, YaRN(factor, original_len), None)[0]
        return LongRoPE((rope_frequencies(d, BASE) / ramped).tolist(), 1.0, max(original_len, 2))

    def step() -> LongRoPE:
        """Factors s for pairs that finish no turn within L, else 1: a step in place of a ramp.

        LongRoPE would search for a factor for each pair; this does not.
        """
        turns = original_len * rope_frequencies(d, BASE) / (2 * math.pi)
        factors = [1.0 if one >= 1 else float(factor) for one in turns.tolist()]
        return LongRoPE(factors, 1.0, max(original_len, 2))

    made = {
        "direct": lambda: None,
        "interpolation": lambda: Linear(factor),
        "NTK-aware": lambda: NTK(factor),
        "dynamic NTK": lambda: DynamicNTK(1.0, original_len),
        "by parts": by_parts,
        "YaRN": lambda: YaRN(factor, original_len),
        "Llama 3.1": lambda: Llama3(factor, original_len),
        "step": step,
    }
    return made[validation.choice("way", way, made)]()


def stretched(
    model: TinyTransformer, way: str, factor: float, original_len: int, **changes: Any
) -> TinyTransformer:
    """A copy of a trained RoPE model that turns by other frequencies.

    ``way``, ``factor`` and ``original_len`` are those of :func:`way_to_stretch`, ``changes`` those
    of :meth:`TinyTransformer.changed`.
    """
    scaling = way_to_stretch(way, factor, original_len, model.encoding.d_head)
    return model.changed(**{"scaling": scaling, **changes})
