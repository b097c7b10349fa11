"""The sinusoidal table: its waves and wavelengths, and its pairs as clock hands."""

import math

import torch
from matplotlib.figure import Figure

from course_utils import measures, plots
from course_utils.encodings.functional import sinusoidal_frequencies, sinusoidal_table, wavelengths


def frequencies(fig: Figure, base: float, d_model: int, length: int, pair: int) -> str:
    """The sinusoidal table, one pair of its columns as waves, and all its wavelengths."""
    pair = min(pair, d_model // 2 - 1)  # the slider reaches further than a narrow table
    table = sinusoidal_table(torch.arange(length), d_model, base)
    turns = wavelengths(d_model, base)
    sine, cosine = table[:, 2 * pair].numpy(), table[:, 2 * pair + 1].numpy()
    if not fig.axes:
        left, middle, right = fig.subplots(1, 3)
        plots.heatmap(left, table, title="table", xlabel="dimension", ylabel="position", limit=1)
        middle.plot([], [], "-", label="sin")
        middle.plot([], [], "--", label="cos")
        middle.set(ylim=(-1.1, 1.5), xlabel="position", ylabel="value")
        middle.legend(loc="upper right", ncols=2)
        right.semilogy([1], [1], "o", markersize=3)
        right.semilogy([1], [1], "o", markersize=9, fillstyle="none")
        right.axhline(1, color="0.5", linewidth=1)
        right.minorticks_off()
        right.set_yticks([10, 1e3, 1e5, 1e7], ["10", "1,000", "100,000", "10 million"])
        right.set(title="wavelengths", xlabel="pair", ylabel="positions a turn", ylim=(3, 1e7))
    left, middle, right = fig.axes
    plots.refill(left, table)
    for line, values in zip(middle.lines, (sine, cosine), strict=True):
        line.set_data(range(length), values)
    middle.set(xlim=(0, length - 1), title=f"pair {pair}: dimensions {2 * pair}, {2 * pair + 1}")
    right.lines[0].set_data(range(len(turns)), turns.numpy())
    right.lines[1].set_data([pair], [float(turns[pair])])
    right.lines[2].set_ydata([length, length])
    right.set_xlim(-0.5, max(len(turns) - 0.5, 1))
    slow = int((turns > length).sum())
    return (
        f"Pair {pair} takes {float(turns[pair]):,.1f} positions for one turn. "
        f"{slow} of {len(turns)} pairs do not finish a turn in {length} positions (grey line)."
    )


CLOCKS = (0, 3, 6, 9)  # of 16 pairs


def clocks(fig: Figure, position: int, base: float) -> str:
    """Four pairs of a 32-wide encoding as clock hands at one position, and the vector itself."""
    theta = sinusoidal_frequencies(32, base)[list(CLOCKS)]
    vectors = sinusoidal_table(torch.tensor([0, position]), 32, base)
    cosine = float(measures.similarity_matrix(vectors)[0, 1])
    if not fig.axes:
        around = torch.linspace(0, 2 * math.pi, 100)
        for ax, pair in zip(fig.subplots(1, len(CLOCKS)), CLOCKS, strict=True):
            ax.plot(around.cos(), around.sin(), color="0.7", linewidth=1)
            ax.plot([], [], color="#0173b2", linewidth=3)
            ax.plot([], [], "o", color="#de8f05", markersize=9)
            ax.set(xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), aspect="equal", title=f"pair {pair}")
            ax.set_xlabel("cos")
            ax.set_ylabel("sin" if pair == CLOCKS[0] else "")
            ax.set_xticks([-1, 0, 1])
            ax.set_yticks([-1, 0, 1])
    for ax, angle in zip(fig.axes, (position * theta).tolist(), strict=True):
        ax.lines[1].set_data([0, math.cos(angle)], [0, math.sin(angle)])
        ax.lines[2].set_data([math.cos(angle)], [math.sin(angle)])
    made = ", ".join(f"{float(position * t) / (2 * math.pi):.2f}" for t in theta)
    return (
        f"Turns made by position {position}: {made}. "
        f"Cosine similarity with position 0: {cosine:.2f}."
    )
