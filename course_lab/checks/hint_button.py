"""The button under a check's verdict, which shows the hints one by one."""

import html
from collections.abc import Sequence

import ipywidgets


def hint_button(hints: Sequence[str]) -> ipywidgets.VBox:
    """Return a button that adds the next hint above it at each press."""
    button, box = ipywidgets.Button(), ipywidgets.VBox()
    box.children = [button]

    def name_the_next() -> None:
        count = len(box.children) - 1
        button.description = f"Hint {count + 1} of {len(hints)}"
        button.layout.display = None if count < len(hints) else "none"

    def add(_: ipywidgets.Button) -> None:
        count = len(box.children) - 1
        text = f"<b>Hint {count + 1} of {len(hints)}:</b> {html.escape(hints[count])}"
        box.children = [*box.children[:-1], ipywidgets.HTML(text), button]
        name_the_next()

    button.on_click(add)
    name_the_next()
    return box
