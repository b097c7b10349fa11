"""What a lesson's title cell says, for tables of lessons."""

import re
from typing import NamedTuple

QUESTION = re.compile(r"\*\*Question:\*\* (.+?)(?=\n\n|\Z)", re.DOTALL)
TIME = re.compile(r"\*\*Time:\*\* ([^.\n]*?) minutes\.")
DOORS = re.compile(r"\*\*Doors:\*\* ([^.]+)\.")


class Title(NamedTuple):
    """What the first cell of a lesson says; "" for what it does not."""

    heading: str
    question: str
    minutes: str
    doors: str


def read(cell: str) -> Title:
    """Read the title cell of a lesson, as the build leaves it: with the minutes that it counts."""
    question, minutes, told = (
        " ".join(found[1].split()) if (found := pattern.search(cell)) else ""
        for pattern in (QUESTION, TIME, DOORS)
    )
    heading = cell.partition("\n")[0].removeprefix("# ")
    asked = question[:1].upper() + question[1:]
    return Title(heading, asked, minutes.removeprefix("about "), doors(told))


def doors(told: str) -> str:
    """The numbers of the doors that are named; all four are 1–4, none is –."""
    if told.startswith("all four"):
        return "1–4"
    return ", ".join(re.findall(r"\b[1-4]\b", told)) or "–"
