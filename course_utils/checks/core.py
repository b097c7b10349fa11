"""How an exercise is checked: type, shape, dtype, values, then a bank of known mistakes.

A check never raises because of a learner's answer. It explains. The exercises themselves are
in one module a lesson.
"""

from __future__ import annotations

import copy
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[..., Any]


@dataclass(frozen=True)
class Mistake:
    """A wrong answer people are known to give, and the question that leads on from it.

    Attributes:
        name: what went wrong, a few words.
        question: what to ask the learner; it must not give the answer away.
        answer: the wrong answer itself, called like the right one.
    """

    name: str
    question: str
    answer: Function


@dataclass(frozen=True)
class Verdict:
    """What a check found: ``kind`` is "right", "untouched", "mistake" or "wrong"."""

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


class Check:
    """``check(yours)`` prints what it finds; ``check.hint(1)`` prints the first of three hints.

    ``reference``, the right answer, and yours are called with the arguments of each of ``cases``;
    tensors are copied for each call. Each of the known ``mistakes`` must differ from the reference
    in some case. Each hint is more open than the one before. ``tolerance`` is the largest absolute
    difference that still counts as equal.
    """

    def __init__(
        self,
        name: str,
        reference: Function,
        cases: Sequence[tuple[Any, ...]],
        mistakes: Sequence[Mistake],
        hints: tuple[str, str, str],
        tolerance: float = 1e-5,
    ) -> None:
        self.name, self.reference, self.cases = name, reference, list(cases)
        self.mistakes, self.hints, self.tolerance = list(mistakes), hints, tolerance

    def __call__(self, yours: Any) -> None:
        """Print what is right or wrong with the function ``yours``."""
        print(self.verdict(yours))

    def hint(self, number: int = 1) -> None:
        """Print hint 1, 2 or 3."""
        if number not in (1, 2, 3):
            print(f"There are hints 1, 2 and 3, got {number!r}.")
            return
        print(f"Hint {number} of 3: {self.hints[number - 1]}")

    def verdict(self, yours: Any) -> Verdict:
        """Like calling the check, but returns what it would print."""
        if not callable(yours):
            advice = f"pass the function itself, without brackets, got {type(yours).__name__}."
            return Verdict("wrong", f"✗ {self.name}: {advice}")
        answers = [_outcome(yours, case) for case in self.cases]
        if any(isinstance(answer, NotImplementedError) for answer in answers):
            return Verdict("untouched", f"… {self.name}: not attempted yet.")
        problems = list(self._differences(answers, self.reference))
        if not any(problems):
            return Verdict("right", f"✓ {self.name}: right, in all {len(self.cases)} cases.")
        for mistake in self.mistakes:
            if not any(self._differences(answers, mistake.answer)):
                return Verdict("mistake", f"✗ {self.name}: {mistake.name}. {mistake.question}")
        case, first = next(
            (case, text) for case, text in zip(self.cases, problems, strict=True) if text
        )
        line = _line_that_raised(yours, answers)
        return Verdict("wrong", f"✗ {self.name}: called with {_describe(case)} {first}{line}")

    def _differences(self, answers: Sequence[Any], other: Function) -> Iterator[str]:
        for case, got in zip(self.cases, answers, strict=True):
            yield _difference(got, _outcome(other, case), self.tolerance)


def _difference(got: Any, want: Any, tolerance: float) -> str:
    """Say where ``got`` and ``want`` part: type, then shape, dtype, values. Empty if equal."""
    if isinstance(got, Exception):
        if type(got) is type(want):
            return ""
        return f"your function stopped with {type(got).__name__}: {got}"
    if isinstance(want, Exception):
        return "no error came."
    if got is None:
        return "your function returns None. Is a `return` missing?"
    if isinstance(want, tuple):
        return _tuple_difference(got, want, tolerance)
    if isinstance(want, Tensor):
        return _tensor_difference(got, want, tolerance)
    if isinstance(got, np.generic) or (isinstance(got, Tensor) and got.numel() == 1):
        got = got.item()
    if isinstance(want, bool):
        return "" if got is want else f"expected {want}, got {_describe((got,))}."
    if isinstance(got, bool) or not isinstance(got, (int, float)):
        return f"expected a number, got {_describe((got,))}."
    if got == want or (abs(got) < 1e300 and abs(got - want) <= tolerance):
        return ""
    return f"expected {want:.6g}, got {got if abs(got) > 1e300 else format(got, '.6g')}."


def _outcome(function: Function, case: tuple[Any, ...]) -> Any:
    """What the function returns for a case, or the exception it ends with."""
    try:
        with torch.no_grad():
            return function(*copy.deepcopy(case))
    except SystemExit as error:
        return RuntimeError(f"it called exit ({error})")
    except Exception as error:
        return error


def _line_that_raised(yours: Function, answers: Sequence[Any]) -> str:
    error = next((answer for answer in answers if isinstance(answer, Exception)), None)
    code = getattr(yours, "__code__", None)
    if error is None or code is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.filename == code.co_filename and frame.line]
    return f" (in your line `{lines[-1]}`)" if lines else ""


def _tuple_difference(got: Any, want: tuple[Tensor, ...], tolerance: float) -> str:
    if not isinstance(got, (tuple, list)):
        return f"expected {len(want)} tensors, such as `return a, b`, got {type(got).__name__}."
    if len(got) != len(want):
        return f"expected {len(want)} tensors, got {len(got)}."
    for place, (mine, theirs) in enumerate(zip(got, want, strict=True)):
        if text := _tensor_difference(mine, theirs, tolerance):
            return f"of the {len(want)} results, number {place}: {text}"
    return ""


def _tensor_difference(got: Any, want: Tensor, tolerance: float) -> str:
    if not isinstance(got, Tensor):
        return f"expected a torch tensor, got {type(got).__name__}."
    if got.shape != want.shape:
        return f"expected shape {tuple(want.shape)}, got {tuple(got.shape)}."
    if _kind(got) != _kind(want):
        return f"expected dtype {want.dtype}, got {got.dtype}."
    exact = torch.complex128 if want.is_complex() else torch.float64
    mine, theirs = got.detach().cpu().to_dense().to(exact), want.cpu().to(exact)
    gap = (mine - theirs).abs().nan_to_num(nan=torch.inf)  # NaN is close to nothing but NaN
    gap[(mine == theirs) | (mine.isnan() & theirs.isnan())] = 0
    if bool((gap <= tolerance).all()):
        return ""
    index = tuple(int(i) for i in (gap > tolerance).nonzero()[0])
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return (
        f"the first value that differs is yours{place} = {mine[index].item():.6g}, "
        f"expected {theirs[index].item():.6g}."
    )


def _kind(values: Tensor) -> str:
    if values.dtype == torch.bool:
        return "bool"
    return "complex" if values.is_complex() else "float" if values.is_floating_point() else "int"


def _describe(case: tuple[Any, ...]) -> str:
    def text(value: Any) -> str:
        if isinstance(value, Tensor):
            small = value.numel() <= 6 and value.ndim == 1
            return str(value.tolist()) if small else f"a tensor of shape {tuple(value.shape)}"
        return str(getattr(value, "__name__", repr(value)))

    return "(" + ", ".join(map(text, case)) + ")"
