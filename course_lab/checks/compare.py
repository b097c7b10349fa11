"""Where an answer differs from another: in its type, shape, numbers or dtype, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

TOLERANCE = 1e-4  # relative: what float32 loses in a few hundred additions, with room
ZERO_TOLERANCE = 1e-6  # absolute: how far from an expected 0 still counts as 0


def difference(
    actual: Any, expected: Any, tolerance: float = TOLERANCE, any_dtype: bool = False
) -> str:
    """Say where ``actual`` differs from ``expected``; "" if it does not.

    Args:
        actual: what a function returned, or the exception that it ended with.
        expected: a bool, a number, a tensor, or a tuple or list of these. Of an exception, or of
            anything else, only the type must be equal.
        tolerance: the largest difference, as a share of the expected number, or of a tenth of the
            largest number in its tensor where that is more. ``ZERO_TOLERANCE`` is added. Expected
            integers must be met exactly.
        any_dtype: whether 1.0, 1 and True are equal.
    """
    if isinstance(actual, BaseException):
        return _compare_errors(actual, expected)
    if isinstance(expected, BaseException):
        return f"expected {type(expected).__name__}, but your function raised no error."
    if actual is None and expected is not None:
        return "your function returns None. Is a `return` missing?"
    if isinstance(expected, (tuple, list)):
        return _compare_sequences(actual, expected, tolerance, any_dtype)
    if isinstance(expected, Tensor) and expected.ndim:
        return _compare_tensors(actual, expected, tolerance, any_dtype)
    if shape_of(expected) is not None:
        return _compare_numbers(actual, expected, tolerance, any_dtype)
    if type(actual) is type(expected):
        return ""
    return f"expected {type(expected).__name__}, got {actual!r:.80}."


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a tensor, () for a number, None for anything else."""
    if isinstance(value, (bool, int, float, np.generic)):
        return ()
    return tuple(value.shape) if isinstance(value, Tensor) else None


def describe(case: tuple[Any, ...]) -> str:
    """Return the arguments of a call as a short text: small rows in full, other tensors by shape.

    >>> describe((torch.zeros(3, 4), 2, torch.tensor([0, 1])))
    '(tensor of shape (3, 4), 2, [0, 1])'
    """
    return "(" + ", ".join(map(_describe_value, case)) + ")"


def _describe_value(value: Any) -> str:
    if isinstance(value, Tensor):
        is_small = value.numel() <= 6 and value.ndim <= 1
        return str(value.tolist()) if is_small else f"tensor of shape {tuple(value.shape)}"
    return str(getattr(value, "__name__", f"{value!r:.80}"))


def _compare_errors(actual: BaseException, expected: Any) -> str:
    if type(actual) is type(expected):
        return ""
    text = f"your function raised {type(actual).__name__}: {actual}"
    if isinstance(expected, BaseException):
        return f"expected {type(expected).__name__}, but {text}"
    return text


def _compare_sequences(
    actual: Any, expected: Sequence[Any], tolerance: float, any_dtype: bool
) -> str:
    count = len(expected)
    if not isinstance(actual, (tuple, list)):
        return f"expected {count} results, such as `return a, b`, got {type(actual).__name__}."
    if len(actual) != count:
        return f"expected {count} results, got {len(actual)}."
    for place, (actual_part, expected_part) in enumerate(zip(actual, expected, strict=True)):
        if text := difference(actual_part, expected_part, tolerance, any_dtype):
            return f"result {place + 1} of {count}: {text}"
    return ""


def _compare_numbers(actual: Any, expected: Any, tolerance: float, any_dtype: bool) -> str:
    tolerance = max(tolerance, _rounding(actual))
    actual, expected = _as_python_number(actual), _as_python_number(expected)
    if isinstance(expected, int):  # 123,457 is not 123,456
        tolerance = 0.0
    accepts_bool = isinstance(expected, bool) or any_dtype
    is_numeric = isinstance(actual, (int, float)) and (accepts_bool or not isinstance(actual, bool))
    if not is_numeric:
        kind = "True or False" if isinstance(expected, bool) else "a number"
        return f"expected {kind}, got {_describe_value(actual)}."
    if not _is_close(actual, expected, tolerance):
        actual_text, expected_text = distinct_texts(actual, expected)
        return f"expected {expected_text}, got {actual_text}."
    if not any_dtype and isinstance(expected, bool) != isinstance(actual, bool):
        return f"expected {expected}, got {actual!r}."
    if not any_dtype and isinstance(expected, int) and isinstance(actual, float):
        return f"{actual} is the right number as a float; a whole number (int) is expected."
    return ""


def _as_python_number(value: Any) -> Any:
    """Return NumPy's numbers and tensors that hold one number as Python's."""
    is_single = isinstance(value, np.generic) or (isinstance(value, Tensor) and value.numel() == 1)
    return value.item() if is_single else value


def _is_close(actual: float, expected: float, tolerance: float) -> bool:
    both_nan = actual != actual and expected != expected
    if actual == expected or both_nan:
        return True
    try:
        return abs(actual - expected) <= tolerance * abs(expected) + ZERO_TOLERANCE
    except OverflowError:  # a whole number beyond all floats
        return False


def no_tensor(value: Any) -> str:
    """Say that a value is no tensor, and ask what makes one of it; "" if it is one."""
    if isinstance(value, Tensor):
        return ""
    return f"expected a torch tensor, got {type(value).__name__}. What makes one of it?"


def _compare_tensors(actual: Any, expected: Tensor, tolerance: float, any_dtype: bool) -> str:
    if text := no_tensor(actual):
        return text
    if actual.shape != expected.shape:
        return f"expected shape {tuple(expected.shape)}, got {tuple(actual.shape)}."
    wrong_dtype = ""
    if not any_dtype and _kind(actual) != _kind(expected):
        wrong_dtype = f"expected dtype {expected.dtype}, got {actual.dtype}"
    if text := _first_difference(actual, expected, tolerance):
        return f"{wrong_dtype}; {text}" if wrong_dtype else text
    return f"the numbers are right, but {wrong_dtype}." if wrong_dtype else ""


def _first_difference(actual: Tensor, expected: Tensor, tolerance: float) -> str:
    """Name the first number of two tensors of one shape that is not close; "" if all are."""
    is_complex = expected.is_complex() or actual.is_complex()
    actual_exact, expected_exact = _exact(actual, is_complex), _exact(expected, is_complex)
    gaps = (actual_exact - expected_exact).abs().nan_to_num(nan=torch.inf)
    both_nan = actual_exact.isnan() & expected_exact.isnan()
    gaps[(actual_exact == expected_exact) | both_nan] = 0
    sizes = expected_exact.abs().nan_to_num(nan=0.0, posinf=0.0, neginf=0.0)
    scale = sizes.clamp(min=sizes.max() / 10 if sizes.numel() else 0.0)
    is_exact = _kind(expected) in ("bool", "int")
    tolerance = 0.0 if is_exact else max(tolerance, _rounding(actual))
    differing = (gaps > tolerance * scale + ZERO_TOLERANCE).nonzero()
    if not len(differing):
        return ""
    index = tuple(differing[0].tolist())
    actual_text, expected_text = distinct_texts(
        actual_exact[index].item(), expected_exact[index].item()
    )
    place = ", ".join(map(str, index))
    return (
        f"the first value that differs is yours[{place}] = {actual_text}, expected {expected_text}."
    )


def _exact(values: Tensor, is_complex: bool) -> Tensor:
    return values.detach().cpu().to_dense().to(torch.complex128 if is_complex else torch.float64)


def _rounding(actual: Any) -> float:
    """Return what an answer's own dtype may lose: more than the tolerance for 16 bits only."""
    if isinstance(actual, Tensor) and (actual.is_floating_point() or actual.is_complex()):
        return 8 * torch.finfo(actual.dtype).eps
    return 0.0


def _kind(values: Tensor) -> str:
    if values.dtype == torch.bool:
        return "bool"
    if values.is_complex():
        return "complex"
    return "float" if values.is_floating_point() else "int"


def distinct_texts(
    actual: Any, expected: Any, digits_tried: Sequence[int] = (6, 9, 17)
) -> tuple[str, str]:
    """Return two numbers as texts with as many digits as it takes to tell them apart."""
    for digits in digits_tried:
        texts = _as_text(actual, digits), _as_text(expected, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _as_text(number: Any, digits: int) -> str:
    return str(number) if isinstance(number, int) else format(number, f".{digits}g")
