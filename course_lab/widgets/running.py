"""A line that says that a folded cell runs: JupyterLab hides its [*] together with its code."""

from typing import Any

import IPython
import IPython.display

from course_lab.widgets import card

FOLDED = "#@title "  # how the source of a folded cell starts
NOTE = {"text/plain": "running …", "text/html": card.bold("running …", card.ASKS)}
NOTHING = {"text/plain": "", "text/html": ""}


class RunningLine:
    """Shows the line above the outputs of each folded cell, and empties it when the cell ends."""

    def __init__(self) -> None:
        self._shell: Any = None  # in which the lines are shown, once start() was called
        self._line: Any = None

    def start(self) -> None:
        """Show the line from the next cell on; call it where somebody looks on."""
        shell = IPython.get_ipython()
        if shell is None or shell is self._shell:
            return
        self._shell = shell
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, info: Any) -> None:
        if info.raw_cell.startswith(FOLDED):
            self._line = IPython.display.display(NOTE, raw=True, display_id=True)

    def _end(self, _: Any) -> None:
        if self._line is not None:
            self._line.update(NOTHING, raw=True)
            self._line = None


line = RunningLine()
