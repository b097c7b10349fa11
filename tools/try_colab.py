"""Run lessons as on Colab, after `make colab`: `python tools/try_colab.py [00 07 closer/05]`.

A new environment gets the versions of .github/colab.txt, a folder the wheels of dist/colab, and
there each lesson runs with its solutions, from first cell to last. There is no clone around it, and
no package index in reach. PyTorch alone is the one that is installed here, since Colab's takes
gigabytes; and so is Python.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import nbformat
from build_colab import LACKING
from build_notebooks import choose, kernel_client
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from nbclient.exceptions import CellExecutionError
from notebook_source import Target, find_lessons, read_project
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PINS = ROOT / ".github" / "colab.txt"
LESSONS = ["00", "02", "05", "07"]
LAST_CELL = "import course_lab; print(course_lab.__file__)"
OURS = ("PYTHON", "PIP_", "UV_", "VIRTUAL_ENV", "MPLBACKEND")  # settings that Colab has not


def entries_of(name: str) -> Iterator[Path]:
    """The files and folders in site-packages that belong to a distribution."""
    parts = distribution(name)
    tops = {file.parts[0] for file in parts.files or []} - {"..", "__pycache__"}
    yield from (Path(str(parts.locate_file(top))) for top in tops)


def present() -> list[str]:
    """What `order-matters[course]` needs and Colab has."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = table["optional-dependencies"]
    lines = [*table["dependencies"], *extras["plots"], *extras["floater"], *extras["course"]]
    return [line for line in lines if Requirement(line).name not in ("order-matters", *LACKING)]


class Colab(KernelSpecManager):
    """An environment with Colab's packages, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.environment, self.content = folder / "environment", folder / "content"
        self.python = str(self.environment / "bin" / "python")
        venv.create(self.environment, symlinks=True, with_pip=True)
        (site,) = self.environment.glob("lib/python*/site-packages")
        for entry in entries_of("torch"):
            (site / entry.name).symlink_to(entry)
        pins = folder / "pins.txt"
        pins.write_text(re.sub("(?m)^torch==.*$", "", PINS.read_text(encoding="utf-8")))
        self.pip("install", "--constraint", str(pins), "ipykernel", *present())

    def pip(self, *arguments: str) -> None:
        """Run the environment's pip."""
        command = [self.python, "-m", "pip", "--disable-pip-version-check", *arguments, "--quiet"]
        subprocess.run(command, check=True)

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The environment's kernel, whatever its name."""
        launch = [self.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=launch, language="python", display_name="Colab")

    def run(self, notebook: Path, files: Path) -> tuple[float, float]:
        """Run a notebook beside a folder's wheels, with the course not yet installed.

        Returns:
            The seconds of the first cell, and those of all.

        Raises:
            CellExecutionError: of a cell that fails.
            RuntimeError: if the course came from anywhere but the wheel.
        """
        self.pip("uninstall", "--yes", "order-matters", *LACKING)
        shutil.rmtree(self.content, ignore_errors=True)
        self.content.mkdir()
        for wheel in files.glob("*.whl"):
            shutil.copy(wheel, self.content)
        cells = nbformat.read(notebook, as_version=4)
        cells.cells.append(nbformat.v4.new_code_cell(LAST_CELL))
        ends: list[float] = []
        client = kernel_client(
            cells,
            self.content,
            km=AsyncKernelManager(kernel_spec_manager=self),
            on_cell_executed=lambda **executed: ends.append(time.perf_counter()),
        )
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        settings = {"PIP_NO_INDEX": "1", "IPYTHONDIR": str(self.environment / "ipython")}
        start = time.perf_counter()
        client.execute(cleanup_kc=True, env=kept | settings)
        place = cells.cells[-1].outputs[0].text
        if not place.startswith(str(self.environment)):
            raise RuntimeError(f"the course was imported from {place}")
        return ends[0] - start, ends[-1] - start


def main() -> int:
    """The command line; the exit status is 0 if every lesson ran."""
    parser = argparse.ArgumentParser(description="Run lessons as on Colab.")
    parser.add_argument("lessons", nargs="*", default=LESSONS, metavar="NN")
    options = parser.parse_args()
    project, files = read_project(ROOT), ROOT / "dist" / "colab"
    if not (files / project.wheel).is_file():
        sys.exit("dist/colab has no wheel of this version: make colab")
    with tempfile.TemporaryDirectory() as folder:
        colab = Colab(Path(folder))
        for lesson in choose(find_lessons(ROOT), options.lessons):
            target = Target(project, lesson, solutions=True)
            try:
                first, all_cells = colab.run(target.path, files)
            except (CellExecutionError, RuntimeError) as error:
                print(f"{target.name} FAILED: {error}", file=sys.stderr)
                return 1
            print(f"{target.name:44} first cell {first:5.1f} s, all {all_cells:6.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
