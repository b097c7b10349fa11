"""How an exercise is checked. A check never raises because of a learner's answer: it explains.

To add an exercise, define in ``lessonNN.py`` what is special about it, and nothing else::

    check_thing = Check(
        "thing",                    # its name in messages
        right_answer,               # a function
        cases=[(3,), (randn(4, 2),)],  # arguments: edge cases too, and sizes that differ
        mistakes=[Mistake("what went wrong", "A question that leads on?", wrong_answer, …), …],
        hints=("gives little away", "more", "nearly all"),
        rules=[Without((library_function,))],  # what the exercise forbids
    )

What happens to an answer, in this order:

1. It is called with a copy of each case, and then once more, within a time limit (``calls``). A
   stub, an endless loop, and an answer that changes from call to call are reported.
2. Each answer is compared with the right one: type, shape, numbers, dtype (``compare``).
3. Where some are wrong, the known mistake that explains most of them is named (``mistakes``). A
   mistake explains a case if its own answer is wrong there and equal to the learner's, whatever
   the dtype, or, failing that, has the same wrong shape.
4. Where all are right, no argument may have changed, and the ``rules`` must hold.

``tests/test_checks.py`` calls every check with its right answer and with each of its mistakes.
Answers that a check once misjudged belong in ``tests/test_checks_lessonNN.py``.
"""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import IPython
import torch
from torch import Tensor

from course_lab.checks import hint_button
from course_lab.checks.calls import Call, Function, OutOfTime, call, failing_line, stub_name
from course_lab.checks.compare import TOLERANCE, describe, difference
from course_lab.checks.mistakes import Candidate, Mistake, explanation
from course_lab.checks.rules import Case, Rule
from course_lab.widgets import card, output
from course_lab.widgets.last_cell import last_cell
from course_lab.widgets.seal import seal

SECONDS = 10.0  # the longest that one call may take
EARLIER = (
    "The cell that ran before this one ended in an error. If it holds your answer, this verdict is "
    "on the version before."
)


@dataclass(frozen=True)
class Verdict:
    """What a check says of an answer.

    Attributes:
        kind: "right"; "untouched" for a stub; "blocked" for an answer that calls another stub;
            "mistake" for a known mistake; "rule" for a right answer by forbidden means; else
            "wrong".
        text: what the check prints.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return self.text

    def as_html(self) -> str:
        """The text in a card, with its mark and the exercise's name in colour."""
        if self.kind in ("untouched", "blocked"):
            return card.card(card.inline(self.text))
        name, colon, rest = self.text.partition(":")
        colour, background = card.OTHER, "transparent"
        if self.kind == "right":
            colour, background = card.RIGHT, card.TINT
        words = card.bold(name + colon, colour) + card.inline(rest)
        return card.card(words, edge=colour, background=background)


@dataclass(eq=False)
class Check:
    """``check(answer)`` prints its verdict; ``check.hint(1)`` prints the first of three hints.

    In a notebook a button under the verdict shows the hints too, unless the answer is right.

    Attributes:
        name: the exercise's name in messages.
        reference: the right answer, a function. It raises what the exercise asks to be raised.
        cases: arguments, a tuple for each call.
        mistakes: known mistakes. Each differs from the reference in some case.
        hints: each gives away more than the one before.
        tolerance: see :func:`course_lab.checks.compare.difference`.
        rules: what a right answer must keep to; see :mod:`course_lab.checks.rules`.
        judge: where many answers are right, a function of an answer and the arguments that returns
            what is wrong, or "". It accepts the reference's answers.
        effect: where answers that differ do the same, a function of an answer and the arguments
            that returns what it does. Known mistakes are recognised by it.
        mistakes_keep_cases: whether no known mistake changes its arguments. Then they get the cases
            themselves, not copies, and can remember what they computed from them.
        mistakes_exactly: whether a known mistake is named only if it is wrong in the same cases as
            the answer, and no other: where True and False say little, and rules are alike.
        seconds: the longest that one call may take.
        if_slow: the question to an answer that takes longer.
        but: what opens the text on an answer whose results are right, but that breaks a rule.
    """

    name: str
    reference: Function
    cases: Sequence[Case]
    mistakes: Sequence[Mistake]
    hints: tuple[str, str, str]
    tolerance: float = TOLERANCE
    rules: Sequence[Rule] = ()
    judge: Callable[..., str] | None = None
    effect: Callable[..., Any] | None = None
    mistakes_keep_cases: bool = False
    mistakes_exactly: bool = False
    seconds: float = SECONDS
    if_slow: str = "Is there a loop that never ends?"
    but: str = "the answer is right, but"

    def __call__(self, answer: Any) -> None:
        """Print what is right or wrong with the function ``answer``."""
        verdict = self.verdict(answer)
        seal.open()  # it says nothing of the question above
        card.tell(str(verdict), verdict.as_html())
        if last_cell.failed:
            card.tell(EARLIER, card.card(card.inline(EARLIER)))
        if verdict.kind != "right" and IPython.get_ipython() is not None:
            output.show(hint_button.hint_button(self.hints))

    def hint(self, number: int = 1) -> None:
        """Print hint 1, 2 or 3."""
        if number not in (1, 2, 3):
            print(f"There are hints 1, 2 and 3, got {number!r}.")
            return
        title, hint = f"Hint {number} of 3:", self.hints[number - 1]
        card.tell(f"{title} {hint}", card.card(f"{card.bold(title)} {card.inline(hint)}"))

    def verdict(self, answer: Any) -> Verdict:
        """Return what calling the check would print."""
        if not callable(answer):
            kind = type(answer).__name__
            return self._wrong(f"pass the function itself, without brackets; got {kind}.")
        calls: list[Call] = []
        for case in self.cases:
            calls.append(call(answer, case, self.seconds))
            if isinstance(calls[-1].answer, OutOfTime):
                return self._too_slow(answer, case, calls[-1].answer)
        with contextlib.redirect_stdout(io.StringIO()):  # the first calls have printed already
            return (
                self._verdict_on_stubs(answer, calls)
                or self._verdict_on_repetition(answer, calls)
                or self._verdict_on_results(answer, calls)
                or self._verdict_on_conduct(answer, calls)
                or Verdict("right", self._praise(answer))
            )

    def _praise(self, answer: Function) -> str:
        right = f"✓ {self.name}: right, in all {len(self.cases)} cases."
        kept = [rule.kept(answer, self.cases, self.seconds) for rule in self.rules]
        return " ".join([right, *filter(None, kept)])

    def _wrong(self, text: str, kind: str = "wrong") -> Verdict:
        return Verdict(kind, f"✗ {self.name}: {text}")

    def _too_slow(self, answer: Function, case: Case, error: BaseException) -> Verdict:
        return self._wrong(
            f"called with {describe(case)}, your function took longer than {self.seconds:g} "
            f"seconds and was stopped{failing_line(answer, error)}. {self.if_slow} "
            "The right answer takes a fraction of a second."
        )

    def _verdict_on_stubs(self, answer: Function, calls: Sequence[Call]) -> Verdict | None:
        """Report an answer that is still a stub, or that calls another one."""
        stubs = [stub_name(call.answer) for call in calls]
        own_name = getattr(answer, "__name__", "")
        if others := [stub for stub in stubs if stub and stub != own_name]:
            text = f"… {self.name}: it calls {others[0]}, which is not solved yet."
            return Verdict("blocked", text)
        if all(stubs):
            return Verdict("untouched", f"… {self.name}: not attempted yet.")
        return None

    def _verdict_on_repetition(self, answer: Function, calls: Sequence[Call]) -> Verdict | None:
        """Report an answer that gives other results for the same arguments."""
        for case, first in zip(self.cases, calls, strict=True):
            second = call(answer, case, self.seconds)
            if isinstance(second.answer, OutOfTime):
                return self._too_slow(answer, case, second.answer)
            if difference(second.answer, first.answer, self.tolerance):
                return self._wrong(
                    f"called twice with {describe(case)}, your function gives two different "
                    "answers. Does it draw random numbers, read memory that nothing has filled "
                    "(torch.empty), or keep something from call to call?"
                )
        return None

    def _verdict_on_results(self, answer: Function, calls: Sequence[Call]) -> Verdict | None:
        """Report a known mistake, or the first result that is wrong."""
        problems = self._problems([call.answer for call in calls])
        failing = [place for place, problem in enumerate(problems) if problem]
        if not failing:
            return None
        right = list(map(self._effect_of, self._right_answers, range(len(calls))))
        seen = [
            replace(call, answer=self._effect_of(call.answer, number))
            for number, call in enumerate(calls)
        ]
        if text := explanation(
            self._candidates, seen, failing, right, self.tolerance, self.mistakes_exactly
        ):
            return self._wrong(text, "mistake")
        first = failing[0]
        result = calls[first].answer
        line = failing_line(answer, result) if isinstance(result, BaseException) else ""
        text = f"called with {describe(self.cases[first])}, {problems[first]}{line}"
        if changes := _changes_in_place(calls):
            text += f" Also, {changes}"
        return self._wrong(text)

    def _verdict_on_conduct(self, answer: Function, calls: Sequence[Call]) -> Verdict | None:
        """Report right results that changed their arguments or broke a rule."""
        if changes := _changes_in_place(calls):
            return self._wrong(f"{self.but} {changes}", "rule")
        for rule in self.rules:
            if text := rule.broken(answer, self.cases, self.seconds):
                return self._wrong(f"{self.but} {text}", "rule")
        return None

    def _problems(self, answers: Sequence[Any]) -> list[str]:
        """Return what is wrong with the answer to each case; "" where it is right."""
        problems = []
        for answer, right, case in zip(answers, self._right_answers, self.cases, strict=True):
            if self.judge is None or isinstance(answer, BaseException):
                problems.append(difference(answer, right, self.tolerance))
            else:
                problems.append(self.judge(answer, *case))
        return problems

    @cached_property
    def _right_answers(self) -> list[Any]:
        return [call(self.reference, case, None).answer for case in self.cases]

    @cached_property
    def _candidates(self) -> list[Candidate]:
        return [
            Candidate(
                mistake, answer, len(self.cases), self._arguments, self._effect_of, self._problems
            )
            for mistake in self.mistakes
            for answer in mistake.answers
        ]

    def _arguments(self, number: int) -> Case:
        """Return what known mistakes get as the case of this number."""
        case = self.cases[number]
        return case if self.mistakes_keep_cases else copy.deepcopy(case)

    def _effect_of(self, answer: Any, number: int) -> Any:
        """Return what an answer to the case of this number does."""
        if self.effect is None or isinstance(answer, BaseException):
            return answer
        return self.effect(answer, *self.cases[number])


def randn(*size: int, seed: int = 0) -> Tensor:
    """Return normally distributed numbers for a case, the same at every call."""
    return torch.randn(*size, generator=torch.Generator().manual_seed(seed))


def _changes_in_place(calls: Sequence[Call]) -> str:
    names = list(dict.fromkeys(name for call in calls for name in call.changed))
    if not names:
        return ""
    return (
        f"it changes its argument {', '.join(names)} in place. The caller still needs the old "
        "values: which of your lines writes into it?"
    )
