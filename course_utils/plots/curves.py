"""Pictures of curves: waves, means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch import Tensor

from course_utils import validation
from course_utils.plots.identities import identities_in_one_figure
from course_utils.plots.line_ends import MANY, LineEnds

if TYPE_CHECKING:
    import pandas as pd


def lines(
    ax: Axes,
    curves: Mapping[str, Tensor],
    *,
    x: Tensor | None = None,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    legend: bool = True,
) -> None:
    """Draw named (n,) curves, told apart by colour and by dash, over ``x`` or else 0 to n − 1.

    Encodings look as in every other figure, see :func:`~course_utils.plots.identity`. With a
    ``legend`` up to five curves are named in one, more of them at their ends.
    """
    drawn: list[Line2D] = []
    for (name, curve), look in zip(curves.items(), identities_in_one_figure(curves), strict=True):
        validation.tensor(f"curve {name!r}", curve, "(n,)", ndim=1)
        if x is not None and len(x) != len(curve):
            raise ValueError(f"x must be as long as curve {name!r}, {len(curve)}, got {len(x)}")
        places = torch.arange(len(curve)) if x is None else x
        heights = curve.detach().float().cpu()
        style = {"linewidth": 1.8, "markersize": 5, **look.line(len(curve))}
        drawn += ax.plot(places.cpu(), heights, label=name, **style)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if legend:
        name_curves(ax, drawn, list(curves))


def seed_curves(
    ax: Axes,
    summary: pd.DataFrame,
    names: Sequence[str],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    doubling: bool = True,
    legend: bool = True,
) -> None:
    """Draw one curve of means a name; bars are 95 % intervals, none where there is one seed.

    ``summary`` has the columns ``mean`` and ``margin``, indexed by name and abscissa, as
    ``results.summary`` makes it. ``doubling`` takes a logarithmic abscissa with a tick
    at each value. Curves look and are named as in :func:`lines`.
    """
    known = summary.index.unique(0)
    drawn: list[Line2D] = []
    for name, look in zip(names, identities_in_one_figure(names), strict=True):
        curve = summary.loc[validation.choice("names", name, known)].sort_index()
        places = curve.index.to_numpy()
        style = {**look.line(len(places)), "marker": look.marker or "o", "markersize": 5}
        style |= {"linewidth": 1.8, "capsize": 2, "elinewidth": 1}
        margins = curve["margin"].fillna(0.0)
        bars = ax.errorbar(places, curve["mean"], margins, label=name, **style)
        drawn.append(bars.lines[0])
        if doubling:
            ax.set_xscale("log", base=2)
            ax.set_xticks(places, [f"{value:g}" for value in places])
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if legend:
        name_curves(ax, drawn, names)


def name_curves(
    ax: Axes, drawn: Sequence[Line2D], names: Sequence[str], **legend_options: Any
) -> None:
    """Name curves in a legend, or at their ends where they are many."""
    if len(drawn) >= MANY:
        LineEnds(ax, drawn, names)
    elif drawn:
        ax.legend(**legend_options)
