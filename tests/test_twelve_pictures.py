"""The page of twelve pictures, and README's list: what they take from the lessons."""

from pathlib import Path

import nbformat
import pytest
import twelve_pictures
from nbformat.v4 import new_code_cell, new_notebook
from notebook_source import BuildError
from tiny_course import place

ROOT = Path(__file__).resolve().parents[1]
LESSON = """\
# ---
# jupyter:
#   order_matters:
#     edition: 2
{lines}# ---

# %% [markdown]
# # 00 · Tiny
#
# **Question:** how small?

# %% [markdown]
# ## In five lines
#
# - It is
#   small.
# - It is tiny.
# - It ends.
#
# **Read next:**
#
# - nothing.
"""


def sentences(folder: Path, lines: str = "") -> tuple[str, ...]:
    place(folder, "lessons/00_tiny.py", LESSON.format(lines=lines))
    (lesson,) = twelve_pictures.lessons(folder)
    assert (lesson.name, lesson.title.question) == ("00_tiny", "How small?")
    return lesson.sentences


def test_the_first_two_lines_stand_for_a_lesson_unless_its_header_names_others(tmp_path):
    assert sentences(tmp_path) == ("It is small.", "It is tiny.")
    assert sentences(tmp_path, "#     lines: [3, 1]\n") == ("It ends.", "It is small.")


def test_a_line_that_is_not_there_is_an_error_that_names_the_lesson(tmp_path):
    with pytest.raises(BuildError, match=r"00_tiny.*lines \[4\] of the 3"):
        sentences(tmp_path, "#     lines: [4]\n")


def test_each_lesson_has_two_sentences_and_one_picture():
    lessons = list(twelve_pictures.lessons(ROOT))
    assert len(lessons) == 12
    for lesson in lessons:
        assert len(lesson.sentences) == 2
        cell = twelve_pictures.picture_cell(ROOT, lesson.name)
        kinds = [kind for output in cell.outputs for kind in output.get("data", {})]
        assert kinds.count("image/svg+xml") == 1, lesson.name


@pytest.mark.parametrize("count", [0, 2])
def test_no_picture_or_two_are_refused(tmp_path, count):
    tags = {"tags": ["picture"]}
    cells = [new_code_cell("draw()", id=f"c{n}", metadata=tags) for n in range(count)]
    path = tmp_path / "notebooks" / "solutions" / "00_tiny.ipynb"
    path.parent.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells), path)
    with pytest.raises(BuildError, match=f"00_tiny has {count} cells tagged 'picture'"):
        twelve_pictures.picture_cell(tmp_path, "00_tiny")


def test_readmes_list_has_a_line_a_lesson_with_a_link():
    lines = twelve_pictures.readme_list(ROOT).splitlines()
    assert len(lines) == 12
    assert lines[5].startswith("- [05 · RoPE](notebooks/05_rope.ipynb): ")
