"""What an encoding can remember from one call to the next: all the data that its methods reach."""

from __future__ import annotations

import functools
import itertools
import operator
import random
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import (
    CodeType,
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_utils.encodings import PositionalEncoding

LIBRARIES = {*sys.stdlib_module_names, "torch", "numpy", "course_utils", "course_lab"}
DEPTH = 20  # of objects within objects
OWN_GENERATORS = (torch.Generator, random.Random, np.random.Generator, np.random.RandomState)


@dataclass(frozen=True)
class _GeneratorState:
    state: object


def reachable_state(
    encoding: PositionalEncoding, *, with_generators: bool = True
) -> dict[str, object]:
    """All values that the encoding holds or that its own methods name, by a name for each.

    These are its attributes, parameters and buffers, those of its classes, and of their methods the
    closures, defaults, attributes, and globals, with the functions that they call. Compare two such
    dicts. Not looked at: what libraries keep, files, and the clock; nor, without generators, random
    generators of its own.
    """
    values = dict(_values("", encoding, set(), 0))
    return {
        name: value
        for name, value in values.items()
        if with_generators or not isinstance(value, _GeneratorState)
    }


def short_name(name: str) -> str:
    """A name of :func:`reachable_state` without PyTorch's own parts, such as _buffers."""
    parts = name.split(".")
    own = [part for part in parts[:-1] if not part.startswith("_")]
    return ".".join([*own, parts[-1]])


def shared_generators() -> dict[str, object]:
    """The states of two generators that everybody draws from.

    Not Python's: what checks types at run time, such as beartype, draws from it at any call.
    """
    return {
        "NumPy's random": hash(str(np.random.get_state())),  # noqa: NPY002, what others draw from
        "torch's generator": torch.get_rng_state().numpy().tobytes(),
    }


def names_in(code: CodeType) -> set[str]:
    """The names that a function's code uses, in functions within it too."""
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(names_in, inner))


def _is_of_a_library(thing: Any) -> bool:
    return (getattr(thing, "__module__", None) or "").split(".")[0] in LIBRARIES


def _values(name: str, thing: Any, seen: set[int], depth: int) -> Iterator[tuple[str, object]]:
    """The name and value of each number, text and tensor in a thing."""
    if thing is None or isinstance(thing, (bool, int, float, complex, str, bytes)):
        yield name, thing
        return
    if isinstance(thing, Tensor):
        yield name, _of_tensor(thing)
        return
    if id(thing) in seen or depth > DEPTH:
        return
    seen.add(id(thing))
    if isinstance(thing, OWN_GENERATORS):
        yield name, _GeneratorState(_of_generator(thing))
    elif isinstance(thing, np.ndarray):
        yield name, (thing.shape, thing.tobytes())
    elif isinstance(thing, (set, frozenset)):
        yield name, frozenset(map(repr, thing))
    else:
        yield name, _plainly(thing)
        for part, value in _parts(thing):
            yield from _values(f"{name}.{part}" if name else part, value, seen, depth + 1)


def _of_tensor(tensor: Tensor) -> object:
    plain = tensor.detach().cpu()
    plain = plain.float() if plain.dtype == torch.bfloat16 else plain
    return tuple(tensor.shape), str(tensor.dtype), plain.resolve_conj().numpy().tobytes()


def _of_generator(generator: Any) -> object:
    if isinstance(generator, torch.Generator):
        return generator.get_state().numpy().tobytes()
    if isinstance(generator, random.Random):
        return hash(generator.getstate())
    if isinstance(generator, np.random.Generator):
        return str(generator.bit_generator.state)
    return str(generator.get_state())


def _plainly(thing: Any) -> object:
    """The length of what holds others, and what an iterator says of itself."""
    if isinstance(thing, (Mapping, list, tuple, deque)):
        return len(thing)
    if isinstance(thing, itertools.count):
        return repr(thing)
    return operator.length_hint(thing, 0) if hasattr(thing, "__next__") else None


def _parts(thing: Any) -> Iterator[tuple[str, Any]]:
    """What a thing holds, with a name for each."""
    if isinstance(thing, Mapping):
        yield from ((str(key), value) for key, value in list(thing.items()))
    elif isinstance(thing, (list, tuple, deque)):
        yield from ((str(number), value) for number, value in enumerate(list(thing)))
    elif isinstance(thing, functools.partial):
        yield from (("func", thing.func), ("args", thing.args), ("keywords", thing.keywords))
    elif isinstance(thing, MethodType):
        yield from (("self", thing.__self__), (thing.__name__, thing.__func__))
    elif isinstance(thing, FunctionType):
        yield from () if _is_of_a_library(thing) else _of_function(thing)
    elif isinstance(thing, GeneratorType):
        yield from (thing.gi_frame.f_locals if thing.gi_frame else {}).items()
    elif isinstance(thing, (staticmethod, classmethod)):
        yield "function", thing.__func__
    elif isinstance(thing, property):
        yield from (("get", thing.fget), ("set", thing.fset))
    elif isinstance(thing, type):
        yield from () if _is_of_a_library(thing) else _of_class(thing)
    elif not isinstance(thing, ModuleType):
        yield from list(getattr(thing, "__dict__", {}).items())
        slots = getattr(type(thing), "__slots__", ())
        for slot in (slots,) if isinstance(slots, str) else slots:
            if hasattr(thing, slot):
                yield slot, getattr(thing, slot)
        for kind in type(thing).__mro__:
            if not _is_of_a_library(kind):
                yield kind.__name__, kind


def _of_class(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in list(vars(kind).items()):
        if not name.startswith("__") or isinstance(value, FunctionType):
            yield name, value


def _of_function(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Its closure, defaults and attributes, and the globals that it names."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # nothing in it yet
            continue
    yield "defaults", function.__defaults__
    yield "keyword defaults", function.__kwdefaults__
    yield from list(vars(function).items())
    names = names_in(function.__code__)
    for name in sorted(names & set(function.__globals__)):
        value = function.__globals__[name]
        if isinstance(value, ModuleType):
            for inner in sorted(names & set(vars(value))):
                if isinstance(vars(value)[inner], (int, float, str, list, dict, Tensor)):
                    yield f"{name}.{inner}", vars(value)[inner]
        else:
            yield name, value
