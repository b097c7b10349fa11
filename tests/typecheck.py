"""Runtime checks of every function of a package: array shapes by jaxtyping, the rest by beartype.

jaxtyping's hook binds the arguments of each call and checks them twice, to say more of a wrong
shape. Nine of ten calls are of functions whose annotations name no array, so these get beartype
alone, which costs little. A function inside of another is made anew at each call of that, and its
checks would be written anew each time, so it gets none.
"""

import functools
import inspect
import typing
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

# The tower: an int is fine where a float is asked for, as PEP 484 says and every caller expects.
checked = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError))
_with_shapes = jaxtyping.jaxtyped


def install(packages: list[str]) -> None:
    """Check what is called of the packages from here on; before anything imports it."""
    # What the hook writes above each function and class.
    jaxtyping.jaxtyped = _decorated  # type: ignore[assignment]
    jaxtyping.install_import_hook(packages, "typecheck.checked")


def _decorated(fn: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """The function with the cheapest checks that find what jaxtyping's would."""
    if fn is None:
        return functools.partial(_decorated, typechecker=typechecker)
    if "<locals>" in fn.__qualname__:
        return fn
    if not inspect.isfunction(fn) or _may_name_arrays(fn):
        return _with_shapes(fn, typechecker=typechecker)
    strict = typechecker(fn)

    @functools.wraps(fn)
    def either(*args: Any, **kwargs: Any) -> Any:
        off = jaxtyping.config.jaxtyping_disable  # as the fixture plain_arguments sets it
        return (fn if off else strict)(*args, **kwargs)

    return either


def _may_name_arrays(fn: Callable[..., Any]) -> bool:
    """Whether an annotation names an array's shape, or cannot be read yet."""
    try:
        hints = typing.get_type_hints(fn)
    except (NameError, TypeError):  # a name that is defined farther down
        return True
    return any(map(_names_array, hints.values()))


def _names_array(hint: Any) -> bool:
    if isinstance(hint, list):  # the arguments of a Callable
        return any(map(_names_array, hint))
    is_array = inspect.isclass(hint) and issubclass(hint, jaxtyping.AbstractArray)
    return is_array or any(map(_names_array, typing.get_args(hint)))
