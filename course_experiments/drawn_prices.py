"""Prices on distance that lesson 06 draws: tents, and straight lines steeper than ALiBi's.

They are no encodings of the course, which names what papers define.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from course_utils.encodings import PositionalEncoding
from course_utils.encodings.base import BiasByOffset, Offsets, bias_dtype

TENTS, STEEP = "tents", "steep"
STEEP_SLOPES = (2.0, 1.0, 0.5, 0.25)  # of four heads, in score per position


class Tents(PositionalEncoding):
    """−slope · ||j − i| − peak|: each head charges for every position off its own distance.

    With all peaks at 0 it is ALiBi, with these slopes.

    Args:
        peaks: the distance that a head charges nothing for, in positions, one a head.
        slopes: in score per position, one a head.
    """

    offsets_only = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        peaks: Sequence[float] = (0.0, 1.0, 2.0, 3.0),
        slopes: Sequence[float] = (2.0, 2.0, 2.0, 2.0),
    ) -> None:
        super().__init__(d_model, n_heads)
        for name, numbers in (("peaks", peaks), ("slopes", slopes)):
            if len(numbers) != n_heads:
                raise ValueError(f"{name} must have {n_heads} numbers, one a head, got {numbers}")
        self.peaks, self.slopes = tuple(peaks), tuple(slopes)

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return −slope · ||j − i| − peak|, (heads, n)."""
        peaks, slopes = self._column(self.peaks, offsets), self._column(self.slopes, offsets)
        return -slopes * (offsets.abs() - peaks).abs()

    def _column(self, numbers: Sequence[float], offsets: Offsets) -> Tensor:
        return torch.tensor(numbers, dtype=bias_dtype(offsets), device=offsets.device)[:, None]


def steep(d_model: int, n_heads: int) -> Tents:
    """Straight lines with slopes 2, 1, 1/2 and 1/4, for four heads."""
    return Tents(d_model, n_heads, (0.0,) * len(STEEP_SLOPES), STEEP_SLOPES)
