"""Known mistakes, and which of them explains wrong answers best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from course_lab.checks.calls import Call, Function
from course_lab.checks.compare import difference, shape


@dataclass(frozen=True)
class Mistake:
    """A wrong answer people are known to give, and the question that leads on from it.

    Attributes:
        name: what went wrong, a few words.
        question: what to ask the learner; it must not give the answer away.
        answer: the wrong answer itself, called like the right one.
        trace: for answers that say little, such as True: whether the arguments of a call (functions
            that note what they were given, say) show that this mistake was made. Then the answer
            itself does not count.
    """

    name: str
    question: str
    answer: Function
    trace: Callable[[tuple[Any, ...]], bool] | None = None


@dataclass
class Known:
    """A mistake with its answers to the cases, and how to tell what is wrong with them."""

    mistake: Mistake
    answers: list[Any]
    problems: Callable[[list[Any]], list[str]]

    @cached_property
    def wrong(self) -> list[bool]:
        """Which of the answers are wrong. Computed when needed: a judge may take a second."""
        return [bool(text) for text in self.problems(self.answers)]

    def evidence(
        self, calls: Sequence[Call], failing: Sequence[int], right: Sequence[Any], tolerance: float
    ) -> tuple[int, int, int] | None:
        """How many wrong answers it explains, by value and by shape, less what it would spoil.

        None where it explains less than half of them, or fewer than it would spoil of the others.
        """
        got = [one.answer for one in calls]
        if self.mistake.trace:
            shown = all(self.mistake.trace(calls[i].given) for i in failing)
            return (len(failing), 0, 0) if shown else None
        same = [i for i in failing if not difference(got[i], self.answers[i], tolerance, True)]
        shaped = [i for i in failing if _same_wrong_shape(got[i], self.answers[i], right[i])]
        if not same and not shaped:
            return None
        same = [i for i in same if self.wrong[i]]
        spoilt = sum(self.wrong) - sum(self.wrong[i] for i in failing)
        errors = [i for i in same if isinstance(got[i], BaseException)]
        # A True for False, or an error of the same type, says little by itself.
        weak = bool(errors) or isinstance(right[0], bool)
        if (weak and len(same) < len(failing)) or len(errors) == len(calls):
            return None
        enough = 2 * max(len(same), len(shaped)) >= max(len(failing), 2 * spoilt)
        return (len(same), len(shaped), -spoilt) if enough else None


def explanation(
    known: Sequence[Known],
    calls: Sequence[Call],
    failing: Sequence[int],
    right: Sequence[Any],
    tolerance: float,
) -> str:
    """The mistake that explains most of the failing cases, and its question; "" if none does."""
    best, most = None, None
    for one in known:
        found = one.evidence(calls, failing, right, tolerance)
        if found and (most is None or found > most):
            best, most = one.mistake, found
    if best is None or most is None:
        return ""
    part, text = max(most[:2]), f"{best.name}. {best.question}"
    if part < len(failing):
        text += f" (That explains {part} of the {len(failing)} answers that are wrong.)"
    return text


def _same_wrong_shape(got: Any, known: Any, want: Any) -> bool:
    some_number = not (isinstance(got, Tensor) and bool(got.isnan().all()))
    return some_number and shape(got) is not None and shape(got) == shape(known) != shape(want)
