"""Means over seeds with 95 % intervals, and differences paired seed by seed.

``texts.data.results`` loads a table that the course ships.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

try:
    import pandas as pd
    from scipy.special import stdtrit
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "course_utils.results needs pandas and SciPy: pip install pandas scipy"
    ) from error

AS_TRAINED = "as trained"  # in the column ``reading``: without any change to the model


def t_quantile(freedom: int, share: float = 0.95) -> float:
    """How far from 0 a t-distributed number stays with this probability: 12.7 for 1, 2.78 for 4.

    ``freedom`` is the degrees of freedom; the number of values less one, for their mean.
    """
    validation.integer("freedom", freedom)
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, got {share}")
    return float(stdtrit(freedom, (1 + share) / 2))


def margin(error: float, repeats: int) -> float:
    """Half of the 95 % interval of a mean with this standard error; NaN for one value."""
    return error * t_quantile(repeats - 1) if repeats > 1 else math.nan


def interval(values: pd.Series) -> tuple[float, float]:
    """Both ends of the 95 % interval of a mean, what seaborn takes as ``errorbar``.

    ``values`` has one value a seed. The ends are NaN for one value.
    """
    half = margin(values.std() / math.sqrt(len(values)), len(values))
    return values.mean() - half, values.mean() + half


def summary(rows: pd.DataFrame, *by: str, of: str = "loss") -> pd.DataFrame:
    """Mean over seeds and its 95 % interval, in the unit of the values, for each value of ``by``.

    The standard error is the standard deviation over seeds (with n − 1) over √n; the margin, half
    of the interval, is that times Student's t. Both are NaN for one seed. A value that is NaN, as
    of a run that diverged, makes its mean NaN.

    ``by`` are columns that tell the rows of a seed apart, such as ``"encoding", "length"``; else a
    mean would mix different things. They index the table. ``of`` is the column to average.
    """
    if rows.duplicated([*by, "seed"]).any():
        raise ValueError(f"by must tell the rows of a seed apart, got {', '.join(by)}")
    groups = rows.groupby([*by], sort=False)[of]
    seeds = groups.size()
    complete = groups.count() == seeds  # pandas leaves NaN out of means
    mean, error = groups.mean().where(complete), groups.sem().where(complete)
    margins = [margin(value, count) for value, count in zip(error, seeds, strict=True)]
    return pd.DataFrame({"mean": mean, "error": error, "margin": margins, "seeds": seeds})


def as_text(table: pd.DataFrame, across: str) -> str:
    """A :func:`summary` as text, one of its ``by`` columns across: mean ± its margin."""
    margins = table["margin"].map(" ± {:.3f}".format).where(table["margin"].notna(), "")
    cells = table["mean"].map("{:.3f}".format) + margins
    return cells.unstack(across, sort=False).to_string()


class Change(NamedTuple):
    """A mean difference, over seeds or whatever else was repeated."""

    mean: float  # in the unit of the values
    error: float  # its standard error, NaN for one value
    repeats: int  # how many differences there were

    @property
    def margin(self) -> float:
        """Half of the 95 % interval, the number after ±; NaN for one value."""
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
        """``+0.120 ± 0.025``, the mean and its margin, or ``+0.120 (once)``."""
        interval = " (once)" if math.isnan(self.error) else f" ± {self.margin:.3f}"
        return f"{self.mean:+.3f}{interval}"


def change(
    rows: pd.DataFrame, first: Mapping[str, Any], second: Mapping[str, Any], of: str = "loss"
) -> Change:
    """The second value less the first, for each seed that has both; NaN if one of them is.

    ``first`` and ``second`` are column → value, for one row a seed; ``of`` is what to compare.
    """
    before, after = _by_seed(rows, first, of).align(_by_seed(rows, second, of), join="inner")
    differences = after - before
    if differences.empty:
        raise ValueError(f"first and second must share a seed, got {dict(first)}, {dict(second)}")
    return average(torch.tensor(differences.to_list(), dtype=torch.float64))


def average(differences: Float[Tensor, " count"]) -> Change:
    """Mean of some differences, such as one a stretch of text, and its standard error."""
    row = validation.tensor("differences", differences, "(count,)", ndim=1).double()
    error = float(row.std() / len(row) ** 0.5) if len(row) > 1 else math.nan
    return Change(float(row.mean()), error, len(row))


def _by_seed(rows: pd.DataFrame, values: Mapping[str, Any], of: str) -> "pd.Series[float]":
    """The column ``of`` where the other columns have these values, by seed."""
    for column, value in values.items():
        rows = rows[rows[column] == value]
    if rows.empty or rows.duplicated("seed").any():
        raise ValueError(f"columns must tell one row a seed apart, {dict(values)} has {len(rows)}")
    return rows.set_index("seed")[of]
