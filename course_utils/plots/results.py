"""Pictures of results: curves of means with their 95 % intervals, matrices with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_utils import validation
from course_utils.plots.curves import STYLES
from course_utils.plots.matrices import heatmap


def seed_curves(
    ax: Axes,
    found: pd.DataFrame,
    names: Sequence[str],
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    doubling: bool = True,
) -> None:
    """Draw one curve of means a name; bars are 95 % intervals, none where there is one seed.

    Args:
        ax: where to draw.
        found: columns ``mean`` and ``margin``, indexed by name and abscissa, as
            ``experiments.tables.summary`` makes it.
        names: which to draw, in the order of the legend.
        title: text above.
        xlabel: name of the horizontal axis, with its unit.
        ylabel: name of the vertical axis, with its unit.
        doubling: a logarithmic abscissa with a tick at each value.

    Raises:
        ValueError: if there is no such name.
    """
    known = list(dict.fromkeys(found.index.get_level_values(0)))
    for number, name in enumerate(names):
        curve = found.loc[validation.choice("names", name, known)].sort_index()
        style, at = STYLES[number % len(STYLES)], curve.index.to_numpy()
        ax.errorbar(
            at, curve["mean"], curve["margin"].fillna(0.0), linestyle=style, label=name,
            linewidth=1.8, marker="o", markersize=3, capsize=2,
        )  # fmt: skip
        if doubling:
            ax.set_xscale("log", base=2)
            ax.set_xticks(at, [f"{value:g}" for value in at])
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)


def numbered(
    ax: Axes,
    matrix: Tensor,
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    limit: float,
    numbers: Tensor | None = None,
    form: str = "{:+.2f}",
    title: str = "",
    xlabel: str = "",
    unit: str = "",
    equal: bool = False,
) -> None:
    """Draw a signed matrix as colours, with a number in each cell and a name at each row.

    Args:
        ax: where to draw.
        matrix: (rows, columns); decides the colours.
        rows: names of the rows.
        columns: names of the columns.
        limit: the value of the last colour.
        numbers: what is written in the cells, of the same shape; None for the matrix.
        form: how a number is written.
        title: text above.
        xlabel: name of the columns.
        unit: label of the colour bar; empty for no bar.
        equal: True for square cells.

    Raises:
        TypeError, ValueError: as :func:`course_utils.plots.heatmap`, or if there is not one name
            a row and column.
    """
    if tuple(matrix.shape) != (len(rows), len(columns)):
        raise ValueError(
            f"rows and columns must name those of the matrix, {tuple(matrix.shape)}, "
            f"got {len(rows)} and {len(columns)}"
        )
    heatmap(ax, matrix, title=title, xlabel=xlabel, unit=unit, limit=limit, equal=equal)
    ax.set_xticks(range(len(columns)), [str(name) for name in columns])
    ax.set_yticks(range(len(rows)), [str(name) for name in rows])
    written = matrix if numbers is None else numbers
    for row in range(len(rows)):
        for column in range(len(columns)):
            dark = abs(float(matrix[row, column])) > 0.6 * limit
            ax.text(
                column, row, form.format(float(written[row, column])), ha="center", va="center",
                fontsize=9 if len(rows) > 4 else 13, color="white" if dark else "black",
            )  # fmt: skip


def squares(
    found: Mapping[str, Tensor],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    limit: float,
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw small matrices side by side; colours are differences from each one's first cell.

    Args:
        found: name → (rows, columns).
        rows: names of the rows.
        columns: names of the columns.
        limit: the difference at which the colours end.
        xlabel: name of the columns.
        ylabel: name of the rows.

    Raises:
        TypeError, ValueError: as :func:`numbered`.
    """
    fig, axes = plt.subplots(1, len(found), figsize=(2.3 * len(found), 3.1), squeeze=False)
    for ax, (name, square) in zip(axes[0], found.items(), strict=True):
        numbered(
            ax, square - square[0, 0], rows, columns, limit=limit, numbers=square,
            form="{:.1f}", title=name, xlabel=xlabel, equal=True,
        )  # fmt: skip
        if ax is not axes[0, 0]:
            ax.set_yticklabels([])
    axes[0, 0].set_ylabel(ylabel)
    return fig
