"""The base of what goes on around each cell that runs."""

from typing import Any

import IPython


class CellWatch:
    """Is called before and after each cell, from the cell after :meth:`start` on.

    Here nothing happens then: a subclass says what.
    """

    def __init__(self) -> None:
        self._shell: Any = None  # whose cells are watched, once start() was called

    def start(self) -> None:
        """Watch from the next cell on."""
        shell = IPython.get_ipython()
        if shell is None or shell is self._shell:
            return
        self._shell = shell
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def _begin(self, info: Any) -> None:
        """A cell begins to run."""

    def _end(self, result: Any) -> None:
        """The cell ends."""
