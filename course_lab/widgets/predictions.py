"""Predictions: questions that a learner answers before a cell measures the answer."""

import html
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anywidget
import IPython.display
import traitlets

from course_lab.widgets import running
from course_lab.widgets.card import ASKS, OTHER, RIGHT, bold, card, inline, small
from course_lab.widgets.seal import is_watched, missing, seal
from course_utils import validation

_answers: dict[str, Any] = {}  # the learner's answers by question: they survive a re-run


class Question(anywidget.AnyWidget):
    """A question in a box: with options to choose among, or without any a field for a number."""

    _esm = Path(__file__).with_name("question.js").read_text("utf-8")
    question = traitlets.Unicode().tag(sync=True)
    options = traitlets.List(traitlets.Unicode()).tag(sync=True)
    as_html = traitlets.List(traitlets.Unicode()).tag(sync=True)  # the question, then the options
    placeholder = traitlets.Unicode().tag(sync=True)  # in the empty field
    answer = traitlets.Unicode().tag(sync=True)  # picked or typed; "" at first
    note = traitlets.Unicode().tag(sync=True)  # on the answer, as HTML
    seen = traitlets.Bool(False).tag(sync=True)  # whether a front end has drawn the box
    settled = traitlets.Bool(False).tag(sync=True)  # the answer is shown: its "Look" may open


class Prediction:
    """A question for the learner, in a box; made by :func:`predict` or :func:`predict_number`.

    The box records an answer as soon as it is picked or typed. Once :meth:`reveal` has run, the box
    has the verdict too, and keeps it up to date. At a front end, who has not guessed is told to
    guess, once, in place of what the cells up to the answer and its pictures show; the guess then
    opens it. ``name`` says which guess is missing where a cell asks for several.
    """

    def __init__(self, box: Question, name: str = "") -> None:
        self.name = name
        box.as_html = [inline(text) for text in (box.question, *box.options)]
        self.question = box.question
        self._box: Any = box
        self._right_answer: Any = None  # as judge() got it
        self.revealed = False  # whether the cell with the answer has run
        self._answer_shown: dict[str, str] = {}  # the bundle that reveal() displayed last
        self._measured = ""  # in words
        self._is_asked = is_watched()  # the cells that follow may be queued before the box is drawn
        box.observe(self._record, names="answer")
        box.observe(lambda _: running.watch.start(), names="seen")
        if self._is_asked:
            running.watch.start()
        self._asked_together: Sequence[Any] = seal.ask(self)

    @property
    def answer(self) -> Any:
        """What the learner picked or typed; None if nothing yet."""
        return _answers.get(self.question)

    @property
    def waits(self) -> bool:
        """Whether the learner is asked and has no answer yet."""
        return (self._is_asked or self._box.seen) and self.answer is None

    def reveal(self, measured: str | float, unit: str = "") -> None:
        """Show what was measured, and beside it the guess; the box says whether it was right."""
        value = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
        self._measured = f"{value} {unit}".strip()
        self.judge(measured)
        if self.answer is None and not seal.holds:
            print(f"Measured: {self._measured}. (No prediction was made above.)")
            return
        self._answer_shown = self._verdict()
        IPython.display.display(self._answer_shown, raw=True)

    def repeat_guess(self) -> None:
        """Put the guess into the answer, which is held back."""
        if self._answer_shown:
            self._answer_shown |= self._verdict()

    def _verdict(self) -> dict[str, str]:
        """What was guessed and what was measured, as text and as a card."""
        measured = f"Measured: {self._measured}."
        if self.answer is None:
            return {"text/plain": measured, "text/html": card(inline(measured))}
        if not isinstance(self.answer, str):
            said, colour = f"You said: {self.answer:.4g}.", ASKS
        elif self.answer == self._right_answer:
            said, colour = f"✓ You said: {self.answer}.", RIGHT
        else:
            said, colour = f"✗ You said: {self.answer}.", OTHER
        as_html = card(inline(measured), edge=colour)  # the box has the guess, and judges it
        return {"text/plain": f"{said} {measured}", "text/html": as_html}

    def judge(self, right_answer: Any) -> None:
        """Have the box say whether the answer is right."""
        self.revealed, self._right_answer = True, right_answer
        if self.answer is not None:
            self._tell()
        elif not seal.holds:
            self._box.settled = True

    def _record(self, change: dict[str, Any]) -> None:
        entered = change["new"]
        answer = entered if self._box.options else _parse_number(entered)
        if answer is None:
            _answers.pop(self.question, None)
            typed = html.escape(entered.strip())
            self._box.note = f"'{typed}' is not a number yet." if typed else ""
            return
        _answers[self.question] = answer
        for question in self._asked_together:
            if question.answer is not None:
                question._tell()
        seal.guessed()

    def _tell(self) -> None:
        """Have the box say what becomes of its answer."""
        is_number = not isinstance(self.answer, str)
        if self.revealed:
            self._box.settled = True
            if is_number:
                self._box.note = f"You predicted {self.answer:.4g}."
            elif self.answer == self._right_answer:
                self._box.note = bold("✓ Right.", RIGHT)
            else:
                wrong = bold(f"✗ Not “{self.answer}”.", OTHER)
                right = inline(f"The answer is “{self._right_answer}”.")
                self._box.note = f"{wrong} {right}"
            return
        recorded = f"Recorded: {self.answer:g}." if is_number else "Recorded."
        if names := missing(self._asked_together):
            self._box.note = f"{recorded} Guess {names} too."
        else:
            self._box.note = f"{recorded} Run on (Shift+Enter): the answer follows."

    def _display(self, answers: Sequence[str]) -> None:
        """Show the box; without a kernel the question and what may be answered."""
        bundle, metadata = self._box._repr_mimebundle_()
        bundle["text/plain"] = "\n".join([f"Predict: {self.question}", *answers])
        asked = f"{bold('Predict.')} {inline(self.question)}"
        listed = map(inline, answers)
        bundle["text/html"] = card(asked, *listed, small("Run this cell to answer."), edge=ASKS)
        IPython.display.display(bundle, metadata=metadata, raw=True)


def predict(question: str, choices: Sequence[str], name: str = "") -> Prediction:
    """Ask a multiple-choice question and record the answer in this kernel.

    A later cell calls :meth:`Prediction.reveal` with what it measured. Questions of one cell have
    each a ``name``.
    """
    validation.sentence("question", question)
    if isinstance(choices, str) or not isinstance(choices, Sequence):
        raise TypeError(f"choices must be a list, got {type(choices).__name__} {choices!r}")
    options = [str(choice) for choice in choices]
    if len(set(options)) != len(options) or len(options) < 2:
        raise ValueError(f"choices must be at least two different ones, got {choices!r}")
    earlier = _answers.get(question)
    answer = earlier if earlier in options else ""
    prediction = Prediction(Question(question=question, options=options, answer=answer), name)
    numbered = [f"  ({number}) {option}" for number, option in enumerate(options, start=1)]
    prediction._display(numbered)
    return prediction


def predict_number(question: str, unit: str = "") -> Prediction:
    """Ask for a number and record it in this kernel; otherwise like :func:`predict`."""
    validation.sentence("question", question)
    earlier = _answers.get(question)
    answer = "" if earlier is None else f"{earlier:g}"
    placeholder = f"your guess {unit}".strip()
    box = Question(question=question, placeholder=placeholder, answer=answer)
    prediction = Prediction(box)
    prediction._display([f"  (a number{' in ' + unit if unit else ''})"])
    return prediction


def _parse_number(text: str) -> float | None:
    """Return the finite number in a text, with a decimal point or comma; None if there is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
