"""Two encodings are the same in lesson 11 and in the experiment that trains them."""

import ast
from pathlib import Path

import pytest
import torch

from course_experiments import peek

ROOT = Path(__file__).resolve().parents[1]


def methods(path: str, name: str) -> dict[str, str]:
    """The methods of a class in a file, without docstrings."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    (kind,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    defined = [node for node in kind.body if isinstance(node, ast.FunctionDef)]
    for method in defined:
        method.body = [
            part
            for part in method.body
            if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant))
        ]
    return {method.name: ast.unparse(method) for method in defined}


@pytest.mark.parametrize("name", ["Peek", "Roots"])
def test_the_lesson_shows_the_class_that_was_trained(name):
    lesson, experiment = "lessons/11_capstone.py", "course_experiments/peek.py"
    assert methods(lesson, name) == methods(experiment, name)


def test_peek_adds_the_vector_of_the_next_byte():
    encoding = peek.Peek(4, 2)
    torch.nn.init.normal_(encoding.vectors)
    ids = torch.tensor([[3, 7, 1]])
    added = encoding.embed(torch.zeros(1, 3, 4), torch.arange(3), ids)
    torch.testing.assert_close(added[0, 0], encoding.vectors[7])
