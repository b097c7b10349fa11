"""Lessons where they are hard to use: in a read-only folder with an odd name, without a display,
a network or Chinese letters, beside each other, and interrupted.

One kernel has all of the first at once. Other hardships stand beside the tests of their subjects:
damaged data in test_data.py, sweeps that are killed in test_sweep.py, random events in
test_explorer_on_page.py, installations in test_environment.py.
"""

import ast
import asyncio
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import pytest
from build_notebooks import ThisPython, kernel_environment
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "notebooks" / "solutions"
QUICK = "00_start_here"

# Run first in the kernel. It notes who is asked for over the network and refuses all but this
# machine, and takes all fonts away but matplotlib's own.
HARDSHIP = """
import sys

names_asked = []  # a name that no lesson has

def hear(event, details):
    if event == "socket.getaddrinfo":
        names_asked.append(details[0])
    elif event == "socket.connect" and isinstance(details[1], tuple):
        names_asked.append(details[1][0])
    else:
        return
    if names_asked[-1] in ("127.0.0.1", "localhost", "::1", None):
        names_asked.pop()
    else:
        raise OSError(101, "Network is unreachable")

sys.addaudithook(hear)
from matplotlib import font_manager
manager = font_manager.fontManager
manager.ttflist = [one for one in manager.ttflist if one.name.startswith("DejaVu")]
"""


class Unprivileged(ThisPython):
    """Kernels for which a read-only folder is read-only, even where root starts them."""

    def get_kernel_spec(self, kernel_name: str) -> Any:
        spec = super().get_kernel_spec(kernel_name)
        if hasattr(os, "geteuid") and os.geteuid() == 0 and (setpriv := shutil.which("setpriv")):
            spec.argv = [setpriv, "--bounding-set=-dac_override", "--", *spec.argv]
        return spec


class Kernel:
    """A kernel to run cells in, with the outputs of all of them."""

    def __init__(self, client: NotebookClient) -> None:
        self.client = client
        self.cells: list[NotebookNode] = []

    def run(self, source: str, fails: bool = False) -> str:
        """Run a cell; what it printed. Errors stay in its outputs.

        One that is there to fail must, and is forgotten.
        """
        cell = new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        if fails:
            assert any(one.output_type == "error" for one in cell.outputs), source
        else:
            self.cells.append(cell)
        return "".join(one.text for one in cell.outputs if one.get("name") == "stdout")

    def value(self, expression: str) -> Any:
        """The value of an expression, of Python's own kinds."""
        return ast.literal_eval(self.run(f"print(repr({expression}))"))

    def outputs(self, kind: str) -> list[NotebookNode]:
        return [one for cell in self.cells for one in cell.outputs if one.output_type == kind]

    def errors(self) -> list[str]:
        return ["\n".join(one.traceback) for one in self.outputs("error")]

    def warnings(self) -> list[str]:
        """The lines that were written to stderr, but for the bars of trainings."""
        told = [one.text for one in self.outputs("stream") if one.name == "stderr"]
        lines = [line for text in told for line in re.split(r"[\r\n]+", text)]
        return [line for line in lines if line.strip() and not re.search(r"\d%\|.*\|", line)]


@contextmanager
def kernel(folder: Path, private: Path) -> Iterator[Kernel]:
    """A kernel in the folder `notebooks` of a course, without a display and what users set."""
    environment = kernel_environment(folder, str(private / "ipython"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        environment.pop(name, None)
    environment["MPLCONFIGDIR"] = str(private / "matplotlib")
    client = NotebookClient(
        nbformat.v4.new_notebook(),
        km=AsyncKernelManager(kernel_spec_manager=Unprivileged()),
        timeout=120,
        allow_errors=True,
        extra_arguments=["--log-level=ERROR"],
        shutdown_kernel="immediate",
        resources={"metadata": {"path": str(folder / "notebooks")}},
    )
    with client.setup_kernel(cleanup_kc=True, env=environment):
        yield Kernel(client)


def copied(folder: Path) -> Path:
    """What a lesson needs of the course, in another folder."""
    left_out = shutil.ignore_patterns("__pycache__")
    for name in ("course_utils", "course_lab", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=left_out, copy_function=shutil.copyfile)
    (folder / "notebooks").mkdir()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def allow(folder: Path, *, writing: bool) -> None:
    """Make the folder and all in it read-only, or not."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200 if writing else path.stat().st_mode & 0o555)


def sources(lesson: str) -> list[tuple[str, bool]]:
    """Each cell of code, and whether it is there to fail."""
    notebook = nbformat.read(SOLUTIONS / f"{lesson}.ipynb", as_version=4)
    return [
        (cell.source, "raises-exception" in cell.metadata.get("tags", []))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def found_in(folder: Path) -> list[tuple[str, int]]:
    return sorted((str(path), path.stat().st_mtime_ns) for path in folder.rglob("*"))


LESSONS = sorted(
    path.relative_to(SOLUTIONS).with_suffix("").as_posix() for path in SOLUTIONS.rglob("*.ipynb")
)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[] if name == QUICK else [pytest.mark.thorough])
        for name in LESSONS
    ],
)
def hard(request, tmp_path_factory):
    """A lesson that was run where everything is hard, and its kernel."""
    place = tmp_path_factory.mktemp("Kurs ‘für Anfänger’, Größe 1 位置 ")
    folder, private = copied(place / "the course"), tmp_path_factory.mktemp("private")
    allow(folder, writing=False)
    before = found_in(folder)
    try:
        with kernel(folder, private) as started:
            started.run(HARDSHIP)
            for source, fails in sources(request.param):
                started.run(source, fails)
            yield SimpleNamespace(kernel=started, folder=folder, before=before)
    finally:
        allow(folder, writing=True)


def test_every_cell_runs_in_a_path_with_spaces_quotes_and_foreign_letters(hard):
    assert hard.kernel.errors() == []
    found = hard.kernel.value("__import__('course_utils').__file__")
    assert Path(found).is_relative_to(hard.folder), "another copy of the course was tried"


def test_a_read_only_checkout_is_enough(hard):
    allowed = hard.kernel.value("__import__('os').access('.', __import__('os').W_OK)")
    if allowed:
        pytest.skip("this user may write anywhere, and there is no setpriv to change that")
    assert hard.kernel.errors() == [] == hard.kernel.warnings()
    assert found_in(hard.folder) == hard.before


def test_nothing_is_asked_of_the_network(hard):
    refused = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\n"
    refused += "except OSError as error: print(error)"
    assert hard.kernel.value("names_asked") == []
    assert "unreachable" in hard.kernel.run(refused), "it would have been noticed"
    hard.kernel.run("names_asked.clear()")


def test_without_a_display_figures_are_pictures(hard):
    assert not hard.kernel.value("__import__('os').environ.get('DISPLAY')")
    pictures = [one for one in hard.kernel.outputs("display_data") if "image/png" in one.data]
    assert len(pictures) >= 1


def test_without_a_chinese_font_there_is_pinyin_and_no_box(hard):
    drawn = "from course_utils import plots\nfrom course_utils.texts import sentences\n"
    drawn += "import matplotlib.pyplot as plt\n"
    drawn += "words = plots.labels(list(sentences.PINYIN), sentences.PINYIN)\n"
    drawn += "figure, axes = plt.subplots(figsize=(4, 2))\naxes.set_xticks(range(len(words)), "
    words = hard.kernel.run(drawn + "words)\nplots.show(figure, 'pinyin')\nprint(*words)")
    assert "ǒ" in words
    assert not any("\u4e00" <= letter <= "\u9fff" for letter in words)
    assert hard.kernel.warnings() == [], "matplotlib warns of each glyph that a font lacks"


TRAINING = """
import pathlib, torch
from course_utils.models import training
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
x = torch.randn(64, 8)
steps = 0
def loss():
    global steps
    steps += 1
    if steps == 20:
        pathlib.Path({begun!r}).touch()
    return (model(x) - x[:, :1]).square().mean()
start = loss().item()
"""


def test_training_that_is_interrupted_keeps_what_it_learned_and_goes_on(hard, tmp_path):
    begun, kernel = tmp_path / "begun", hard.kernel

    def interrupt() -> None:
        while not begun.exists():
            time.sleep(0.02)
        asyncio.run(kernel.client.km.interrupt_kernel())

    kernel.run(TRAINING.format(begun=str(begun)))
    reader = threading.Thread(target=interrupt)
    reader.start()
    said = kernel.run("first = training.fit(model, loss, 10**7, bar=False)")
    reader.join()
    taken = kernel.value("len(first)")
    assert 18 <= taken < 10**7
    assert said == f"training: stopped after {taken} of 10000000 steps; the model keeps them.\n"
    kernel.run("then = training.fit(model, loss, 200, lr=0.05, bar=False)")
    assert kernel.errors() == []
    start, first, then = kernel.value("(start, first[-1], [then[0], then[-1]])")
    assert first < start and then[0] <= first, "it goes on from where it was"
    assert then[1] < 0.01 * start


@pytest.mark.thorough
def test_two_notebooks_run_at_once_on_caches_that_are_not_there_yet(tmp_path):
    folder, private = copied(tmp_path / "course"), tmp_path / "private"
    private.mkdir()
    together = threading.Barrier(2, timeout=60)

    def run(_: int) -> tuple[list[str], list[str], list[str]]:
        with kernel(folder, private) as started:
            together.wait()
            printed = [started.run(*cell) for cell in sources(QUICK)]
            return started.errors(), started.warnings(), printed

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(run, range(2))
    assert one[:2] == other[:2] == ([], [])
    assert one[2] == other[2] and any(one[2])
    assert list(private.rglob("fontlist*.json")) and list(folder.rglob("*.pyc"))
