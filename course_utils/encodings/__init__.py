"""Positional encodings behind one interface: ``create("sinusoidal", d_model=128, n_heads=4)``.

``NAMES`` lists what ``create`` knows. The formulas are in ``functional``, the interface in
``base``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_utils import validation
from course_utils.encodings import functional
from course_utils.encodings.absolute import (
    Learned,
    Multiplicative,
    NoEncoding,
    Sinusoidal,
    Sinusoidal2D,
)
from course_utils.encodings.additive import FIRE, ALiBi, Kerple, Sandwich
from course_utils.encodings.base import PositionalEncoding
from course_utils.encodings.complex_order import ComplexOrder
from course_utils.encodings.contextual import CoPE
from course_utils.encodings.floater import Floater
from course_utils.encodings.relative import T5, DeBERTa, Shaw, TransformerXL
from course_utils.encodings.rotary import AxialRotary, Rotary, XPos
from course_utils.encodings.scaling import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN

__all__ = [
    "FIRE",
    "NAMES",
    "NTK",
    "T5",
    "ALiBi",
    "AxialRotary",
    "CoPE",
    "ComplexOrder",
    "DeBERTa",
    "DynamicNTK",
    "Floater",
    "Kerple",
    "Learned",
    "Linear",
    "Llama3",
    "LongRoPE",
    "Multiplicative",
    "NoEncoding",
    "PositionalEncoding",
    "Rotary",
    "Sandwich",
    "Scaling",
    "Shaw",
    "Sinusoidal",
    "Sinusoidal2D",
    "TransformerXL",
    "XPos",
    "YaRN",
    "create",
    "functional",
    "options_of",
]

# Every scheme takes d_model and n_heads. Beside its maker: which of max_len and causal it wants
# too, and the options of its own. A new scheme is one more line here.
_SCHEMES: dict[str, tuple[Callable[..., PositionalEncoding], tuple[str, ...], tuple[str, ...]]] = {
    "none": (NoEncoding, (), ()),
    "sinusoidal": (Sinusoidal, (), ("base",)),
    "learned": (Learned, ("max_len",), ("beyond", "std")),
    "multiplicative": (Multiplicative, ("max_len",), ("beyond", "std")),
    "floater": (Floater, (), ("hidden", "delta", "step")),
    "complex_order": (ComplexOrder, (), ("vocab_size",)),
    "shaw": (Shaw, (), ("max_distance", "use_values")),
    "transformer_xl": (TransformerXL, (), ()),
    "t5": (T5, ("causal",), ("n_buckets", "max_distance")),
    "deberta": (DeBERTa, (), ("max_distance", "released_code")),
    "rope": (Rotary, (), ("base", "layout", "fraction", "scaling")),
    "xpos": (XPos, (), ("base", "scale_base", "layout")),
    "alibi": (ALiBi, (), ()),
    "kerple": (Kerple, (), ("kind", "inside_scale")),
    "fire": (FIRE, (), ("hidden", "original_len")),
    "sandwich": (Sandwich, (), ("d_bar",)),
    "cope": (CoPE, (), ("n_positions",)),
}
NAMES = tuple(_SCHEMES)


def options_of(name: str) -> tuple[str, ...]:
    """Names of the options of its own that a scheme takes; ValueError if it is unknown."""
    return _SCHEMES[validation.choice("name", name, NAMES)][2]


def create(
    name: str,
    *,
    d_model: int,
    n_heads: int,
    max_len: int = 512,
    causal: bool = False,
    **options: Any,
) -> PositionalEncoding:
    """Build an encoding by name.

    Args:
        name: one of ``NAMES``.
        d_model: width of the embeddings.
        n_heads: attention heads; must divide ``d_model``.
        max_len: longest sequence for the schemes that keep a table; the others ignore it.
        causal: True if keys after the query are masked; only some schemes care.
        **options: the scheme's own options, for example ``base`` for sinusoidal.

    Raises:
        TypeError: if an argument has the wrong type.
        ValueError: if ``name`` or an option is unknown, or a value is out of range.
    """
    maker, wanted, known = _SCHEMES[validation.choice("name", name, NAMES)]
    validation.integer("max_len", max_len)
    validation.boolean("causal", causal)
    for option in options:
        validation.choice(f"option of {name!r}", option, known)
    model = {"max_len": max_len, "causal": causal}
    return maker(d_model, n_heads, **{key: model[key] for key in wanted}, **options)
