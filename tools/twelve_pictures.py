"""The course in twelve pictures: of each lesson one figure and two sentences.

The figure is the one of the cell tagged "picture". The sentences are two of those that end the
lesson, the first two unless its header says ``order_matters: lines: [4, 5]``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import lesson_titles
from nbformat import NotebookNode
from notebook_source import (
    BuildError,
    find_lessons,
    is_closer,
    lesson_name,
    lines_beside_picture,
    read_lesson,
    read_notebook,
)

TAG = "picture"
HERE = "<!-- pictures -->"  # where they stand in site/pages/pictures.md
END = re.compile(r"^## In five lines\n(.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^- (.+(?:\n  .+)*)", re.MULTILINE)


@dataclass(frozen=True)
class Lesson:
    """What stands on the page of a lesson."""

    name: str
    title: lesson_titles.Title
    sentences: tuple[str, ...]


def lessons(root: Path) -> Iterator[Lesson]:
    """The lessons with their sentences, in order."""
    for path in find_lessons(root):
        if not is_closer(path):
            texts = [cell.source for cell in read_lesson(path) if cell.cell_type == "markdown"]
            title = lesson_titles.read(texts[0])
            yield Lesson(lesson_name(path), title, _sentences(path, texts))


def _sentences(path: Path, texts: list[str]) -> tuple[str, ...]:
    ends = [match[1] for text in texts if (match := END.search(text))]
    lines = [" ".join(line.split()) for end in ends for line in LINE.findall(end)]
    numbers = lines_beside_picture(path)
    if not numbers or max(numbers) > len(lines):
        raise BuildError(f"{path.name}: lines {numbers} of the {len(lines)} that end the lesson")
    return tuple(lines[number - 1] for number in numbers)


def picture_cell(root: Path, name: str) -> NotebookNode:
    """The cell of a built lesson whose figure stands for it."""
    notebook = read_notebook(root / "notebooks" / "solutions" / f"{name}.ipynb")
    cells = notebook.cells if notebook else []
    tagged = [cell for cell in cells if TAG in cell.metadata.get("tags", [])]
    if len(tagged) != 1:
        raise BuildError(f"{name} has {len(tagged)} cells tagged {TAG!r}; it needs one")
    return tagged[0]


def readme_list(root: Path) -> str:
    """A line a lesson, for README."""
    entries = [
        f"- [{lesson.title.heading}](notebooks/{lesson.name}.ipynb): {' '.join(lesson.sentences)}"
        for lesson in lessons(root)
    ]
    return "\n".join(entries) + "\n"
