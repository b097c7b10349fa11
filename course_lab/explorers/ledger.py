"""Every claim of the course, to guess before the verdict is shown."""

from __future__ import annotations

from functools import cache

from course_lab.claims import GUESSES
from course_lab.explorers.controls import Choice, Control, Slider
from course_lab.explorers.explorer import Explorer
from course_lab.recorded_claims import read_claims

ALL_LESSONS, NO_GUESS = "all lessons", "not yet"
COLUMNS = ("id", "claim", "scope", "verdict", "measured", "evidence", "lesson")


@cache
def ledger_rows() -> list[dict[str, str]]:
    """Return the rows of data/claims.csv, lesson by lesson; ``lesson`` is its number.

    Claims of a closer look count for its lesson.
    """
    rows = [{name: row[name] for name in COLUMNS} for row in read_claims()]
    for row in rows:
        row["lesson"] = row["lesson"].rpartition("/")[2][:2]
    return sorted(rows, key=lambda row: (row["lesson"], row["id"]))


def _judged_rows() -> list[dict[str, str]]:
    """Return the rows with a verdict: a claim that was not tested cannot be guessed."""
    return [row for row in ledger_rows() if row["verdict"] in GUESSES]


def _controls() -> dict[str, Control]:
    rows = _judged_rows()
    lessons = sorted({row["lesson"] for row in rows})
    return {
        "lesson": Choice((ALL_LESSONS, *lessons)),
        "claim": Slider(1, len(rows), 1),
        "guess": Choice((NO_GUESS, *GUESSES), "I say"),
    }


ledger = Explorer(
    "ledger",
    "the ledger of claims, to guess before you look",
    "A square for each claim that the course has tested, a row a lesson: empty until you guess, "
    "then filled where you were right and crossed where you were not. The claim, its scope and, "
    "after your guess, the verdict stand below, with your score.",
    _controls,
    lambda: {"rows": _judged_rows(), "allLessons": ALL_LESSONS, "noGuess": NO_GUESS},
)
