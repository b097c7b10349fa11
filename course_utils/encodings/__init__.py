"""Positional encodings behind one interface: ``create("sinusoidal", d_model=128, n_heads=4)``.

``NAMES`` lists what ``create`` knows. The formulas are in ``functional``, the interface in
``base``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_utils import validation
from course_utils.encodings import functional
from course_utils.encodings.absolute import NoEncoding, Sinusoidal
from course_utils.encodings.base import PositionalEncoding

__all__ = ["NAMES", "NoEncoding", "PositionalEncoding", "Sinusoidal", "create", "functional"]

# Every scheme takes d_model and n_heads. Beside its maker: which of max_len and causal it wants
# too, and the options of its own. A new scheme is one more line here.
_SCHEMES: dict[str, tuple[Callable[..., PositionalEncoding], tuple[str, ...], tuple[str, ...]]] = {
    "none": (NoEncoding, (), ()),
    "sinusoidal": (Sinusoidal, (), ("base",)),
}
NAMES = tuple(_SCHEMES)


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
    if not isinstance(causal, bool):
        raise TypeError(f"causal must be True or False, got {type(causal).__name__} {causal!r}")
    for option in options:
        validation.choice(f"option of {name!r}", option, known)
    model = {"max_len": max_len, "causal": causal}
    return maker(d_model, n_heads, **{key: model[key] for key in wanted}, **options)
