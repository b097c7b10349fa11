"""The book: what becomes of a page of the site on paper, and the two files that are made of it."""

import posixpath
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Any

import book_page
import build_book
import pytest
from browser import find_chromium
from notebook_source import read_project
from site_html import folded
from site_reader import run_tool
from sphinx.errors import ExtensionError
from test_site import ANSWER, ASK, CLAIM, MYTHS, code, page, picture, shown, verdict

ROOT = Path(__file__).resolve().parents[1]
XHTML = "{http://www.w3.org/1999/xhtml}"
FENCE = re.compile(r"(?ms)^(`{3,}).*?^\1$")


def on_paper(*cells: Any, stubs: Any = ()) -> str:
    """The chapter of a notebook with these cells: its HTML, with Markdown as text between."""
    markdown = page(*cells, stubs=stubs).markdown
    html = FENCE.sub(lambda fence: f"<pre>{fence[0].replace('<', '&lt;')}</pre>", markdown)
    return chapter(html)


def chapter(html: str) -> str:
    """A page on paper, which is XML."""
    paper = book_page.on_paper(f"<section><h1>T</h1>{html}</section>")
    ElementTree.fromstring(paper)
    return paper


# ------------------------------------------------------------------------- a chapter


def test_a_question_says_what_can_be_chosen_and_its_answer_stands_open_behind_a_bar():
    text = on_paper(ASK, ANSWER)
    assert "<b>Predict.</b> Who &lt;is&gt; it?" in text
    assert "<ul><li>you</li><li>me</li></ul></div>" in text
    answer = text.split('<div class="om-answer">')[1]
    assert "Measured: <b>me</b>." in answer and "a = 1" in answer
    assert text.index("Who &lt;is") < text.index("Measured") < text.index("guess.reveal")
    for left_out in ("form", "input", "button", "details", "summary"):
        assert f"<{left_out}" not in text
    assert "om-verdict" not in text and "guess to make" not in text


def test_a_number_is_asked_for_with_its_unit():
    for question, unit in (("long?\n  (a number in m)", ", in m."), ("many?\n  (a number)", ".")):
        ask = code("guess = predict_number()", shown(f"Predict: How {question}"))
        assert f"<p>A number{unit}</p>" in on_paper(ask)


def test_a_claim_has_its_scope_once_and_every_verdict():
    settle = code("myths.settle(1)", verdict(**CLAIM), verdict(model="mini", first_verdict="false"))
    text = on_paper(MYTHS, settle)
    assert text.count("Judged on: whole turns.") == 1
    assert "<b>FALSE.</b> It is 6." in text and "In a real model, mini" in text
    assert '<div class="om-claim" id="claim-C12">' in text
    assert "om-settled" not in text, "whose code is left out"
    assert "depends</li>" not in text


def test_code_that_only_draws_is_left_out_and_what_it_drew_is_not():
    words = "<details><summary>In words</summary>me, largest</details>"
    shows = [picture("me, largest"), shown("In words: me, largest", **{"text/html": words})]
    board = code("#@title The board\ndraw()", *shows, tags=["plumbing"])
    text = on_paper(code("kept()"), board)
    assert "draw()" not in text and "The board" not in text
    assert "kept()" in text
    image = '<img alt="me, largest" height="300" src="_static/pictures/l02-c002-' + ' width="760"'
    assert all(part in text for part in image.split(" "))
    assert text.count("me, largest") == 1, "a description is read out, not printed"


def test_hints_and_solutions_stand_at_the_end_in_order():
    from course_lab.checks.lesson02 import check_before_after, check_tell_time

    cells = []
    for name in ("tell_time", "before_after"):
        source = f"from course_lab.checks.lesson02 import check_{name}\n\ncheck_{name}(f)"
        cells += [code(f"def {name}(): return 7", tags=["solution"]), code(source), "Text."]
    text = on_paper(*cells, stubs=["def tell_time(): ...", "def before_after(): ..."])
    assert text.count(book_page.NOTE) == 2
    position = text.index("<h2>Hints and solutions</h2>")
    assert text.rindex("Text.") < position
    for number, check in enumerate((check_tell_time, check_before_after), start=1):
        hints = [
            f"<p><b>Hint {n} of 3.</b> {hint[:17]}" for n, hint in enumerate(check.hints, start=1)
        ]
        heading = f"<h3>For exercise {number} of this chapter</h3>"
        for part in (heading, *hints, "<b>A solution.</b>", "return 7"):
            position = text.index(part, position)
        assert [text.count(hint) for hint in hints] == [1, 1, 1]


def test_each_chapter_has_its_own_solutions_at_its_end():
    solution = '<details class="om-solution"><summary>A solution</summary>{}</details>'
    chapters = "".join(
        f'<span id="document-{name}"></span><section><h2>{name}</h2>'
        f'<div class="om-exercise">{solution.format(f"<p>of {name}</p>")}</div><p>end</p></section>'
        for name in ("a", "b")
    )
    first, second = book_page.on_paper(f"<section>{chapters}</section>").split("document-")[1:]
    for text, name in ((first, "a"), (second, "b")):
        assert "<h3>Hints and solutions</h3>" in text
        assert text.index("end") < text.index(f"of {name}")
        assert text.count("For exercise 1 ") == 1


def test_an_explorer_is_described_and_no_module_is_asked_for():
    words = "Explorer: hands of a clock. Controls: base: 100. Run the cell to move them."
    text = on_paper(code("explorers.frequencies(base=100)", shown(words)))
    assert "hands of a clock" in text and "(It moves on the course's site.)" in text
    assert "data-module" not in text and "JavaScript" not in text


def test_nothing_is_left_to_click():
    live = '<div class="om-live" data-module="x.js" data-start="{}"><p>It reads.</p></div>'
    links = '<p class="om-links">Run it: <a href="n.ipynb" download="">Notebook</a></p>'
    hidden = folded("Code", folded("More", ["Hidden."]), class_="om-code")
    more = folded("More", ["<p>Text.</p>"])
    text = chapter("".join([live, links, "<p>a<br>b</p><canvas></canvas>", *more, *hidden]))
    assert '<p class="om-note">It reads.</p>' in text
    assert "<p>a<br/>b</p>" in text and "canvas" not in text
    assert "<b>More.</b> Text." in text and "details" not in text
    assert "Hidden." not in text and "Notebook" not in text


def test_a_formula_becomes_mathml_and_one_that_mathjax_has_not_seen_is_refused():
    body = '<p><span class="math notranslate nohighlight">\\(a &lt; b\\)</span></p>'
    text = book_page.with_mathml(body, {"a < b": "<math ><mi>a</mi></math>"})
    assert text == '<p><span><math alttext="a &lt; b" ><mi>a</mi></math></span></p>'
    with pytest.raises(ExtensionError, match="the PDF has no formula 'a < b'"):
        book_page.with_mathml(body, {})


def test_every_lesson_has_its_closer_look_behind_it():
    names = ["01_a", "02_b", "closer/02_c", "closer/02_d"]
    assert build_book.chapters(names) == ["01_a", "02_b", "closer/02_c", "closer/02_d"]
    assert build_book.chapters(["01_a", "02_b", "closer/01_x"]) == ["01_a", "closer/01_x", "02_b"]


def test_without_chromium_the_book_is_refused_in_words(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(build_book, "find_chromium", lambda: None)
    assert build_book.main(["--out", str(tmp_path)]) == 1
    assert "no Chromium on PATH" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------- PDF and EPUB


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """PDF and EPUB."""
    if not find_chromium():
        pytest.skip("no Chromium on PATH; ORDER_MATTERS_CHROMIUM can name one")
    out = tmp_path_factory.mktemp("book")
    run_tool(build_book, out)
    pdf, epub = (out / f"{build_book.NAME}.{kind}" for kind in ("pdf", "epub"))
    return pdf.read_bytes(), zipfile.ZipFile(epub)


@pytest.mark.browser
@pytest.mark.thorough
def test_the_pdf_has_an_outline_and_reads_its_pictures_out(book):
    pdf, _ = book
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", pdf)) > 150
    for part in (b"/Outlines", b"/StructTreeRoot", b"/Lang (en)"):
        assert part in pdf
    alternative = "The strip of four doors; open: embed."
    ways = [alternative.encode(), alternative.encode("utf-16-be").hex().upper().encode()]
    assert any(way in pdf for way in ways)


@pytest.mark.browser
@pytest.mark.thorough
def test_the_epub_is_what_readers_expect(book):
    _, epub = book
    first = epub.infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)
    names = set(epub.namelist())
    listing = epub.read("content.opf").decode()
    navigation = epub.read("nav.xhtml").decode()
    assert f">{read_project(ROOT).version}</meta>" in listing
    chapters = [name for name in names if re.fullmatch(r"(closer/)?\d\d_\w+\.xhtml", name)]
    assert len(chapters) > 12
    for chapter in chapters:
        assert f'href="{chapter}"' in navigation
        text = epub.read(chapter).decode()
        tree = ElementTree.fromstring(text)  # XHTML or an error
        item = re.search(rf'<item [^>]*href="{chapter}"[^>]*>', listing)
        assert item and ('properties="mathml"' in item[0]) == ("<math" in text)
        assert "\\(" not in re.sub(r"(?s)<pre>.*?</pre>|<code.*?</code>", "", text)
        for element in tree.iter():
            kind = element.tag.removeprefix(XHTML)
            assert kind not in {"form", "input", "button", "script", "details", "canvas"}
            assert "data-module" not in element.attrib
            for key in ("src", "href"):
                target = element.get(key, "").partition("#")[0]
                if target and not target.startswith("http"):
                    path = posixpath.normpath(posixpath.join(posixpath.dirname(chapter), target))
                    assert path in names, f"{chapter}: {target}"
            if kind == "img":
                assert len(element.get("alt", "").split()) > 4
    assert not [name for name in names if name.endswith(".js")]


def test_a_figure_stands_in_the_book_once():
    whole, panels = '<img class="whole"/>', '<div class="om-stacked"><img/><img/></div>'
    assert book_page.on_paper(f"<section>{whole}{panels}</section>").count("<img") == 1


def test_what_only_leads_about_a_screen_is_left_out_and_names_of_exercises_stay():
    moves = '<p class="om-moves">Moves: <a href="#explorer-a-1">a</a></p>'
    glyph = '<svg class="om-glyph"></svg>'
    above = '<p class="om-above">Above: <a href="#exercise-1">Exercise 1</a></p>'
    place = '<p><span id="exercise-1"></span>Exercise 1</p>'
    body = book_page.on_paper(f"<section>{moves}{glyph}{above}{place}</section>")
    assert "Moves" not in body and "<svg" not in body
    assert "Above: Exercise 1" in body and "exercise-1" not in body
