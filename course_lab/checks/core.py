"""How an exercise is checked. A check never raises because of a learner's answer: it explains.

To add an exercise, say in ``lessonNN.py`` what is its own, and nothing else::

    check_thing = Check(
        "thing",                    # its name in messages
        right_answer,               # a function
        cases=[(3,), (numbers(4, 2),)],  # arguments; with the edge cases, and sizes that differ
        mistakes=[Mistake("what went wrong", "A question that leads on?", wrong_answer), …],
        hints=("gives little away", "more", "nearly all"),
        rules=[Without((library_function,))],  # what the exercise forbids
    )

What happens to an answer, in this order:

1. It is called with a copy of each case, and once more, within a time limit (``calls``). Stubs that
   wait, endless loops, and answers that change from call to call are told.
2. Each answer is compared with the right one: type, shape, numbers, dtype (``compare``).
3. Where some are wrong, the known mistake that explains most of them is named (``mistakes``). It
   explains a case if its own answer is wrong there and equal to the learner's, whatever the dtype,
   or, failing that, has the same wrong shape.
4. Where all are right, no argument may have changed, and the ``rules`` must hold.

``tests/test_checks.py`` calls every check with its right answer and with each of its mistakes. Add
there the answers that a check once judged wrongly.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.calls import Call, Function, OutOfTime, call, line_in, unsolved
from course_lab.checks.compare import TOLERANCE, describe, difference
from course_lab.checks.mistakes import Known, Mistake, explanation
from course_lab.checks.rules import Case, Rule

SECONDS = 10.0


@dataclass(frozen=True)
class Verdict:
    """What a check found.

    ``kind`` is "right"; "untouched" for a stub and "blocked" for an answer that calls another stub;
    "mistake" for a known one; "rule" for right answers by means that are ruled out; else "wrong".
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text


class Check:
    """``check(yours)`` prints what it finds; ``check.hint(1)`` prints the first of three hints.

    Args:
        name: of the exercise, in messages.
        reference: the right answer. It raises what the exercise asks to be raised.
        cases: arguments, a tuple for each call.
        mistakes: those that are known. Each differs from the reference in some case.
        hints: each more open than the one before.
        tolerance: see :func:`course_lab.checks.compare.difference`.
        rules: what a right answer must keep to; see :mod:`course_lab.checks.rules`.
        judge: where many answers are right: what is wrong with one, or "", from the answer and the
            arguments. The reference's answer is then one that it accepts.
        seconds: the longest that one call may take.
    """

    def __init__(
        self,
        name: str,
        reference: Function,
        cases: Sequence[Case],
        mistakes: Sequence[Mistake],
        hints: tuple[str, str, str],
        tolerance: float = TOLERANCE,
        rules: Sequence[Rule] = (),
        judge: Callable[..., str] | None = None,
        seconds: float = SECONDS,
    ) -> None:
        self.name, self.reference, self.cases = name, reference, list(cases)
        self.mistakes, self.hints, self.tolerance = list(mistakes), hints, tolerance
        self.rules, self.judge, self.seconds = list(rules), judge, seconds

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
            return self._wrong(advice)
        calls: list[Call] = []
        for case in self.cases:
            calls.append(call(yours, case, self.seconds))
            if isinstance(calls[-1].answer, OutOfTime):
                return self._too_slow(yours, case, calls[-1].answer)
        with contextlib.redirect_stdout(io.StringIO()):  # what it prints has been printed once
            return (
                self._of_stubs(yours, calls)
                or self._called_again(yours, calls)
                or self._of_answers(yours, calls)
                or self._of_manners(yours, calls)
                or Verdict("right", f"✓ {self.name}: right, in all {len(self.cases)} cases.")
            )

    def _wrong(self, text: str, kind: str = "wrong") -> Verdict:
        return Verdict(kind, f"✗ {self.name}: {text}")

    def _too_slow(self, yours: Function, case: Case, error: BaseException) -> Verdict:
        return self._wrong(
            f"called with {describe(case)} your function took longer than {self.seconds:g} seconds "
            f"and was stopped{line_in(yours, error)}. Is there a loop that never ends? The right "
            "answer takes a fraction of a second."
        )

    def _of_stubs(self, yours: Function, calls: Sequence[Call]) -> Verdict | None:
        """Whether the answer, or a function of the notebook that it calls, is still a stub."""
        stubs = [unsolved(one.answer, yours) for one in calls]
        own = getattr(yours, "__name__", "")
        if others := [name for name in stubs if name and name != own]:
            text = f"… {self.name}: it calls {others[0]}, which is not solved yet."
            return Verdict("blocked", text)
        if all(stubs):
            return Verdict("untouched", f"… {self.name}: not attempted yet.")
        return None

    def _called_again(self, yours: Function, calls: Sequence[Call]) -> Verdict | None:
        """Whether the same arguments give the same answer once more."""
        for case, before in zip(self.cases, calls, strict=True):
            again = call(yours, case, self.seconds)
            if isinstance(again.answer, OutOfTime):
                return self._too_slow(yours, case, again.answer)
            if difference(again.answer, before.answer, self.tolerance):
                return self._wrong(
                    f"called twice with {describe(case)} your function gives two answers. Does it "
                    "draw random numbers, read memory that nobody filled (torch.empty), or keep "
                    "something from call to call?"
                )
        return None

    def _of_answers(self, yours: Function, calls: Sequence[Call]) -> Verdict | None:
        """What is wrong with the answers: a known mistake, or the first that is wrong."""
        problems = self._problems([one.answer for one in calls])
        if not any(problems):
            return None
        failing = [i for i, text in enumerate(problems) if text]
        if text := explanation(self._known, calls, failing, self._right, self.tolerance):
            return self._wrong(text, "mistake")
        place = failing[0]
        answer = calls[place].answer
        line = line_in(yours, answer) if isinstance(answer, BaseException) else ""
        changed = _in_place(calls)
        return self._wrong(
            f"called with {describe(self.cases[place])} {problems[place]}{line}"
            + (f" Also, {changed}" if changed else "")
        )

    def _of_manners(self, yours: Function, calls: Sequence[Call]) -> Verdict | None:
        """Whether right answers spoil their arguments, or break a rule."""
        if changed := _in_place(calls):
            return self._wrong(f"the answer is right, but {changed}", "rule")
        for rule in self.rules:
            if text := rule.broken(yours, self.cases, self.seconds):
                return self._wrong(text, "rule")
        return None

    def _problems(self, answers: list[Any]) -> list[str]:
        """What is wrong with the answer to each case; "" where it is right."""
        return [
            difference(got, want, self.tolerance)
            if self.judge is None or isinstance(got, BaseException)
            else self.judge(got, *case)
            for got, want, case in zip(answers, self._right, self.cases, strict=True)
        ]

    @cached_property
    def _right(self) -> list[Any]:
        return self._answers(self.reference)

    @cached_property
    def _known(self) -> list[Known]:
        return [Known(one, self._answers(one.answer), self._problems) for one in self.mistakes]

    def _answers(self, function: Function) -> list[Any]:
        return [call(function, case, None).answer for case in self.cases]


def numbers(*size: int, seed: int = 0) -> Tensor:
    """Random numbers for cases, always the same."""
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


def _in_place(calls: Sequence[Call]) -> str:
    names = {name: None for one in calls for name in one.changed}
    if not names:
        return ""
    return (
        f"it changes its argument {', '.join(names)} in place. Whoever called still needs the old "
        "values: which of your lines writes into it?"
    )
