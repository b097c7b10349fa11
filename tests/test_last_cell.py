"""A check says so where the cell before it, which may hold the answer, did not run to its end."""

import pytest

from course_lab.checks import core
from course_lab.widgets.last_cell import LastCell


@pytest.fixture
def run(shell, monkeypatch, capsys):
    """Runs a cell in a shell whose cells are watched; returns what it shows."""
    last_cell = LastCell()
    last_cell.start()
    monkeypatch.setattr(core, "last_cell", last_cell)
    check = core.Check("double", lambda x: 2 * x, [(1,), (3,)], [], ("a", "b", "c"))
    shell.push({"check": check, "double": lambda x: 2 * x})

    def show(source):
        shell.run_cell(source)
        return capsys.readouterr().out

    return show


@pytest.mark.parametrize("broken", ["def double(x): return 2 *", "1 / 0"])
def test_after_a_cell_that_failed_a_check_says_which_version_it_judges(run, broken):
    run(broken)
    shown = run("check(double)")
    assert "right, in all 2 cases" in shown
    assert core.EARLIER in shown


def test_after_a_cell_that_ran_it_does_not(run):
    run("1 / 0")
    run("def double(x): return 2 * x")
    assert core.EARLIER not in run("check(double)")
