"""RoPE: turn pair m of the query at i by i·θ_m and of the key at j by j·θ_m.

    (a, b) → (a·cos pθ_m − b·sin pθ_m, a·sin pθ_m + b·cos pθ_m),   θ_m = base^(−2m/d)

A product of two vectors sees only the angle between them, so q·k sees only the offset j − i.

Source: Su et al. 2021, arXiv 2104.09864: equation 15 for the frequencies, 34 for the turn, section
3.2.2. How frequencies change for a longer context is in ``scaling``.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import Keys, Look, PositionalEncoding, Queries
from course_utils.encodings.layouts import LAYOUTS, head_width, rotated_width
from course_utils.encodings.positions import Places, Positions, angle_dtype
from course_utils.encodings.scaling import NTK, Linear, Llama3, LongRoPE, Pairs, Scaling, YaRN

Vectors = Float[Tensor, "*lead seq d"]
Angles = Float[Tensor, "*some seq pairs"]


class Turn(NamedTuple):
    """Cos and sin of the angle by which each pair turns at each position, (…, seq, pairs)."""

    cos: Tensor
    sin: Tensor


def turn_by(angles: Tensor, factor: float | Tensor = 1.0) -> Turn:
    """A turn by angles in radians; a factor on cos and sin multiplies what is turned."""
    return Turn(factor * angles.cos(), factor * angles.sin())


def rope_frequencies(
    d: int, base: float = 10000.0, *, device: torch.device | str | None = None
) -> Pairs:
    """Angular frequencies θ_m = base^(−2m/d), radians per position, float64 (float32 on mps).

    Args:
        d: how many features of a head turn, an even number.
        base: what the slowest wavelength grows towards, in units of 2π positions.
    """
    width, base = validation.even("d", d), validation.positive("base", base)
    dtype = angle_dtype(torch.device(device or "cpu"))
    return base ** -(torch.arange(0, width, 2, device=device, dtype=dtype) / width)


def rope_angles(positions: Positions, frequencies: Float[Tensor, "*texts pairs"]) -> Angles:
    """The angle p·θ_m of every position and pair, in radians, float64 (float32 on mps).

    ``frequencies`` are (pairs,), or (batch, pairs) where texts turn by their own.
    """
    row = validation.positions("positions", positions, batches=True)
    shape = "(pairs,) or (batch, pairs)"
    theta = _precise("frequencies", frequencies, shape)
    if theta.ndim not in (1, 2):
        raise ValueError(f"frequencies must be {shape}, got {tuple(theta.shape)}")
    dtype = angle_dtype(row.device)
    return row.to(dtype)[..., None] * theta.to(row.device, dtype)[..., None, :]


def rotate_pairs(x: Vectors, cos: Angles, sin: Angles, layout: str = "interleaved") -> Vectors:
    """Turn each pair of features, (a, b) → (a·cos − b·sin, a·sin + b·cos), in the dtype of ``x``.

    A factor on both cos and sin multiplies the result. Computed in float32 or better.

    Args:
        x: d even.
        cos, sin: (seq, d / 2); (batch, seq, d / 2) where ``x`` is (batch, heads, seq, d) and each
            text has its own; or as many axes as ``x``, 1 where it is the same for all.
        layout: "interleaved" pairs features 2m and 2m + 1, as the paper and Meta's Llama code do;
            "half" pairs m and m + d/2, as GPT-NeoX and Hugging Face's Llama do.
    """
    validation.choice("layout", layout, LAYOUTS)
    cos, sin = _fitting(x, "cos", cos), _fitting(x, "sin", sin)
    dtype = torch.promote_types(torch.promote_types(x.dtype, cos.dtype), torch.float32)
    wide, cos, sin = x.to(dtype), cos.to(dtype), sin.to(dtype)
    if layout == "half":
        a, b = wide.chunk(2, dim=-1)
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
    elif torch.compiler.is_compiling() or x.device.type == "mps":
        a, b = wide[..., 0::2], wide[..., 1::2]
        turned = torch.stack([a * cos - b * sin, b * cos + a * sin], dim=-1).flatten(-2)
    else:
        # The same as one complex product a pair: a fifth of the time on a CPU.
        turned = torch.view_as_real(_as_complex(wide) * torch.complex(cos, sin)).flatten(-2)
    return turned.to(x.dtype)


def _as_complex(x: Tensor) -> Tensor:
    """Neighbouring features as real and imaginary part, a view of ``x`` wherever there is one."""
    pairs = x.unflatten(-1, (-1, 2))
    *steps, last_step = pairs.stride()
    viewable = last_step == 1 and not any(step % 2 for step in (*steps, x.storage_offset()))
    # clone, not contiguous: a row that starts at an odd place may be contiguous already.
    return torch.view_as_complex(
        pairs if viewable else pairs.clone(memory_format=torch.contiguous_format)
    )


def apply_rope(
    x: Vectors, angles: Angles, layout: str = "interleaved", factor: float = 1.0
) -> Vectors:
    """Turn each pair of features by its angle, in the dtype of ``x``.

    Args:
        x: queries or keys, d even.
        angles: (seq, d / 2), radians; or with axes in front, see :func:`rotate_pairs`.
        layout: see :func:`rotate_pairs`.
        factor: the attention factor of a scaling, above 0, which :func:`scaled_frequencies` returns
            beside the frequencies. Queries and keys both get it.
    """
    _fitting(x, "angles", _precise("angles", angles, "(seq, d / 2)"))
    turn = turn_by(angles.to(x.device), validation.positive("factor", factor))
    dtype = torch.promote_types(x.dtype, torch.float32)
    return rotate_pairs(x, turn.cos.to(dtype), turn.sin.to(dtype), layout)


def scaled_frequencies(
    d: int,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    length: float | Tensor | None = None,
    *,
    device: torch.device | str | None = None,
) -> tuple[Float[Tensor, "*batch pairs"], float]:
    """What a scaling makes of :func:`rope_frequencies`, and its factor on cos and sin.

    Args:
        d, base, device: as there.
        scaling: None for the plain frequencies and 1.
        length: positions in use, for a scaling that looks at it; None for no more than in
            training. A tensor, of one number or (batch, 1), is taken as it is, unchecked.
    """
    valid = "None or a scaling such as Linear(factor=4.0) or YaRN(factor=4.0, original_len=2048)"
    validation.instance("scaling", scaling, Scaling | None, valid)
    if not isinstance(length, Tensor | None):
        length = validation.positive("length", length)
    plain, base = rope_frequencies(d, base, device=device), float(base)
    return (plain, 1.0) if scaling is None else scaling.frequencies(plain, base, length)


class Rotary(PositionalEncoding):
    """RoPE at door 2. Nothing is learned.

    Args:
        d_model: d_model / n_heads must be even.
        base: of the frequencies.
        layout: see :func:`rotate_pairs`. Weights trained with one can be made to fit the other, see
            :func:`~course_utils.encodings.functional.convert_layout`.
        fraction: the part of each head that turns, its first features; the rest stay, as in GPT-J
            and GPT-NeoX.
        scaling: one of the classes in ``encodings.scaling``, or None. Its attention factor
            multiplies queries and keys, so that the scores get its square (where ``fraction`` is
            below 1: the share of the features that turn).

    A scaling that looks at the current length takes the last position among the keys, plus 1.
    Queries and keys of one call turn under the same frequencies: so a cache then keeps keys as they
    were before they turned.
    """

    look = Look("#f65403", "D", "-")
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = (  # for heads of width 8
        {"layout": "half"},
        {"fraction": 0.5},
        {"fraction": 0.5, "layout": "half", "base": 500.0},
        {"scaling": Linear(4)},
        {"scaling": NTK(4)},
        {"scaling": YaRN(4, 64)},
        {"scaling": LongRoPE((1.0, 1.5, 2.0, 4.0), 4, 64)},
        {"scaling": Llama3(4, 64)},
    )
    adjustable: ClassVar[Mapping[str, Any]] = {"base": 77.0, "layout": "half", "scaling": Linear(3)}
    offsets_only = True
    unit = 2  # what a head's width must be a multiple of

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        layout: str = "interleaved",
        fraction: float = 1.0,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__(d_model, n_heads)
        head_width(self.d_model, self.n_heads, self.unit)
        self.base = validation.positive("base", base)
        self.layout = validation.choice("layout", layout, LAYOUTS)
        self.n_turned = rotated_width(self.d_head, fraction)
        self.fraction, self.scaling = float(fraction), scaling
        scaled_frequencies(self.n_turned, self.base, scaling)  # raises if the scaling does not fit

    @property
    def static_keys(self) -> bool:  # type: ignore[override]
        """Whether the frequencies are the same at every length."""
        return self.scaling is None or not self.scaling.needs_length

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return queries and keys, turned, in their own dtype."""
        at = self._check(q, k, at)
        dtype = torch.promote_types(q.dtype, torch.float32)
        turns = at.kept.get((self, dtype))
        if turns is None:
            rounded = [Turn(turn.cos.to(dtype), turn.sin.to(dtype)) for turn in self.turns(at)]
            turns = at.keep((self, dtype), rounded)
        q_turn, k_turn = turns
        return self._turned(q, q_turn), self._turned(k, k_turn)

    def turns(self, at: Places) -> tuple[Turn, Turn]:
        """How the queries turn, and how the keys."""
        theta, factor = rope_frequencies(self.n_turned, self.base, device=at.k.device), 1.0
        if self.scaling is not None:
            length = at.length if self.scaling.needs_length else None
            theta, factor = self.scaling.frequencies(theta, self.base, length)
        query = turn_by(rope_angles(at.q, theta), factor)
        key = query if at.q is at.k else turn_by(rope_angles(at.k, theta), factor)
        return query, key

    def _turned(self, x: Tensor, turn: Turn) -> Tensor:
        if self.n_turned == self.d_head:
            return rotate_pairs(x, turn.cos, turn.sin, self.layout)
        first = rotate_pairs(x[..., : self.n_turned], turn.cos, turn.sin, self.layout)
        return torch.cat([first, x[..., self.n_turned :]], dim=-1)


def _fitting(x: Any, name: str, table: Any) -> Tensor:
    """The table called ``name``, with an axis for heads where it has one for texts.

    Raises unless x is (…, seq, d), d even, and the table is (seq, d / 2) or fits the axes of x.
    """
    validation.floating("x", x, "(…, seq, d)")
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ValueError(f"x must have shape (…, seq, d) with an even d, got {tuple(x.shape)}")
    expected = (x.shape[-2], x.shape[-1] // 2)
    validation.floating(name, table, f"(seq, d / 2) = {expected}")
    by_text = table[:, None] if x.ndim == 4 and table.ndim == 3 else table
    leading = zip(by_text.shape[:-2], x.shape[:-2], strict=False)
    fits = by_text.ndim in (2, x.ndim) and all(size in (1, full) for size, full in leading)
    if not fits or table.shape[-2:] != expected:
        raise ValueError(
            f"{name} must have shape (seq, d / 2) = {expected}, or that behind axes of 1 or as x's "
            f"{tuple(x.shape[:-2])}, got {tuple(table.shape)}"
        )
    return by_text


def _precise(name: str, value: Any, shape: str) -> Tensor:
    """Return ``value``, or raise unless it is a tensor of float32 or float64.

    Near 1000 rad the angles that bfloat16 knows are 4 rad apart, those of float16 half a radian.
    """
    angles = validation.floating(name, value, shape)
    if angles.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} must be float32 or float64, half precision has too few digits for angles, "
            f"got {angles.dtype}; make them where they are used: model.to(dtype) rounds buffers"
        )
    return angles
