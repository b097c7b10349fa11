"""Folded plumbing, and outputs withheld until the learner has guessed.

JupyterLab and Colab each have their own way to fold a cell's source; the site goes by the tags.
"""

import ast
from collections.abc import Iterable, Sequence
from functools import cache

from nbformat import NotebookNode
from nbformat.v4 import new_output

PLUMBING = "plumbing"  # an author's tag: draws, describes or judges; nothing that a learner needs
SEALED = "sealed"  # the build's tag: between a prediction and its answer
QUESTIONS = {"predict", "predict_number", "Myths"}
ANSWERS = {"reveal", "settle", "leave_open", "in_a_real_model"}
TITLE = "#@title "  # how Colab marks the title of a folded cell
OF_A_QUESTION = "Code of the question"
WAITING = "Guess first, then run this cell."
LOOK = "**Look"  # how a text starts that says what was to be seen
NEW_SUBJECT = ("#", "**Exercise")  # how a paragraph starts that no longer says it
COVER = "<details>\n<summary>Look, once you have guessed</summary>\n\n{}\n\n</details>"


def fold(cell: NotebookNode, untitled: str = "Code behind this output") -> None:
    """Hide the source of a code cell; a comment in its first line becomes the visible title."""
    first, _, rest = cell.source.partition("\n")
    title = first.removeprefix("#").strip() if first.startswith("# ") else ""
    body = rest if title else cell.source
    cell.source = f"{TITLE}{title or untitled}\n{body}"
    cell.metadata.update(jupyter={"source_hidden": True}, cellView="form")


def only_asks(cell: NotebookNode) -> bool:
    """Whether a cell does nothing but ask: its box shows all that a learner needs of it."""
    if cell.cell_type != "code" or not _questions(cell.source):
        return False
    return all(
        isinstance(statement, ast.Import | ast.ImportFrom) or _asks(statement) or _names(statement)
        for statement in ast.parse(cell.source).body
    )


def _names(statement: ast.stmt) -> bool:
    """Whether a statement gives a name to something written out, such as a list of answers."""
    if not isinstance(statement, ast.Assign):
        return False
    try:
        ast.literal_eval(statement.value)
    except ValueError:
        return False
    return True


def seal(cells: Iterable[NotebookNode]) -> None:
    """Tag the cells that give away the answer to an open question."""
    cells = list(cells)
    for index in sealed(cells):
        cell = cells[index]
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), SEALED]


def sealed(cells: Sequence[NotebookNode]) -> set[int]:
    """The indices of the cells that give away the answer to a question before them.

    ``guess = predict(…)`` asks and ``guess.reveal(…)`` answers; so do ``myths = Myths(…)`` and all
    calls of ``myths.settle``, ``leave_open`` and ``in_a_real_model``. All cells in between are
    sealed. So are the pictures and the "Look" that follow a reveal at once.
    """
    questions: dict[str, int] = {}  # variable → index of the cell that asks
    waiting: set[int] = set()
    before_reveals = False  # whether the cell before reveals, or draws what was revealed
    for index, cell in enumerate(cells):
        is_code = cell.cell_type == "code"
        reveals, asks = False, _questions(cell.source) if is_code else []
        for call in called(cell.source) if is_code else ():
            name, _, method = call.rpartition(".")
            if method in ANSWERS and name in questions:
                waiting |= set(range(questions[name] + 1, index + 1))
                reveals = reveals or method == "reveal"
        draws = before_reveals and not asks and PLUMBING in cell.metadata.get("tags", [])
        if draws or (before_reveals and is_look(cell)):
            waiting.add(index)
        before_reveals = reveals or draws
        questions |= dict.fromkeys(asks, index)
    return waiting


def is_look(cell: NotebookNode) -> bool:
    """Whether a cell is a text that says what was to be seen."""
    return cell.cell_type == "markdown" and cell.source.startswith(LOOK)


def cover(cell: NotebookNode) -> None:
    """Fold a sealed "Look", so that it is read after the guess."""
    if is_look(cell) and SEALED in cell.metadata.get("tags", []):
        look, rest = split_look(cell.source)
        cell.source = "\n\n".join([COVER.format(look), *([rest] if rest else [])])


def split_look(source: str) -> tuple[str, str]:
    """Part a "Look" from the text after it.

    It goes up to the next heading or exercise, since what it leads to gives it away too. Where the
    cell has none, it is the first paragraph, and a formula with the paragraph that goes on from it.
    """
    paragraphs = source.split("\n\n")
    end = 1
    while end < len(paragraphs) and paragraphs[end].startswith("$$"):
        end += 2
    for number, paragraph in enumerate(paragraphs):
        if paragraph.startswith(NEW_SUBJECT):
            end = number
            break
    return "\n\n".join(paragraphs[:end]), "\n\n".join(paragraphs[end:])


def withhold(cell: NotebookNode) -> None:
    """Replace the outputs of a sealed cell by a note."""
    if cell.cell_type == "code" and SEALED in cell.metadata.get("tags", []) and cell.outputs:
        note = {"text/html": f"<em>{WAITING}</em>", "text/plain": WAITING}
        cell.outputs = [new_output("display_data", note)]


def is_withheld(outputs: Sequence[NotebookNode]) -> bool:
    """Whether the outputs are the note of :func:`withhold`."""
    return [output.get("data", {}).get("text/plain") for output in outputs] == [WAITING]


@cache
def called(source: str) -> list[str]:
    """The functions that a cell calls, once for each call."""
    nodes = ast.walk(ast.parse(source))
    return [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]


def _asks(node: ast.AST) -> bool:
    """Whether a statement assigns a question to a variable."""
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] in QUESTIONS
    )


def _questions(source: str) -> list[str]:
    """The variables to which a cell assigns a question."""
    return [
        target.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Assign) and _asks(node)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
