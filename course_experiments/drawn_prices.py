"""Prices on distance that lesson 06 draws: tents, and straight lines steeper than ALiBi's.

And what tells their parts apart: only near, near by head, only sharp, only a look off the own
token, and no attention at all. They are no encodings of the course, which names what papers define.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from course_utils.encodings import ALiBi, PositionalEncoding
from course_utils.encodings.base import BiasByOffset, Offsets, bias_dtype

TENTS, STEEP = "tents", "steep"
NEAR, SHARP, ONE_BACK, FIXED = "near", "sharp", "one_back", "fixed"
ALL_OWN, ALL_ONE_BACK = "all_own", "all_one_back"
NEAR_BY_HEAD, WINDOWS, NARROW = "near_by_head", "windows", "narrow"
STEEP_TENTS, ONE_HEAD_BACK = "steep_tents", "one_head_back"
STEEP_SLOPES = (2.0, 1.0, 0.5, 0.25)  # of four heads, in score per position
SHARP_SLOPES = (2.0, 1.0, 1 / 64, 1 / 256)  # two of the steep lines, and ALiBi's two flattest
NEAREST = 12  # keys in sight of `near`: as many as hold 95 % of equal weight at a slope of 1/4
NEAREST_BY_HEAD = (2, 3, 6, 12)  # the same for each of the steep slopes
NARROWEST = 3  # keys in sight of `narrow`


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


def sharp(d_model: int, n_heads: int) -> Tents:
    """Two heads as steep as the steepest of `steep`, two as flat as ALiBi's, for four heads."""
    return Tents(d_model, n_heads, (0.0,) * len(SHARP_SLOPES), SHARP_SLOPES)


def one_back(d_model: int, n_heads: int) -> Tents:
    """The steep lines, with the top of each one back."""
    return Tents(d_model, n_heads, (1.0,) * len(STEEP_SLOPES), STEEP_SLOPES)


def one_head_back(d_model: int, n_heads: int) -> Tents:
    """The steep lines, with a tent in place of the flattest: its top one back, its slope 2."""
    return Tents(d_model, n_heads, (0.0, 0.0, 0.0, 1.0), (*STEEP_SLOPES[:-1], 2.0))


def all_own(d_model: int, n_heads: int) -> Tents:
    """The tents' slopes, 2 in each head, with every top at the own key."""
    return Tents(d_model, n_heads, (0.0,) * n_heads, (2.0,) * n_heads)


def all_one_back(d_model: int, n_heads: int) -> Tents:
    """The tents' slopes, 2 in each head, with every top one back."""
    return Tents(d_model, n_heads, (1.0,) * n_heads, (2.0,) * n_heads)


def steep_tents(d_model: int, n_heads: int) -> Tents:
    """The tents' peaks, 0 to 3 back, with the steep lines' slopes."""
    return Tents(d_model, n_heads, slopes=STEEP_SLOPES)


class Near(ALiBi):
    """ALiBi, with the nearest keys alone in sight.

    Args:
        reach: how many keys each head sees, in positions.
    """

    def __init__(
        self, d_model: int, n_heads: int, reach: Sequence[int] = (NEAREST,) * len(STEEP_SLOPES)
    ) -> None:
        super().__init__(d_model, n_heads)
        self.reach = tuple(reach)

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return ALiBi's price, −inf from ``reach`` positions on, (heads, n)."""
        return super().bias_by_offset(offsets).masked_fill(_hidden(offsets, self.reach), -math.inf)


class Windows(PositionalEncoding):
    """The nearest keys alone in sight, and no price on them.

    Args:
        reach: how many keys each head sees, in positions.
    """

    offsets_only = True

    def __init__(self, d_model: int, n_heads: int, reach: Sequence[int] = NEAREST_BY_HEAD) -> None:
        super().__init__(d_model, n_heads)
        self.reach = tuple(reach)

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return 0, and −inf from ``reach`` positions on, (heads, n)."""
        hidden = _hidden(offsets, self.reach)
        return torch.zeros(hidden.shape, device=offsets.device).masked_fill(hidden, -math.inf)


def _hidden(offsets: Offsets, reach: Sequence[int]) -> Tensor:
    """Whether a head does not see a key, (heads, n)."""
    return offsets.abs() >= torch.tensor(reach, device=offsets.device)[:, None]


def near_by_head(d_model: int, n_heads: int) -> Near:
    """ALiBi of four heads, each with as many keys in sight as its steep line reaches."""
    return Near(d_model, n_heads, NEAREST_BY_HEAD)


def narrow(d_model: int, n_heads: int) -> Windows:
    """The nearest 3 keys in sight of every head, and no price on them."""
    return Windows(d_model, n_heads, (NARROWEST,) * n_heads)


class Fixed(PositionalEncoding):
    """Head h has all its weight on the key h back, h = 0 …, whatever query and keys say.

    A query that has fewer keys in sight looks at its own, which is least hidden.
    """

    offsets_only = True

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return 0 at the key of each head, −100 at the own one and −200 elsewhere, (heads, n)."""
        back = torch.arange(self.n_heads, device=offsets.device)[:, None]
        bias = torch.full((self.n_heads, len(offsets)), -200.0, device=offsets.device)
        bias = bias.to(bias_dtype(offsets)).masked_fill(offsets == 0, -100.0)
        return bias.masked_fill(offsets.abs() == back, 0.0)
