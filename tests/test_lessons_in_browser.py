"""Lessons in JupyterLab, as learners have them: all cells run, and all that can be touched is.

Run with -s to see how long explorers take.
"""

import re
import shutil
import statistics
from pathlib import Path
from typing import Any

import nbformat
import pytest
from browser import SECONDS, open_and_run
from site_reader import OF_THE_KERNEL, moved_by_a_key

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
LESSONS = [
    path
    for path in sorted(NOTEBOOKS.rglob("*.ipynb"))
    if "solutions" not in path.relative_to(NOTEBOOKS).parts
]
CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"
SHUT_DOWN = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"
# A learner types a cell below the last one, and runs it.
TYPE = """async (source) => {
    const { commands, shell } = window.jupyterapp, { content } = shell.currentWidget;
    content.activeCellIndex = content.widgets.length - 1;
    await commands.execute('notebook:insert-cell-below');
    content.activeCell.model.sharedModel.setSource(source);
    await commands.execute('notebook:run-cell');
    const { outputs } = content.activeCell.model.toJSON();
    return outputs.map((output) => output.data?.['text/plain'] ?? output.text ?? output.evalue)
        .join('');
}"""


@pytest.fixture(scope="module", params=LESSONS, ids=lambda path: path.stem)
def page(request, browser, jupyterlab):
    """A lesson in JupyterLab, run."""
    folder, address, token = jupyterlab
    shutil.copy(request.param, folder)
    opened = browser.new_page(viewport={"width": 1200, "height": 1000})
    opened.complaints = []
    opened.on("pageerror", lambda error: opened.complaints.append(str(error)))
    open_and_run(opened, address, token, request.param.name)
    opened.source = nbformat.read(request.param, as_version=4)
    yield opened
    opened.evaluate(SHUT_DOWN)
    opened.close()


def code(page: Any) -> str:
    return "\n".join(cell.source for cell in page.source.cells if cell.cell_type == "code")


def test_every_cell_runs_without_an_error(page):
    names = [cell.id for cell in page.source.cells if cell.cell_type == "code"]
    cells = [cell for cell in page.evaluate(CELLS) if cell["id"] in names]  # none typed since
    assert [cell["id"] for cell in cells] == names
    for cell in cells:
        raised = [out["ename"] for out in cell["outputs"] if out["output_type"] == "error"]
        on_purpose = "raises-exception" in cell["metadata"].get("tags", [])
        assert bool(raised) == on_purpose, (cell["source"], raised)
    waiting = [cell["source"] for cell in cells if not cell["execution_count"]]
    assert [source for source in waiting if "".join(source).strip()] == []


def test_every_prediction_can_be_made_and_is_recorded(page):
    questions = page.locator(".om-question")
    assert questions.count() >= code(page).count("widgets.predict")
    for question in questions.all():
        options = question.locator("input[type=radio]")
        number = question.locator("input[type=text]")
        if options.count():
            options.first.check()
        else:
            number.fill("3,5")
        # Where the answer has been measured, the box says at once whether the guess is right.
        said = question.get_by_role("status").filter(has_text=re.compile(r"\w"))
        said.wait_for(timeout=30 * SECONDS)


# After the guesses, which open what is held back behind their questions.
def test_every_explorer_is_drawn_and_those_of_the_kernel_follow_the_keyboard(page):
    page.wait_for_function(
        "count => document.querySelectorAll('.om:has(svg)').length >= count",
        arg=sum(line.startswith("explorers.") for line in code(page).splitlines()),
        timeout=60 * SECONDS,
    )
    times = [moved_by_a_key(page, box) for box in page.locator(OF_THE_KERNEL).all()]
    if times:
        summary = f"{statistics.median(times):.0f} ms in the middle, {max(times):.0f} at most"
        print(f"\n{len(times)} explorers of the kernel moved: {summary}")
    assert [text for text in page.complaints if "initialize model" not in text] == []


def test_every_check_waits_for_an_answer_and_gives_three_hints(page):
    names = {word.split("(")[0] for word in code(page).split() if word.startswith("check_")}
    checks = sorted(name for name in names if name.isidentifier())
    for name in checks:
        hints = [page.evaluate(TYPE, f"{name}.hint({number})") for number in (1, 2, 3)]
        assert [hint[:11] for hint in hints] == [f"Hint {number} of 3" for number in (1, 2, 3)]
        assert len(set(hints)) == 3
    buttons = page.get_by_role("button", name="Hint 1 of 3")
    if names:
        buttons.first.click()
        page.get_by_text("Hint 1 of 3:").first.wait_for(timeout=30 * SECONDS)
    printed = str(page.evaluate(CELLS))
    assert printed.count("not attempted") >= len(checks)
