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

from claims_table import claims_in
from nbformat import NotebookNode
from notebook_folds import SEALED, is_look, sealed
from notebook_source import BuildError
from site_html import macros

QUESTION = re.compile(r"Predict: (?P<question>.*?)\n(?P<answers>  \(.*)", re.DOTALL)
OPTION = re.compile(r"^  \(\d+\) (.*)$", re.MULTILINE)
NUMBER = re.compile(r"  \(a number(?: in (.*))?\)")
CLAIM = re.compile(r"(C\d+): ")
ASKED = re.compile(r'class="om-guess" data-question="([^"]+)"')
MEASURED = re.compile(r"^Measured: (.*)\. \(No prediction was made above\.\)$", re.MULTILINE)
END = "</details>"
PICTURE = "picture"
THEN_IT_MOVES = "Guess first: then a picture that moves. Or show it without a guess"
HTML = macros("questions.html")

Verdict = dict[str, Any]  # as a cell shows it: id, claim, scope, verdict, measured, …


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


def keys(markdown: str) -> list[str]:
    """The keys of the questions on a page, each once."""
    return list(dict.fromkeys(ASKED.findall(markdown)))


def questions(cell: NotebookNode, lesson: str) -> list[Question]:
    """The questions that a cell has shown."""
    shown = []
    for output in cell.get("outputs", []):
        match = QUESTION.fullmatch(output.get("data", {}).get("text/plain", ""))
        if not match:
            continue
        text = " ".join(match["question"].split())
        claim, number = CLAIM.match(text), NUMBER.fullmatch(match["answers"])
        options = () if number else tuple(OPTION.findall(match["answers"]))
        digest = hashlib.sha256("\n".join([text, *options]).encode()).hexdigest()[:8]
        key = claim[1] if claim else f"{lesson}:{digest}"
        unit = number[1] if number else None
        shown.append(Question(key, text, options, unit or ""))
    return shown


def keys_of(cell: NotebookNode, lesson: str) -> list[str]:
    """The keys of the questions that a cell has shown."""
    return [question.key for question in questions(cell, lesson)]


def waiting(cells: Sequence[NotebookNode], lesson: str) -> dict[str, tuple[str, ...]]:
    """Which cells wait for a guess: a cell's id → the keys of the questions.

    Beside the cells up to the answer, these are the pictures and the "Look" that follow it at once,
    which would give it away too.

    Raises:
        BuildError: if a question is asked while another is open, which the page cannot show.
    """
    keys = [tuple(keys_of(cell, lesson)) for cell in cells]
    asking = [number for number in range(len(cells)) if keys[number]]
    waits: dict[int, tuple[str, ...]] = {}
    for start, end in pairwise([*asking, len(cells)]):
        waits |= {start + offset: keys[start] for offset in sealed(cells[start:end])}
    for number, cell in enumerate(cells):
        if cell.cell_type == "code" and (SEALED in _tags(cell)) != (number in waits):
            raise BuildError(f"{lesson}, cell {cell.id}: it is not clear which question it answers")
    waits |= _summing_up(cells, keys, waits)
    return {cells[number].id: waited_for for number, waited_for in waits.items()}


def _summing_up(
    cells: Sequence[NotebookNode],
    keys: Sequence[tuple[str, ...]],
    waits: dict[int, tuple[str, ...]],
) -> dict[int, tuple[str, ...]]:
    """The figure that answers the lesson's question, and its "Look": they answer those before."""
    waiting_for: dict[int, tuple[str, ...]] = {}
    for number, cell in enumerate(cells):
        asked = tuple(key for earlier in keys[:number] for key in earlier)
        if PICTURE in _tags(cell) and number not in waits and asked:
            waiting_for[number] = asked
        elif is_look(cell) and number - 1 in waiting_for:
            waiting_for[number] = waiting_for[number - 1]
    return waiting_for


def asks(question: Question, verdicts: Sequence[Verdict]) -> str:
    """A form to guess in; for a claim, with its scope and the verdict folded under it."""
    if not question.is_claim:
        return HTML.predict(question)
    if not verdicts:
        raise BuildError(f"claim {question.key} is asked about and never settled")
    return HTML.claim(question, verdicts)


def verdicts(cells: Sequence[NotebookNode]) -> dict[str, list[Verdict]]:
    """What the cells have settled, by claim: its verdict, then that in a published model."""
    by_claim: dict[str, list[Verdict]] = {}
    for cell in cells:
        for verdict in claims_in(cell):
            by_claim.setdefault(verdict["id"], []).append(verdict)
    return by_claim


def _tags(cell: NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])
