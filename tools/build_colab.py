"""Build dist/colab: `make colab`. It has what a reader uploads to run the course without a clone.

One wheel holds course_utils, course_lab and the data with the shipped models. Beside it are the
notebooks, and the few packages that Colab lacks, for places without a package index. A notebook's
first cell finds the wheel and gives it to pip.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from notebook_source import Project, read_project

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("course_utils", "course_lab")
DATA = "course_data"  # the folder data in the wheel; course_utils.texts.data looks for it
# What `order-matters[course]` needs and Colab lacks, with what that needs: Python alone, so that
# these wheels fit every computer.
LACKING = ("anywidget", "jaxtyping", "psygnal", "torchdiffeq", "wadler-lindig")
ANY_COMPUTER = [
    "--only-binary=:all:",
    "--platform=any",
    "--abi=none",
    "--implementation=py",
]


def settings(pyproject: str, version: str) -> str:
    """The project's settings for the course's wheel, as opposed to that of course_utils alone.

    The version has a suffix, so that pip puts it in place of the other wheel.
    """
    changes = {
        f'version = "{version}"': f'version = "{version}+course"',
        'include = ["course_utils*"]': f'include = ["course_utils*", "course_lab*", "{DATA}"]',
        'course_utils = ["py.typed", "plots/*.mplstyle"]': (
            f'"*" = ["py.typed", "*.mplstyle", "*.js", "*.css"]\n{DATA} = ["*"]'
        ),
    }
    for old, new in changes.items():
        if pyproject.count(old) != 1:
            raise ValueError(f"pyproject.toml has to have one line {old}")
        pyproject = pyproject.replace(old, new)
    return pyproject


def build_wheel(project: Project, out: Path) -> Path:
    """Build the course's wheel into a folder; return its path."""
    ignored = shutil.ignore_patterns("__pycache__")
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch)
        for name in PACKAGES:
            shutil.copytree(project.root / name, source / name, ignore=ignored)
        shutil.copytree(project.root / "data", source / DATA, ignore=ignored)
        for name in ("README.md", "LICENSE", "LICENSE-text"):
            shutil.copy(project.root / name, source)
        pyproject = (project.root / "pyproject.toml").read_text(encoding="utf-8")
        (source / "pyproject.toml").write_text(
            settings(pyproject, project.version), encoding="utf-8"
        )
        pip("wheel", "--no-deps", "--wheel-dir", str(out), str(source))
    return out / project.wheel


def pip(*arguments: str) -> None:
    """Run pip, which says itself what goes wrong."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments, "--quiet"]
    subprocess.run(command, check=True)


def build(root: Path, out: Path) -> None:
    """Build the folder anew and print its size."""
    project = read_project(root)
    shutil.rmtree(out, ignore_errors=True)
    wheel = build_wheel(project, out)
    pins = ["--no-deps", "--constraint", str(root / "requirements.txt")]
    pip("download", *pins, *ANY_COMPUTER, "--dest", str(out), *LACKING)
    ignored = shutil.ignore_patterns(".*")
    shutil.copytree(root / "notebooks", out / "notebooks", ignore=ignored)
    beside = sum(path.stat().st_size for path in out.glob("*.whl")) - wheel.stat().st_size
    print(f"{wheel.relative_to(root)}: {wheel.stat().st_size / 1e6:.1f} MB")
    print(f"{len(LACKING)} packages beside it: {beside / 1e6:.1f} MB, and the notebooks")


if __name__ == "__main__":
    build(ROOT, ROOT / "dist" / "colab")
