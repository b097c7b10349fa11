"""What an exercise forbids, tested by watching an answer at work: calls, loops, large tensors."""

from __future__ import annotations

import inspect
import linecache
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import describe

Case = tuple[Any, ...]
EXPONENTIALS = ("exp", "exp2", "exp_", "softmax", "log_softmax", "pow", "__pow__", "__rpow__")
OUTSIDE = ("numpy", "__array__", "tolist")  # what follows cannot be watched


class Rule(ABC):
    """Something that an exercise asks for besides the right numbers."""

    @abstractmethod
    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """How the function breaks the rule, in a sentence or two; empty if it keeps it."""


class Seen(TorchFunctionMode):
    """What a function did while it answered a case.

    ``TorchDispatchMode`` would see more, the inside of PyTorch's own functions, but its first use
    loads ``torch._dynamo``, which takes seconds.

    Attributes:
        operations: PyTorch's functions and methods by name, in order; "indexing" for x[numbers].
        tensors: what they returned: the name, the shape, and how many numbers the memory holds.
        codes: the code of each Python function that was called, by whomever.
        lines: how often each line of the learner's notebook ran, by file and number.
        answer: what the function returned, or the exception that it ended with.
    """

    def __init__(self, yours: Function, case: Case, seconds: float) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.tensors: list[tuple[str, torch.Size, int]] = []
        self.codes: set[CodeType] = set()
        self.lines: Counter[tuple[str, int]] = Counter()
        self._notebook = getattr(yours, "__globals__", None)
        self.answer = call(lambda *given: self._watch(yours, given), case, seconds).answer

    def _watch(self, yours: Function, given: Case) -> Any:
        before = sys.gettrace()
        with self:
            sys.settrace(self._enter)
            try:
                return yours(*given)
            finally:
                sys.settrace(before)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        self.codes.add(frame.f_code)
        return self._line if frame.f_globals is self._notebook else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines[frame.f_code.co_filename, frame.f_lineno] += 1
        return self._line

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", str(func))
        by_number = name in ("__getitem__", "__setitem__") and _has_numbers(args[1])
        self.operations.append("indexing" if by_number else name)
        for one in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(one, Tensor):
                self.tensors.append((name, one.shape, _memory(one)))
        return out


def _memory(x: Tensor) -> int:
    """Its numbers, or, where ``expand`` has repeated them, those that it holds."""
    return min(x.numel(), x.untyped_storage().nbytes() // x.element_size())


def _has_numbers(index: Any) -> bool:
    """Whether an index is, or holds, a list or a tensor of row numbers; a mask is none."""
    parts = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(one, list) or (isinstance(one, Tensor) and one.ndim and one.dtype != torch.bool)
        for one in parts
    )


@dataclass(frozen=True)
class Without(Rule):
    """Functions and operations that would solve the exercise must not be called, by any name.

    Attributes:
        functions: Python functions, recognised by their code, whoever calls them.
        operations: names of PyTorch's functions and methods, as ``Seen`` has them.
        why: what to do instead, a sentence.
    """

    functions: tuple[Function, ...] = ()
    operations: tuple[str, ...] = ()
    why: str = "Here it is yours to write."

    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the first of them that was called."""
        banned = {inspect.unwrap(one).__code__: one.__name__ for one in self.functions}
        for case in cases:
            seen = Seen(yours, case, seconds)
            names = [banned[code] for code in seen.codes if code in banned]
            names += [one for one in seen.operations if one in self.operations]
            if names:
                return f"the answer is right, but it comes from {names[0]}. {self.why}"
        return ""


@dataclass(frozen=True)
class NoLoops(Rule):
    """As much work for a small case as for a large one: lines of the notebook, and operations.

    So a ``for``, ``while`` or comprehension over the data is found wherever the notebook has it,
    and one inside of ``map`` or a library by its operations. Loops over two or three things that
    are always two or three are nobody's harm.
    """

    small: Case
    large: Case

    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """Quote the loop, or say how many operations the two sizes take."""
        few, many = (Seen(yours, case, min(seconds, 1.0)) for case in (self.small, self.large))
        more = many.lines - few.lines
        if more:
            line = linecache.getline(*more.most_common(1)[0][0]).strip() or "for …"
            return f"the answer is right, but there is a loop in it: `{line}`. Do it without."
        if isinstance(many.answer, BaseException):
            problem = f"{type(many.answer).__name__} {many.answer}".strip()
            return f"the answer is right, but it ends with {problem} for {describe(self.large)}."
        counts = len(few.operations), len(many.operations)
        if counts[0] != counts[1]:
            return (
                f"the answer is right, but a small case takes {counts[0]} operations and a large "
                f"one {counts[1]}. Which few operations on whole tensors would do?"
            )
        return ""


@dataclass(frozen=True)
class AtMost(Rule):
    """No tensor larger than the exercise allows: ``numbers`` of a case's arguments."""

    case: Case
    numbers: Callable[..., int]
    why: str = "Which part of it is needed at a time?"

    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name both sizes."""
        tensors = Seen(yours, self.case, seconds).tensors
        largest = max((memory for *_, memory in tensors), default=0)
        allowed = self.numbers(*self.case)
        if largest <= allowed:
            return ""
        return (
            f"the answer is right, but its largest tensor holds {largest:,} numbers where "
            f"{allowed:,} are enough. {self.why}"
        )


@dataclass(frozen=True)
class InParts(Rule):
    """No exponential along a whole axis, which no other axis of the case has as its length."""

    case: Case
    length: int
    why: str

    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the operation."""
        for name, shape, _ in Seen(yours, self.case, seconds).tensors:
            if name in EXPONENTIALS and self.length in shape:
                return f"the answer is right, but {name} gets all {self.length} at once. {self.why}"
        return ""
