"""Holds back what cells show between a question and its answer, until the learner has guessed.

The build withholds the same outputs of a learner's notebook, by ``tools/notebook_folds.py``.
"""

import contextlib
import io
import json
import os
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import IPython
import IPython.display
from IPython.utils.capture import capture_output

from course_lab.widgets import card

TITLE = "#@title "  # how the source of a folded cell starts: Colab shows the rest of the line
GUESS_FIRST = (
    "Guess {} above, and it opens here. Without a guess: run this cell once more (Shift+Enter)."
)
ASKED = 90  # characters of a question that a note repeats
SEALED = "sealed"  # the build's tag of a cell that gives an answer away
EMPTY = {"text/plain": "", "text/html": ""}


class Question(Protocol):
    """What the seal asks of a question."""

    name: str  # such as a claim's id; "" where the cell asks nothing else
    question: str
    revealed: bool  # the cell with its answer has run

    @property
    def waits(self) -> bool:
        """Whether somebody is asked, and has not guessed yet."""

    def repeat_guess(self) -> None:
        """Put the guess into the answer, which is held back."""


class Held(NamedTuple):
    """What was held back of one cell."""

    questions: Sequence[Question]  # which it waits for
    outputs: Sequence[dict[str, Any]]
    places: Sequence[Any]  # an output of the cell for each of them
    has_note: bool  # the first of them has it


class Printed(io.TextIOBase):
    """A stream whose texts become outputs, in their place among the others."""

    def __init__(self, outputs: list[dict[str, Any]]) -> None:
        self._outputs = outputs
        self._last: dict[str, Any] | None = None  # the output of the text before

    def write(self, text: str) -> int:
        """Add the text to what was printed just before, or begin another output."""
        if self._last is None or self._outputs[-1] is not self._last:
            self._last = {"data": {"text/plain": ""}, "metadata": {}}
            self._outputs.append(self._last)
        self._last["data"]["text/plain"] += text
        return len(text)


class Seal:
    """Holds back each cell from a question to its answer, and the folded pictures that follow.

    It does so the first time that the cell runs, and only while a guess is missing; if the question
    is asked again, once more. The cell runs to its end, so that later cells find its variables; the
    last guess shows what was held back. Where the notebook's file can be read, its tags say which
    cells these are.
    """

    def __init__(self) -> None:
        self._questions: list[Question] = []  # of the cell that asked last
        self._asking_cell: int | None = None  # its number
        self._waited: dict[str, set[str]] = {}  # question → sources of the cells held back for it
        self._again: set[str] = set()  # those of them that wait again, as it was asked once more
        self._held: list[Held] = []
        self._let_go: Callable[[], list[dict[str, Any]]] | None = None  # ends a hold; the outputs

    @property
    def holds(self) -> bool:
        """Whether the outputs of the cell that runs are held back."""
        return self._let_go is not None

    def ask(self, question: Question) -> Sequence[Question]:
        """A question is asked: its own cell shows all, and the cells after it wait for a guess.

        Returns the questions of its cell, of which more may follow.
        """
        self.open()
        cell = getattr(IPython.get_ipython(), "execution_count", None)
        if cell != self._asking_cell:
            self._questions, self._asking_cell, self._again = [], cell, set()
        self._questions.append(question)
        self._again |= self._waited.get(question.question, set())
        return self._questions

    def open(self) -> None:
        """Show what the running cell has shown so far, and hold nothing more of it back."""
        if self._let_go:
            outputs = self._let_go()
            sys.displayhook = IPython.get_ipython().displayhook  # for the cell's last value
            for output in outputs:
                IPython.display.display(output["data"], metadata=output["metadata"], raw=True)

    def guessed(self) -> None:
        """A guess was made: show what waited for nothing else, and say what the rest waits for."""
        for held in list(self._held):
            if any(question.waits for question in held.questions):
                if held.has_note:
                    held.places[0].update(_note(held.questions), raw=True)
                continue
            for question in held.questions:
                question.repeat_guess()
            for place, output in zip(held.places, held.outputs, strict=True):
                place.update(output["data"], metadata=output["metadata"], raw=True)
            self._held.remove(held)

    def begin(self, shell: Any, source: str) -> None:
        """A cell begins to run."""
        if all(question.revealed for question in self._questions) and not source.startswith(TITLE):
            self._questions = []  # the pictures of the answer end here
        is_new = source.rstrip("\n") not in shell.history_manager.input_hist_raw
        waits = any(question.waits for question in self._questions)
        if waits and (is_new or source in self._again) and _may_give_away(shell):
            self._again.discard(source)
            for question in self._questions:
                self._waited.setdefault(question.question, set()).add(source)
            self._hold(shell)

    def end(self) -> None:
        """A cell ends: a note, once for a question, stands in place of what was held back."""
        if self._let_go and (outputs := self._let_go()):
            has_note = all(held.questions is not self._questions for held in self._held)
            first = _note(self._questions) if has_note else EMPTY
            shown = [first, *[EMPTY] * (len(outputs) - 1)]
            places = [
                IPython.display.display(bundle, raw=True, display_id=True) for bundle in shown
            ]
            self._held.append(Held(self._questions, outputs, places, has_note))

    def _hold(self, shell: Any) -> None:
        displayed = capture_output(stdout=False, stderr=False)
        displayed.__enter__()
        outputs = shell.display_pub.outputs
        printed = contextlib.redirect_stdout(Printed(outputs))
        printed.__enter__()
        shell.display_trap.hook = sys.displayhook  # else the cell's last value would be shown

        def let_go() -> list[dict[str, Any]]:
            self._let_go = None
            shell.display_trap.hook = shell.displayhook
            printed.__exit__(None, None, None)
            displayed.__exit__(None, None, None)
            return outputs

        self._let_go = let_go


def missing(questions: Iterable[Question]) -> str:
    """The questions that wait for a guess: "C16 and C19", or “Which way is up?”."""
    return " and ".join(_label(question) for question in questions if question.waits)


def _label(question: Question) -> str:
    asked = textwrap.shorten(question.question, ASKED, placeholder=" …")
    inner = asked.replace("“", "‘").replace("”", "’")  # quotes within quotes
    return question.name or f"“{inner}”"


def is_watched() -> bool:
    """Whether a front end asked for the cell that runs: a program sends code and no more."""
    return bool(_request(IPython.get_ipython()).get("metadata"))


def _request(shell: Any) -> dict[str, Any]:
    """The message that asked for the cell; empty where there was none."""
    return shell.get_parent() if hasattr(shell, "get_parent") else {}


def _may_give_away(shell: Any) -> bool:
    """Whether the cell that runs is sealed, as far as can be known."""
    cell = _request(shell).get("metadata", {}).get("cellId")
    try:
        notebook = json.loads(Path(os.environ["JPY_SESSION_NAME"]).read_text("utf-8"))
        tags = {part["id"]: part["metadata"].get("tags", []) for part in notebook["cells"]}
    except (KeyError, TypeError, OSError, ValueError):
        return True  # not a server's notebook, or one that was renamed
    has_tags = any(SEALED in names for names in tags.values())
    return not (cell and has_tags) or SEALED in tags.get(cell, [])


def _note(questions: Iterable[Question]) -> dict[str, str]:
    text = GUESS_FIRST.format(missing(questions))
    return {"text/plain": text, "text/html": card.card(card.inline(text), edge=card.ASKS)}


seal = Seal()
