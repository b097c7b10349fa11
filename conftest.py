"""How nbval compares notebooks here, and the order of the tests.

nbval alone wants equal text, which no two machines give, and passes a notebook without outputs.
Here numbers in text may drift in their last printed digit.
"""

import gc
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# One thread for each of pytest's workers and its kernel: with more they wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent / "tools"))  # tests import the build from there

import lesson_models  # noqa: E402
import passed_before  # noqa: E402
import run_order  # noqa: E402
from notebook_comparison import compare_outputs  # noqa: E402

PASSED = pytest.StashKey[passed_before.Passed]()


class NotRun(pytest.Item):
    """Fails in place of a notebook's cells."""

    def runtest(self) -> None:
        """Say what is missing."""
        pytest.fail(f"{self.path.name}: {self.name}; build it with make notebooks", pytrace=False)


def reason_to_refuse(notebook: Any) -> str | None:
    """Why a notebook's outputs cannot be compared: nbval would pass it without looking."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    if any(cell.execution_count is None for cell in cells):
        return "a code cell was never run"
    if not any(cell.outputs for cell in cells):
        return "no code cell has outputs"
    return None


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --shuffle and --every-notebook."""
    parser.addoption(
        "--shuffle", type=int, nargs="?", const=-1, metavar="SEED",
        help="run the tests in random order; the seed is printed, to run in that order again",
    )  # fmt: skip
    parser.addoption(
        "--every-notebook", action="store_true",
        help="run the notebooks, too, that passed before and are the same, as is all they read",
    )  # fmt: skip


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say in which order tests run, and how many notebooks do not."""
    seed, passed = config.getoption("shuffle"), config.stash.get(PASSED, None)
    told = [] if seed is None else [f"order: --shuffle={seed}"]
    if passed and (before := passed.before()):
        told.append(
            f"notebooks: {len(before)} passed before as they are; --every-notebook runs them"
        )
    return told


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups and -m the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Groups, marks and order, as tools/run_order.py says; no notebook that passed before."""
    if passed := config.stash.get(PASSED, None):
        items[:], out = passed_before.left_out(items, passed.before())
        config.hook.pytest_deselected(items=out)
    run_order.mark(items)
    items[:] = run_order.ordered(items, config.getoption("shuffle"))


def pytest_collection_finish() -> None:
    """What was imported and collected stays, so the garbage collector need not look through it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each of xdist's workers the seed: from the command line it would choose its own."""
    node.workerinput["shuffle"] = node.config.getoption("shuffle")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out all cases of a test at once: xdist counts all that it has given at each return."""
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadGroupScheduling

    class ByTest(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:  # the name of a group, or the test's own id
            return super()._split_scope(nodeid).partition("[")[0]

    return ByTest(config, log)


def pytest_configure(config: pytest.Config) -> None:
    """Choose a seed where none is given; put the comparison above into nbval, where it is used."""
    if config.getoption("shuffle") == -1:
        chosen = getattr(config, "workerinput", {}).get("shuffle")  # where this is a worker
        config.option.shuffle = chosen or random.SystemRandom().randrange(1, 10**6)
    if not (config.getoption("nbval", False) or config.getoption("nbval_lax", False)):
        return
    if not config.getoption("every_notebook") and not passed_before.asked_for(config):
        config.stash[PASSED] = passed_before.Passed(config)
        config.pluginmanager.register(config.stash[PASSED])
    from nbval.plugin import IPyNbCell, IPyNbFile

    collect = IPyNbFile.collect

    def collect_if_run(self: Any) -> Iterator[pytest.Item]:
        cells = list(collect(self))
        reason = reason_to_refuse(self.nb)
        if lesson_models.lacking(self.nb.cells):  # they run, do nothing, and say so
            for item in filter(lambda item: lesson_models.has_tag(item.cell), cells):
                item.options["check"] = False
        yield from [NotRun.from_parent(self, name=reason)] if reason else cells

    IPyNbFile.collect = collect_if_run
    IPyNbCell.compare_outputs = compare_outputs
    os.environ.pop("MPLBACKEND", None)  # the notebooks were built with the kernel's own
