"""Figures that lessons need beside those of ``plots``: attention, sinusoids, numbers, dots."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from torch import Tensor

from course_utils import validation
from course_utils.plots import heatmap, identity, lines
from course_utils.plots.curves import name_curves
from course_utils.plots.identities import encoding_named
from course_utils.plots.matrices import cells, hatch


def attention(
    ax: Axes,
    weights: Tensor,
    words: Sequence[str] | None = None,
    *,
    title: str = "",
    limit: float | None = 1.0,
    unit: str = "",
) -> ScalarMappable:
    """Draw one head's (n, n) attention weights: rows are queries, columns keys.

    The n ``words`` are written on both axes; up to eight also get each weight in its cell. Masked
    cells are hatched and empty. ``limit`` and ``unit`` are those of ``plots.heatmap``.
    """
    validation.tensor("weights", weights, "(n, n)", ndim=2)
    if words is not None and {len(words)} != set(weights.shape):
        raise ValueError(
            f"words must have one entry for each row and column of weights "
            f"{tuple(weights.shape)}, got {len(words)}: {words!r}"
        )
    look: dict[str, Any] = {"title": title, "limit": limit, "signed": False, "equal": True}
    if words is not None and len(words) <= 8:
        image = numbered(ax, weights, words, words, form=".2f", unit=unit, **look)
    else:
        image = heatmap(ax, weights, unit=unit, **look)
        if words is not None:
            ax.set_xticks(range(len(words)), words, rotation=90)
            ax.set_yticks(range(len(words)), words)
    ax.set(xlabel="key", ylabel="query")
    return image


def similarity(
    ax: Axes, matrix: Tensor, *, title: str = "cosine similarity", signed: bool | None = None
) -> AxesImage:
    """Draw a matrix of cosine similarities between positions, coloured from −1 or from 0 to 1.

    ``signed`` is that of ``plots.heatmap``: give it where several matrices stand side by side.
    """
    if signed is None:
        signed = bool((matrix < 0).any())
    image = heatmap(ax, matrix, title=title, unit="cosine", signed=signed, limit=1.0, equal=True)
    ax.set(xlabel="position", ylabel="position")
    return image


def fingerprint(scores: Tensor, title: str) -> Figure:
    """Draw an encoding's fingerprint, one square a head on one colour scale.

    ``scores`` are (heads, length, length) from ``measures.fingerprint``. What every entry of a
    head shares is taken off first, since the softmax ignores it.
    """
    validation.tensor("scores", scores, "(heads, length, length)", ndim=3)
    scores = scores.detach()
    centred = scores - scores.mean(dim=(-1, -2), keepdim=True)
    limit = max(float(centred.abs().max()), 1e-3)  # rounding noise stays white
    fig, axes = plt.subplots(
        1, len(scores), figsize=(2.3 * len(scores) + 0.8, 3.3), sharey=True, squeeze=False
    )
    for head, ax in enumerate(axes[0]):
        image = heatmap(
            ax, centred[head], title=f"head {head}", xlabel="key position", limit=limit, equal=True
        )
    axes[0, 0].set_ylabel("query position")
    fig.colorbar(image, ax=axes, label="score − mean", shrink=0.8)
    fig.suptitle(title)
    return fig


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
    n_before = len(ax.lines)
    lines(ax, curves, title=title, xlabel="query position", ylabel="entropy (nats)", legend=False)
    drawn = ax.lines[n_before:]
    ax.axhline(ceiling, color="0.5", linewidth=1)
    ax.annotate(
        f"uniform: {ceiling:.2f}",
        (0, ceiling),
        xytext=(4, 3),
        textcoords="offset points",
        color="0.35",
        fontsize=10,
    )
    ax.set_ylim(floor, ceiling + 0.15 * (ceiling - floor))
    name_curves(ax, drawn, list(curves), loc="lower right")


def four_panel(
    table: Tensor,
    wavelengths: Tensor,
    *,
    dimensions: Sequence[int],
    positions: Sequence[int],
    title: str,
    fine: Tensor | None = None,
) -> Figure:
    """Portrait of a (seq, d_model) table of position vectors, pairs of sine and cosine, in four.

    Heatmap of the table, all sines before all cosines; waves of chosen dimensions; vectors of
    chosen positions, their sines only; and the wavelength, in positions, of each of the
    d_model / 2 pairs on a logarithmic axis. ``fine`` has rows between those of the table too, as
    many in each step: the waves are then drawn through them, and the table's rows as dots.
    """
    validation.tensor("table", table, "(seq, d_model)", ndim=2)
    validation.tensor("wavelengths", wavelengths, "(d_model / 2,)", ndim=1)
    length, width = table.shape
    for dimension in dimensions:
        validation.below("dimensions", dimension, width, "as the table ends there")
    for position in positions:
        validation.below("positions", position, length, "as the table ends there")
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 6.6))
    _draw_table(axes[0, 0], table)
    _draw_waves(axes[0, 1], table, dimensions, fine)
    vectors = {f"position {p}": table[p, ::2] for p in positions}
    lines(
        axes[1, 0],
        vectors,
        title="chosen positions: their sines",
        xlabel="hand",
        ylabel="value",
        legend=False,
    )
    for ax, count in ((axes[0, 1], len(dimensions)), (axes[1, 0], len(positions))):
        ax.legend(ncols=count, loc="upper center", fontsize=9, handlelength=1.6)
        ax.set_ylim(-1.15, 1.5)
    _draw_wavelengths(axes[1, 1], wavelengths, length)
    fig.suptitle(title)
    return fig


def _draw_table(ax: Axes, table: Tensor) -> None:
    width = table.shape[1]
    sines_first = torch.cat([table[:, 0::2], table[:, 1::2]], dim=1)
    heatmap(ax, sines_first, title="the table", ylabel="position", unit="value", limit=1)
    ax.axvline(width / 2 - 0.5, color="black", linewidth=1)
    ax.set_xticks([width / 4, 3 * width / 4], [f"{width // 2} sines", f"{width // 2} cosines"])
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("hand 0 at the left of each half")


def _draw_waves(ax: Axes, table: Tensor, dimensions: Sequence[int], fine: Tensor | None) -> None:
    drawn = table if fine is None else fine
    places = torch.arange(len(drawn)) * (len(table) / len(drawn))
    lines(
        ax,
        {f"column {d}": drawn[:, d] for d in dimensions},
        x=places,
        title="chosen columns: waves",
        xlabel="position",
        ylabel="value",
        legend=False,
    )
    if fine is None:
        return
    for wave, dimension in zip(ax.lines[:], dimensions, strict=True):
        ax.plot(table[:, dimension].cpu(), "o", color=wave.get_color(), markersize=2.5)


def _draw_wavelengths(ax: Axes, wavelengths: Tensor, length: int) -> None:
    ax.semilogy(wavelengths.cpu(), "o", markersize=3)
    ax.axhline(length, color="0.5", linewidth=1)
    ax.annotate(
        f"length of the table: {length}",
        (len(wavelengths) - 1, length),
        xytext=(0, -4),
        textcoords="offset points",
        color="0.35",
        fontsize=10,
        ha="right",
        va="top",
    )
    ax.set(xlabel="hand", ylabel="positions a turn")
    ax.set_title("wavelength of each hand")


def numbered(
    ax: Axes,
    matrix: Tensor,
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    limit: float | None,
    signed: bool = True,
    numbers: Tensor | None = None,
    form: str = "+.2f",
    title: str = "",
    xlabel: str = "",
    unit: str = "",
    equal: bool = False,
) -> ScalarMappable:
    """Draw a matrix as colours, with a number in each cell, and name its rows and columns.

    The numbers are those of ``numbers`` if it is given, else of the matrix, written in ``form``.
    All else is as in ``plots.heatmap``, but that the first cell reaches from 0 to 1.
    """
    if tuple(matrix.shape) != (len(rows), len(columns)):
        raise ValueError(
            f"rows and columns must name those of the matrix, {tuple(matrix.shape)}, "
            f"got {len(rows)} and {len(columns)}"
        )
    values, mask, colours = cells(matrix, signed, limit)
    sns.heatmap(
        values,
        mask=mask,
        annot=values if numbers is None else numbers.detach().cpu().numpy(),
        fmt=form,
        annot_kws={"size": max(9, 15 - len(columns))},
        square=equal,
        cbar=bool(unit),
        cbar_kws={"label": unit},
        xticklabels=list(columns),
        yticklabels=list(rows),
        ax=ax,
        **colours,
    )
    hatch(ax)
    ax.tick_params("y", rotation=0)
    ax.set(title=title, xlabel=xlabel)
    return ax.collections[0]


def squares(
    matrices: Mapping[str, Tensor],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    limit: float,
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw small matrices side by side; colours are differences from each one's first cell."""
    size = (2.3 * len(matrices), 3.1)
    fig, axes = plt.subplots(1, len(matrices), figsize=size, sharey=True, squeeze=False)
    for ax, (name, matrix) in zip(axes[0], matrices.items(), strict=True):
        numbered(
            ax,
            matrix - matrix[0, 0],
            rows,
            columns,
            limit=limit,
            numbers=matrix,
            form=".1f",
            title=name,
            xlabel=xlabel,
            equal=True,
        )
    axes[0, 0].set_ylabel(ylabel)
    return fig


def facets(table: pd.DataFrame, column: str, *, height: float, aspect: float) -> sns.FacetGrid:
    """Panels of one height beside each other, one for each value of a column of the table.

    ``height`` is in inches, ``aspect`` a panel's width over it. Its ``axes_dict`` has the axes by
    value, to draw on.
    """
    with plt.rc_context({"figure.constrained_layout.use": False}):  # as it sets a layout itself
        grid = sns.FacetGrid(table, col=column, height=height, aspect=aspect)
    grid.figure.set_layout_engine("constrained")
    return grid.set_titles("{col_name}")


def shares(
    ax: Axes, runs: Mapping[str, Tensor], lengths: tuple[str, str], *, guessing: float
) -> None:
    """A row of dots for each kind of run: how much each seed gets right at two lengths.

    Dots are of the first length, hollow squares of the second; a line marks ``guessing``.

    Args:
        runs: name of a row → (seeds, 2), shares from 0 to 1. The first row stands at the top.
        lengths: what the legend calls the two.
    """
    ax.axvline(guessing, color="0.6", linewidth=1)
    ax.text(guessing, -0.6, "guessing", color="0.35", fontsize=9, ha="center", va="bottom")
    for row, right in enumerate(runs.values()):
        heights = row + torch.linspace(-0.2, 0.2, len(right))
        first, second = lengths if row == 0 else ("", "")  # one entry each in the legend
        ax.plot(right[:, 0], heights, "C0o", label=first)
        ax.plot(right[:, 1], heights, "C1s", markerfacecolor="none", label=second)
    ax.set(xlim=(0, 1.05), ylim=(len(runs) - 0.5, -0.5))
    ax.set_yticks(range(len(runs)), list(runs))


def seeds_by_row(
    ax: Axes,
    values: Mapping[tuple[str, str], Sequence[float]],
    colours: Mapping[str, str],
    marks: Mapping[str, Mapping[str, Any]],
    guides: Mapping[str, float],
) -> None:
    """Draw a mark a seed, by row and by kind of run; a legend above names the kinds.

    Args:
        values: of each row and kind, one number a seed.
        colours: of the rows, from the top.
        marks: how those of each kind look; kinds stand below each other in a row.
        guides: names and places of dotted uprights.
    """
    rows, kinds = list(colours), list(marks)
    room = 0.8 / len(kinds)
    for (row, kind), seeds in values.items():
        middle = rows.index(row) + room * (kinds.index(kind) - (len(kinds) - 1) / 2)
        shifts = (torch.arange(len(seeds)) + 0.5) / len(seeds) - 0.5
        heights = middle + 0.9 * room * shifts
        ax.plot(list(seeds), heights, linestyle="none", color=colours[row], **marks[kind])
    for kind, mark in marks.items():
        ax.plot([], [], linestyle="none", color="0.3", label=kind, **mark)
    above = (0.4, 1.1)
    ax.legend(loc="lower center", bbox_to_anchor=above, ncols=len(kinds), frameon=False, fontsize=9)
    for name, x in guides.items():
        ax.axvline(x, color="0.5", linestyle=":")
        ax.text(
            x - 0.008, 0.45, name, rotation=90, ha="right", va="center", color="0.35", fontsize=9
        )
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)


def strips(
    ax: Axes,
    rows: Mapping[str, Tensor],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> None:
    """Draw (n,) values of each name as a row of dots, from the top, with their mean as a stroke.

    Dots are moved up and down so that they do not hide one another, as far as there is room; only
    the place along the axis says something. An encoding's have its colour.
    """
    if not rows:
        raise ValueError("rows must hold at least one row of values, got none")
    values = {
        name: validation.tensor(f"rows[{name!r}]", row, "(n,)", ndim=1).detach().cpu().numpy()
        for name, row in rows.items()
    }
    colours = [identity(name).colour if encoding_named(name) else "C0" for name in rows]
    options: dict[str, Any] = {"orient": "h", "legend": False, "ax": ax}
    size = 4 if all(len(row) <= 30 for row in values.values()) else 3
    sns.swarmplot(values, palette=colours, size=size, alpha=0.6, warn_thresh=1, **options)
    stroke = {"marker": "|", "markersize": 18, "color": "black", "linestyle": "none"}
    sns.pointplot(values, errorbar=None, **stroke, **options)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
