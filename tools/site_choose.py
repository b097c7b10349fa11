"""Choose: which encoding, in a minute, with the rows behind each number.

Losses and their intervals come from data/, prices from running each encoding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import readme_tables
import site_explorers
import site_tables
from site_html import escaped, tag
from site_page import Page
from site_tables import Cell, Row

if TYPE_CHECKING:
    import pandas as pd

EXPLORER = "chooser"
PRICED: dict[str, Any] = {
    "length": 64,
    "batch": 1,
    "causal": True,
    "max_len": 64,
}  # as in lesson 10
TASKS = ("copy", "reverse", "find")
FILES = "_static/data"
SOURCE_CODE = "11fac7920fef1d73"  # the corpus of data/larger.csv that is not English


class Kind(NamedTuple):
    """What was measured: its name on the page, its table, what to average and over which rows."""

    name: str
    table: str
    of: str
    only: dict[str, Any]


KINDS = {
    "causal": Kind("loss, earlier words only", "extrapolation", "loss", {}),
    "both": Kind("loss, both ways", "both_ways", "loss", {}),
    "longer": Kind("loss, pieces of 256", "larger", "loss", {"length": 256}),
    "steps": Kind("loss, ten times the steps", "larger", "loss", {"steps": 12_000}),
    "code": Kind("loss, source code", "larger", "loss", {"corpus": SOURCE_CODE}),
    **{
        task: Kind(f"share right, {task}", "tasks", "accuracy", {"task": task}) for task in TASKS
    },
}  # fmt: skip
READERS = {"earlier words only": "causal", "both ways": "both"}


def page(markdown: str) -> Page:
    """The page: its text with the tables and the explorer."""
    from course_lab import chooser, explorers
    from course_utils.texts import data

    known = chooser.facts().sort_values("loss")
    explorer = explorers.ALL[EXPLORER]
    parts = {
        "which": which(),
        EXPLORER: site_explorers.mount(EXPLORER, {}, explorer.describe(), ""),
        "encodings": encodings(known),
        "results": results(),
    }
    for name, made in parts.items():
        markdown = markdown.replace(f"<!-- {name} -->", made)
    tables = sorted({kind.table for kind in KINDS.values()})
    files = {f"{FILES}/{name}.csv": data.verified(f"{name}.csv").read_bytes() for name in tables}
    return Page("choose", "", markdown, files, frozenset({EXPLORER}))


# ------------------------------------------------------------------------- which one


def which() -> str:
    """README's table, each number a link to its row."""

    def linked(reader: str, best: readme_tables.Best) -> str:
        row = anchor(READERS[reader], best.name, best.read)
        return tag("a", best.number, href=f"#{row}", class_="om-number")

    return readme_tables.which_one(linked)


# ------------------------------------------------------------------------- every encoding


def encodings(known: pd.DataFrame) -> str:
    """A row an encoding: losses with intervals, what it can do, what it costs."""
    from course_lab import chooser
    from course_utils import measures

    head = ["encoding", "doors", f"loss at {chooser.TRAINED}"]
    head += [f"rise at {times * chooser.TRAINED}" for times in chooser.TIMES.values()]
    head += ["both ways", "starts anywhere", "plain kernel", "numbers learned", "extra bytes",
             "longest text"]  # fmt: skip
    rows = []
    for name, fact in known.iterrows():
        price = measures.passport(str(name), **PRICED)
        rows.append(_encoding(str(name), fact, price))
    controls = site_tables.filters(
        "encodings",
        {"sides": ("yes", "no"), "still": ("yes", "no"), "plain": ("yes", "no")},
        labels={"sides": "both ways", "still": "starts anywhere", "plain": "plain kernel"},
    )
    return f"{controls}\n\n{site_tables.table('encodings', head, rows)}"


def _encoding(name: str, fact: pd.Series[Any], price: dict[str, Any]) -> Row:
    from course_lab import chooser

    can = {
        "sides": "yes" if fact["mirror"] > chooser.ROUNDING else "no",
        "still": "yes" if fact["shift"] <= chooser.ROUNDING else "no",
        "plain": "yes" if fact["plain"] else "no",
    }
    cells = [
        Cell(tag("code", name)),
        Cell(escaped(fact["doors"])),
        _number(f"{fact['loss']:.3f}", fact["loss"], anchor("causal", name, chooser.TRAINED)),
        *(
            _number(str(rise), rise.mean, anchor("causal", name, times * chooser.TRAINED))
            for times in chooser.TIMES.values()
            for rise in [fact[f"rise_{times}"]]
        ),
        *(Cell(told) for told in can.values()),
        *(Cell(f"{price[key]:,}", price[key]) for key in ("parameters", "extra_bytes")),
        Cell("no end found", float("inf")) if price["longest"] is None
        else Cell(f"{price['longest']:,}", price["longest"]),
    ]  # fmt: skip
    return Row(cells, f"encoding-{name}", can)


def _number(text: str, value: float, row: str) -> Cell:
    return Cell(tag("a", escaped(text), href=f"#{row}", class_="om-number"), round(value, 5))


# ------------------------------------------------------------------------- every result


def anchor(kind: str, name: str, read: int, reading: str = "as trained") -> str:
    """The name of a result's row on the page."""
    how = "" if reading == "as trained" else f"-{reading}"
    return f"{kind}-{name}-{read}{how}"


def results() -> str:
    """A row a result: mean and interval over seeds, each seed's value, and its lines in data/."""
    rows = [row for key in KINDS for row in _measured(key)]
    names, reads = (list(dict.fromkeys(row.values[key] for row in rows))
                    for key in ("encoding", "read"))  # fmt: skip
    controls = site_tables.filters(
        "results",
        {
            "kind": [kind.name for kind in KINDS.values()],
            "read": sorted(reads, key=int),
            "reading": list(dict.fromkeys(row.values["reading"] for row in rows)),
            "encoding": names,
        },
        labels={"kind": "measured", "read": "text length"},
        start={"kind": KINDS["causal"].name, "read": "64", "reading": "as trained"},
    )
    head = ["encoding", "mean ± margin", "text length", "measured", "reading", "each seed",
            "lines in the file"]  # fmt: skip
    return f"{controls}\n\n{site_tables.table('results', head, rows)}"


def _measured(key: str) -> Iterator[Row]:
    from course_utils import results as measured
    from course_utils.texts import data

    kind = KINDS[key]
    rows = data.results(kind.table)
    rows["line"] = rows.index + 2  # of the file, whose first line has the names of the columns
    if "reading" not in rows:
        rows["reading"] = measured.AS_TRAINED
    for column, value in kind.only.items():
        rows = rows[rows[column] == value]
    by = ["encoding", "read", "reading"]
    means = measured.summary(rows, *by, of=kind.of)
    place: Any
    for place, found in rows.groupby(by, sort=False):
        name, read, reading = place
        mean, margin = (means[column][place] for column in ("mean", "margin"))
        seeds = found.sort_values("seed")
        lines = f"{kind.table}.csv: {', '.join(map(str, seeds['line']))}"
        values = {"kind": kind.name, "read": str(read), "reading": reading, "encoding": name}
        cells = [
            Cell(tag("code", name)),
            Cell(tag("span", f"{mean:.3f} ± {margin:.3f}", class_="om-number"), round(mean, 5)),
            Cell(str(read), read),
            Cell(kind.name),
            Cell(reading),
            Cell(", ".join(f"{value:.4f}" for value in seeds[kind.of])),
            Cell(lines),
        ]
        yield Row(cells, anchor(key, name, read, reading), values)
