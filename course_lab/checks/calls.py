"""One call of a learner's function: on copies, within a time limit, and what it did to them.

The function runs in the thread that asked, so that printing, debuggers and Jupyter's stop button
work as ever. Another thread waits for the deadline and then raises ``OutOfTime`` in it. Python
looks for such an exception between two of its own steps, on every system. So a loop is stopped,
and one long operation (a huge matrix product, ``time.sleep``, ``input``) runs to its end first.
"""

from __future__ import annotations

import _thread
import copy
import ctypes
import dis
import inspect
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[..., Any]


class OutOfTime(BaseException):
    """Raised in a function that is past its deadline; no ``except Exception`` catches it."""


@dataclass(frozen=True)
class Call:
    """What one call gave.

    Attributes:
        answer: what the function returned, or the exception that it ended with.
        given: its arguments, copies of the case's, as they are after the call.
        changed: the names of those that it changed in place.
    """

    answer: Any
    given: tuple[Any, ...]
    changed: tuple[str, ...]


def call(function: Function, case: tuple[Any, ...], seconds: float | None) -> Call:
    """Call the function with copies of a case's arguments; what it raises is its answer.

    Without ``seconds`` there is no time limit.
    """
    given = copy.deepcopy(case)
    try:
        answer = function(*given) if seconds is None else within(seconds, function, *given)
        answer = repr(answer) if isinstance(answer, BaseException) else answer  # not raised
    except SystemExit as error:
        answer = RuntimeError(f"it called exit ({error})")
    except (Exception, OutOfTime) as error:
        answer = error
    return Call(answer, given, tuple(_changed(function, case, given)))


def within(seconds: float, function: Function, *given: Any) -> Any:
    """What the function returns; raises ``OutOfTime`` in it after so many seconds.

    Once a second it is raised again, for code that catches everything. What such code returns in
    the end does not count.

    The exception may come between any two steps, also in here. So there are only steps that cannot
    be left half done: an ``Event`` would keep its inner lock if it came while it is set.
    """
    here = ctypes.c_ulong(threading.get_ident())
    done, late, over, raising = False, False, threading.Lock(), threading.Lock()
    over.acquire()

    def wait() -> None:
        nonlocal late
        left = seconds
        while not over.acquire(timeout=left):
            with raising:
                if done:
                    return
                if not _in_a_debugger(here.value):
                    late = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(OutOfTime))
            left = 1.0

    try:
        try:
            _thread.start_new_thread(wait, ())
            answer = function(*given)
        finally:
            done = True
    finally:  # once more, as the exception may have come in the line above
        done = True
        with raising:  # after this nothing is raised any more,
            pass
        for _ in range(2):  # and what is on its way arrives here. (To take it back, with None,
            pass  # makes CPython 3.11 look for it at every step from then on.)
        over.release()
    if late:
        raise OutOfTime
    return answer


def _in_a_debugger(thread: int) -> bool:
    frame = sys._current_frames().get(thread)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        if module in ("bdb", "pdb") or module.startswith(("pydevd", "_pydevd")):  # JupyterLab's
            return True
        frame = frame.f_back
    return False


def _changed(function: Function, case: tuple[Any, ...], given: tuple[Any, ...]) -> Iterator[str]:
    """The names of the arguments that are no longer what they were."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some functions written in C
        names = []
    for place, (before, after) in enumerate(zip(case, given, strict=True)):
        if isinstance(before, Tensor):
            same = before.shape == after.shape and torch.equal(
                before.nan_to_num(), after.detach().nan_to_num()
            )
        elif isinstance(before, np.ndarray):
            same = np.array_equal(before, after)
        else:
            same = not isinstance(before, (list, dict, set)) or before == after
        if not same:
            yield names[place] if place < len(names) else f"number {place}"


def unsolved(answer: Any, yours: Function) -> str:
    """The name of the stub whose ``raise NotImplementedError`` ended a call; empty for all else.

    PyTorch raises such errors too (the softmax of whole numbers). They come out of a call, in the
    line that makes it, or from a file of its own; a stub's comes from a ``raise`` in the notebook.
    """
    if not isinstance(answer, NotImplementedError):
        return ""
    last = answer.__traceback__
    assert last is not None
    while last.tb_next:
        last = last.tb_next
    code = last.tb_frame.f_code
    raised = dis.opname[code.co_code[last.tb_lasti]] == "RAISE_VARARGS"
    own = getattr(yours, "__globals__", last.tb_frame.f_globals) is last.tb_frame.f_globals
    return code.co_name if raised and own else ""


def line_in(yours: Function, error: BaseException) -> str:
    """The learner's line in which an error came, if it can be told."""
    file = getattr(getattr(yours, "__code__", None), "co_filename", None)
    trace: TracebackType | None = error.__traceback__
    lines = [one.line for one in traceback.extract_tb(trace) if one.filename == file and one.line]
    return f" (in your line `{lines[-1]}`)" if lines else ""
