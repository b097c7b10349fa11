"""How long each explorer takes from a slider's new value to the new picture, in milliseconds.

Every control of every explorer of the lessons is moved through its range. Goal: a median of at
most 100 ms on two cores.
"""

from __future__ import annotations

import ast
import statistics
import time
from pathlib import Path

import jupytext

from course_utils import plots, widgets

LESSONS = Path(__file__).parent.parent / "lessons"
MOVES = 20  # of each control


def calls():
    """The (name, arguments) of each ``explore(…)`` in the lessons, evaluated."""
    for path in sorted(LESSONS.glob("[0-9][0-9]_*.py")):
        code = [cell.source for cell in jupytext.read(path).cells if cell.cell_type == "code"]
        tree = ast.parse("\n".join(code))
        names: dict = {}
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, []), path.name, "exec"), names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("explore"):
                draw = eval(ast.unparse(node.args[0]), names)
                given = {k.arg: eval(ast.unparse(k.value), names) for k in node.keywords}
                yield f"{path.stem[:2]} {draw.__name__}", draw, given


def values(control):
    """Values to move a control through, from its range or its choices."""
    if hasattr(control, "options"):
        return [control.options[i % len(control.options)] for i in range(MOVES)]
    if not hasattr(control, "min"):
        return [bool(i % 2) for i in range(MOVES)]
    low, high = control.min, control.max
    if hasattr(control, "base"):
        return [control.base ** (low + (high - low) * i / MOVES) for i in range(MOVES)]
    kind = type(control.value)
    return [kind(low + (high - low) * i / MOVES) for i in range(MOVES)]


def milliseconds(control, value, image):
    """Time of one move, None if it changed no picture."""
    before, start = image.value, time.perf_counter()
    control.value = value
    spent = 1000 * (time.perf_counter() - start)
    return spent if image.value is not before else None


def main() -> None:
    plots.use_style()
    print(f"{'explorer':20} {'moves':>5} {'median':>7} {'90 %':>7} {'largest':>8}   ms")
    for name, draw, given in calls():
        box = widgets.explorer(draw, **given)
        *controls, image, _ = box.children
        found = []
        for control in controls:
            start = control.value
            found += [milliseconds(control, value, image) for value in values(control)]
            control.value = start
        times = sorted(spent for spent in found if spent is not None)
        nine = times[int(0.9 * len(times))]
        middle = statistics.median(times)
        print(f"{name:20} {len(times):5} {middle:7.0f} {nine:7.0f} {times[-1]:8.0f}")


if __name__ == "__main__":
    main()
