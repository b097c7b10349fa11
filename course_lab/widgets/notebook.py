"""What a lesson changes in JupyterLab's notebook: widths, colours, the titles of folded code."""

from pathlib import Path
from typing import Any

import anywidget
import IPython
import IPython.display

from course_lab.widgets.output import WIDGET_VIEW


class NotebookStyle(anywidget.AnyWidget):
    """Shows nothing. Once it is in a notebook, ``notebook.js`` and ``notebook.css`` apply to it."""

    _esm = Path(__file__).with_name("notebook.js").read_text("utf-8")
    _css = Path(__file__).with_name("notebook.css").read_text("utf-8")


_styles: list[Any] = []  # the widget, once a kernel has shown it


def use_notebook_style() -> None:
    """Apply the course's style to the notebook whose cell runs; elsewhere do nothing."""
    if IPython.get_ipython() is None:
        return
    if not _styles:
        _styles.append(NotebookStyle())
    bundle, metadata = _styles[0]._repr_mimebundle_()
    IPython.display.display({WIDGET_VIEW: bundle[WIDGET_VIEW]}, metadata=metadata, raw=True)
