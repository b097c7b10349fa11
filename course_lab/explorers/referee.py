"""Referee mode: a table of results whose runs were not made alike, mended row by row."""

from __future__ import annotations

from typing import Any

import pandas as pd
import torch

from course_lab import referee as runs_of
from course_lab.explorers.controls import Choice, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.spelling import printed
from course_utils.results import average

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
    return {
        "rows": rows,
        "cut": _losses(runs_of.cut_runs()),
        "cutName": _cut_name(),
        "unclear": _unclear(),
    }


def _unclear() -> dict[str, list[list[bool]]]:
    """Of each order whether two rows of fair runs are not clearly apart, the row cut to 64 last."""
    fair = [runs_of.fair_runs(name) for name in runs_of.ENCODINGS] + [runs_of.cut_runs()]
    losses = [pd.DataFrame(row).pivot(index="seed", columns="read", values="loss") for row in fair]
    columns = (
        [row[1024] - row[64] for row in losses],
        [row[64] for row in losses],
        [row[1024] for row in losses],
    )
    return {
        order: [[_is_unclear(row - other) for other in rows] for row in rows]
        for order, rows in zip(ORDERS, columns, strict=True)
    }


def _is_unclear(differences: pd.Series) -> bool:
    """Whether the interval of the mean over seeds holds 0."""
    mean = average(torch.tensor(differences.to_list()))
    return not mean.above() and not mean.below()


referee = Explorer(
    "referee",
    "a table of results, and what is left of its ranking",
    "Left the order in which the table was published, right the order once the ticked rows have "
    "been replaced by fair runs. Row 1 has the lowest number; a bar joins neighbours of fair runs "
    "that three seeds cannot order. Tick until no objection is left.",
    {
        "order": Choice(ORDERS, label="ranked by"),
        **{name: Tick(label=f"mend {printed(name)}") for name in TICKED},
        "cut": Tick(label=f"add a row: {_cut_name()} to 64"),
    },
    _rows,
)
