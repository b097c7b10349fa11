"""The site's pages besides the lessons: what they say is in the lessons, the data and the code."""

import csv
import dataclasses
import pkgutil
import re
import runpy
from pathlib import Path

import build_site
import pytest
import site_choose
import site_exercises
import site_glossary
import site_html
import site_ledger
import site_page
import site_pages
import site_teaching
from bs4 import BeautifulSoup, Tag
from claims_table import claims_in
from nbformat import NotebookNode
from notebook_source import find_lessons, lesson_name, read_notebook, read_project
from site_glossary import Links, Term
from site_html import anchor

import course_utils
from course_lab.recorded_claims import read_claims
from course_lab.spelling import printed
from course_utils import measures
from course_utils.texts import data

ROOT = Path(__file__).resolve().parents[1]
PROJECT = read_project(ROOT)
NAMES = [lesson_name(path) for path in find_lessons(ROOT)]
LINK = re.compile(r"\]\(((?:closer/)?\d\d_\w+)\.md(?:#([^)]*))?\)")
HEADING = re.compile(r"(?m)^#+ (.*)$")
TABLES = ("extrapolation", "both_ways", "larger", "tasks")


@pytest.fixture(scope="module")
def notebooks():
    """The notebooks with solutions, by lesson."""
    read = {name: read_notebook(build_site.notebooks(PROJECT, name)[0]) for name in NAMES}
    return {name: notebook for name, notebook in read.items() if notebook}


def prose(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def anchors(notebook: NotebookNode) -> list[str]:
    """Where the headings of a lesson stand on its page."""
    return [anchor(heading) for heading in HEADING.findall(prose(notebook))]


def written(name: str) -> str:
    return (ROOT / "site" / "pages" / f"{name}.md").read_text("utf-8")


def parsed(html: str) -> BeautifulSoup:
    for name in ("div", "details", "table", "form"):
        assert html.count(f"<{name}") == html.count(f"</{name}>"), f"{name} is not closed"
    return BeautifulSoup(html, "html.parser")


# ------------------------------------------------------------------------- links to the lessons


@pytest.mark.parametrize("name", ["choose", "ledger", "glossary", "symbols", "how_we_know"])
def test_every_link_to_a_lesson_leads_to_one_of_its_headings(name, notebooks):
    links = LINK.findall(written(name))
    assert links or name == "ledger"
    for lesson, heading in links:
        assert not heading or heading in anchors(notebooks[lesson]), f"{lesson} has no {heading}"


def test_the_contents_have_the_lessons_first_and_then_the_pages_in_order(monkeypatch):
    monkeypatch.setattr(site_choose, "page", lambda text: site_page.Page("choose", "", text))
    opening = "# 02 · Waves\n\n**Time:** about 40 minutes."
    first, *others = site_pages.pages(PROJECT, [site_page.Page("02_sinusoidal", opening, "")])
    trees = re.findall(r"```{toctree}.*?```", first.markdown, re.DOTALL)
    contents = [re.findall(r"^/(.*)$", tree, re.MULTILINE) for tree in trees]
    assert contents == [["02_sinusoidal"], list(site_pages.ORDER)]
    assert {page.name for page in others} == set(site_pages.ORDER)
    assert "# Changelog" in site_pages.texts(PROJECT)["changelog"]
    assert not re.search(r"\{(address|files)\}", first.markdown)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("", "See the code."),
        (
            "https://github.com/someone/tiny",
            "See [the code](https://github.com/someone/tiny/blob/v1.2.3/course_utils).",
        ),
    ],
    ids=["unpublished", "published"],
)
def test_a_link_into_the_repository_is_its_words_until_there_is_an_address(address, shown):
    project = dataclasses.replace(PROJECT, address=address, version="1.2.3")
    text = "See [the code]({files}/course_utils)."
    assert site_pages.with_address(text, project) == shown


def test_without_an_address_the_first_page_names_no_book_and_no_repository():
    text = site_pages.texts(dataclasses.replace(PROJECT, address=""))["index"]
    assert "PDF" not in text and "repository" not in text and "where published" not in text


def test_small_numbers_are_written_out():
    assert site_html.plain("their mean by 2e-07, to 1e-5; l2e-c001") == (
        "their mean by 0.0000002, to 0.00001; l2e-c001"
    )


def test_once_there_is_an_address_the_first_page_says_where_the_book_is():
    address = "https://github.com/someone/tiny"
    published = dataclasses.replace(PROJECT, address=address)
    assert f"]({address}/releases/latest)" in site_pages.texts(published)["index"]


# ------------------------------------------------------------------------- glossary


TERMS = [Term("Key", ("keys", "key")), Term("KV cache", ("KV cache",)), Term("Bag", ("bag",))]


def linked(*texts: str, root: str = "") -> list[str]:
    links = Links(TERMS, root)
    return [links.linked(text) for text in texts]


def test_a_term_is_linked_at_its_first_use_on_a_page():
    first, second = linked("Two keys, one key.", "A key.")
    assert first == "Two [keys](glossary.md#key), one key." and second == "A key."
    assert linked("Key", root="../") == ["[Key](../glossary.md#key)"]
    assert linked("The KV\ncache") == ["The [KV\ncache](glossary.md#kv-cache)"]
    assert linked("keyed, monkey, low-key, kv cache") == ["keyed, monkey, low-key, kv cache"]


@pytest.mark.parametrize(
    "left",
    [
        "`key`",
        "```\nkey\n```",
        "$key$",
        "$$\nkey\n$$",
        "[a key](x.md)",
        "![key](x.png)",
        '<b title="key">',
        "## A key\n",
        "**Read next:** Key et al.\non keys",
        "**Question:** a key?",
        "https://x.org/key",
    ],
)
def test_no_term_is_linked_in_code_formulas_links_headings_and_titles(left):
    assert linked(f"{left}\n\nThe key") == [f"{left}\n\nThe [key](glossary.md#key)"]


def test_of_two_terms_that_overlap_the_longer_is_linked():
    terms = [Term("Mask", ("mask",)), Term("Causal mask", ("causal mask",))]
    text = Links(terms, "").linked("A causal mask is a mask.")
    assert text == "A [causal mask](glossary.md#causal-mask) is a [mask](glossary.md#mask)."


def test_every_term_is_used_in_a_lesson_and_stands_in_order(notebooks):
    terms = site_glossary.read(ROOT)
    names = [term.name for term in terms]
    assert names == sorted(set(names), key=str.lower)
    used: set[str] = set()
    for notebook in notebooks.values():
        links = Links(terms, "")
        links.linked(prose(notebook))
        used |= links.used
    assert set(names) - used == set()
    page = site_pages.texts(PROJECT)["glossary"]
    assert "<!--" not in page
    assert [term.anchor for term in terms] == [anchor(name) for name in HEADING.findall(page)[1:]]


def test_every_term_is_explained_in_a_few_words_with_a_lesson():
    for entry in written("glossary").split("\n## ")[1:]:
        assert LINK.search(entry), entry
        assert len(entry.split()) < 60, entry


# ------------------------------------------------------------------------- symbols


def test_every_symbol_is_used_in_the_lesson_that_its_row_names(notebooks):
    rows = [line.split(" | ") for line in written("symbols").splitlines() if line.startswith("| $")]
    assert len(rows) > 30
    for row in rows:
        for lesson, _ in LINK.findall(row[-1]):
            math = " ".join(re.findall(r"\$\$?([^$]+)\$\$?", prose(notebooks[lesson])))
            for symbol in re.findall(r"\$(.+?)\$", row[0]):
                assert symbol in math, f"{symbol} is not in {lesson}"


# ------------------------------------------------------------------------- choose


@pytest.fixture(scope="module")
def choose():
    prices = {"parameters": 1234, "extra_bytes": 5, "longest": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "passport", lambda name, **options: prices)
        return site_choose.page(written("choose"))


@pytest.fixture(scope="module")
def choose_html(choose):
    return parsed(choose.markdown)


def mean(row: Tag) -> float:
    """The mean in a row of the results."""
    return float(re.findall(r"(\d\.\d{3}) ±", row.text)[0])


def test_every_number_leads_to_the_row_that_says_the_same(choose_html):
    rows = {str(row["id"]): row for row in choose_html.select("tr[id]")}
    links = choose_html.select("a[href^='#']")
    assert len(links) > 60
    for link in links:
        name, number = str(link["href"])[1:], link.text
        if number.startswith(("+", "-")):  # a rise is a difference of two rows
            kind, encoding, _ = name.split("-")
            rise = mean(rows[name]) - mean(rows[f"{kind}-{encoding}-64"])
            assert abs(rise - float(number.split()[0])) < 0.002
        else:
            assert number in rows[name].text
    rope = rows["encoding-rope"].text
    assert "1,234" in rope and "no end found" in rope


def test_every_result_has_its_seeds_and_the_lines_where_they_stand(choose, choose_html):
    tables = {name: (data.folder() / f"{name}.csv").read_text("utf-8") for name in TABLES}
    files = {name: list(csv.DictReader(text.splitlines())) for name, text in tables.items()}
    rows = choose_html.select("#results tr[id]")
    assert len(rows) > 400 and len({row["id"] for row in rows}) == len(rows)
    for row in rows:
        encoding, *_, seeds, source = [cell.text for cell in row.select("th, td")]
        file, _, lines = source.partition(".csv: ")
        runs = [files[file][int(line) - 2] for line in lines.split(", ")]
        values = [float(value) for value in seeds.split(", ")]
        assert len(runs) == len(values) > 1
        for run, value in zip(runs, values, strict=True):
            assert printed(run["encoding"]) == encoding
            measured = float(run["accuracy" if file == "tasks" else "loss"])
            assert abs(measured - value) < 6e-5, row["id"]
    assert set(choose.files) == {f"_static/data/{name}.csv" for name in files}


def test_filters_offer_only_what_some_row_has(choose_html):
    for form in choose_html.select("form.om-filter"):
        rows = choose_html.select(f"#{form['data-rows']} tr[id]")
        for select in form.select("select"):
            offered = {str(option["value"]) for option in select.select("option")} - {""}
            assert offered == {str(row[f"data-{select['name']}"]) for row in rows}


# ------------------------------------------------------------------------- ledger


def test_the_ledger_has_a_form_and_a_verdict_for_each_claim_and_leads_to_its_cell(notebooks):
    claims = read_claims()
    entries = parsed(site_ledger.page("<!-- claims -->").markdown).select("div.om-row")
    assert len(entries) == len(claims) > 60
    for entry, claim in zip(entries, claims, strict=True):
        (form,) = entry.select("form")
        assert form["data-question"] == claim["id"] and form["data-measured"] == claim["verdict"]
        assert f"{claim['verdict'].upper()}." in entry.text and claim["scope"][:20] in entry.text
        there = f"In a real model, {claim['model']}: {claim['verdict_there'].upper()}."
        assert (there in entry.text) == ("In a real model" in entry.text) == bool(claim["model"])
        lesson, cell = claim["lesson"], claim["cell"]
        links = [link["href"] for link in entry.select("a")]
        assert links[-2:] == [f"{lesson}.html#claim-{claim['id']}", f"{lesson}.html#{cell}"]
        (settles,) = (each for each in notebooks[lesson].cells if each.id == cell)
        assert claim["id"] in [verdict["id"] for verdict in claims_in(settles)]


# ------------------------------------------------------------------------- teaching


def test_teachers_find_each_lesson_with_its_minutes_its_mistakes_and_what_to_discuss(notebooks):
    page = site_teaching.page(written("teaching"), ROOT).markdown
    sections = dict(re.findall(r"(?s)\n### (\d\d) (.*?)(?=\n### |\Z)", page))
    lessons = [name for name in NAMES if "/" not in name]
    assert list(sections) == [name[:2] for name in lessons]
    assert "<!--" not in page
    for name in lessons:
        section = sections[name[:2]]
        assert re.search(r"About \d+ minutes(, and \d+ for the exercises)?\.", section)
        assert len(re.findall(r"(?m)^- ", section.partition("**To discuss**")[2])) >= 2
        text = " ".join(BeautifulSoup(section, "html.parser").text.split())
        for check in site_exercises.of_lesson(name[:2]).values():
            for mistake in check.mistakes:
                assert " ".join(mistake.question.split()) in text
        for lesson, heading in LINK.findall(section):
            assert heading in anchors(notebooks[lesson])
        ids = {cell.id for cell in notebooks[name].cells}
        cells = re.findall(r"`(l\d\d-c\d+)`", section)
        assert cells and set(cells) <= ids


# ------------------------------------------------------------------------- reference


def test_the_reference_lists_every_part_of_the_package():
    modules = [module.name for module in pkgutil.iter_modules(course_utils.__path__)]
    parts = re.findall(r"(?m)^   course_utils\.(\w+)$", written("reference"))
    assert parts == sorted(name for name in modules if not name.startswith("_"))


def test_bars_in_docstrings_are_absolute_values_and_code_stays():
    escape = runpy.run_path(str(ROOT / "site" / "conf.py"))["escape_bars"]
    lines = ["-m |j - i|, ``a | b``, |x|"]
    escape(None, "function", "f", None, None, lines)
    assert lines == [r"-m \|j - i\|, ``a | b``, \|x\|"]
