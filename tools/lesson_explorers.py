"""The explorers of the lessons, found in their source, without a kernel: for tests, benchmarks."""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jupytext

LESSONS = Path(__file__).resolve().parents[1] / "lessons"


class Explorer(NamedTuple):
    """One call of ``explore`` in a lesson: its draw function and its keyword arguments."""

    lesson: str
    draw: Callable[..., str | None]
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.lesson[:2]} {self.draw.__name__}"


def find_explorers() -> Iterator[Explorer]:
    """Every explorer; a lesson is not run, only its imports are."""
    for path in sorted(LESSONS.rglob("[0-9][0-9]_*.py")):
        code = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
        tree = ast.parse("\n".join(code))
        names: dict[str, Any] = {}
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module([*imports], []), path.name, "exec"), names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("explore"):
                draw = eval(ast.unparse(node.args[0]), names)
                given = {str(k.arg): eval(ast.unparse(k.value), names) for k in node.keywords}
                yield Explorer(path.stem, draw, given)
