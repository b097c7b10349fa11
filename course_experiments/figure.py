"""The picture of a sweep's table: means over seeds with 95 % t intervals, a line an encoding."""

import math

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from course_utils import plots
from course_utils.results import summary

APART = ("encoding", "way", "lr")  # columns that tell lines apart where they differ
PANELS = {"task": "{}", "tuned": "after {} steps of fine-tuning"}  # columns with a panel a value


def draw(rows: pd.DataFrame, of: tuple[str, str], across: str) -> bytes:
    """Draw a table's rows as PNG: means of the column ``of``, with its unit, against ``across``.

    Ways to stretch are drawn with the factor that most rows have, or none if they take none.
    """
    length = rows["length"].iloc[0]
    if "way" in rows:
        rows = rows[rows["factor"].isin((1, rows["factor"].mode()[0]))]
        control = rows["tuned_at"] == length
        rows = rows.assign(way=rows["way"].mask(control, rows["way"] + f", tuned at {length}"))
    apart = [one for one in APART if one != across and one in rows and rows[one].nunique() > 1]
    lines = rows[apart or ["encoding"]].astype(str).agg(", ".join, axis=1)
    split = next((name for name in PANELS if name in rows), "length")
    panels = {
        PANELS.get(split, "").format(value): summary(part, "line", across, of=of[0])
        for value, part in rows.assign(line=lines).groupby(split, sort=False)
    }
    names = [name for means in panels.values() for name in means.index.unique(0)]
    names = sorted(dict.fromkeys(names), key=names.count, reverse=True)  # alike in all panels
    drawn = pd.concat(list(panels.values()))
    every = drawn["mean"].replace([math.inf], math.nan).dropna()
    margin = float(drawn["margin"].fillna(0.0).median())
    label = "tokens a row" if split == "task" else "bytes read"
    label = f"{label}; grey: {length} in training" if across == "read" else "learning rate"
    with mpl.rc_context():
        plots.use_style()
        fig = Figure(figsize=(max(8, 5 * len(panels)) + 2.5, 6), dpi=110)
        axes = fig.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (title, means) in zip(axes, panels.items(), strict=True):
            there = [name for name in names if name in means.index.unique(0)]
            plots.seed_curves(ax, means, there, title=title, xlabel=label)
            if across == "read":
                ax.axvline(length, color="0.6", linewidth=1, zorder=0)
            for curve in ax.containers:  # many intervals lie on each other
                for bar in [part for parts in curve.lines[1:] for part in parts]:
                    bar.set_alpha(0.4)
        if len(every):  # room for most intervals: some of two seeds are as long as ten curves
            room = max(0.04 * float(every.max() - every.min()), margin) or 0.1
            axes[0].set_ylim(float(every.min()) - room, float(every.max()) + room)
        axes[0].set_ylabel(f"{of[0]} ({of[1]})")
        return plots.png(fig)
