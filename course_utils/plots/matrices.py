"""Pictures of matrices: tables, attention, similarities, fingerprints, results with numbers."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
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
    signed: bool = True,
    limit: float | None = None,
    equal: bool = False,
) -> AxesImage:
    """Draw a finite matrix with row 0 on top and, if it has a ``unit``, a colour bar.

    A signed one takes the diverging map, white at 0, any other the sequential one from 0.
    ``limit`` is the value of the last colour; None takes the largest absolute value. ``equal``
    makes the cells square.
    """
    validation.instance("ax", ax, Axes, "a matplotlib Axes")
    validation.tensor("matrix", matrix, "(rows, columns)", ndim=2)
    validation.matrix("matrix", matrix.float(), "(rows, columns)")
    if limit is not None:
        validation.positive("limit", limit)
    values = matrix.detach().float().cpu().numpy()
    top = limit or float(abs(values).max()) or 1.0
    image = ax.imshow(
        values,
        cmap=DIVERGING if signed else SEQUENTIAL,
        vmin=-top if signed else 0.0,
        vmax=top,
        aspect="equal" if equal else "auto",
        interpolation="nearest",
    )
    ax.set(title=title, xlabel=xlabel, ylabel=ylabel)
    if unit:
        ax.figure.colorbar(image, ax=ax, label=unit, shrink=0.8 if equal else 1.0)
    return image


def attention(
    ax: Axes,
    weights: Tensor,
    words: Sequence[str] | None = None,
    *,
    title: str = "",
    limit: float | None = 1.0,
    unit: str = "",
) -> AxesImage:
    """Draw one head's (n, n) attention weights: rows are queries, columns keys.

    The n ``words`` are written on both axes; up to eight also get each weight in its cell.
    ``limit`` and ``unit`` are those of :func:`heatmap`.
    """
    validation.tensor("weights", weights, "(n, n)", ndim=2)
    if words is not None and {len(words)} != set(weights.shape):
        raise ValueError(
            f"words must have one entry for each row and column of weights "
            f"{tuple(weights.shape)}, got {len(words)}: {words!r}"
        )
    image = heatmap(
        ax, weights, title=title, xlabel="key", ylabel="query",
        unit=unit, signed=False, limit=limit, equal=True,
    )  # fmt: skip
    if words is None:
        return image
    places = range(len(words))
    ax.set_xticks(places, words, rotation=90 if max(map(len, words)) > 3 else 0)
    ax.set_yticks(places, words)
    if len(words) <= 8:
        top = limit or float(weights.max())
        _write(ax, weights, "{:.2f}", size=9, white=weights > 0.55 * top)
    return image


def similarity(ax: Axes, matrix: Tensor, *, title: str = "cosine similarity") -> AxesImage:
    """Draw a matrix of cosine similarities between positions, coloured from −1 to 1."""
    return heatmap(
        ax, matrix, title=title, xlabel="position", ylabel="position",
        unit="cosine", limit=1.0, equal=True,
    )  # fmt: skip


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
    equal: bool = False,
) -> None:
    """Draw a signed matrix as colours, with a number in each cell and a name at each row.

    The numbers are those of ``numbers`` if it is given, else of the matrix, written in ``form``.
    """
    if tuple(matrix.shape) != (len(rows), len(columns)):
        raise ValueError(
            f"rows and columns must name those of the matrix, {tuple(matrix.shape)}, "
            f"got {len(rows)} and {len(columns)}"
        )
    heatmap(ax, matrix, title=title, xlabel=xlabel, limit=limit, equal=equal)
    ax.set_xticks(range(len(columns)), [str(name) for name in columns])
    ax.set_yticks(range(len(rows)), [str(name) for name in rows])
    written = matrix if numbers is None else numbers
    size = 9 if len(rows) > 4 else 13
    _write(ax, written, form, size=size, white=matrix.abs() > 0.6 * limit)


def squares(
    found: Mapping[str, Tensor],
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    limit: float,
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Draw small matrices side by side; colours are differences from each one's first cell."""
    size = (2.3 * len(found), 3.1)
    fig, axes = plt.subplots(1, len(found), figsize=size, sharey=True, squeeze=False)
    for ax, (name, square) in zip(axes[0], found.items(), strict=True):
        numbered(
            ax, square - square[0, 0], rows, columns, limit=limit, numbers=square,
            form="{:.1f}", title=name, xlabel=xlabel, equal=True,
        )  # fmt: skip
    axes[0, 0].set_ylabel(ylabel)
    return fig


def _write(ax: Axes, numbers: Tensor, form: str, *, size: int, white: Tensor) -> None:
    for row, entries in enumerate(numbers.tolist()):
        for column, value in enumerate(entries):
            ax.text(
                column, row, form.format(value), ha="center", va="center", fontsize=size,
                color="white" if white[row, column] else "black",
            )  # fmt: skip
