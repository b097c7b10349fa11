"""The fast way to turn pairs of features, and the precision that angles need.

The formula is in ``rope``.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.layouts import LAYOUTS

Vectors = Float[Tensor, "*lead seq d"]
Turns = Float[Tensor, "*some seq pairs"]


def angle_dtype(device: torch.device) -> torch.dtype:
    """float64 wherever the device has it: a float32 product p·θ is off by 1e-4 rad at p = 2048."""
    return torch.float32 if device.type == "mps" else torch.float64


def rotate_pairs(x: Vectors, cos: Turns, sin: Turns, layout: str = "interleaved") -> Vectors:
    """Turn each pair of features, (a, b) → (a·cos − b·sin, a·sin + b·cos), in the dtype of ``x``.

    A factor on both cos and sin multiplies the result. Computed in float32 or better.

    Args:
        x: d even.
        cos: (seq, d / 2), or as many axes as ``x``, 1 where it is the same for all: (batch, 1, seq,
            d / 2) for each text, (1, heads, seq, d / 2) for each head.
        sin: likewise.
        layout: as for :func:`~course_utils.encodings.functional.apply_rope`.
    """
    validation.choice("layout", layout, LAYOUTS)
    check_pairs(x, "cos", cos)
    check_pairs(x, "sin", sin)
    work = torch.promote_types(torch.promote_types(x.dtype, cos.dtype), torch.float32)
    dtype, x, cos, sin = x.dtype, x.to(work), cos.to(work), sin.to(work)
    compiling = torch.compiler.is_compiling()
    if layout == "interleaved" and not compiling and x.device.type != "mps":
        # A pair is a complex number and a turn one product: a fifth of the time on a CPU.
        # Compilers fuse the real formula better.
        turned = torch.view_as_real(_as_complex(x) * torch.complex(cos, sin)).flatten(-2)
    elif layout == "interleaved":
        a, b = x[..., 0::2], x[..., 1::2]
        turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1).flatten(-2)
    elif compiling or (torch.is_grad_enabled() and (x.requires_grad or cos.requires_grad)):
        a, b = x.chunk(2, dim=-1)
        halves = [torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)]
        turned = torch.cat(halves, dim=-1)
    else:  # in place, where no gradient needs the steps between: two thirds of the time
        a, b = x.chunk(2, dim=-1)
        turned = x * torch.cat([cos, cos], dim=-1)
        first, second = turned.chunk(2, dim=-1)
        first.addcmul_(b, sin, value=-1)
        second.addcmul_(a, sin)
    return turned.to(dtype)


def _as_complex(x: Tensor) -> Tensor:
    """Neighbouring features as real and imaginary part, a view of ``x`` wherever there is one."""
    pairs = x.unflatten(-1, (-1, 2))
    *steps, step = pairs.stride()
    viewable = step == 1 and not any(one % 2 for one in (*steps, x.storage_offset()))
    # clone, not contiguous: a row that starts at an odd place may be contiguous already.
    return torch.view_as_complex(
        pairs if viewable else pairs.clone(memory_format=torch.contiguous_format)
    )


def check_pairs(x: Any, name: str, table: Any) -> None:
    """Raise unless x is (…, seq, d), d even, and the table called ``name`` is (…, seq, d / 2)."""
    validation.floating("x", x, "(…, seq, d)")
    if x.ndim < 2 or x.shape[-1] % 2:
        raise ValueError(f"x must have shape (…, seq, d) with an even d, got {tuple(x.shape)}")
    wanted = (x.shape[-2], x.shape[-1] // 2)
    found = validation.floating(name, table, f"(seq, d / 2) = {wanted}")
    front = zip(found.shape[:-2], x.shape[:-2], strict=False)
    fits = found.ndim in (2, x.ndim) and all(one in (1, other) for one, other in front)
    if not fits or found.shape[-2:] != wanted:
        # (batch, seq, d / 2) would be taken for (heads, seq, d / 2) where both are as many.
        raise ValueError(
            f"{name} must have shape (seq, d / 2) = {wanted}, or that behind axes of 1 or as x's "
            f"{tuple(x.shape[:-2])}, got {tuple(found.shape)}"
        )


def precise(name: str, value: Any, shape: str) -> Tensor:
    """Return ``value``, or raise unless it is a tensor of float32 or float64.

    Near 1000 rad the angles that bfloat16 knows are 4 rad apart, those of float16 half a radian.
    """
    found = validation.floating(name, value, shape)
    if found.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} must be float32 or float64, half precision has too few digits for angles, "
            f"got {found.dtype}; make them where they are used: model.to(dtype) rounds buffers"
        )
    return found
