"""Questions and hints in a real JupyterLab: what keys do after a click, and what is seen.

ORDER_MATTERS_SCREENSHOTS names a folder for pictures of what was tested.
"""

from typing import Any

import pytest
from browser import SECONDS, open_and_run, write_notebook
from site_reader import screenshot

pytestmark = pytest.mark.browser

QUESTION = "Which way is up?"
CELLS = [
    "from course_lab import widgets\n"
    f"guess = widgets.predict({QUESTION!r}, ['left', 'up', 'both'])",
    "number = widgets.predict_number('How many?', 'nats')",
    "from course_lab.checks import Check\n"
    "Check('double', lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[],\n"
    "      hints=('Look.', 'Think.', 'Add.'))(lambda x: x)",
    "guess.answer, number.answer",
]
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"
COUNTS = """window.jupyterapp.shell.currentWidget.content.widgets.map(
    (cell) => cell.model.toJSON().execution_count)"""


@pytest.fixture
def page(browser, jupyterlab):
    """A notebook with a question of each kind and a wrong answer, run."""
    folder, address, token = jupyterlab
    write_notebook(folder / "asked.ipynb", CELLS)
    opened = browser.new_page(viewport={"width": 1200, "height": 1000})
    open_and_run(opened, address, token, "asked.ipynb")
    yield opened
    opened.close()


def runs_its_cell(page: Any, place: int) -> None:
    """Shift+Enter runs the cell at this place, and goes on to the next."""
    before = page.evaluate(COUNTS)[place]
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(f"{COUNTS}[{place}] > {before}", timeout=30 * SECONDS)
    page.wait_for_function(f"{ACTIVE} === {place + 1}", timeout=30 * SECONDS)


def test_arrows_choose_an_answer_and_no_key_reaches_the_notebook(page):
    box = page.locator(".om-question").first
    options = box.locator("input[type=radio]")
    options.first.click()
    place, count = page.evaluate(ACTIVE), len(page.evaluate(COUNTS))
    page.keyboard.press("ArrowDown")
    assert options.nth(1).is_checked()
    for key in "dd":
        page.keyboard.press(key)
    box.get_by_text("Recorded").wait_for(timeout=30 * SECONDS)
    screenshot(page, "question")
    assert (page.evaluate(ACTIVE), len(page.evaluate(COUNTS))) == (place, count)
    runs_its_cell(page, 0)
    page.locator(".om-question").first.locator("input:checked[value=up]").wait_for()


def test_the_focus_returns_from_a_question_to_its_cell(page):
    page.locator(".om-question input[type=text]").click()
    page.keyboard.type("2,5")
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.matches('.jp-Cell')")
    page.locator(".om-question").get_by_text("Recorded: 2.5").wait_for(timeout=30 * SECONDS)


def test_a_question_stands_in_a_box(page):
    box = page.locator(".om-question").first
    edge = box.evaluate("box => getComputedStyle(box).borderTopWidth")
    assert edge == "1px"
    assert box.get_by_text(QUESTION).count() == 1


def test_shift_and_enter_goes_on_after_each_hint(page):
    for number in (1, 2, 3):
        page.get_by_role("button", name=f"Hint {number} of 3").click()
        page.get_by_text(f"Hint {number} of 3:").wait_for(timeout=30 * SECONDS)
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    screenshot(page, "hints")
    runs_its_cell(page, 2)


def test_a_figure_below_a_question_is_not_cut(browser, jupyterlab):
    folder, address, token = jupyterlab
    wide = (
        "import matplotlib.pyplot as plt\nfrom course_utils import plots\n"
        "plots.show(plt.figure(figsize=(14, 2)), 'A figure wider than the page.')"
    )
    write_notebook(folder / "wide.ipynb", [CELLS[0], wide])
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    open_and_run(page, address, token, "wide.ipynb")
    figure = page.locator(".jp-RenderedSVG img, .jp-RenderedSVG svg").first
    figure.wait_for(timeout=30 * SECONDS)
    room = page.locator(".jp-RenderedSVG").first.evaluate(
        "box => box.getBoundingClientRect().width"
    )
    assert figure.evaluate("drawn => drawn.getBoundingClientRect().width") <= room + 1
    page.close()
