"""Whether something that stands in a lesson solves one of its exercises when it is pasted.

    python tools/pasting.py 02 05               # prints what does, lesson by lesson
    python tools/pasting.py 02 --one-in 4       # a quarter of its cells, and all its functions

An exercise should need an idea that its lesson does not print. This runs the lesson as a learner
has it, with stubs, and then offers to each check what a learner can copy without one:

- every function at hand: those of the lesson, those imported, the methods of its objects, the
  members of the package's modules that it imports, and what it calls by a longer name
  (``torch.special.entr``), given the exercise's arguments in any order, by name, with the lesson's
  own values for those that are missing, and with its switches turned;
- every expression of every cell, the names in it exchanged for the exercise's arguments;
- every cell as a body, and every two that follow each other, returning any name that they assign.

Of a result its parts, its length, the first and last row, its negative and its transpose count
too. What passes all cases is written out as the function that a learner would paste, and checked
again as such, with the exercise's rules.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import inspect
import io
import itertools
import json
import linecache
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import matplotlib  # noqa: E402
import matplotlib.pyplot as plt  # noqa: E402
import torch  # noqa: E402
from notebook_source import find_lessons, lesson_name, read_lesson  # noqa: E402
from pasting_cells import needed, run, sampled  # noqa: E402
from pasting_texts import (  # noqa: E402
    Exercise,
    Namespace,
    Text,
    assigned,
    bodies,
    calls_of,
    exchanges,
    expressions,
    functions,
    kind,
    parsed,
)

from course_utils import plots  # noqa: E402
from course_utils.checks import Check  # noqa: E402
from course_utils.checks.calls import OutOfTime, call, within  # noqa: E402
from course_utils.checks.compare import difference  # noqa: E402

SECONDS = 0.3  # for all ways of one text: what trains a model is no answer
TOLD = 12  # passing answers for each exercise

# The exercises of a lesson


def exercises(cells: Sequence[Any], space: Namespace) -> Iterator[Exercise]:
    """The lesson's exercises: calls of a check with a function of the notebook."""
    for node in (node for cell in cells for node in ast.walk(parsed(cell))):
        if not (isinstance(node, ast.Call) and len(node.args) == 1):
            continue
        check, argument = space.get(ast.unparse(node.func)), node.args[0]
        if isinstance(check, Check) and isinstance(argument, ast.Name):
            names = inspect.signature(space[argument.id]).parameters
            yield Exercise(argument.id, tuple(names), check)


# Whether it passes


def parts_of(value: Any, want: Any) -> Iterator[tuple[str, Any]]:
    """A result and its obvious parts, each with the text that takes it, where their shapes fit."""
    yield "{}", value
    size = getattr(want, "shape", ())
    if isinstance(value, (tuple, list)) and len(value) <= 8:
        for place, one in enumerate(value):
            yield f"{{}}[{place}]", one
    if isinstance(value, (tuple, list, range, dict)) and isinstance(want, int):
        yield "len({})", len(value)
    elif isinstance(value, torch.Tensor):
        if value.shape == size and value.dtype != torch.bool:
            yield "{} * -1", value * -1
        if value.ndim and len(value) and value.shape[1:] == size:
            yield from ((f"{{}}[{place}]", value[place]) for place in (0, -1))
        if value.ndim > 1 and value.mT.shape == size:
            yield "{}.mT", value.mT
    elif isinstance(value, float) and math.isfinite(value):
        yield "{} // 1", value // 1


class Trial:
    """An exercise, and what has been found for it."""

    def __init__(self, exercise: Exercise, space: Namespace, slow: set[str]) -> None:
        self.exercise, self.space, self.slow = exercise, space, slow
        check = exercise.check
        self.right = [call(check.reference, case, None).answer for case in check.cases]
        self.passing: dict[str, str] = {}
        self.judged: dict[str, str] = {}
        self.tried = 0

    def problem(self, place: int, value: Any) -> str:
        """What is wrong with a value as the answer to a case."""
        check, want = self.exercise.check, self.right[place]
        if check.judge is None:
            return difference(value, want, check.tolerance)
        if kind(value) != kind(want) or getattr(value, "shape", 0) != getattr(want, "shape", 0):
            return "of another kind"
        key = f"{place} {value.tolist() if isinstance(value, torch.Tensor) else value}"
        if key not in self.judged:
            self.judged[key] = check.judge(value, *check.cases[place])
        return self.judged[key]

    def offer(self, key: str, tries: Sequence[tuple[Text, dict[str, str]]]) -> None:
        """Try texts, each in one way, for as long as all that share a key may take."""
        if key in self.slow:
            return

        def all_of_them() -> None:
            for text, way in tries:
                self.tried += 1
                first = self.values(text, way, 0)
                for name in filter(first.__contains__, text.offered):
                    for part, value in parts_of(first[name], self.right[0]):
                        if not self.problem(0, value):
                            self.follow(text, way, name, part)

        for limit in (SECONDS, 10 * SECONDS):
            begin = time.thread_time()
            try:
                return within(limit, all_of_them)
            except OutOfTime:
                if time.thread_time() - begin > SECONDS / 2:  # it was not the machine
                    break
        self.slow.add(key)

    def values(self, text: Text, way: dict[str, str], place: int) -> Namespace:
        """The names after a text has run with a case's arguments, as far as it runs."""
        case = copy.deepcopy(self.exercise.check.cases[place])
        given = dict(zip(self.exercise.arguments, case, strict=False))
        own = {**self.space, **given, **{name: given[to] for name, to in way.items()}}
        for names, code in text.compiled:
            if not (names and names <= {*way, *given}):  # a learner drops `n = 8`
                with contextlib.suppress(Exception):
                    exec(code, own)
        return own

    def follow(self, text: Text, way: dict[str, str], name: str, part: str) -> None:
        """Look at the other cases of what passes the first, and then let the check judge."""
        for place in range(1, len(self.right)):
            value = self.values(text, way, place).get(name)
            found = dict(parts_of(value, self.right[place]))
            if part not in found or self.problem(place, found[part]):
                return
        source = written(text, way, part.format(name), self.exercise)
        if source not in self.passing and len(self.passing) < TOLD:
            own = dict(self.space)
            file = f"<pasted {len(linecache.cache)}>"
            linecache.cache[file] = (len(source), None, source.splitlines(True), file)
            exec(compile(source, file, "exec"), own)
            self.passing[source] = self.exercise.check.verdict(own[self.exercise.name]).kind


def written(text: Text, way: dict[str, str], offered: str, exercise: Exercise) -> str:
    """The function that a learner would paste."""

    class Exchanged(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.Name:  # noqa: N802
            return ast.Name(way.get(node.id, node.id), node.ctx)

    given = {*way, *exercise.arguments}
    body = [
        ast.unparse(Exchanged().visit(copy.deepcopy(part)))
        for part in text.statements
        if not (assigned(part) and set(assigned(part)) <= given)
    ]
    lines = [f"    {line}" for part in body for line in part.splitlines()]
    head = f"def {exercise.name}({', '.join(exercise.arguments)}):"
    return "\n".join([head, *lines, f"    return {offered}"]) + "\n"


def pasted(lesson: Path, one_in: int = 1) -> dict[str, Any]:
    """For each exercise: what was tried, and what passes, with the check's word.

    All functions are tried, and one in so many cells, with the expressions in it.
    """
    cells, found = read_lesson(lesson), {}
    begin = time.perf_counter()
    taken = {cell.id for cell in cells if sampled(cell.source, one_in)}
    space = run(cells) if one_in == 1 else run(cells, needed(cells, taken))
    ran = time.perf_counter() - begin
    slow: set[str] = set()
    for exercise in list(exercises(cells, space)):
        begin = time.perf_counter()
        trial = Trial(exercise, space, slow)
        own = [cell for cell in cells if not own_cell(cell, exercise.name, space)]
        for name, function in functions(space, own).items():
            calls = [Text.of(one) for one in calls_of(name, function, exercise, space)]
            trial.offer(name, [(text, {}) for text in calls])
        printed = [cell for cell in own if cell.id in taken]
        for text in itertools.chain(expressions(printed), bodies(printed)):
            key = "\n".join(map(ast.unparse, text.statements))
            trial.offer(key, [(text, way) for way in exchanges(text, exercise, space)])
        found[exercise.name] = {
            "right": [text for text, sort in trial.passing.items() if sort == "right"],
            "ruled out": sum(sort == "rule" for sort in trial.passing.values()),
            "tried": trial.tried,
            "seconds": round(time.perf_counter() - begin, 1),
        }
    return {"run": round(ran, 1), "exercises": found, "too slow": len(slow)}


def own_cell(cell: Any, name: str, space: Namespace) -> bool:
    """Whether a cell holds an exercise's stub or its solution, or calls a check."""
    return any(
        (isinstance(node, ast.FunctionDef) and node.name == name)
        or (isinstance(node, ast.Name) and isinstance(space.get(node.id), Check))
        for node in ast.walk(parsed(cell))
    )


def main(given: Sequence[str] | None = None) -> int:
    """Print what was found in these lessons, as JSON; 1 if anything passes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("lessons", nargs="*", help="numbers or names; all without")
    parser.add_argument("--one-in", type=int, default=1, metavar="N", help="try one cell in N")
    options = parser.parse_args(given)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    matplotlib.use("Agg")
    plots.show = lambda *_, **__: plt.close("all")  # pictures cost more than most answers
    names = tuple(options.lessons) or ("",)
    chosen = [one for one in find_lessons(ROOT) if lesson_name(one).startswith(names)]
    passing = False
    for lesson in chosen:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            tempfile.TemporaryDirectory() as folder,
            contextlib.chdir(folder),
        ):
            found = pasted(lesson, options.one_in)
        print(json.dumps({lesson_name(lesson): found}, indent=1, ensure_ascii=False))
        passing |= any(one["right"] for one in found["exercises"].values())
    return int(passing)


if __name__ == "__main__":
    sys.exit(main())
