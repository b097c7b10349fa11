"""Predictions and claims on a page: forms to guess in, and what stays folded until then.

They are read from what the cells have shown: ``widgets.predict`` shows its question as text, each
verdict comes as data. ``site.js`` keeps the guesses; without it a reader can still unfold.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nbformat import NotebookNode
from notebook_folds import PLUMBING, SEALED, sealed
from notebook_source import BuildError
from site_html import escaped, opening, tag

CLAIM_MIME = "application/vnd.order-matters.claim+json"
ASKED = re.compile(r"Predict: (?P<question>.*?)\n(?P<answers>  \(.*)", re.DOTALL)
OPTION = re.compile(r"^  \(\d+\) (.*)$", re.MULTILINE)
NUMBER = re.compile(r"  \(a number(?: in (.*))?\)")
CLAIM = re.compile(r"(C\d+): ")
MEASURED = re.compile(r"^Measured: (.*)\. \(No prediction was made above\.\)$", re.MULTILINE)
LOOK = "**Look"  # how the text starts that says what was to be seen
WAITS, VERDICT = "Guess first, or show it without a guess", "Show the verdict without a guess"
END = "</details>"


@dataclass(frozen=True)
class Question:
    """What a reader is asked: to choose an option, or for a number where there is none."""

    key: str  # under which the browser keeps the guess; another question has another
    text: str
    options: tuple[str, ...]
    unit: str = ""

    @property
    def is_claim(self) -> bool:
        """Whether it asks if a claim is true."""
        return bool(CLAIM.match(self.text))


def asked(cell: NotebookNode, lesson: str) -> list[Question]:
    """The questions that a cell has shown."""
    found = []
    for output in cell.get("outputs", []):
        match = ASKED.fullmatch(output.get("data", {}).get("text/plain", ""))
        if not match:
            continue
        text = " ".join(match["question"].split())
        claim, number = CLAIM.match(text), NUMBER.fullmatch(match["answers"])
        options = () if number else tuple(OPTION.findall(match["answers"]))
        digest = hashlib.sha256("\n".join([text, *options]).encode()).hexdigest()[:8]
        key = claim[1] if claim else f"{lesson}:{digest}"
        found.append(Question(key, text, options, (number and number[1]) or ""))
    return found


def waiting(cells: Sequence[NotebookNode], lesson: str) -> dict[str, tuple[str, ...]]:
    """Which cells wait for a guess: a cell's id → the keys of the questions.

    Beside the cells up to the answer, these are the pictures and the "Look" that follow it at once,
    which would give it away too.

    Raises:
        BuildError: if a question is asked while another is open, which the page cannot show.
    """
    questions = {place: asked(cell, lesson) for place, cell in enumerate(cells)}
    sources = [cell.source if cell.cell_type == "code" else "" for cell in cells]
    places = [place for place, found in questions.items() if found]
    waits: dict[int, tuple[str, ...]] = {}
    for start, end in pairwise([*places, len(cells)]):
        keys = tuple(question.key for question in questions[start])
        waits |= {start + place: keys for place in sealed(sources[start:end])}
    for place, cell in enumerate(cells):
        if cell.cell_type == "code" and (SEALED in _tags(cell)) != (place in waits):
            raise BuildError(f"{lesson}, cell {cell.id}: it is not clear which question it answers")
    for place, cell in enumerate(cells):
        follows = cell.source.startswith(LOOK) or PLUMBING in _tags(cell)
        if place not in waits and follows and not questions[place]:
            keys = waits.get(place - 1, ())
            if len(keys) == 1 and not cells[place - 1].source.startswith(LOOK):
                waits[place] = keys
    return {cells[place].id: keys for place, keys in waits.items()}


def fold(keys: Sequence[str], what: str = WAITS) -> str:
    """Opens what stays folded until these questions are answered; ``END`` closes it."""
    start = opening("details", class_="om-sealed", data_asks=" ".join(keys))
    return start + tag("summary", what)


def asks(question: Question, told: Sequence[dict[str, Any]]) -> list[str]:
    """A form to guess in; for a claim, with its scope and the verdict folded under it."""
    if question.is_claim:
        return _claim(question, told)
    legend = f"<b>Predict.</b> {escaped(question.text)}"
    return [_form(question, legend, "choice" if question.options else "number")]


def reveal(key: str, measured: str) -> str:
    """What was measured; ``site.js`` adds whether the guess was right."""
    text = f"Measured: <b>{escaped(measured)}</b>. " + tag("span", class_="om-verdict")
    return tag("p", text, class_="om-reveal", data_question=key, data_measured=measured)


def settled(cell: NotebookNode) -> list[dict[str, Any]]:
    """The verdicts that a cell has shown."""
    shown = [output.get("data", {}) for output in cell.get("outputs", [])]
    return [data[CLAIM_MIME] for data in shown if CLAIM_MIME in data]


def verdicts(cells: Sequence[NotebookNode]) -> dict[str, list[dict[str, Any]]]:
    """What the cells have settled, by claim: its verdict, then that in a published model."""
    found: dict[str, list[dict[str, Any]]] = {}
    for told in (told for cell in cells for told in settled(cell)):
        found.setdefault(told["id"], []).append(told)
    return found


def _claim(question: Question, told: Sequence[dict[str, Any]]) -> list[str]:
    if not told:
        raise BuildError(f"claim {question.key} is asked about and never settled")
    first = told[0]
    legend = f"<b>{question.key}</b> {escaped(first['claim'])}"
    scope = tag("p", f"Judged on: {escaped(first['scope'])}.", class_="om-scope")
    lines = [_verdict(one) for one in told]
    lines.append(tag("p", f"Evidence: {escaped(first['evidence'])}.", class_="om-scope"))
    return [
        opening("div", class_="om-claim", id=f"claim-{question.key}")
        + _form(question, legend, "claim", scope, first["verdict"]),
        fold([question.key], VERDICT),
        *lines,
        END + "</div>",
    ]


def score(questions: Sequence[Question]) -> str:
    """The line that counts the guesses of a page."""
    guesses = "1 guess" if len(questions) == 1 else f"{len(questions)} guesses"
    return tag("p", f"{guesses} to make on this page.", class_="om-score", role="status")


def _form(
    question: Question, legend: str, kind: str, scope: str = "", measured: str | None = None
) -> str:
    if question.options:
        inputs = "".join(
            tag("label", f"{_input(question, type='radio', value=option)} {escaped(option)}")
            for option in question.options
        )
    else:
        entry = _input(question, type="text", inputmode="decimal", size=10)
        inputs = tag("label", f"<span>Your guess</span> {entry} {escaped(question.unit)}")
    rows = tag("div", inputs, class_="om-options")
    button = '<button type="submit">Guess</button>'
    said = tag("p", class_="om-said", role="status")
    fields = tag("fieldset", f"{tag('legend', legend)}{scope}{rows}{button}")
    return tag(
        "form",
        fields + said,
        class_="om-guess",
        data_question=question.key,
        data_kind=kind,
        data_measured=measured,
    )


def _input(question: Question, **attributes: str | int) -> str:
    return opening("input", name=question.key, required="", **attributes)


def _verdict(told: dict[str, Any]) -> str:
    verdict = told["verdict"].upper()
    if told["verdict"] == "depends" and told.get("choice"):
        verdict += f" on {told['choice']}"
    where = f"In a real model, {escaped(told['model'])}: " if "model" in told else ""
    cases = told["cases"] if len(set(told["cases"].values())) > 1 else {}
    each = "; ".join(f"{case}: {'yes' if held else 'no'}" for case, held in cases.items())
    text = f"{where}<b>{escaped(verdict)}.</b> {escaped(told['measured'])}"
    return tag("p", f"{text}<br>{escaped(each)}." if each else text)


def _tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])
