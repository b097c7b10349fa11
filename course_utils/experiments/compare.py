"""Means with their standard errors, and differences of results paired seed by seed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation


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

    def above(self, yardstick: float = 0.0) -> bool:
        """Whether it is above the yardstick by more than two standard errors.

        With one value, which has no error, whether it is above it at all. A mean of NaN, as of a
        loss that diverged, is above every yardstick.
        """
        low = self.mean - 2 * (0.0 if math.isnan(self.error) else self.error)
        return math.isnan(self.mean) or low > yardstick

    def below(self, yardstick: float = 0.0) -> bool:
        """Whether it is below the yardstick by more than two standard errors; NaN never is."""
        high = self.mean + 2 * (0.0 if math.isnan(self.error) else self.error)
        return high < yardstick

    def __str__(self) -> str:
        """``+0.12 ± 0.01``, or ``+0.12 (once)``."""
        spread = " (once)" if math.isnan(self.error) else f" ± {self.error:.2f}"
        return f"{self.mean:+.2f}{spread}"


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
