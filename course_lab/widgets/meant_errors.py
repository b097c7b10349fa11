"""Shows an error that a lesson means to raise in its last line alone, without the way there."""

from typing import Any

from course_lab.widgets.cell_watch import CellWatch

MEANT = "raises-exception"  # the tag of such a cell, which JupyterLab sends along with its source


class MeantErrors(CellWatch):
    """Shortens the tracebacks of cells that are meant to fail; all others stay long."""

    def __init__(self) -> None:
        super().__init__()
        self._usual: str | None = None  # how other errors are shown, while such a cell runs

    def _begin(self, _: Any) -> None:
        request = self._shell.get_parent() if hasattr(self._shell, "get_parent") else {}
        if MEANT in request.get("metadata", {}).get("tags", []):
            self._usual = self._shell.InteractiveTB.mode
            self._shell.InteractiveTB.set_mode("Minimal")

    def _end(self, _: Any) -> None:
        if self._usual is not None:
            self._shell.InteractiveTB.set_mode(self._usual)
            self._usual = None


meant_errors = MeantErrors()
