"""Encodings from files outside the course, named ``module:Class``, and the code that defines one.

A file is looked for in the current folder, then wherever Python imports from. Its source goes to
the workers of a sweep with each run, so they need no copy and never run another version.
"""

import ast
import functools
import hashlib
import importlib
import sys
import threading
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from course_utils import validation
from course_utils.encodings import base, known_names, maker_of, register

Sources = dict[str, bytes]  # module → content of its file

_sources: Sources = {}  # as they were when the modules were loaded, or first looked at
_loading = threading.RLock()


def import_encoding(name: str) -> str:
    """Make the encoding ``module:Class`` known, by importing its module; returns the name.

    A module of the current folder whose file has changed is imported again. A name without a colon
    must be known already. ImportError says why a module cannot be imported.
    """
    if not isinstance(name, str) or ":" not in name:
        return validation.choice("encoding", name, known_names())
    module, _, _ = name.partition(":")
    try:
        with _loading, _current_folder() as folder:
            file = folder / f"{module}.py"
            if not file.is_file():
                importlib.import_module(module)
            else:
                _load(module, file.read_bytes(), str(file))
    except (Exception, SystemExit) as error:  # whatever the file does
        raise ImportError(
            f"encoding {name!r} cannot be imported, with {Path.cwd()} as the current folder: "
            f"{type(error).__name__}: {error}"
        ) from error
    return _register(name)


def code(name: str, encoding_class: type) -> dict[str, str]:
    """SHA-256 of the source of each module that defines an encoding.

    These are the modules of its class and the classes above, but for PyTorch's and the common base,
    and the module of its maker. Comments, docstrings and layout do not count.
    """
    modules = [parent.__module__ for parent in reversed(encoding_class.__mro__)]
    modules.append(maker_of(name).__module__)
    if ":" in name:
        modules.append(name.partition(":")[0])
    skipped = {*sys.stdlib_module_names, "torch"} - {"__main__"}
    return {
        module: _digest(_source(module))
        for module in dict.fromkeys(modules)
        if module.partition(".")[0] not in skipped and module != base.__name__
    }


def sources(key: Mapping[str, Any]) -> Sources:
    """The files that a worker may lack to do the run of a key: not the course, not packages."""
    if ":" not in key["encoding"]:
        return {}
    modules = [module for module in key["code"] if "." not in module]
    return {
        module: _source(module)
        for module in modules
        if not hasattr(sys.modules[module], "__path__")  # no package
    }


def prepare(key: Mapping[str, Any], sent: Sources) -> None:
    """Make the encoding of a key known in this process, by the sources sent and no others.

    ValueError names a module that differs from the one where the sweep was started.
    """
    name = key["encoding"]
    if ":" not in name and name not in known_names():
        raise ValueError(
            f"encoding {name!r} is known where it was registered, not to a worker; "
            "write it in a file and call it module:Class"
        )
    with _loading, _current_folder():
        for module, source in sent.items():
            _load(module, source, f"{module}.py")
        for module, digest in key.get("code", {}).items():
            importlib.import_module(module)
            if _digest(_source(module)) != digest:
                raise ValueError(
                    f"module {module} differs here from the one where the sweep was started; "
                    "install the same course and packages, and start the worker again"
                )
        if ":" in name:
            _register(name)


def _register(name: str) -> str:
    module, _, attribute = name.partition(":")
    namespace = vars(sys.modules[module])
    if attribute not in namespace:
        defined_there = [
            other
            for other, value in namespace.items()
            if getattr(value, "__module__", "") == module
        ]
        validation.choice(f"encoding of module {module}", attribute, defined_there)
    register(name, namespace[attribute], replace=True)
    return name


@contextmanager
def _current_folder() -> Iterator[Path]:
    """Import from the current folder first."""
    folder = Path.cwd()
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        with suppress(ValueError):  # the imported module has removed it
            sys.path.remove(str(folder))


def _load(name: str, source: bytes, file: str) -> None:
    """Import a module from its source, unless it was imported from just that.

    Python itself, given the file, might take an older compiled one.
    """
    before = sys.modules.get(name)
    if before is not None and _sources.get(name) == source:
        return
    module = types.ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module
    try:
        exec(compile(source, file, "exec"), vars(module))
    except BaseException:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before
        raise
    _sources[name] = source


def _source(module: str) -> bytes:
    if module not in _sources:
        file = getattr(sys.modules.get(module), "__file__", None)
        if file is None:
            raise ValueError(
                "encoding must be defined in a file for its results to be kept, and module "
                f"{module} is none; write one and call it module:Class"
            )
        _sources[module] = Path(file).read_bytes()
    return _sources[module]


@functools.cache
def _digest(source: bytes) -> str:
    """SHA-256 of Python code without comments, docstrings and layout."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            match node.body:
                case [ast.Expr(ast.Constant(str())), *_]:
                    node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode()).hexdigest()
