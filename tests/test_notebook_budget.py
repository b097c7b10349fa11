"""What a lesson asks of a learner, counted; and lessons of the second edition that ask too much."""

from pathlib import Path

import build_notebooks
import notebook_budget
import notebook_source
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_budget import CLOSER_LIMITS, LIMITS, Budget, count, excess, table, with_time
from test_build_notebooks import cells, course, place

EMPTY = Budget(0, (), 0, 0, 0, (), 0)
EDITION = """\
# ---
# jupyter:
#   order_matters:
#     edition: 2
# ---

"""
LESSON = "# %% [markdown]\n# # A lesson\n#\n# **Time:** {minutes}. **Builds on:** 01.\n"


def code(source, *tags):
    return new_code_cell(source, metadata={"tags": list(tags)})


# Counting


@pytest.mark.parametrize(
    ("markdown", "words"),
    [
        ("Attention is blind.", 3),
        ("# A title\n\n- one\n- two", 4),
        ("the model's loss falls", 4),
        ("where $a + b = c$ holds", 2),
        ("where\n\n$$\na + b\n= c\n$$\n\nholds", 2),
        ("[lesson 07](07_train_short.ipynb) asks", 3),
        ("see https://example.org/a/b for it", 3),
        ("a <!-- note to authors --> b", 2),
        ("`my_slopes` of 12 heads", 4),
        ("| a | b |\n|---|---|\n| 1 | 2 |", 4),
    ],
)
def test_words_are_those_of_prose(markdown, words):
    assert notebook_budget.words(markdown) == words


def test_lines_are_neither_blank_nor_comments():
    assert notebook_budget.lines('x = 1  # one\n\n# a comment\n    y = 2\n    """words"""') == 3


def test_a_lesson_is_counted_as_its_learner_sees_it():
    found = count(
        [
            new_markdown_cell("one two\n\n**Exercise 1 ★ Slopes.** three"),
            new_markdown_cell("**Exercise 2 ★★★ Window.**"),
            code("course_lab.start(doors=['bias'])"),
            code("fig = 1\nplots.show(fig, 'a')\nplots.show(fig, 'b')"),
            code("plots.show(fig, 'c')\n" * 30, "plumbing"),
            code("guess = widgets.predict('?', [1, 2])\nother = widgets.predict_number('?')"),
            code("widgets.explore(explorers.waves, size=(1, 2))"),
            code("explorers.frequencies(base=100)"),
            code("new = explorers.unseen(1)\nmeasured = explorers.measured('rope')"),
            code("def mine():\n    raise NotImplementedError('your turn')", "stub"),
            code("def mine():\n    a = 1\n    b = 2\n    return a + b", "solution"),
            code("claims = {'C1': Claim('x'), 'C2': claims.Claim('y')}"),
        ]
    )
    assert found == Budget(
        words=9, cells=(1, 3, 2, 1, 1, 2, 2, 1), figures=33, predictions=2, explorers=2,
        stars=(1, 3), claims=2,
    )  # fmt: skip


def test_minutes_follow_the_courses_formula():
    assert Budget(1500, (100, 20), 8, 4, 2, (1, 2, 3), 4).minutes == pytest.approx(
        1500 / 150 + 120 / 12 + 8 / 2 + 4 / 2 + 2 * 2 + 4 + 7 + 10
    )
    assert EMPTY.minutes == 0


# Limits


@pytest.mark.parametrize(
    ("budget", "column"),
    [
        (Budget(0, (), 0, 0, 0, (3, 3, 3), 0), None),
        (Budget(0, (), 0, 0, 0, (3, 3, 3, 1), 0), "exercises"),
        (Budget(1401, (), 0, 0, 0, (), 0), "words"),
        (Budget(1400, (8,), 8, 5, 2, (1, 1, 1), 4), None),
        (Budget(0, (8,) * 28, 0, 0, 0, (), 0), "lines"),
        (Budget(0, (), 9, 0, 0, (), 0), "figures"),
        (Budget(0, (), 0, 6, 0, (), 0), "predictions"),
        (Budget(0, (), 0, 0, 3, (), 0), "explorers"),
        (Budget(0, (), 0, 0, 0, (), 5), "claims"),
        (Budget(0, (9, 8), 0, 0, 0, (), 0), "mean cell"),
        (Budget(0, (16, 0), 0, 0, 0, (), 0), "longest"),
        (Budget(1400, (8,) * 27, 8, 5, 2, (3,), 0), "minutes"),
    ],
)
def test_a_core_lesson_has_a_limit_for_each_number(budget, column):
    assert list(budget.over(LIMITS)) == ([column] if column else [])


def test_a_closer_look_may_take_an_hour_of_short_cells():
    long = Budget(6000, (8,) * 27, 1, 1, 0, (), 9)
    assert 58 < long.minutes < 60 and excess("x", long, CLOSER_LIMITS) is None
    longer = Budget(6600, (16, 1), 1, 1, 0, (), 9)
    assert list(longer.over(CLOSER_LIMITS)) == ["mean cell", "longest"]
    assert list(Budget(9001, (), 0, 0, 0, (), 0).over(CLOSER_LIMITS)) == ["minutes"]


def test_what_is_too_much_is_said_with_its_limit():
    found = excess("09_x", Budget(1500, (9, 10), 9, 0, 0, (), 0), LIMITS)
    assert found == (
        "09_x is over its budget: words 1500, at most 1400; figures 9, at most 8; "
        "mean cell 9.5, at most 8"
    )


def test_the_table_marks_what_is_above_the_limits_that_a_lesson_has():
    much = Budget(1500, (4,), 2, 0, 0, (), 0)
    text = table({"old": much, "new": much}, {"new": LIMITS})
    head, old, new, most = text.splitlines()
    assert head.split()[:3] == ["minutes", "words", "lines"]
    assert old.split()[:5] == ["old", "11.3", "1,500", "4", "2"]
    assert new.split()[:5] == ["new", "11.3", "1,500!", "4", "2"]
    assert most.split()[-10:-6] == ["45", "1,400", "220", "8"]
    assert len({len(line) for line in text.splitlines()}) == 1


# In the build


@pytest.mark.parametrize(("minutes", "told"), [(1, 5), (42.4, 40), (42.6, 45), (104, 105)])
def test_the_title_tells_the_counted_time(minutes, told):
    title = "# T\n\n**Time:** {minutes}. **Builds on:** 01. **Time:** is short"
    assert with_time(title, minutes) == title.replace("{minutes}", f"about {told} minutes")
    assert with_time("# T", minutes) == "# T"


def words(n):
    return "\n# %% [markdown]\n# " + "word " * n + "\n\n# %%\nprint(1)\n"


def prepared(root: Path, name: str = "01_tiny"):
    project = notebook_source.read_project(root)
    return notebook_source.inputs(
        notebook_source.Target(project, root / f"lessons/{name}.py", False)
    )


def test_the_notebook_tells_the_time_that_the_build_counted(tmp_path):
    title = prepared(course(tmp_path, LESSON + words(3000))).cells[0].source
    assert "**Time:** about 20 minutes. **Builds on:** 01." in title


@pytest.mark.parametrize(("header", "fails"), [("", False), (EDITION, True)])
def test_only_a_lesson_of_the_second_edition_fails_past_its_budget(tmp_path, capsys, header, fails):
    root = course(tmp_path, header + LESSON + words(1500))
    assert build_notebooks.main(["--budget", "--root", str(root)]) == int(fails)
    shown = capsys.readouterr()
    assert "01_tiny" in shown.out and "1,5" in shown.out
    told = "01_tiny is over its budget: words 1507, at most 1400"
    assert (told in shown.err) == fails
    assert not (root / "notebooks").exists(), "it only counts"
    assert (told in "\n".join(build_notebooks.check(root))) == fails


def test_a_build_prints_the_budget_and_fails_past_it(tmp_path, capsys):
    root = course(tmp_path, EDITION + LESSON + words(1500))
    place(root, "lessons/02_short.py", EDITION + LESSON + words(10))
    assert build_notebooks.main(["--lessons", "02", "--root", str(root)]) == 0
    shown = capsys.readouterr()
    assert "02_short" in shown.out and "01_tiny" not in shown.out and not shown.err
    assert len(cells((root / "notebooks/02_short.ipynb").read_bytes())) == 4
    assert build_notebooks.main(["--lessons", "01", "--root", str(root)]) == 1
    assert "words 1507, at most 1400" in capsys.readouterr().err


def test_a_closer_look_is_of_the_second_edition_whatever_its_header_says(tmp_path):
    root = course(tmp_path, LESSON)
    path = place(root, "lessons/closer/01_more.py", LESSON + words(10_000))
    assert notebook_source.edition(path) == 2
    assert notebook_source.limits(path) == CLOSER_LIMITS
    assert notebook_source.limits(root / "lessons/01_tiny.py") == {}


def test_a_header_may_raise_a_limit(tmp_path):
    longer = EDITION.replace("edition: 2", "edition: 2\n#     limits:\n#       minutes: 60")
    root = course(tmp_path, longer + LESSON)
    path = root / "lessons/01_tiny.py"
    assert notebook_source.limits(path) == {**LIMITS, "minutes": 60}
    path.write_text(EDITION + LESSON, encoding="utf-8")
    assert notebook_source.limits(path) == LIMITS
