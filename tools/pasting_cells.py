"""Which cells of a lesson are tried, which must run for that, and how they are run."""

import ast
import linecache
import zlib
from collections.abc import Container, Sequence
from typing import Any

from pasting_texts import Namespace, assigned, names_read, parsed

DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def run(cells: Sequence[Any], whole: Container[str] | None = None) -> Namespace:
    """Run a lesson's cells, with stubs, without the parts that need a published model.

    With ``whole``, ids of cells, only these run whole; the others make their definitions. What
    such a part of a lesson lacks may stop a cell, and that is no error.
    """
    space: Namespace = {"__name__": "__main__", "display": lambda *_, **__: None}
    for cell in cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or {"solution", "pretrained"} & set(tags):
            continue
        name = f"<{cell.id}>"
        linecache.cache[name] = (len(cell.source), None, cell.source.splitlines(True), name)
        code = parsed(cell)
        if whole is not None and cell.id not in whole:
            code.body = [part for part in code.body if isinstance(part, DEFINITIONS)]
        try:
            exec(compile(code, name, "exec"), space)
        except Exception as error:
            if whole is None and "raises-exception" not in tags:
                raise RuntimeError(f"cell {cell.id}: {type(error).__name__}: {error}") from error
    return space


def sampled(source: str, one_in: int) -> bool:
    """Whether a cell is tried where one in so many is: the same one until it changes."""
    return zlib.crc32(source.encode()) % one_in == 0


def needed(cells: Sequence[Any], taken: Container[str]) -> set[str]:
    """The ids of cells that must run before those that are taken, and of those with exercises."""
    found: set[str] = set()
    stubs = {
        part.name
        for cell in cells
        if "stub" in cell.metadata.get("tags", [])
        for part in parsed(cell).body
        if isinstance(part, ast.FunctionDef)
    }
    wanted: set[str] = set()  # names whose values somebody after this place takes
    for cell in reversed(cells):
        body = parsed(cell).body
        made = {name for part in body if not isinstance(part, DEFINITIONS) for name in bound(part)}
        runs = cell.id in taken or made & wanted or any(taken_from(part) & stubs for part in body)
        if runs:
            found.add(cell.id)
        for part in reversed(body):
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
                wanted |= taken_from(part) if part.name in wanted else set()
            elif runs:
                wanted -= {*assigned(part)} if isinstance(part, ast.Assign) else set()
                wanted |= taken_from(part)
    return found


def taken_from(part: ast.stmt) -> set[str]:
    """The names whose values a statement takes from outside."""
    loads = (node for node in ast.walk(part) if isinstance(node, ast.Name))
    found = {node.id for node in loads if isinstance(node.ctx, ast.Load)} & {*names_read(part)}
    return found - {*assigned(part)} if isinstance(part, DEFINITIONS) else found


def bound(part: ast.stmt) -> set[str]:
    """The names to which a statement gives a value, or something in theirs."""
    places = [node for node in ast.walk(part) if isinstance(getattr(node, "ctx", 0), ast.Store)]
    return {node.id for place in places for node in ast.walk(place) if isinstance(node, ast.Name)}
