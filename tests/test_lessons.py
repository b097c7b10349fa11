"""Rules for every lesson: its parts, short cells, short texts."""

import ast
import functools
import re
from pathlib import Path

import jupytext
import lesson_titles
import pytest
from notebook_budget import count, excess, words
from notebook_folds import PLUMBING
from notebook_source import edition, find_lessons, is_closer, lesson_name, limits, read_lesson

from course_utils.encodings import create
from course_utils.encodings.base import DOORS

ROOT = Path(__file__).parent.parent
LESSONS = find_lessons(ROOT)
CORE = [path for path in LESSONS if not is_closer(path)]
SUBJECTS = [path for path in CORE if not path.name.startswith("00")]
PARTS = """\
**Question:**
**Builds on:**
**Doors:**
**Look:**
## Exercises
## Myth check
## In five lines
**Read next:**
predict(
_from_scratch
assert """
# In the capstone the learner writes a test and an encoding, which its story uses from there on.
NOT_IN_CAPSTONE = {"## Exercises", "_from_scratch", "assert "}
# Of the first edition, which measures its encoding in every way.
FIRST_EDITION = ["Find the bug", "fingerprint(", "passport(", "figures.entropy("]
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
every_core_lesson = pytest.mark.parametrize("path", CORE, ids=lesson_name)
every_subject = pytest.mark.parametrize("path", SUBJECTS, ids=lesson_name)
read = functools.cache(jupytext.read)


def cells(path, kind=None):
    return [cell for cell in read(path).cells if kind is None or cell.cell_type == kind]


def text(path, kind=None):
    return "\n".join(cell.source for cell in cells(path, kind))


def tags(cell):
    return set(cell.metadata.get("tags", []))


def header(path):
    """What the lesson passes to ``course_lab.start``, by name."""
    start = next(cell.source for cell in cells(path, "code"))
    call = next(node for node in ast.walk(ast.parse(start)) if isinstance(node, ast.Call))
    assert ast.unparse(call.func) == "course_lab.start"
    return {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords}


def test_one_more_encoding_changes_no_lesson():
    """Lessons list what their tables have, not what ``create`` knows."""
    for path in LESSONS:
        listing = re.search(
            r"encodings(\.| import\b.*\b)(NAMES|known_names|_SCHEMES)", text(path, "code")
        )
        assert not listing, path


@every_lesson
def test_code_cells_have_at_most_twenty_lines(path):
    long = [
        cell.source.splitlines()[0]
        for cell in cells(path, "code")
        if PLUMBING not in tags(cell)
        and sum(bool(line.strip()) for line in cell.source.splitlines()) > 20
    ]
    assert long == []


@every_lesson
def test_at_most_120_words_stand_between_two_code_cells(path):
    total, too_long = 0, []
    for cell in cells(path):
        if cell.cell_type == "code" or cell.source.startswith("# "):
            total = 0  # the build puts a code cell after the title
            continue
        total += words(cell.source)
        if total > 120:
            too_long.append((cell.source.splitlines()[0], total))
    assert too_long == []


@every_subject
def test_a_lesson_has_every_part_of_its_anatomy(path):
    parts = set(PARTS.splitlines() + (FIRST_EDITION if edition(path) == 1 else []))
    if path.name == "11_capstone.py":
        parts -= NOT_IN_CAPSTONE
    assert {part for part in parts if part not in text(path)} == set()


@every_lesson
def test_the_build_fills_in_how_long_a_lesson_takes(path):
    assert "**Time:** {minutes}." in cells(path)[0].source


@every_subject
def test_the_strip_shows_the_doors_that_the_title_names(path):
    title = cells(path)[0].source
    opened = [number for number, door in enumerate(DOORS, 1) if door in header(path)["doors"]]
    if "**Doors:** all four." in title or "**Doors:** yours to choose." in title:
        assert opened == [1, 2, 3, 4]
    else:
        named = lesson_titles.read(title).doors
        assert named == (", ".join(map(str, opened)) or "–")


@pytest.mark.parametrize(
    ("number", "encodings"),
    [
        ("01", ["none"]),
        ("02", ["sinusoidal"]),
        ("03", ["learned"]),
        ("04", ["shaw", "transformer_xl", "t5", "deberta"]),
        ("05", ["rope"]),
        ("06", ["alibi"]),
        ("08", ["rope"]),
    ],
)
def test_the_strip_shows_the_doors_that_the_lessons_encodings_open(number, encodings):
    path = next(path for path in SUBJECTS if path.name.startswith(number))
    opened = {name: create(name, d_model=64, n_heads=4).doors for name in encodings}
    assert set(header(path)["doors"]) == {door for doors in opened.values() for door in doors}
    if "description" in header(path):
        for name, doors in opened.items():
            assert f"{name}: {', '.join(doors)}" in header(path)["description"]


@every_lesson
def test_a_lesson_of_the_second_edition_keeps_within_its_budget(path):
    assert excess(lesson_name(path), count(read_lesson(path)), limits(path)) is None


@every_core_lesson
def test_a_lesson_has_an_explorer(path):
    assert re.search(r"^(explorers\.\w+|widgets\.explore)\(", text(path, "code"), re.M)


@every_subject
def test_a_lesson_has_some_exercises_each_with_stub_and_solution(path):
    numbers = re.findall(r"\*\*Exercise (\d) ★+ ", text(path, "markdown"))
    stubs, solutions = (
        [
            re.findall(r"^(?:def|class) (\w+)", cell.source, re.M)
            for cell in cells(path)
            if tag in tags(cell)
        ]
        for tag in ("stub", "solution")
    )
    assert len(numbers) in (range(3, 6) if edition(path) == 1 else range(1, 4))
    assert numbers == [str(n + 1) for n in range(len(numbers))]
    assert stubs == solutions and len(stubs) == len(numbers)


@every_lesson
def test_a_learner_sees_no_plumbing(path):
    plumbing = r"\btry:|sys\.path|importlib|warnings\.|# noqa|# fmt"
    assert not re.search(plumbing, text(path, "code"))


@every_subject
def test_every_myth_is_settled(path):
    code = text(path, "code")
    claims = re.findall(r'^\s+"(C\d\d)":', code, re.M)
    settled = re.findall(r'myths\.(?:settle|leave_open)\(\s*"(C\d\d)"', code)
    assert claims and sorted(claims) == sorted(settled)


@every_lesson
def test_links_between_lessons_lead_somewhere(path):
    for target in re.findall(r"\]\(([\w./]+\.ipynb)\)", text(path, "markdown")):
        assert (path.parent / target).with_suffix(".py").exists()
