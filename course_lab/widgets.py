"""Sliders that redraw a picture in the kernel, and predictions to make before a cell answers them.

What can be computed in the browser is drawn there, by ``explorers``.

Everything works with ipywidgets 7.7 and 8, in JupyterLab and Colab. Without a kernel an
explorer shows its first picture and a prediction its question as text.
"""

import html
import math
from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w
import matplotlib as mpl
from IPython.display import display
from matplotlib.figure import Figure

from course_utils import validation
from course_utils.plots.style import quick_png, shrink

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
SIZE = (8.0, 4.2)  # inches, of an explorer's picture
WIDE = {"style": {"description_width": "9em"}, "layout": {"width": "34em", "max_width": "98%"}}
_answers: dict[str, Any] = {}  # what the learner picked, by question: survives a re-run


def explore(
    draw: Callable[..., str | None], size: tuple[float, float] = SIZE, **controls: Any
) -> None:
    """Show sliders and a picture that follows them.

    Args:
        draw: called as ``draw(fig, **values)`` on one persistent figure, empty at first. It
            should create its artists once and then only update them. It may return a sentence
            about the picture, which is shown below it and read by screen readers. A ValueError
            it raises is shown in the picture's place, and the last good picture stays.
        size: width and height of the picture in inches.
        **controls: one an argument of ``draw``: ``(low, high, start)`` or
            ``(low, high, start, step)`` makes a slider (of floats if any is a float), a bool a
            check box, a list of strings a drop-down that starts at its first entry, and a
            widget is taken as it is.
    """
    box = explorer(draw, size, **controls)
    *sliders, image, sentence = box.children
    start = ", ".join(f"{slider.description} = {slider.value}" for slider in sliders)
    text = f"Explorer with sliders, at {start}. {sentence.value}".strip()
    _display(box, text, shrink(bytes(image.value)) if image.value else None)


def explorer(
    draw: Callable[..., str | None], size: tuple[float, float] = SIZE, **controls: Any
) -> w.VBox:
    """What :func:`explore` displays: a box of the controls, the picture and the sentence."""
    validation.instance("draw", draw, Callable, "a function of (fig, …)")
    if not controls:
        raise ValueError(f"controls must name at least one argument of draw, got {controls}")
    if not isinstance(size, tuple) or len(size) != 2:
        raise ValueError(f"size must be (width, height) in inches, got {size!r}")
    for inches in size:
        validation.positive("size", inches)
    sliders = {name: control(name, spec) for name, spec in controls.items()}
    fig = Figure(figsize=size, dpi=mpl.rcParams["figure.dpi"], layout="constrained")
    image, sentence = w.Image(format="png"), w.HTML()
    image.layout.width, image.layout.max_width = f"{size[0] * fig.dpi:.0f}px", "100%"
    image.add_class("widget-image")

    def update(change: Any = None) -> None:
        values = {name: slider.value for name, slider in sliders.items()}
        try:
            said = draw(fig, **values)
        except ValueError as error:
            sentence.value = f"<b>Not possible:</b> {html.escape(str(error))}"
            return
        image.value = quick_png(fig)
        sentence.value = html.escape(said or "", quote=False)

    for slider in sliders.values():
        slider.observe(update, names="value")
    update()
    fig.set_layout_engine("none")  # placed once: placing anew would double the time a change takes
    return w.VBox([*sliders.values(), image, sentence])


def control(name: str, spec: Any) -> Any:
    """Make the widget for one control of :func:`explore`; widgets pass through."""
    text = {"description": name.replace("_", " "), "style": WIDE["style"]}
    if isinstance(spec, w.Widget) and hasattr(spec, "value"):
        spec.description = spec.description or text["description"]
        return spec
    if isinstance(spec, bool):
        return w.Checkbox(value=spec, **text)
    if isinstance(spec, list) and spec and all(isinstance(entry, str) for entry in spec):
        return w.Dropdown(options=spec, value=spec[0], **text)
    if isinstance(spec, tuple) and len(spec) in (3, 4):
        for entry in spec:
            validation.number(name, entry, f"finite numbers (low, high, start[, step]), got {spec}")
        low, high, start, *step = spec
        if not low <= start <= high or low == high or (step and step[0] <= 0):
            raise ValueError(
                f"{name} must be (low, high, start[, step]) with low <= start <= high, got {spec}"
            )
        floats = any(isinstance(number, float) for number in spec)
        kind, size = (w.FloatSlider, (high - low) / 100) if floats else (w.IntSlider, 1)
        size = step[0] if step else size
        return kind(min=low, max=high, value=start, step=size, **text, layout=WIDE["layout"])
    raise TypeError(
        f"{name} must be (low, high, start[, step]), a bool, a list of strings or a widget, "
        f"got {spec!r}"
    )


def log_slider(low: float, high: float, start: float) -> Any:
    """A slider whose steps are equal ratios, for :func:`explore`: 20 steps a factor of ten."""
    for name, value in {"low": low, "high": high, "start": start}.items():
        validation.positive(name, value)
    if not low <= start <= high or low == high:
        raise ValueError(
            f"low, start and high must satisfy 0 < low <= start <= high, got {low}, {start}, {high}"
        )
    ends = {"min": math.log10(low), "max": math.log10(high)}
    return w.FloatLogSlider(value=start, step=0.05, readout_format=",.0f", **ends, **WIDE)


class Prediction:
    """A question the learner answers before the cell that measures; made by :func:`predict`."""

    def __init__(self, question: str) -> None:
        self.question = question

    @property
    def answer(self) -> Any:
        """What the learner picked or typed, None if nothing yet."""
        return _answers.get(self.question)

    def reveal(self, measured: str | float, unit: str = "") -> None:
        """Print what was measured beside what the learner predicted."""
        found = f"{measured:.4g}" if isinstance(measured, float) else str(measured)
        if self.answer is None:
            told = "No prediction was made above"
        elif not isinstance(self.answer, str):
            told = f"You predicted {self.answer:.4g}"
        elif self.answer == measured:
            told = "As you predicted"
        else:
            told = f"You predicted: {self.answer}"
        print(f"Measured: {f'{found} {unit}'.strip()}. ({told}.)")


def predict(question: str, choices: Sequence[str]) -> Prediction:
    """Ask a multiple-choice question and record the answer in this kernel.

    A later cell calls the :class:`Prediction`'s ``reveal`` with what it measured.
    """
    validation.sentence("question", question)
    if isinstance(choices, str) or not isinstance(choices, Sequence):
        raise TypeError(f"choices must be a list, got {type(choices).__name__} {choices!r}")
    options = [str(choice) for choice in choices]
    if len(set(options)) != len(options) or len(options) < 2:
        raise ValueError(f"choices must be at least two different ones, got {choices!r}")
    earlier = _answers.get(question)
    # Nothing is picked until the learner picks. ipywidgets 7 and 8 both accept None here.
    picker = w.RadioButtons(options=options, value=earlier if earlier in options else None)
    picker.layout.width = "auto"
    _ask(question, picker, "\n".join(f"  ({i}) {option}" for i, option in enumerate(options, 1)))
    return Prediction(question)


def predict_number(question: str, unit: str = "") -> Prediction:
    """Ask for a number and record it in this kernel; otherwise like :func:`predict`."""
    validation.sentence("question", question)
    earlier = _answers.get(question)
    picker = w.Text(
        value="" if earlier is None else f"{earlier:g}", placeholder=f"your guess {unit}".strip()
    )
    _ask(question, picker, f"  (a number{' in ' + unit if unit else ''})")
    return Prediction(question)


def _ask(question: str, picker: Any, options: str) -> None:
    note = w.HTML()

    def record(change: Any) -> None:
        value = _number(change["new"]) if isinstance(picker, w.Text) else change["new"]
        if value is None:
            _answers.pop(question, None)
            typed = change["new"].strip()
            note.value = f"{typed!r} is not a number yet." if typed else ""
            return
        _answers[question] = value
        shown = f": {value:g}" if isinstance(value, float) else ""
        note.value = f"Recorded{shown}. Now run the next cell."

    picker.observe(record, names="value")
    title = w.HTML(f"<b>Predict.</b> {question}")
    _display(w.VBox([title, picker, note]), f"Predict: {question}\n{options}")


def _number(text: str) -> float | None:
    """The finite number that was typed, with a decimal point or comma; None if it is none."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _display(widget: Any, text: str, picture: bytes | None = None) -> None:
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    bundle: dict[str, Any] = {WIDGET_VIEW: view, "text/plain": text}
    if picture is not None:
        bundle["image/png"] = picture
    display(bundle, raw=True)
