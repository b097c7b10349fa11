"""Weights in a file, and what they were trained with: safetensors, so that reading runs no code.

Beside the weights a file has class and ``options`` of every encoding and attention of its module.
So weights that were trained with one encoding do not go into another, even where all shapes fit.
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

    ``dtype`` rounds weights that are floats; :func:`about` gives ``notes`` back, which may be JSON
    or scalings. Raises TypeError for an option, a note or a weight that cannot be written,
    ValueError for a weight too large for ``dtype``, OSError if the disk refuses: a file that was
    there is kept.
    """
    path = Path(path)
    tensors = _rounded(weights(module), dtype)
    description: dict[str, Any] = {
        "format": FORMAT,
        "course": __version__,
        "parts": _parts(module),
        "notes": {name: _as_json(f"note {name!r}", note) for name, note in notes.items()},
    }
    _, data = _split(safetensors.save(tensors))
    description["sha256"] = _digest(description, data)
    content = safetensors.save(tensors, {KEY: json.dumps(description, sort_keys=True)})
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
    description, tensors = _read(Path(path))
    _compare(path, description["parts"], _parts(module))
    fill(module, tensors, path)
    return module


def about(path: Path | str) -> dict[str, Any]:
    """A file's ``format``, ``course``, ``parts`` and ``notes``; raises as :func:`load`."""
    return _read(Path(path))[0]


def weights(module: nn.Module) -> dict[str, Tensor]:
    """The tensors of a module, not copied, each under the first of its names only."""
    state = module.state_dict(keep_vars=True)
    first_names: dict[int, str] = {}
    for name, tensor in state.items():
        validation.instance(f"weight {name!r}", tensor, Tensor, "a tensor")
        first_names.setdefault(id(tensor), name)
    return {name: state[name].detach() for name in first_names.values()}


def fill(module: nn.Module, tensors: Mapping[str, Tensor], source: Path | str) -> None:
    """Copy the :func:`weights` of another module into this one; ValueError if they do not fit."""
    _compare(source, _kinds(tensors), _kinds(weights(module)))
    module.load_state_dict(tensors, strict=False)  # names left out are of the same tensors


def scaling_of(value: Any) -> Any:
    """The scaling that a file describes by this value; anything else as it is."""
    if not isinstance(value, dict) or "kind" not in value:
        return value
    classes = {scaling.__name__: scaling for scaling in _subclasses(Scaling)}
    kind = validation.choice("kind of scaling", value["kind"], classes)
    return classes[kind](**{name: field for name, field in value.items() if name != "kind"})


def _subclasses(kind: type) -> list[type]:
    """All classes that inherit from this one, also those that do so by way of another."""
    direct: list[type] = kind.__subclasses__()
    return direct + [further for subclass in direct for further in _subclasses(subclass)]


def _rounded(tensors: Mapping[str, Tensor], dtype: torch.dtype | None) -> dict[str, Tensor]:
    """Copies on the CPU, those that are floats in another dtype."""
    if dtype is not None and not dtype.is_floating_point:
        raise TypeError(f"dtype must be a floating-point type such as torch.float16, got {dtype}")
    copies = {}
    for name, tensor in tensors.items():
        rounded = tensor if dtype is None or not tensor.is_floating_point() else tensor.to(dtype)
        if bool((rounded.isinf() & tensor.isfinite()).any()):
            raise ValueError(f"dtype must hold every weight, {dtype} is too small for {name}")
        copies[name] = rounded.cpu().clone(memory_format=torch.contiguous_format)
    return copies


def _parts(module: nn.Module) -> dict[str, Any]:
    """What decides how weights are read: name → class and options of encodings and attention."""
    parts = {}
    for name, part in module.named_modules():
        if isinstance(part, MultiHeadAttention):
            own_options = {"causal": part.causal, "log_n": part.log_n}
        elif isinstance(part, PositionalEncoding):
            own_options = part.options
        else:
            continue
        kind = type(part).__name__
        options = {"d_model": part.d_model, "n_heads": part.n_heads, **own_options}
        parts[name] = {"class": kind, "options": _as_json(f"options of {kind}", options)}
    return parts


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    """Each tensor's kind of numbers and shape, as messages show them."""
    return {
        name: f"{'float' if tensor.is_floating_point() else 'whole'} {tuple(tensor.shape)}"
        for name, tensor in tensors.items()
    }


def _as_json(name: str, value: Any) -> Any:
    """A value as JSON gives it back, scalings as {"kind": class, …}."""

    def encode(part: Any) -> Any:
        if isinstance(part, Scaling) and dataclasses.is_dataclass(part):
            return {"kind": type(part).__name__, **dataclasses.asdict(part)}
        if isinstance(part, numbers.Integral):  # NumPy's are none of Python's
            return int(part)
        raise TypeError(f"a {type(part).__name__} is neither")

    try:
        return json.loads(json.dumps(value, default=encode))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be JSON or scalings, got {value!r}: {error}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The description and the tensors of a file whose checksum fits."""
    content = path.read_bytes()
    try:
        tensors = safetensors.load(content)
        header, data = _split(content)
        description = json.loads(header["__metadata__"][KEY])
        is_newer = validation.integer("format", description["format"]) > FORMAT
        if not is_newer and description.pop("sha256") != _digest(description, data):
            raise ValueError("its checksum does not fit")
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise OSError(f"{path} is no model of this course, or damaged: {error!r}") from error
    if is_newer:
        raise ValueError(
            f"{path} is of course {description.get('course')}, format {description['format']}; "
            f"course {__version__} reads format {FORMAT}: install a newer one"
        )
    return description, tensors


def _split(content: bytes) -> tuple[Any, bytes]:
    """The header of a safetensors file, and the bytes of its tensors."""
    end = 8 + int.from_bytes(content[:8], "little")
    return json.loads(content[8:end]), content[end:]


def _digest(description: Mapping[str, Any], data: bytes) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode() + data).hexdigest()


def _compare(source: Path | str, there: Any, here: Any) -> None:
    """Raise ValueError that says where two descriptions differ, and how."""
    differences = [*_differences("", there, here)]
    if differences:
        more = "; …" if len(differences) > 3 else ""
        raise ValueError(f"{source} does not fit: {'; '.join(differences[:3])}{more}")


def _differences(name: str, there: Any, here: Any) -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        kinds_differ = there.get("kind") != here.get("kind")  # then their fields do as well
        for key in ["kind"] if kinds_differ else dict.fromkeys([*there, *here]):
            parts = there.get(key, "nothing"), here.get(key, "nothing")
            yield from _differences(f"{name}.{key}".strip("."), *parts)
    elif there != here:
        yield f"{name}: {there} there, {here} here"
