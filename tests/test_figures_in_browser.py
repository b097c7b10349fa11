"""Every figure reaches those who look and those who listen: in JupyterLab and on nbconvert's pages.

ORDER_MATTERS_SCREENSHOTS names a folder for pictures of what was tested.
"""

import base64
import html
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import nbformat
import pytest
from browser import IDLE, RUN_ALL, SECONDS
from bs4 import BeautifulSoup
from nbconvert import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output
from notebook_folds import fold
from notebook_source import METADATA
from site_reader import screenshot

from course_lab import scoreboards
from course_lab.door_strip import door_strip
from course_utils import plots

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[1]
LESSONS = sorted((ROOT / "notebooks" / "solutions").rglob("*.ipynb"))
QUICK = "06_alibi"
# What a page shows of each picture: the words folded out under it, None where there are none.
WORDS = """() => [...document.querySelectorAll('.jp-OutputArea-child')]
    .filter(part => part.querySelector('.jp-RenderedImage img, .jp-RenderedSVG'))
    .map(part => {
        const below = part.nextElementSibling?.querySelector('details');
        return below && below.querySelector('summary').textContent === 'In words'
            ? below.lastChild.textContent : null;
    })"""


def named(path: Path) -> Any:
    marks = [] if path.stem == QUICK else [pytest.mark.thorough]
    return pytest.param(path, id=path.stem, marks=marks)


def described(notebook: NotebookNode) -> list[str | None]:
    """The text of each picture in a notebook's outputs; None for an explorer's.

    An explorer says what it shows in its own sentence.
    """
    texts: list[str | None] = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                words = output.data["text/plain"]
                texts.append(None if words.startswith("Explorer") else words)
    return texts


@pytest.fixture(scope="module")
def open_notebook(browser, jupyterlab):
    """A function that copies a notebook and opens it in JupyterLab, as saved and not trusted."""
    folder, address, token = jupyterlab

    def opened(notebook: Path) -> Any:
        shutil.copy(notebook, folder)
        page = browser.new_page(viewport={"width": 1200, "height": 1000})
        page.goto(f"{address}/doc/tree/{notebook.name}?token={token}&reset")
        page.wait_for_function(IDLE, timeout=90 * SECONDS)
        return page

    return opened


def converted(notebook: NotebookNode, template: str, folder: Path) -> Path:
    """The page that nbconvert makes of a notebook."""
    path = folder / f"{template}.html"
    page, _ = HTMLExporter(template_name=template).from_notebook_node(notebook)
    path.write_text(page, encoding="utf-8")
    return path


def visit(browser: Any, path: Path) -> Any:
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.route("http*://**", lambda route: route.abort())
    page.goto(path.as_uri())
    return page


@pytest.mark.thorough
@pytest.mark.parametrize("path", [named(path) for path in LESSONS])
def test_every_figure_has_its_words_in_jupyterlab(open_notebook, path):
    texts = described(nbformat.read(path, as_version=4))
    page = open_notebook(path)
    page.wait_for_function(
        "count => document.querySelectorAll('.jp-RenderedImage, .jp-RenderedSVG').length >= count",
        arg=len(texts),
        timeout=30 * SECONDS,
    )
    assert page.evaluate(WORDS) == texts
    assert any(texts)
    first = page.locator(".jp-OutputArea-child details").first
    words = first.evaluate("part => part.lastChild.textContent")
    text = first.locator("xpath=..").get_by_text(words, exact=False)
    height = first.bounding_box()["height"]
    first.locator("summary").click()
    assert first.bounding_box()["height"] > height + 10 and text.first.is_visible()
    screenshot(page, f"jupyterlab-{path.stem}")
    page.close()


@pytest.mark.parametrize("path", [named(path) for path in LESSONS])
def test_every_figure_has_its_words_on_a_page(browser, tmp_path, path):
    notebook = nbformat.read(path, as_version=4)
    page = visit(browser, converted(notebook, "lab", tmp_path))
    assert page.evaluate(WORDS) == described(notebook)
    screenshot(page, f"nbconvert-{path.stem}")
    page.close()


@pytest.mark.parametrize("path", [named(path) for path in LESSONS])
def test_every_figure_has_an_alternative_text_on_a_classic_page(tmp_path, path):
    notebook = nbformat.read(path, as_version=4)
    page = converted(notebook, "classic", tmp_path).read_text(encoding="utf-8")
    pictures = BeautifulSoup(page, "html.parser").select(".output_svg img, .output_png img")
    missing = "No description has been provided for this image"
    texts = [label(str(picture["src"])) or picture["alt"] for picture in pictures]
    assert [None if text == missing else text for text in texts] == described(notebook)


def label(source: str) -> str:
    """The label in an SVG of a page, whose picture nbconvert gives no alternative text; else ""."""
    kind, _, content = source.partition(",")
    if "svg" not in kind:
        return ""
    return ElementTree.fromstring(base64.b64decode(content)).get("aria-label", "")


FIGURE = """\
# The empty figure
import matplotlib.pyplot as plt
from course_utils import plots
plots.show(plt.figure(figsize=(3, 2)), "nothing at all")
"""


@pytest.mark.thorough
def test_plumbing_is_folded_in_jupyterlab_and_what_it_shows_when_run_is_not(
    open_notebook, tmp_path
):
    folded = new_code_cell(FIGURE, id="folded")
    fold(folded)
    cells = [folded, new_code_cell("print('read me')", id="plain")]
    nbformat.write(new_notebook(cells=cells, metadata=METADATA), tmp_path / "folds.ipynb")
    page = open_notebook(tmp_path / "folds.ipynb")
    page.evaluate(RUN_ALL)
    page.locator(".jp-OutputArea-child details").wait_for(timeout=60 * SECONDS)
    assert page.evaluate(WORDS) == ["nothing at all"]
    first, second = (page.locator(".jp-Notebook .jp-CodeCell").nth(n) for n in range(2))
    assert not first.get_by_text("plt.figure").first.is_visible()
    assert "#@title The empty figure" in first.locator(".jp-Placeholder").inner_text()
    assert second.get_by_text("read me").first.is_visible()
    screenshot(page, "jupyterlab-folds")
    first.locator(".jp-Placeholder").click()
    first.get_by_text("plt").first.wait_for(timeout=10 * SECONDS)
    page.close()


def test_a_page_with_a_figure_without_words_is_noticed(browser, tmp_path, monkeypatch):
    """That the tests above can fail, and what a description may hold."""
    import IPython.display
    import matplotlib.pyplot as plt

    outputs = []

    def display(data: dict, metadata: dict | None = None, raw: bool = False) -> None:
        data = {kind: _text(value) for kind, value in data.items()}
        outputs.append(new_output("display_data", data, metadata=metadata or {}))

    monkeypatch.setattr(IPython.display, "display", display)
    description = 'weights with i < j & "q" > 2; β₀ · <script>alert(1)</script>'
    plots.show(plt.figure(), description)
    plots.show(plt.figure(), "lost")
    cell = new_code_cell("plots.show(…)", outputs=outputs[:3])
    notebook = new_notebook(cells=[cell])
    assert described(notebook) == [description, "lost"]
    page = visit(browser, converted(notebook, "lab", tmp_path))
    assert page.evaluate(WORDS) == [description, None]
    assert html.unescape(outputs[1].data["text/html"]).count("<script>") == 1


# The contrast of each word of an SVG with what was last filled below its middle.
CONTRASTS = """() => {
    const parts = [...document.querySelectorAll('svg path, svg text')];
    const linear = (part) => part <= 0.04 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const luminance = (element) => {
        const [red, green, blue] = getComputedStyle(element).fill.match(/[\\d.]+/g)
            .slice(0, 3).map((part) => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
    };
    return parts.filter(({ tagName }) => tagName === 'text').map((word) => {
        const box = word.getBoundingClientRect();
        const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
        const below = parts.slice(0, parts.indexOf(word)).filter((part) => {
            const { left, right, top, bottom } = part.getBoundingClientRect();
            return part.tagName === 'path' && getComputedStyle(part).fill !== 'none'
                && left < x && x < right && top < y && y < bottom;
        });
        const pair = [luminance(word), luminance(below.at(-1))];
        return [word.textContent, Math.max(...pair) / Math.min(...pair)];
    });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_word_of_a_board_or_a_door_can_be_read_upon_its_patch(browser, scheme):
    plots.use_style()
    scores = {"a": (True, "0.89"), "b": (False, "5 % off"), "c": (None, "not measured")}
    board = scoreboards.draw_scoreboard(
        {"rope": {**scores, "d": (scoreboards.UNCLEAR, "0.1")}},
        dict.fromkeys("abcd", "a yardstick"),
        "The board",
    )
    outcomes = {"A": (True, "found"), "B": (False, "cleared")}
    doors = door_strip(["rotate"], "The doors")
    visits = scoreboards.draw_visits({"a test": outcomes}, {"A": "deaf", "B": "well"}, "The ward")
    page = browser.new_page(color_scheme=scheme)
    for figure in (board, visits, doors):
        page.set_content(plots.svg(figure))
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 6
        assert [pair for pair in contrasts if pair[1] < 4.5] == []
    page.close()


# Words that reach out of their figure, where nothing is drawn. Their boxes have free room for the
# heights of other letters: 4 pixels.
CUT_WORDS = """() => {
    const figure = document.querySelector('svg');
    const paper = figure.getBoundingClientRect();
    return [...figure.querySelectorAll('text')].filter((words) => {
        const box = words.getBoundingClientRect();
        return box.width > 0 && (
            box.left < paper.left - 4 || box.right > paper.right + 4
            || box.top < paper.top - 4 || box.bottom > paper.bottom + 4
        );
    }).map((words) => words.textContent.trim());
}"""


def cut_words(page: Any, figure: str) -> list[str]:
    page.set_content(f"<body>{figure}</body>")
    return page.evaluate(CUT_WORDS)


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_word_of_a_figure_is_cut(browser, path):
    page = browser.new_page(viewport={"width": 1600, "height": 1200})
    outputs = [
        output.get("data", {})
        for cell in nbformat.read(path, as_version=4).cells
        for output in cell.get("outputs", [])
    ]
    figures = [output["image/svg+xml"] for output in outputs if "image/svg+xml" in output]
    assert [words for figure in figures for words in cut_words(page, figure)] == []
    page.close()


def test_a_title_wider_than_its_figure_is_cut(browser):
    fig, ax = plt.subplots(figsize=(2, 2), layout="constrained")
    page = browser.new_page()
    ax.set_title("short")
    assert cut_words(page, plots.svg(fig)) == []
    ax.set_title("a title that is wider than its figure")
    assert cut_words(page, plots.svg(fig)) == ["a title that is wider than its figure"]
    page.close()


def _text(value: Any) -> str:
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
