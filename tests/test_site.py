"""The site's pages: what becomes of a notebook before Sphinx sees it."""

import base64
import re
import struct
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import build_site
import pandas as pd
import pytest
import site_html
import site_index
import site_outputs
import site_page
import site_questions
from bs4 import BeautifulSoup
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_folds import seal
from notebook_source import BuildError, find_lessons, lesson_name, read_notebook, read_project

from course_lab.claims import CLAIM_MIME

ROOT = Path(__file__).resolve().parents[1]
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
    for number, cell in enumerate(cells):
        cell.id = f"l02-c{number:03d}"
    return new_notebook(cells=list(cells))


def page(*cells: NotebookNode | str, stubs: Sequence[str] = ()) -> site_page.Page:
    """The page of a notebook with these cells after its title."""
    solved = [
        new_markdown_cell(cell) if isinstance(cell, str) else deepcopy(cell)
        for cell in (TITLE, *cells)
    ]
    seal(solved)
    learners = [new_markdown_cell(TITLE), *(code(stub, tags=["stub"]) for stub in stubs)]
    return site_page.page("02_waves", numbered(solved), numbered(learners))


def folds(markdown: str) -> list[tuple[str, str]]:
    """What waits for a guess on a page: the questions' keys, and all that is folded."""
    assert markdown.count("<details") == markdown.count("</details>"), "a fold is left open"
    folded = []
    for details in BeautifulSoup(markdown, "html.parser").select("details[data-asks]"):
        words = [str(image["alt"]) for image in details.select("img")]
        measured = [str(reveal["data-measured"]) for reveal in details.select(".om-reveal")]
        folded.append((str(details["data-asks"]), " ".join([details.text, *words, *measured])))
    return folded


ASK = code(
    'guess = widgets.predict("Who <is> it?", ["you", "me"])',
    shown("Predict: Who <is> it?\n  (1) you\n  (2) me"),
)
ANSWER = code(
    'guess.reveal("me")',
    printed("a = 1\nMeasured: me. (No prediction was made above.)\nb = 2\n"),
)
ASK_MORE = code("g = predict()", shown("Predict: And?\n  (1) a\n  (2) b"), tags=["plumbing"])
CODE_BELOW = site_page.OF_AN_ANSWER
KEY = site_questions.questions(ASK, "02_waves")[0].key


# ------------------------------------------------------------------------- text and code


def test_the_badge_becomes_a_link_and_no_picture_comes_from_elsewhere():
    markdown = page().markdown
    assert '<a href="https://example.org/colab">Open in Colab</a>' in markdown
    assert "badge.svg" not in markdown and "![" not in markdown
    assert 'href="_static/notebooks/02_waves.ipynb"' in markdown


def test_links_to_notebooks_lead_to_pages():
    markdown = page("[a](03_next.ipynb), [b](closer/02_more.ipynb#x)").markdown
    assert "[a](03_next.md), [b](closer/02_more.md#x)" in markdown
    below = numbered([new_markdown_cell(f"{TITLE}\n\n[d](../03_next.ipynb), [e](02_more.ipynb)")])
    markdown = site_page.page("closer/02_more", below, below).markdown
    assert "[d](../03_next.md), [e](02_more.md)" in markdown
    assert 'href="../_static/notebooks/closer/02_more.ipynb"' in markdown


def test_plumbing_is_folded_under_its_first_line_and_the_setup_is_left_out():
    setup = code("import pathlib  # the setup")
    cells = [new_markdown_cell(TITLE), setup, code("#@title The board\ndraw()", tags=["plumbing"])]
    notebook = numbered(cells)
    setup.id = "l02-setup"
    markdown = site_page.page("02_waves", notebook, notebook).markdown
    assert "the setup" not in markdown
    inside = re.search(r"<summary>Code: The board</summary>(.*?)</details>", markdown, re.DOTALL)
    assert inside and "draw()" in inside[1] and "#@title" not in markdown
    assert ":class: no-search" in inside[1], "the search leaves it out"


def test_code_may_hold_fences_and_html_may_not_break_out():
    block = site_html.code_block('text = """\n```python\n"""')
    assert block.startswith("````{code-block}") and block.endswith("\n````")
    markdown = page(ASK).markdown
    assert "Who &lt;is&gt; it?" in markdown
    assert "<is>" not in re.sub(r"(?s)```.*?```", "", markdown)


def test_a_table_of_pandas_comes_without_its_style_in_a_block_that_scrolls():
    frame = '<div>\n<style scoped>td {}</style>\n<table border="1" class="dataframe"><tr></tr>\n'
    markdown = page(code("frame", shown("…", **{"text/html": f"{frame}</table></div>"}))).markdown
    assert '<div class="table-wrapper om-table"><div> <table class="docutils">' in markdown
    assert "<style" not in markdown


def test_the_name_of_a_tables_index_stands_in_its_one_row_of_headings():
    frame = pd.DataFrame({"loss": [3.0]}, index=["as trained"]).rename_axis("way")
    markdown = page(code("frame", shown("…", **{"text/html": frame.to_html()}))).markdown
    assert re.search("<thead> <tr> <th>way</th> *<th>loss</th> *</tr> *</thead>", markdown)


# ------------------------------------------------------------------------- pictures and explorers


def test_a_picture_is_a_file_with_its_words_and_its_size_and_is_loaded_late():
    with_picture = page(code("show()", picture("Two waves, one\nabove “the” other.")))
    (path,) = with_picture.files
    assert with_picture.files[path] == PNG
    (tag,) = re.findall("<img .*?>", with_picture.markdown)
    for part in (f'src="{path}"', 'width="760"', 'height="300"', 'loading="lazy"'):
        assert part in tag
    assert 'alt="Two waves, one above “the” other."' in tag


def drawing(views: int) -> str:
    boxes = "".join(
        f'<view id="panel-{k}" viewBox="0 0 {90 + k} 60" />' for k in range(1, views + 1)
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="180pt" height="60pt">{boxes}</svg>'


def drawn(views: int) -> NotebookNode:
    both = {"image/png": base64.b64encode(PNG).decode(), "image/svg+xml": drawing(views)}
    return shown("Two waves.", **both)


def test_pages_that_draw_one_cell_in_two_ways_share_no_file():
    pages = [site_outputs.Outputs("02_waves", ""), site_outputs.Outputs("02_waves", "")]
    for outputs, views in zip(pages, (1, 2), strict=True):
        outputs.blocks(numbered([code("show()", drawn(views))]).cells[0])
    first, second = (outputs.files for outputs in pages)
    assert first and second and not first.keys() & second.keys()


def test_a_figure_is_the_drawing_where_the_notebook_has_both_and_has_the_size_of_its_paper():
    with_drawing = page(code("show()", drawn(1)))
    (path,) = with_drawing.files
    assert with_drawing.files[path] == drawing(1).encode()
    (tag,) = re.findall("<img .*?>", with_drawing.markdown)
    for part in (f'src="{path}"', 'width="240"', 'height="80"', 'alt="Two waves."'):
        assert part in tag


def test_the_panels_of_a_figure_stand_below_each_other_too_and_its_words_are_read_once():
    markdown = page(code("show()", drawn(3))).markdown
    whole, *panels = re.findall("<img .*?>", markdown)
    assert 'alt="Two waves."' in whole
    for number, panel in enumerate(panels, start=1):
        width = round((90 + number) * 96 / 72)
        assert f'.svg#panel-{number}"' in panel and f"aspect-ratio: {width} / 80" in panel
        assert " alt " in panel and f"--om-drawn: {width}" in panel
    assert len(panels) == 3
    assert re.search('class="om-panels" role="img" aria-label="Two waves."', markdown)
    assert "--om-scale: 1.1" in markdown, "narrow ones are not blown up"


def test_a_panel_whose_view_reaches_over_the_next_one_is_shown_up_to_there():
    boxes = '<view id="panel-1" viewBox="0 0 180 60" /><view id="panel-2" viewBox="90 0 60 60" />'
    (first, left), (second, right) = site_outputs._views(boxes)
    assert (left, right) == ((0, 0, 90, 60), (90, 0, 90, 60))
    assert first == "svgView(viewBox(0,0,90,60))" and second == "svgView(viewBox(90,0,90,60))"


def test_panels_stand_in_pairs_though_one_of_them_has_an_axis_and_one_a_colour_bar():
    scale = site_outputs._scale([200, 180, 180, 300], 0.5)
    assert 2 * 200 * scale + site_outputs.GAP <= site_outputs.PHONE < 2 * 220 * scale


def test_a_drawing_that_refers_to_what_it_lacks_is_refused():
    svg = drawing(1).replace("</svg>", '<use href="#mark" /></svg>')
    with pytest.raises(BuildError, match="#mark"):
        page(code("show()", shown("Two waves.", **{"image/svg+xml": svg})))


def test_a_table_in_markdown_is_a_table_of_the_page():
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    output = shown("<IPython.core.display.Markdown object>", **{"text/markdown": table})
    markdown = page(code("display(Markdown(table))", output)).markdown
    assert f"\n\n{table}\n" in markdown and "IPython" not in markdown


def test_in_the_dark_little_shines_through_what_is_drawn():
    style = "<style>#f{fill:red}@media(prefers-color-scheme:dark){#f{--c000000:#f0f0f0}}</style>"
    inside = style + '<path style="opacity: 0.4" /><path style="opacity: 0.2" />'
    svg = drawing(1).replace("</svg>", f"{inside}</svg>")
    both = {"image/png": base64.b64encode(PNG).decode(), "image/svg+xml": svg}
    (written,) = page(code("show()", shown("Waves.", **both))).files.values()
    text = written.decode()
    assert "opacity: var(--o40,0.4)" in text and "opacity: 0.2" in text
    assert "{#f{--o40:0.80;--c000000" in text


def test_a_page_speaks_for_itself_where_notebooks_speak_of_running_cells():
    markdown = page("Can you do better? Change `mine` and\nrun the cell. Two sines.").markdown
    assert "In the notebook you can change `mine` and run the cell. Two sines." in markdown


@pytest.mark.parametrize("words", site_page.WORDS)
def test_what_a_page_says_in_other_words_stands_in_a_lesson(words):
    lessons = (path.read_text("utf-8") for path in (ROOT / "lessons").rglob("*.py"))
    assert any(words in re.sub(r"\n# |\s+", " ", text) for text in lessons)


def test_a_page_says_that_it_shows_the_courses_answer_where_an_output_says_your():
    theirs = page(code("judge(mine)", printed("your ramp +0.12")), code("draw()", picture("yours")))
    assert theirs.markdown.count("With the course's answer") == 1
    assert "course's answer" not in page(ASK, code("count()", printed("the ramp"))).markdown


def test_the_figure_that_sums_up_waits_for_the_guesses_before_it():
    summing_up: list[NotebookNode | str] = [
        code("plots.show(fig, '…')", picture("All."), tags=["plumbing", "picture"]),
        "**Look:** all halves.",
    ]
    markdown = page(ASK, ANSWER, "## The last part", *summing_up).markdown
    folded = [content for _, content in folds(markdown)]
    assert any("all halves" in content for content in folded)
    assert "all halves" in page(*summing_up).markdown and not folds(page(*summing_up).markdown)


def test_what_a_solution_draws_is_shown_with_the_solution():
    from_check = "from course_lab.checks.lesson02 import check_tell_time\n\ncheck_tell_time(f)"
    draws = code("# Yours\ndraw(f)", picture("Your waves."), tags=["plumbing"])
    solution = code("def f(): return 7", tags=["solution"])
    markdown = page(solution, code(from_check), draws, "Text", stubs=["def f(): ..."]).markdown
    fold = BeautifulSoup(markdown, "html.parser").select_one(".om-solution")
    assert fold is not None and fold.select_one("img") is not None


def test_what_a_notebook_shows_once_an_exercise_is_solved_is_folded():
    source = "print(sorted(f(runs)) if solved else 'once it is right')"
    markdown = page(code(source, printed("['cut']"))).markdown
    fold = markdown[markdown.index("om-tried") :]
    assert source in markdown.partition("om-tried")[0]
    assert fold.index("['cut']") < fold.index("</details>")
    assert "om-tried" not in page(code("print(f(runs))", printed("['cut']"))).markdown


def test_a_lesson_starts_with_its_question_and_a_line_of_facts_and_folds_the_rest():
    text = page(ASK, ANSWER).markdown
    brief, about = text.index("om-facts"), text.index("About this lesson")
    assert text.index("what *moves*?") < brief < about < text.index("om-all-code")
    assert "Show the code" not in text[:about]


def test_cases_of_a_verdict_are_told_in_words_and_in_the_order_of_their_numbers():
    measured = "It rises. tokens 10240 on: no; tokens 9216 on: yes; tokens 8192 on: yes"
    assert site_html.with_cases_in_words(measured) == (
        "It rises. It holds for tokens 8192 on, tokens 9216 on. It does not for tokens 10240 on."
    )
    assert site_html.with_cases_in_words("In 2 of 3: yes or no.") == "In 2 of 3: yes or no."


@pytest.mark.parametrize(
    ("text", "breaks"),
    [
        ("windows of  64: 1.400 nats, 18,432 bytes judged", True),
        ("a  b  c\n1  2  3", False),
        ("slope 1/2    95 % within   6 keys; 3/m is   6", True),
        ("steep lines at    64: below ALiBi  in 5 of 5 seeds", True),
        ("               lengths stay    distances differ\nstretch   ✗    ✓", False),
        ("    a line set in", True),
    ],
)
def test_lines_of_printed_text_may_break_where_it_is_no_table(text, breaks):
    assert (":class: om-output om-lines" in page(code("show()", printed(text))).markdown) is breaks


def test_the_last_short_word_of_a_long_printed_line_stays_with_the_word_before():
    lines = page(
        code("show()", printed("slope 1/2: 95 % within 6 keys; 3/m is 6\nno more"))
    ).markdown
    assert "is\N{NO-BREAK SPACE}6" in lines and "no more" in lines


def test_a_drawing_without_a_size_is_refused():
    with pytest.raises(BuildError, match="without width and height"):
        page(code("show()", shown("Two waves.", **{"image/svg+xml": "<svg></svg>"})))


def test_an_explorer_that_needs_a_kernel_says_where_it_moves():
    output = picture("Explorer with sliders, at k = 3. It falls.")
    markdown = page(code("explore()", output)).markdown
    assert re.search(r"<summary>[^<]*in the notebook.*?<img .*?>\s*</", markdown, re.DOTALL)


def test_an_explorer_is_mounted_where_it_starts_and_described_without_javascript():
    text = "Explorer: hands of a clock. Controls: base: 100. Run the cell to move them."
    mounted = page(code("x = explorers.rows()\nexplorers.frequencies(base=100)", shown(text)))
    assert mounted.explorers == {"frequencies"}
    assert re.search(r'data-module="_static/explorers/frequencies\.js\?v=\w{8}"', mounted.markdown)
    assert 'data-start="{&quot;base&quot;: 100}"' in mounted.markdown
    assert "hands of a clock" in mounted.markdown and "Run the cell" not in mounted.markdown


def test_the_picture_of_an_explorer_that_was_not_run_gives_way_to_the_explorer():
    still = shown("Explorer: hands.", **{"image/png": base64.b64encode(PNG).decode()})
    markdown = page(code("explorers.frequencies()", still)).markdown
    assert "om-mount" in markdown and "<img" not in markdown


# ------------------------------------------------------------------------- predictions


def test_a_prediction_is_a_form_with_its_options_and_its_reveal_knows_what_was_measured():
    markdown = page(ASK, ANSWER).markdown
    assert re.findall('type="radio" value="(.*?)"', markdown) == ["you", "me"]
    assert f'data-question="{KEY}" data-kind="choice"' in markdown
    assert ">1 guess</p>" in markdown
    assert "No prediction was made" not in markdown, "the measured line is left to the guess"
    assert f'<p class="om-reveal" data-question="{KEY}" data-measured="me">' in markdown


def test_a_number_is_asked_for_with_its_unit():
    question = shown("Predict: How long?\n  (a number in m)")
    markdown = page(code("guess = predict_number('How long?')", question)).markdown
    assert 'data-kind="number"' in markdown
    assert re.search(r'inputmode="decimal".*?> m</label>', markdown)


def test_what_gives_the_answer_away_is_folded_and_its_code_stands_below_it():
    board = code("#@title The board\ndraw()", picture("me, largest"), tags=["plumbing"])
    look, then = "**Look:** me.\n\nOn.", "## Then"
    steps = code("steps()", printed("step"))
    markdown = page(ASK, steps, "Some words.", ANSWER, board, look, then).markdown
    ((keys, text),) = folds(markdown)
    assert keys == KEY
    for part in ("step", "Some words.", "a = 1", "b = 2", "me, largest", "**Look:** me."):
        assert part in text
    assert text.index("step") < text.index(CODE_BELOW) < text.index("steps()")
    assert "steps()" not in markdown.partition('<details class="om-sealed"')[0]
    for part in ("On.", "## Then"):
        assert part not in text
        assert part in markdown


def test_code_that_shows_nothing_stands_below_what_the_answer_shows():
    markdown = page(ASK, code("train()"), "Some words.", ANSWER, code("next_one()")).markdown
    ((_, text),) = folds(markdown)
    assert "Some words." not in text, "they can be read before"
    assert text.index("a = 1") < text.index(CODE_BELOW) < text.index("train()")
    assert text.count(CODE_BELOW) == 1 and "next_one()" not in text
    assert "next_one()" in markdown


def test_the_lines_that_sum_a_lesson_up_wait_for_all_its_guesses():
    lines = "## In five lines\n\n- Me.\n\n**Read next:** A paper.\n\n**Next:** lesson 03."
    markdown = page(ASK, ANSWER, lines).markdown
    before, _, fold = markdown.partition(f'<details class="om-summary" data-asks="{KEY}">')
    assert "## In five lines" in before and "- Me." not in before
    inside, _, after = fold.partition("</details>")
    assert "- Me." in inside and "A paper." in inside and "lesson 03" in after
    assert "om-summary" not in page(lines).markdown, "there is nothing to wait for"


def test_a_heading_ends_a_fold_and_later_outputs_open_another():
    text = "Text.\n\n## Next\n\nMore."
    (_, first), (_, second) = folds(page(ASK, code("x", printed("early")), text, ANSWER).markdown)
    assert "early" in first and "Text." in first
    assert "a = 1" in second
    assert "## Next" not in first + second and "More." not in first + second


def test_the_next_question_ends_what_follows_an_answer():
    after = code("#@title Late\ndraw()", picture("Quite another thing."), tags=["plumbing"])
    ((_, text),) = folds(page(ASK, ANSWER, ASK_MORE, after).markdown)
    assert "a = 1" in text
    assert "g = predict()" not in text and "another thing" not in text


def test_another_question_is_another_key():
    other = code("g = predict()", shown("Predict: Who <is> it?\n  (1) you\n  (2) us"))
    assert site_questions.questions(other, "02_waves")[0].key != KEY
    assert site_questions.questions(ASK, "03_next")[0].key != KEY


# ------------------------------------------------------------------------- claims


def verdict(**fields: Any) -> NotebookNode:
    data = {"id": "C12", "verdict": "false", "measured": "It is 6."}
    cases = {"a": True, "b": False}
    return shown("C12 …", **{CLAIM_MIME: {**data, "cases": cases, **fields}})


CLAIM = {"claim": "It is 1.", "scope": "whole turns", "evidence": "exact", "choice": ""}
MYTHS = code(
    'myths = Myths({"C12": c})',
    shown("Predict: C12: It is 1. (whole turns)\n  (1) true\n  (2) false\n  (3) depends"),
)


def test_a_claim_has_its_scope_a_guess_and_every_verdict_folded_in_one_place():
    settle = code(
        "myths.settle(key)", verdict(**CLAIM), verdict(model="mini", first_verdict="false")
    )
    markdown = page(MYTHS, settle).markdown
    assert re.findall('type="radio" value="(.*?)"', markdown) == ["true", "false", "depends"]
    assert "Judged on: whole turns." in markdown and 'data-measured="false"' in markdown
    ((keys, card),) = folds(markdown)
    assert "FALSE. It is 6.a: yesb: no" in card, "a list"
    assert "In a real model, mini: FALSE." in card
    assert 'id="l02-c002"' in markdown, "the cell that settles it can be linked to"
    assert keys == "C12"
    assert 'id="claim-C12"' in markdown and "verdicts stand above" not in markdown


def test_what_is_settled_a_second_time_leads_to_the_verdicts():
    again = code("myths.in_a_real_model(key)", verdict(model="mini", first_verdict="false"))
    markdown = page(MYTHS, code("myths.settle(key)", verdict(**CLAIM)), again).markdown
    assert markdown.count('stand above: <a href="#claim-C12">C12</a>.') == 1


def test_a_verdict_that_depends_says_on_what_and_lists_cases_that_differ():
    depends = verdict(**{**CLAIM, "choice": "width", "verdict": "depends"})
    markdown = page(MYTHS, code("m", depends)).markdown
    assert "<b>DEPENDS on width.</b> It is 6.</p>" in markdown
    assert "<li>a: <b>yes</b></li><li>b: <b>no</b></li>" in markdown
    alike = verdict(**{**CLAIM, "cases": {"a": False, "b": False}})
    assert "<b>FALSE.</b> It is 6.</p>" in page(MYTHS, code("m", alike)).markdown


# ------------------------------------------------------------------------- exercises


def test_an_exercise_has_its_stub_then_hints_one_by_one_then_a_solution():
    from course_lab.checks.lesson02 import check_tell_time

    source = "from course_lab.checks.lesson02 import check_tell_time\n\ncheck_tell_time(f)"
    cells = [code("def f(): return 7", tags=["solution"]), code(source, printed("✓ right"))]
    wrong = code("check_tell_time(g)", printed("✗"))
    markdown = page(*cells, "Text", wrong, stubs=["def f(): ..."]).markdown
    parts = ["def f(): ...", *map(site_html.escaped, check_tell_time.hints), "def f(): return 7"]
    positions = [markdown.index(part) for part in (*parts, "✓ right", "Text", "✗")]
    assert positions == sorted(positions)
    summaries = re.findall(r"<summary>(.*?)</summary>", markdown)
    assert summaries[1:] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "A solution"]
    assert markdown.count("import check_tell_time") == 1


# ------------------------------------------------------------------------- the whole


REFUSED = {
    "cell l02-c001 shows a picture without a description": [
        code("fig", picture("<Figure size 640x480 with 1 Axes>"))
    ],
    "must be written out": [code("explorers.frequencies(base=b)", shown("Explorer: x."))],
    "no explorer": [code("explorers.none()", shown("Explorer: x."))],
    "cell l02-c002.*not clear which question": [ASK, ASK_MORE, ANSWER],
    "C12 is asked about and never settled": [MYTHS],
    "0 stubs, 1 solutions": [code("def f(): return 7", tags=["solution"])],
}


@pytest.mark.parametrize(("reason", "cells"), REFUSED.items(), ids=REFUSED)
def test_cells_that_cannot_become_a_page_are_refused_with_the_reason(reason, cells):
    with pytest.raises(BuildError, match=reason):
        page(*cells)


def test_the_first_page_has_an_entry_a_lesson_with_its_closer_looks():
    opening = "# 02 · Waves\n\n**Question:** what\nmoves?\n\n**Time:** about 40 minutes. "
    titles = {"02_waves": opening + "**Doors:** 1, words.", "closer/02_more": "# 02 · More"}
    titles["closer/02_next"] = "# 02 · Next"
    first = site_index.first_page(f"# T\n\n{site_index.HERE}\n", titles, ["glossary"])
    entry = BeautifulSoup(first, "html.parser").select_one("li[data-page='02_waves']")
    assert entry is not None
    assert " ".join(entry.get_text(" ").split()) == (
        "02 Waves What moves? 40 minutes · doors: 1 · More · Next"
    )
    pages = [str(link["href"]) for link in entry.select("a")]
    assert pages == ["02_waves.html", "closer/02_more.html", "closer/02_next.html"]
    trees = re.findall(r"```{toctree}.*?```", first, re.DOTALL)
    assert ["/02_waves" in tree for tree in trees] == [True, False]
    assert "/glossary" in trees[1] and "closer/" not in "".join(trees)
    closer = [site_index.closer_looks(list(titles), name) for name in titles]
    assert closer == [["closer/02_more", "closer/02_next"], [], []]


def test_a_build_leaves_no_file_of_an_earlier_one(tmp_path):
    build_site.write(tmp_path / "source", {"a/old.md": b"1", "same.md": b"2"})
    build_site.write(tmp_path / "source", {"new.md": b"3", "same.md": b"2"})
    left = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert left == {"new.md", "same.md"}


def test_a_port_that_is_taken_is_named_with_the_remedy(tmp_path):
    with build_site.server(tmp_path) as first:
        port = first.server_port
        with pytest.raises(BuildError, match=rf"port {port} .*PORT={port + 1}"):
            build_site.server(tmp_path, port)


@pytest.mark.parametrize("name", [lesson_name(path) for path in find_lessons(ROOT)])
def test_every_notebook_becomes_a_page_whose_questions_can_be_answered_rightly(name):
    solved, learners = map(read_notebook, build_site.notebooks(read_project(ROOT), name))
    assert solved and learners
    markdown = site_page.page(name, solved, learners).markdown
    for form in re.findall(r'<form .*?data-kind="choice".*?</form>', markdown):
        (key,) = re.findall('data-question="(.*?)"', form)
        answer = f'class="om-reveal" data-question="{key}" data-measured="(.*?)"'
        measured = re.findall(answer, markdown)
        assert measured, f"nothing answers {form}"
        assert set(measured) <= set(re.findall('value="(.*?)"', form))
