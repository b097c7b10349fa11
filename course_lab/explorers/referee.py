"""Referee mode: a table of results whose runs were not made alike, mended flaw by flaw."""

from __future__ import annotations

from typing import Any

from course_lab import referee as runs_of
from course_lab.explorers.controls import Choice, Tick
from course_lab.explorers.explorer import Explorer

ORDERS = ("rise", "loss at 64", "loss at 1,024")


def _losses(runs: list[runs_of.Run]) -> list[float]:
    """Mean losses at 64 and at 1,024 bytes."""
    return [round(value, 6) for value in runs_of.table(runs).iloc[0, :2]]


def _rows() -> dict[str, Any]:
    """Each row's losses as published and as mended, its main flaw, and what else is wrong."""
    rows = [
        {
            "name": name,
            "flaw": (flaw := runs_of.FLAWS.get(name)),
            "also": [key for key in runs_of.wrong_keys(name) if key != flaw],
            "published": _losses(runs_of.flawed_runs(name)),
            "mended": _losses(runs_of.fair_runs(name)),
        }
        for name in runs_of.ENCODINGS
    ]
    return {"rows": rows, "cut": _losses(runs_of.cut_runs()), "cutName": runs_of.cut_name()}


referee = Explorer(
    "referee",
    "a table of results, and what is left of its ranking",
    "Left the order in which the table was published, right the order once what is ticked has been "
    "mended. A tick replaces one row by fair runs, as a whole: the row of which it is the main "
    "flaw. Row 1 has the lowest number.",
    {
        "order": Choice(ORDERS, label="ranked by"),
        "steps": Tick(label="mend steps"),
        "lr": Tick(label="mend lr"),
        "judged": Tick(label="mend judged"),
        "protocol": Tick(label="mend protocol"),
        "seed": Tick(True, label="mend seeds"),
        "cut": Tick(label=f"add a row: {runs_of.cut_name()} to 64"),
    },
    _rows,
)
