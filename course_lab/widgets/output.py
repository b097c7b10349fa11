"""How a widget is displayed together with what readers without a kernel see."""

from typing import Any

import IPython.display

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
