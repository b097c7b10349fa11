"""The class of all explorers that compute and draw in the browser.

An explorer consists of a file in ``javascript``, whose parts ``shell.js`` there describes, and of
its declaration in Python: its controls, and data if it needs any. Both are joined into a single
JavaScript module that needs no network.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import IPython.display

from course_lab.explorers.controls import Choice, Control, Slider, Text
from course_utils import validation

JAVASCRIPT = Path(__file__).with_name("javascript")
KIT = ("numbers", "drawing", "shell")  # files that every module starts with, in this order
_widgets: dict[str, Any] = {}  # those shown so far, by explorer and start values
EXPORTS = """
const { mount, render, view } = module(EXPLORER, SPEC);
export default { render };
export { mount, view };
"""


class Explorer:
    """A picture in the browser that follows its controls. Call it in a notebook to show it.

    Keyword arguments of the call set where controls start: ``frequencies(base=100)``.

    Args:
        name: the name of its file in ``javascript``.
        title: what the picture shows, in a few words.
        text: a sentence or two on the picture, for readers whose browser cannot draw it.
        controls: the controls by name; or a function that returns them, called at first use, where
            they depend on data that has to be read.
        data: returns what the explorer needs besides its controls, as JSON can hold it.
        parts: further files of ``javascript`` that it builds on, by name.
    """

    def __init__(
        self,
        name: str,
        title: str,
        text: str,
        controls: Mapping[str, Control] | Callable[[], Mapping[str, Control]],
        data: Callable[[], Any] | None = None,
        parts: Sequence[str] = (),
    ) -> None:
        self.name, self.title, self.text, self.data = name, title, text, data
        self.parts = tuple(parts)
        self._controls = controls
        self.__doc__ = f"{title[0].upper()}{title[1:]}. {text}"

    def __call__(self, **start: Any) -> None:
        """Show the explorer; keyword arguments are start values of its controls."""
        start = self._checked(start)
        # The same widget for the same call: what a learner has set survives a re-run.
        key = json.dumps([self.name, start], sort_keys=True)
        if key not in _widgets:
            _widgets[key] = _widget(self.module, start)
        bundle, metadata = _widgets[key]._repr_mimebundle_()
        bundle["text/plain"] = self.describe(**start)
        IPython.display.display(bundle, metadata=metadata, raw=True)

    def __repr__(self) -> str:
        return f"<the explorer {self.name!r}: call it to show it>"

    @cached_property
    def controls(self) -> dict[str, Control]:
        """The controls by name."""
        return dict(self._controls() if callable(self._controls) else self._controls)

    def describe(self, **start: Any) -> str:
        """Return a description for readers who cannot move the controls, with their start values.

        The text is the same on every computer.
        """
        values = {name: control.start for name, control in self.controls.items()}
        values |= self._checked(start)
        listed = "; ".join(
            f"{self._label(name)}: {_as_text(value)}" for name, value in values.items()
        )
        return f"Explorer: {self.title}. {self.text} Controls: {listed}. Run the cell to move them."

    @cached_property
    def module(self) -> str:
        """The explorer as one JavaScript module, with nothing to import.

        It exports ``mount(element, start)``, which works on any page; a default with ``render``,
        for anywidget; and ``view(start, width, dark)``, which returns numbers, pictures and words
        without a page.
        """
        spec = {
            "name": self.name,
            "title": self.title,
            "controls": [self._specification(name) for name in self.controls],
            "data": self.data() if self.data else {},
        }
        # "</script>" in a text must not end the script that the module is embedded in.
        as_json = json.dumps(spec, ensure_ascii=False, allow_nan=False).replace("</", "<\\/")
        kit = [(JAVASCRIPT / f"{name}.js").read_text("utf-8") for name in (*KIT, *self.parts)]
        explorer = (JAVASCRIPT / f"{self.name}.js").read_text("utf-8")
        return "\n".join([*kit, f"const SPEC = {as_json};\n", explorer, EXPORTS.lstrip()])

    def _specification(self, name: str) -> dict[str, Any]:
        """Return what the JavaScript needs to know of a control."""
        control = self.controls[name]
        spec: dict[str, Any] = {"name": name, "label": self._label(name), "start": control.start}
        if isinstance(control, Slider):
            spec["values"] = control.values()
        if isinstance(control, Choice):
            spec["options"] = control.options
            spec["words"] = dict(control.words)
        if isinstance(control, Text):
            spec["longest"] = control.longest
        return spec

    def _label(self, name: str) -> str:
        return self.controls[name].label or name.replace("_", " ")

    def _checked(self, start: Mapping[str, Any]) -> dict[str, Any]:
        for name in start:
            validation.choice("control", name, self.controls)
        return {name: self.controls[name].checked(name, value) for name, value in start.items()}


def _as_text(value: str | bool | float) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:,.6f}".rstrip("0").rstrip(".")


def _widget(module: str, start: dict[str, Any]) -> Any:
    """Return an anywidget that renders the module. It also enables such widgets on Colab."""
    import anywidget
    import traitlets

    kind = type(
        "ExplorerWidget",
        (anywidget.AnyWidget,),
        {"_esm": module, "start": traitlets.Dict().tag(sync=True)},
    )
    return kind(start=start)
