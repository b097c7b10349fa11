"""What a reader does not see at first: folded plumbing, and answers that wait for a guess.

Each front end has its own way to fold a cell's source: JupyterLab, Colab and the site get theirs.
"""

import ast
from collections.abc import Iterable, Sequence

from nbformat import NotebookNode
from nbformat.v4 import new_output

PLUMBING = "plumbing"  # an author's tag: draws, describes or judges; nothing that a learner needs
SEALED = "sealed"  # the build's tag: between a prediction and its answer
HIDE_SOURCE, HIDE_OUTPUT = "hide-input", "hide-output"  # the site's tags
ASKS = {"predict", "predict_number", "Myths"}
TELLS = {"reveal", "settle", "leave_open", "in_a_real_model", "table"}
WAITING = "Guess first, then run this cell."


def fold(cell: NotebookNode) -> None:
    """Hide the source of a code cell; a comment in its first line is what is seen instead."""
    first, _, rest = cell.source.partition("\n")
    title = first.removeprefix("#").strip() if first.startswith("# ") else ""
    body = rest if title else cell.source
    cell.source = f"#@title {title or 'Code behind this output'}\n{body}"
    cell.metadata.update(jupyter={"source_hidden": True}, cellView="form")
    _tag(cell, HIDE_SOURCE)


def seal(cells: Iterable[NotebookNode]) -> None:
    """Tag the code cells whose outputs give away what a learner has just been asked."""
    code = [cell for cell in cells if cell.cell_type == "code"]
    for place in sealed([cell.source for cell in code]):
        _tag(code[place], SEALED)
        _tag(code[place], HIDE_OUTPUT)


def sealed(sources: Sequence[str]) -> set[int]:
    """Which of these cells stand after a question up to and including what answers it.

    ``guess = predict(…)`` asks and ``guess.reveal(…)`` answers; so do ``myths = Myths(…)`` and all
    calls of ``myths.settle``, ``leave_open``, ``in_a_real_model`` and ``table``.
    """
    asked: dict[str, int] = {}  # variable → the cell that asks
    found: set[int] = set()
    for place, source in enumerate(sources):
        tree = ast.parse(source)
        for name in _told(tree) & asked.keys():
            found |= set(range(asked[name] + 1, place + 1))
        asked |= dict.fromkeys(_asked(tree), place)
    return found


def withhold(cell: NotebookNode) -> None:
    """Leave a note in place of a sealed cell's outputs."""
    if cell.cell_type == "code" and SEALED in cell.metadata.get("tags", []) and cell.outputs:
        note = {"text/html": f"<em>{WAITING}</em>", "text/plain": WAITING}
        cell.outputs = [new_output("display_data", note)]


def is_withheld(outputs: Sequence[NotebookNode]) -> bool:
    """Whether these are not outputs of a run but the note of :func:`withhold`."""
    return [output.get("data", {}).get("text/plain") for output in outputs] == [WAITING]


def _told(tree: ast.AST) -> set[str]:
    """The variables on which a cell calls what answers."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return {
        call.value.id
        for call in calls
        if isinstance(call, ast.Attribute)
        and call.attr in TELLS
        and isinstance(call.value, ast.Name)
    }


def _asked(tree: ast.AST) -> list[str]:
    """The variables to which a cell gives a question."""
    return [
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func).rpartition(".")[2] in ASKS
        for target in node.targets
        if isinstance(target, ast.Name)
    ]


def _tag(cell: NotebookNode, tag: str) -> None:
    cell.metadata["tags"] = [*cell.metadata.get("tags", []), tag]
