"""Lessons in a read-only folder with an odd name, without display, network or Chinese font.

One kernel has all of these at once. Other tests interrupt a training and run two notebooks at the
same time. Other hardships are tested with their subjects: damaged data in test_data.py, killed
sweeps in test_sweep.py, random events in test_explorer_on_page.py, installations in
test_environment.py.
"""

import ast
import asyncio
import os
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
from build_notebooks import ThisPython, kernel_client, kernel_environment
from jupyter_client import AsyncKernelManager
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell
from notebook_outputs import warnings_in

ROOT = Path(__file__).resolve().parents[1]
SOLUTIONS = ROOT / "notebooks" / "solutions"
QUICK = "00_start_here"

# Run first in the kernel. It notes and refuses connections to other machines, and removes all fonts
# but matplotlib's own.
HARDSHIP = """
import sys

refused_hosts = []  # a name that no lesson has

def refuse(event, details):
    if event == "socket.getaddrinfo":
        host = details[0]
    elif event == "socket.connect" and isinstance(details[1], tuple):
        host = details[1][0]
    else:
        return
    if host not in ("127.0.0.1", "localhost", "::1", None):
        refused_hosts.append(host)
        raise OSError(101, "Network is unreachable")

sys.addaudithook(refuse)
from matplotlib import font_manager
manager = font_manager.fontManager
manager.ttflist = [font for font in manager.ttflist if font.name.startswith("DejaVu")]
"""


class Unprivileged(ThisPython):
    """Kernels for which a read-only folder is read-only, even where root starts them."""

    def get_kernel_spec(self, kernel_name: str) -> Any:
        spec = super().get_kernel_spec(kernel_name)
        if hasattr(os, "geteuid") and os.geteuid() == 0 and (setpriv := shutil.which("setpriv")):
            spec.argv = [setpriv, "--bounding-set=-dac_override", "--", *spec.argv]
        return spec


class Kernel:
    """A kernel that keeps the outputs of all cells it has run."""

    def __init__(self, client: NotebookClient) -> None:
        self.client = client
        self.cells: list[NotebookNode] = []

    def run(self, source: str, fails: bool = False) -> str:
        """Run a cell and return what it printed; a cell that has to fail is not kept."""
        cell = new_code_cell(source)
        self.client.nb.cells.append(cell)
        self.client.execute_cell(cell, len(self.client.nb.cells) - 1)
        if fails:
            assert any(output.output_type == "error" for output in cell.outputs), source
        else:
            self.cells.append(cell)
        return "".join(out.text for out in cell.outputs if out.get("name") == "stdout")

    def value(self, expression: str) -> Any:
        """The value of an expression that is a Python literal."""
        return ast.literal_eval(self.run(f"print(repr({expression}))"))

    def outputs(self, kind: str) -> list[NotebookNode]:
        return [out for cell in self.cells for out in cell.outputs if out.output_type == kind]

    def errors(self) -> list[str]:
        return ["\n".join(output.traceback) for output in self.outputs("error")]

    def warnings(self) -> list[str]:
        """The texts on stderr without the bars of trainings."""
        texts = [output.text for output in self.outputs("stream") if output.name == "stderr"]
        return [warning for text in texts if (warning := warnings_in(text))]


@contextmanager
def kernel(folder: Path, private: Path) -> Iterator[Kernel]:
    """A kernel in the folder `notebooks` of a course, without a display and a user's settings."""
    environment = kernel_environment(folder, str(private / "ipython"))
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
        environment.pop(name, None)
    environment["MPLCONFIGDIR"] = str(private / "matplotlib")
    client = kernel_client(
        nbformat.v4.new_notebook(),
        folder / "notebooks",
        km=AsyncKernelManager(kernel_spec_manager=Unprivileged()),
        allow_errors=True,
    )
    with client.setup_kernel(cleanup_kc=True, env=environment):
        yield Kernel(client)


def copied(folder: Path) -> Path:
    """Copy the parts of the course that a lesson needs."""
    cached = shutil.ignore_patterns("__pycache__")
    for name in ("course_utils", "course_lab", "data"):
        shutil.copytree(ROOT / name, folder / name, ignore=cached, copy_function=shutil.copyfile)
    (folder / "notebooks").mkdir()
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def allow(folder: Path, *, writing: bool) -> None:
    """Make the folder and all in it read-only, or not."""
    for path in [folder, *folder.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200 if writing else path.stat().st_mode & 0o555)


def sources(lesson: str) -> list[tuple[str, bool]]:
    """Each cell of code, and whether it has to fail."""
    notebook = nbformat.read(SOLUTIONS / f"{lesson}.ipynb", as_version=4)
    return [
        (cell.source, "raises-exception" in cell.metadata.get("tags", []))
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def times(folder: Path) -> list[tuple[str, int]]:
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
    before = times(folder)
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
    module = hard.kernel.value("__import__('course_utils').__file__")
    assert Path(module).is_relative_to(hard.folder), "another copy of the course was tried"


def test_a_read_only_checkout_is_enough(hard):
    allowed = hard.kernel.value("__import__('os').access('.', __import__('os').W_OK)")
    if allowed:
        pytest.skip("this user may write anywhere, and there is no setpriv to change that")
    assert hard.kernel.errors() == [] == hard.kernel.warnings()
    assert times(hard.folder) == hard.before


def test_nothing_comes_from_the_network(hard):
    connect = "import socket\ntry: socket.create_connection(('192.0.2.1', 80), 1)\n"
    connect += "except OSError as error: print(error)"
    assert hard.kernel.value("refused_hosts") == []
    assert "unreachable" in hard.kernel.run(connect), "a connection would be noticed"
    hard.kernel.run("refused_hosts.clear()")


def test_without_a_display_figures_are_pictures(hard):
    assert not hard.kernel.value("__import__('os').environ.get('DISPLAY')")
    pictures = [out for out in hard.kernel.outputs("display_data") if "image/png" in out.data]
    assert len(pictures) >= 1


PINYIN = """
from course_utils import plots
from course_lab.chinese import PINYIN, labels
import matplotlib.pyplot as plt
words = labels(list(PINYIN), PINYIN)
figure, axes = plt.subplots(figsize=(4, 2))
axes.set_xticks(range(len(words)), words)
plots.show(figure, 'pinyin')
print(*words)
"""


def test_without_a_chinese_font_there_is_pinyin_and_no_box(hard):
    words = hard.kernel.run(PINYIN)
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
    printed = kernel.run("first = training.fit(model, loss, 10**7, bar=False)")
    reader.join()
    steps = kernel.value("len(first)")
    assert 18 <= steps < 10**7
    assert printed == f"training: stopped after {steps} of 10000000 steps; the model keeps them.\n"
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
        first, second = pool.map(run, range(2))
    assert first[:2] == second[:2] == ([], [])
    assert first[2] == second[2] and any(first[2])
    assert list(private.rglob("fontlist*.json")) and list(folder.rglob("*.pyc"))
