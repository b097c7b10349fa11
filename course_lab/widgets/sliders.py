"""Sliders that redraw a Matplotlib picture in the kernel."""

import html
import math
from collections.abc import Callable
from typing import Any

import ipywidgets
import matplotlib as mpl
from matplotlib.figure import Figure

from course_lab.widgets import output
from course_utils import validation
from course_utils.plots.style import quick_png, shrink

SIZE = (8.0, 4.2)  # inches, of an explorer's picture
STYLE = {"description_width": "9em"}
LAYOUT = {"width": "34em", "max_width": "98%"}


def explore(
    draw: Callable[..., str | None], size: tuple[float, float] = SIZE, **controls: Any
) -> None:
    """Show sliders and a picture that follows them.

    Args:
        draw: called as ``draw(fig, **values)`` on one persistent figure, empty at first. It
            should create its artists once and then only update them. It may return a sentence
            about the picture, which is shown below it and read by screen readers. The message of
            a ValueError that it raises is shown instead, and the last good picture stays.
        size: width and height of the picture in inches.
        **controls: one for each argument of ``draw``. ``(low, high, start)`` or
            ``(low, high, start, step)`` makes a slider (of floats if any of them is a float), a
            bool a check box, a list of strings a drop-down that starts at its first entry. A
            widget is used as it is.
    """
    box = explorer(draw, size, **controls)
    *sliders, image, sentence = box.children
    start = ", ".join(f"{slider.description} = {slider.value}" for slider in sliders)
    text = f"Explorer with sliders, at {start}. {sentence.value}".strip()
    output.show(box, text, shrink(bytes(image.value)) if image.value else None)


def explorer(
    draw: Callable[..., str | None], size: tuple[float, float] = SIZE, **controls: Any
) -> ipywidgets.VBox:
    """Return what :func:`explore` displays: a box of the controls, the picture, the sentence."""
    validation.instance("draw", draw, Callable, "a function of (fig, …)")
    if not controls:
        raise ValueError(f"controls must name at least one argument of draw, got {controls}")
    if not isinstance(size, tuple) or len(size) != 2:
        raise ValueError(f"size must be (width, height) in inches, got {size!r}")
    for inches in size:
        validation.positive("size", inches)
    sliders = {name: control(name, spec) for name, spec in controls.items()}
    fig = Figure(figsize=size, dpi=mpl.rcParams["figure.dpi"], layout="constrained")
    image, sentence = ipywidgets.Image(format="png"), ipywidgets.HTML()
    image.layout.width, image.layout.max_width = f"{size[0] * fig.dpi:.0f}px", "100%"
    image.add_class("widget-image")

    def update(change: Any = None) -> None:
        values = {name: slider.value for name, slider in sliders.items()}
        try:
            text = draw(fig, **values)
        except ValueError as error:
            sentence.value = f"<b>Not possible:</b> {html.escape(str(error))}"
            return
        image.value = quick_png(fig)
        sentence.value = html.escape(text or "", quote=False)

    for slider in sliders.values():
        slider.observe(update, names="value")
    update()
    # The layout is computed once: computing it at each change would double the time.
    fig.set_layout_engine("none")
    return ipywidgets.VBox([*sliders.values(), image, sentence])


def control(name: str, spec: Any) -> Any:
    """Return the widget for one control of :func:`explore`; a widget is returned as it is."""
    label = name.replace("_", " ")
    if isinstance(spec, ipywidgets.Widget) and hasattr(spec, "value"):
        spec.description = spec.description or label
        return spec
    if isinstance(spec, bool):
        return ipywidgets.Checkbox(value=spec, description=label, style=STYLE)
    if isinstance(spec, list) and spec and all(isinstance(entry, str) for entry in spec):
        return ipywidgets.Dropdown(options=spec, value=spec[0], description=label, style=STYLE)
    if isinstance(spec, tuple) and len(spec) in (3, 4):
        return _slider(name, label, spec)
    raise TypeError(
        f"{name} must be (low, high, start[, step]), a bool, a list of strings or a widget, "
        f"got {spec!r}"
    )


def _slider(name: str, label: str, spec: tuple[float, ...]) -> Any:
    for entry in spec:
        validation.number(name, entry, f"finite numbers (low, high, start[, step]), got {spec}")
    low, high, start = spec[:3]
    if any(isinstance(entry, float) for entry in spec):
        kind, step = ipywidgets.FloatSlider, (high - low) / 100
    else:
        kind, step = ipywidgets.IntSlider, 1
    if len(spec) == 4:
        step = spec[3]
    if not low <= start <= high or low == high or step <= 0:
        raise ValueError(
            f"{name} must be (low, high, start[, step]) with low <= start <= high, got {spec}"
        )
    return kind(
        min=low, max=high, value=start, step=step, description=label, style=STYLE, layout=LAYOUT
    )


def log_slider(low: float, high: float, start: float) -> Any:
    """Return a slider whose steps are equal ratios, 20 in a factor of ten, for :func:`explore`."""
    for name, value in {"low": low, "high": high, "start": start}.items():
        validation.positive(name, value)
    if not low <= start <= high or low == high:
        raise ValueError(
            f"low, start and high must satisfy 0 < low <= start <= high, got {low}, {start}, {high}"
        )
    return ipywidgets.FloatLogSlider(
        min=math.log10(low),
        max=math.log10(high),
        value=start,
        step=0.05,
        readout_format=",.0f",
        style=STYLE,
        layout=LAYOUT,
    )
