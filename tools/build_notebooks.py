"""Build notebooks/ from lessons/: `python tools/build_notebooks.py [--help]`.

Each lesson becomes a learners' notebook and one with solutions, both run from a fresh kernel. A
notebook is built again when its lesson, course_utils, data or this build have changed since.
"""

import argparse
import base64
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import claims_table
import lesson_models
import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal, CellExecutionError
from nbformat import NotebookNode
from notebook_outputs import clean, complaint, oversize, plain, written
from notebook_source import (
    OWN_KEY,
    VOLATILE,
    BuildError,
    Project,
    Target,
    badge,
    differences,
    find_lessons,
    inputs,
    read_project,
)

CELL_TIMEOUT = 300  # seconds
BADGES = re.compile(r"(?<=<!-- badges:start -->\n).*?(?=<!-- badges:end -->)", re.DOTALL)


class ThisPython(KernelSpecManager):
    """Starts the interpreter that runs the build, whatever kernels the machine has registered."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The same kernel for every name."""
        return KernelSpec(**get_kernel_dict())


@dataclass(frozen=True)
class Result:
    """What became of one notebook."""

    name: str
    built: bool
    seconds: float
    size: int

    def __str__(self) -> str:
        state = "built" if self.built else "unchanged"
        return f"{self.name:44} {state:9} {self.seconds:6.1f} s {self.size / 1000:6.0f} kB"


def kernel_environment(root: Path, scratch: str) -> dict[str, str]:
    """This process's environment without what a user's own settings could change in outputs."""
    environment = {
        k: v for k, v in os.environ.items() if k not in ("MPLBACKEND", "COLUMNS", "LINES")
    }
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


def run_cells(notebook: NotebookNode, path: Path, environment: dict[str, str]) -> None:
    """Run the cells in place, in a fresh kernel in the folder of ``path``, and end the kernel.

    Raises:
        BuildError: naming the cell, when one fails or takes too long.
    """
    name = f"{path.parent.name}/{path.name}"
    last: list[NotebookNode] = [notebook.cells[0]]
    client = NotebookClient(
        notebook,
        km=AsyncKernelManager(kernel_spec_manager=ThisPython()),
        timeout=CELL_TIMEOUT,
        record_timing=False,
        extra_arguments=["--log-level=ERROR"],  # not a line a kernel about its transport
        store_widget_state=False,
        shutdown_kernel="immediate",  # a graceful end sometimes waits for seconds
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_execute=lambda cell, cell_index: last.append(cell),
    )
    try:
        client.execute(cleanup_kc=True, env=environment)
    except CellExecutionError as error:
        lines = [line for line in plain(error.traceback).splitlines() if line.strip()]
        message = "\n".join([f"{name}, cell {last[-1].id} failed:", *lines[-10:]])
        raise BuildError(message) from None
    except (CellControlSignal, RuntimeError) as error:  # too slow, or the kernel died
        raise BuildError(f"{name}, cell {last[-1].id}: {error}") from None


def build_one(target: Target, force: bool) -> Result:
    """Build one notebook when it is not up to date; on failure the former file stays."""
    start = time.perf_counter()
    notebook = inputs(target)
    if not force and is_current(target, notebook):
        return Result(target.name, False, time.perf_counter() - start, target.path.stat().st_size)
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
    content = written(notebook)
    if problem := oversize(notebook, len(content)):
        raise BuildError(f"{target.name} is {problem}")
    replace(target.path, content)
    return Result(target.name, True, time.perf_counter() - start, len(content))


def is_current(target: Target, wanted: NotebookNode) -> bool:
    """Whether the notebook on disk was built from exactly what is there now."""
    found = read_notebook(target)
    if found is None or differences(wanted, found):
        return False
    return found.metadata.get(OWN_KEY) == wanted.metadata[OWN_KEY]


def read_notebook(target: Target) -> NotebookNode | None:
    """The notebook on disk, or None when there is none or it cannot be read."""
    try:
        return nbformat.read(target.path, as_version=4)
    except (FileNotFoundError, nbformat.reader.NotJSONError):
        return None


def replace(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_bytes(content)
    os.replace(partial, path)


def targets_of(project: Project, lessons: Iterable[Path]) -> list[Target]:
    """Both notebooks of each lesson."""
    return [Target(project, lesson, solutions) for lesson in lessons for solutions in (False, True)]


def choose(lessons: list[Path], wanted: list[str]) -> list[Path]:
    """The lessons named by number or by name, in the order asked for; all when none is named."""
    by_name = {key: path for path in lessons for key in (path.name[:2], path.stem, path.name)}
    if unknown := [name for name in wanted if name not in by_name]:
        known = ", ".join(path.stem for path in lessons) or "none"
        raise BuildError(f"no lesson {unknown[0]!r}; there are: {known}")
    return [by_name[name] for name in wanted] or lessons


def badges(project: Project, lessons: list[Path]) -> str:
    """README's badges: Colab and Binder on the first lesson, the tests, the two licences."""
    first = f"notebooks/{lessons[0].stem}.ipynb" if lessons else ""
    binder = f"https://mybinder.org/v2/gh/{project.slug}/{project.tag}?urlpath=lab/tree/{first}"
    workflow = f"{project.address}/actions/workflows/test.yml"
    shield = "https://img.shields.io/badge"
    licence = f"{project.address}/blob/{project.tag}/LICENSE"  # and LICENSE-text
    lines = [
        badge(project, first),
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})",
        f"[![Tests]({workflow}/badge.svg)]({workflow})",
        f"[![Code: MIT]({shield}/code-MIT-blue.svg)]({licence})",
        f"[![Text: CC BY 4.0]({shield}/text-CC%20BY%204.0-blue.svg)]({licence}-text)",
    ]
    return "\n".join(lines) + "\n"


def ledger(project: Project, lessons: list[Path]) -> bytes:
    """data/claims.csv: what the notebooks with solutions settle."""
    rows: list[dict[str, str]] = []
    try:
        for target in targets_of(project, lessons):
            notebook = read_notebook(target) if target.solutions else None
            rows += claims_table.settled(notebook, target.lesson.stem) if notebook else []
        return claims_table.table(rows)
    except ValueError as error:
        raise BuildError(f"data/claims.csv: {error}") from error


def side_files(project: Project, lessons: list[Path]) -> dict[Path, bytes]:
    """README.md with its badges, data/claims.csv and docs/picture.png, as they should be now."""
    files: dict[Path, bytes] = {}
    if (project.root / "data").is_dir():
        files[project.root / "data" / "claims.csv"] = ledger(project, lessons)
    readme = project.root / "README.md"
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        if not BADGES.search(text):
            raise BuildError("README.md has no lines <!-- badges:start --> and <!-- badges:end -->")
        files[readme] = BADGES.sub(lambda _: badges(project, lessons), text).encode()
    for target in targets_of(project, lessons):
        notebook = None if target.solutions else read_notebook(target)
        for cell in notebook.cells if notebook else []:
            pictures = [
                out.data["image/png"]
                for out in cell.get("outputs", [])
                if "image/png" in out.get("data", {})
            ]
            if pictures and "readme" in cell.metadata.get("tags", []):
                files[project.root / "docs" / "picture.png"] = base64.b64decode(pictures[0])
                return files
    return files


def build(root: Path, wanted: list[str] | None = None, force: bool = False, jobs: int = 2) -> bool:
    """Build the wanted lessons, `jobs` notebooks at a time; say how it went; True when all did."""
    project = read_project(root.resolve())
    lessons = find_lessons(project.root)
    targets, good = targets_of(project, choose(lessons, wanted or [])), True
    pool = ThreadPoolExecutor(max_workers=jobs)  # the work is done in the kernels' processes
    try:
        for future in as_completed([pool.submit(build_one, target, force) for target in targets]):
            try:
                print(future.result(), flush=True)
            except BuildError as error:
                good = False
                print(f"FAILED {error}", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    for path, content in side_files(project, lessons).items():
        path.parent.mkdir(exist_ok=True)
        replace(path, content)
    return good


def check(root: Path) -> list[str]:
    """What in notebooks/ and README.md is not what lessons/ would build; nothing is executed."""
    project = read_project(root.resolve())
    lessons = find_lessons(project.root)
    targets, problems = targets_of(project, lessons), []
    for target in targets:
        found = read_notebook(target)
        lines = differences(inputs(target), found) if found else ["not built"]
        problems += [f"{target.lesson.stem}: {target.name}: {line}" for line in lines]
    known = {target.path for target in targets}
    for path in sorted((project.root / "notebooks").glob("**/*.ipynb")):
        if path not in known and ".ipynb_checkpoints" not in path.parts:
            problems.append(
                f"{path.stem}: {path.relative_to(project.root).as_posix()} has no lesson"
            )
    for path, content in side_files(project, lessons).items():
        if not path.exists() or path.read_bytes().replace(b"\r\n", b"\n") != content.replace(
            b"\r\n", b"\n"
        ):
            problems.append(
                f"{path.relative_to(project.root).as_posix()} is not what the notebooks give"
            )
    return problems


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 0 when all is well."""
    parser = argparse.ArgumentParser(description="Build notebooks/ from lessons/.")
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="only these")
    parser.add_argument("--force", action="store_true", help="build what is up to date too")
    parser.add_argument("--check", action="store_true", help="compare only, execute nothing")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="notebooks at a time")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args(arguments)
    try:
        if not options.check:
            return 0 if build(options.root, options.lessons, options.force, options.jobs) else 1
        problems = check(options.root)
    except BuildError as error:
        problems = [str(error)]
    except KeyboardInterrupt:
        os._exit(130)  # at once: kernels notice that this process is gone, and end
    for problem in problems:
        print(problem, file=sys.stderr)
    if options.check and problems:
        print("make notebooks puts notebooks/ back in step with lessons/", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
