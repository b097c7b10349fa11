"""For teachers: minutes, what to show, and the mistakes behind each exercise, lesson by lesson.

Counted and listed from the notebooks and the checks; what to discuss is written by hand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lesson_titles
import site_exercises
import site_explorers
import site_questions
from markupsafe import Markup
from nbformat import NotebookNode
from notebook_source import find_lessons, is_closer, read_notebook
from site_html import anchor, escaped, macros, tag
from site_page import Page
from twelve_pictures import TAG

from course_lab import explorers
from course_lab.checks import Check

HERE = "<!-- lessons -->"
HEAD = [
    "lesson",
    "minutes",
    "guesses",
    "explorers",
    "exercises",
    "mistakes known",
]
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
BUILDS = re.compile(r"\*\*Builds on:\*\* ([^*]+?)\.(?= \*\*|\s*$|\n)", re.DOTALL)


@dataclass(frozen=True)
class Item:
    """Something to show in a lecture, and where."""

    kind: str  # Ask, Move, Picture
    text: str
    section: str
    cell: str

    @property
    def plain(self) -> str:
        """The text as Markdown, with its own marks as they are."""
        return re.sub(r"([*_`\[\]<>$])", r"\\\1", self.text)

    @property
    def anchor(self) -> str:
        """Where its section stands on the page."""
        return anchor(self.section)


@dataclass(frozen=True)
class Lesson:
    """What a teacher wants to know of a lesson."""

    name: str
    title: lesson_titles.Title
    builds_on: str
    items: tuple[Item, ...]
    exercises: tuple[Check, ...]
    guesses: int  # claims are among them

    @property
    def minutes(self) -> int:
        """How long it takes, exercises included."""
        return sum(map(int, self.title.minutes.split(" + ")))

    @property
    def row(self) -> list[Any]:
        """What the table says of it."""
        link = tag("a", escaped(self.title.heading), href=f"{self.name}.html")
        mistakes = sum(len(check.mistakes) for check in self.exercises)
        return [
            Markup(link),
            self.title.minutes,
            self.guesses,
            self.count("Move"),
            len(self.exercises),
            mistakes,
        ]

    def count(self, kind: str) -> int:
        """How many items there are of a kind."""
        return [item.kind for item in self.items].count(kind)


def page(markdown: str, root: Path) -> Page:
    """The page: its text, with what is counted and listed in its places."""
    core = [path for path in find_lessons(root) if not is_closer(path)]
    lessons = [_read(root, path.stem) for path in core]
    parts = macros("teaching.md")
    hours = sum(lesson.minutes for lesson in lessons) / 60
    table = macros("choose.html").which(HEAD, [lesson.row for lesson in lessons])
    together = f"All lessons together: about {hours:.0f} hours."
    for lesson in lessons:
        markdown = markdown.replace(f"<!-- {lesson.name} -->", parts.details(lesson))
    return Page("teaching", "", markdown.replace(HERE, f"{table}\n\n{together}"))


def _read(root: Path, name: str) -> Lesson:
    notebook = read_notebook(root / "notebooks" / "solutions" / f"{name}.ipynb")
    assert notebook is not None, f"{name} has a page"
    opening = notebook.cells[0].source
    builds_on = BUILDS.search(opening)
    return Lesson(
        name,
        lesson_titles.read(opening),
        " ".join(builds_on[1].split()) if builds_on else "",
        tuple(_items(notebook, name)),
        tuple(site_exercises.of_lesson(name[:2]).values()),
        sum(len(site_questions.questions(cell, name)) for cell in notebook.cells),
    )


def _items(notebook: NotebookNode, name: str) -> Iterator[Item]:
    """Guesses, explorers and the last picture, in the notebook's order."""
    section = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            section = (HEADING.findall(cell.source) or [section])[-1]
            continue
        for question in site_questions.questions(cell, name):
            if not question.is_claim:
                yield Item("Ask", question.text, section, cell.id)
        for explorer, _ in site_explorers.shown(cell, name):
            yield Item("Move", explorers.ALL[explorer].title, section, cell.id)
        if section and TAG in cell.metadata.get("tags", []):
            yield Item("Picture", "the answer", section, cell.id)
