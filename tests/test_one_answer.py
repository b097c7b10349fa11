"""Chooser, explorer, README, the site's page and lesson 10 give one answer to one question."""

import json
import re
from itertools import product
from pathlib import Path

import jupytext
import nbformat
import pytest
import readme_tables
import site_choose
from bs4 import BeautifulSoup
from explorer_modules import look

from course_lab import chooser, explorers
from course_lab.spelling import printed
from course_utils import measures
from course_utils.encodings import NAMES

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "notebooks" / "solutions" / "10_choosing.ipynb"
SITE_PAGE = ROOT / "site" / "pages" / "choose.md"
CELL = re.compile(r"`(\w+)`")
LEADS = re.compile(r"^(.+?)(?= \d\.\d+ ±)")  # the name in a cell, before its loss
Answers = tuple[tuple[str, str], ...]  # what was answered to each question, in order


def normalised(answers: dict[str, str]) -> Answers:
    """The answers to all questions, the first one where none was given."""
    return tuple(
        (name, answers.get(name, first)) for name, (first, *_) in chooser.QUESTIONS.items()
    )


def rows_of_markdown(text: str) -> list[list[str]]:
    """The cells of each line of a table in Markdown."""
    return [line.strip("| ").split(" | ") for line in text.splitlines()]


def rows_of_html(text: str) -> list[list[str]]:
    """The cells of each row of a table in HTML, with names of encodings as code has them."""
    code = {printed(name): name for name in NAMES}
    rows = [row.find_all("td") for row in BeautifulSoup(text, "html.parser").find_all("tr")]
    texts = [[cell.get_text().strip() for cell in cells] for cells in rows if cells]
    return [
        [LEADS.sub(lambda leads: f"`{code[leads[1]]}`", cell) for cell in cells] for cells in texts
    ]


def in_table(rows: list[list[str]]) -> dict[Answers, str | None]:
    """Who stands in each cell of "Which one?"; None where it says nobody."""
    texts = readme_tables.TEXTS | readme_tables.STREAM
    kernels = chooser.QUESTIONS["attention"]
    answers: dict[Answers, str | None] = {}
    for reads, text, *cells in (row for row in rows if row[0] in chooser.TABLES):
        for kernel, cell in zip(kernels, cells, strict=True):
            name = CELL.search(cell)
            assert name or cell == "nobody"
            asked = {**texts[text], "reads": reads, "attention": kernel}
            answers[normalised(asked)] = name[1] if name else None
    assert len(answers) == 27
    return answers


def first(answers: Answers, behind: float = 10.0) -> str | None:
    return next(iter(chooser.remaining(behind, **dict(answers))), None)


def block(name: str) -> str:
    readme = (ROOT / "README.md").read_text("utf-8")
    return readme.partition(f"<!-- {name}:start -->")[2].partition(f"<!-- {name}:end -->")[0]


@pytest.fixture(scope="module")
def page():
    prices = {"parameters": 1234, "extra_bytes": 5, "longest": None}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measures, "passport", lambda name, **options: prices)
        return site_choose.page(SITE_PAGE.read_text("utf-8")).markdown


def test_readme_says_what_the_chooser_says():
    for answers, name in in_table(rows_of_markdown(block("which"))).items():
        assert name == first(answers), answers


def test_the_sites_page_says_what_the_chooser_says(page):
    table = page.partition("## The evidence")[2].partition("## Five questions")[0]
    for answers, name in in_table(rows_of_html(table)).items():
        assert name == first(answers), answers


def test_readme_and_the_sites_page_tell_of_the_price_outside_the_table(page):
    losses = chooser.steep_rows().groupby("read")["loss"].mean()
    for text in (block("which"), page.partition("## The evidence")[2]):
        sentence = text.partition("Outside the table")[2].partition("Lesson 10")[0]
        assert f"{losses[64]:.3f}" in sentence and f"{losses[1024]:.3f}" in sentence


@pytest.mark.browser
def test_the_sites_page_says_why_its_advice_is_not_the_first_of_its_table(page):
    losses = chooser.facts()["loss"].sort_values()
    advice, _, evidence = page.partition("## The evidence")
    assert losses.index[0] != "rope" and "RoPE; cut longer texts" in advice
    ahead = losses["rope"] - losses.iloc[0]
    best = printed(losses.index[0])
    assert f"Below, {best} has the lowest loss, {ahead:.3f} nats a byte ahead" in advice
    steps = chooser.other_sizes()["ten times the steps"]
    left = steps["rope"] - steps["transformer_xl"]
    assert 0 <= left < 0.005 and f"is {left:.3f} after ten times the steps" in advice


def test_the_explorer_says_what_the_chooser_says():
    cases = [
        dict(zip(chooser.QUESTIONS, case, strict=True))
        for case in product(*chooser.QUESTIONS.values())
    ]
    starts = [{**case, "behind": 0.2} for case in cases]
    explorer = explorers.ALL["chooser"]
    names = chooser.facts().sort_values("loss").index
    for case, view in zip(cases, look(explorer, starts, numbers=True), strict=True):
        left = [names[n] for n in view["numbers"]["left"]]
        assert left == chooser.remaining(0.2, **case), case


def outputs(notebook: Path) -> str:
    cells = nbformat.read(notebook, as_version=4).cells
    texts = [json.dumps(cell.get("outputs", []), ensure_ascii=False) for cell in cells]
    return "\n".join(texts)


def test_the_lessons_board_says_what_the_chooser_says():
    shown = outputs(NOTEBOOK)
    for job, answers in chooser.JOBS.items():
        left = ", ".join(chooser.remaining(0.1, **answers)) or "nobody"
        assert re.search(rf"{re.escape(job)}: {left}[;.]", shown), job


def closing_lines() -> str:
    (lines,) = (
        cell.source.partition("## In five lines")[2].partition("**Read next:**")[0]
        for cell in jupytext.read(ROOT / "lessons" / "10_choosing.py").cells
        if "## In five lines" in cell.source
    )
    return lines


def test_the_closing_lines_name_whom_the_chooser_names_first():
    model, uncut, wider, encoder, _ = re.split(r"^- ", closing_lines(), flags=re.MULTILINE)[1:]
    plain, takes_bias = {"attention": chooser.PLAIN}, {"attention": chooser.TAKES_BIAS}
    long, both = {"texts": "16 times as long"}, {"reads": chooser.BOTH_WAYS}
    names = {"rope": "RoPE", "alibi": "ALiBi", "sandwich": "Sandwich", "deberta": "DeBERTa"}
    names |= {"transformer_xl": "Transformer-XL"}
    for line, cases in (
        (model, [plain, plain | {"texts": chooser.MAY_CUT}]),
        (uncut, [plain | long]),
        (wider, [takes_bias, takes_bias | long, {}, long]),
        (encoder, [plain | both, both]),
    ):
        for answers in cases:
            assert names[chooser.remaining(10.0, **answers)[0]] in line, (line, answers)
    loss = chooser.facts().loss_1
    assert f"ALiBi, at 64 bytes {loss.alibi:.2f} against RoPE's {loss.rope:.2f}." in uncut


def test_readme_site_and_lesson_have_the_same_default_sentences(page):
    for kind, default in chooser.DEFAULTS.items():
        for text in (block("defaults"), page):
            assert f"**{kind}:** {default.sentence}" in text and default.caveat in text
    kind = "A language model"
    assert f"{kind}: {chooser.DEFAULTS[kind].sentence}" in " ".join(closing_lines().split())
