"""Small pieces of HTML and Markdown, from which the site's pages are put together.

A page is Markdown with HTML in it. HTML stands in blocks of one line, with empty lines around
them: an empty line within a block would end it.
"""

import html
import re
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jinja2
from jinja2.ext import Extension
from markupsafe import Markup

from course_lab.widgets import card

LINE_BREAKS = re.compile(r"\s*\n\s*")
POWER = re.compile(r"\b\d(?:\.\d+)?e-\d+\b")
CASES = re.compile(r"(?<=\. )[^.;]+: (?:yes|no)(?:; [^.;]+: (?:yes|no))*$")
NUMBERS = re.compile(r"(\d+)")
TICKS = re.compile(r"^\s*(`{3,})", re.MULTILINE)


class OneLine(Extension):
    """Joins the lines of a template of HTML; an empty line becomes a line break."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """The template as Jinja parses it."""
        of_html = name is not None and name.endswith(".html")
        return re.sub(r"\n(\n?)\s*", r"\1", source) if of_html else source


TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).resolve().parents[1] / "site" / "templates"),
    autoescape=jinja2.select_autoescape(),
    extensions=[OneLine],
    trim_blocks=True,
    finalize=lambda value: LINE_BREAKS.sub(" ", value) if type(value) is str else value,
)


def plain(text: str) -> str:
    """A text whose small numbers are written out: 0.0000002 in place of 2e-07."""
    return POWER.sub(lambda match: f"{Decimal(match[0]):f}", text)


def inline(text: str) -> Markup:
    """A text as HTML on one line, in which `code` and *emphasis* are marked as in notebooks."""
    return Markup(card.inline(" ".join(text.split())))


def in_order(cases: dict[str, bool]) -> list[tuple[str, bool]]:
    """The cases of a verdict by their words, in which 9216 comes before 10240."""
    return sorted(cases.items(), key=lambda case: _natural(case[0]))


def with_cases_in_words(measured: str) -> str:
    """What was measured; cases with yes and no at its end are told in words, and in order."""
    tail = CASES.search(measured)
    if tail is None:
        return measured
    cases = [case.rpartition(": ") for case in tail[0].split("; ")]
    lists = {
        words: ", ".join(sorted((name for name, _, said in cases if said == answer), key=_natural))
        for words, answer in (("It holds for", "yes"), ("It does not for", "no"))
    }
    words = " ".join(f"{words} {names}." for words, names in lists.items() if names)
    return measured[: tail.start()] + words


def _natural(text: str) -> list[tuple[int, str]]:
    """By which texts are in order, their numbers by value."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in NUMBERS.split(text)]


TEMPLATES.filters |= {
    "plain": plain,
    "inline": inline,
    "in_order": in_order,
    "with_cases_in_words": with_cases_in_words,
}


def macros(name: str) -> Any:
    """The macros of a file in site/templates: functions that make blocks of a page."""
    return TEMPLATES.get_template(name).module


def tag(name: str, content: str = "", /, **attributes: str | int | None) -> str:
    """An element with these attributes around HTML; ``class_`` and ``data_x`` are spelled so.

    An attribute that is "" has no value, as ``hidden``; one that is None is left out.
    """
    return f"{opening(name, **attributes)}{content}</{name}>"


def opening(name: str, /, **attributes: str | int | None) -> str:
    """The tag that opens an element."""
    parts = [name]
    for key, value in attributes.items():
        spelled = key.rstrip("_").replace("_", "-")
        if value == "":
            parts.append(spelled)
        elif value is not None:
            parts.append(f'{spelled}="{html.escape(str(value))}"')
    return f"<{' '.join(parts)}>"


def anchor(heading: str) -> str:
    """Where a heading stands on its page, as Sphinx names it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def escaped(text: str) -> str:
    """A text as HTML, on one line."""
    return " ".join(html.escape(text, quote=False).split())


def code_block(code: str, language: str = "python", kind: str = "") -> str:
    """Code, or what code printed, as a block that Sphinx colours."""
    longest = max((len(ticks) for ticks in TICKS.findall(code)), default=2)
    fence = "`" * max(3, longest + 1)
    option = f":class: {kind}\n" if kind else ""
    return f"{fence}{{code-block}} {language}\n{option}\n{code.rstrip()}\n{fence}"


def folded(summary: str, blocks: Iterable[str], /, **attributes: str | int | None) -> list[str]:
    """Blocks that a reader unfolds; the browser does it, so it needs no JavaScript."""
    return [opening("details", **attributes) + tag("summary", summary), *blocks, "</details>"]
