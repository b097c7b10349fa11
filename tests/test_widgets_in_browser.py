"""Questions and hints in a real JupyterLab: what keys do after a click, and what is seen.

ORDER_MATTERS_SCREENSHOTS names a folder for pictures of what was tested.
"""

import io
from typing import Any

import nbformat
import pytest
from browser import IDLE, SECONDS, open_and_run, write_notebook
from notebook_folds import SEALED, cover, fold
from notebook_source import METADATA
from PIL import Image
from site_reader import screenshot

from course_lab import widgets
from course_utils.plots.paper import INK

pytestmark = pytest.mark.browser

QUESTION = "Which way is up?"
STYLE = "from course_lab.widgets.notebook import use_notebook_style\nuse_notebook_style()\n"
CELLS = [
    f"{STYLE}from course_lab import widgets\n"
    f"guess = widgets.predict({QUESTION!r}, ['left', 'up', 'both'])",
    "number = widgets.predict_number('How many?', 'nats')",
    "from course_lab.checks import Check\n"
    "Check('double', lambda x: 2 * x, cases=[(1,), (3,)], mistakes=[],\n"
    "      hints=('Look.', 'Think.', 'Add.'))(lambda x: x)",
    "guess.answer, number.answer",
]
OPEN = "guess._box.answer = 'up'"  # as if it had been picked: nothing waits
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


def runs_the_next_cell(page: Any, place: int) -> None:
    """Shift+Enter in the cell at this place runs the cell below, and goes on from there."""
    before = page.evaluate(COUNTS)
    page.keyboard.press("Shift+Enter")
    page.wait_for_function(f"{COUNTS}[{place + 1}] > {before[place + 1]}", timeout=30 * SECONDS)
    page.wait_for_function(f"{ACTIVE} === {place + 2}", timeout=30 * SECONDS)
    assert page.evaluate(COUNTS)[place] == before[place]


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
    page.keyboard.press("Escape")
    runs_its_cell(page, 0)
    page.locator(".om-question").first.locator("input:checked[value=up]").wait_for()


def test_shift_and_enter_asks_again_before_a_guess_and_goes_on_to_the_answer_after_it(
    browser, jupyterlab
):
    folder, address, token = jupyterlab
    write_notebook(folder / "fresh.ipynb", CELLS)  # with a kernel in which nothing was answered
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    open_and_run(page, address, token, "fresh.ipynb")
    options = page.locator(".om-question").first.locator("input[type=radio]")
    options.first.focus()
    runs_its_cell(page, 0)
    options.first.click()
    page.get_by_text("Run on (Shift+Enter)").wait_for(timeout=30 * SECONDS)
    runs_the_next_cell(page, 0)
    page.close()


def test_keys_stay_with_a_question_that_is_pressed_beside_its_options(page):
    page.locator(".om-question").first.locator("label").last.click()
    page.locator(".om-question legend").first.click()
    runs_the_next_cell(page, 0)


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


def test_questions_and_verdicts_are_as_wide_as_what_else_a_cell_shows(page):
    page.set_viewport_size({"width": 1700, "height": 1000})
    page.get_by_role("button", name="Hint 1 of 3").click()
    hint = page.locator(".widget-html-content > div", has_text="Hint 1 of 3:")
    verdict = page.locator(".jp-RenderedHTML > div", has_text="double").first
    right = "box => box.getBoundingClientRect().right"
    share = "box => box.offsetWidth / box.closest('.jp-OutputArea-output').clientWidth"
    boxes = (page.locator(".om-question").first, verdict, hint)
    assert min(box.evaluate(share) for box in boxes) > 0.9
    edges = [box.evaluate(right) for box in boxes]
    assert max(edges) - min(edges) <= 1, "one right edge"


LOOKS = """button => {
    const { borderTopLeftRadius, backgroundColor } = getComputedStyle(button);
    return [borderTopLeftRadius, backgroundColor];
}"""


def test_shift_and_enter_goes_on_after_each_hint(page):
    for number in (1, 2, 3):
        page.get_by_role("button", name=f"Hint {number} of 3").click()
        page.get_by_text(f"Hint {number} of 3:").wait_for(timeout=30 * SECONDS)
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    button = page.locator(".om-hint-button")
    assert button.evaluate(LOOKS) == ["6px", "rgba(0, 0, 0, 0)"], "as cards do"
    assert button.bounding_box()["width"] < 200
    screenshot(page, "hints")
    runs_its_cell(page, 2)


def test_a_figure_below_a_question_is_not_cut(browser, jupyterlab):
    folder, address, token = jupyterlab
    wide = (
        "import matplotlib.pyplot as plt\nfrom course_utils import plots\n"
        "plots.show(plt.figure(figsize=(14, 2)), 'A figure wider than the page.')"
    )
    write_notebook(folder / "wide.ipynb", [CELLS[0], OPEN, wide])
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    open_and_run(page, address, token, "wide.ipynb")
    figure = page.locator(".jp-RenderedSVG img, .jp-RenderedSVG svg").first
    figure.wait_for(timeout=30 * SECONDS)
    room = page.locator(".jp-RenderedSVG").first.evaluate(
        "box => box.getBoundingClientRect().width"
    )
    assert figure.evaluate("drawn => drawn.getBoundingClientRect().width") <= room + 1
    page.close()


ANSWER = "print('early')\nguess.reveal('up')\nprint('late')\nknown = 7"
RUN_NEXT = "window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')"


def run_next(page: Any) -> None:
    """Run the active cell, and go on to the next."""
    place = page.evaluate(ACTIVE)
    before = page.evaluate(COUNTS)[place] or 0
    page.evaluate(RUN_NEXT)
    page.wait_for_function(f"{COUNTS}[{place}] > {before}", timeout=60 * SECONDS)
    page.wait_for_function(IDLE, timeout=60 * SECONDS)


def printed(page: Any, place: int) -> str:
    """What a cell of the notebook shows, as text."""
    return page.locator(".jp-Cell").nth(place).locator(".jp-OutputArea").inner_text()


PICTURE = "#@title The picture\nprint('draw' + 'n')\nguess.answer, 'last'"
GUESS_FIRST = (
    f"Guess “{QUESTION}” above, and it opens here. Without a guess: run this cell once more "
    "(Shift+Enter)."
)
SETTLE = """#@title The verdicts
for key in ('C29', 'C30'): myths.settle(key, {'one': False}, 'It has 384 numbers.')"""
CLAIMS = """#@title Code of the question
from course_lab.claims import Claim, Myths
myths = Myths({
    'C29': Claim('It is small.', scope='four schemes', evidence='exact'),
    'C30': Claim('It is large.', scope='four schemes', evidence='exact'),
})"""


def opened_on(browser: Any, jupyterlab: Any, name: str, cells: list[str]) -> Any:
    """A page with a notebook of these cells, in which a learner has run the first."""
    folder, address, token = jupyterlab
    write_notebook(folder / name, cells)
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.goto(f"{address}/doc/tree/{name}?token={token}&reset")
    page.wait_for_function(IDLE, timeout=90 * SECONDS)
    run_next(page)
    page.locator(".om-question").first.wait_for(timeout=30 * SECONDS)
    return page


def says(page: Any, place: int, text: str) -> None:
    """Wait until the cell at this place shows the text, and no more."""
    cell = page.locator(".jp-Cell").nth(place)
    if text:
        cell.get_by_text(text).wait_for(timeout=30 * SECONDS)
    assert printed(page, place).strip() == text


def test_an_answer_and_its_picture_wait_for_a_guess_and_come_without_one_when_asked_again(
    browser, jupyterlab
):
    cells = [CELLS[0], ANSWER, PICTURE, "print(known)"]
    page = opened_on(browser, jupyterlab, "gate.ipynb", cells)
    for place in (1, 2):
        run_next(page)
        says(page, place, GUESS_FIRST if place == 1 else "")
    screenshot(page, "gate")
    run_next(page)
    says(page, 3, "7")
    page.evaluate(f"{ACTIVE} = 1")
    run_next(page)
    page.get_by_text("Measured: up.").wait_for(timeout=30 * SECONDS)
    assert "early" in printed(page, 1) and "late" in printed(page, 1)
    run_next(page)
    page.locator(".jp-Cell").nth(2).get_by_text("drawn").wait_for(timeout=30 * SECONDS)
    assert printed(page, 2).strip().startswith("drawn") and "(None, 'last')" in printed(page, 2)
    page.close()


def test_a_guess_opens_what_ran_before_it_and_the_look_of_its_answer_alone(browser, jupyterlab):
    sources = (CELLS[0], ANSWER, PICTURE)
    cells = [nbformat.v4.new_code_cell(source, id=f"l{n}") for n, source in enumerate(sources)]
    for cell in cells[1:]:
        cell.metadata["tags"] = [SEALED]
    for number in (1, 2):
        text = f"**Look:** text {number}.\n\n## Next"
        look = nbformat.v4.new_markdown_cell(text, id=f"look{number}")
        look.metadata["tags"] = [SEALED]
        cover(look)
        cells.append(look)
    folder, address, token = jupyterlab
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=METADATA), folder / "late.ipynb")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.goto(f"{address}/doc/tree/late.ipynb?token={token}&reset")
    page.wait_for_function(IDLE, timeout=90 * SECONDS)
    for _ in sources:
        run_next(page)
    for place in (1, 2):
        says(page, place, GUESS_FIRST if place == 1 else "")
    looks = page.locator(".jp-RenderedMarkdown details p")
    assert not looks.first.is_visible()
    page.locator(".om-question input").first.click()
    page.locator(".om-question").get_by_text("✗ Not “left”.").wait_for(timeout=30 * SECONDS)
    page.locator(".jp-Cell").nth(2).get_by_text("drawn").wait_for(timeout=30 * SECONDS)
    assert [line for line in printed(page, 1).split("\n") if line.strip()][:3] == [
        "early",
        "Measured: up.",
        "late",
    ]
    looks.first.wait_for(timeout=30 * SECONDS)
    assert not looks.last.is_visible(), "another answer's"
    screenshot(page, "opened")
    page.close()


def test_cells_that_are_queued_behind_a_question_wait_but_not_those_without_the_builds_tag(
    browser, jupyterlab
):
    folder, address, token = jupyterlab
    sources = (CELLS[0], ANSWER, PICTURE, "print(known)")
    cells = [nbformat.v4.new_code_cell(source, id=f"q{n}") for n, source in enumerate(sources)]
    for cell in cells[1:3]:
        cell.metadata["tags"] = [SEALED]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=METADATA)
    nbformat.write(notebook, folder / "queued.ipynb")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    open_and_run(page, address, token, "queued.ipynb")  # before a box can be seen
    for place in (1, 2):
        says(page, place, GUESS_FIRST if place == 1 else "")
    says(page, 3, "7")
    page.evaluate(f"{ACTIVE} = 0")
    run_next(page)  # asked again, and no answer is run: a reader who goes to a later cell
    page.evaluate(f"{ACTIVE} = 3")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell')")
    says(page, 3, "7")
    page.locator(".om-question input[value=up]").click()
    page.locator(".jp-Cell").nth(1).get_by_text("Measured: up.").wait_for(timeout=30 * SECONDS)
    screenshot(page, "queued")
    page.close()


def test_verdicts_wait_for_every_guess_and_say_which_is_missing(browser, jupyterlab):
    page = opened_on(browser, jupyterlab, "claims.ipynb", [CLAIMS, SETTLE])
    guesses = page.locator(".om-question")
    guesses.first.locator("input[value=false]").click()
    guesses.first.get_by_text("Recorded. Guess C30 too.").wait_for(timeout=30 * SECONDS)
    page.evaluate(f"{ACTIVE} = 1")
    run_next(page)
    says(page, 1, GUESS_FIRST.replace(f"“{QUESTION}”", "C30"))
    guesses.first.get_by_text("✓ Right.").wait_for(timeout=30 * SECONDS)
    guesses.last.locator("input[value=true]").click()
    guesses.last.get_by_text("✗ Not “true”.").wait_for(timeout=30 * SECONDS)
    page.locator(".jp-Cell").nth(1).get_by_text("FALSE.").nth(1).wait_for(timeout=30 * SECONDS)
    screenshot(page, "verdicts")
    page.close()


TOLD = """from course_lab.checks import Check, Mistake
from course_lab.claims import Claim, Myths
import pandas as pd
check = Check('worst', lambda x: 2 * x, cases=[(1,), (3,)], hints=('Look.', 'Think.', 'Add.'),
    mistakes=[Mistake('you average over all the lengths that somebody may read',
                      'Does a mean protect the user who reads at every single length?', abs)])
check(abs)
check(lambda x: x + x)
myths = Myths({'C29': Claim('It is small.', scope='four schemes', evidence='exact')})
myths.settle('C29', {'one': False}, 'It has 384 numbers and no others that could be learned.')
print('words that go on and on until no more of them fit into a line of the page ' * 3)
pd.DataFrame({'question': ['Which model?'], 'answer': ['the small one, of all that there are']})
"""
# Words of an output that stand on two lines.
BROKEN = """box => {
    const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), broken = [];
    while (walker.nextNode()) for (const word of walker.currentNode.data.matchAll(/[a-z]+/g)) {
        const range = new Range();
        range.setStart(walker.currentNode, word.index);
        range.setEnd(walker.currentNode, word.index + word[0].length);
        if (range.getClientRects().length > 1) broken.push(word[0]);
    }
    return broken;
}"""
# How bright an element's text is, from 0 to 1.
BRIGHTNESS = """element => {
    const context = document.createElement('canvas').getContext('2d');
    context.fillStyle = getComputedStyle(element).color;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}"""


def change_theme(page: Any, name: str) -> None:
    """Change JupyterLab's theme to "Light" or "Dark", and wait for it."""
    change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    page.evaluate(change, f"JupyterLab {name}")
    light = "true" if name == "Light" else "false"
    body = f"body[data-jp-theme-light='{light}']"
    page.wait_for_selector(body, state="attached", timeout=30 * SECONDS)


def test_what_checks_and_claims_say_stands_in_cards_whose_words_are_whole_and_coloured(
    browser, jupyterlab
):
    folder, address, token = jupyterlab
    write_notebook(folder / "told.ipynb", [CELLS[0], TOLD])
    page = browser.new_page(viewport={"width": 640, "height": 1000})
    open_and_run(page, address, token, "told.ipynb")
    wrong, right = page.get_by_text("✗ worst:"), page.get_by_text("✓ worst:")
    right.wait_for(timeout=30 * SECONDS)
    output = page.locator(".jp-Cell").nth(1).locator(".jp-OutputArea").first
    assert "Does a mean protect the user" in output.inner_text()
    assert output.evaluate(BROKEN) == []
    verdict = page.locator(".jp-RenderedHTML p", has_text="FALSE.")
    assert verdict.locator("b").inner_text() == "FALSE."
    assert verdict.locator("xpath=following-sibling::p").inner_text().startswith("Judged on: four")
    cell = page.locator("table.dataframe td").last
    assert cell.evaluate("cell => getComputedStyle(cell).textAlign") == "left"
    change_theme(page, "Light")
    assert max(wrong.evaluate(BRIGHTNESS), right.evaluate(BRIGHTNESS)) < 0.45, "on white"
    screenshot(page, "told_light")
    change_theme(page, "Dark")
    assert min(wrong.evaluate(BRIGHTNESS), right.evaluate(BRIGHTNESS)) > 0.55, "on black"
    screenshot(page, "told_dark")
    page.close()


def test_a_question_that_has_not_run_wraps_at_words(browser, jupyterlab, shown):
    folder, address, token = jupyterlab
    widgets.predict("Is it so that the words of this question are whole? " * 5, ["yes", "no"])
    stored = {kind: text for kind, text in shown[0].items() if kind.startswith("text/")}
    cell = nbformat.v4.new_code_cell(
        "1", id="s0", outputs=[nbformat.v4.new_output("display_data", stored)]
    )
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata=METADATA)
    nbformat.write(notebook, folder / "stored.ipynb")
    page = browser.new_page(viewport={"width": 640, "height": 800})
    page.goto(f"{address}/doc/tree/stored.ipynb?token={token}&reset")
    page.get_by_text("Predict.").wait_for(timeout=90 * SECONDS)
    assert page.locator(".jp-OutputArea").first.evaluate(BROKEN) == []
    page.close()


WAITS = """# The answer
import pathlib, time
print('early')
while not pathlib.Path('go').exists():
    time.sleep(0.05)
print('late')"""


def test_a_folded_cell_says_that_it_runs_until_it_ends(browser, jupyterlab):
    folder, address, token = jupyterlab
    asks, waits = (
        nbformat.v4.new_code_cell(source, id=f"r{n}") for n, source in enumerate((CELLS[0], WAITS))
    )
    for cell in (asks, waits):
        fold(cell)
    notebook = nbformat.v4.new_notebook(cells=[asks, waits], metadata=METADATA)
    nbformat.write(notebook, folder / "runs.ipynb")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    page.goto(f"{address}/doc/tree/runs.ipynb?token={token}&reset")
    page.wait_for_function(IDLE, timeout=90 * SECONDS)
    run_next(page)
    assert page.locator(".jp-InputPlaceholder:visible").count() == 1, "not the question's"
    page.locator(".om-question input").first.click()
    page.get_by_text("Recorded").wait_for(timeout=30 * SECONDS)
    page.keyboard.press("Shift+Enter")
    page.get_by_text("early").wait_for(timeout=30 * SECONDS)
    assert printed(page, 1).split() == ["running", "…", "early"]
    screenshot(page, "running")
    (folder / "go").touch()
    page.locator(".jp-OutputArea").get_by_text("late").wait_for(timeout=30 * SECONDS)
    page.get_by_text("running …").wait_for(state="hidden", timeout=30 * SECONDS)
    assert printed(page, 1).split() == ["early", "late"]
    page.close()


def test_from_the_first_cell_on_bars_of_code_have_words_and_stored_pictures_are_dark_in_the_dark(
    browser, jupyterlab
):
    folder, address, token = jupyterlab
    starts, draws = (
        nbformat.v4.new_code_cell(source, id=f"f{n}")
        for n, source in enumerate(
            (
                "import course_lab\ncourse_lab.start()",
                "# The picture\nfrom PIL import Image\n"
                "picture = Image.new('RGB', (90, 90), 'white')\n"
                f"picture.paste({INK}, (0, 0, 30, 90))\npicture",
            )
        )
    )
    fold(draws)
    folded = nbformat.v4.new_notebook(cells=[starts, draws], metadata=METADATA)
    nbformat.write(folded, folder / "folded.ipynb")
    page = browser.new_page(viewport={"width": 1200, "height": 1000})
    open_and_run(page, address, token, "folded.ipynb")
    page.get_by_text("The picture", exact=True).wait_for(timeout=30 * SECONDS)
    assert page.get_by_text("#@title").count() == 0
    picture = page.locator(".jp-RenderedImage img").first
    picture.wait_for(timeout=30 * SECONDS)

    def brightness(across: int = 60) -> int:
        shot = Image.open(io.BytesIO(picture.screenshot())).convert("L")
        return shot.crop((across, 45, across + 1, 46)).tobytes()[0]

    change_theme(page, "Light")
    assert brightness() > 250
    change_theme(page, "Dark")
    assert brightness() < 30
    assert brightness(15) > 170, "stored words, too, have a contrast of 7 and more there"
    page.close()
