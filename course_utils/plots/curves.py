"""Pictures of curves: entropy, waves, and the four-panel portrait of a table of positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_utils import validation
from course_utils.plots.matrices import heatmap

STYLES = ("-", "--", "-.", ":")


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
    """Draw named curves, told apart by colour and by dash.

    Args:
        ax: where to draw.
        curves: name → (n,).
        x: (n,) common abscissa; None for 0, 1, 2, …
        title: text above.
        xlabel: name of the horizontal axis, with its unit.
        ylabel: name of the vertical axis, with its unit.
        legend: False leaves the names out.

    Raises:
        TypeError, ValueError: if a curve is not one row of numbers, or not as long as ``x``.
    """
    for number, (name, curve) in enumerate(curves.items()):
        validation.tensor(f"curve {name!r}", curve, "(n,)", ndim=1)
        if x is not None and len(x) != len(curve):
            raise ValueError(f"x must be as long as curve {name!r}, {len(curve)}, got {len(x)}")
        at = torch.arange(len(curve)) if x is None else x
        style = STYLES[number % len(STYLES)]
        ax.plot(at.cpu(), curve.detach().float().cpu(), style, label=name, linewidth=1.8)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if legend and curves:
        ax.legend()


def entropy(
    ax: Axes,
    curves: Mapping[str, Tensor],
    ceiling: float,
    *,
    title: str = "",
    floor: float = 0.0,
) -> None:
    """Draw the attention entropy of each query for several cases, under the largest possible.

    Args:
        ax: where to draw.
        curves: name → (n,) entropies in nats, one a query position.
        ceiling: the entropy of uniform attention, log n.
        title: text above.
        floor: where the axis starts; above 0 only to magnify small differences.

    Raises:
        TypeError, ValueError: as :func:`lines`, or if ``ceiling`` is not above 0 and ``floor``.
    """
    validation.positive("ceiling", ceiling)
    if not validation.number("floor", floor) < ceiling:
        raise ValueError(f"floor must be below ceiling, {ceiling}, got {floor}")
    lines(ax, curves, title=title, xlabel="query position", ylabel="entropy (nats)", legend=False)
    ax.axhline(ceiling, color="0.5", linewidth=1)
    ax.annotate(
        f"uniform: {ceiling:.2f}", (0, ceiling), xytext=(4, 3), textcoords="offset points",
        color="0.35", fontsize=10,
    )  # fmt: skip
    ax.set_ylim(floor, ceiling + 0.15 * (ceiling - floor))
    ax.legend(loc="lower right")


def four_panel(
    table: Tensor,
    wavelengths: Tensor,
    *,
    dimensions: Sequence[int],
    positions: Sequence[int],
    title: str,
) -> Figure:
    """Portrait of a table of position vectors in four panels.

    Heatmap of the table; waves of chosen dimensions; vectors of chosen positions (every
    second dimension, so that sin and cos do not alternate in one line); and the wavelength of
    each pair of dimensions on a logarithmic axis.

    Args:
        table: (seq, d_model).
        wavelengths: (d_model / 2,) in positions.
        dimensions: columns to draw as waves.
        positions: rows to draw as vectors.
        title: text above all.

    Raises:
        TypeError, ValueError: if ``table`` is not a matrix, ``wavelengths`` not a row of numbers,
            or a chosen dimension or position is not in the table.
    """
    validation.tensor("table", table, "(seq, d_model)", ndim=2)
    validation.tensor("wavelengths", wavelengths, "(d_model / 2,)", ndim=1)
    for name, chosen, size in zip(
        ("dimensions", "positions"), (dimensions, positions), reversed(table.shape), strict=True
    ):
        for number in chosen:
            if validation.integer(name, number, minimum=0) >= size:
                raise ValueError(
                    f"{name} must be below {size}, as the table ends there, got {number}"
                )
    fig, axes = plt.subplots(2, 2, figsize=(9.5, 6.6))
    heatmap(
        axes[0, 0], table, title="the table", xlabel="dimension", ylabel="position", unit="value"
    )
    lines(
        axes[0, 1], {f"dim {d}": table[:, d] for d in dimensions},
        title="chosen dimensions: waves", xlabel="position", ylabel="value", legend=False,
    )  # fmt: skip
    axes[0, 1].legend(ncols=len(dimensions), loc="upper center", fontsize=9, handlelength=1.6)
    axes[0, 1].set_ylim(-1.15, 1.5)
    lines(
        axes[1, 0], {f"position {p}": table[p, ::2] for p in positions},
        x=torch.arange(0, table.shape[1], 2), title="chosen positions: their even dimensions",
        xlabel="dimension", ylabel="value", legend=False,
    )  # fmt: skip
    axes[1, 0].legend(ncols=len(positions), loc="upper center", fontsize=9, handlelength=1.6)
    axes[1, 0].set_ylim(-1.15, 1.5)
    pairs = torch.arange(len(wavelengths))
    axes[1, 1].semilogy(pairs, wavelengths.cpu(), "o", markersize=3)
    axes[1, 1].axhline(len(table), color="0.5", linewidth=1)
    axes[1, 1].annotate(
        f"length of the table: {len(table)}", (len(wavelengths) - 1, len(table)), xytext=(0, -4),
        textcoords="offset points", color="0.35", fontsize=10, ha="right", va="top",
    )  # fmt: skip
    axes[1, 1].set(
        title="wavelength of each pair", xlabel="pair of dimensions", ylabel="positions a turn"
    )
    fig.suptitle(title)
    return fig
