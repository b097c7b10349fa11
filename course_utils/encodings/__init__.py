"""Positional encodings behind one interface: ``create("sinusoidal", d_model=128, n_heads=4)``.

One file a scheme: its formula, the pure functions, the class. ``NAMES`` lists what ``create``
knows, ``functional`` collects the formulas, ``base`` is the interface.
"""

from collections.abc import Callable
from typing import Any

from course_utils import validation
from course_utils.encodings import functional
from course_utils.encodings.alibi import ALiBi
from course_utils.encodings.base import NoEncoding, PositionalEncoding, parameters_of
from course_utils.encodings.complex_order import ComplexOrder
from course_utils.encodings.cope import CoPE
from course_utils.encodings.deberta import DeBERTa
from course_utils.encodings.fire import FIRE
from course_utils.encodings.floater import Floater
from course_utils.encodings.grid import AxialRotary, Sinusoidal2D
from course_utils.encodings.kerple import Kerple
from course_utils.encodings.learned import Learned
from course_utils.encodings.multiplicative import Multiplicative
from course_utils.encodings.places import Places
from course_utils.encodings.rope import Rotary
from course_utils.encodings.sandwich import Sandwich
from course_utils.encodings.scaling import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from course_utils.encodings.shaw import Shaw
from course_utils.encodings.sinusoidal import Sinusoidal
from course_utils.encodings.t5 import T5
from course_utils.encodings.transformer_xl import TransformerXL
from course_utils.encodings.xpos import XPos

# Every scheme takes d_model and n_heads; max_len and causal where it has arguments of these names;
# its other arguments are its options. A new scheme is one more line here.
_SCHEMES: dict[str, Callable[..., PositionalEncoding]] = {
    "none": NoEncoding,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "multiplicative": Multiplicative,
    "floater": Floater,
    "complex_order": ComplexOrder,
    "shaw": Shaw,
    "transformer_xl": TransformerXL,
    "t5": T5,
    "deberta": DeBERTa,
    "rope": Rotary,
    "xpos": XPos,
    "alibi": ALiBi,
    "kerple": Kerple,
    "fire": FIRE,
    "sandwich": Sandwich,
    "cope": CoPE,
}
NAMES = tuple(_SCHEMES)


def options_of(name: str) -> tuple[str, ...]:
    """Names of the options of its own that a scheme takes."""
    taken = parameters_of(_SCHEMES[validation.choice("name", name, NAMES)])
    return tuple(one for one in taken if one not in ("max_len", "causal"))


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
    """
    known = options_of(name)
    validation.integer("max_len", max_len)
    validation.boolean("causal", causal)
    for option in options:
        validation.choice(f"option of {name!r}", option, known)
    maker = _SCHEMES[name]
    model = {"max_len": max_len, "causal": causal}
    wanted = {key: model[key] for key in parameters_of(maker) if key in model}
    return maker(d_model, n_heads, **wanted, **options)
