"""The glossary: its terms out of site/pages/glossary.md, and links to them from the lessons."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from site_html import anchor

PAGE = "glossary"
ENTRY = re.compile(r"^## (.+)\n(?:<!-- also: (.*) -->\n)?", re.MULTILINE)
# Where no term is linked: code, formulas, links and pictures, HTML, addresses, headings, and the
# paragraphs of a lesson that name other people's titles or count its minutes.
LEFT_ALONE = (
    r"^(`{3,}).*?^\1|`+[^`]+`+|\$\$.*?\$\$|\$[^$]+\$|!?\[[^\]]*\]\([^)]*\)|<[^>]+>|https?://\S+"
    r"|^#+ [^\n]*$|^\*\*(?:Read next|Time|Next|Question):?\*?.*?(?=\n\n|\Z)"
)


@dataclass(frozen=True)
class Term:
    """A word of the glossary: its heading, and the forms in which lessons use it."""

    name: str
    forms: tuple[str, ...]

    @property
    def anchor(self) -> str:
        """Where it stands on the glossary's page, as Sphinx names a heading."""
        return anchor(self.name)


def terms(markdown: str) -> list[Term]:
    """The terms of a glossary. A lesson uses the heading, its plural, or one of the other forms."""
    return [
        Term(name, (name, f"{name}s", *(form for form in also.split(", ") if form)))
        for name, also in ENTRY.findall(markdown)
    ]


def read(root: Path) -> list[Term]:
    """The terms of the glossary that the site has."""
    return terms((root / "site" / "pages" / f"{PAGE}.md").read_text("utf-8"))


def without_forms(markdown: str) -> str:
    """The page without the forms, which only :func:`terms` reads."""
    return ENTRY.sub(r"## \1\n", markdown)


class Links:
    """Links each term where a page uses it first; ``root`` leads to the site's first page."""

    def __init__(self, terms: Sequence[Term], root: str) -> None:
        self.root = root
        self.used: set[str] = set()  # names of the terms that are linked
        self.by_form = {
            spelling: term for term in terms for form in term.forms for spelling in _spellings(form)
        }
        longest_first = sorted(self.by_form, key=len, reverse=True)
        forms = "|".join(re.escape(form).replace(r"\ ", r"\s+") for form in longest_first)
        pattern = rf"{LEFT_ALONE}|(?<![\w$-])(?P<form>{forms})(?![\w$-])"
        self.pattern = re.compile(pattern, re.MULTILINE | re.DOTALL)

    def linked(self, markdown: str) -> str:
        """The text with links at terms that no text before it has used."""
        return self.pattern.sub(self._link, markdown)

    def _link(self, match: re.Match[str]) -> str:
        term = self.by_form.get(" ".join((match["form"] or "").split()))
        if term is None or term.name in self.used:
            return match[0]
        self.used.add(term.name)
        return f"[{match[0]}]({self.root}{PAGE}.md#{term.anchor})"


def _spellings(form: str) -> set[str]:
    """A form, and the same at the start of a sentence or within one, unless it has capitals."""
    if re.search("[A-Z0-9]", form[1:]) or not form[1:2].islower():
        return {form}
    return {form, form[0].swapcase() + form[1:]}
