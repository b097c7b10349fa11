"""What README.md, CONTRIBUTING.md and docs/ name: lessons, files and commands that exist."""

import re
from pathlib import Path

import pytest
import test_layers
from notebook_source import find_lessons, is_closer, lesson_name

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "site/CONTRIBUTING.md")),
    *sorted((ROOT / "docs").glob("*.md")),
]


def test_the_table_names_every_lesson_there_is_and_no_other():
    listed = re.findall(r"^\| \[(\d\d) ", README, re.MULTILINE)
    assert listed == [path.name[:2] for path in sorted((ROOT / "lessons").glob("*.py"))]


def test_a_closer_look_is_linked_in_the_row_of_its_lesson():
    names = [lesson_name(path) for path in find_lessons(ROOT) if is_closer(path)]
    rows = re.findall(r"^\| \[\d\d .*", README, re.MULTILINE)
    listed = {row[3:5]: re.findall(r"\(notebooks/(closer/\w+)\.ipynb\)", row) for row in rows}
    for number, closer in listed.items():
        assert closer == [name for name in names if name.startswith(f"closer/{number}")]


def test_the_picture_of_the_house_names_every_part_that_the_layers_do():
    picture = (ROOT / "docs" / "house.svg").read_text(encoding="utf-8")
    names = re.findall('class="name"[^>]*>([a-z_]+)<', picture)
    assert set(names) == {*test_layers.PROJECT, "data"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_link_leads_to_a_file(page):
    links = re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert links or page != ROOT / "README.md"
    assert [link for link in links if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_file_it_names_exists(page):
    folders = "course_lab|course_utils|course_experiments|docs|site|tests|tools"
    names = re.findall(rf"`((?:{folders})/[\w./]*\.\w+)`", page.read_text(encoding="utf-8"))
    templates = ("NAME", "NN")  # stand for a name that an author chooses
    there = [name for name in names if not any(part in name for part in templates)]
    assert [name for name in there if not (ROOT / name).is_file()] == []


def test_every_make_command_it_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for command in re.findall(r"(?:^|`)make ([\w-]+)", page.read_text("utf-8"), re.MULTILINE):
            assert f"\n{command}:" in makefile, command
