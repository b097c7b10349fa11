"""The counted size of lessons, and lessons of the second edition that exceed their limits."""

import build_notebooks
import notebook_budget
import notebook_source
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell
from notebook_budget import CLOSER_LIMITS, LIMITS, Budget, count, excess, table, with_time
from tiny_course import cells, course, place, prepared

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
    counts = count(
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
    assert counts == Budget(
        words=9,
        cells=(1, 3, 2, 1, 1, 2, 2, 1),
        figures=33,
        predictions=2,
        explorers=2,
        stars=(1, 3),
        claims=2,
    )


def test_minutes_are_those_of_readers_with_a_clock():
    lesson = Budget(
        words=1500, cells=(100, 20), figures=8, predictions=4, explorers=2, stars=(1, 2, 3)
    )
    assert lesson.thread == 1500 / 100 + 120 / 6 + 8 + 4 + 4 * 2
    assert lesson.practice == 8 + 12 + 18
    assert lesson.minutes == lesson.thread + lesson.practice
    assert Budget().minutes == 0


# Limits


@pytest.mark.parametrize(
    ("budget", "columns"),
    [
        (Budget(words=1400, cells=(8,), figures=8, predictions=4, explorers=2, claims=4), []),
        (Budget(stars=(3, 2)), []),
        (Budget(stars=(3, 3)), ["practice"]),
        (Budget(stars=(1, 1, 1, 1)), ["practice", "exercises"]),
        (Budget(words=1401), ["words"]),
        (Budget(cells=(8,) * 28), ["lines"]),
        (Budget(figures=9), ["figures"]),
        (Budget(predictions=5), ["predictions"]),
        (Budget(explorers=3), ["explorers"]),
        (Budget(claims=5), ["claims"]),
        (Budget(cells=(9, 8)), ["mean cell"]),
        (Budget(cells=(16, 0)), ["longest"]),
        (Budget(words=1400, cells=(8,) * 18, figures=8, predictions=4), []),
        (Budget(words=1400, cells=(8,) * 18, figures=8, explorers=2), ["thread"]),
    ],
)
def test_a_core_lesson_has_a_limit_for_each_number(budget, columns):
    assert list(budget.over(LIMITS)) == columns


def test_a_closer_look_may_take_an_hour_of_short_cells():
    hour = Budget(words=2000, cells=(8,) * 27, figures=2, predictions=1, claims=9)
    assert 58 < hour.minutes < 60 and excess("x", hour, CLOSER_LIMITS) is None
    assert list(Budget(cells=(16, 1)).over(CLOSER_LIMITS)) == ["mean cell", "longest"]
    assert list(Budget(words=9001).over(CLOSER_LIMITS)) == ["minutes"]


def test_an_excess_is_named_with_its_limit():
    long = Budget(words=1500, cells=(9, 10), figures=9)
    assert excess("09_x", long, LIMITS) == (
        "09_x is over its budget: words 1500, at most 1400; figures 9, at most 8; "
        "mean cell 9.5, at most 8"
    )


def test_the_table_marks_numbers_above_the_limits_that_a_lesson_has():
    long = Budget(words=1500, cells=(4,), figures=2)
    text = table({"old": long, "new": long}, {"new": LIMITS})
    head, old, new, most = text.splitlines()
    assert head.split()[:4] == ["minutes", "thread", "practice", "words"]
    assert old.split()[:6] == ["old", "17.7", "17.7", "0", "1,500", "4"]
    assert new.split()[:6] == ["new", "17.7", "17.7", "0", "1,500!", "4"]
    assert most.split()[-11:-7] == ["50", "30", "1,400", "220"]
    assert len({len(line) for line in text.splitlines()}) == 1


# In the build


@pytest.mark.parametrize(
    ("budget", "stated"),
    [
        (Budget(words=100), "about 5 minutes"),
        (Budget(words=4240), "about 40 minutes"),
        (Budget(words=4260), "about 45 minutes"),
        (Budget(words=10_400, stars=(1, 2)), "about 105 minutes, and 20 for the exercises"),
    ],
)
def test_the_title_states_the_counted_time(budget, stated):
    title = "# T\n\n**Time:** {minutes}. **Builds on:** 01. **Time:** is short"
    assert with_time(title, budget) == title.replace("{minutes}", stated)
    assert with_time("# T", budget) == "# T"


def words(n):
    return "\n# %% [markdown]\n# " + "word " * n + "\n\n# %%\nprint(1)\n"


def test_the_notebook_states_the_time_that_the_build_counted(tmp_path):
    title = prepared(course(tmp_path, LESSON + words(3000))).cells[0].source
    assert "**Time:** about 30 minutes. **Builds on:** 01." in title


@pytest.mark.parametrize(("header", "fails"), [("", False), (EDITION, True)])
def test_only_a_lesson_of_the_second_edition_fails_past_its_budget(tmp_path, capsys, header, fails):
    root = course(tmp_path, header + LESSON + words(1500))
    assert build_notebooks.main(["--budget", "--root", str(root)]) == int(fails)
    shown = capsys.readouterr()
    assert "01_tiny" in shown.out and "1,5" in shown.out
    message = "01_tiny is over its budget: words 1507, at most 1400"
    assert (message in shown.err) == fails
    assert not (root / "notebooks").exists(), "it only counts"
    assert (message in "\n".join(build_notebooks.check(root))) == fails


def test_a_build_prints_the_budget_and_fails_past_it(tmp_path, capsys):
    root = course(tmp_path, EDITION + LESSON + words(1500))
    place(root, "lessons/02_short.py", EDITION + LESSON + words(10))
    assert build_notebooks.main(["--lessons", "02", "--root", str(root)]) == 0
    shown = capsys.readouterr()
    assert "02_short" in shown.out and "01_tiny" not in shown.out and not shown.err
    assert len(cells(root / "notebooks/02_short.ipynb")) == 4
    assert build_notebooks.main(["--lessons", "01", "--root", str(root)]) == 1
    assert "words 1507, at most 1400" in capsys.readouterr().err


def test_a_closer_look_is_of_the_second_edition_whatever_its_header_says(tmp_path):
    root = course(tmp_path, LESSON)
    path = place(root, "lessons/closer/01_more.py", LESSON + words(10_000))
    assert notebook_source.edition(path) == 2
    assert notebook_source.limits(path) == CLOSER_LIMITS
    assert notebook_source.limits(root / "lessons/01_tiny.py") == {}


def test_a_header_may_raise_a_limit(tmp_path):
    longer = EDITION.replace("edition: 2", "edition: 2\n#     limits:\n#       thread: 60")
    root = course(tmp_path, longer + LESSON)
    path = root / "lessons/01_tiny.py"
    assert notebook_source.limits(path) == {**LIMITS, "thread": 60}
    path.write_text(EDITION + LESSON, encoding="utf-8")
    assert notebook_source.limits(path) == LIMITS
