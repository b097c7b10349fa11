"""make claims: what it compares, what it lets pass, and what makes it fail."""

import claims_again
import claims_table
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course_utils.claims import CLAIM_MIME

TWO = {"summer": True, "winter": False}


def told(verdict="false", cases=None, key="C01", **more):
    """A claim as a cell emits it."""
    parts = {"id": key, "claim": "It melts.", "scope": "outside", "evidence": "exact"}
    found = {"verdict": verdict, "measured": "Seen at 0.9: ice.", "cases": cases or TWO}
    return {**parts, **found, **more}


def row(verdict="false", cases=None, there=None):
    """The claim's row in the ledger, with what a real model said where there is one."""
    bundles = [told(verdict, cases)]
    if there:
        bundles.append({**told(*there), "model": "Titan"})
    cell = new_code_cell(
        "…", outputs=[new_output("display_data", {CLAIM_MIME: b}) for b in bundles]
    )
    return claims_table.settled(new_notebook(cells=[cell]), "01_snow")


@pytest.mark.parametrize(
    ("then", "now", "line"),
    [
        (row(), row(), None),
        (row(cases={"a": False}), row(cases={"b": False}), None),  # not written where all agree
        (
            row(cases={"summer": True, "autumn": False}),
            row(cases={"autumn": False, "summer": True}),
            None,
        ),
        (row(), row("true", {"summer": True}), "C01: false is now true"),
        (row(), row(cases={"summer": True, "winter": True}), "C01: a case is another one"),
        (row(), row(cases={"summer": False, "winter": True}), "C01: a case is another one"),
        (row(), row(cases={**TWO, "spring": True}), "C01: a case is another one"),
        (row(), row(cases={"summer": True, "autumn": False}), "C01: a case is another one"),
        (row(), [], "C01: no longer settled"),
        ([], row(), "C01: not in the file"),
        (row(there=["true", TWO]), row(there=["true", TWO]), None),
        (row(there=["true"]), row(there=["false"]), "C01 in a real model: true is now false"),
        (row(there=["true"]), row(), "C01 in a real model: true is now not asked"),
        (
            row(there=["true", TWO]),
            row(there=["true", {"summer": False, "winter": True}]),
            "C01 in a real model: a case is another one",
        ),
    ],
)
def test_verdicts_and_cases_are_compared(then, now, line):
    found = claims_again.differences(then, now)
    assert [one.startswith(line) for one in found] == [True] if line else found == []


def test_numbers_may_move():
    then, now = row(), row()
    now[0]["measured"] = now[0]["measured"].replace("0.9", "0.8")
    assert then != now and claims_again.differences(then, now) == []


def test_without_its_model_what_a_model_said_is_passed_over():
    then, now = row(there=["true"]), row()
    assert claims_again.differences(then, now, models=False) == []
    assert claims_again.differences(then, row("true"), models=False) == ["C01: false is now true"]


PYPROJECT = """\
[project]
name = "tiny"
version = "1.2.3"
[project.urls]
Repository = "https://github.com/someone/tiny"
"""
LESSON = """\
# %% [markdown]
# # Snow

# %% tags=["stub"]
raise SystemError("a stub is left out")

# %%
{code}

# %%
raise SystemError("what stands after the last claim is not run")
"""
# What myths.settle(…) shows, without a course_utils of its own.
CODE = "from IPython.display import display\ndisplay({{{mime!r}: {told!r}}}, raw=True)"


def emitting(shown):
    """A cell that emits a claim."""
    return f"# myths.settle(…)\n{CODE.format(mime=CLAIM_MIME, told=shown)}"


@pytest.fixture
def course(tmp_path):
    """A course of one lesson with this cell, whose ledger says what was settled before."""

    def made(shipped, code):
        for folder in ("lessons", "data", "course_utils", "notebooks/solutions"):
            (tmp_path / folder).mkdir(parents=True)
        texts = {
            "pyproject.toml": PYPROJECT,
            "course_utils/__init__.py": "",
            "lessons/01_snow.py": LESSON.format(code=code),
        }
        for name, text in texts.items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / "data" / "claims.csv").write_bytes(claims_table.table(shipped))
        return ["--root", str(tmp_path), "--jobs", "1"]

    return made


def test_a_claim_that_holds_passes(course, capsys):
    assert claims_again.main(course(row(), emitting(told()))) == 0
    assert "1 claims settled again" in capsys.readouterr().out


def test_a_claim_that_has_changed_fails(course, capsys):
    asked = course(row(), emitting(told("true", {"summer": True})))
    assert claims_again.main(asked) == 1
    assert "C01: false is now true" in capsys.readouterr().out


def test_a_lesson_that_stops_fails(course, capsys):
    assert claims_again.main(course(row(), "1 / 0  # myths.settle(…)")) == 1
    said = capsys.readouterr().out
    assert "it stopped" in said and "ZeroDivisionError" in said


def test_a_lesson_that_settles_nothing_any_more_fails(course, capsys):
    assert claims_again.main(course(row(), "print('snow')")) == 1
    assert "C01: no longer settled" in capsys.readouterr().out


def test_an_unknown_lesson_is_refused(course, capsys):
    with pytest.raises(SystemExit):
        claims_again.main([*course(row(), ""), "--lessons", "77"])
    assert "no lesson '77'" in capsys.readouterr().err
