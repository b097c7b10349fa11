"""Sandwich: the product of two positions' sinusoidal encodings, weaker from head to head.

    H/(8h) · (Σ_m cos((j − i)·ω_m) − d̄/2),   heads h = 1 … H

The sum is PE(i) · PE(j) of width d̄. The term −d̄/2 shifts all scores of a row alike, so softmax does
not see it.

Source: Chi et al. 2022, arXiv 2212.10356.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import BiasByOffset, Look, Offsets, PositionalEncoding
from course_utils.encodings.sinusoidal import sinusoidal_frequencies


def sandwich_bias(
    offsets: Num[Tensor, "*shape"], n_heads: int, d_bar: int = 128
) -> Float[Tensor, " n_heads *shape"]:
    """The formula above, 0 at offset 0; float64 if the offsets are, else float32.

    Args:
        offsets: j − i in positions, integers or floats. Angles are computed in float64.
        n_heads: H.
        d_bar: width d̄ of the sinusoidal encodings, an even number, free of d_model.
    """
    count, _ = validation.integer("n_heads", n_heads), validation.even("d_bar", d_bar)
    offsets = validation.real("offsets", offsets)
    frequencies = sinusoidal_frequencies(d_bar, device=offsets.device)  # (pairs)
    wide = offsets.to(frequencies.dtype)
    # One frequency at a time: all at once would take d̄/2 times the memory of the result.
    total = torch.zeros_like(wide)
    for frequency in frequencies:
        total += (wide * frequency).cos()
    ratios = count / (8 * torch.arange(1, count + 1, device=wide.device, dtype=wide.dtype))
    bias = ratios.view(-1, *[1] * wide.ndim) * (total - len(frequencies))  # (heads, …)
    return bias.to(offsets.dtype)


class Sandwich(PositionalEncoding):
    """Sandwich at door 3. Nothing is learned. It looks both ways alike; fractions are fine.

    ``d_bar`` is that of :func:`sandwich_bias`, 128 in the paper, whatever ``d_model`` is.
    """

    look = Look("#5e6102", ">", (0, (1, 1)))
    adjustable = {"d_bar": 32}
    offsets_only = True

    def __init__(self, d_model: int, n_heads: int, d_bar: int = 128) -> None:
        super().__init__(d_model, n_heads)
        self.d_bar = validation.even("d_bar", d_bar)

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return the formula above."""
        return sandwich_bias(offsets, self.n_heads, self.d_bar)
