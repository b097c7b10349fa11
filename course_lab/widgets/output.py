"""How a widget is displayed together with what readers without a kernel see."""

from typing import Any

import IPython
import IPython.display
from IPython.utils.capture import capture_output

from course_lab.widgets import card

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def show(widget: Any, text: str = "", picture: bytes | None = None) -> None:
    """Display a widget, with a text and perhaps a PNG picture in its place without a kernel.

    Without a text nothing stands in its place.
    """
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    bundle: dict[str, Any] = {WIDGET_VIEW: view}
    if text:
        bundle["text/plain"] = text
    if picture is not None:
        bundle["image/png"] = picture
    IPython.display.display(bundle, raw=True)


def say_instead(text: str) -> None:
    """Say a text in place of all that the cell which runs has shown and will show.

    The cell goes on to its end, so that later cells find its variables.
    """
    shell = IPython.get_ipython()
    if shell is None:
        print(text)
        return
    IPython.display.clear_output()
    card.tell(text, card.card(card.escaped(text), edge=card.ASKS))
    unheard = capture_output()
    unheard.__enter__()

    def hear_again(_: Any) -> None:
        shell.events.unregister("post_run_cell", hear_again)
        unheard.__exit__(None, None, None)

    shell.events.register("post_run_cell", hear_again)
