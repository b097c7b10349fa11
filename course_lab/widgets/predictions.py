"""Predictions: questions that a learner answers before a cell measures the answer."""

import math
from collections.abc import Sequence
from typing import Any

import ipywidgets

from course_lab.widgets import output
from course_utils import validation

_answers: dict[str, Any] = {}  # the learner's answers by question: they survive a re-run


class Prediction:
    """A question for the learner; made by :func:`predict` or :func:`predict_number`."""

    def __init__(self, question: str) -> None:
        self.question = question

    @property
    def answer(self) -> Any:
        """What the learner picked or typed; None if nothing yet."""
        return _answers.get(self.question)

    def reveal(self, measured: str | float, unit: str = "") -> None:
        """Print what was measured beside what the learner predicted."""
        value = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
        if self.answer is None:
            comparison = "No prediction was made above"
        elif not isinstance(self.answer, str):
            comparison = f"You predicted {self.answer:.4g}"
        elif self.answer == measured:
            comparison = "As you predicted"
        else:
            comparison = f"You predicted: {self.answer}"
        print(f"Measured: {f'{value} {unit}'.strip()}. ({comparison}.)")


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
    _ask(question, picker, "\n".join(numbered))
    return Prediction(question)


def predict_number(question: str, unit: str = "") -> Prediction:
    """Ask for a number and record it in this kernel; otherwise like :func:`predict`."""
    validation.sentence("question", question)
    earlier = _answers.get(question)
    field = ipywidgets.Text(
        value="" if earlier is None else f"{earlier:g}", placeholder=f"your guess {unit}".strip()
    )
    _ask(question, field, f"  (a number{' in ' + unit if unit else ''})")
    return Prediction(question)


def _ask(question: str, entry: ipywidgets.RadioButtons | ipywidgets.Text, options: str) -> None:
    """Show a question above its entry widget, and record what the learner enters."""
    note = ipywidgets.HTML()

    def record(change: Any) -> None:
        answer = change["new"]
        if isinstance(entry, ipywidgets.Text):
            answer = _parse_number(change["new"])
        if answer is None:
            _answers.pop(question, None)
            typed = change["new"].strip()
            note.value = f"{typed!r} is not a number yet." if typed else ""
            return
        _answers[question] = answer
        number = f": {answer:g}" if isinstance(answer, float) else ""
        note.value = f"Recorded{number}. Now run the next cell."

    entry.observe(record, names="value")
    title = ipywidgets.HTML(f"<b>Predict.</b> {question}")
    output.show(ipywidgets.VBox([title, entry, note]), f"Predict: {question}\n{options}")


def _parse_number(text: str) -> float | None:
    """Return the finite number in a text, with a decimal point or comma; None if there is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None
