"""The site's first page and its table of contents, from the title cells of the lessons."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import lesson_titles
from markdown_it import MarkdownIt
from markupsafe import Markup
from notebook_source import CLOSER
from site_html import macros
from site_myths import CHOSEN

from course_lab.recorded_claims import read_claims

HERE = "<!-- lessons -->"  # in site/pages/index.md, where the list of lessons goes
FINDINGS = "<!-- findings -->"  # and where three findings go


class Finding(NamedTuple):
    """A number, what it is about, and the page that tells more."""

    number: str
    sentence: str
    small_print: str
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
    """What should make a visitor curious; no lesson's question is answered."""
    return [
        Finding(
            "32 ×",
            "as long as all texts of the training. Which encodings still read them?",
            "Small models, trained on texts of 64 bytes, read 2,048 at once. Guess, then look.",
            "07_train_short_test_long",
        ),
        Finding(
            "4 of 32",
            "hands of a published model stand still. In texts of which length does it notice?",
            "SmolLM2 with the slow pairs 24 to 27 of its RoPE stopped. Guess, then look.",
            "05_rope",
        ),
        Finding(
            f"{len(CHOSEN)} of {len(read_claims())}",
            "claims from tutorials and papers, each put to a test. Can you tell which are false?",
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
