"""An error that a lesson means to raise is one line; a mistake keeps its traceback."""

import re

import pytest

from course_lab.widgets.meant_errors import MeantErrors


@pytest.fixture
def run(shell, monkeypatch, capsys):
    """Runs a cell with these tags in a shell that was told of them; returns what it shows."""
    shortened = MeantErrors()
    shortened.start()
    shortened.start()  # a lesson's first cell may run twice

    def show(source, tags):
        metadata = {"metadata": {} if tags is None else {"tags": tags}}
        monkeypatch.setattr(shell, "get_parent", lambda: metadata, raising=False)
        shell.run_cell(source)
        return re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out).strip()

    return show


def test_a_meant_error_is_one_line(run):
    assert run("1 / 0", ["raises-exception"]) == "ZeroDivisionError: division by zero"


@pytest.mark.parametrize("tags", [None, [], ["plumbing"]])
def test_a_mistake_keeps_its_traceback_even_after_a_meant_error(run, tags):
    run("1 / 0", ["raises-exception"])
    shown = run("1 / 0", tags)
    assert "Traceback" in shown and "----> 1" in shown


def test_no_error_changes_nothing(run):
    assert run("print(2)", ["raises-exception"]) == "2"
    assert "Traceback" in run("1 / 0", [])
