"""The book: what becomes of a page of the site on paper, and the two files that are made of it."""

import os
import posixpath
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import book_page
import build_book
import build_site
import pytest
import release
from browser import find_chromium
from notebook_source import read_project
from site_html import code_block, folded
from test_site import ANSWER, ASK, CLAIM, MYTHS, code, page, picture, shown, verdict

ROOT = Path(__file__).resolve().parents[1]
LESSONS = ["02_sinusoidal", "closer/02_in_practice"]
PAGES = ["02_waves", "03_next", "closer/02_more"]
SVG = "{http://www.w3.org/1999/xhtml}"


def chapter(*cells: Any, stubs: Any = (), pages: Any = PAGES) -> str:
    """The chapter of a notebook with these cells after its title."""
    return book_page.chapter("02_waves", page(*cells, stubs=stubs).markdown, pages)


class Balance(HTMLParser):
    """Elements that are opened and not closed, over a whole chapter."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.open: list[str] = []
        plain = "\n".join(b for b in book_page.blocks(markdown) if not book_page.FENCE.match(b))
        self.feed(plain.replace("<https://", "https://"))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass


# ------------------------------------------------------------------------- a chapter


def test_blocks_keep_fences_whole_and_lose_nothing() -> None:
    text = "one\ntwo\n\n```{code-block} python\n\na\n\n<b>\n```\nthree\n\n"
    text += "````text\n```\n\n````\n<p>x</p>\n\n```text\n```python\n```\nfour"
    found = list(book_page.blocks(text))
    assert found == [
        "one\ntwo",
        "```{code-block} python\n\na\n\n<b>\n```",
        "three",
        "````text\n```\n\n````",
        "<p>x</p>",
        "```text\n```python\n```",
        "four",
    ]


def test_a_question_says_what_can_be_chosen_and_its_answer_stands_open_behind_a_bar() -> None:
    found = chapter(ASK, ANSWER)
    assert "<b>Predict.</b> Who &lt;is&gt; it?" in found
    assert re.search(r"<ul><li>you</li><li>me</li></ul></div>", found)
    answer = found.split('<div class="om-answer">')[1]
    assert "Measured: <b>me</b>." in answer and "a = 1" in answer
    assert found.index("Who &lt;is") < found.index("guess.reveal") < found.index("Measured")
    for left in (
        "<form",
        "<input",
        "<button",
        "<details",
        "<summary",
        "om-verdict",
        "guess to make",
    ):
        assert left not in found
    assert Balance(found).open == []


def test_a_number_is_asked_for_with_its_unit() -> None:
    told = "Predict: How long?\n  (a number in m)"
    assert "<p>A number, in m.</p>" in chapter(code("guess = predict_number()", shown(told)))
    told = "Predict: How many?\n  (a number)"
    assert "<p>A number.</p>" in chapter(code("guess = predict_number()", shown(told)))


def test_a_claim_has_its_scope_once_and_every_verdict() -> None:
    settle = code("myths.settle(1)", verdict(**CLAIM), verdict(model="mini", first_verdict="false"))
    found = chapter(MYTHS, settle)
    assert found.count("Judged on: whole turns.") == 1
    assert "<b>FALSE.</b> It is 6." in found and "In a real model, mini" in found
    assert '<div class="om-claim" id="claim-C12">' in found
    assert "Verdicts:" not in found, "whose code is left out"
    assert "depends</li>" not in found
    assert Balance(found).open == []


def test_code_that_only_draws_is_left_out_and_what_it_drew_is_not() -> None:
    words = "<details><summary>In words</summary>me, largest</details>"
    shows = [picture("me, largest"), shown("In words: me, largest", **{"text/html": words})]
    board = code("#@title The board\ndraw()", *shows, tags=["plumbing"])
    found = chapter(code("kept()"), board)
    assert "draw()" not in found and "The board" not in found
    assert "kept()" in found
    assert "```{image} /pictures/l02-c002-0.png\n:alt: me, largest\n:width: 760px\n```" in found
    assert found.count("me, largest") == 1, "a description is read out, not printed"
    assert Balance(found).open == []


def test_hints_and_solutions_stand_at_the_end_in_order() -> None:
    from course_lab.checks.lesson02 import check_before_after, check_tell_time

    cells = []
    for name in ("tell_time", "before_after"):
        source = f"from course_lab.checks.lesson02 import check_{name}\n\ncheck_{name}(f)"
        cells += [code(f"def {name}(): return 7", tags=["solution"]), code(source), "Text."]
    found = chapter(*cells, stubs=["def tell_time(): ...", "def before_after(): ..."])
    start = found.index("## Hints and solutions")
    assert found.rindex("Text.") < start
    assert found.count("Hints and a solution stand at the end") == 2
    parts = ["### For exercise 1 "]
    for number, check in enumerate((check_tell_time, check_before_after), start=1):
        told = [f"<p><b>Hint {n} of 3.</b> {book_page.tag('x', hint)[3:20]}"
                for n, hint in enumerate(check.hints, start=1)]  # fmt: skip
        assert [found.count(hint) for hint in told] == [1, 1, 1]
        parts += [f"### For exercise {number} ", *told, "<b>A solution.</b>", "return 7"]
    at = start
    for part in parts[1:]:
        at = found.index(part, at)
    assert Balance(found).open == []


def test_an_explorer_is_told_of_and_no_module_is_asked_for() -> None:
    told = "Explorer: hands of a clock. Controls: base: 100. Run the cell to move them."
    found = chapter(code("explorers.clocks(base=100)", shown(told)))
    assert "hands of a clock" in found and "(It moves on the course's site.)" in found
    assert "data-module" not in found and "JavaScript" not in found


def test_links_to_what_the_book_lacks_become_text() -> None:
    found = chapter("[a](03_next.ipynb), [b](closer/02_more.ipynb#x), [c](09_far.ipynb)")
    assert "[a](03_next.md), [b](closer/02_more.md#x), [c](https://example.org/" in found
    found = chapter("[a](03_next.ipynb#y), [b](closer/02_more.ipynb#x)", pages=["02_waves"])
    assert "a, b" in found
    terms = book_page.chapter("closer/02_more", "An [angle](../glossary.md#angle).", ["glossary"])
    assert terms == "An [angle](../glossary.md#angle).\n"
    assert book_page.chapter("x", "An [angle](glossary.md#angle).", ["x"]) == "An angle.\n"


def test_what_a_later_page_may_bring_is_made_fit_for_paper() -> None:
    """Live models, tables of other pages: nothing to click, and XML."""
    live = (
        '<div class="om-live" data-module="x.js" data-start="{}"><p class="om-fallback">It reads.'
    )
    more = [f"{live}</p></div>", "<p>a<br>b <a href='x.html'>c</a></p>", "<canvas id='x'></canvas>"]
    more += folded("More", ["Text."])
    more += folded("Code", folded("More", ["Hidden."]), class_="om-code")
    more += ["```{toctree}\n:hidden:\n\n/y\n```"]
    found = book_page.chapter("x", "\n\n".join(more), ["x"])
    assert '<p class="om-note">It reads.</p>' in found
    assert "<p>a<br/>b c</p>" in found and "canvas" not in found
    assert "<b>More</b>" in found and "Text." in found and "details" not in found
    assert "Hidden." not in found and "toctree" not in found


def test_code_that_looks_like_html_stays_as_it_is() -> None:
    block = code_block('<details class="om-code"><summary>x</summary>\n\n[a](b.md)')
    assert book_page.chapter("x", block, []).strip() == block


def test_every_lesson_has_its_closer_look_behind_it() -> None:
    names = ["01_a", "02_b", "closer/02_c", "closer/02_d"]
    assert build_book.chapters(names) == ["01_a", "02_b", "closer/02_c", "closer/02_d"]
    assert build_book.chapters(["01_a", "02_b", "closer/01_x"]) == ["01_a", "closer/01_x", "02_b"]
    assert build_book.chapters(["closer/02_c"]) == ["closer/02_c"]


@pytest.fixture(scope="module")
def every_source() -> dict[str, bytes]:
    project = read_project(ROOT)
    return build_book.sources(project, build_site.built(project))


@pytest.mark.thorough
def test_every_chapter_of_this_course_is_balanced_and_has_nothing_to_click(
    every_source: dict[str, bytes],
) -> None:
    names = [name for name in every_source if name.endswith(".md")]
    assert len(names) > 12
    for name in names:
        text = every_source[name].decode()
        assert Balance(text).open == [], name
        plain = "\n".join(b for b in book_page.blocks(text) if not book_page.FENCE.match(b))
        clickable = r"<(?:form|input|button|details|summary|select|canvas|script)\b|data-module"
        assert re.findall(clickable, plain) == [], name
        pictures = re.findall(r"^```\{image\} /(.*)$", text, re.MULTILINE)
        assert set(pictures) <= set(every_source), name


def test_without_chromium_the_book_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(build_book, "find_chromium", lambda: None)
    assert build_book.main(["--out", str(tmp_path)]) == 1
    assert "no Chromium on PATH" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------- PDF and EPUB


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, zipfile.ZipFile]:
    """PDF and EPUB of a lesson and its closer look."""
    if not find_chromium():
        pytest.skip("no Chromium on PATH; ORDER_MATTERS_CHROMIUM can name one")
    out = tmp_path_factory.mktemp("book")
    command = [sys.executable, build_book.__file__, "--out", str(out), "--lessons", *LESSONS]
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    settings = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=settings, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    pdf, epub = (out / f"{build_book.NAME}.{kind}" for kind in ("pdf", "epub"))
    return pdf.read_bytes(), zipfile.ZipFile(epub)


@pytest.mark.browser
@pytest.mark.thorough
def test_the_pdf_has_an_outline_and_reads_its_pictures_out(
    book: tuple[bytes, zipfile.ZipFile],
) -> None:
    pdf = book[0]
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", pdf)) > 15
    for part in (b"/Outlines", b"/StructTreeRoot", b"/Lang (en)"):
        assert part in pdf
    wanted = "The strip of four doors; open: embed."
    ways = [wanted.encode(), wanted.encode("utf-16-be").hex().upper().encode()]
    assert any(way in pdf for way in ways)


@pytest.mark.browser
@pytest.mark.thorough
def test_the_epub_is_what_readers_expect(book: tuple[bytes, zipfile.ZipFile]) -> None:
    epub = book[1]
    first = epub.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    names = set(epub.namelist())
    listing = epub.read("content.opf").decode()
    navigation = epub.read("nav.xhtml").decode()
    assert f">{release.versions(ROOT)['pyproject.toml']}</meta>" in listing
    for name in LESSONS:
        assert f'href="{name}.xhtml"' in navigation
        text = epub.read(f"{name}.xhtml").decode()
        tree = ElementTree.fromstring(text)  # XHTML or an error
        item = re.search(rf'<item [^>]*href="{name}\.xhtml"[^>]*>', listing)
        assert item and 'properties="mathml"' in item[0]
        assert "<math" in text and "\\(" not in text and "\\[" not in text
        for element in tree.iter():
            assert element.tag.removeprefix(SVG) not in {"form", "input", "script", "details"}
            for key in ("src", "href"):
                target = element.get(key, "").partition("#")[0]
                if target and not target.startswith("http"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target))
                    assert path in names, f"{name}: {target}"
            if element.tag == f"{SVG}img":
                assert len(element.get("alt", "").split()) > 4
    assert not [name for name in names if name.endswith(".js")]
