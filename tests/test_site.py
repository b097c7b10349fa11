"""The site's pages: what becomes of a notebook before Sphinx sees it."""

import base64
import re
import struct
from collections.abc import Sequence
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import build_site
import pytest
import site_html
import site_index
import site_page
import site_questions
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_folds import seal
from notebook_source import BuildError, find_lessons, lesson_name, read_notebook, read_project

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "https://example.org/notebooks"
BADGE = "[![Open in Colab](https://example.org/badge.svg)](https://example.org/colab)"
TITLE = f"# 02 · Waves\n\n**Question:** what *moves*?\n\n{BADGE}"
PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 760, 300)


def printed(text: str) -> NotebookNode:
    return new_output("stream", name="stdout", text=text)


def shown(text: str, **data: Any) -> NotebookNode:
    return new_output("display_data", {"text/plain": text, **data})


def picture(words: str) -> NotebookNode:
    return shown(words, **{"image/png": base64.b64encode(PNG).decode()})


def code(source: str, *outputs: NotebookNode, tags: Sequence[str] = ()) -> NotebookNode:
    return new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def numbered(cells: Sequence[NotebookNode]) -> NotebookNode:
    for place, cell in enumerate(cells):
        cell.id = f"l02-c{place:03d}"
    return new_notebook(cells=list(cells))


def page(*cells: NotebookNode | str, stubs: Sequence[str] = ()) -> site_page.Page:
    """The page of a notebook with these cells after its title."""
    made = [
        new_markdown_cell(one) if isinstance(one, str) else deepcopy(one) for one in (TITLE, *cells)
    ]
    seal(made)
    learners = [new_markdown_cell(TITLE), *(code(stub, tags=["stub"]) for stub in stubs)]
    names = ["02_waves", "03_next", "closer/02_more"]
    return site_page.page("02_waves", numbered(made), numbered(learners), names, ADDRESS)


class Folds(HTMLParser):
    """What waits for a guess on a page: the questions' keys, and all that is folded."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.open: list[int | None] = []  # of each <details> around: its place in found
        self.found: list[tuple[str, list[str]]] = []
        self.feed(markdown)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        told = dict(attrs)
        if tag == "details" and "data-asks" in told:
            self.open.append(len(self.found))
            self.found.append((told["data-asks"], []))
        elif tag == "details":
            self.open.append(None)
        self.handle_data(told.get("alt", "") + told.get("data-measured", ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == "details":
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for place in self.open:
            if place is not None:
                self.found[place][1].append(data)


def folds(markdown: str) -> list[tuple[str, str]]:
    found = Folds(markdown)
    assert found.open == [], "a fold is left open"
    return [(keys, "".join(text)) for keys, text in found.found]


ASK = code(
    'guess = widgets.predict("Who <is> it?", ["you", "me"])',
    shown("Predict: Who <is> it?\n  (1) you\n  (2) me"),
)
ANSWER = code(
    'guess.reveal("me")',
    printed("a = 1\nMeasured: me. (No prediction was made above.)\nb = 2\n"),
)
KEY = site_questions.asked(ASK, "02_waves")[0].key


# ------------------------------------------------------------------------- text and code


def test_the_badge_becomes_a_link_and_no_picture_comes_from_elsewhere() -> None:
    found = page().markdown
    assert '<a href="https://example.org/colab">Open in Colab</a>' in found
    assert "badge.svg" not in found and "![" not in found
    assert 'href="_static/notebooks/02_waves.ipynb"' in found


def test_links_lead_to_pages_and_where_there_is_none_to_the_repository() -> None:
    found = page("[a](03_next.ipynb), [b](closer/02_more.ipynb#x), [c](09_far.ipynb)").markdown
    assert "[a](03_next.md), [b](closer/02_more.md#x)" in found
    assert f"[c]({ADDRESS}/09_far.ipynb)" in found
    below = numbered([new_markdown_cell(f"{TITLE}\n\n[d](../03_next.ipynb), [e](02_more.ipynb)")])
    names = ["03_next", "closer/02_more"]
    found = site_page.page("closer/02_more", below, below, names, ADDRESS).markdown
    assert "[d](../03_next.md), [e](02_more.md)" in found
    assert 'href="../_static/notebooks/closer/02_more.ipynb"' in found


def test_plumbing_is_folded_under_its_first_line_and_the_setup_is_left_out() -> None:
    setup = code("import pathlib  # the setup")
    cells = [new_markdown_cell(TITLE), setup, code("#@title The board\ndraw()", tags=["plumbing"])]
    notebook = numbered(cells)
    setup.id = "l02-setup"
    found = site_page.page("02_waves", notebook, notebook, ["02_waves"], ADDRESS).markdown
    assert "the setup" not in found
    inside = re.search(r"<summary>Code: The board</summary>(.*?)</details>", found, re.DOTALL)
    assert inside and "draw()" in inside[1] and "#@title" not in found


def test_code_may_hold_fences_and_html_may_not_break_out() -> None:
    block = site_html.code_block('text = """\n```python\n"""')
    assert block.startswith("````{code-block}") and block.endswith("\n````")
    found = page(ASK).markdown
    assert "Who &lt;is&gt; it?" in found and "<is>" not in re.sub(r"(?s)```.*?```", "", found)


def test_a_table_of_pandas_comes_without_its_style_in_a_block_that_scrolls() -> None:
    frame = '<div>\n<style scoped>td {}</style>\n<table border="1" class="dataframe"><tr></tr>\n'
    found = page(code("frame", shown("…", **{"text/html": f"{frame}</table></div>"}))).markdown
    assert '<div class="table-wrapper om-table"><div> <table class="docutils">' in found
    assert "<style" not in found


# ------------------------------------------------------------------------- pictures and explorers


def test_a_picture_is_a_file_with_its_words_and_its_size_and_is_loaded_late() -> None:
    made = page(code("show()", picture("Two waves, one\nabove “the” other.")))
    (path,) = made.files
    assert made.files[path] == PNG
    (tag,) = re.findall("<img .*?>", made.markdown)
    for part in (f'src="{path}"', 'width="760"', 'height="300"', 'loading="lazy"'):
        assert part in tag
    assert 'alt="Two waves, one above “the” other."' in tag


def test_a_picture_without_words_is_refused() -> None:
    with pytest.raises(BuildError, match=r"cell l02-c001 shows a picture without a description"):
        page(code("fig", picture("<Figure size 640x480 with 1 Axes>")))


def test_in_the_dark_a_picture_whose_words_speak_of_shades_stays_as_it_was_drawn() -> None:
    found = page(code("a", picture("A dark band.")), code("b", picture("A darkroom."))).markdown
    assert re.findall('<div class="(om-figure.*?)">', found) == [
        "om-figure om-as-drawn",
        "om-figure",
    ]


def test_an_explorer_that_needs_a_kernel_says_where_it_moves() -> None:
    found = page(code("explore()", picture("Explorer with sliders, at k = 3. It falls."))).markdown
    assert re.search(r"<img .*?>.*?in JupyterLab or Colab\.</p>", found, re.DOTALL)


def test_an_explorer_is_mounted_where_it_starts_and_described_without_javascript() -> None:
    told = "Explorer: hands of a clock. Controls: base: 100. Run the cell to move them."
    made = page(code("x = explorers.rows()\nexplorers.clocks(base=100)", shown(told)))
    assert made.explorers == {"clocks"}
    assert re.search(r'data-module="_static/explorers/clocks\.js\?v=\w{8}"', made.markdown)
    assert 'data-start="{&quot;base&quot;: 100}"' in made.markdown
    assert "hands of a clock" in made.markdown and "Run the cell" not in made.markdown


@pytest.mark.parametrize(
    ("call", "reason"),
    [("explorers.clocks(base=b)", "must be written out"), ("explorers.none()", "no explorer")],
)
def test_an_explorer_that_the_page_cannot_start_is_refused(call: str, reason: str) -> None:
    with pytest.raises(BuildError, match=reason):
        page(code(call, shown("Explorer: x.")))


# ------------------------------------------------------------------------- predictions


def test_a_prediction_is_a_form_with_its_options() -> None:
    found = page(ASK, ANSWER).markdown
    assert re.findall('type="radio" value="(.*?)"', found) == ["you", "me"]
    assert f'data-question="{KEY}" data-kind="choice"' in found
    assert "1 guess to make on this page." in found


def test_a_number_is_asked_for_with_its_unit() -> None:
    ask = code(
        "guess = predict_number('How long?')", shown("Predict: How long?\n  (a number in m)")
    )
    found = page(ask).markdown
    assert 'data-kind="number"' in found
    assert re.search(r'inputmode="decimal".*?> m</label>', found)


def test_what_gives_the_answer_away_is_folded_and_the_code_is_not() -> None:
    board = code("#@title The board\ndraw()", picture("me, largest"), tags=["plumbing"])
    look, then = "**Look:** me.\n\nOn.", "## Then"
    steps = code("steps()", printed("step"))
    found = page(ASK, steps, "Some words.", ANSWER, board, look, then).markdown
    ((keys, text),) = folds(found)
    assert keys == KEY
    for part in ("step", "Some words.", "a = 1", "b = 2", "me, largest", "**Look:** me."):
        assert part in text
    for part in ("steps()", "On.", "## Then"):
        assert part not in text
        assert part in found


def test_a_heading_ends_a_fold_and_later_outputs_open_another() -> None:
    found = page(ASK, code("x", printed("early")), "Text.\n\n## Next\n\nMore.", ANSWER).markdown
    (_, first), (_, second) = folds(found)
    assert "early" in first and "Text." in first
    assert "a = 1" in second
    assert "## Next" not in first + second and "More." not in first + second


def test_the_next_question_ends_what_follows_an_answer() -> None:
    again = code("g = predict()", shown("Predict: And?\n  (1) a\n  (2) b"), tags=["plumbing"])
    late = code("#@title Late\ndraw()", picture("Quite another thing."), tags=["plumbing"])
    ((_, text),) = folds(page(ASK, ANSWER, again, late).markdown)
    assert "a = 1" in text
    assert "g = predict()" not in text and "another thing" not in text


def test_the_measured_line_is_left_to_the_readers_guess() -> None:
    found = page(ASK, ANSWER).markdown
    assert "No prediction was made" not in found
    assert f'<p class="om-reveal" data-question="{KEY}" data-measured="me">' in found


def test_another_question_is_another_key() -> None:
    other = code("g = predict()", shown("Predict: Who <is> it?\n  (1) you\n  (2) us"))
    assert site_questions.asked(other, "02_waves")[0].key != KEY
    assert site_questions.asked(ASK, "03_next")[0].key != KEY


def test_a_question_within_a_question_is_refused() -> None:
    inner = code("other = predict()", shown("Predict: And?\n  (1) a\n  (2) b"))
    with pytest.raises(BuildError, match=r"cell l02-c002.*not clear which question"):
        page(ASK, inner, ANSWER)


# ------------------------------------------------------------------------- claims


def verdict(**told: Any) -> NotebookNode:
    data = {
        "id": "C12",
        "verdict": "false",
        "measured": "It is 6.",
        "cases": {"a": True, "b": False},
    }
    return shown("C12 …", **{site_questions.CLAIM_MIME: {**data, **told}})


CLAIM = {"claim": "It is 1.", "scope": "whole turns", "evidence": "exact", "choice": ""}
MYTHS = code(
    'myths = Myths({"C12": c})',
    shown("Predict: C12: It is 1. (whole turns)\n  (1) true\n  (2) false\n  (3) depends"),
)


def test_a_claim_has_its_scope_a_guess_and_every_verdict_folded_in_one_place() -> None:
    settle = code(
        "myths.settle(key)", verdict(**CLAIM), verdict(model="mini", first_verdict="false")
    )
    table = code("myths.table()", printed("all of them"))
    found = page(MYTHS, settle, table).markdown
    assert re.findall('type="radio" value="(.*?)"', found) == ["true", "false", "depends"]
    assert "Judged on: whole turns." in found and 'data-measured="false"' in found
    (_, card), (keys, last) = folds(found)
    assert "FALSE. It is 6.a: yes; b: no." in card
    assert "In a real model, mini: FALSE." in card
    assert keys == "C12" and "all of them" in last
    assert 'Verdicts: <a href="#claim-C12">C12</a>' in found and 'id="claim-C12"' in found


def test_a_verdict_that_depends_says_on_what_and_lists_cases_that_differ() -> None:
    turns = {**CLAIM, "choice": "width"}
    found = page(MYTHS, code("m", verdict(**{**turns, "verdict": "depends"}))).markdown
    assert "<b>DEPENDS on width.</b> It is 6.<br>a: yes; b: no." in found
    found = page(MYTHS, code("m", verdict(**{**turns, "cases": {"a": False, "b": False}}))).markdown
    assert "<b>FALSE.</b> It is 6.</p>" in found


def test_a_claim_that_is_never_settled_is_refused() -> None:
    with pytest.raises(BuildError, match="C12 is asked about and never settled"):
        page(MYTHS)


# ------------------------------------------------------------------------- exercises


def test_an_exercise_has_its_stub_then_hints_one_by_one_then_a_solution() -> None:
    from course_lab.checks.lesson02 import check_tell_time

    source = "from course_lab.checks.lesson02 import check_tell_time\n\ncheck_tell_time(f)"
    cells = [code("def f(): return 7", tags=["solution"]), code(source, printed("✓ right"))]
    found = page(*cells, "Text", code("check_tell_time(g)", printed("✗")), stubs=["def f(): ..."])
    parts = ["def f(): ...", *map(site_html.escaped, check_tell_time.hints), "def f(): return 7"]
    places = [found.markdown.index(part) for part in (*parts, "✓ right", "Text", "✗")]
    assert places == sorted(places)
    assert re.findall(r"<summary>(.*?)</summary>", found.markdown) == [
        "Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "A solution",
    ]  # fmt: skip
    assert found.markdown.count("import check_tell_time") == 1


def test_a_solution_without_a_stub_is_refused() -> None:
    with pytest.raises(BuildError, match="0 stubs, 1 solutions"):
        page(code("def f(): return 7", tags=["solution"]))


# ------------------------------------------------------------------------- the whole


def test_the_first_page_has_a_row_a_lesson_with_its_closer_look() -> None:
    opening = "# 02 · Waves\n\n**Question:** what\nmoves?\n\n**Time:** about 40 minutes. "
    titles = {"02_waves": opening + "**Doors:** 1, words.", "closer/02_more": "# 02 · More"}
    found = site_index.first_page(f"# T\n\n{site_index.HERE}\n", titles, ["glossary"])
    row = "| [02 · Waves](02_waves.md) | What moves? [Closer look](closer/02_more.md) | 40 | 1 |"
    assert [line for line in found.splitlines() if line.startswith("| [")] == [row]
    trees = re.findall(r"```{toctree}.*?```", found, re.DOTALL)
    assert ["/02_waves" in tree for tree in trees] == [True, False]
    assert "/glossary" in trees[1] and "closer/" not in "".join(trees)
    looks = [site_index.closer_looks(list(titles), name) for name in titles]
    assert looks == [["closer/02_more"], []]


def test_a_closer_look_without_its_lesson_stands_at_the_top_of_the_contents() -> None:
    names = ["02_waves", "closer/02_more", "closer/05_more"]
    assert site_index.top(names) == ["02_waves", "closer/05_more"]
    found = site_index.first_page(site_index.HERE, dict.fromkeys(names[2:], "# 05 · More"), [])
    assert "/closer/05_more" in found


def test_files_that_are_no_longer_wanted_go_and_what_is_the_same_keeps_its_time(
    tmp_path: Path,
) -> None:
    build_site.write(tmp_path, {"a/old.md": b"1", "same.md": b"2"})
    before = (tmp_path / "same.md").stat().st_mtime_ns
    build_site.write(tmp_path, {"new.md": b"3", "same.md": b"2"})
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"new.md", "same.md"}
    assert (tmp_path / "same.md").stat().st_mtime_ns == before


def test_lessons_are_named_by_number_or_in_full() -> None:
    names = ["02_waves", "closer/02_more"]
    assert build_site.choose(names, []) == names
    assert build_site.choose(names, ["closer/02", "02_waves"]) == names[::-1]
    assert build_site.choose(names, ["02"]) == ["02_waves"]
    with pytest.raises(BuildError, match="no notebook '0'; there are: 02_waves, closer/02_more"):
        build_site.choose(names, ["0"])


def test_a_port_that_is_taken_is_named_with_the_remedy(tmp_path: Path) -> None:
    with build_site.server(tmp_path) as first:
        port = first.server_port
        with pytest.raises(BuildError, match=rf"port {port} .*PORT={port + 1}"):
            build_site.server(tmp_path, port)


NAMES = build_site.built(read_project(ROOT))


def test_there_are_notebooks_to_build_pages_of() -> None:
    assert set(NAMES) <= {lesson_name(path) for path in find_lessons(ROOT)}
    assert len(NAMES) > 10


@pytest.mark.parametrize("name", NAMES)
def test_every_notebook_becomes_a_page_whose_questions_can_be_answered_rightly(name: str) -> None:
    full, learners = map(read_notebook, build_site.notebooks(read_project(ROOT), name))
    assert full and learners
    made = site_page.page(name, full, learners, NAMES, ADDRESS)
    for form in re.findall(r'<form .*?data-kind="choice".*?</form>', made.markdown):
        (key,) = re.findall('data-question="(.*?)"', form)
        measured = re.findall(
            f'class="om-reveal" data-question="{key}" data-measured="(.*?)"', made.markdown
        )
        assert measured, f"nothing answers {form}"
        assert set(measured) <= set(re.findall('value="(.*?)"', form))
