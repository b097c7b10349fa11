"""Six wishes that one may have for a code of positions, and which of them a given code grants.

A code is a function: from the positions 0, 1, …, n − 1, float64 of shape (n,), to one row of
numbers a position, (n, width). It is asked for texts of ``SHORT`` and of ``LONG`` positions.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.measures.tables import nearest_pair, toeplitz_error

Code = Callable[[Tensor], Tensor]
Rows = Float[Tensor, "n width"]

SHORT, LONG = 64, 512  # positions of the two texts
WIDTH = 128  # the most numbers a position may take; the width of the words too
NEAR = (0, 1, 8, 64)  # distances at which nearer has to be more alike
SHIFTS = (1, 7)
WISHES = {  # wish → its yardstick
    "small numbers": "none above 2",
    "fixed width": f"any text, ≤ {WIDTH}",
    "told apart": "LayerNorm, ≥ 0.1",
    "distance alone": "to 1 %",
    "nearer is more alike": "1, 8, 64 apart",
    "a shift is one matrix": "to 1 % of a step",
}


class Score(NamedTuple):
    """Whether a code grants one wish, and the number behind it, as text."""

    granted: bool
    shown: str


Board = dict[str, dict[str, Score] | str]  # code → its scores by wish, or what went wrong


def wishes(code: Code) -> dict[str, Score]:
    """Which of the six wishes a code grants, by name.

    Raises:
        ValueError: if what it returns is not a finite (n, width) tensor of real numbers.
    """
    short, rows = _rows(code, SHORT), _rows(code, LONG)
    same = short.shape[1] == rows.shape[1] and bool((short - rows[:SHORT]).abs().max() <= 1e-6)
    size, apart, uneven = float(rows.abs().max()), _apart(rows), _uneven(rows)
    alike, misfit = _alike(rows), max(_misfit(rows, k) for k in SHIFTS)
    falls = all(far <= near - 0.01 for near, far in zip(alike, alike[1:], strict=False))
    width = f"{rows.shape[1]} wide" if same else f"{short.shape[1]}, then {rows.shape[1]}"
    if not same and short.shape[1] == rows.shape[1]:
        width = "other numbers"
    found = (
        Score(size <= 2, f"up to {size:.3g}"),
        Score(same and rows.shape[1] <= WIDTH, width),
        Score(apart >= 0.1, f"{apart:.4f}" if apart < 0.1 else f"{apart:.2f}"),
        Score(uneven <= 0.01, _share(uneven)),
        Score(falls, " ".join(f"{one:.2f}" for one in alike[1:]).replace("-", "−")),
        Score(misfit <= 0.01, _share(misfit)),
    )
    return dict(zip(WISHES, found, strict=True))


def scoreboard(codes: Mapping[str, Code]) -> Board:
    """The scores of several codes by name; in place of scores that cannot be had, why not."""
    board: Board = {}
    for name, code in codes.items():
        try:
            board[name] = wishes(code)
        except Exception as error:  # a learner's code may fail in any way; the others stay scored
            board[name] = f"{type(error).__name__}: {error}"
    return board


def granted(board: Board) -> dict[str, int]:
    """How many wishes each code grants; 0 for one that could not be scored."""
    return {
        name: 0 if isinstance(row, str) else sum(score.granted for score in row.values())
        for name, row in board.items()
    }


def scoreboard_text(board: Board) -> str:
    """The board in sentences, one a code."""
    told, counts = [], granted(board)
    for name, row in board.items():
        if isinstance(row, str):
            told.append(f"{name}: {row}.")
            continue
        missed = [wish for wish, score in row.items() if not score.granted]
        lacks = f" It fails {', '.join(missed)}." if missed else ""
        told.append(f"{name} grants {counts[name]} of {len(row)} wishes.{lacks}")
    return " ".join(told)


def _rows(code: Code, n: int) -> Rows:
    """What a code makes of n positions, in float64."""
    rows = code(torch.arange(n, dtype=torch.float64))
    asked = f"a tensor of shape ({n}, width) for {n} positions"
    if not isinstance(rows, Tensor):
        raise ValueError(f"a code must return {asked}, got {type(rows).__name__}")
    if rows.ndim != 2 or len(rows) != n or rows.shape[1] == 0 or rows.is_complex():
        raise ValueError(f"a code must return {asked}, got {tuple(rows.shape)} of {rows.dtype}")
    return validation.finite("the code's numbers", rows.detach().cpu().double())


def _apart(rows: Rows) -> float:
    """Distance of the closest two rows, each added to a word and normalised; worst of 4 words.

    The code takes the first columns of a word of ``WIDTH`` random numbers, or of its own width.
    """
    width = max(WIDTH, rows.shape[1])
    words = torch.randn(4, width, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    padded = torch.nn.functional.pad(rows, (0, width - rows.shape[1]))
    normal = torch.nn.functional.layer_norm(padded + words[:, None], (width,))
    return min(nearest_pair(one).distance for one in normal)


def _uneven(rows: Rows) -> float:
    """How far dot products are from depending on distance alone; 1 is the largest of them."""
    dots = rows @ rows.T
    return toeplitz_error(dots) / max(float(dots.abs().max()), 1e-12)


def _alike(rows: Rows) -> list[float]:
    """The mean dot product at each distance of ``NEAR``, as a share of that at 0.

    From the same rows throughout, the first half, to rows after them.
    """
    first = rows[: LONG // 2]
    dots = [float((first * rows[k : k + len(first)]).sum(1).mean()) for k in NEAR]
    return [one / max(dots[0], 1e-12) for one in dots]


def _misfit(rows: Rows, k: int) -> float:
    """The largest error of the best matrix from each row to the row k later; 1 is one step."""
    here, there = rows[:-k], rows[k:]
    found = here @ torch.linalg.lstsq(here, there, driver="gelsd").solution
    step = float((there - here).norm(dim=1).mean())
    return float((found - there).norm(dim=1).max()) / max(step, 1e-12)


def _share(value: float) -> str:
    return f"{100 * value:.0f} % off" if value < 9.995 else "over 999 % off"
