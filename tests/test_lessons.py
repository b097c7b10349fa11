"""What every lesson keeps to: its parts, short cells, short texts."""

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
SUBJECTS = [path for path in LESSONS if not path.name.startswith("00") and not is_closer(path)]


read = functools.cache(jupytext.read)


def cells(path, kind=None):
    found = read(path).cells
    return [cell for cell in found if kind is None or cell.cell_type == kind]


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
        code = "\n".join(cell.source for cell in cells(path, "code"))
        assert not re.search(r"encodings(\.| import\b.*\b)(NAMES|known_names|_SCHEMES)", code), path


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
def test_code_cells_have_at_most_twenty_lines(path):
    long = [
        cell.source.splitlines()[0]
        for cell in cells(path, "code")
        if PLUMBING not in tags(cell)
        and sum(bool(line.strip()) for line in cell.source.splitlines()) > 20
    ]
    assert long == []


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
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


@pytest.mark.parametrize("path", SUBJECTS, ids=lesson_name)
@pytest.mark.parametrize(
    "part",
    [
        "**Question:**", "**Builds on:**", "**Doors:**", "**Look:**", "## Exercises",
        "## Myth check", "## In five lines", "**Read next:**", "predict(", "_from_scratch",
        "assert ",
    ],
)  # fmt: skip
def test_a_lesson_has_every_part_of_its_anatomy(path, part):
    assert part in "\n".join(cell.source for cell in cells(path))


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
def test_the_build_fills_in_how_long_a_lesson_takes(path):
    assert "**Time:** {minutes}." in cells(path)[0].source


@pytest.mark.parametrize("path", SUBJECTS, ids=lesson_name)
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


@pytest.mark.parametrize("path", [path for path in SUBJECTS if edition(path) == 1], ids=lesson_name)
@pytest.mark.parametrize("part", ["Find the bug", "fingerprint(", "passport(", "plots.entropy("])
def test_a_lesson_of_the_first_edition_measures_its_encoding_in_every_way(path, part):
    assert part in "\n".join(cell.source for cell in cells(path))


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
def test_a_lesson_of_the_second_edition_keeps_within_its_budget(path):
    assert excess(lesson_name(path), count(read_lesson(path)), limits(path)) is None


@pytest.mark.parametrize("path", [path for path in LESSONS if not is_closer(path)], ids=lesson_name)
def test_a_lesson_has_an_explorer(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    assert re.search(r"^(explorers\.\w+|widgets\.explore)\(", code, re.M)


@pytest.mark.parametrize("path", SUBJECTS, ids=lesson_name)
def test_a_lesson_has_some_exercises_each_with_stub_and_solution(path):
    text = "\n".join(cell.source for cell in cells(path, "markdown"))
    numbers = re.findall(r"\*\*Exercise (\d) ★+ ", text)
    stubs, solutions = (
        [re.findall(r"^def (\w+)", cell.source, re.M) for cell in cells(path) if tag in tags(cell)]
        for tag in ("stub", "solution")
    )
    assert len(numbers) in (range(3, 6) if edition(path) == 1 else range(1, 4))
    assert numbers == [str(n + 1) for n in range(len(numbers))]
    assert stubs == solutions and len(stubs) == len(numbers)


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
def test_a_learner_sees_no_plumbing(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    assert not re.search(r"\btry:|sys\.path|importlib|warnings\.|# noqa|# fmt", code)


@pytest.mark.parametrize("path", SUBJECTS, ids=lesson_name)
def test_every_myth_is_settled(path):
    code = "\n".join(cell.source for cell in cells(path, "code"))
    asked = re.findall(r'^\s+"(C\d\d)":', code, re.M)
    settled = re.findall(r'myths\.(?:settle|leave_open)\(\s*"(C\d\d)"', code)
    assert asked and sorted(asked) == sorted(settled)


@pytest.mark.parametrize("path", LESSONS, ids=lesson_name)
def test_links_between_lessons_lead_somewhere(path):
    text = "\n".join(cell.source for cell in cells(path, "markdown"))
    for target in re.findall(r"\]\(([\w./]+\.ipynb)\)", text):
        assert (path.parent / target).with_suffix(".py").exists()
