"""Pictures of curves and dots: entropy, waves, means over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from torch import Tensor

from course_utils import validation
from course_utils.plots.identities import identity, known, looks
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
    drawn = []
    for (name, curve), look in zip(curves.items(), looks(curves), strict=True):
        validation.tensor(f"curve {name!r}", curve, "(n,)", ndim=1)
        if x is not None and len(x) != len(curve):
            raise ValueError(f"x must be as long as curve {name!r}, {len(curve)}, got {len(x)}")
        at = torch.arange(len(curve)) if x is None else x
        height = curve.detach().float().cpu()
        style = {"linewidth": 1.8, "markersize": 5, **look.line(len(curve))}
        drawn += ax.plot(at.cpu(), height, label=name, **style)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if legend:
        _name(ax, drawn, list(curves))


def _name(ax: Axes, drawn: Sequence[Line2D], names: Sequence[str], **where: Any) -> None:
    """Name curves in a legend, or at their ends where they are many."""
    if len(drawn) >= MANY:
        LineEnds(ax, drawn, names)
    elif drawn:
        ax.legend(**where)


def strips(
    ax: Axes,
    found: Mapping[str, Tensor],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> None:
    """Draw (n,) values of each name as a row of dots, from the top, with their mean as a stroke.

    Dots are moved up and down a little so that they do not hide one another; only the place along
    the axis says something. An encoding's have its colour.
    """
    if not found:
        raise ValueError("found must hold at least one row of values, got none")
    for row, (name, values) in enumerate(found.items()):
        shown = validation.tensor(f"found[{name!r}]", values, "(n,)", ndim=1).detach().cpu()
        aside = (torch.arange(len(shown)) * 0.618).frac() - 0.5  # evenly spread, no two alike
        colour = identity(name).colour if known(name) else "C0"
        ax.plot(shown, row + 0.5 * aside, "o", markersize=3, alpha=0.6, color=colour)
        ax.vlines(shown.mean(), row - 0.4, row + 0.4, color="black", linewidth=1.8)
    ax.set_yticks(range(len(found)), list(found))
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel, ylim=(len(found) - 0.4, -0.6))


def entropy(
    ax: Axes, curves: Mapping[str, Tensor], ceiling: float, *, title: str = "", floor: float = 0.0
) -> None:
    """Draw each query's attention entropy in nats, for several cases, under the largest possible.

    ``ceiling`` is the entropy of uniform attention, log n. ``floor`` is where the axis starts:
    above 0 only to magnify small differences.
    """
    validation.positive("ceiling", ceiling)
    if not validation.number("floor", floor) < ceiling:
        raise ValueError(f"floor must be below ceiling, {ceiling}, got {floor}")
    before = len(ax.lines)
    lines(ax, curves, title=title, xlabel="query position", ylabel="entropy (nats)", legend=False)
    drawn = ax.lines[before:]
    ax.axhline(ceiling, color="0.5", linewidth=1)
    ax.annotate(
        f"uniform: {ceiling:.2f}", (0, ceiling), xytext=(4, 3), textcoords="offset points",
        color="0.35", fontsize=10,
    )  # fmt: skip
    ax.set_ylim(floor, ceiling + 0.15 * (ceiling - floor))
    _name(ax, drawn, list(curves), loc="lower right")


def seed_curves(
    ax: Axes,
    found: pd.DataFrame,
    names: Sequence[str],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    doubling: bool = True,
    legend: bool = True,
) -> None:
    """Draw one curve of means a name; bars are 95 % intervals, none where there is one seed.

    ``found`` has the columns ``mean`` and ``margin``, indexed by name and abscissa, as
    ``results.summary`` makes it. ``doubling`` takes a logarithmic abscissa with a tick
    at each value. Curves look and are named as in :func:`lines`.
    """
    known, drawn = found.index.unique(0), []
    for name, look in zip(names, looks(names), strict=True):
        curve = found.loc[validation.choice("names", name, known)].sort_index()
        at = curve.index.to_numpy()
        style = {**look.line(len(at)), "marker": look.marker or "o", "markersize": 5}
        bars = ax.errorbar(
            at, curve["mean"], curve["margin"].fillna(0.0), label=name, linewidth=1.8, capsize=2,
            elinewidth=1, **style,
        )  # fmt: skip
        drawn.append(bars.lines[0])
        if doubling:
            ax.set_xscale("log", base=2)
            ax.set_xticks(at, [f"{value:g}" for value in at])
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if legend:
        _name(ax, drawn, names)
