"""One call of a learner's function: on copies of its arguments, within a time limit.

The function runs in the calling thread, so that printing, debuggers and Jupyter's stop button work
as usual. Another thread waits for the deadline and then raises ``OutOfTime`` in the first one.
Python looks for such an exception between two of its own steps, on every system. So a loop is
stopped, while one long operation (a huge matrix product, ``time.sleep``, ``input``) runs to its end
first.
"""

from __future__ import annotations

import _thread
import copy
import ctypes
import inspect
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

Function = Callable[..., Any]
STUB = "your turn"  # the message of the NotImplementedError that a stub raises
PATIENCE = 1.0  # seconds after which code that has caught the exception gets it again


class OutOfTime(BaseException):
    """Raised in a function that is past its deadline; no ``except Exception`` catches it."""


@dataclass(frozen=True)
class Call:
    """The outcome of one call.

    Attributes:
        answer: what the function returned, or the exception that it ended with.
        arguments: copies of the case's arguments, as they are after the call.
        changed: the names of those that the function changed in place.
    """

    answer: Any
    arguments: tuple[Any, ...]
    changed: tuple[str, ...]


def call(function: Function, case: tuple[Any, ...], seconds: float | None) -> Call:
    """Call a function with copies of a case's arguments.

    Without ``seconds`` there is no time limit.
    """
    arguments = copy.deepcopy(case)
    answer = answer_to(arguments, function, seconds)
    return Call(answer, arguments, _changed(function, case, arguments))


def answer_to(arguments: tuple[Any, ...], function: Function, seconds: float | None = None) -> Any:
    """Return what a function answers to these arguments; an exception counts as its answer."""
    try:
        if seconds is None:
            answer = function(*arguments)
        else:
            answer = call_within(seconds, function, *arguments)
        return repr(answer) if isinstance(answer, BaseException) else answer  # not raised
    except SystemExit as error:
        return RuntimeError(f"it called exit ({error})")
    except (Exception, OutOfTime) as error:
        return error


def call_within(seconds: float, function: Function, *arguments: Any) -> Any:
    """Return what the function returns; raise ``OutOfTime`` in it after so many seconds.

    For code that catches everything it is raised again once a second. What such code returns in
    the end does not count.

    The exception may come between any two steps, also in this function. So there are only steps
    that cannot be left half done: an ``Event`` would keep its inner lock if it came while it is
    set.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    done = expired = False
    ended, raising = threading.Lock(), threading.Lock()
    ended.acquire()  # until the call has ended

    def watch() -> None:
        nonlocal expired
        timeout = seconds
        while not ended.acquire(timeout=timeout):
            with raising:
                if done:
                    return
                if not _in_a_debugger(thread.value):
                    expired = True
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(OutOfTime))
            timeout = PATIENCE

    try:
        try:
            _thread.start_new_thread(watch, ())
            answer = function(*arguments)
        finally:
            done = True
    finally:  # once more, as the exception may have come in the line above
        done = True
        with raising:  # after this nothing is raised any more,
            pass
        for _ in range(2):  # and what is on its way arrives here. (To take it back, with None,
            pass  # makes CPython 3.11 look for it at every step from then on.)
        ended.release()
    if expired:
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


def _changed(
    function: Function, case: tuple[Any, ...], arguments: tuple[Any, ...]
) -> tuple[str, ...]:
    """Return the names of the arguments that are no longer what they were."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some functions written in C
        names = []
    changed = []
    for place, (before, after) in enumerate(zip(case, arguments, strict=True)):
        if not _is_same(before, after):
            changed.append(names[place] if place < len(names) else f"number {place + 1}")
    return tuple(changed)


def _is_same(before: Any, after: Any) -> bool:
    """Whether an argument that can be changed in place has stayed as it was."""
    if isinstance(before, Tensor):
        return before.shape == after.shape and torch.equal(
            before.nan_to_num(), after.detach().nan_to_num()
        )
    if isinstance(before, np.ndarray):
        return np.array_equal(before, after)
    if isinstance(before, torch.nn.Module):
        old, new = before.state_dict(), after.state_dict()
        return (
            before.training == after.training
            and old.keys() == new.keys()
            and all(
                old[name].dtype == new[name].dtype and torch.equal(old[name], new[name])
                for name in old
            )
        )
    return not isinstance(before, (list, dict, set)) or before == after


def stub_name(answer: Any) -> str:
    """Return the name of the stub that ended a call; "" if none did.

    PyTorch raises NotImplementedError too, always with a message of its own.
    """
    if not isinstance(answer, NotImplementedError) or str(answer) != STUB:
        return ""
    return traceback.extract_tb(answer.__traceback__)[-1].name


def failing_line(function: Function, error: BaseException) -> str:
    """Return the learner's line in which an error came, in brackets; "" if it is not known."""
    file = getattr(getattr(function, "__code__", None), "co_filename", None)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.line for frame in frames if frame.filename == file and frame.line]
    return f" (in your line `{lines[-1]}`)" if lines else ""
