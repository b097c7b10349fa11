"""Explorers in a real JupyterLab: by mouse and by keyboard, heard as well as seen, in both themes.

ORDER_MATTERS_SCREENSHOTS names a folder for pictures of what was tested.
"""

import re
import time
from typing import Any

import pytest
from browser import SECONDS, open_and_run, write_notebook
from pairwise import some
from site_reader import OF_THE_KERNEL, moved_by_a_key, screenshot

from course_lab import explorers
from course_lab.explorers.xray import BY_PLACE

pytestmark = pytest.mark.browser

KERNEL_EXPLORER = """from course_lab import widgets
def draw(fig, height):
    (fig.axes or [fig.add_subplot()])[0].set(ylim=(0, height))
    return f"The axis ends at {height}."
widgets.explore(draw, height=(1, 9, 3))"""
CONTENT = """root => {
    const seen = root.cloneNode(true);  // what is spoken follows later, whatever a key did
    for (const spoken of seen.querySelectorAll("[aria-live]")) spoken.remove();
    return seen.innerHTML + [...root.querySelectorAll("input")].map((box) => box.checked);
}"""
PICTURE = "root => [...root.querySelectorAll('.om-panel > div')].map(div => div.innerHTML).join()"
VALUE = "slider => slider.nextSibling.value"  # beside it, as a reader sees it
SENTENCE, SPOKEN = ".om-sentence", "[aria-live=polite]"
KEYS = {  # each starts at an end of the control, wherever it stands
    "range": ["Home", "ArrowRight", "ArrowUp", "End", "ArrowLeft", "ArrowDown"],
    "select": ["Home", "ArrowDown", "ArrowUp"],
    "text": ["End", "x", "Backspace"],
    "checkbox": ["Space"],
    "number": ["ArrowUp", "ArrowDown"],
}
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.fixture(scope="module")
def page(browser, jupyterlab):
    """A notebook in JupyterLab with a cell for each explorer, run."""
    folder, address, token = jupyterlab
    calls = [f"explorers.{name}()" for name in explorers.ALL]
    cells = ["from course_lab import explorers", *calls, KERNEL_EXPLORER]
    write_notebook(folder / "all.ipynb", cells)
    opened = browser.new_page(viewport={"width": 1200, "height": 1000})
    opened.complaints = []
    opened.on("pageerror", lambda error: opened.complaints.extend(not_jupyterlabs(error)))
    open_and_run(opened, address, token, "all.ipynb")
    all_drawn = f"document.querySelectorAll('.om:has(svg)').length === {len(explorers.ALL)}"
    opened.wait_for_function(all_drawn, timeout=60 * SECONDS)
    # On a busy computer anywidget complains where a widget takes two seconds to start.
    opened.complaints = [text for text in opened.complaints if "initialize model" not in text]
    return opened


def not_jupyterlabs(error: Any) -> list[str]:
    """The error, unless all its places are in JupyterLab's own code, as when a theme is changed."""
    places = re.findall(r"^ +at .*", error.stack or "", re.MULTILINE)
    return [] if places and all("/static/lab/" in place for place in places) else [str(error)]


def explorer(page: Any, name: str) -> Any:
    """The explorer's element, in view."""
    root = page.locator(".om").nth(list(explorers.ALL).index(name))
    root.scroll_into_view_if_needed()
    return root


SOME = ("frequencies", "chooser", "ledger", "xray")  # of each kind of control
EVERY = some("name", list(explorers.ALL), quick=SOME)


@EVERY
def test_dragging_a_slider_changes_the_picture_and_the_sentence_follows(page, name):
    root = explorer(page, name)
    slider = root.locator("input[type=range]").first
    before = root.evaluate(PICTURE), slider.evaluate(VALUE), root.locator(SENTENCE).text_content()
    box = slider.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], middle, steps=4)
    page.mouse.up()
    screenshot(page, name)
    after = root.evaluate(PICTURE), slider.evaluate(VALUE), root.locator(SENTENCE).text_content()
    assert all(new != old for new, old in zip(after, before, strict=True))
    assert page.complaints == []


@EVERY
def test_every_control_works_by_keyboard_and_the_notebook_stays_where_it_is(page, name):
    root = explorer(page, name)
    for control in root.locator("input, select").all():
        if control.is_disabled():  # it has nothing to do, as the slope of a head that is not used
            continue
        control.focus()
        active = page.evaluate(ACTIVE)
        kind = control.get_attribute("type") or "select"
        for key in KEYS[kind]:
            before = root.evaluate(CONTENT)
            page.keyboard.press(key)
            assert unchanged(control, key) or changes(root, before), (name, key)
        assert control.evaluate("input => input === document.activeElement")
        assert page.evaluate(ACTIVE) == active
    assert page.complaints == []


def changes(root: Any, before: str) -> bool:
    """Whether an explorer's page changes within ten seconds; a busy machine may need some."""
    end = time.monotonic() + 10
    while root.evaluate(CONTENT) == before and time.monotonic() < end:
        root.page.wait_for_timeout(20)
    return bool(root.evaluate(CONTENT) != before)


def unchanged(control: Any, key: str) -> bool:
    """Whether a key may leave the picture as it is: the control stood there, or a slider has two
    values, or a list names a head by its place and leaves it where it is.
    """
    return (
        key in ("Home", "End")
        or control.evaluate("input => input.type === 'range' && input.max - input.min < 2")
        or control.input_value() == BY_PLACE
    )


COUNTS = """window.jupyterapp.shell.currentWidget.content.widgets.map(
    (cell) => cell.model.toJSON().execution_count)"""
FOCUSED = "document.activeElement.closest('.jp-Cell') && !document.activeElement.closest('.om')"


@pytest.mark.parametrize("keys, moves", [("Shift+Enter", 1), ("Control+Enter", 0), ("Escape", 0)])
@pytest.mark.parametrize("kind", [".om input[type=range]", ".om select", ".noUi-handle"])
def test_keys_that_run_a_cell_or_leave_it_work_in_an_explorer(page, kind, keys, moves):
    control = page.locator(kind).first
    control.scroll_into_view_if_needed()
    control.focus()
    before, place = page.evaluate(COUNTS), page.evaluate(ACTIVE)
    control.press(keys)
    page.wait_for_function(FOCUSED, timeout=10 * SECONDS)
    assert page.evaluate(ACTIVE) == place + moves
    if keys == "Escape":
        assert page.evaluate(COUNTS) == before
        return
    page.wait_for_function(f"{COUNTS}[{place}] > {before[place]}", timeout=30 * SECONDS)
    after = page.evaluate(COUNTS)[: len(before)]  # below the last cell a new one appears
    changed = [n for n, pair in enumerate(zip(before, after, strict=True)) if len(set(pair)) > 1]
    assert changed == [place]


def test_the_sentence_is_spoken_once_the_slider_rests(page):
    root = explorer(page, "wanted_distance")
    slider, spoken = root.locator("input[type=range]").first, root.locator(SPOKEN)
    slider.focus()
    page.keyboard.press("Home")
    settled = "([spoken, sentence]) => spoken.textContent === sentence.textContent"
    both = [spoken.element_handle(), root.locator(SENTENCE).element_handle()]
    page.wait_for_function(settled, arg=both, timeout=10 * SECONDS)
    spoken.evaluate(
        "element => { window.spoken = 0;"
        " new MutationObserver(() => window.spoken++).observe(element, {childList: true}); }"
    )
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    page.wait_for_function(settled, arg=both, timeout=10 * SECONDS)
    assert page.evaluate("window.spoken") < 10
    assert "largest at distance 10." in spoken.text_content()


def test_the_theme_of_jupyterlab_is_followed(page):
    root = explorer(page, "frequencies")
    light = root.evaluate(PICTURE)
    change = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
    for theme, expected in (("JupyterLab Dark", "dark"), ("JupyterLab Light", "light")):
        page.evaluate(change, theme)
        page.wait_for_selector(f".om[data-theme={expected}]", timeout=30 * SECONDS)
        screenshot(page, f"theme_{expected}")
        assert (root.evaluate(PICTURE) == light) == (expected == "light")


@pytest.mark.parametrize("kind", [".om-tile", ".om-play"])
def test_words_to_move_and_the_button_that_plays_are_round(page, kind):
    button = page.locator(kind).first
    radius = button.evaluate("button => parseFloat(getComputedStyle(button).borderRadius)")
    assert radius >= 14 and radius >= button.bounding_box()["height"] / 2 - 2


COUNT = """place => window.jupyterapp.shell.currentWidget.content.widgets[place]
    .model.toJSON().execution_count"""


def test_what_is_set_survives_running_the_cell_again(page):
    tiles = explorer(page, "sentence").locator(".om-tile")
    words = tiles.all_text_contents()
    tiles.first.focus()
    page.keyboard.press("ArrowRight")
    moved = tiles.all_text_contents()
    assert moved != words
    place = page.evaluate(ACTIVE)
    count = page.evaluate(COUNT, place)
    page.keyboard.press("Shift+Enter")  # at once, before the controls rest
    page.wait_for_function(f"({COUNT})({place}) > {count}", timeout=30 * SECONDS)
    page.wait_for_function(
        f"document.querySelectorAll('.om:has(svg)').length === {len(explorers.ALL)}",
        timeout=30 * SECONDS,
    )
    assert explorer(page, "sentence").locator(".om-tile").all_text_contents() == moved


def test_a_learners_profile_is_drawn_with_the_mouse(page):
    root = explorer(page, "profile")
    panel = root.locator(".om-draggable")
    panel.scroll_into_view_if_needed()
    box = panel.bounding_box()
    before = root.evaluate(PICTURE)
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 0.3 * box["height"], steps=8)
    page.mouse.up()
    assert root.evaluate(PICTURE) != before
    assert root.locator("select").input_value() == "my own"


def test_a_band_counts_as_tried_when_it_is_let_go(page):
    root = explorer(page, "far_bands")
    root.get_by_label("all bands").uncheck()
    box = root.locator("input[type=range]").first.bounding_box()
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.2 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.55 * box["width"], middle, steps=12)
    assert "let go to try this band" in root.locator(SENTENCE).text_content()
    page.mouse.up()
    root.locator(SENTENCE, has_text=re.compile(r"Try \d")).wait_for(timeout=10 * SECONDS)
    tried = root.locator(SENTENCE).text_content()
    [number] = map(int, re.findall(r"Try (\d+) of 8", tried or ""))
    box = root.locator(".om-panel").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.45 * box["width"], box["y"] + 0.5 * box["height"], steps=8)
    page.mouse.up()
    root.locator(SENTENCE, has_text=f"Try {number + 1} of 8").wait_for(timeout=10 * SECONDS)


def test_an_explorer_of_the_kernel_still_follows_an_arrow_key(page):
    moved_by_a_key(page, page.locator(OF_THE_KERNEL).last)
