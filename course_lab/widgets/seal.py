"""Holds back what cells show between a question and its answer, until the learner has guessed.

The build withholds the same outputs of a learner's notebook, by ``tools/notebook_folds.py``.
"""

import sys
from collections.abc import Callable
from typing import Any, Protocol

import IPython
import IPython.display
from IPython.utils.capture import capture_output

from course_lab.widgets import card

TITLE = "#@title "  # how the source of a folded cell starts: Colab shows the rest of the line
GUESS_FIRST = "Guess above, or run this cell once more to see it without a guess."
GUESSED = "You have guessed: now run this cell."


class Question(Protocol):
    """What the seal asks of a question."""

    revealed: bool  # the cell with its answer has run

    @property
    def waits(self) -> bool:
        """Whether it was seen, and has no guess yet."""


class Seal:
    """Holds back each cell from a question to its answer, and the folded pictures that follow.

    It does so the first time that the cell runs, and only while a guess is missing. The cell runs
    to its end, so that later cells find its variables.
    """

    def __init__(self) -> None:
        self._questions: list[Question] = []  # of the cell that asked last
        self._asking_cell: int | None = None  # its number
        self._notes: list[tuple[list[Question], Any]] = []  # shown, each with what it waits for
        self._let_go: Callable[[], Any] | None = None  # ends the hold, and returns what was held

    @property
    def holds(self) -> bool:
        """Whether the outputs of the cell that runs are held back."""
        return self._let_go is not None

    def ask(self, question: Question) -> None:
        """A question is asked: its own cell shows all, and the cells after it wait for a guess."""
        if self._let_go:
            self._let_go().show()
        cell = getattr(IPython.get_ipython(), "execution_count", None)
        if cell != self._asking_cell:
            self._questions, self._asking_cell = [], cell
        self._questions.append(question)

    def guessed(self) -> None:
        """A guess was made: the notes for which it was the last one missing say what to do next."""
        for questions, note in list(self._notes):
            if not any(question.waits for question in questions):
                note.update(_bundle(GUESSED), raw=True)
                self._notes.remove((questions, note))

    def begin(self, shell: Any, source: str) -> None:
        """A cell begins to run."""
        if all(question.revealed for question in self._questions) and not source.startswith(TITLE):
            self._questions = []  # the pictures of the answer end here
        has_run = source.rstrip("\n") in shell.history_manager.input_hist_raw
        if not has_run and any(question.waits for question in self._questions):
            self._hold(shell)

    def end(self) -> None:
        """A cell ends: a note stands in place of what was held back."""
        if self._let_go:
            held = self._let_go()
            if held.outputs or held.stdout:
                note = IPython.display.display(_bundle(GUESS_FIRST), raw=True, display_id=True)
                self._notes.append((self._questions, note))

    def _hold(self, shell: Any) -> None:
        capture = capture_output(stderr=False)
        held = capture.__enter__()
        shell.display_trap.hook = sys.displayhook  # else the cell's last value would be shown

        def let_go() -> Any:
            self._let_go = None
            shell.display_trap.hook = shell.displayhook
            capture.__exit__(None, None, None)
            return held

        self._let_go = let_go


def _bundle(text: str) -> dict[str, str]:
    return {
        "text/plain": text,
        "text/html": card.card(card.escaped(text), edge=card.ASKS),
    }


seal = Seal()
