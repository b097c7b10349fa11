"""A scoreboard: what is tried in rows, what is asked of it in columns."""

import textwrap
from collections.abc import Mapping

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

YES, NO = "#c4dff0", "#fbe3c0"  # light blue and light orange: told apart by everybody, as are ✓ ✗


def scoreboard(
    board: Mapping[str, Mapping[str, tuple[bool, str]] | str],
    columns: Mapping[str, str],
    title: str = "",
) -> Figure:
    """Draw a table of ✓ and ✗, each with its number, and how many ✓ each row has.

    Args:
        board: row → column → (granted, the number as text); or a sentence in a row's place.
        columns: their names and, under each, a yardstick.
        title: over the whole.
    """
    if not board or not columns:
        raise ValueError(f"board and columns must not be empty, got {board!r} and {columns!r}")
    wide, high = len(columns), len(board)
    fig, ax = plt.subplots(figsize=(2.2 + 1.45 * wide, (1.3 if title else 0.9) + 0.42 * high))
    ax.set(xlim=(-0.5, wide + 0.2), ylim=(high - 0.5, -0.5))
    fig.suptitle(title)
    for row, scores in enumerate(board.values()):
        if isinstance(scores, str):
            told = textwrap.shorten(scores, 24 * wide, placeholder=" …")
            ax.text(-0.45, row, told, va="center", fontsize=9.5, style="italic")
            continue
        for column, (granted, shown) in enumerate(scores[wish] for wish in columns):
            cell = Rectangle((column - 0.48, row - 0.44), 0.96, 0.88, color=YES if granted else NO)
            ax.add_patch(cell)
            ax.text(column - 0.44, row, "✓" if granted else "✗", va="center", weight="bold")
            ax.text(column + 0.45, row, shown, va="center", ha="right", fontsize=9.5)
        total = sum(granted for granted, _ in scores.values())
        ax.text(wide - 0.4, row, f"{total} of {wide}", va="center", weight="bold")
    names = [f"{textwrap.fill(wish, 14)}\n({columns[wish]})" for wish in columns]
    ax.set_xticks(range(wide), names, fontsize=9.5)
    ax.set_yticks(range(high), list(board), fontsize=11)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return fig
