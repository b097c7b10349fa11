"""Referee mode: a table of results whose runs were not made alike, mended row by row."""

from __future__ import annotations

from typing import Any

from course_lab import referee as runs_of
from course_lab.explorers.controls import Choice, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.spelling import printed

ORDERS = ("rise", "loss at 64", "loss at 1,024")
TICKED = ("alibi", "kerple", "deberta", "t5", "rope")  # rows that can be replaced; one is fair


def _losses(runs: list[runs_of.Run]) -> list[float]:
    """Mean losses at 64 and at 1,024 bytes."""
    return [round(value, 6) for value in runs_of.table(runs).iloc[0, :2]]


def _cut_name() -> str:
    """The name of the row that is cut, as it is printed."""
    name, *rest = runs_of.cut_name().split(",")
    return ",".join([printed(name), *rest])


def _rows() -> dict[str, Any]:
    """Each row's losses as published and as mended, and the objections to it as published."""
    rows = [
        {
            "name": name,
            "printed": printed(name),
            "objections": runs_of.row_objections(name),
            "published": _losses(runs_of.flawed_runs(name)),
            "mended": _losses(runs_of.fair_runs(name)),
        }
        for name in runs_of.ENCODINGS
    ]
    return {"rows": rows, "cut": _losses(runs_of.cut_runs()), "cutName": _cut_name()}


referee = Explorer(
    "referee",
    "a table of results, and what is left of its ranking",
    "Left the order in which the table was published, right the order once the ticked rows have "
    "been replaced by fair runs. Row 1 has the lowest number. Tick until no objection is left.",
    {
        "order": Choice(ORDERS, label="ranked by"),
        **{name: Tick(label=f"mend {printed(name)}") for name in TICKED},
        "cut": Tick(label=f"add a row: {_cut_name()} to 64"),
    },
    _rows,
)
