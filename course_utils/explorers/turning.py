"""RoPE: one pair of numbers that turns, and a key that is made for a distance."""

import math

import torch
from matplotlib.figure import Figure

from course_utils import plots
from course_utils.encodings.functional import rope_frequencies

PLACES = 41  # positions 0 to 40
FARTHEST = 300  # positions earlier than the query
QUERY, KEY = (1.0, 0.4), (-0.2, 0.9)


def turned_pair(fig: Figure, m: int, n: int, theta: float) -> str:
    """A query at m and a key at n as arrows, and the dot product of all places."""
    places = torch.arange(PLACES)
    (a, b), (c, d) = QUERY, KEY
    at_zero, quarter = a * c + b * d, b * c - a * d  # q·k; q·k with the key turned by a quarter
    angle = (places[None, :] - places[:, None]) * theta
    matrix = at_zero * angle.cos() + quarter * angle.sin()  # row m, column n
    if not fig.axes:
        left, right = fig.subplots(1, 2)
        around = torch.linspace(0, 2 * math.pi, 100)
        for (x, y), colour, name in ((QUERY, "#0173b2", "query"), (KEY, "#de8f05", "key")):
            size = math.hypot(x, y)
            left.plot(size * around.cos(), size * around.sin(), color="0.85", linewidth=1)
            left.plot([0, x], [0, y], ":", color=colour, linewidth=2)
            left.plot([], [], "-", color=colour, linewidth=3, label=name)
        left.set(xlim=(-1.3, 1.3), ylim=(-1.3, 1.3), aspect="equal")
        left.set(xlabel="first number", ylabel="second number", title="turned (dotted: before)")
        left.legend(loc="upper left", fontsize=9, handlelength=1.2)
        plots.heatmap(
            right, matrix, title="q·k of all places", xlabel="n (key)", ylabel="m (query)",
            limit=1.0, equal=True,
        )  # fmt: skip
        right.plot([], [], "s", color="gold", fillstyle="none", markersize=9, markeredgewidth=2)
    left, right = fig.axes
    for line, (x, y), turn in ((2, QUERY, m * theta), (5, KEY, n * theta)):
        cos, sin = math.cos(turn), math.sin(turn)
        left.lines[line].set_data([0, x * cos - y * sin], [0, x * sin + y * cos])
    right.images[0].set_data(matrix.numpy())
    right.lines[0].set_data([n], [m])
    return (
        f"The query has turned by {m * theta:.2f} radians, the key by {n * theta:.2f}. "
        f"m − n = {m - n}, q·k = {float(matrix[m, n]):.3f}."
    )


def wanted_distance(fig: Figure, wanted: int, base: float, d_head: int) -> str:
    """Scores by distance of a key equal to the query, and of one made for a distance."""
    theta = rope_frequencies(d_head, base)
    distance = torch.arange(FARTHEST + 1)
    same, made = (((distance - best)[:, None] * theta).cos().mean(1) for best in (0, wanted))
    if not fig.axes:
        ax = fig.subplots()
        ax.plot(distance.numpy(), same.numpy(), ":", color="0.5", label="key equal to the query")
        ax.plot(distance.numpy(), made.numpy(), linewidth=2, label="key made for a distance")
        ax.axvline(wanted, color="0.6", linewidth=1)
        ax.axhline(0, color="0.8", linewidth=1)
        ax.set(xlim=(0, FARTHEST), ylim=(-0.6, 1.4), ylabel="score (largest possible: 1)")
        ax.set(xlabel="distance to the key (positions)", title="score by distance")
        ax.legend(loc="upper right", ncols=2, fontsize=9)
    ax = fig.axes[0]
    ax.lines[0].set_ydata(same.numpy())
    ax.lines[1].set_ydata(made.numpy())
    ax.lines[2].set_xdata([wanted, wanted])
    second = float(made[(distance - wanted).abs() > 10].max())
    return (
        f"The score is largest at distance {int(made.argmax())}. More than 10 positions away from "
        f"there it reaches {second:.2f} at most; at distance {FARTHEST} it is "
        f"{float(made[-1]):.2f}."
    )
