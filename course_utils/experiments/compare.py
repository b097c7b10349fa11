"""Means with their 95 % intervals, and differences of results paired seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from scipy.special import stdtrit
from torch import Tensor

from course_utils import validation


def t_quantile(freedom: int, share: float = 0.95) -> float:
    """How far from 0 a t-distributed number stays with this probability: 12.7 for 1, 2.78 for 4.

    Args:
        freedom: degrees of freedom; the number of values less one, for their mean.
        share: the probability, between 0 and 1.

    Raises:
        TypeError, ValueError: if one of them is not usable.
    """
    validation.integer("freedom", freedom)
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    return float(stdtrit(freedom, (1 + share) / 2))


def margin(error: float, repeats: int) -> float:
    """Half of the 95 % interval of a mean: its standard error times the t quantile.

    Args:
        error: the standard error.
        repeats: how many values the mean is of; NaN is returned for one.
    """
    return error * t_quantile(repeats - 1) if repeats > 1 else math.nan


class Change(NamedTuple):
    """A mean difference, over seeds or whatever else was repeated.

    Attributes:
        mean: in the unit of the values.
        error: its standard error, NaN for one value.
        repeats: how many differences there were.
    """

    mean: float
    error: float
    repeats: int

    @property
    def margin(self) -> float:
        """Half of the 95 % interval, NaN for one value; what is written behind the ±."""
        return margin(self.error, self.repeats)

    def above(self, yardstick: float = 0.0) -> bool:
        """Whether the whole 95 % interval is above the yardstick.

        With one value, which has no interval, whether it is above it at all. A mean of NaN, as of a
        loss that diverged, is above every yardstick.
        """
        low = self.mean - (0.0 if math.isnan(self.error) else self.margin)
        return math.isnan(self.mean) or low > yardstick

    def below(self, yardstick: float = 0.0) -> bool:
        """Whether the whole 95 % interval is below the yardstick; NaN never is."""
        high = self.mean + (0.0 if math.isnan(self.error) else self.margin)
        return high < yardstick

    def __str__(self) -> str:
        """``+0.120 ± 0.025``, the mean and half of its 95 % interval, or ``+0.120 (once)``."""
        spread = " (once)" if math.isnan(self.error) else f" ± {self.margin:.3f}"
        return f"{self.mean:+.3f}{spread}"


def change(
    rows: pd.DataFrame, first: Mapping[str, Any], second: Mapping[str, Any], of: str = "loss"
) -> Change:
    """The second value less the first, for each seed that has both; NaN if one of them is.

    Args:
        rows: a table of results.
        first: column → value, telling one row a seed apart.
        second: likewise.
        of: the column to compare.

    Raises:
        ValueError: if a choice has no row, or more than one a seed, or they share no seed.
    """
    one, other = (_by_seed(rows, chosen, of) for chosen in (first, second))
    one, other = one.align(other, join="inner")
    apart = other - one
    if apart.empty:
        raise ValueError(f"first and second must share a seed, got {dict(first)}, {dict(second)}")
    return average(torch.tensor(apart.to_list(), dtype=torch.float64))


def average(differences: Float[Tensor, " count"]) -> Change:
    """Mean of some differences, such as one a stretch of text, and its standard error.

    Raises:
        TypeError, ValueError: if they are not one row of at least one number.
    """
    row = validation.tensor("differences", differences, "(count,)", ndim=1).double()
    error = float(row.std() / len(row) ** 0.5) if len(row) > 1 else math.nan
    return Change(float(row.mean()), error, len(row))


def _by_seed(rows: pd.DataFrame, chosen: Mapping[str, Any], of: str) -> pd.Series[float]:
    for column, value in chosen.items():
        rows = rows[rows[column] == value]
    if rows.empty or rows.duplicated("seed").any():
        raise ValueError(f"columns must tell one row a seed apart, {dict(chosen)} has {len(rows)}")
    return rows.set_index("seed")[of]
