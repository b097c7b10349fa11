"""Pictures of matrices: heatmaps of tables, attention, similarities and fingerprints."""

from __future__ import annotations

from collections.abc import Sequence

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
    """Draw a matrix with row 0 on top; signed values are centred at white.

    Args:
        ax: where to draw.
        matrix: (rows, columns).
        title: text above.
        xlabel: name of the columns.
        ylabel: name of the rows.
        unit: label of the colour bar; empty for no bar.
        signed: True uses the diverging map centred at 0, False the sequential one from 0.
        limit: the value of the last colour; None takes the largest absolute value.
        equal: True for square cells.

    Raises:
        TypeError, ValueError: if ``ax`` is no axes, ``matrix`` not a finite matrix or ``limit``
            not above 0.
    """
    if not isinstance(ax, Axes):
        raise TypeError(f"ax must be a matplotlib Axes, got {type(ax).__name__} {ax!r}")
    validation.tensor("matrix", matrix, "(rows, columns)", ndim=2)
    validation.matrix("matrix", matrix.float(), "(rows, columns)")
    if limit is not None:
        validation.positive("limit", limit)
    values = matrix.detach().float().cpu().numpy()
    top = float(abs(values).max()) if limit is None else limit
    top = top or 1.0
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
    """Draw one head's attention weights: rows are queries, columns keys.

    Args:
        ax: where to draw.
        weights: (n, n).
        words: the tokens, written on both axes; up to eight also get each weight in its cell.
        title: text above.
        limit: weight of the last colour; None takes the largest weight.
        unit: label of the colour bar; empty for no bar.

    Raises:
        TypeError, ValueError: as :func:`heatmap`, or if there is not one word a token.
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
        for row in places:
            for column in places:
                weight = float(weights[row, column])
                colour = "white" if weight > 0.55 * top else "black"
                ax.text(
                    column, row, f"{weight:.2f}", ha="center", va="center", color=colour, fontsize=9
                )
    return image


def similarity(ax: Axes, matrix: Tensor, *, title: str = "cosine similarity") -> AxesImage:
    """Draw a matrix of cosine similarities between positions, coloured from −1 to 1."""
    return heatmap(
        ax, matrix, title=title, xlabel="position", ylabel="position",
        unit="cosine", limit=1.0, equal=True,
    )  # fmt: skip


def fingerprint(scores: Tensor, title: str) -> Figure:
    """Draw an encoding's fingerprint, one square a head on one colour scale.

    What every entry of a head shares is taken off first, since the softmax ignores it.

    Args:
        scores: (heads, length, length) from ``measures.fingerprint``.
        title: text above all.
    """
    validation.tensor("scores", scores, "(heads, length, length)", ndim=3)
    scores = scores.detach()
    centred = scores - scores.mean(dim=(-1, -2), keepdim=True)
    limit = max(float(centred.abs().max()), 1e-3)  # rounding noise stays white
    fig, axes = plt.subplots(
        1, len(scores), figsize=(2.3 * len(scores) + 0.8, 3.3), sharey=True, squeeze=False
    )
    image = None
    for head, ax in enumerate(axes[0]):
        image = heatmap(
            ax, centred[head], title=f"head {head}", xlabel="key position",
            ylabel="query position" if head == 0 else "", limit=limit, equal=True,
        )  # fmt: skip
    assert image is not None
    fig.colorbar(image, ax=axes, label="score − mean", shrink=0.8)
    fig.suptitle(title)
    return fig
