"""Weights in a file, and what they were trained with: safetensors, so that reading runs no code.

Beside the weights a file describes every encoding and every attention of its module. So weights
that were trained with one encoding do not go into another, even where all shapes fit.
"""

import dataclasses
import hashlib
import json
import numbers
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors
from torch import Tensor, nn

from course_utils import __version__, validation
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import PositionalEncoding, Scaling

FORMAT = 1  # one more when older versions of the course could not read a file
KEY = "course_utils"  # of the header's only entry: safetensors writes several in any order

Module = TypeVar("Module", bound=nn.Module)


def save(
    module: nn.Module, path: Path | str, dtype: torch.dtype | None = None, **notes: Any
) -> None:
    """Write the weights of any module, whole or not at all, each tensor once.

    An encoding is described by its class's name and its ``options``; ``dtype`` rounds weights that
    are floats; :func:`about` gives ``notes`` back, which may be JSON or scalings.

    Raises TypeError for an option, a note or a weight that cannot be written, ValueError for a
    weight too large for ``dtype``, OSError if the disk refuses: a file that was there is kept.
    """
    path, kept = Path(path), {}
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type such as torch.float16, got {dtype}")
    for name, one in weights(module).items():
        rounded = one if dtype is None or not one.is_floating_point() else one.to(dtype)
        if bool((rounded.isinf() & one.isfinite()).any()):
            raise ValueError(f"dtype must hold every weight, {dtype} is too small for {name}")
        kept[name] = rounded.cpu().clone(memory_format=torch.contiguous_format)
    found: dict[str, Any] = {"format": FORMAT, "course": __version__, "parts": _parts(module)}
    found["notes"] = {name: _as_json(f"note {name!r}", one) for name, one in notes.items()}
    found["sha256"] = _digest(found, _split(safetensors.save(kept))[1])
    content = safetensors.save(kept, {KEY: json.dumps(found, sort_keys=True)})
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def load(module: Module, path: Path | str) -> Module:
    """Fill a module that was made already with the weights of a file, and return it.

    The weights take on the module's dtype and device. A module that is refused stays as it was.

    Raises ValueError if encodings, attention or weights in the file are not those of the module,
    or for a file of a newer course; OSError for one that is missing, damaged or not of the course.
    """
    found, kept = _read(Path(path))
    _compare(path, found["parts"], _parts(module))
    fill(module, kept, path)
    return module


def about(path: Path | str) -> dict[str, Any]:
    """What a file says: ``format``, ``course``, ``parts`` and ``notes``. Raises as :func:`load`."""
    return _read(Path(path))[0]


def weights(module: nn.Module) -> dict[str, Tensor]:
    """The tensors of a module, not copied, each under the first of its names only."""
    named = module.state_dict(keep_vars=True)
    for name, one in named.items():
        validation.instance(f"weight {name!r}", one, Tensor, "a tensor")
    firsts = {id(one): name for name, one in reversed(named.items())}
    return {name: one.detach() for name, one in named.items() if firsts[id(one)] == name}


def fill(module: nn.Module, kept: Mapping[str, Tensor], source: Path | str) -> None:
    """Copy the :func:`weights` of another module into this one; ValueError if they do not fit."""
    there, here = (
        {name: f"{'float' if one.is_floating_point() else 'whole'} {tuple(one.shape)}"
         for name, one in found.items()}
        for found in (kept, weights(module))
    )  # fmt: skip
    _compare(source, there, here)
    module.load_state_dict(kept, strict=False)  # names left out are of the same tensors


def scaling_of(described: Any) -> Any:
    """A scaling, made from what a file says of it; anything else as it is."""
    if not isinstance(described, dict) or "kind" not in described:
        return described
    kinds = {one.__name__: one for one in Scaling.__subclasses__()}
    kind = validation.choice("kind of scaling", described["kind"], kinds)
    return kinds[kind](**{name: one for name, one in described.items() if name != "kind"})


def _parts(module: nn.Module) -> dict[str, Any]:
    """What decides how weights are read: name → class and options of encodings and attention."""
    found = {}
    for name, part in module.named_modules():
        if isinstance(part, MultiHeadAttention | PositionalEncoding):
            options: dict[str, Any] = {"d_model": part.d_model, "n_heads": part.n_heads}
            if isinstance(part, MultiHeadAttention):
                options |= {"causal": part.causal, "log_n": part.log_n}
            else:
                options |= part.options
            kind = type(part).__name__
            found[name] = {"class": kind, "options": _as_json(f"options of {kind}", options)}
    return found


def _as_json(name: str, value: Any) -> Any:
    """What JSON gives back of a value, scalings as {"kind": class, …}."""

    def plain(one: Any) -> Any:
        if isinstance(one, Scaling) and dataclasses.is_dataclass(one):
            return {"kind": type(one).__name__, **dataclasses.asdict(one)}
        if isinstance(one, numbers.Integral):  # NumPy's are none of Python's
            return int(one)
        raise TypeError(f"a {type(one).__name__} is neither")

    try:
        return json.loads(json.dumps(value, default=plain))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be JSON or scalings, got {value!r}: {error}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    content = path.read_bytes()
    try:
        kept = safetensors.load(content)
        header, data = _split(content)
        found = json.loads(header["__metadata__"][KEY])
        newer = validation.integer("format", found["format"]) > FORMAT
        if not newer and found.pop("sha256") != _digest(found, data):
            raise ValueError("its checksum does not fit")
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise OSError(f"{path} is no model of this course, or damaged: {error!r}") from error
    if newer:
        raise ValueError(
            f"{path} is of course {found.get('course')}, format {found['format']}; "
            f"course {__version__} reads format {FORMAT}: install a newer one"
        )
    return found, kept


def _split(content: bytes) -> tuple[Any, bytes]:
    """The header of a safetensors file, and the bytes of its tensors."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def _digest(found: Mapping[str, Any], data: bytes) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode() + data).hexdigest()


def _compare(source: Path | str, there: Any, here: Any) -> None:
    """Raise ValueError that says where two descriptions differ, and how."""
    wrong = [*_differences("", there, here)]
    if wrong:
        more = "; …" if len(wrong) > 3 else ""
        raise ValueError(f"{source} does not fit: {'; '.join(wrong[:3])}{more}")


def _differences(name: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys([*there, *here]):
            found = (side.get(key, "nothing") for side in (there, here))
            yield from _differences(f"{name}.{key}".strip("."), *found)
    elif there != here:
        yield f"{name}: {there} there, {here} here"
