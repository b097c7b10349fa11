"""ALiBi: −m_h · |j − i|, a penalty that grows in a straight line with distance.

Source: Press et al. 2021, arXiv 2108.12409, section 3. The paper gives the slopes' formula for any
number of heads; the authors' code, and models such as BLOOM, use another where it is no power of
two, which the code calls a workaround.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import BiasByOffset, Look, Offsets, PositionalEncoding, bias_dtype
from course_utils.encodings.offsets import per_head


def alibi_slopes(
    n_heads: int, *, dtype: torch.dtype = torch.float32, device: torch.device | str | None = None
) -> Float[Tensor, " heads"]:
    """Slopes m_h: 2^(−8h/H) for heads h = 1 … H where H is a power of two, in score per position.

    For another H: the slopes of the next lower power of two c, then every other slope of 2c,
    from its first, until there are H. So they do not fall from the first head to the last.
    Computed in float64 and rounded once.
    """
    count = validation.integer("n_heads", n_heads)
    lower = 2 ** (count.bit_length() - 1)
    slopes = [2 ** (-8 * h / lower) for h in range(1, lower + 1)]
    between = [2 ** (-8 * h / (2 * lower)) for h in range(1, 2 * lower + 1, 2)]
    return torch.tensor((slopes + between)[:count], dtype=torch.float64).to(device, dtype)


def alibi_bias(
    offsets: Num[Tensor, "*shape"], slopes: Float[Tensor, " heads"]
) -> Float[Tensor, " heads *shape"]:
    """−m_h · |j − i| for offsets in positions; float32, or float64 if either argument is."""
    distances = validation.real("offsets", offsets).abs()
    return -per_head("slopes", slopes, distances) * distances


class ALiBi(PositionalEncoding):
    """ALiBi at door 3. Nothing is learned, nothing is stored, so there is no longest length.

    It looks both ways; a causal mask leaves the way back, as in the paper. Fractions are fine.
    """

    offsets_only = True
    look = Look("#149e3e", "^", (0, (7, 2, 1.5, 2)))

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return −m_h · |j − i|."""
        dtype, device = bias_dtype(offsets), offsets.device
        return alibi_bias(offsets, alibi_slopes(self.n_heads, dtype=dtype, device=device))
