"""Where an answer and another one part: its type, its shape, its numbers, its dtype, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-4  # relative: what float32 loses in a few hundred additions, with room
NOTHING = 1e-6  # so far from a wanted 0 is 0


def difference(got: Any, want: Any, tolerance: float = TOLERANCE, any_dtype: bool = False) -> str:
    """Say where ``got`` and ``want`` part; empty if they are equal.

    Args:
        got: what a function returned, or the exception that it ended with.
        want: the same of a function to compare with: a bool, a number, a tensor, a tuple or list
            of these; of an exception, or anything else, only the type must be equal.
        tolerance: largest difference, as a share of the wanted number, or of a tenth of the largest
            one in its tensor where that is more. ``NOTHING`` comes on top. Whole numbers that are
            wanted have none.
        any_dtype: whether 1.0, 1 and True are equal.
    """
    if isinstance(got, BaseException):
        if type(got) is type(want):
            return ""
        asked = f" {type(want).__name__} is asked for." if isinstance(want, BaseException) else ""
        return f"your function stopped with {type(got).__name__}: {got}{asked}"
    if isinstance(want, BaseException):
        return f"no error came, {type(want).__name__} is asked for."
    if got is None and want is not None:
        return "your function returns None. Is a `return` missing?"
    if isinstance(want, (tuple, list)):
        return _of_rows(got, want, tolerance, any_dtype)
    if isinstance(want, Tensor) and want.ndim:
        return _of_tensors(got, want, tolerance, any_dtype)
    if shape(want) is not None:
        return _of_numbers(got, want, tolerance, any_dtype)
    return "" if type(got) is type(want) else f"expected {type(want).__name__}, got {got!r:.80}."


def shape(value: Any) -> tuple[int, ...] | None:
    """The shape of a tensor, () of a number, None of anything else."""
    if isinstance(value, (bool, int, float, np.generic)):
        return ()
    return tuple(value.shape) if isinstance(value, Tensor) else None


def describe(case: tuple[Any, ...]) -> str:
    """The arguments of a call, short: small rows of numbers in full, tensors by their shape."""

    def text(value: Any) -> str:
        if isinstance(value, Tensor):
            small = value.numel() <= 6 and value.ndim <= 1
            return str(value.tolist()) if small else f"tensor of shape {tuple(value.shape)}"
        return str(getattr(value, "__name__", f"{value!r:.80}"))

    return "(" + ", ".join(map(text, case)) + ")"


def _of_rows(got: Any, want: Sequence[Any], tolerance: float, any_dtype: bool) -> str:
    if not isinstance(got, (tuple, list)):
        return f"expected {len(want)} results, such as `return a, b`, got {type(got).__name__}."
    if len(got) != len(want):
        return f"expected {len(want)} results, got {len(got)}."
    for place, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        if text := difference(mine, theirs, tolerance, any_dtype):
            return f"of the {len(want)} results, number {place}: {text}"
    return ""


def _of_numbers(got: Any, want: Any, tolerance: float, any_dtype: bool) -> str:
    tolerance = max(tolerance, _rounding(got))
    got, want = _plain(got), _plain(want)
    if isinstance(want, int):  # 123,457 is not 123,456
        tolerance = 0.0
    numeric = (bool, int, float) if isinstance(want, bool) or any_dtype else (int, float)
    if not isinstance(got, numeric) or (isinstance(got, bool) and bool not in numeric):
        kind = "True or False" if isinstance(want, bool) else "a number"
        return f"expected {kind}, got {describe((got,))[1:-1]}."
    if not _close(got, want, tolerance):
        return "expected {1}, got {0}.".format(*_apart(got, want))
    if not any_dtype and isinstance(want, bool) != isinstance(got, bool):
        return f"expected {want}, got {got!r}."
    if not any_dtype and isinstance(want, int) and isinstance(got, float):
        return f"{got} is the right number as a float, and a whole number (int) is asked for."
    return ""


def _plain(value: Any) -> Any:
    """A Python number for one of NumPy's or for a tensor that holds one."""
    single = isinstance(value, np.generic) or (isinstance(value, Tensor) and value.numel() == 1)
    return value.item() if single else value


def _close(got: float, want: float, tolerance: float) -> bool:
    both_nan = got != got and want != want
    try:
        return got == want or both_nan or abs(got - want) <= tolerance * abs(want) + NOTHING
    except OverflowError:  # a whole number beyond all floats
        return False


def _of_tensors(got: Any, want: Tensor, tolerance: float, any_dtype: bool) -> str:
    if not isinstance(got, Tensor):
        return f"expected a torch tensor, got {type(got).__name__}."
    if got.shape != want.shape:
        return f"expected shape {tuple(want.shape)}, got {tuple(got.shape)}."
    exact = torch.complex128 if want.is_complex() or got.is_complex() else torch.float64
    mine, theirs = (one.detach().cpu().to_dense().to(exact) for one in (got, want))
    gap = (mine - theirs).abs().nan_to_num(nan=torch.inf)  # NaN is close to nothing but NaN
    gap[(mine == theirs) | (mine.isnan() & theirs.isnan())] = 0
    size = theirs.abs().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    room = size.clamp(min=size.max() / 10 if size.numel() else 0.0)
    share = 0.0 if _kind(want) in ("bool", "int") else max(tolerance, _rounding(got))
    apart = (gap > share * room + NOTHING).nonzero()
    other_kind = "" if any_dtype or _kind(got) == _kind(want) else f"dtype {want.dtype}"
    if not len(apart):
        right = f"the numbers are right, but expected {other_kind}, got {got.dtype}."
        return right if other_kind else ""
    index = tuple(int(i) for i in apart[0])
    mine_there, theirs_there = _apart(mine[index].item(), theirs[index].item())
    return (
        (f"expected {other_kind}, got {got.dtype}; " if other_kind else "")
        + f"the first value that differs is yours[{', '.join(map(str, index))}] = {mine_there}, "
        f"expected {theirs_there}."
    )


def _rounding(got: Any) -> float:
    """What an answer's own dtype may lose: matters for 16 bits only."""
    floating = isinstance(got, Tensor) and (got.is_floating_point() or got.is_complex())
    return 8 * torch.finfo(got.dtype).eps if floating else 0.0


def _kind(values: Tensor) -> str:
    if values.dtype == torch.bool:
        return "bool"
    return "complex" if values.is_complex() else "float" if values.is_floating_point() else "int"


def _apart(got: Any, want: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to see that they differ."""
    for digits in (6, 9, 17):
        texts = tuple(
            str(one) if isinstance(one, int) else format(one, f".{digits}g") for one in (got, want)
        )
        if texts[0] != texts[1]:
            break
    return texts[0], texts[1]
