"""What goes on around each cell that runs: a line that says so, and the seal of open questions."""

from typing import Any

import IPython.display

from course_lab.widgets import card
from course_lab.widgets.cell_watch import CellWatch
from course_lab.widgets.seal import EMPTY, TITLE, seal

NOTE = {"text/plain": "running …", "text/html": card.bold("running …", card.ASKS)}


class RunningLine:
    """Shows a line above the outputs of a folded cell while it runs, and empties it then.

    JupyterLab hides the cell's [*] together with its code.
    """

    def __init__(self) -> None:
        self._line: Any = None

    def begin(self, source: str) -> None:
        """A cell begins to run."""
        if source.startswith(TITLE):
            self._line = IPython.display.display(NOTE, raw=True, display_id=True)

    def end(self) -> None:
        """The cell ends."""
        if self._line is not None:
            self._line.update(EMPTY, raw=True)
            self._line = None


class Watch(CellWatch):
    """Tells the line and the seal of each cell, once somebody looks on."""

    def __init__(self) -> None:
        super().__init__()
        self._line = RunningLine()

    def _begin(self, info: Any) -> None:
        self._line.begin(info.raw_cell)
        seal.begin(self._shell, info.raw_cell)

    def _end(self, _: Any) -> None:
        seal.end()
        self._line.end()


watch = Watch()
