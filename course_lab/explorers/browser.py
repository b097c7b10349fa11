"""Explorers that compute and draw in the browser: what they are made of, and how they are shown.

An explorer is a file in ``javascript``, described in ``shell.js`` there, and what is declared here:
its controls, and data if it needs any. Both are joined into one module that needs no network.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import IPython.display

from course_utils import validation

JAVASCRIPT = Path(__file__).with_name("javascript")
KIT = ("numbers", "drawing", "shell")  # in the order in which they are joined
TAIL = """
const { mount, render, view } = module(EXPLORER, SPEC);
export default { render };
export { mount, view };
"""


@dataclass(frozen=True)
class Slider:
    """A control for a number from ``low`` to ``high``, in steps.

    Where all four are integers it takes integers only. ``ratio`` makes a logarithmic one: in place
    of steps it has 20 values in a factor of ten, rounded to two digits.
    """

    low: float
    high: float
    start: float
    step: float = 1
    ratio: bool = False
    label: str = ""

    @property
    def whole(self) -> bool:
        """Whether it takes integers only."""
        numbers = (self.low, self.high, self.start, self.step)
        return not self.ratio and all(isinstance(one, int) for one in numbers)

    def values(self) -> list[float]:
        """What it can be moved to, in ascending order."""
        if self.ratio:
            ends = [math.log10(end) for end in (self.low, self.high)]
            exponents = range(math.ceil(20 * ends[0] - 1e-9), math.floor(20 * ends[1] + 1e-9) + 1)
            between = {float(f"{10 ** (n / 20):.2g}") for n in exponents}
            inside = {value for value in between if self.low < value < self.high}
            return sorted({self.low, *inside, self.high})
        count = math.floor((self.high - self.low) / self.step + 1e-9)
        return [round(self.low + n * self.step, 10) for n in range(count + 1)]

    def checked(self, name: str, value: Any) -> float:
        """The value, or an error where the slider cannot stand there."""
        if self.whole:
            validation.integer(name, value, minimum=int(self.low))
        if not self.low <= validation.number(name, value) <= self.high:
            raise ValueError(f"{name} must be from {self.low:,} to {self.high:,}, got {value}")
        return value


@dataclass(frozen=True)
class Choice:
    """A control for one of several texts; it starts at the first."""

    options: tuple[str, ...]
    label: str = ""

    @property
    def start(self) -> str:
        """The first option."""
        return self.options[0]

    def checked(self, name: str, value: Any) -> str:
        """The value, or an error where it is no option."""
        return validation.choice(name, value, self.options)


@dataclass(frozen=True)
class Tick:
    """A box to tick."""

    start: bool = False
    label: str = ""

    def checked(self, name: str, value: Any) -> bool:
        """The value, or an error where it is no bool."""
        return validation.boolean(name, value)


Control = Slider | Choice | Tick


class Explorer:
    """A picture in the browser that follows its controls. Call it in a notebook to show it.

    The call takes other values for the controls to start from: ``frequencies(base=100)``.

    Args:
        name: of its file in ``javascript``.
        title: what the picture shows, in a few words.
        text: the same in a sentence or two, for readers whose browser cannot draw it.
        controls: by name, or a function that makes them at first use, as of data that has to be
            read.
        data: makes what the explorer needs beside its controls, as JSON can hold it.
    """

    def __init__(
        self,
        name: str,
        title: str,
        text: str,
        controls: Mapping[str, Control] | Callable[[], Mapping[str, Control]],
        data: Callable[[], Any] | None = None,
    ) -> None:
        self.name, self.title, self.text, self.data = name, title, text, data
        self._controls = controls
        self.__doc__ = f"{title[0].upper()}{title[1:]}. {text}"

    def __call__(self, **start: Any) -> None:
        """Show the explorer, with these controls at other values than usual."""
        checked = self._checked(start)
        bundle, metadata = _widget(self.module, checked)._repr_mimebundle_()
        bundle["text/plain"] = self.describe(**checked)
        IPython.display.display(bundle, metadata=metadata, raw=True)

    def __repr__(self) -> str:
        return f"<the explorer {self.name!r}: call it to show it>"

    @cached_property
    def controls(self) -> dict[str, Control]:
        """The controls by name."""
        return dict(self._controls() if callable(self._controls) else self._controls)

    def describe(self, **start: Any) -> str:
        """What readers get who cannot move the controls: what they would see, and where they start.

        The text is the same on every computer.
        """
        values = {name: one.start for name, one in self.controls.items()} | self._checked(start)
        said = "; ".join(
            f"{self._label(name)}: {value if isinstance(value, str) else _written(value)}"
            for name, value in values.items()
        )
        return f"Explorer: {self.title}. {self.text} Controls: {said}. Run the cell to move them."

    @cached_property
    def module(self) -> str:
        """The explorer as one JavaScript module, with nothing to import.

        It exports ``mount(element, start)``, which works on any page, a default with ``render``
        for anywidget, and ``view(start, width, dark)``: numbers, pictures and words without a page.
        """
        controls: list[dict[str, Any]] = []
        for name, one in self.controls.items():
            controls.append({"name": name, "label": self._label(name), "start": one.start})
            if isinstance(one, Slider):
                controls[-1]["values"] = one.values()
            elif isinstance(one, Choice):
                controls[-1]["options"] = one.options
        spec = {"name": self.name, "title": self.title, "controls": controls}
        spec["data"] = self.data() if self.data else {}
        written = json.dumps(spec, ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
        files = [(JAVASCRIPT / f"{name}.js").read_text("utf-8") for name in (*KIT, self.name)]
        return "\n".join([*files[:-1], f"const SPEC = {written};\n", files[-1], TAIL.lstrip()])

    def _label(self, name: str) -> str:
        return self.controls[name].label or name.replace("_", " ")

    def _checked(self, start: Mapping[str, Any]) -> dict[str, Any]:
        for name in start:
            validation.choice("control", name, self.controls)
        return {name: self.controls[name].checked(name, value) for name, value in start.items()}


def _written(value: float) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _widget(module: str, start: dict[str, Any]) -> Any:
    """An anywidget that renders the module. On Colab, anywidget allows such widgets by itself."""
    import anywidget
    import traitlets

    kind = type(
        "ExplorerWidget",
        (anywidget.AnyWidget,),
        {"_esm": module, "start": traitlets.Dict().tag(sync=True)},
    )
    return kind(start=start)
