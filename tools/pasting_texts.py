"""What stands in a lesson to be pasted: its functions, expressions and cells, as pieces of code."""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import itertools
import math
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from course_utils.checks import Check

WAYS = 120  # to put an exercise's arguments in the places of a text's names, at most
ANSWER = "answer"
SHOWING = (
    "course_utils.plots",
    "course_utils.widgets",
    "course_utils.explorers",
    "course_utils.claims",
    "matplotlib",
)
SILENT = ("plots", "plt", "widgets", "explorers", "display", "print")  # show, and give nothing
NO_VALUES = (ast.Constant, ast.Name, ast.JoinedStr, ast.FormattedValue, ast.Slice, ast.Starred)

Namespace = dict[str, Any]


@dataclass(frozen=True)
class Exercise:
    """A stub's name, its arguments' names, and its check."""

    name: str
    arguments: tuple[str, ...]
    check: Check


@dataclass(frozen=True)
class Text:
    """A piece of code: its statements, the names whose values are offered, and those it reads."""

    statements: tuple[ast.stmt, ...]
    offered: tuple[str, ...]
    reads: tuple[str, ...] = ()

    @cached_property
    def compiled(self) -> list[tuple[set[str], types.CodeType]]:
        """For each statement, the names to which it gives a value, and its code."""
        return [
            (set(assigned(part)), compile(ast.Module([part], []), "<pasted>", "exec"))
            for part in self.statements
        ]

    @classmethod
    def of(cls, expression: str, reads: Iterable[str] = ()) -> Text:
        """An expression."""
        return cls(tuple(ast.parse(f"{ANSWER} = {expression}").body), (ANSWER,), tuple(reads))


def parsed(cell: Any) -> ast.Module:
    """A code cell's syntax; nothing for text."""
    return ast.parse(cell.source if cell.cell_type == "code" else "")


def kind(value: Any) -> str:
    """What sort of thing an argument is; only things of one sort stand in for each other."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, torch.Tensor):
        return "tensor"
    return "function" if callable(value) else type(value).__name__


def names_read(node: ast.AST) -> list[str]:
    """Names that a piece of code takes from outside, in order."""
    own = {arg.arg for sub in ast.walk(node) if isinstance(sub, ast.arguments) for arg in sub.args}
    own |= {
        name.id
        for sub in ast.walk(node)
        if isinstance(sub, ast.comprehension)
        for name in ast.walk(sub.target)
        if isinstance(name, ast.Name)
    }
    found = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return [name for name in dict.fromkeys(found) if name not in own]


def functions(space: Namespace, cells: Sequence[Any]) -> dict[str, Callable[..., Any]]:
    """What can be called, by the text that calls it."""
    found: dict[str, Any] = {}
    for name, value in space.items():
        if name.startswith("_"):
            continue
        home = getattr(type(value), "__module__", "")
        if isinstance(value, types.ModuleType):
            own = value.__name__.startswith("course_utils")
            members = inspect.getmembers(value, inspect.isfunction) if own else []
        elif callable(value):
            members, found[name] = [], value
        else:
            own = home.startswith("course_utils") or home == "__main__"
            members = inspect.getmembers(value, inspect.ismethod) if own else []
        found |= {f"{name}.{one}": it for one, it in members if not one.startswith("_")}
    for node in (node for cell in cells for node in ast.walk(parsed(cell))):
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            if text.replace(".", "").isidentifier() and text.split(".")[0] in space:
                with contextlib.suppress(Exception):
                    found[text] = eval(text, space)
            if callable(method := getattr(torch.Tensor, node.attr, None)):
                found[f"torch.Tensor.{node.attr}"] = method
    return {
        text: it
        for text, it in found.items()
        if callable(it)
        and not isinstance(it, Check)
        and not str(getattr(it, "__module__", "")).startswith(SHOWING)
    }


def calls_of(
    text: str, function: Callable[..., Any], exercise: Exercise, space: Namespace
) -> Iterator[str]:
    """The ways to call a function with the exercise's arguments."""
    given = exercise.arguments
    try:
        takes = [
            one
            for one in inspect.signature(function).parameters.values()
            if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ]
        least = sum(one.default is one.empty for one in takes)
        most, switches = len(takes), [one for one in takes if isinstance(one.default, bool)]
    except (TypeError, ValueError):  # some functions written in C
        takes, least, most, switches = [], 1, len(given), []
    turned = ["", *(f", {one.name}={not one.default}" for one in switches)]
    orders: Iterator[tuple[str, ...]] = itertools.chain(
        *(
            itertools.permutations(given, count)
            for count in range(min(most, len(given)), max(least, 1) - 1, -1)
        )
    )
    for order in itertools.islice(orders, WAYS):
        for switch in turned:
            yield f"{text}({', '.join(order)}{switch})"
    filled, rest = [], [name for name in given if name not in {one.name for one in takes}]
    for one in takes:
        if one.name in given:
            filled.append(f"{one.name}={one.name}")
        elif one.default is one.empty:
            if one.name not in space and not rest:
                return
            filled.append(f"{one.name}={one.name if one.name in space else rest.pop(0)}")
    if filled:
        for switch in [one for one in turned if one[2:].partition("=")[0] not in given]:
            yield f"{text}({', '.join(filled)}{switch})"


def parts(node: ast.AST) -> list[ast.AST]:
    """The parts of a tuple, which may be an index."""
    return list(ast.iter_child_nodes(node)) if isinstance(node, ast.Tuple) else []


def expressions(cells: Sequence[Any]) -> Iterator[Text]:
    """Every expression of every cell, once."""
    seen = set()
    for cell in cells:
        for node in ast.walk(parsed(cell)):
            if isinstance(node, NO_VALUES) or any(isinstance(n, ast.Slice) for n in parts(node)):
                continue
            if isinstance(node, ast.expr) and not isinstance(
                getattr(node, "ctx", None), (ast.Store, ast.Del)
            ):
                text = ast.unparse(node)
                if text not in seen and text.split("(")[0].split(".")[0] not in SILENT:
                    seen.add(text)
                    yield Text.of(text, names_read(node))


def bodies(cells: Sequence[Any]) -> Iterator[Text]:
    """Every cell as a body, and every two that follow each other."""
    own = []
    for cell in cells:
        kept = []
        for part in parsed(cell).body:
            silent = isinstance(part, (ast.Import, ast.ImportFrom, ast.Assert)) or any(
                isinstance(node, ast.Name) and node.id in SILENT for node in ast.walk(part)
            )
            if not silent:
                kept.append(part)
        if kept:
            own.append(kept)
    for parts in itertools.chain(own, (a + b for a, b in itertools.pairwise(own))):
        if isinstance(parts[-1], ast.Expr):
            parts = [*parts[:-1], ast.Assign([ast.Name(ANSWER, ast.Store())], parts[-1].value)]
        module = ast.fix_missing_locations(ast.Module(parts, []))
        offered = dict.fromkeys(name for part in parts for name in assigned(part))
        yield Text(tuple(parts), tuple(offered), tuple(names_read(module)))


def assigned(part: ast.stmt) -> list[str]:
    """The names to which a statement gives a value."""
    return [
        node.id
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def exchanges(text: Text, exercise: Exercise, space: Namespace) -> Iterator[dict[str, str]]:
    """The ways to put the exercise's arguments in the places of names that a text reads."""
    kinds = dict(zip(exercise.arguments, map(kind, exercise.check.cases[0]), strict=False))
    choices: dict[str, list[str]] = {}
    for name in text.reads:
        known = name in space
        fits = [one for one, sort in kinds.items() if not known or kind(space[name]) == sort]
        if fits and not hasattr(builtins, name):
            stays = [""] if known or name in text.offered else []
            choices[name] = sorted(fits, key=lambda one: one != name) + stays  # namesakes first
    if math.prod(map(len, choices.values())) <= WAYS:
        for chosen in itertools.product(*choices.values()):
            yield {name: to for name, to in zip(choices, chosen, strict=True) if to}
        return
    places = [[name for name in choices if one in choices[name]] + [""] for one in kinds]
    chosen_places = (
        chosen
        for chosen in itertools.product(*places)
        if len(set(filter(None, chosen))) == len(list(filter(None, chosen)))
    )
    for chosen in itertools.islice(chosen_places, WAYS):
        yield {name: one for name, one in zip(chosen, kinds, strict=True) if name}
