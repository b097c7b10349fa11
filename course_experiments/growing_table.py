"""A table that is written after each part, so that a command goes on where it was stopped."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import torch

Row = Mapping[Any, Any]


class GrowingTable:
    """The rows of a CSV file, in memory and on disk.

    Args:
        path: the file; its folder is made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            self.rows += pd.read_csv(path).to_dict("records")

    def has(self, **columns: Any) -> bool:
        """Whether some row has these values."""
        return any(all(row[name] == value for name, value in columns.items()) for row in self.rows)

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows with the version of torch that made them, and write the file."""
        self.rows += [{**row, "torch": torch.__version__} for row in rows]
        pd.DataFrame(self.rows).to_csv(self.path, index=False)

    def fill(self, settings: Iterable[Row], measure: Callable[..., Iterable[Row]]) -> None:
        """Add ``measure(**setting)`` for each setting whose values no row has."""
        for setting in settings:
            if not self.has(**setting):
                self.add(measure(**setting))
