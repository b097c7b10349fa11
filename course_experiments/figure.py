"""The figure of a sweep's table: means over seeds with 95 % t intervals, a line an encoding."""

import math

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from course_utils import plots
from course_utils.results import summary

LINE_COLUMNS = ("encoding", "way", "lr")  # their values name the lines
# Columns with a panel for each value, and how its title is made of the value.
PANEL_TITLES = {"task": "{}", "tuned": "after {} steps of fine-tuning"}


def draw(rows: pd.DataFrame, column: str, unit: str, across: str) -> bytes:
    """Draw a table's rows as PNG: the means of a column against the column ``across``.

    Ways to stretch are drawn with the factor that most rows have, or none if they take none.
    """
    length = rows["length"].iloc[0]  # in training
    rows = _named_lines(_with_one_factor(rows), across)
    split = next((name for name in PANEL_TITLES if name in rows), "length")
    panels = {
        PANEL_TITLES.get(split, "").format(value): summary(part, "line", across, of=column)
        for value, part in rows.groupby(split, sort=False)
    }
    if across == "read":
        unit_read = "tokens a row" if split == "task" else "bytes read"
        label = f"{unit_read}; grey: {length} in training"
    else:
        label = "learning rate"
    names = _line_names(list(panels.values()))
    with mpl.rc_context():
        plots.use_style()
        fig = Figure(figsize=(max(8, 5 * len(panels)) + 2.5, 6), dpi=110)
        axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (title, means) in zip(axes, panels.items(), strict=True):
            present = [name for name in names if name in means.index.unique(0)]
            plots.seed_curves(ax, means, present, title=title, xlabel=label)
            if across == "read":
                ax.axvline(length, color="0.6", linewidth=1, zorder=0)
            _fade_intervals(ax)
        _limit(axes[0], pd.concat(list(panels.values())))
        axes[0].set_ylabel(f"{column} ({unit})")
        return plots.png(fig)


def _with_one_factor(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the usual factor, where there are several, with the control as a way of its own.

    The control is the model that was fine-tuned at the length of its training.
    """
    if "way" not in rows:
        return rows
    rows = rows[rows["factor"].isin((1, rows["factor"].mode()[0]))]
    length = rows["length"].iloc[0]
    control = rows["tuned_at"] == length
    return rows.assign(way=rows["way"].mask(control, rows["way"] + f", tuned at {length}"))


def _named_lines(rows: pd.DataFrame, across: str) -> pd.DataFrame:
    """The rows with a column ``line``, the name of the line that each belongs to."""
    candidates = [name for name in LINE_COLUMNS if name in rows and name != across]
    varying = [name for name in candidates if rows[name].nunique() > 1]
    return rows.assign(line=rows[varying or ["encoding"]].astype(str).agg(", ".join, axis=1))


def _line_names(panels: list[pd.DataFrame]) -> list[str]:
    """All names of lines, those of most panels first, so that they look alike in each."""
    names = [name for means in panels for name in means.index.unique(0)]
    return sorted(dict.fromkeys(names), key=names.count, reverse=True)


def _fade_intervals(ax: Axes) -> None:
    """Make the intervals pale, as many lie on each other."""
    for curve in ax.containers:
        if not isinstance(curve, ErrorbarContainer):
            continue
        _, caps, bars = curve.lines
        for line in (*caps, *bars):
            line.set_alpha(0.4)


def _limit(ax: Axes, means: pd.DataFrame) -> None:
    """Limit the y axis to the means and most intervals: some may be as long as ten curves."""
    finite = means["mean"].replace([math.inf], math.nan).dropna()
    if finite.empty:
        return
    low, high = float(finite.min()), float(finite.max())
    typical_interval = float(means["margin"].fillna(0.0).median())
    room = max(0.04 * (high - low), typical_interval) or 0.1
    ax.set_ylim(low - room, high + room)
