"""What pytest needs beside its plugins to run notebooks: their comparison and their cells' order.

nbval alone wants equal text, which no two machines give, and passes a notebook without outputs.
Here numbers in text may drift in their last printed digit.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# One thread for each of pytest's workers and its kernel: with more they wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "tools"))  # tests import the build from there

import lesson_models  # noqa: E402
from notebook_comparison import compare_outputs  # noqa: E402


def reason_to_refuse(notebook: Any) -> str | None:
    """Why a notebook's outputs cannot be compared: nbval would pass it without looking."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    if any(cell.execution_count is None for cell in cells):
        return "a code cell was never run"
    if not any(cell.outputs for cell in cells):
        return "no code cell has outputs"
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Put the comparison above into nbval, where it is used."""
    if not (config.getoption("nbval", False) or config.getoption("nbval_lax", False)):
        return
    from nbval.plugin import IPyNbCell, IPyNbFile

    collect = IPyNbFile.collect

    def collect_if_run(self: Any) -> Iterator[pytest.Item]:
        cells = list(collect(self))
        if reason := reason_to_refuse(self.nb):
            raise self.CollectError(f"{self.path.name}: {reason}; build it with make notebooks")
        if lesson_models.lacking(self.nb.cells):  # their cells run, do nothing, and say so
            for item in cells:
                if lesson_models.has_tag(item.cell):
                    item.options["check"] = False
        yield from cells

    IPyNbFile.collect = collect_if_run
    IPyNbCell.compare_outputs = compare_outputs
    os.environ.pop("MPLBACKEND", None)  # the notebooks were built with the kernel's own


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the cells of each notebook back in order where pytest-randomly has shuffled them."""
    cells = [item for item in items if hasattr(item, "cell_num")]
    others = [item for item in items if not hasattr(item, "cell_num")]
    items[:] = [*sorted(cells, key=lambda cell: (cell.path, cell.cell_num)), *others]


def pytest_collection_finish() -> None:
    """What was imported and collected stays, so the garbage collector need not look through it."""
    gc.collect()
    gc.freeze()
