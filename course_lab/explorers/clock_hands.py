"""The clock hands of a trained position table, in a line-up with a planted clock and decoys."""

import base64
from typing import Any

import torch
from torch import Tensor

from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.position_table import decoys, planted_clock, position_table
from course_utils import measures

LEARNED = 255  # rows that the turn is taken from: positions 1 to 255
DIRECTIONS = 10
LINE_UP = {
    "A": "random walk",
    "B": "waves out of step",
    "C": "the real table",
    "D": "smooth noise",
    "E": "planted clock",
}


def hand_coordinates(
    rows: Tensor, learned: int = LEARNED, directions: int = DIRECTIONS
) -> tuple[Tensor, Tensor]:
    """Where each clock hand points in each row, told from the first ``learned`` rows alone.

    Returns the periods, fastest first, and for each hand complex coordinates around its centre,
    (hands, rows), real and positive in the last row that was learned from.
    """
    known = rows[:learned]
    axes = measures.main_directions(known, directions)
    coordinates = (rows - known.mean(0)) @ axes.T
    turn = measures.turn(coordinates[:learned])
    hands = measures.hands(turn)
    centre = torch.linalg.solve(torch.eye(directions).to(turn.matrix) - turn.matrix.T, turn.shift)
    pointing = ((coordinates - centre).to(hands.planes.dtype) @ hands.planes.T).T * 2**0.5
    last = pointing[:, learned - 1 : learned]
    return hands.periods, pointing * last.conj() / last.abs()


def explorer_tables() -> dict[str, Tensor]:
    """The tables of the line-up, by letter: rows 1 to 511, all as large as the real one."""
    rows = position_table()[1:].double()
    offered = {"the real table": rows, "planted clock": planted_clock(rows)} | decoys(rows)
    size = (rows - rows.mean(0)).norm()
    return {
        letter: offered[name] * size / (offered[name] - offered[name].mean(0)).norm()
        for letter, name in LINE_UP.items()
    }


def _data() -> dict[str, Any]:
    tables = {}
    for name, rows in explorer_tables().items():
        periods, pointing = hand_coordinates(rows)
        numbers = torch.view_as_real(pointing.resolve_conj()).numpy().astype("<f4")
        tables[name] = {
            "periods": periods.tolist(),
            "pointing": base64.b64encode(numbers.tobytes()).decode(),
        }
    return {"learned": LEARNED, "tables": tables}


clock_hands = Explorer(
    "clock_hands",
    "five tables in a line-up: two are clocks",
    "A table's five hands, or one hand of five tables, each along its own turns, and where the "
    "turn fitted to rows 1 to 255 foretells it to be, so many of its own turns (at most 200 "
    "rows) ahead, with each miss if you tick it; one hand in its plane.",
    {
        "show": Choice(("five hands of one table", "one hand of five tables")),
        "table": Choice(tuple(LINE_UP)),
        "ahead": Slider(0.25, 3, 0.5, 0.25, label="turns ahead"),
        "hand": Slider(0, 4, 2, label="hand (0 fastest)"),
        "misses": Tick(label="show misses"),
    },
    _data,
)
