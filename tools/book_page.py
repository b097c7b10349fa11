"""Pages of the site as chapters of the book: what folds stands open, what moves is described.

A Sphinx extension. A book can neither fold nor ask: answers stand open, hints and solutions at the
end of their chapter; code that only draws is left out, and so is what a reader could only click.
In the EPUB, where no JavaScript runs, formulas are the MathML that MathJax made for the PDF.
"""

import html
import json
import re
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

TEX = re.compile(r'<(span|div) class="math[^"]*">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', re.DOTALL)
HEADING = re.compile("^h[1-6]$")
RUNS, RUNS_ELSEWHERE = "where JavaScript runs", "on the course's site"
IN_WORDS = "In words"  # a description, which the picture itself carries for those who hear it
LEFT_OUT = (
    "details.om-code, .om-score, .om-verdict, .om-guess button, .om-links a[download], "
    "input, select, textarea, button, canvas, script, .om-stacked, .om-moves, "
    ".om-glyph, .om-settled, .om-elsewhere, "
    "span[id^=exercise-]"  # the same in several chapters
)
ONLY_ON_SCREEN = ("role", "loading", "tabindex")  # attributes
NOTE = "Hints and a solution stand at the end of the chapter."


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _on_page)
    return {"parallel_read_safe": True}


def _on_page(app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if "body" not in context:
        return
    context["body"] = on_paper(context["body"])
    if app.builder.name == "epub":
        formulas = Path(app.srcdir) / "formulas.json"
        context["body"] = with_mathml(context["body"], json.loads(formulas.read_text("utf-8")))


def on_paper(body: str) -> str:
    """The body of a page of HTML as the book has it: XHTML with nothing to click.

    It may have several chapters, each after a ``span`` whose id starts with ``document-``.
    """
    soup = BeautifulSoup(body, "html.parser")
    for form in soup.select("form.om-guess"):
        form.replace_with(_question(form))
    for mount in soup.select("[data-module]"):
        description = " ".join(mount.get_text(" ").split())
        mount.replace_with(_element("p", description.replace(RUNS, RUNS_ELSEWHERE), "om-note"))
    for element in soup.select(LEFT_OUT):
        element.decompose()
    for link in soup.select(".om-above a"):
        link.unwrap()
    for card in soup.select(".om-explorer"):
        del card["id"]
    starts = soup.select("span[id^=document-]")
    chapters = [start.find_next_sibling("section") for start in starts]
    for chapter in chapters or [soup.find("section") or soup]:
        if isinstance(chapter, Tag):
            _move_solutions(chapter)
    for fold in soup.select("details"):
        _unfold(fold)
    for element in soup.find_all(True):
        for attribute in ONLY_ON_SCREEN:
            del element[attribute]
    for links in soup.select(".om-links"):
        if not links.find("a"):
            links.decompose()
    return str(soup).replace(" · </p>", "</p>")


def with_mathml(body: str, formulas: dict[str, str]) -> str:
    """The body with MathML in place of TeX; a formula that MathJax has not seen is an error."""

    def mathml(match: re.Match[str]) -> str:
        tex = html.unescape(match[2]).strip()
        if tex not in formulas:
            raise ExtensionError(f"the PDF has no formula {tex!r}")
        formula = formulas[tex].replace("<math ", f'<math alttext="{html.escape(tex)}" ', 1)
        return f"<{match[1]}>{formula}</{match[1]}>"

    return TEX.sub(mathml, body)


def _move_solutions(chapter: Tag) -> None:
    """Move the hints and the solution of each exercise to the end of its chapter."""
    exercises, title = chapter.select(".om-exercise"), chapter.find(HEADING)
    level = int(title.name[1]) if isinstance(title, Tag) else 1
    if exercises:
        chapter.append(_element(f"h{level + 1}", "Hints and solutions"))
    for number, exercise in enumerate(exercises, start=1):
        chapter.append(_element(f"h{level + 2}", f"For exercise {number} of this chapter"))
        for fold in exercise.select(".om-hint, .om-solution"):
            chapter.append(fold.extract())
        exercise.insert(0, _element("p", NOTE, "om-note"))


def _unfold(fold: Tag) -> None:
    """What a fold holds, open; behind a bar where it was folded for an answer."""
    summary = fold.find("summary")
    title = summary.decode_contents() if isinstance(summary, Tag) else ""
    if title == IN_WORDS:
        fold.decompose()
        return
    if isinstance(summary, Tag):
        summary.decompose()
    fold.name = "div"
    kinds = fold.get("class") or ""
    is_answer, sums_up = "om-sealed" in kinds, "om-summary" in kinds
    fold.attrs = {"class": "om-answer"} if is_answer else {}
    if not (is_answer or sums_up):
        first = fold.find(True, recursive=False)
        if not isinstance(first, Tag) or first.name != "p":
            first = _element("p", "")
            fold.insert(0, first)
        first.insert(0, _element("b", f"{title}."), " ")


def _question(form: Tag) -> Tag:
    """What a form asks, with what could be chosen; a claim is true, false or depends."""
    legend, kind = form.find("legend"), form.get("data-kind")
    parts = [f"<p>{legend.decode_contents() if isinstance(legend, Tag) else ''}</p>"]
    labels = [label.get_text().strip() for label in form.select(".om-options label")]
    if kind == "claim":
        parts += [str(scope) for scope in form.select(".om-scope")]
    elif kind == "number":
        unit = "".join(labels).removeprefix("Your guess").strip()
        parts.append(f"<p>A number{f', in {html.escape(unit)}' if unit else ''}.</p>")
    else:
        parts.append(f"<ul>{''.join(f'<li>{html.escape(label)}</li>' for label in labels)}</ul>")
    return _element("div", "".join(parts), "om-asked")


def _element(name: str, content: str, kind: str = "") -> Tag:
    """An element with HTML in it."""
    start = f'{name} class="{kind}"' if kind else name
    element = BeautifulSoup(f"<{start}>{content}</{name}>", "html.parser").find(name)
    assert isinstance(element, Tag)
    return element
