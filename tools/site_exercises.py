"""Exercises on a page: the stub, hints that unfold one by one, the solution last."""

import ast
import importlib
import re
from collections.abc import Iterable, Sequence

from nbformat import NotebookNode
from notebook_folds import called
from site_html import escaped, folded, inline, tag

from course_lab.checks import Check

CHECKS = "course_lab.checks"
HEADING = "## Exercises"
STATED = re.compile(r"^\*\*(Exercise (\d+) [^*]*?)\.?\*\*", re.MULTILINE)
ABOVE = re.compile(r"^[\w ]+ stands? above\.\n?", re.MULTILINE)
IN_NOTEBOOK = "To write and to check in the notebook:"
OF_THE_COURSE = "With the course's answer; a notebook takes yours."
YOURS = re.compile(r"\b(?:your|yours|mine)\b")
WORDS = {"text/plain", "text/html"}
ASKED = ("Predict: ", "Explorer: ")  # how what a page has forms for starts
ONCE_SOLVED = re.compile(r"\bif solved else\b")  # in a cell that shows more to who has solved it
TRIED = "What a right answer shows, once you have tried"
STUB, SOLUTION = "stub", "solution"


def imported_checks(cells: Iterable[NotebookNode]) -> dict[str, Check]:
    """The checks that a notebook imports, by their names there."""
    return {
        alias.asname or alias.name: getattr(importlib.import_module(node.module), alias.name)
        for cell in cells
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(CHECKS)
        for alias in node.names
    }


def checked(cell: NotebookNode, checks: dict[str, Check]) -> Check | None:
    """The check that a cell calls with an answer."""
    names = (name for name in called(cell.source) if name in checks)
    return checks.get(next(names, ""))


def of_lesson(number: str) -> dict[str, Check]:
    """The checks of a lesson by their names in code, in the order of its exercises.

    There are none for a number that is no lesson's.
    """
    try:
        module = importlib.import_module(f"{CHECKS}.lesson{number}")
    except ModuleNotFoundError:
        return {}
    return {name: value for name, value in vars(module).items() if isinstance(value, Check)}


def with_places(text: str) -> str:
    """A text in which each exercise that it states can be linked."""
    return STATED.sub(lambda match: f'<span id="exercise-{match[2]}"></span>{match[0]}', text)


def with_links(text: str, stated: Iterable[tuple[str, str]]) -> str:
    """A text whose section of exercises links to those ``stated`` above: title, number."""
    links = [tag("a", escaped(title), href=f"#exercise-{number}") for title, number in stated]
    before, heading, after = text.partition(f"{HEADING}\n")
    if not links or not heading:
        return text
    above = tag("p", "Above: " + " · ".join(links), class_="om-note om-above")
    return f"{before}{heading}\n{above}\n\n{ABOVE.sub('', after).lstrip()}"


def whose(cell: NotebookNode) -> list[str]:
    """A note where a cell says "your" or "mine" of what the course has answered on the page."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        text = output.get("text", data.get("text/plain", ""))
        if not data.keys() - WORDS and not text.startswith(ASKED) and YOURS.search(text):
            return [tag("p", OF_THE_COURSE, class_="om-note om-whose")]
    return []


def behind_the_exercise(cell: NotebookNode, shown: Sequence[str]) -> list[str]:
    """What a cell has shown, folded where a notebook shows it to who has solved an exercise."""
    if shown and ONCE_SOLVED.search(cell.source):
        return folded(TRIED, shown, class_="om-tried")
    return [*shown]


def exercise(stub: str, hints: Sequence[str], solution: Sequence[str]) -> list[str]:
    """An exercise: a block with the stub, hints as texts, blocks of the solution.

    A hint, or the solution, is hidden by the style sheet until what is before it is unfolded.
    """
    note = tag("p", IN_NOTEBOOK, class_="om-note om-elsewhere")
    blocks = ['<div class="om-exercise">', note, stub]
    for number, hint in enumerate(hints, start=1):
        text = tag("p", inline(hint))
        blocks += folded(f"Hint {number} of {len(hints)}", [text], class_="om-hint")
    return [*blocks, *folded("A solution", solution, class_="om-solution"), "</div>"]
