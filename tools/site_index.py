"""The site's first page and its table of contents, from the title cells of the lessons."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import findings
import lesson_titles
from markdown_it import MarkdownIt
from markupsafe import Markup
from notebook_source import CLOSER
from site_html import macros

HERE = "<!-- lessons -->"  # in site/pages/index.md, where the list of lessons goes
FINDINGS = "<!-- findings -->"  # and where three findings go


class Finding(NamedTuple):
    """A number, what it says, and the page that shows it."""

    number: str
    sentence: str
    measured: str  # on what, in small print
    page: str


def closer_looks(names: Sequence[str], lesson: str) -> list[str]:
    """The pages that look closer at a lesson."""
    return [name for name in names if name.startswith(f"{CLOSER}/{lesson[:2]}")]


def lessons(names: Sequence[str]) -> list[str]:
    """The pages of lessons, without closer looks, which stand below their lesson."""
    return [name for name in names if not name.startswith(CLOSER)]


def toctree(names: Sequence[str], caption: str = "") -> str:
    """A table of contents of the pages below this one; it shows in the sidebar only."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n".join(["```{toctree}", options, *(f"/{name}" for name in names), "```"])


def list_of_lessons(titles: Mapping[str, str]) -> str:
    """An entry a lesson, by its title cell: link, question, minutes, doors, closer looks, glyph."""
    names = list(titles)
    entries = []
    for name in lessons(names):
        looks = closer_looks(names, name)
        title = lesson_titles.read(titles[name])
        entries.append(
            {
                "name": name,
                "title": title,
                "question": Markup(MarkdownIt().renderInline(title.question)),
                "closer": [(look, lesson_titles.read(titles[look]).heading) for look in looks],
            }
        )
    return str(macros("index.html").lessons(entries))


def three_findings() -> list[Finding]:
    """What a visitor should hear first, computed from ``data``."""
    rises, costs, counts = (
        findings.rises_by_encoding(),
        findings.cost_of_slow_pairs(),
        findings.verdicts(),
    )
    return [
        Finding(
            f"{math.exp(rises['rope'].mean):.0f} ×",
            "RoPE reads 32 times more than in training, and finds the right next byte that much "
            f"less likely. ALiBi: {math.exp(rises['alibi'].mean):.2f} times.",
            "Small models, trained on texts of 64 bytes, read 2,048 at once. Averages.",
            "07_train_short_test_long",
        ),
        Finding(
            f"{math.exp(costs[8000]):.1f} ×",
            "Stop four slow pairs of RoPE, and in long texts a published model finds the right "
            f"next token that much less likely. In short ones: {math.exp(costs[512]):.1f} times.",
            "SmolLM2, pairs 24 to 27: at the end of 8,000 tokens, and in 512. Averages.",
            "05_rope",
        ),
        Finding(
            f"{counts['false']} of {counts.total()}",
            "claims from tutorials and papers are false as they are usually told. Try ten.",
            "",
            "myths",
        ),
    ]


def first_page(template: str, titles: Mapping[str, str], others: Sequence[str]) -> str:
    """The first page; ``titles`` are title cells, ``others`` the pages besides lessons."""
    numbers = str(macros("index.html").findings(three_findings()))
    parts = [
        template.replace(HERE, list_of_lessons(titles)).replace(FINDINGS, numbers),
        toctree(lessons(list(titles)), "Lessons"),
        toctree(others, "Beside the lessons"),
    ]
    return "\n\n".join(parts) + "\n"
