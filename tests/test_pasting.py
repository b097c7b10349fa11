"""No exercise of a lesson of the second edition is solved by pasting what its lesson prints."""

import json
import subprocess
import sys
from pathlib import Path

import pasting
import pasting_cells
import pytest
from nbformat.v4 import new_code_cell
from notebook_source import edition, find_lessons, lesson_name

ROOT = Path(__file__).resolve().parents[1]
SECOND = [
    path
    for path in find_lessons(ROOT)
    if edition(path) >= 2 and 'tags=["stub"]' in path.read_text(encoding="utf-8")
]


QUICK = next(path for path in SECOND if path.stem == "05_rope")


def found_in(lesson, *options):
    """What ``tools/pasting.py`` finds, in a process of its own: it runs the whole lesson."""
    command = [sys.executable, str(ROOT / "tools" / "pasting.py"), lesson_name(lesson), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    (found,) = json.loads(done.stdout).values()
    return found["exercises"]


def check_nothing_is_right(found, least):
    assert found
    for name, one in found.items():
        assert one["right"] == [], f"{name} is solved by\n{one['right'][0]}"
        assert one["tried"] > least, name


@pytest.mark.thorough
@pytest.mark.xdist_group("pasting")  # groups start early, and this test is long
def test_no_function_and_no_sample_of_what_lesson_05_prints_solves_its_exercises():
    check_nothing_is_right(found_in(QUICK, "--one-in", "16"), least=50)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(path, id=lesson_name(path), marks=pytest.mark.xdist_group(path.stem))
        for path in SECOND
    ],
)
def test_nothing_that_a_lesson_prints_or_imports_solves_its_exercises(lesson):
    check_nothing_is_right(found_in(lesson), least=100)


# That this test can fail

LESSON = """\
# %% [markdown]
# # Toy

# %%
import torch

from course_utils.checks import Check
from course_utils.checks.rules import Without


def check(reference, *cases, rules=()):
    return Check("toy", reference, list(cases), [], ("a", "b", "c"), rules=rules)


# %%
{printed}

# %% tags=["stub"]
def mine({arguments}):
    raise NotImplementedError("your turn")

# %% tags=["solution"]
def mine({arguments}):
    return {answer}

# %%
check_mine = check({lambda_}, {cases})
check_mine(mine)
"""
TWO = "(torch.tensor([1.0, 2.0]), 3), (torch.tensor([4.0, -1.0, 2.0]), 2)"


def tried(tmp_path, printed, answer, rules="", arguments="x, n", cases=TWO):
    """What passes in a lesson that prints this and asks for that."""
    lesson = tmp_path / "01_toy.py"
    right = f"lambda {arguments}: {answer}"
    lesson.write_text(
        LESSON.format(
            printed=printed,
            arguments=arguments,
            answer=answer,
            lambda_=right,
            cases=f"{cases}, {rules}",
        ),
        encoding="utf-8",
    )
    return pasting.pasted(lesson)["exercises"]["mine"]


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        ("def library(steps, rows):\n    return rows.cumsum(0) * steps", "x.cumsum(0) * n"),
        ("def library(rows, n, add=False):\n    return rows * n + add * rows", "x * n + x"),
        ("scale = 5.0\ndef library(x, scale):\n    return x * scale", "5 * x"),
        ("class Made:\n    def of(self, v):\n        return v.exp()\nmade = Made()", "x.exp()"),
        ("rows = torch.ones(4)\nprint(f'{rows.softmax(0).cumsum(0)}')", "x.softmax(0).cumsum(0)"),
        ("k = 2\nv = torch.ones(3)\na = v * k\nb = a + v.mean()\nprint(b)", "x * n + x.mean()"),
        ("v = torch.ones(3)\na = v.exp()\n# %%\nb = (a - v) ** 2\nprint(b)", "(x.exp() - x) ** 2"),
        ("def library(v):\n    return v.cos(), v.sin()", "x.sin()"),
        ("def starts(stop, step):\n    return list(range(0, stop, step))", "x - 9 // n"),
    ],
    ids=["order", "switch", "namesake", "method", "in print", "cell", "two cells", "part", "none"],
)  # fmt: skip
def test_what_can_be_pasted_is_found(printed, answer, tmp_path):
    found = tried(tmp_path, printed, answer)["right"]
    assert bool(found) == ("starts" not in printed)
    assert all(text.startswith("def mine(x, n):") for text in found)


def test_a_list_that_only_wants_counting_is_found(tmp_path):
    starts = "def starts(stop, step):\n    return list(range(0, stop, step))"
    numbers = {"arguments": "n, step", "cases": "(10, 3), (11, 4)"}
    found = tried(tmp_path, starts, "-(-n // step)", **numbers)["right"]
    assert "len(answer)" in found[0]


def test_what_a_rule_catches_is_ruled_out(tmp_path):
    rule = "rules=[Without(operations=('softmax',))]"
    found = tried(tmp_path, "v = torch.ones(3)\nprint(v.softmax(0))", "x.softmax(0)", rule)
    assert found["right"] == [] and found["ruled out"] > 0


def test_a_solution_is_no_part_of_what_is_printed(tmp_path):
    assert tried(tmp_path, "print(1)", "x.exp().cumsum(0) * n")["right"] == []


@pytest.mark.parametrize("taken", [True, False])
def test_functions_are_tried_all_and_what_is_printed_where_it_is_sampled(
    taken, tmp_path, monkeypatch
):
    monkeypatch.setattr(pasting, "sampled", lambda key, one_in: taken)
    found = tried(tmp_path, "v = torch.ones(3)\nprint(v.exp().cumsum(0))", "x.exp().cumsum(0)")
    assert bool(found["right"]) == taken
    helper = "def library(rows, steps):\n    return rows.cumsum(0) * steps"
    assert tried(tmp_path, helper, "x.cumsum(0) * n")["right"]


def test_a_sample_is_about_one_in_so_many_and_the_same_each_time():
    texts = [f"answer = x + {number}" for number in range(800)]
    some = [text for text in texts if pasting_cells.sampled(text, 8)]
    assert 60 <= len(some) <= 140
    assert some == [text for text in texts if pasting_cells.sampled(text, 8)]
    assert all(pasting_cells.sampled(text, 1) for text in texts)


def test_of_a_sample_only_what_its_cells_and_the_exercises_need_is_run():
    cells = [
        new_code_cell(source, id=name, metadata={"tags": tags})
        for name, source, tags in [
            ("start", "start = [1]", []),
            ("slow", "unused = start * 1000", []),
            ("grows", "start.append(2)\nrows = start", []),
            ("helper", "def helper(n):\n    return n + rows[0]", []),
            ("stub", "def mine(n):\n    raise NotImplementedError", ["stub"]),
            ("check", "check = tools(mine)", []),
            ("taken", "print(helper(3))", []),
            ("after", "later = helper(4)", []),
        ]
    ]
    assert pasting_cells.needed(cells, {"taken"}) == {"start", "grows", "check", "taken"}
    assert pasting_cells.needed(cells, set()) == {"check"}
    assert pasting_cells.needed(cells, {"slow"}) == {"start", "slow", "check"}
    space = pasting_cells.run(cells[:-3], {"start", "grows"})
    assert space["rows"] == [1, 2] and space["helper"](1) == 2 and "unused" not in space
