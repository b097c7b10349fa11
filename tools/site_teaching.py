"""For teachers: minutes, what to show, and the mistakes behind each exercise, lesson by lesson.

Counted and listed from the notebooks and the checks; what to discuss is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lesson_titles
import site_exercises
import site_explorers
import site_questions
from nbformat import NotebookNode
from notebook_source import find_lessons, is_closer, read_notebook
from site_html import anchor, escaped, folded, tag
from site_page import Page

if TYPE_CHECKING:
    from course_lab.checks import Check

HERE = "<!-- lessons -->"
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
PICTURE = "The answer in one picture"  # the section that a lesson of the second edition ends with
BUILDS = re.compile(r"\*\*Builds on:\*\* ([^*]+?)\.(?= \*\*|\s*$|\n)", re.DOTALL)


@dataclass(frozen=True)
class Shown:
    """Something to show in a lecture: what, in which section and cell."""

    kind: str  # Ask, Move, Picture
    text: str
    section: str
    cell: str


@dataclass(frozen=True)
class Lesson:
    """What a teacher wants to know of a lesson."""

    name: str
    title: lesson_titles.Title
    builds_on: str
    shown: tuple[Shown, ...]
    exercises: tuple[Check, ...]


def page(markdown: str, root: Path) -> Page:
    """The page: its text, with what is counted and listed in its places."""
    found = [lesson for path in find_lessons(root) if (lesson := _read(root, path))]
    for lesson in found:
        markdown = markdown.replace(f"<!-- {lesson.name} -->", _of_lesson(lesson))
    return Page("teaching", "", markdown.replace(HERE, _table(found)))


def _read(root: Path, path: Path) -> Lesson | None:
    """The lesson; None for a closer look, and where no notebook was built."""
    notebook = read_notebook(root / "notebooks" / "solutions" / f"{path.stem}.ipynb")
    if is_closer(path) or notebook is None:
        return None
    opening = notebook.cells[0].source
    built = BUILDS.search(opening)
    return Lesson(
        path.stem,
        lesson_titles.read(opening),
        " ".join(built[1].split()) if built else "",
        tuple(_shown(notebook, path.stem)),
        tuple(site_exercises.of_lesson(path.stem[:2]).values()),
    )


def _shown(notebook: NotebookNode, name: str) -> Iterator[Shown]:
    """Guesses, explorers and the last picture, in the notebook's order."""
    from course_lab import explorers

    section = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            section = (HEADING.findall(cell.source) or [section])[-1]
            continue
        for question in site_questions.asked(cell, name):
            if not question.is_claim:
                yield Shown("Ask", question.text, section, cell.id)
        for explorer, _ in site_explorers.shown(cell, name):
            yield Shown("Move", explorers.ALL[explorer].title, section, cell.id)
        pictures = any("image/png" in output.get("data", {}) for output in cell.outputs)
        if section == PICTURE and pictures:
            yield Shown("Picture", "the answer", section, cell.id)


def _table(found: list[Lesson]) -> str:
    head = [
        "lesson",
        "minutes",
        "builds on",
        "guesses",
        "explorers here",
        "exercises",
        "mistakes known",
    ]
    lines = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for one in found:
        kinds = [shown.kind for shown in one.shown]
        numbers = [kinds.count("Ask"), kinds.count("Move"), len(one.exercises),
                   sum(len(check.mistakes) for check in one.exercises)]  # fmt: skip
        row = [f"[{one.title.heading}]({one.name}.md)", one.title.minutes, one.builds_on,
               *map(str, numbers)]  # fmt: skip
        lines.append(f"| {' | '.join(row)} |")
    minutes = sum(int(one.title.minutes) for one in found)
    return "\n".join(lines) + f"\n\nAll lessons together: about {minutes / 60:.0f} hours."


def _of_lesson(lesson: Lesson) -> str:
    """What to show, the mistakes of each exercise, and the words before what is to be discussed."""
    listed = [
        f"- *{one.kind}*: {_plain(one.text)} "
        f"[{one.section}]({lesson.name}.md#{anchor(one.section)}), `{one.cell}`"
        for one in lesson.shown
    ]
    blocks = [f"About {lesson.title.minutes} minutes.", "**To show**", "\n".join(listed)]
    if lesson.exercises:
        blocks.append("**What goes wrong in the exercises**")
    for check in lesson.exercises:
        blocks += folded(
            f"{tag('code', escaped(check.name))}: {len(check.mistakes)} known mistakes",
            [_mistakes(check)],
        )
    return "\n\n".join([*blocks, "**To discuss**"])


def _mistakes(check: Check) -> str:
    """The misconception behind each known mistake, and the question that leads on."""
    items = "".join(
        tag("li", f"{escaped(one.name[:1].upper() + one.name[1:])}. "
                  + tag("em", escaped(one.question)))
        for one in check.mistakes
    )  # fmt: skip
    return tag("ul", items)


def _plain(text: str) -> str:
    """A question as Markdown, with its own marks as they are."""
    return re.sub(r"([*_`\[\]<>$])", r"\\\1", text)
