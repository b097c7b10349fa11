"""Remembers whether the last cell ended in an error, so that a check can say what it judges."""

from typing import Any

from course_lab.widgets.cell_watch import CellWatch


class LastCell(CellWatch):
    """Whether the cell that ran before the present one failed."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = False

    def _end(self, result: Any) -> None:
        self.failed = not result.success


last_cell = LastCell()
