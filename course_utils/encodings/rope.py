"""RoPE: turn pair m of the query at i by i·θ_m and of the key at j by j·θ_m.

    (a, b) → (a·cos pθ_m − b·sin pθ_m, a·sin pθ_m + b·cos pθ_m),   θ_m = base^(−2m/d)

A product of two vectors sees only the angle between them, so q·k sees only the offset j − i.

Source: Su et al. 2021, arXiv 2104.09864: equation 15 for the frequencies, 34 for the turn, section
3.2.2. How frequencies change for a longer context is in ``scaling``, the fast turn in ``rotation``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import Keys, PositionalEncoding, Queries
from course_utils.encodings.layouts import LAYOUTS, head_width, rotated_width
from course_utils.encodings.positions import Places, Positions
from course_utils.encodings.rotation import (
    Turns,
    Vectors,
    angle_dtype,
    check_pairs,
    precise,
    rotate_pairs,
)
from course_utils.encodings.scaling import Length, Pairs, Scaled, Scaling

Tables = tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]  # cos, sin of queries; of keys


def rope_frequencies(
    d: int, base: float = 10000.0, *, device: torch.device | str | None = None
) -> Pairs:
    """Angular frequencies θ_m = base^(−2m/d), radians per position, float64 (float32 on mps).

    Args:
        d: how many features of a head turn, an even number.
        base: what the slowest wavelength grows towards, in units of 2π positions.
        device: where the frequencies live.
    """
    width, base = validation.even("d", d), validation.positive("base", base)
    dtype = angle_dtype(torch.device(device or "cpu"))
    return base ** -(torch.arange(0, width, 2, device=device, dtype=dtype) / width)


def rope_angles(positions: Positions, frequencies: Float[Tensor, "*texts pairs"]) -> Turns:
    """The angle p·θ_m of every position and pair, in radians, float64 (float32 on mps).

    ``frequencies`` are (pairs,), or (batch, pairs) where texts turn by their own.
    """
    row = validation.positions("positions", positions, batches=True)
    theta = precise("frequencies", frequencies, "(pairs,) or (batch, pairs)")
    if theta.ndim not in (1, 2):
        raise ValueError(
            f"frequencies must be (pairs,) or (batch, pairs), got {tuple(theta.shape)}"
        )
    dtype = angle_dtype(row.device)
    return row.to(dtype)[..., None] * theta.to(row.device, dtype)[..., None, :]


def apply_rope(
    x: Vectors, angles: Turns, layout: str = "interleaved", factor: float = 1.0
) -> Vectors:
    """Turn each pair of features by its angle, in the dtype of ``x``.

    Args:
        x: queries or keys, d even.
        angles: (seq, d / 2), radians; or with axes in front, see :func:`rotate_pairs`.
        layout: "interleaved" pairs features 2m and 2m + 1, as the paper and Meta's Llama code do;
            "half" pairs m and m + d/2, as GPT-NeoX and Hugging Face's Llama do.
        factor: the attention factor of a scaling, above 0, which :func:`scaled_frequencies` returns
            beside the frequencies. Queries and keys both get it.
    """
    check_pairs(x, "angles", precise("angles", angles, "(seq, d / 2)"))
    cos, sin = cos_sin(angles.to(x.device), validation.positive("factor", factor))
    work = torch.promote_types(x.dtype, torch.float32)
    return rotate_pairs(x, cos.to(work), sin.to(work), layout)


def scaled_frequencies(
    d: int,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    length: Length = None,
    *,
    device: torch.device | str | None = None,
) -> Scaled:
    """What a scaling makes of :func:`rope_frequencies`, and its factor on cos and sin.

    Args:
        d, base, device: as there.
        scaling: None for the plain frequencies and 1.
        length: positions in use, for a scaling that looks at it; None for no more than in
            training. A tensor, of one number or (batch, 1), is taken as it is, unchecked.
    """
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(
            "scaling must be None or a scaling such as Linear(factor=4.0) or "
            f"YaRN(factor=4.0, original_len=2048), got {type(scaling).__name__} {scaling!r}"
        )
    if not isinstance(length, Tensor | None):
        length = validation.positive("length", length)
    plain, base = rope_frequencies(d, base, device=device), float(base)
    return (plain, 1.0) if scaling is None else scaling.frequencies(plain, base, length)


class Rotary(PositionalEncoding):
    """RoPE at door 2. Nothing is learned.

    Args:
        d_model: d_model / n_heads must be even.
        base: of the frequencies.
        layout: see :func:`apply_rope`. Weights trained with one can be made to fit the other, see
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
        key = (type(self), *self.options.values(), dtype)
        (q_cos, q_sin), (k_cos, k_sin) = at.keep(
            key, lambda: self._rounded(self._tables(at), dtype)
        )
        turn = rotate_pairs if self.n_turned == self.d_head else self._turn_first
        return turn(q, q_cos, q_sin, self.layout), turn(k, k_cos, k_sin, self.layout)

    def _tables(self, at: Places) -> Tables:
        """Cos and sin, (seq, pairs) each, for the queries and for the keys."""
        needs_length = self.scaling is not None and self.scaling.needs_length
        length = at.length if needs_length else None
        theta, factor = scaled_frequencies(
            self.n_turned, self.base, self.scaling, length, device=at.k.device
        )
        query = cos_sin(rope_angles(at.q, theta), factor)
        return query, query if at.q is at.k else cos_sin(rope_angles(at.k, theta), factor)

    @staticmethod
    def _rounded(tables: Tables, dtype: torch.dtype) -> list[list[Tensor]]:
        # Positions that differ from row to row of a batch are the same for all heads.
        return [
            [(one[:, None] if one.ndim == 3 else one).to(dtype) for one in two] for two in tables
        ]

    def _turn_first(self, x: Tensor, cos: Tensor, sin: Tensor, layout: str) -> Tensor:
        turned = rotate_pairs(x[..., : self.n_turned], cos, sin, layout)
        return torch.cat([turned, x[..., self.n_turned :]], dim=-1)


def cos_sin(angles: Tensor, factor: float | Tensor = 1.0) -> tuple[Tensor, Tensor]:
    """Cos and sin of angles, times a factor."""
    return factor * angles.cos(), factor * angles.sin()
