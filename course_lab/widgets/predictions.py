"""Predictions: questions that a learner answers before a cell measures the answer."""

import html
import math
from collections.abc import Sequence
from typing import Any

import ipywidgets

from course_lab.widgets import output
from course_utils import validation

_answers: dict[str, Any] = {}  # the learner's answers by question: they survive a re-run
# JupyterLab's own colours, which follow its theme; elsewhere ones that fit light and dark
RIGHT = "var(--jp-success-color1, #2e8540)"
OTHER = "var(--jp-warn-color1, #c05600)"


class Prediction:
    """A question for the learner, in a box; made by :func:`predict` or :func:`predict_number`.

    The box records an answer as soon as it is picked or typed. Once :meth:`reveal` has run, the box
    has the verdict too, and keeps it up to date.
    """

    def __init__(self, question: str, entry: ipywidgets.RadioButtons | ipywidgets.Text) -> None:
        self.question = question
        self._note = ipywidgets.HTML()
        self._measured: str | None = None  # the text that reveal() showed
        self._right_answer: Any = None  # as reveal() got it
        entry.observe(self._record, names="value")
        title = ipywidgets.HTML(f"<b>Predict.</b> {question}")
        self._box = ipywidgets.VBox([title, entry, self._note])

    @property
    def answer(self) -> Any:
        """What the learner picked or typed; None if nothing yet."""
        return _answers.get(self.question)

    def reveal(self, measured: str | float, unit: str = "") -> None:
        """Print what was measured beside what the learner predicted; the box says it too."""
        value = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
        self._measured, self._right_answer = f"{value} {unit}".strip(), measured
        if self.answer is None:
            comparison = "No prediction was made above"
        elif not isinstance(self.answer, str):
            comparison = f"You predicted {self.answer:.4g}"
        elif self.answer == measured:
            comparison = "As you predicted"
        else:
            comparison = f"You predicted: {self.answer}"
        print(f"Measured: {self._measured}. ({comparison}.)")
        self._show_verdict()

    def _record(self, change: dict[str, Any]) -> None:
        answer = change["new"]
        if isinstance(change["owner"], ipywidgets.Text):
            answer = _parse_number(change["new"])
        if answer is None:
            _answers.pop(self.question, None)
            typed = html.escape(change["new"].strip()) if change["new"] else ""
            self._note.value = f"'{typed}' is not a number yet." if typed else ""
            return
        _answers[self.question] = answer
        if self._measured is None:
            number = f": {answer:g}" if isinstance(answer, float) else ""
            self._note.value = f"Recorded{number}. Now run the next cell."
        else:
            self._show_verdict()

    def _show_verdict(self) -> None:
        measured = html.escape(str(self._measured))
        if self.answer is None:
            self._note.value = ""
        elif not isinstance(self.answer, str):
            self._note.value = f"You predicted {self.answer:.4g}. Measured: <b>{measured}</b>."
        elif self.answer == self._right_answer:
            self._note.value = f"<b style='color:{RIGHT}'>✓ Right:</b> {measured}."
        else:
            guess = html.escape(self.answer)
            verdict = f"<b style='color:{OTHER}'>✗ Not {guess}.</b>"
            self._note.value = f"{verdict} Measured: <b>{measured}</b>."

    def _display(self, options: str) -> None:
        output.show(self._box, f"Predict: {self.question}\n{options}")


def predict(question: str, choices: Sequence[str]) -> Prediction:
    """Ask a multiple-choice question and record the answer in this kernel.

    A later cell calls :meth:`Prediction.reveal` with what it measured.
    """
    validation.sentence("question", question)
    if isinstance(choices, str) or not isinstance(choices, Sequence):
        raise TypeError(f"choices must be a list, got {type(choices).__name__} {choices!r}")
    options = [str(choice) for choice in choices]
    if len(set(options)) != len(options) or len(options) < 2:
        raise ValueError(f"choices must be at least two different ones, got {choices!r}")
    earlier = _answers.get(question)
    # Nothing is picked until the learner picks. ipywidgets 7 and 8 both accept None here.
    picker = ipywidgets.RadioButtons(options=options, value=earlier if earlier in options else None)
    picker.layout.width = "auto"
    numbered = [f"  ({number}) {option}" for number, option in enumerate(options, start=1)]
    prediction = Prediction(question, picker)
    prediction._display("\n".join(numbered))
    return prediction


def predict_number(question: str, unit: str = "") -> Prediction:
    """Ask for a number and record it in this kernel; otherwise like :func:`predict`."""
    validation.sentence("question", question)
    earlier = _answers.get(question)
    field = ipywidgets.Text(
        value="" if earlier is None else f"{earlier:g}", placeholder=f"your guess {unit}".strip()
    )
    prediction = Prediction(question, field)
    prediction._display(f"  (a number{' in ' + unit if unit else ''})")
    return prediction


def _parse_number(text: str) -> float | None:
    """Return the finite number in a text, with a decimal point or comma; None if there is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
