"""A picture of a matrix.

It is matplotlib's imshow: seaborn's heatmap, which ``course_lab.figures`` takes where cells carry
numbers, needs two to four times as long, and sliders redraw these.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from matplotlib.image import AxesImage
from torch import Tensor

from course_utils import validation
from course_utils.plots.style import DIVERGING, SEQUENTIAL


def heatmap(
    ax: Axes,
    matrix: Tensor,
    *,
    title: str = "",
    xlabel: str = "",
    ylabel: str = "",
    unit: str = "",
    signed: bool | None = None,
    limit: float | None = None,
    equal: bool = False,
) -> AxesImage:
    """Draw a matrix with row 0 on top and, if it has a ``unit``, a colour bar.

    A signed one takes the diverging map, white at 0, any other the sequential one that starts at 0
    and goes up, or down where no number is positive. None looks at the numbers: one sign makes a
    matrix unsigned, but for one with a ``limit``, which may be that of several side by side.
    ``limit`` is the value of the last colour; None takes the largest absolute value. ``equal``
    makes the cells square. Masked cells are hatched: −∞, and in an unsigned matrix the zeros of
    a causal mask.
    """
    validation.instance("ax", ax, Axes, "a matplotlib Axes")
    values, mask, colours = cells(matrix, signed, limit)
    image = ax.imshow(
        np.ma.masked_array(values, mask),
        **colours,
        aspect="equal" if equal else "auto",
        interpolation="none",  # SVG then holds the matrix itself, a pixel a cell
    )
    hatch(ax)
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if unit:
        ax.figure.colorbar(image, ax=ax, label=unit, shrink=0.8 if equal else 1.0)
    return image


def cells(
    matrix: Tensor, signed: bool | None, limit: float | None
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """The values of a heatmap's cells, which of them are masked, and the keywords of its colours.

    ``signed`` and ``limit`` are those of :func:`heatmap`.
    """
    validation.tensor("matrix", matrix, "(rows, columns)", ndim=2)
    values = matrix.detach().float().cpu()
    validation.matrix("matrix", values.masked_fill(values == -torch.inf, 0.0), "(rows, columns)")
    if limit is not None:
        validation.positive("limit", limit)
    low, high = _bounds(values, signed, limit)
    mask = values.isneginf() if low < 0 < high else hidden(values)
    colours = {"cmap": _colours(low, high), "vmin": low, "vmax": high}
    return values.numpy(), mask.numpy(), colours


def hatch(ax: Axes) -> None:
    """Hatch the ground of a heatmap, which masked cells let through."""
    ax.patch.set(facecolor="0.96", hatch="//////", edgecolor="0.75", linewidth=0)


def hidden(matrix: Tensor) -> Tensor:
    """Where an unsigned (rows, columns) matrix is masked: −∞, and the zeros of a causal mask.

    It has a causal mask if it is square, 0 above the diagonal and nowhere else.
    """
    masked = matrix == -torch.inf
    later = torch.ones_like(masked).triu(1)
    is_square = matrix.shape[0] == matrix.shape[1] > 1
    if is_square and torch.equal(matrix == 0, later):
        masked = masked | later
    return masked


def _bounds(values: Tensor, signed: bool | None, limit: float | None) -> tuple[float, float]:
    """The values of the first and the last colour."""
    finite = values[values.isfinite()]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    top = limit or max(-low, high) or 1.0
    if signed is None:
        signed = limit is not None or low < 0 < high or low == high == 0
    if signed:
        return -top, top
    return (-top, 0.0) if high <= 0 > low else (0.0, top)


def _colours(low: float, high: float) -> Colormap:
    """The map for colours between these values; masked cells let the hatched ground through."""
    name = SEQUENTIAL if high > 0 else f"{SEQUENTIAL}_r"
    if low < 0 < high:
        name = DIVERGING
    return plt.get_cmap(name).with_extremes(bad=(0, 0, 0, 0))
