"""RoPE and its kin: frequencies, angles, xPos factors, and the rotation itself.

Which frequencies a longer context wants is decided by the scalings in ``encodings.scaling``;
how features are paired up, and how weights move from one pairing to the other, in ``layouts``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.functional.layouts import LAYOUTS
from course_utils.encodings.functional.precision import angle_dtype

Row = Num[Tensor, " seq"]
Pairs = Float[Tensor, " pairs"]
Angles = Float[Tensor, "seq pairs"]


class Scaling(ABC):
    """What RoPE turns by once the context is longer than in training.

    Attributes:
        needs_length: True if the frequencies depend on the current length.
    """

    needs_length: ClassVar[bool] = False

    @abstractmethod
    def frequencies(
        self, plain: Pairs, base: float, length: float | Tensor | None = None
    ) -> tuple[Pairs, float]:
        """Return the scaled frequencies and the attention factor.

        Args:
            plain: (pairs,) unscaled frequencies θ_m, radians per position.
            base: what they were made from.
            length: how many positions are in use; None for no more than in training.

        Returns:
            (pairs,) frequencies, and the factor that multiplies both cos and sin, so that the
            scores grow by its square.
        """


def rope_frequencies(
    d: int,
    base: float = 10000.0,
    scaling: Scaling | None = None,
    length: float | Tensor | None = None,
    *,
    device: torch.device | str | None = None,
) -> tuple[Pairs, float]:
    """Angular frequencies of RoPE, θ_m = base^(−2m/d), and the factor on cos and sin.

    Args:
        d: how many features of a head turn, an even number.
        base: what the slowest wavelength grows towards, in units of 2π positions.
        scaling: how a longer context changes them; None for not at all.
        length: positions in use, for a scaling that looks at it; None for no more than in
            training. A tensor with one number is taken as it is, unchecked.
        device: where the frequencies live.

    Returns:
        (d / 2,) radians per position, float64 (float32 on mps), and the attention factor.

    Raises:
        TypeError, ValueError: if ``d`` is not even, ``base`` or ``length`` not a number above
            0, ``scaling`` not a scaling, or a scaling made for another ``d``.

    Source: Su et al. 2021, arXiv 2104.09864, equation 15; of each scaling, see its class.
    """
    width, base = validation.even("d", d), validation.positive("base", base)
    if scaling is not None and not isinstance(scaling, Scaling):
        raise TypeError(
            "scaling must be None or a scaling such as Linear(factor=4.0) or "
            f"YaRN(factor=4.0, original_len=2048), got {type(scaling).__name__} {scaling!r}"
        )
    if not isinstance(length, Tensor | None):
        length = validation.positive("length", length)
    dtype = angle_dtype(torch.device(device or "cpu"))
    plain = base ** -(torch.arange(0, width, 2, device=device, dtype=dtype) / width)  # (pairs)
    return (plain, 1.0) if scaling is None else scaling.frequencies(plain, base, length)


def rope_angles(positions: Row, frequencies: Pairs) -> Angles:
    """The angle p·θ_m of every position and pair: (seq,) and (pairs,) → (seq, pairs), radians.

    Computed in float64 (float32 on mps), whatever comes in.

    Raises:
        TypeError, ValueError: if ``positions`` is not one row of finite numbers or
            ``frequencies`` not one row of floats.

    Source: Su et al. 2021, arXiv 2104.09864, equation 15.
    """
    row = validation.positions("positions", positions)
    theta = validation.floating("frequencies", frequencies, "(pairs,)", ndim=1)
    dtype = angle_dtype(row.device)
    return row.to(dtype)[:, None] * theta.to(row.device, dtype)


def axial_angles(rows: Row, columns: Row, frequencies: Pairs) -> Float[Tensor, "seq both"]:
    """Angles on a grid: the first half of the pairs turns by the row, the rest by the column.

    Args:
        rows: (seq,) row of each patch; fractions are fine.
        columns: (seq,) column of each patch.
        frequencies: (pairs,) of one axis; both axes use the same.

    Returns:
        (seq, 2 · pairs), radians.

    Raises:
        TypeError, ValueError: as :func:`rope_angles`, or if the rows are not as many as the
            columns.

    Source: Heo et al. 2024, arXiv 2403.13298, section 3.2 ("axial frequency"). The paper gives
        pairs to the two axes in turn, and its code puts the columns first: weights trained with
        either want their pairs reordered.
    """
    down = validation.positions("rows", rows)
    across = validation.positions("columns", columns, length=len(down))
    return torch.cat([rope_angles(down, frequencies), rope_angles(across, frequencies)], dim=-1)


def xpos_scale(
    positions: Row, d: int, scale_base: float = 512.0, reference: float | Tensor = 0.0
) -> Angles:
    """What xPos multiplies a query by, ζ_m^((p − reference)/scale_base); a key by 1 over it.

    ζ_m = (2m + 0.4d)/(1.4d) is below 1 and grows with m: fast pairs fade sooner with distance.
    A score sees only the product of a query's and a key's factor, so any ``reference`` common to
    both gives the same scores. One in their midst keeps the factors within a float's range.

    Args:
        positions: (seq,), integers or floats.
        d: features of a head, an even number.
        scale_base: positions after which pair m has faded by ζ_m.
        reference: the position whose factor is 1.

    Returns:
        (seq, d / 2), float64 (float32 on mps).

    Raises:
        TypeError, ValueError: if ``positions`` is not one row of finite numbers, ``d`` is not
            even or ``scale_base`` not a number above 0.

    Source: Sun et al. 2022, arXiv 2212.10554, algorithm 1; the division by 512 and γ = 0.4 are
        those of its code, TorchScale. The paper writes
        (m/(d/2) + γ)/(1 + γ), which is the same.
    """
    row = validation.positions("positions", positions)
    width, scale_base = validation.even("d", d), validation.positive("scale_base", scale_base)
    dtype = angle_dtype(row.device)
    pairs = torch.arange(0, width, 2, device=row.device, dtype=dtype)
    zeta = (pairs + 0.4 * width) / (1.4 * width)  # (pairs)
    return zeta ** ((row.to(dtype) - reference) / scale_base)[:, None]


def apply_rope(
    x: Float[Tensor, "*lead seq d"], angles: Angles, layout: str = "interleaved"
) -> Float[Tensor, "*lead seq d"]:
    """Turn each pair of features by its angle: (a, b) → (a·cos − b·sin, a·sin + b·cos).

    Args:
        x: (…, seq, d) queries or keys of one head each, d even.
        angles: (seq, d / 2), radians.
        layout: "interleaved" pairs features 2m and 2m + 1, "half" pairs m and m + d/2.

    Returns:
        (…, seq, d) in the dtype of ``x``; computed in float32 or better.

    Raises:
        TypeError, ValueError: if ``x`` or ``angles`` have another shape or hold no floats, or
            ``layout`` is unknown.

    Source: Su et al. 2021, arXiv 2104.09864, equation 34 (interleaved). GPT-NeoX and Hugging
        Face's Llama are "half"; Meta's own Llama code is interleaved.
    """
    _check_pairs(x, "angles", angles)
    precise = torch.promote_types(angles.dtype, torch.float32)
    work = torch.promote_types(x.dtype, torch.float32)
    angles = angles.to(x.device, precise)
    return rotate_pairs(x, angles.cos().to(work), angles.sin().to(work), layout)


def rotate_pairs(
    x: Float[Tensor, "*lead seq d"], cos: Angles, sin: Angles, layout: str = "interleaved"
) -> Float[Tensor, "*lead seq d"]:
    """Like :func:`apply_rope`, with the angles' cos and sin at hand, (seq, d / 2) each.

    A factor on both cos and sin multiplies the result.

    Raises: as :func:`apply_rope`.
    """
    turn = _TURNS[validation.choice("layout", layout, LAYOUTS)]
    _check_pairs(x, "cos", cos)
    _check_pairs(x, "sin", sin)
    work = torch.promote_types(torch.promote_types(x.dtype, cos.dtype), torch.float32)
    return turn(x.to(work), cos.to(work), sin.to(work)).to(x.dtype)


def _turn_interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    # A pair is a complex number and a turn one product: a fifth of the time on a CPU. Compilers
    # fuse the real formula better.
    if not torch.compiler.is_compiling() and x.device.type != "mps":
        turned = _as_complex(x) * torch.complex(cos, sin)  # (…, seq, pairs)
        return torch.view_as_real(turned).flatten(-2)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)


def _turn_half(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    needs_grad = torch.is_grad_enabled() and (x.requires_grad or cos.requires_grad)
    if needs_grad or torch.compiler.is_compiling():
        turned = [torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)]
        return torch.cat(turned, dim=-1)
    # In place, where no gradient needs the steps between: two thirds of the time.
    out = x * torch.cat([cos, cos], dim=-1)
    first, second = out.chunk(2, dim=-1)
    first.addcmul_(b, sin, value=-1)
    second.addcmul_(a, sin)
    return out


_TURNS = {"interleaved": _turn_interleaved, "half": _turn_half}


def _as_complex(x: Tensor) -> Tensor:
    """Neighbouring features as real and imaginary part, a view of ``x`` wherever there is one."""
    pairs = x.unflatten(-1, (-1, 2))
    *steps, step = pairs.stride()
    viewable = step == 1 and not any(one % 2 for one in (*steps, x.storage_offset()))
    # clone, not contiguous: a row that starts at an odd place may be contiguous already.
    return torch.view_as_complex(
        pairs if viewable else pairs.clone(memory_format=torch.contiguous_format)
    )


def _check_pairs(x: Any, name: str, table: Any) -> None:
    """Raise unless x is (…, seq, d), d even, and the table called ``name`` is (seq, d / 2)."""
    validation.floating("x", x, "(…, seq, d)")
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ValueError(f"x must have shape (…, seq, d) with an even d, got {tuple(x.shape)}")
    wanted = (x.shape[-2], x.shape[-1] // 2)
    found = validation.floating(name, table, f"(seq, d / 2) = {wanted}", ndim=2)
    if found.shape != wanted:
        raise ValueError(
            f"{name} must have shape (seq, d / 2) = {wanted} for this x, got {tuple(found.shape)}"
        )
