"""For teachers: minutes, what to show, and the mistakes behind each exercise, lesson by lesson.

Counted and listed from the notebooks and the checks; what to discuss is written by hand.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lesson_titles
import site_exercises
import site_explorers
import site_questions
from nbformat import NotebookNode
from notebook_source import find_lessons, is_closer, read_notebook
from site_html import anchor, escaped, folded, tag
from site_page import Page

from course_lab import explorers
from course_lab.checks import Check

HERE = "<!-- lessons -->"
HEADING = re.compile(r"^##+ (.+)$", re.MULTILINE)
PICTURE = "The answer in one picture"  # the section that a lesson of the second edition ends with
BUILDS = re.compile(r"\*\*Builds on:\*\* ([^*]+?)\.(?= \*\*|\s*$|\n)", re.DOTALL)
HEAD = (
    "lesson",
    "minutes",
    "builds on",
    "guesses",
    "explorers here",
    "exercises",
    "mistakes known",
)


@dataclass(frozen=True)
class Item:
    """Something to show in a lecture, and where."""

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
    items: tuple[Item, ...]
    exercises: tuple[Check, ...]


def page(markdown: str, root: Path) -> Page:
    """The page: its text, with what is counted and listed in its places."""
    core = [path for path in find_lessons(root) if not is_closer(path)]
    lessons = [_read(root, path.stem) for path in core]
    for lesson in lessons:
        markdown = markdown.replace(f"<!-- {lesson.name} -->", _details(lesson))
    return Page("teaching", "", markdown.replace(HERE, _table(lessons)))


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
        pictures = any("image/png" in output.get("data", {}) for output in cell.outputs)
        if section == PICTURE and pictures:
            yield Item("Picture", "the answer", section, cell.id)


def _table(lessons: list[Lesson]) -> str:
    rows = []
    for lesson in lessons:
        kinds = [item.kind for item in lesson.items]
        cells = [
            f"[{lesson.title.heading}]({lesson.name}.md)",
            lesson.title.minutes,
            lesson.builds_on,
            str(kinds.count("Ask")),
            str(kinds.count("Move")),
            str(len(lesson.exercises)),
            str(sum(len(check.mistakes) for check in lesson.exercises)),
        ]
        rows.append(cells)
    minutes = sum(int(lesson.title.minutes) for lesson in lessons)
    table = lesson_titles.markdown_table(HEAD, rows)
    return f"{table}\n\nAll lessons together: about {minutes / 60:.0f} hours."


def _details(lesson: Lesson) -> str:
    """What to show, the mistakes of each exercise, and the words before what is to be discussed."""
    items = [
        f"- *{item.kind}*: {_plain(item.text)} "
        f"[{item.section}]({lesson.name}.md#{anchor(item.section)}), `{item.cell}`"
        for item in lesson.items
    ]
    blocks = [f"About {lesson.title.minutes} minutes.", "**To show**", "\n".join(items)]
    if lesson.exercises:
        blocks.append("**What goes wrong in the exercises**")
    for check in lesson.exercises:
        summary = f"{tag('code', escaped(check.name))}: {len(check.mistakes)} known mistakes"
        blocks += folded(summary, [_mistakes(check)])
    return "\n\n".join([*blocks, "**To discuss**"])


def _mistakes(check: Check) -> str:
    """The misconception behind each known mistake, and the question that leads on."""
    items = [
        f"{escaped(mistake.name[:1].upper() + mistake.name[1:])}. "
        f"{tag('em', escaped(mistake.question))}"
        for mistake in check.mistakes
    ]
    return tag("ul", "".join(tag("li", item) for item in items))


def _plain(text: str) -> str:
    """A question as Markdown, with its own marks as they are."""
    return re.sub(r"([*_`\[\]<>$])", r"\\\1", text)
