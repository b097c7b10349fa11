"""Choose: which encoding, in a minute, with the rows behind each number.

Losses and their intervals come from data/, prices from running each encoding.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import readme_tables
import site_explorers
import site_tables
from site_html import escaped, tag
from site_page import Page
from site_tables import Cell, Row

from course_lab import chooser, explorers
from course_utils import measures
from course_utils import results as measured
from course_utils.texts import data

EXPLORER = "chooser"
FILES = "_static/data"
SOURCE_CODE = "11fac7920fef1d73"  # the corpus of data/larger.csv that is not English
# What a price is measured on, as in lesson 10.
PRICED: dict[str, Any] = {"length": 64, "batch": 1, "causal": True, "max_len": 64}
ENCODING_COLUMNS = (
    "encoding",
    "doors",
    f"loss at {chooser.TRAINED}",
    *(f"rise at {times * chooser.TRAINED}" for times in chooser.TIMES.values()),
    "both ways",
    "starts anywhere",
    "plain kernel",
    "numbers learned",
    "extra bytes",
    "longest text",
)
RESULT_COLUMNS = (
    "encoding",
    "mean ± margin",
    "text length",
    "measured",
    "reading",
    "each seed",
    "lines in the file",
)


class Kind(NamedTuple):
    """What was measured: its name on the page, its table, what to average and over which rows."""

    name: str
    table: str
    column: str
    only: dict[str, Any]


KINDS = {
    "causal": Kind("loss, earlier words only", "extrapolation", "loss", {}),
    "both": Kind("loss, both ways", "both_ways", "loss", {}),
    "longer": Kind("loss, pieces of 256", "larger", "loss", {"length": 256}),
    "steps": Kind("loss, ten times the steps", "larger", "loss", {"steps": 12_000}),
    "code": Kind("loss, source code", "larger", "loss", {"corpus": SOURCE_CODE}),
    "copy": Kind("share right, copy", "tasks", "accuracy", {"task": "copy"}),
    "reverse": Kind("share right, reverse", "tasks", "accuracy", {"task": "reverse"}),
    "find": Kind("share right, find", "tasks", "accuracy", {"task": "find"}),
}
READERS = {"earlier words only": "causal", "both ways": "both"}


def page(markdown: str) -> Page:
    """The page: its text with the tables and the explorer."""
    description = explorers.ALL[EXPLORER].describe()
    parts = {
        "which": which(),
        EXPLORER: site_explorers.mount(EXPLORER, {}, description, ""),
        "encodings": encodings(chooser.facts().sort_values("loss")),
        "results": results(),
    }
    for name, block in parts.items():
        markdown = markdown.replace(f"<!-- {name} -->", block)
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


def encodings(facts: pd.DataFrame) -> str:
    """A row an encoding: losses with intervals, what it can do, what it costs."""
    rows = [_encoding(str(name), fact) for name, fact in facts.iterrows()]
    controls = site_tables.filters(
        "encodings",
        {"sides": ("yes", "no"), "still": ("yes", "no"), "plain": ("yes", "no")},
        labels={"sides": "both ways", "still": "starts anywhere", "plain": "plain kernel"},
    )
    return f"{controls}\n\n{site_tables.table('encodings', ENCODING_COLUMNS, rows)}"


def _encoding(name: str, fact: "pd.Series[Any]") -> Row:
    price = measures.passport(name, **PRICED)
    can = {
        "sides": "yes" if fact["mirror"] > chooser.ROUNDING else "no",
        "still": "yes" if fact["shift"] <= chooser.ROUNDING else "no",
        "plain": "yes" if fact["plain"] else "no",
    }
    cells = [
        Cell(tag("code", name)),
        Cell(escaped(fact["doors"])),
        _number(f"{fact['loss']:.3f}", fact["loss"], anchor("causal", name, chooser.TRAINED)),
    ]
    for times in chooser.TIMES.values():
        rise, row = fact[f"rise_{times}"], anchor("causal", name, times * chooser.TRAINED)
        cells.append(_number(str(rise), rise.mean, row))
    cells += [Cell(answer) for answer in can.values()]
    cells += [Cell(f"{price[key]:,}", price[key]) for key in ("parameters", "extra_bytes")]
    longest = price["longest"]
    no_end = Cell("no end found", float("inf"))
    cells.append(no_end if longest is None else Cell(f"{longest:,}", longest))
    return Row(cells, f"encoding-{name}", can)


def _number(text: str, value: float, row: str) -> Cell:
    return Cell(tag("a", escaped(text), href=f"#{row}", class_="om-number"), round(value, 5))


# ------------------------------------------------------------------------- every result


def anchor(kind: str, name: str, read: int, reading: str = measured.AS_TRAINED) -> str:
    """The name of a result's row on the page."""
    how = "" if reading == measured.AS_TRAINED else f"-{reading}"
    return f"{kind}-{name}-{read}{how}"


def results() -> str:
    """A row a result: mean and interval over seeds, each seed's value, and its lines in data/."""
    rows = [row for key in KINDS for row in _results(key)]

    def values(key: str) -> list[str]:
        return list(dict.fromkeys(row.values[key] for row in rows))

    controls = site_tables.filters(
        "results",
        {
            "kind": values("kind"),
            "read": sorted(values("read"), key=int),
            "reading": values("reading"),
            "encoding": values("encoding"),
        },
        labels={"kind": "measured", "read": "text length"},
        start={"kind": KINDS["causal"].name, "read": "64", "reading": measured.AS_TRAINED},
    )
    return f"{controls}\n\n{site_tables.table('results', RESULT_COLUMNS, rows)}"


def _results(key: str) -> Iterator[Row]:
    """The rows of one kind."""
    kind = KINDS[key]
    runs = data.results(kind.table)
    runs["line"] = runs.index + 2  # of the file, whose first line has the names of the columns
    if "reading" not in runs:
        runs["reading"] = measured.AS_TRAINED
    for column, value in kind.only.items():
        runs = runs[runs[column] == value]
    by = ["encoding", "read", "reading"]
    means = measured.summary(runs, *by, of=kind.column)
    case: Any
    for case, group in runs.groupby(by, sort=False):
        name, read, reading = case
        mean, margin = means.loc[case, "mean"], means.loc[case, "margin"]
        seeds = group.sort_values("seed")
        values = {"kind": kind.name, "read": str(read), "reading": reading, "encoding": name}
        cells = [
            Cell(tag("code", name)),
            Cell(tag("span", f"{mean:.3f} ± {margin:.3f}", class_="om-number"), round(mean, 5)),
            Cell(str(read), read),
            Cell(kind.name),
            Cell(reading),
            Cell(", ".join(f"{value:.4f}" for value in seeds[kind.column])),
            Cell(f"{kind.table}.csv: {', '.join(map(str, seeds['line']))}"),
        ]
        yield Row(cells, anchor(key, name, read, reading), values)
