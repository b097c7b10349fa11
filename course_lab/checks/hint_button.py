"""The button under a check's verdict, which shows the hints one by one."""

from collections.abc import Sequence

import ipywidgets

from course_lab.widgets import card

HIDE = "Hide the hints"


def hint_button(hints: Sequence[str]) -> ipywidgets.VBox:
    """Return a button that adds the next hint above it at each press, and then hides them again.

    The button stays where it is: JupyterLab takes Shift+Enter only while something in the notebook
    has the focus, and a button that was pressed has it.
    """
    shown, button = ipywidgets.HTML(), ipywidgets.Button()
    button.add_class("om-hint-button")
    count = 0

    def show(number: int) -> None:
        nonlocal count
        count = number
        lines = [
            f"{card.bold(f'Hint {n} of {len(hints)}:')} {card.inline(hint)}"
            for n, hint in enumerate(hints[:count], start=1)
        ]
        shown.value = card.card(*lines) if lines else ""
        shown.layout.display = None if count else "none"
        button.description = HIDE if count == len(hints) else f"Hint {count + 1} of {len(hints)}"

    button.on_click(lambda _: show((count + 1) % (len(hints) + 1)))
    show(0)
    return ipywidgets.VBox([shown, button])
