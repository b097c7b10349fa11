"""The site's pages besides the lessons: what they say is in the lessons, the data and the code."""

import csv
import re
import runpy
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import build_site
import pytest
import site_choose
import site_exercises
import site_glossary
import site_ledger
import site_page
import site_pages
import site_questions
import site_reader
import site_reference
import site_teaching
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_source import read_notebook, read_project
from site_glossary import Links, Term

from course_utils import measures
from course_utils.texts import data

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "site" / "pages"
PROJECT = read_project(ROOT)
NAMES = build_site.built(PROJECT)
LINK = re.compile(r"\]\(((?:closer/)?\d\d_\w+)\.md(?:#([^)]*))?\)")


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-")


@pytest.fixture(scope="module")
def notebooks() -> dict[str, NotebookNode]:
    """The notebooks with solutions, by lesson."""
    found = {name: read_notebook(build_site.notebooks(PROJECT, name)[0]) for name in NAMES}
    return {name: notebook for name, notebook in found.items() if notebook}


def prose(notebook: NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def written(name: str) -> str:
    return (PAGES / f"{name}.md").read_text("utf-8")


class Elements(HTMLParser):
    """The elements of some HTML: name, attributes, and the text in each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any], list[str]]] = []
        self.open: list[tuple[str, dict[str, Any], list[str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs), []))
        if tag not in ("input", "br"):
            self.open.append(self.found[-1])

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop()[0] == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for one in self.open:
            one[2].append(data)


def elements(html: str, tag: str, **wanted: str) -> Iterator[tuple[dict[str, Any], str]]:
    for name, attributes, text in Elements(html).found:
        if name == tag and all(value in attributes.get(key, "") for key, value in wanted.items()):
            yield attributes, "".join(text)


# ------------------------------------------------------------------------- links to the lessons


@pytest.mark.parametrize("name", ["choose", "ledger", "glossary", "symbols", "how_we_know"])
def test_every_link_to_a_lesson_leads_to_one_of_its_headings(
    name: str, notebooks: dict[str, NotebookNode]
) -> None:
    found = LINK.findall(written(name))
    assert found or name == "ledger"
    for lesson, anchor in found:
        headings = re.findall(r"(?m)^#+ (.*)$", prose(notebooks[lesson]))
        assert not anchor or anchor in map(slug, headings), f"{lesson} has no {anchor}"


def test_a_link_to_a_lesson_that_is_not_on_the_site_leads_to_its_notebook() -> None:
    text = (
        "[a](02_waves.md#hand), [b](closer/03_more.md), [c](glossary.md), [d](reference/index.md)"
    )
    found = site_pages._to_pages(text, ["02_waves"], "https://x.org")
    assert found.split(", ") == [
        "[a](02_waves.md#hand)",
        "[b](https://x.org/notebooks/closer/03_more.ipynb)",
        "[c](glossary.md)",
        "[d](https://x.org/docs/library.md)",
    ]
    assert site_pages._to_pages(text, ["reference/index"], "").endswith("[d](reference/index.md)")


def test_the_contents_have_the_lessons_first_and_then_the_pages_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site_choose, "page", lambda text: site_page.Page("choose", "", text))
    opening = "# 02 · Waves\n\n**Time:** about 40 minutes."
    made = site_pages.pages(PROJECT, [site_page.Page("02_sinusoidal", opening, "")], False)
    trees = re.findall(r"```{toctree}.*?```", made[0].markdown, re.DOTALL)
    listed = [re.findall(r"^/(.*)$", tree, re.MULTILINE) for tree in trees]
    order = [name for name in site_pages.ORDER if name != site_reference.INDEX]
    assert listed == [["02_sinusoidal"], order]
    assert {page.name for page in made} == {"index", *order}
    assert "# Changelog" in next(one.markdown for one in made if one.name == "changelog")
    assert f"]({PROJECT.address}/releases/latest)" in made[0].markdown, "where the book is"
    assert site_pages.ADDRESS not in made[0].markdown


# ------------------------------------------------------------------------- glossary


TERMS = [Term("Key", ("keys", "key")), Term("KV cache", ("KV cache",)), Term("Bag", ("bag",))]


def linked(*texts: str, root: str = "") -> list[str]:
    links = Links(TERMS, root)
    return [links.linked(text) for text in texts]


def test_a_term_is_linked_at_its_first_use_on_a_page() -> None:
    assert linked("Two keys, one key.", "A key.") == [
        "Two [keys](glossary.md#key), one key.", "A key.",
    ]  # fmt: skip
    assert linked("Key", root="../") == ["[Key](../glossary.md#key)"]
    assert linked("The KV\ncache") == ["The [KV\ncache](glossary.md#kv-cache)"]
    assert linked("keyed, monkey, low-key, kv cache") == ["keyed, monkey, low-key, kv cache"]


@pytest.mark.parametrize(
    "left",
    ["`key`", "```\nkey\n```", "$key$", "$$\nkey\n$$", "[a key](x.md)", "![key](x.png)",
     '<b title="key">', "## A key\n", "**Read next:** Key et al.\non keys", "**Question:** a key?",
     "https://x.org/key"],
)  # fmt: skip
def test_no_term_is_linked_in_code_formulas_links_headings_and_titles(left: str) -> None:
    assert linked(f"{left}\n\nThe key") == [f"{left}\n\nThe [key](glossary.md#key)"]


def test_of_two_terms_that_overlap_the_longer_is_linked() -> None:
    terms = [Term("Mask", ("mask",)), Term("Causal mask", ("causal mask",))]
    found = Links(terms, "").linked("A causal mask is a mask.")
    assert found == "A [causal mask](glossary.md#causal-mask) is a [mask](glossary.md#mask)."


def test_every_term_is_used_in_a_lesson_and_stands_in_order(
    notebooks: dict[str, NotebookNode],
) -> None:
    terms = site_glossary.read(ROOT)
    names = [term.name for term in terms]
    assert names == sorted(set(names), key=str.lower)
    used: set[str] = set()
    for notebook in notebooks.values():
        links = Links(terms, "")
        links.linked(prose(notebook))
        used |= links.used
    assert set(names) - used == set()
    page = site_glossary.page(written("glossary"))
    assert "<!--" not in page.markdown
    assert [term.anchor for term in terms] == [
        slug(one) for one in re.findall(r"(?m)^## (.*)$", page.markdown)
    ]


def test_every_term_is_explained_in_a_few_words_with_a_lesson() -> None:
    for entry in written("glossary").split("\n## ")[1:]:
        assert LINK.search(entry), entry
        assert len(entry.split()) < 60, entry


# ------------------------------------------------------------------------- symbols


def test_every_symbol_is_used_in_the_lesson_that_its_row_names(
    notebooks: dict[str, NotebookNode],
) -> None:
    rows = [line.split(" | ") for line in written("symbols").splitlines() if line.startswith("| $")]
    assert len(rows) > 30
    for row in rows:
        for lesson, _ in LINK.findall(row[-1]):
            math = " ".join(re.findall(r"\$\$?([^$]+)\$\$?", prose(notebooks[lesson])))
            for symbol in re.findall(r"\$(.+?)\$", row[0]):
                assert symbol in math, f"{symbol} is not in {lesson}"


# ------------------------------------------------------------------------- choose


@pytest.fixture(scope="module")
def choose() -> site_page.Page:
    prices = {"parameters": 1234, "extra_bytes": 5, "longest": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "passport", lambda name, **options: prices)
        return site_choose.page(written("choose"))


def mean(row: str) -> float:
    """The mean in a row of the results."""
    return float(re.findall(r"(\d\.\d{3}) ±", row)[0])


def test_every_number_leads_to_the_row_that_says_the_same(choose: site_page.Page) -> None:
    rows = {
        attributes["id"]: text
        for attributes, text in elements(choose.markdown, "tr")
        if "id" in attributes
    }
    links = list(elements(choose.markdown, "a", href="#"))
    assert len(links) > 60
    for attributes, number in links:
        name = attributes["href"][1:]
        if number.startswith(("+", "-")):  # a rise is a difference of two rows
            kind, encoding, _ = name.split("-")
            rise = mean(rows[name]) - mean(rows[f"{kind}-{encoding}-64"])
            assert abs(rise - float(number.split()[0])) < 0.002
        else:
            assert number in rows[name]
    assert "1,234" in rows["encoding-rope"] and "no end found" in rows["encoding-rope"]


def test_every_result_has_its_seeds_and_the_lines_where_they_stand(choose: site_page.Page) -> None:
    files = {
        name: (data.folder() / f"{name}.csv").read_text("utf-8").splitlines()
        for name in ("extrapolation", "both_ways", "larger", "tasks")
    }
    (table,) = (html for html in choose.markdown.split("\n\n") if 'id="results"' in html)
    rows = re.findall(r'<tr id="([^"]+)".*?>(.*?)</tr>', table)
    assert len(rows) > 400 and len({name for name, _ in rows}) == len(rows)
    for name, row in rows:
        encoding, *_, seeds, places = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)
        file, _, lines = places.partition(".csv: ")
        found = [files[file][int(line) - 1].split(",") for line in lines.split(", ")]
        values = [float(value) for value in seeds.split(", ")]
        assert len(found) == len(values) > 1
        for cells, value in zip(found, values, strict=True):
            assert cells[0] == re.sub("<.*?>", "", encoding)
            assert any(abs(float(cell) - value) < 6e-5 for cell in cells if "." in cell[:3]), name
    assert set(choose.files) == {f"_static/data/{name}.csv" for name in files}


def test_filters_offer_only_what_some_row_has(choose: site_page.Page) -> None:
    for form in re.findall(r'<form class="om-filter".*?</form>', choose.markdown):
        (name,) = re.findall('data-rows="(.*?)"', form)
        (table,) = (one for one in choose.markdown.split("\n\n") if f'id="{name}"' in one)
        for key, options in re.findall(r'<select name="(\w+)">(.*?)</select>', form):
            values = set(re.findall(f'data-{key}="(.*?)"', table))
            assert set(re.findall('<option value="(.+?)"', options)) == values


# ------------------------------------------------------------------------- ledger


def test_the_ledger_has_a_form_and_a_verdict_for_each_claim_and_leads_to_its_cell(
    notebooks: dict[str, NotebookNode],
) -> None:
    page = site_ledger.page("<!-- claims -->", NAMES)
    with (ROOT / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        claims = list(csv.DictReader(file))
    entries = page.markdown.split('<div class="om-row"')[1:]
    assert len(entries) == len(claims) > 60
    for entry, claim in zip(entries, claims, strict=True):
        assert f'data-question="{claim["id"]}"' in entry
        assert f'data-measured="{claim["verdict"]}"' in entry
        text = "".join(re.findall(">([^<]*)", entry))
        assert f"{claim['verdict'].upper()}." in text and f"{claim['scope']}"[:20] in text
        there = f"In a real model, {claim['model']}: {claim['verdict_there'].upper()}."
        assert (there in text) == ("In a real model" in text) == bool(claim["model"])
        lesson, cell = claim["lesson"], claim["cell"]
        assert f'href="{lesson}.html#claim-{claim["id"]}"' in entry
        assert f'href="{lesson}.html#{cell}"' in entry
        (settles,) = (one for one in notebooks[lesson].cells if one.id == cell)
        assert claim["id"] in [told["id"] for told in site_questions.settled(settles)]


def test_the_cell_that_settles_a_claim_can_be_linked_to() -> None:
    told = {"id": "C01", "claim": "A.", "scope": "b", "verdict": "true", "evidence": "exact",
            "measured": "1.", "cases": {}}  # fmt: skip
    shown = new_output("display_data", {site_questions.CLAIM_MIME: told})
    cells = [new_markdown_cell("# 02"), new_code_cell("settle()", outputs=[shown])]
    cells[1].id = "l02-c001"
    notebook = new_notebook(cells=cells)
    page = site_page.page("02_waves", notebook, notebook, ["02_waves"], "https://x.org")
    assert 'id="l02-c001"' in page.markdown


def test_on_a_site_without_its_lesson_a_claim_still_names_its_cell() -> None:
    page = site_ledger.page("<!-- claims -->", [])
    assert ".html#" not in page.markdown and "Lesson 01, cell l01-c099." in page.markdown


# ------------------------------------------------------------------------- teaching


def test_teachers_find_each_lesson_with_its_minutes_its_mistakes_and_what_to_discuss(
    notebooks: dict[str, NotebookNode],
) -> None:
    page = site_teaching.page(written("teaching"), ROOT).markdown
    sections = dict(re.findall(r"(?s)\n### (\d\d) (.*?)(?=\n### |\Z)", page))
    lessons = [name for name in NAMES if "/" not in name]
    assert list(sections) == [name[:2] for name in lessons]
    assert "<!--" not in page
    for name in lessons:
        section = sections[name[:2]]
        assert re.search(r"About \d+ minutes\.", section)
        assert len(re.findall(r"(?m)^- ", section.partition("**To discuss**")[2])) >= 2
        text = " ".join(re.sub("<.*?>", "", section).split())
        for check in site_exercises.of_lesson(name[:2]).values():
            for mistake in check.mistakes:
                asked = " ".join(mistake.question.replace("<", "&lt;").split())
                assert asked.replace(">", "&gt;").replace("&", "&amp;") in text.replace(
                    "&", "&amp;"
                )
        for lesson, anchor in LINK.findall(section):
            assert anchor in map(slug, re.findall(r"(?m)^#+ (.*)$", prose(notebooks[lesson])))
        ids = {cell.id for cell in notebooks[name].cells}
        shown = re.findall(r"`(l\d\d-c\d+)`", section)
        assert shown and set(shown) <= ids


# ------------------------------------------------------------------------- reference


@pytest.mark.thorough
def test_the_whole_site_is_built_without_a_warning_and_each_docstring_is_read(
    tmp_path: Path,
) -> None:
    pytest.importorskip("sphinx", reason="the extra 'site' is not installed")
    folder = site_reader.build(tmp_path)
    page = (folder / "reference" / "attention.html").read_text("utf-8")
    text = " ".join(BeautifulSoup(page, "html.parser").get_text().split())
    assert "x: Float[Tensor, 'batch seq d_model']" in text
    assert (folder / "genindex.html").exists()


def test_the_reference_has_every_public_name_once() -> None:
    index, *parts = site_reference.pages()
    made = {page.name.rpartition("/")[2]: page.markdown for page in parts}
    folder = ROOT / "course_utils"
    found = {path.stem for path in folder.iterdir() if not path.name.startswith(("_", "py.typed"))}
    assert set(made) == found
    assert all(f"]({name}.md)" in index.markdown for name in found)
    text = "\n".join(made.values())
    for name in ("create", "ALiBi", "rope_frequencies", "passport", "MultiHeadAttention"):
        assert len(re.findall(rf"(?m)^.. auto(?:class|function):: {name}$", text)) == 1, name
    assert not re.search(r"auto(class|function):: _", text)


def test_bars_in_docstrings_are_absolute_values_and_code_stays() -> None:
    escape = runpy.run_path(str(ROOT / "site" / "conf.py"))["escape_bars"]
    lines = ["-m |j - i|, ``a | b``, |x|"]
    escape(None, "function", "f", None, None, lines)
    assert lines == [r"-m \|j - i\|, ``a | b``, \|x\|"]
