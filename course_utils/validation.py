"""Argument checks that every public function shares: each error names argument, value and remedy.

Nothing here knows about encodings, attention or lessons.
"""

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor


def instance(name: str, value: Any, kind: Any, what: str) -> None:
    """Raise unless ``value`` is of a class, or of one of several; ``what`` says what is valid."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {what}, got {type(value).__name__} {value!r}")


def sentence(name: str, value: Any) -> None:
    """Raise unless ``value`` is a string with more than blanks in it."""
    instance(name, value, str, "a string")
    if not value.strip():
        raise ValueError(f"{name} must not be empty, got {value!r}")


def integer(name: str, value: Any, minimum: int = 1) -> int:
    """Return ``value`` as an int, or raise unless it is a whole number of at least ``minimum``.

    A bool does not count, nor does a float.
    """
    if torch.compiler.is_compiling():  # a length that a compiled model leaves open
        return value
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(
            f"{name} must be an integer of at least {minimum}, got {type(value).__name__} {value!r}"
        )
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return int(value)


def below(name: str, value: Any, end: int, what: str) -> int:
    """Return ``value``, or raise unless it is from 0 to ``end`` − 1; ``what`` says what ends."""
    number = integer(name, value, minimum=0)
    if number >= end:
        raise ValueError(f"{name} must be below {end}, {what}, got {value}")
    return number


def seed(value: Any) -> int:
    """Return ``value``, or raise unless it is from 0 to 2³² − 1, the seeds that NumPy takes."""
    return below("seed", value, 2**32, "as for NumPy")


def even(name: str, value: Any) -> int:
    """Return ``value`` as an int, or raise unless it is an even number of at least 2."""
    return _multiple(name, value, 2, "even (each frequency takes a sin and a cos)")


def quarters(name: str, value: Any) -> int:
    """Return ``value``, or raise unless it is divisible by 4: sin and cos for each of two axes."""
    return _multiple(name, value, 4, "divisible by 4 (sin and cos for each of two axes)")


def _multiple(name: str, value: Any, unit: int, what: str) -> int:
    number = integer(name, value, minimum=unit)
    if number % unit:
        low = number - number % unit
        raise ValueError(f"{name} must be {what}, got {number}; try {low} or {low + unit}")
    return number


def heads(d_model: Any, n_heads: Any) -> int:
    """Return the width of one head, or raise unless ``n_heads`` divides ``d_model``."""
    width = integer("d_model", d_model)
    return width // divisor("n_heads", n_heads, "d_model", width)


def divisor(name: str, value: Any, of_name: str, of: int) -> int:
    """Return ``value``, or raise unless it is a whole number that divides another one."""
    count = integer(name, value)
    if of % count:
        valid = ", ".join(str(n) for n in range(1, of + 1) if of % n == 0)
        raise ValueError(
            f"{name} must divide {of_name}, got {name} {count} and {of_name} {of}; valid: {valid}"
        )
    return count


def boolean(name: str, value: Any) -> bool:
    """Return ``value``, or raise unless it is True or False."""
    instance(name, value, bool, "True or False")
    return value


def number(name: str, value: Any, what: str = "a finite number") -> float:
    """Return ``value`` as a float, or raise unless it is a finite number (bool does not count)."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} must be {what}, got {type(value).__name__} {value!r}")
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not -math.inf < converted < math.inf:  # torch.compile knows no math.isfinite
        raise ValueError(f"{name} must be {what}, got {converted}")
    return converted


def positive(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is a finite number above 0."""
    converted = number(name, value, "a finite number above 0")
    if converted <= 0:
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
    return converted


def share(name: str, value: Any) -> float:
    """Return ``value`` as a float, or raise unless it is at least 0 and below 1."""
    converted = number(name, value, "at least 0 and below 1")
    if not 0 <= converted < 1:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value}")
    return converted


def choice(name: str, value: Any, valid: Iterable[str]) -> str:
    """Return ``value``, or raise unless it is one of ``valid``; suggests the nearest spelling."""
    options = list(valid)
    instance(name, value, str, "a string")
    if value not in options:
        nearest = difflib.get_close_matches(value.lower(), options, n=1)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else "."
        raise ValueError(f"{name} {value!r} is unknown{hint} Valid: {', '.join(options) or 'none'}")
    return value


def tensor(name: str, value: Any, shape: str, ndim: int | None = None) -> Tensor:
    """Return ``value``, or raise unless it is a tensor (of ``ndim`` axes, none of them empty).

    ``shape`` is what the message says is valid, such as ``"(batch, seq, d_model)"``.
    """
    instance(name, value, Tensor, f"a tensor {shape}")
    if ndim is not None and value.ndim != ndim:
        raise ValueError(f"{name} must have shape {shape}, got {tuple(value.shape)}")
    if value.numel() == 0:
        raise ValueError(f"{name} must not be empty, got shape {tuple(value.shape)} for {shape}")
    return value


def floating(name: str, value: Any, shape: str, ndim: int | None = None) -> Tensor:
    """Like :func:`tensor`, and the tensor must hold floating-point numbers."""
    tensor(name, value, shape, ndim)
    if not value.is_floating_point():
        raise TypeError(f"{name} must hold floating-point numbers, got {value.dtype}")
    return value


def real(name: str, value: Any) -> Tensor:
    """``value`` as float64 if it is that, else float32; whole numbers below 2²⁴ stay exact."""
    tensor(name, value, "(…) of numbers")
    if value.dtype == torch.bool or value.is_complex():
        raise TypeError(f"{name} must hold integers or floats, got {value.dtype}")
    return value if value.dtype == torch.float64 else value.to(torch.float32)


def matrix(name: str, value: Any, shape: str = "(n, width)") -> Tensor:
    """Return ``value``, or raise unless it is a finite float matrix."""
    return finite(name, floating(name, value, shape, ndim=2))


def readable(value: Tensor) -> bool:
    """Whether a tensor's values can be read for free: a compiler would stop, a GPU would wait."""
    return value.device.type == "cpu" and not torch.compiler.is_compiling()


def positions(
    name: str,
    value: Any,
    length: int | None = None,
    *,
    whole: bool = False,
    past: int | None = None,
    batches: bool = False,
    texts: int | None = None,
) -> Tensor:
    """Return ``value``, or raise unless it is one row of usable positions.

    Args:
        value: integers or finite floats, shape (seq,).
        length: how many positions there must be; None allows any number above 0.
        whole: True refuses fractions (a table can only be read at a row).
        past: the first position that is too large; refuses negative ones too.
        batches: True allows (batch, seq) too.
        texts: the same, and how many rows there must then be.
    """
    batches = batches or texts is not None
    shape = "(seq,), for example torch.arange(seq)"
    row = tensor(name, value, shape, ndim=None if batches else 1)
    if row.ndim not in (1, 2):
        raise ValueError(f"{name} must have shape (seq,) or (batch, seq), got {tuple(row.shape)}")
    if not (row.is_floating_point() or row.dtype in (torch.int64, torch.int32)):
        # Offsets of smaller integers would wrap around.
        raise TypeError(f"{name} must hold int64, int32 or floats, got {row.dtype}")
    if length is not None:
        one_each(name, row.shape[-1], length)
    if texts is not None:
        row_each(name, row, texts)
    if not readable(row):
        return row
    if row.is_floating_point():
        _refuse(name, row, ~row.isfinite(), "finite")
    if whole and row.is_floating_point():
        _refuse(name, row, row != row.floor(), "whole numbers")
    if past is not None:
        _refuse(name, row, (row < 0) | (row >= past), f"from 0 to {past - 1}")
    return row


def one_each(name: str, count: int, tokens: int) -> None:
    """Raise unless there are as many positions as tokens."""
    if count != tokens:
        raise ValueError(f"{name} must have one entry for each of the {tokens} tokens, got {count}")


def row_each(name: str, row: Tensor, texts: int) -> None:
    """Raise unless positions are one row, or one row for each text of a batch."""
    if row.ndim == 2 and row.shape[0] != texts:
        raise ValueError(
            f"{name} must have one row, or one for each of the {texts} texts, got {row.shape[0]}"
        )


def from_zero(name: str, row: Tensor, what: str) -> None:
    """Raise if a position is negative; ``what`` says what stands at 0."""
    if readable(row):
        _refuse(name, row, row < 0, f"0 or more, {what}")


def _refuse(name: str, row: Tensor, is_wrong: Tensor, valid: str) -> None:
    """Raise if a position is wrong; the message says where the first one is."""
    if bool(is_wrong.any()):
        place = is_wrong.nonzero()[0].tolist()
        at = ", ".join(map(str, place))
        value = row[tuple(place)].item()
        raise ValueError(f"{name} must be {valid}, got {value} at place {at}")


def token_ids(name: str, value: Any, vocab_size: int) -> Tensor:
    """Return ``value`` as int64, or raise unless it is (batch, seq) ids below ``vocab_size``."""
    ids = tensor(name, value, "(batch, seq)", ndim=2)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise TypeError(f"{name} must hold integer ids, got {ids.dtype}")
    if readable(ids):
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= vocab_size:
            wrong = low if low < 0 else high
            raise ValueError(f"{name} must be ids from 0 to {vocab_size - 1}, got {wrong}")
    return inside(ids.long(), vocab_size, f"{name} must be ids from 0 to {vocab_size - 1}")


def inside(rows: Tensor, end: int, message: str) -> Tensor:
    """Rows to read or write, from 0 to ``end`` − 1, as they are; only compiled code checks them.

    There a row outside raises RuntimeError with this message. The threads of a compiled kernel
    cannot raise: one that met such a row would end the process, so they get a row inside.
    """
    if not torch.compiler.is_compiling():
        return rows
    torch._assert_async(((rows >= 0) & (rows < end)).all(), message)
    return rows.clamp(0, end - 1)


def mask(name: str, value: Any, texts: int, keys: int, what: str, queries: int = 0) -> Tensor:
    """Return ``value``, or raise unless it is (batch, keys) of booleans; ``what`` are the keys.

    With ``queries`` it may also be (batch, queries, keys).
    """
    shape = f"({texts}, {keys}): texts, and {what}"
    by_query = queries and isinstance(value, Tensor) and value.ndim == 3
    if by_query:
        shape = f"({texts}, {queries}, {keys}): texts, queries, and {what}"
    tensor(name, value, shape, ndim=3 if by_query else 2)
    if value.dtype != torch.bool:
        raise TypeError(f"{name} must hold True and False, got {value.dtype}; try {name}.bool()")
    if value.shape != ((texts, queries, keys) if by_query else (texts, keys)):
        raise ValueError(f"{name} must have shape {shape}, got {tuple(value.shape)}")
    return value


def square(name: str, value: Any) -> Tensor:
    """Return ``value``, or raise unless it is a finite float tensor (…, n, n)."""
    floating(name, value, "(…, n, n)")
    if value.ndim < 2 or value.shape[-1] != value.shape[-2]:
        raise ValueError(f"{name} must be square, (…, n, n), got {tuple(value.shape)}")
    return finite(name, value)


def finite(name: str, value: Tensor) -> Tensor:
    """Return ``value``, or raise if it holds a NaN or an infinity."""
    not_finite = ~value.isfinite()
    if bool(not_finite.any()):
        place = tuple(not_finite.nonzero()[0].tolist())
        raise ValueError(f"{name} must be finite, got {value[place].item()} at {list(place)}")
    return value
