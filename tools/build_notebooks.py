"""Build notebooks/ from lessons/: `python tools/build_notebooks.py [--help]`.

Each lesson becomes a learners' notebook and one with solutions, both run from a fresh kernel.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import lesson_models
import nbformat
import notebook_budget
import stills
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellExecutionError
from nbconvert.filters import strip_ansi
from nbformat import NotebookNode
from notebook_folds import withhold
from notebook_outputs import clean, complaint, oversize, without_drawings, written
from notebook_source import (
    VOLATILE,
    BuildError,
    Project,
    Target,
    differences,
    find_lessons,
    inputs,
    is_closer,
    lesson_name,
    limits,
    read_lesson,
    read_notebook,
    read_project,
)
from side_files import side_files

CELL_TIMEOUT = 300  # seconds
PARSING = threading.Lock()  # Python 3.11 must not parse sources in two threads (cpython 106905)


class ThisPython(KernelSpecManager):
    """Starts the interpreter that runs the build, whatever kernels the machine has registered."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The same kernel for every name."""
        return KernelSpec(**get_kernel_dict())


def kernel_environment(root: Path, scratch: str) -> dict[str, str]:
    """This process's environment without the settings of a user that would change outputs."""
    environment = dict(os.environ)
    for name in ("MPLBACKEND", "COLUMNS", "LINES"):
        environment.pop(name, None)
    paths = [str(root), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    environment.setdefault("OMP_NUM_THREADS", "1")  # as in the tests; two kernels run side by side
    environment["IPYTHONDIR"] = scratch  # no start-up files
    environment["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # no note about frozen modules
    return environment


def execute(notebook: NotebookNode, target: Target) -> None:
    """Run the notebook's cells in place; raise BuildError naming the cell when one fails."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        run_cells(notebook, target.path, kernel_environment(target.project.root, scratch))


def kernel_client(notebook: NotebookNode, folder: Path, **options: Any) -> NotebookClient:
    """A client that runs the notebook's cells in a kernel of this Python in a folder."""
    settings: dict[str, Any] = {
        "km": AsyncKernelManager(kernel_spec_manager=ThisPython()),
        "timeout": CELL_TIMEOUT,
        "extra_arguments": ["--log-level=ERROR"],  # no message of the kernel about its transport
        "shutdown_kernel": "immediate",  # a graceful end sometimes takes seconds
        "resources": {"metadata": {"path": str(folder)}},
    }
    return NotebookClient(notebook, **settings | options)


def run_cells(notebook: NotebookNode, path: Path, environment: dict[str, str]) -> None:
    """Run the cells in place, in a fresh kernel in the folder of ``path``, and end the kernel.

    Raises:
        BuildError: naming the cell, when one fails or takes too long.
    """
    name = f"{path.parent.name}/{path.name}"
    last: list[NotebookNode] = [notebook.cells[0]]
    client = kernel_client(
        notebook,
        path.parent,
        record_timing=False,
        store_widget_state=False,
        on_cell_execute=lambda cell, cell_index: last.append(cell),
    )
    try:
        client.execute(cleanup_kc=True, env=environment)
    except CellExecutionError as error:
        lines = [line for line in strip_ansi(error.traceback).splitlines() if line.strip()]
        message = "\n".join([f"{name}, cell {last[-1].id} failed:", *lines[-10:]])
        raise BuildError(message) from None
    except (CellControlSignal, RuntimeError) as error:  # too slow, or the kernel died
        raise BuildError(f"{name}, cell {last[-1].id}: {error}") from None


def build_one(target: Target) -> str:
    """Build one notebook, and say its time and size; on failure the former file stays."""
    start = time.perf_counter()
    with PARSING:
        notebook = inputs(target)
    if lacking := lesson_models.lacking(notebook.cells):
        raise BuildError(
            f"{target.name} shows a published model; not installed: {', '.join(lacking)}. "
            "'make notebooks' without MODELS=no installs them"
        )
    target.path.parent.mkdir(parents=True, exist_ok=True)
    metadata = nbformat.from_dict(notebook.metadata)
    execute(notebook, target)
    notebook.metadata = metadata  # the kernel adds the versions of this machine
    for cell in notebook.cells:
        if cell.cell_type == "code":
            if problem := complaint(cell, target.project.root):
                raise BuildError(f"{target.name}, cell {cell.id} {problem}")
            volatile = VOLATILE in cell.metadata.get("tags", [])
            cell.outputs = [] if volatile else clean(cell.outputs)
            stills.put_into(cell, target.project.root)
            if not target.solutions:
                withhold(cell)
                without_drawings(cell)  # the site alone needs them stored
    content = written(notebook)
    if problem := oversize(notebook, len(content)):
        raise BuildError(f"{target.name} is {problem}")
    replace(target.path, content)
    seconds = time.perf_counter() - start
    return f"{target.name:44} {seconds:6.1f} s {len(content) / 1000:6.0f} kB"


def replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def targets_of(project: Project, lessons: Iterable[Path]) -> list[Target]:
    """Both notebooks of each lesson."""
    return [Target(project, lesson, solutions) for lesson in lessons for solutions in (False, True)]


def choose(lessons: list[Path], names: list[str]) -> list[Path]:
    """The lessons with these numbers or names, in this order; all lessons if no name is given.

    A closer look is named in full, or closer/04, which stands for all closer looks of lesson 04.
    """
    by_name: defaultdict[str, list[Path]] = defaultdict(list)
    for path in lessons:
        folder = "closer/" if is_closer(path) else ""
        for key in (path.name[:2], path.stem, path.name):
            by_name[f"{folder}{key}"].append(path)
    if unknown := [name for name in names if name not in by_name]:
        known = ", ".join(map(lesson_name, lessons)) or "none"
        raise BuildError(f"no lesson {unknown[0]!r}; there are: {known}")
    return [path for name in names for path in by_name[name]] or lessons


def build(root: Path, names: list[str] | None = None, jobs: int = 2) -> bool:
    """Build lessons, `jobs` notebooks at a time; print the outcomes; True if all succeeded."""
    project = read_project(root.resolve())
    lessons = find_lessons(project.root)
    targets, good = targets_of(project, choose(lessons, names or [])), True
    pool = ThreadPoolExecutor(max_workers=jobs)  # the work is done in the kernels' processes
    try:
        for future in as_completed([pool.submit(build_one, target) for target in targets]):
            try:
                print(future.result(), flush=True)
            except BuildError as error:
                good = False
                print(f"FAILED {error}", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for path, content in side_files(project, targets_of(project, lessons)).items():
        path.parent.mkdir(exist_ok=True)
        replace(path, content)
    return good


def budgets(lessons: list[Path]) -> tuple[str, list[str]]:
    """The size of each lesson as a table, and a sentence for each lesson above its limits."""
    counts = {lesson_name(path): notebook_budget.count(read_lesson(path)) for path in lessons}
    allowed = {lesson_name(path): limits(path) for path in lessons}
    excesses = [notebook_budget.excess(name, counts[name], allowed[name]) for name in counts]
    return notebook_budget.table(counts, allowed), [excess for excess in excesses if excess]


def check(root: Path) -> list[str]:
    """Where notebooks/ and README.md differ from what lessons/ would build; executes nothing."""
    project = read_project(root.resolve())
    lessons = find_lessons(project.root)
    targets, problems = targets_of(project, lessons), []
    for target in targets:
        notebook = read_notebook(target.path)
        lines = differences(inputs(target), notebook) if notebook else ["not built"]
        problems += [f"{lesson_name(target.lesson)}: {target.name}: {line}" for line in lines]
    known = {target.path for target in targets}
    for path in sorted((project.root / "notebooks").glob("**/*.ipynb")):
        if path not in known and ".ipynb_checkpoints" not in path.parts:
            name = path.relative_to(project.root).as_posix()
            problems.append(f"{path.stem}: {name} has no lesson")
    for path, content in side_files(project, targets).items():
        on_disk = path.read_bytes() if path.exists() else b""
        if on_disk.replace(b"\r\n", b"\n") != content.replace(b"\r\n", b"\n"):
            name = path.relative_to(project.root).as_posix()
            problems.append(f"{name} is not what the notebooks give")
    return problems + budgets(lessons)[1]


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 0 if there are no problems."""
    parser = argparse.ArgumentParser(description="Build notebooks/ from lessons/.")
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="only these")
    parser.add_argument("--check", action="store_true", help="compare only, execute nothing")
    parser.add_argument("--budget", action="store_true", help="count only, execute nothing")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="notebooks at a time")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args(arguments)
    problems, good = [], True
    try:
        if options.check:
            problems = check(options.root)
        elif not options.budget:
            good = build(options.root, options.lessons, options.jobs)
        if not options.check:
            lessons = choose(find_lessons(options.root), options.lessons)
            table, problems = budgets(lessons)
            print(table)
    except BuildError as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        os._exit(130)  # at once: kernels notice that this process is gone, and end
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.check and problems:
        print("make notebooks puts notebooks/ back in step with lessons/", file=sys.stderr)
    return 0 if good and not problems else 1


if __name__ == "__main__":
    sys.exit(main())
