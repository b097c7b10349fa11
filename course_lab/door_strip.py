"""The four doors: as a strip at the head of every lesson, and on the way through attention."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from course_utils import validation
from course_utils.encodings.base import DOORS

CAPTIONS = {
    "embed": "token embeddings",
    "rotate": "queries and keys",
    "bias": "attention scores",
    "values": "what is summed",
}
OPEN_COLOUR, SHUT_COLOUR, LEAF_COLOUR = "#0173b2", "0.88", "#de8f05"
QUIET_INK = "0.35"  # of what is shut; its contrast is 4.5 and more, in the dark too


def door_strip(doors: Iterable[str], title: str = "") -> Figure:
    """Draw the four doors in the order a token passes them, the named ones open.

    Their names are ``"embed"``, ``"rotate"``, ``"bias"``, ``"values"``.
    """
    validation.instance("doors", doors, Iterable, "a list of names")
    open_doors = {validation.choice("doors", door, DOORS) for door in doors}
    fig = Figure(figsize=(8.0, 0.9))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 16), ylim=(0, 1.8))
    ax.axis("off")
    if title:
        ax.text(0.2, 1.6, title, va="center", fontsize=10, color=QUIET_INK)
    arrow = {"arrowstyle": "->", "color": "0.6", "linewidth": 1.2}
    ax.annotate("", xy=(15.9, 0.65), xytext=(0.2, 0.65), arrowprops=arrow, zorder=0)
    for number, door in enumerate(DOORS, start=1):
        _draw_door(ax, number, door, is_open=door in open_doors)
    return fig


def describe_doors(doors: Sequence[str]) -> str:
    """The strip of doors in words, for those who do not see the picture."""
    if not doors:
        return f"The four doors {', '.join(DOORS[:-1])} and {DOORS[-1]}, all shut."
    return f"The strip of four doors; open: {', '.join(doors)}."


def doors_in_attention() -> Figure:
    """Draw what attention does with words, and where on the way the four doors stand."""
    fig = Figure(figsize=(8.0, 2.5))
    fig.set_layout_engine("none")
    ax = fig.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, 16), ylim=(0, 5))
    ax.axis("off")
    above, between, below = 3.6, 2.3, 1.0  # heights
    line: dict[str, Any] = {"color": "0.5", "linewidth": 1.4, "zorder": 0}
    ax.plot([1.5, 3.2], [between, between], **line)
    ax.plot([4.6, 13.3, 13.55], [below, below, between - 0.8], **line)
    for start, end in (
        ((3.2, between), (3.95, above - 0.1)),
        ((3.2, between), (3.95, below + 0.1)),
        ((4.9, above), (6.7, above)),
        ((8.0, above), (10.0, above)),
        ((11.5, above), (12.1, above)),
        ((13.2, above - 0.35), (13.8, between + 0.6)),
        ((13.55, between - 0.8), (13.7, between - 0.6)),
    ):
        ax.annotate("", end, start, arrowprops={"arrowstyle": "->"} | line, zorder=0)
    for place, words in (
        ((0.8, between), "words"),
        ((4.45, above), "q, k"),
        ((4.25, below), "v"),
        ((7.35, above), "scores"),
        ((10.75, above), "softmax"),
        ((12.9, above), "weights"),
        ((14.6, between), "weight × v,\nsummed"),
    ):
        ax.text(*place, words, ha="center", va="center", fontsize=11)
    doors = (
        ((2.3, between), "embed", "adds a mark"),
        ((5.7, above), "rotate", "turns them"),
        ((9.0, above), "bias", "takes some off"),
        ((5.7, below), "values", "adds −1, 0, 1 …"),
    )
    frame: dict[str, Any] = {"facecolor": "white", "edgecolor": OPEN_COLOUR, "linewidth": 1.8}
    name: dict[str, Any] = {"ha": "center", "va": "center", "color": OPEN_COLOUR, "weight": "bold"}
    for number, ((x, y), door, what) in enumerate(doors, start=1):
        ax.add_patch(Rectangle((x - 0.3, y - 0.5), 0.6, 1.0, **frame))
        ax.text(x, y, str(number), **name)
        ax.text(x, y + 0.85, door, **name)
        ax.text(x, y - 0.8, what, ha="center", va="center", fontsize=9.5, color=QUIET_INK)
    return fig


def _draw_door(ax: Axes, number: int, door: str, is_open: bool) -> None:
    """Draw the door at its place in the strip, with its number and caption; its method if open."""
    left = 0.7 + 3.85 * (number - 1)
    fill, edge = ("white", OPEN_COLOUR) if is_open else (SHUT_COLOUR, "0.6")
    ax.add_patch(Rectangle((left, 0.15), 0.6, 1.0, facecolor=fill, edgecolor=edge, linewidth=1.5))
    ink, weight = (OPEN_COLOUR, "bold") if is_open else (QUIET_INK, "normal")
    if is_open:  # the leaf swings out to the left
        corners = [(left, 0.15), (left - 0.3, 0.03), (left - 0.3, 1.03), (left, 1.15)]
        ax.add_patch(Polygon(corners, facecolor=LEAF_COLOUR, edgecolor=OPEN_COLOUR, linewidth=1.2))
    number_look: dict[str, Any] = {
        "ha": "center",
        "va": "center",
        "fontsize": 11,
        "color": ink,
        "weight": weight,
    }
    ax.text(left + 0.3, 0.65, str(number), **number_look)
    caption_colour = "black" if is_open else QUIET_INK
    ax.text(left + 0.75, 0.94, CAPTIONS[door], va="center", fontsize=9.5, color=caption_colour)
    if is_open:
        ax.text(left + 0.75, 0.36, f"{door}()", va="center", fontsize=9.5, color=OPEN_COLOUR)
