"""Scoreboards: which of six wishes a code of positions grants, and the table of ✓ and ✗.

A code is a function: from the positions 0, 1, …, n − 1, float64 of shape (n,), to one row of
numbers a position, (n, width). It is called for ``SHORT`` and for ``LONG`` positions.
"""

import textwrap
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from course_lab.measures import nearest_pair
from course_utils import validation
from course_utils.measures import toeplitz_error

Code = Callable[[Tensor], Tensor]
Rows = Float[Tensor, "n width"]

SHORT, LONG = 64, 512  # positions of the two texts
WIDTH = 128  # the most numbers a position may take; the width of the words too
DISTANCES = (0, 1, 8, 64)  # positions apart; nearer ones have to be more alike
SHIFTS = (1, 7)  # positions
WISHES = {  # wish → its yardstick
    "small numbers": "none above 2",
    "fixed width": f"any text, ≤ {WIDTH}",
    "told apart": "LayerNorm, ≥ 0.1",
    "distance alone": "to 1 %",
    "nearer is more alike": "−1 % at 1, 8, 64",
    "a shift is one matrix": "to 1 % of a step",
}
YES, NO = "#c4dff0", "#fbe3c0"  # light blue and light orange, distinct to everybody, as are ✓ ✗
MAYBE, UNKNOWN = "#e6f2f9", "#ececec"
UNCLEAR = "unclear"  # in place of True or False: the measurement leaves it open


class Score(NamedTuple):
    """Whether a code grants one wish, and the number behind it, as text."""

    granted: bool
    shown: str


Board = dict[str, dict[str, Score] | str]  # code → its scores by wish, or what went wrong


def scores_of(code: Code) -> dict[str, Score]:
    """Which of the six wishes a code grants, by name.

    Raises:
        ValueError: if the code does not return a finite (n, width) tensor of real numbers.
    """
    short, rows = _rows(code, SHORT), _rows(code, LONG)
    largest = float(rows.abs().max())
    same_width = short.shape[1] == rows.shape[1]
    same_rows = same_width and bool((short - rows[:SHORT]).abs().max() <= 1e-6)
    if same_rows:
        width = f"{rows.shape[1]} wide"
    else:
        width = "other numbers" if same_width else f"{short.shape[1]}, then {rows.shape[1]}"
    distance = _closest_distance(rows)
    unevenness = _unevenness(rows)
    similarities = _similarities(rows)
    falls = all(
        farther <= nearer - 0.01
        for nearer, farther in zip(similarities, similarities[1:], strict=False)
    )
    misfit = max(_misfit(rows, shift) for shift in SHIFTS)
    scores = (
        Score(largest <= 2, f"up to {largest:.3g}"),
        Score(same_rows and rows.shape[1] <= WIDTH, width),
        Score(distance >= 0.1, f"{distance:.4f}" if distance < 0.1 else f"{distance:.2f}"),
        Score(unevenness <= 0.01, _as_percentage(unevenness)),
        Score(falls, " ".join(f"{value:.2f}" for value in similarities[1:]).replace("-", "−")),
        Score(misfit <= 0.01, _as_percentage(misfit)),
    )
    return dict(zip(WISHES, scores, strict=True))


def scoreboard(codes: Mapping[str, Code]) -> Board:
    """The scores of several codes by name; for a code that cannot be scored, the reason."""
    board: Board = {}
    for name, code in codes.items():
        try:
            board[name] = scores_of(code)
        except Exception as error:  # a learner's code may fail in any way; the others stay scored
            board[name] = f"{type(error).__name__}: {error}"
    return board


def granted(board: Board) -> dict[str, int]:
    """How many wishes each code grants; 0 for one that could not be scored."""
    return {
        name: 0 if isinstance(scores, str) else sum(score.granted for score in scores.values())
        for name, scores in board.items()
    }


def scoreboard_text(board: Board) -> str:
    """The board in sentences, one a code."""
    sentences, counts = [], granted(board)
    for name, scores in board.items():
        if isinstance(scores, str):
            sentences.append(f"{name}: {scores}.")
            continue
        missed = [wish for wish, score in scores.items() if not score.granted]
        lacks = f" It fails {', '.join(missed)}." if missed else ""
        sentences.append(f"{name} grants {counts[name]} of {len(scores)} wishes.{lacks}")
    return " ".join(sentences)


def draw_scoreboard(
    board: Mapping[str, Mapping[str, tuple[bool | None | str, str]] | str],
    columns: Mapping[str, str],
    title: str = "",
    *,
    totals: bool | str = True,
    inches: float | None = None,
) -> Figure:
    """Draw a table of ✓ and ✗, each with its number, and how many ✓ each row has.

    Args:
        board: row → column → (granted, the number as text); or a sentence in place of a row. Where
            granted is None, which means not known, the cell is grey and has no mark; where it is
            ``UNCLEAR``, it is pale blue and has "≈".
        columns: their names and, under each, a yardstick.
        title: over the whole.
        totals: whether to write how many ✓ a row has; a string is the heading over them.
        inches: how wide the figure is, if not as its names and columns ask; up to 5.2 a phone
            shows it whole.
    """
    if not board or not columns:
        raise ValueError(f"board and columns must not be empty, got {board!r} and {columns!r}")
    width, height = len(columns), len(board)
    names_width = 2.2 + 0.09 * max(0, max(map(len, board)) - 14)  # inches, with the totals
    size = (inches or names_width + 1.45 * width, (1.3 if title else 0.9) + 0.42 * height)
    fig, ax = plt.subplots(figsize=size)
    ax.set(xlim=(-0.5, width + (0.2 if totals else -0.5)), ylim=(height - 0.5, -0.5))
    fig.suptitle(title)
    for row, scores in enumerate(board.values()):
        if isinstance(scores, str):
            sentence = textwrap.shorten(scores, 24 * width, placeholder=" …")
            ax.text(-0.45, row, sentence, va="center", fontsize=9.5, style="italic")
        else:
            cells = [scores[column] for column in columns]
            _draw_row(ax, row, cells)
            if totals:
                count = sum(granted != UNCLEAR and bool(granted) for granted, _ in cells)
                ax.text(width - 0.4, row, f"{count} of {width}", va="center", weight="bold")
    names = [f"{textwrap.fill(column, 14)}\n({columns[column]})" for column in columns]
    ax.set_xticks(range(width), names, fontsize=9.5)
    if isinstance(totals, str):
        ax.text(width - 0.4, -0.55, totals, va="bottom", fontsize=9.5)
    ax.set_yticks(range(height), list(board), fontsize=11)
    _without_lines(ax)
    return fig


def _without_lines(ax: Axes) -> None:
    """Make axes the frame of a table: names of columns on top, no ticks and no border."""
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _draw_row(ax: Axes, row: int, cells: list[tuple[bool | None | str, str]]) -> None:
    looks = {True: (YES, "✓"), False: (NO, "✗"), None: (UNKNOWN, ""), UNCLEAR: (MAYBE, "≈")}
    for column, (is_granted, shown) in enumerate(cells):
        colour, mark = looks[is_granted]
        ax.add_patch(Rectangle((column - 0.48, row - 0.44), 0.96, 0.88, color=colour))
        ax.text(column - 0.44, row, mark, va="center", weight="bold")
        fontsize = 8.5 if len(shown) > 14 else 9.5
        ax.text(column + 0.45, row, shown, va="center", ha="right", fontsize=fontsize)


def _rows(code: Code, n: int) -> Rows:
    """The rows of a code for n positions, in float64."""
    rows = code(torch.arange(n, dtype=torch.float64))
    expected = f"a tensor of shape ({n}, width) for {n} positions"
    if not isinstance(rows, Tensor):
        raise ValueError(f"a code must return {expected}, got {type(rows).__name__}")
    if rows.ndim != 2 or len(rows) != n or rows.shape[1] == 0 or rows.is_complex():
        raise ValueError(f"a code must return {expected}, got {tuple(rows.shape)} of {rows.dtype}")
    return validation.finite("the code's numbers", rows.detach().cpu().double())


def _closest_distance(rows: Rows) -> float:
    """Distance of the closest two rows, each added to a word and normalised; least of 4 words.

    The code takes the first columns of a word of ``WIDTH`` random numbers, or of its own width.
    """
    width = max(WIDTH, rows.shape[1])
    words = torch.randn(4, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    padded = torch.nn.functional.pad(rows, (0, width - rows.shape[1]))
    tables = torch.nn.functional.layer_norm(padded + words[:, None], (width,))
    return min(nearest_pair(table).distance for table in tables)


def _unevenness(rows: Rows) -> float:
    """How far dot products are from depending on distance alone; 1 is the largest of them."""
    products = rows @ rows.T
    return toeplitz_error(products) / max(float(products.abs().max()), 1e-12)


def _similarities(rows: Rows) -> list[float]:
    """The mean dot product at each of ``DISTANCES``, as a share of that at 0.

    Always from the rows of the first half, to rows after them.
    """
    first_half = rows[: LONG // 2]
    products = []
    for distance in DISTANCES:
        shifted = rows[distance : distance + len(first_half)]
        products.append(float((first_half * shifted).sum(1).mean()))
    return [product / max(products[0], 1e-12) for product in products]


def _misfit(rows: Rows, shift: int) -> float:
    """The largest error of the best matrix from each row to the one ``shift`` later, in steps."""
    before, after = rows[:-shift], rows[shift:]
    predicted = before @ torch.linalg.lstsq(before, after, driver="gelsd").solution
    error = float((predicted - after).norm(dim=1).max())
    rounding = 1e-12 * float(rows.norm(dim=1).max())
    if error <= rounding:  # of a code that never changes too, whose steps are 0
        return 0.0
    return error / max(float((after - before).norm(dim=1).mean()), rounding)


def _as_percentage(share: float) -> str:
    return f"{100 * share:.0f} % off" if share < 9.995 else "over 999 % off"


def draw_visits(
    visits: Mapping[str, Mapping[str, tuple[bool, str]]], columns: Mapping[str, str], title: str
) -> Figure:
    """Draw what tests say of patients and of their healthy twins, as ``clinic.visit`` returns it.

    Blue: found. Orange: it passes, though sick. Hatched: the healthy twin fails, and so made no
    promise.

    Args:
        visits: test → patient → (whether it is found, the outcome: "found", "cleared", "alone
            cleared" or "twin too").
        columns: the patients and, under each, what to say of it.
        title: over the whole.
    """
    hatched = {"hatch": "////", "edgecolor": "0.7"}
    looks: dict[str, dict[str, Any]] = {
        "found": {"facecolor": YES},
        "cleared": {"facecolor": NO},
        "alone cleared": {"facecolor": NO} | hatched,
        "twin too": {"facecolor": "white"} | hatched,
    }
    words = {
        "found": "found",
        "cleared": "passes",
        "alone cleared": "passes,\ntwin fails",
        "twin too": "both fail",
    }
    fig, ax = plt.subplots(figsize=(2.0 + 1.45 * len(columns), 1.3 + 0.5 * len(visits)))
    ax.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(visits) - 0.5, -0.5))
    for row, verdicts in enumerate(visits.values()):
        for column, patient in enumerate(columns):
            outcome = verdicts[patient][1]
            ax.add_patch(Rectangle((column - 0.48, row - 0.44), 0.96, 0.88, **looks[outcome]))
            weight = "bold" if outcome == "found" else "normal"
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
            ax.text(
                column,
                row,
                words[outcome],
                ha="center",
                va="center",
                weight=weight,
                fontsize=9.5,
                bbox=box if "hatch" in looks[outcome] else None,
            )
    names = [f"{patient}\n({columns[patient]})" for patient in columns]
    ax.set_xticks(range(len(columns)), names, fontsize=10)
    ax.set_yticks(range(len(visits)), list(visits), fontsize=11)
    _without_lines(ax)
    fig.suptitle(title)
    return fig


def draw_properties(
    properties: Mapping[str, Mapping[str, bool]],
    promises: Collection[str],
    title: str = "",
    *,
    total: str = "",
) -> Figure:
    """Draw which properties encodings have: those that they owe and how many, then the promises.

    A broken promise is grey, since nobody owed it.

    Args:
        properties: encoding → property → whether it holds.
        promises: those of the properties that are none of the duties.
        title: over the whole.
        total: the heading over how many duties each keeps.
    """
    names = list(next(iter(properties.values())))
    owed = [name for name in names if name not in promises]
    promised = [name for name in names if name in promises]
    first_promise = len(owed) + 0.8  # the total stands before it
    places = [*range(len(owed)), *(first_promise + place for place in range(len(promised)))]
    fig, ax = plt.subplots(figsize=(1.4 + 0.95 * (places[-1] + 1), 0.8 + 0.3 * len(properties)))
    ax.set(xlim=(-0.5, places[-1] + 0.5), ylim=(len(properties) - 0.5, -0.5))
    for row, holds in enumerate(properties.values()):
        for name, place in zip([*owed, *promised], places, strict=True):
            colour = YES if holds[name] else UNKNOWN if name in promises else NO
            ax.add_patch(Rectangle((place - 0.48, row - 0.44), 0.96, 0.88, color=colour))
            mark = "✓" if holds[name] else "✗"
            ax.text(place, row, mark, ha="center", va="center", weight="bold")
        kept = f"{sum(holds[name] for name in owed)} of {len(owed)}"
        ax.text(len(owed) - 0.1, row, kept, ha="center", va="center", weight="bold")
    labels = [name.replace(" = ", "\n= ") for name in owed]
    labels += [f"{name}\n(a promise)" for name in promised]
    ax.set_xticks([*places, len(owed) - 0.1], [*labels, total], fontsize=9.5)
    ax.set_yticks(range(len(properties)), list(properties), fontsize=11)
    _without_lines(ax)
    fig.suptitle(title)
    return fig
