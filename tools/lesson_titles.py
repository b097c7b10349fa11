"""The parts of a lesson's title cell, for tables of lessons."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

QUESTION = re.compile(r"\*\*Question:\*\* (.+?)(?=\n\n|\Z)", re.DOTALL)
TIME = re.compile(r"\*\*Time:\*\* about (\d+) minutes(?:, and (\d+) for the exercises)?\.")
DOORS = re.compile(r"\*\*Doors:\*\* ([^.]+)\.")


class Title(NamedTuple):
    """The parts of a title cell; "" where a part is missing."""

    heading: str
    question: str
    minutes: str  # of the thread, and of the exercises where there are any: "50 + 25"
    doors: str


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def read(cell: str) -> Title:
    """Read the title cell of a built lesson, in which the minutes are filled in."""
    heading = cell.partition("\n")[0].removeprefix("# ")
    question = _first(QUESTION, cell)
    time = TIME.search(cell)
    minutes = " + ".join(filter(None, time.groups())) if time else ""
    return Title(heading, question[:1].upper() + question[1:], minutes, doors(_first(DOORS, cell)))


def _first(pattern: re.Pattern[str], cell: str) -> str:
    """The pattern's group in the cell, on one line; "" where it does not match."""
    match = pattern.search(cell)
    return " ".join(match[1].split()) if match else ""


def closer_links(addresses: Sequence[str]) -> str:
    """Links to a lesson's closer looks, for the end of its question; "" for none."""
    links = [
        f"[{'another' if number else 'Closer look'}]({page})"
        for number, page in enumerate(addresses)
    ]
    return f" {', '.join(links)}" if links else ""


def doors(names: str) -> str:
    """The numbers of the doors: 1–4 for all four, – for none."""
    if names.startswith("all four"):
        return "1–4"
    return ", ".join(re.findall(r"\b[1-4]\b", names)) or "–"
