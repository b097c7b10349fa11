"""Trained short, read long: the course's results for two encodings side by side."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from course_utils import data
from course_utils.results import AS_TRAINED, summary

VIEWS = ["loss", "above its own loss at 64", "by position", "log-n, above as trained"]
STYLES = (("#0173b2", "-"), ("#de8f05", "--"))  # of the two encodings


def measured(first: str) -> list[str]:
    """The encodings that the table has, this one before the others."""
    names = data.results("extrapolation")["encoding"].unique().tolist()
    return sorted(names, key=lambda name: name != first)


def lengths(fig: Figure, encoding: str, beside: str, view: str, doublings: int) -> str:
    """Two encodings read up to 64 · 2^doublings bytes: mean over seeds and its 95 % interval."""
    end = 64 * 2**doublings
    curves = [_curve(encoding, view, end, "encoding"), _curve(beside, view, end, "beside")]
    if not fig.axes:
        _prepare(fig)
    ax = fig.axes[0]
    for number, (name, curve) in enumerate(zip((encoding, beside), curves, strict=True)):
        at, mean, margin = (curve[key].to_numpy() for key in ("at", "mean", "margin"))
        line, bars = ax.lines[2 * number : 2 * number + 2]
        line.set_data(at, mean)
        line.set_label(name)
        gaps = np.full_like(mean, np.nan)  # a NaN lifts the pen between two bars
        bars.set_data(np.repeat(at, 3), np.stack([mean - margin, mean + margin, gaps], 1).ravel())
    every = np.concatenate([curve["mean"].to_numpy() for curve in curves])
    room = max(0.1, 0.1 * float(every.max() - every.min()))
    places = [2**k for k in range(5, int(math.log2(end)) + 1)]
    ax.set_xticks(places, [str(place) for place in places])
    ax.set_xlim(29, end * 1.1)
    ax.set_ylim(float(every.min()) - room, float(every.max()) + 3 * room)  # the legend is on top
    ax.set_title(f"{view}: {encoding} and {beside}")
    ax.set_xlabel("position" if view == "by position" else "bytes read")
    ax.legend(handles=[ax.lines[0], ax.lines[2]], loc="upper left", ncols=2)
    return "At the right end: " + "; ".join(map(_last, (encoding, beside), curves)) + "."


def _prepare(fig: Figure) -> None:
    ax = fig.subplots()
    for colour, style in STYLES:
        ax.plot([], [], style, color=colour, linewidth=1.8, marker="o", markersize=4)
        ax.plot([], [], color=colour, linewidth=5, alpha=0.35)  # the intervals, as bars
    ax.axvline(64, color="0.6", linewidth=1)
    ax.set(xscale="log", ylabel="nats a byte")
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:.2f}")
    ax.yaxis.set_label_coords(-0.085, 0.5)  # leaves room for a minus sign


def _last(name: str, curve: pd.DataFrame) -> str:
    mean, margin, seeds = (curve[key].iloc[-1] for key in ("mean", "margin", "seeds"))
    spread = "one seed" if math.isnan(margin) else f"± {margin:.3f}, {seeds:.0f} seeds"
    return f"{name} {mean:.3f} ({spread})"


def _curve(name: str, view: str, end: int, control: str) -> pd.DataFrame:
    """Columns at, mean, margin, seeds of what is to be drawn."""
    known = _views()[view]
    if name not in known.index:
        raise ValueError(f"{control} must be one with results in this view, got {name!r}")
    curve = known.loc[[name]].reset_index()
    return curve[curve["at"] <= end]


@cache
def _views() -> dict[str, pd.DataFrame]:
    """For each view the means over seeds, indexed by encoding."""
    losses, positions = data.results("extrapolation"), data.results("extrapolation_positions")
    as_trained = losses[losses["reading"] == AS_TRAINED].assign(at=losses["read"])
    runs = ["encoding", "seed"]
    own = as_trained[as_trained["read"] == as_trained["length"]].set_index(runs)["loss"]
    log_n = losses[losses["reading"] == "log-n"].assign(at=losses["read"])
    plain = as_trained.set_index([*runs, "read"])["loss"]
    found = {
        "loss": as_trained,
        "above its own loss at 64": _less(as_trained, own, runs),
        "by position": positions.assign(at=(positions["first"] + positions["last"] + 1) / 2),
        "log-n, above as trained": _less(log_n, plain, [*runs, "read"]),
    }
    return {view: summary(rows, "encoding", "at").reset_index("at") for view, rows in found.items()}


def _less(rows: pd.DataFrame, base: pd.Series[float], on: list[str]) -> pd.DataFrame:
    """The rows with their loss less that of the base for the same ``on``."""
    same = base.loc[pd.MultiIndex.from_frame(rows[on])]
    return rows.assign(loss=rows["loss"].to_numpy() - same.to_numpy())
