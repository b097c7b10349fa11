"""What an exercise forbids, found by observing an answer at work: calls, loops, large tensors."""

from __future__ import annotations

import inspect
import linecache
import re
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
WORD = re.compile(r"\w+")
LEAVES_TORCH = (
    "numpy",
    "__array__",
    "__dlpack__",
    "tolist",
)  # what follows them cannot be observed


class Rule(ABC):
    """Something that an exercise asks for besides the right numbers."""

    @abstractmethod
    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say how the function breaks the rule; "" if it keeps it.

        The text goes on after the check's ``but``, "the answer is right, but" if it has no other.
        """

    def kept(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say how well a function keeps the rule, where there is more to say than that it does."""
        return ""


@dataclass(frozen=True)
class TensorSeen:
    """A tensor that an operation returned."""

    operation: str
    shape: torch.Size
    memory: int  # how many numbers its memory holds


class Observation(TorchFunctionMode):
    """What a function does while it answers a case.

    ``TorchDispatchMode`` would see more, the inside of PyTorch's own functions, but its first use
    loads ``torch._dynamo``, which takes seconds.

    Attributes:
        operations: PyTorch's functions and methods by name, in order; "indexing" for x[numbers].
        tensors: the tensors that they returned.
        codes: the code of each Python function that was called, by whatever caller.
        lines: how often each line of the learner's notebook ran, by file and number.
        answer: what the function returned, or the exception that it ended with.
    """

    def __init__(self, function: Function, case: Case, seconds: float) -> None:
        super().__init__()
        self.operations: list[str] = []
        self.tensors: list[TensorSeen] = []
        self.codes: set[CodeType] = set()
        self.lines: Counter[tuple[str, int]] = Counter()
        self._notebook = getattr(function, "__globals__", None)
        self.answer = call(lambda *args: self._observed(function, args), case, seconds).answer

    def _observed(self, function: Function, arguments: Case) -> Any:
        tracer = sys.gettrace()
        with self:
            sys.settrace(self._on_call)
            try:
                return function(*arguments)
            finally:
                sys.settrace(tracer)

    def _on_call(self, frame: FrameType, event: str, _: Any) -> Any:
        self.codes.add(frame.f_code)
        return self._on_line if frame.f_globals is self._notebook else None

    def _on_line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.lines[frame.f_code.co_filename, frame.f_lineno] += 1
        return self._on_line

    def function_at(self, file: str, number: int) -> str:
        """Return the name of the function that was called and has this line; "" if none has."""
        above = [
            code
            for code in self.codes
            if code.co_filename == file and code.co_firstlineno <= number
        ]
        return max(above, key=lambda code: code.co_firstlineno).co_name if above else ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", str(func))
        indexes = name in ("__getitem__", "__setitem__") and _holds_row_numbers(args[1])
        self.operations.append("indexing" if indexes else name)
        for value in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(value, Tensor):
                self.tensors.append(TensorSeen(name, value.shape, _memory(value)))
        return out


def _memory(x: Tensor) -> int:
    """Return how many numbers a tensor holds, without those that ``expand`` repeats."""
    try:
        return min(x.numel(), x.untyped_storage().nbytes() // x.element_size())
    except NotImplementedError:  # one of torch.vmap's, which show no storage
        return x.numel()


def _holds_row_numbers(index: Any) -> bool:
    """Whether an index is or contains a list or tensor of row numbers; a mask does not count."""
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, list):
            return True
        if isinstance(part, Tensor) and part.ndim and part.dtype != torch.bool:
            return True
    return False


@dataclass(frozen=True)
class Without(Rule):
    """Functions and operations that would solve the exercise must not be called, by any name.

    Attributes:
        functions: Python functions, recognised by their code, whatever calls them. A reference
            written in ``course_lab.checks`` may be one or call one: it breaks no rule itself, but
            an answer that calls it does.
        operations: names of PyTorch's functions and methods, as in ``Observation``.
        why: what to do instead, a sentence.
    """

    functions: tuple[Function, ...] = ()
    operations: tuple[str, ...] = ()
    why: str = "Here it is yours to write."

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the first of them that was called."""
        if str(getattr(answer, "__module__", "")).startswith("course_lab.checks."):
            return ""
        banned = {inspect.unwrap(func).__code__: func.__name__ for func in self.functions}
        for case in cases:
            observation = Observation(answer, case, seconds)
            names = [name for code, name in banned.items() if code in observation.codes]
            names += [name for name in observation.operations if name in self.operations]
            if names:
                return f"it comes from {names[0]}. {self.why}"
        return ""


@dataclass(frozen=True)
class NoLoops(Rule):
    """A large case takes as many lines and operations as a small one.

    So a ``for``, ``while`` or comprehension over the data is found wherever it stands in the
    notebook, and one inside ``map`` or a library by its operations. Loops over two or three things
    that are always two or three do no harm. Both cases should take the same branch of an ``if``
    that a right answer may have.
    """

    small: Case
    large: Case

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Quote the loop, or say how many operations the two sizes take."""
        few = Observation(answer, self.small, min(seconds, 1.0))
        many = Observation(answer, self.large, min(seconds, 1.0))
        repeated = many.lines - few.lines
        places = [place for place, _ in repeated.most_common() if many.lines[place] > 1]
        for file, number in places:
            line = linecache.getline(file, number).strip()
            repeats = {"for", "while", "map", many.function_at(file, number)}  # or it calls itself
            if repeats & set(WORD.findall(line)):
                return f"there is a loop in it: `{line}`. Do it without."
        if places:
            return (
                "a large case runs some lines more often than a small one. Where is a loop, or "
                "a function that is called again and again? Do it without."
            )
        if isinstance(many.answer, BaseException):
            error = f"{type(many.answer).__name__} {many.answer}".strip()
            return f"called with {describe(self.large)}, it ends with {error}."
        if len(few.operations) != len(many.operations):
            return (
                f"a small case takes {len(few.operations)} operations and a large one "
                f"{len(many.operations)}. Which few operations on whole tensors would do?"
            )
        return ""


@dataclass(frozen=True)
class LargestTensor(Rule):
    """No tensor is larger than the exercise allows.

    Attributes:
        case: the arguments of the call that is observed.
        allowed: how many numbers a tensor may hold, from these arguments.
        why: a question that leads on.
    """

    case: Case
    allowed: Callable[..., int]
    why: str = "Which part of it is needed at a time?"

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say both sizes."""
        tensors = Observation(answer, self.case, seconds).tensors
        largest = max((tensor.memory for tensor in tensors), default=0)
        allowed = self.allowed(*self.case)
        if largest <= allowed:
            return ""
        return (
            f"its largest tensor holds {largest:,} numbers where {allowed:,} are enough. {self.why}"
        )


@dataclass(frozen=True)
class InParts(Rule):
    """No exponential is taken along a whole axis of this length at once.

    Attributes:
        case: the arguments of the call that is observed. No other axis has this length.
        length: of the axis.
        why: what to do instead, a sentence.
    """

    case: Case
    length: int
    why: str

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the operation."""
        for tensor in Observation(answer, self.case, seconds).tensors:
            if tensor.operation in EXPONENTIALS and self.length in tensor.shape:
                return f"{tensor.operation} gets all {self.length} at once. {self.why}"
        return ""
