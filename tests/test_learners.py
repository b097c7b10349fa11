"""Learners' notebooks equal the ones with solutions but for their stubs, which wait for answers."""

import ast
import builtins
import importlib
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_output
from notebook_comparison import compare_outputs
from notebook_folds import SEALED, is_withheld
from notebook_source import find_lessons, is_closer, lesson_name, read_lesson

from course_lab.checks import Check

ROOT = Path(__file__).resolve().parents[1]
LESSONS = find_lessons(ROOT)
every_lesson = pytest.mark.parametrize("lesson", LESSONS, ids=lesson_name)
NOT_COMPARED = {"nbval-ignore-output", "volatile", SEALED}


def tags(cell):
    return set(cell.metadata.get("tags", ()))


def notebook(lesson, folder):
    return nbformat.read(ROOT / "notebooks" / folder / f"{lesson_name(lesson)}.ipynb", as_version=4)


def learners_notebook(lesson):
    return notebook(lesson, ".")


def solutions_notebook(lesson):
    return notebook(lesson, "solutions")


def by_id(notebook):
    return {cell.id: cell for cell in notebook.cells}


def printed_text(cell):
    """What a cell has printed or shown as text."""
    texts = [
        output.get("text") or output.get("data", {}).get("text/plain", "") + "\n"
        for output in cell.get("outputs", [])
    ]
    return "".join(texts)


def names(source):
    """The names that a cell reads from cells before it, and those that it sets or changes.

    A name is not read from before if a statement above it, or its own loop, gives it a value.
    """
    loaded: set[str] = set()
    bound: set[str] = set()
    for statement in ast.parse(source).body:
        read, changed, of_loops = names_of(statement)
        loaded |= read - bound - of_loops
        bound |= changed - of_loops
    return loaded, bound - set(dir(builtins))


def names_of(statement):
    """The names that a statement reads, sets or changes, and those that its loops bind."""
    read: set[str] = set()
    changed: set[str] = set()
    of_loops: set[str] = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.For, ast.comprehension)):
            of_loops |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
        elif isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else changed).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            changed.add(node.name)
        elif isinstance(node, ast.alias):
            changed.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            base: ast.expr = node
            while isinstance(base, (ast.Attribute, ast.Subscript)):
                base = base.value
            if isinstance(base, ast.Name):
                changed.add(base.id)
                read.add(base.id)
    return read, changed, of_loops


def split_by_stubs(cells):
    """The code cells whose outputs cannot depend on what stands in a stub, and the others."""
    tainted: set[str] = set()
    independent, dependent = [], []
    for cell in cells:
        if cell.cell_type != "code" or cell.id.endswith("-setup"):
            continue
        loaded, bound = names(cell.source)
        if tags(cell) & {"stub", "solution"}:
            tainted |= bound
        elif loaded & tainted:
            tainted |= bound
            dependent.append(cell)
        else:
            tainted -= bound
            independent.append(cell)
    return independent, dependent


def stubs(lesson):
    """The names of the functions in stubs, each with its source.

    A stub may be a class that works, and that the learner changes: it has no check.
    """
    sources = {}
    for cell in read_lesson(lesson):
        if "stub" in tags(cell):
            for part in ast.parse(cell.source).body:
                kinds = (ast.FunctionDef, ast.ClassDef)
                assert isinstance(part, kinds), f"{cell.id}: a stub is a function or a class"
                if isinstance(part, ast.FunctionDef):
                    sources[part.name] = ast.unparse(part)
    return sources


def checks(lesson):
    """The checks that a lesson calls, by the name of the stub: the call and the check."""
    source = "\n".join(cell.source for cell in read_lesson(lesson) if cell.cell_type == "code")
    of_stub = {}
    for variable, check in checks_of_number(lesson.stem[:2]).items():
        if call := re.search(rf"^{variable}\((\w+)\)", source, re.MULTILINE):
            of_stub[call[1]] = (call[0], check)
    return of_stub


def checks_of_number(number):
    """The checks of a lesson and its closer looks, by their names in code."""
    module = importlib.import_module(f"course_lab.checks.lesson{number}")
    return {name: value for name, value in vars(module).items() if isinstance(value, Check)}


@every_lesson
def test_every_stub_has_a_solution(lesson):
    count = sum("stub" in tags(cell) for cell in read_lesson(lesson))
    assert count == sum("solution" in tags(cell) for cell in read_lesson(lesson))
    assert count or is_closer(lesson)


@pytest.mark.parametrize("number", sorted({lesson.stem[:2] for lesson in LESSONS}))
def test_every_check_is_called_in_a_lesson_or_one_of_its_closer_looks(number):
    of_number = [lesson for lesson in LESSONS if lesson.stem[:2] == number]
    called = [check.name for lesson in of_number for _, check in checks(lesson).values()]
    assert sorted(called) == sorted(check.name for check in checks_of_number(number).values())


@every_lesson
def test_every_cell_that_does_not_depend_on_a_stub_shows_the_same_in_both(lesson):
    solutions = by_id(solutions_notebook(lesson))
    independent, dependent = split_by_stubs(learners_notebook(lesson).cells)
    for cell in independent:
        if tags(cell) & NOT_COMPARED:
            continue
        assert cell.execution_count is not None, f"{cell.id} was never run"
        report = new_code_cell()
        same = compare_outputs(report, cell.outputs, solutions[cell.id].outputs)
        assert same, (cell.id, report.comparison_traceback)
    # What is left out is a stub's check and pictures of the answer, not half a lesson; but an
    # encoding that the learner invents is what the rest of the capstone is about.
    invents = lesson.name == "11_capstone.py"
    assert len(dependent) <= 4 * len(stubs(lesson)) + 10 * invents


@every_lesson
def test_answers_wait_for_a_guess_in_the_learners_notebook_only(lesson):
    learners, solutions = by_id(learners_notebook(lesson)), by_id(solutions_notebook(lesson))
    waiting = {name for name, cell in learners.items() if is_withheld(cell.get("outputs", []))}
    assert waiting == {
        name
        for name, cell in solutions.items()
        if SEALED in tags(cell) and cell.get("outputs") and name in learners
    }
    assert not any(is_withheld(cell.get("outputs", [])) for cell in solutions.values())
    revealed = [name for name, cell in learners.items() if "Measured: " in printed_text(cell)]
    assert revealed == []
    if any("predict" in cell.source for cell in learners.values()):
        assert waiting


@every_lesson
def test_no_cell_of_the_learners_failed_and_checks_say_not_attempted(lesson):
    cells = learners_notebook(lesson).cells
    failed = [
        cell.id
        for cell in cells
        if "raises-exception" not in tags(cell)
        and any(output.output_type == "error" for output in cell.get("outputs", ()))
    ]
    assert failed == []
    for call, check in checks(lesson).values():
        (calling,) = (cell for cell in cells if call in cell.source)
        printed = printed_text(calling)
        assert f"… {check.name}: not attempted yet." in printed.splitlines(), calling.id
        assert "✓" not in printed and "✗" not in printed, calling.id


@every_lesson
def test_every_stub_waits_and_its_check_says_so(lesson):
    sources = stubs(lesson)
    assert checks(lesson).keys() == sources.keys()
    functions: dict[str, Any] = {}
    for name, (_, check) in checks(lesson).items():
        exec(sources[name], functions)
        for case in check.cases:
            with pytest.raises(NotImplementedError):
                functions[name](*case)
        assert check.verdict(functions[name]).kind == "untouched"


# That these tests can fail


def test_taint_reaches_what_is_computed_from_a_stub_and_ends_where_a_name_gets_a_new_value():
    cells = [
        new_code_cell("def mine(x):\n    raise NotImplementedError", metadata={"tags": ["stub"]}),
        new_code_cell("table = [1]\nprint(table)", id="plain"),
        new_code_cell("table[0] = mine(2)", id="set"),
        new_code_cell("print(table)", id="printed"),
        new_code_cell("table = 3", id="anew"),
        new_code_cell("print(table)", id="free"),
    ]
    independent, dependent = split_by_stubs(cells)
    assert [cell.id for cell in independent] == ["plain", "anew", "free"]
    assert [cell.id for cell in dependent] == ["set", "printed"]


def test_a_name_that_a_loop_binds_is_not_read_from_an_earlier_cell():
    cells = [
        new_code_cell("def mine(x):\n    raise NotImplementedError", metadata={"tags": ["stub"]}),
        new_code_cell("for row in mine(2):\n    print(row)", id="dependent"),
        new_code_cell("for row in (1, 2):\n    print([row for row in (row, 3)])", id="free"),
    ]
    independent, _ = split_by_stubs(cells)
    assert [cell.id for cell in independent] == ["free"]


def test_another_word_in_an_output_is_noticed():
    outputs = [new_output("stream", text="gap 0.50\n")]
    others = [new_output("stream", text="no gap\n")]
    assert compare_outputs(new_code_cell(), outputs, outputs)
    assert not compare_outputs(new_code_cell(), outputs, others)
