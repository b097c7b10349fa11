"""Positional encodings behind one interface: ``create("sinusoidal", d_model=128, n_heads=4)``.

One file a scheme: its formula, the pure functions, the class. ``NAMES`` lists the course's own,
``register`` makes others known, ``functional`` collects the formulas, ``base`` is the interface.
"""

import inspect
from collections.abc import Callable
from typing import Any

from torch import nn

from course_utils import validation
from course_utils.encodings import functional as functional
from course_utils.encodings.alibi import ALiBi as ALiBi
from course_utils.encodings.base import FROM_MODEL, parameters_of
from course_utils.encodings.base import Look as Look
from course_utils.encodings.base import NoEncoding as NoEncoding
from course_utils.encodings.base import PositionalEncoding as PositionalEncoding
from course_utils.encodings.complex_order import ComplexOrder as ComplexOrder
from course_utils.encodings.cope import CoPE as CoPE
from course_utils.encodings.deberta import DeBERTa as DeBERTa
from course_utils.encodings.fire import FIRE as FIRE
from course_utils.encodings.floater import Floater as Floater
from course_utils.encodings.grid import AxialRotary as AxialRotary
from course_utils.encodings.grid import Sinusoidal2D as Sinusoidal2D
from course_utils.encodings.kerple import Kerple as Kerple
from course_utils.encodings.learned import Learned as Learned
from course_utils.encodings.multiplicative import Multiplicative as Multiplicative
from course_utils.encodings.positions import Places as Places
from course_utils.encodings.rope import Rotary as Rotary
from course_utils.encodings.sandwich import Sandwich as Sandwich
from course_utils.encodings.scaling import NTK as NTK
from course_utils.encodings.scaling import DynamicNTK as DynamicNTK
from course_utils.encodings.scaling import Linear as Linear
from course_utils.encodings.scaling import Llama3 as Llama3
from course_utils.encodings.scaling import LongRoPE as LongRoPE
from course_utils.encodings.scaling import Scaling as Scaling
from course_utils.encodings.scaling import YaRN as YaRN
from course_utils.encodings.shaw import Shaw as Shaw
from course_utils.encodings.sinusoidal import Sinusoidal as Sinusoidal
from course_utils.encodings.t5 import T5 as T5
from course_utils.encodings.transformer_xl import TransformerXL as TransformerXL
from course_utils.encodings.xpos import XPos as XPos

Maker = Callable[..., PositionalEncoding]

# Every class takes d_model and n_heads. A new encoding is one more line here.
_SCHEMES: dict[str, Maker] = {
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


def known_names() -> tuple[str, ...]:
    """Every name that ``create`` takes: the course's ``NAMES``, then those of :func:`register`."""
    return tuple(_SCHEMES)


def register(name: str, maker: Maker, *, replace: bool = False) -> None:
    """Make an encoding from outside the course known by a name, to all that take one.

    ``maker`` is called as ``maker(d_model, n_heads, **options)``, with ``max_len``, ``causal`` and
    ``layer``, the number of the layer, where it has arguments of these names. ValueError if another
    maker has the name; with ``replace`` it is replaced, unless it is one of the course's.
    """
    validation.sentence("name", name)
    _check_maker("maker", maker)
    taken = _SCHEMES.get(name, maker)
    if taken is not maker and (name in NAMES or not replace):
        remedy = "" if name in NAMES else ", or with replace=True this one"
        valid = f"valid is any other than {', '.join(_SCHEMES)}{remedy}"
        raise ValueError(f"name {name!r} is taken, by {taken!r}; {valid}")
    _SCHEMES[name] = maker


def maker_of(encoding: str | Maker, argument: str = "name") -> Maker:
    """What makes an encoding: that of a known name, or the one given; ``argument`` is for errors.

    A maker is a class or a function that takes (d_model, n_heads).
    """
    if callable(encoding):
        return _check_maker(argument, encoding)
    return _SCHEMES[validation.choice(argument, encoding, _SCHEMES)]


def _check_maker(argument: str, maker: Any) -> Maker:
    try:
        if isinstance(maker, nn.Module):  # it can be called, but not to make one
            raise TypeError("it is made already")
        inspect.signature(maker).bind_partial("d_model", "n_heads")
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{argument} must be a class or function that takes (d_model, n_heads), "
            f"got {maker!r}: {error}"
        ) from error
    return maker


def options_of(name: str | Maker) -> tuple[str, ...]:
    """Names of the options of its own that a scheme takes."""
    return tuple(option for option in parameters_of(maker_of(name)) if option not in FROM_MODEL)


def by_layer(name: str | Maker) -> bool:
    """Whether a maker takes the number of the layer, and so may make another for each."""
    return "layer" in parameters_of(maker_of(name))


def create(
    name: str | Maker,
    *,
    d_model: int,
    n_heads: int,
    max_len: int = 512,
    causal: bool = False,
    layer: int = 0,
    **options: Any,
) -> PositionalEncoding:
    """Build an encoding by name.

    Args:
        name: one of :func:`known_names`, or what makes one: a class or function.
        d_model, n_heads: width of the embeddings, and number of heads, which must divide it.
        max_len: longest sequence for the schemes that keep a table; the others ignore it.
        causal: True if keys after the query are masked; only some schemes care.
        layer: number of the layer, from 0, for makers that take it.
        **options: the scheme's own options, for example ``base`` for sinusoidal.
    """
    maker, known = maker_of(name), options_of(name)
    validation.integer("max_len", max_len)
    validation.boolean("causal", causal)
    validation.integer("layer", layer, minimum=0)
    for option in options:
        validation.choice(f"option of {name!r}", option, known)
    from_model = {"max_len": max_len, "causal": causal, "layer": layer}
    taken = {key: from_model[key] for key in parameters_of(maker) if key in from_model}
    encoding = maker(d_model, n_heads, **taken, **options)
    validation.instance(
        f"what {name!r} makes", encoding, PositionalEncoding, "a PositionalEncoding"
    )
    return encoding
