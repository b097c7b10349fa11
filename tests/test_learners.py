"""Learners' notebooks are the ones with solutions but for their stubs, which wait for an answer."""

import ast
import builtins
import importlib
import inspect
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from notebook_comparison import compare_outputs
from notebook_folds import SEALED, is_withheld
from notebook_source import SITE_KEY, find_lessons, is_closer, lesson_name, read_lesson

from course_lab.checks import Check
from course_utils import measures

ROOT = Path(__file__).resolve().parents[1]
LESSONS = find_lessons(ROOT)
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lesson_name)
UNTOLD = {"nbval-ignore-output", "volatile", "nbval-skip", SEALED}


def tags(cell):
    return set(cell.metadata.get("tags", ()))


def notebook(lesson, folder):
    return nbformat.read(ROOT / "notebooks" / folder / f"{lesson_name(lesson)}.ipynb", as_version=4)


def both(lesson):
    return notebook(lesson, "."), notebook(lesson, "solutions")


def names(source):
    """The names that a cell reads, and those that it gives a value or changes in place."""
    tree = ast.parse(source)
    loaded: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                bound.add(base.id)
    return loaded, bound - set(dir(builtins))


def independent(cells):
    """The code cells whose outputs cannot depend on what stands in a stub, and the others."""
    tainted: set[str] = set()
    free, rest = [], []
    for cell in cells:
        if cell.cell_type != "code" or cell.id.endswith("-setup"):
            continue
        loaded, bound = names(cell.source)
        if tags(cell) & {"stub", "solution"}:
            tainted |= bound
        elif loaded & tainted:
            tainted |= bound
            rest.append(cell)
        else:
            tainted -= bound
            free.append(cell)
    return free, rest


def stubs(lesson):
    """The function in each stub."""
    for cell in read_lesson(lesson):
        if "stub" in tags(cell):
            for part in ast.parse(cell.source).body:
                assert isinstance(part, ast.FunctionDef), f"{cell.id}: a stub is a function"
                yield part


def checks(lesson):
    """Stub → the name of the check that the lesson calls with it, and the check."""
    found = {}
    names_of: dict[str, Any] = {}
    for cell in read_lesson(lesson):
        if cell.cell_type != "code" or tags(cell) & {"stub", "solution"}:
            continue
        for part in ast.walk(ast.parse(cell.source)):
            if isinstance(part, ast.ImportFrom) and str(part.module).startswith(
                "course_lab.checks"
            ):
                exec(compile(ast.Module([part], []), lesson.name, "exec"), names_of)
            if (
                isinstance(part, ast.Call)
                and ast.unparse(part.func) in names_of
                and isinstance(part.args[0], ast.Name)
            ):
                found[part.args[0].id] = ast.unparse(part.func)
    return {stub: (call, names_of[call]) for stub, call in found.items()}


@every_lesson
def test_learners_cells_are_those_with_solutions_but_for_the_stubs(lesson):
    learners, solutions = (
        [
            (cell.id, cell.cell_type, cell.source, {**cell.metadata, SITE_KEY: None})
            for cell in found.cells
        ]
        for found in both(lesson)
    )
    title = [cells.pop(0)[2].splitlines()[:-1] for cells in (learners, solutions)]  # then the badge
    assert title[0] == title[1]
    instead = [cell for cell in learners if "stub" in cell[3].get("tags", ())]
    answers = [cell for cell in solutions if "solution" in cell[3].get("tags", ())]
    assert [cell for cell in learners if cell not in instead] == [
        cell for cell in solutions if cell not in answers
    ]
    assert len(instead) == len(answers)
    assert answers or is_closer(lesson)


@every_lesson
def test_every_cell_that_does_not_depend_on_a_stub_shows_the_same_in_both(lesson):
    learners, solutions = both(lesson)
    free, rest = independent(learners.cells)
    others = {cell.id: cell for cell in solutions.cells}
    told = [cell for cell in free if not tags(cell) & UNTOLD]
    for cell in told:
        assert cell.execution_count is not None, f"{cell.id} was never run"
        report = new_code_cell()
        same = compare_outputs(report, cell.outputs, others[cell.id].outputs)
        assert same, (cell.id, report.comparison_traceback)
    # What is left out is a stub's check and perhaps a picture of the answer, not half a lesson.
    assert len(rest) <= 3 * len(list(stubs(lesson)))


@every_lesson
def test_answers_wait_for_a_guess_in_the_learners_notebook_only(lesson):
    learners, solutions = ({cell.id: cell for cell in found.cells} for found in both(lesson))
    waiting = {name for name, cell in learners.items() if is_withheld(cell.get("outputs", []))}
    assert waiting == {
        name
        for name, cell in solutions.items()
        if SEALED in tags(cell) and cell.outputs and name in learners
    }
    assert not any(is_withheld(cell.get("outputs", [])) for cell in solutions.values())
    told = [
        name
        for name, cell in learners.items()
        if "Measured: " in "".join(out.get("text", "") for out in cell.get("outputs", []))
    ]
    assert told == []
    if any("predict" in cell.source for cell in learners.values()):
        assert waiting


@every_lesson
def test_no_cell_of_the_learners_failed_and_checks_say_not_attempted(lesson):
    cells = notebook(lesson, ".").cells
    failed = [
        cell.id
        for cell in cells
        if "raises-exception" not in tags(cell)
        and any(out.output_type == "error" for out in cell.get("outputs", ()))
    ]
    assert failed == []
    for stub, (call, check) in checks(lesson).items():
        (called,) = (cell for cell in cells if f"{call}({stub})" in cell.source)
        printed = "".join(out.get("text", "") for out in called.outputs)
        assert f"… {check.name}: not attempted yet." in printed.splitlines(), called.id
        assert "✓" not in printed and "✗" not in printed, called.id


@every_lesson
def test_every_stub_waits_and_its_check_says_so(lesson):
    found = list(stubs(lesson))
    made: dict[str, Any] = {}
    of = checks(lesson)
    assert set(of) == {stub.name for stub in found}
    for stub in found:
        exec(compile(ast.Module([stub], []), lesson.name, "exec"), made)
        _, check = of[stub.name]
        assert isinstance(check, Check)
        for case in check.cases:
            with pytest.raises(NotImplementedError):
                made[stub.name](*case)
        assert check.verdict(made[stub.name]).kind == "untouched"


def at_hand(lesson):
    """The formulas and measures that a lesson imports, by name."""
    for cell in read_lesson(lesson):
        if cell.cell_type != "code":
            continue
        for part in ast.walk(ast.parse(cell.source)):
            if not isinstance(part, ast.ImportFrom) or part.module is None:
                continue
            for alias in part.names:
                if part.module == "course_utils" and alias.name == "measures":
                    yield from inspect.getmembers(measures, inspect.isfunction)
                elif part.module.startswith(("course_utils.encodings", "course_utils.measures")):
                    found = getattr(importlib.import_module(part.module), alias.name)
                    if inspect.isfunction(found):
                        yield alias.name, found


@pytest.mark.thorough
@every_lesson
def test_nothing_that_a_lesson_imports_solves_its_exercises(lesson):
    functions = dict(at_hand(lesson))
    for _, check in checks(lesson).values():
        for name, function in functions.items():
            assert check.verdict(function).kind != "right", (check.name, name)


# That these tests can fail


def test_functions_at_hand_are_found_by_name_and_in_measures():
    (fourth,) = (lesson for lesson in LESSONS if lesson.stem.startswith("04"))
    assert {"t5_bucket", "deberta_scores", "entropy"} <= dict(at_hand(fourth)).keys()


def test_taint_reaches_what_is_computed_from_a_stub_and_leaves_what_is_made_anew():
    cells = [
        new_code_cell("def mine(x):\n    raise NotImplementedError", metadata={"tags": ["stub"]}),
        new_code_cell("table = [1]\nprint(table)", id="plain"),
        new_code_cell("table[0] = mine(2)", id="set"),
        new_code_cell("print(table)", id="told"),
        new_code_cell("table = 3", id="anew"),
        new_code_cell("print(table)", id="free"),
    ]
    free, rest = independent(cells)
    assert [cell.id for cell in free] == ["plain", "anew", "free"]
    assert [cell.id for cell in rest] == ["set", "told"]


def test_another_word_in_an_output_is_noticed():
    one, two = ([new_output("stream", text=text)] for text in ("gap 0.50\n", "no gap\n"))
    assert compare_outputs(new_code_cell(), one, one)
    assert not compare_outputs(new_code_cell(), one, two)
