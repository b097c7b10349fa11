"""Known mistakes, and which of them explains wrong answers best."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

from torch import Tensor

from course_lab.checks.calls import Call, Function, answer_to
from course_lab.checks.compare import difference, shape_of


class Mistake:
    """Wrong answers that people are known to give, and the question that leads on from them.

    Args:
        name: what went wrong, in a few words.
        question: what to ask the learner; it must not give the answer away.
        answers: the wrong answers themselves, functions that are called like the right one.
        trace: for answers that say little, such as True. Whether the arguments of a call (functions
            that record their input, say) show that this mistake was made; the answer itself then
            does not count.
        raises: for answers that end with an error: a regular expression that its message contains.
            The error's type alone then does not count.
    """

    def __init__(
        self,
        name: str,
        question: str,
        *answers: Function,
        trace: Callable[[tuple[Any, ...]], bool] | None = None,
        raises: str = "",
    ) -> None:
        self.name, self.question, self.answers = name, question, answers
        self.trace, self.raises = trace, raises


class Evidence(NamedTuple):
    """How well a mistake explains the failing cases; compared in this order, more is better."""

    same_answer: int  # failing cases where the learner's answer is that of the mistake
    same_shape: int  # failing cases where it has the wrong shape of the mistake's
    minus_spoilt: int  # minus the cases that the mistake gets wrong and the learner right

    @property
    def explained(self) -> int:
        """The cases that the mistake explains."""
        return max(self.same_answer, self.same_shape)

    def is_exact(self, failing: int) -> bool:
        """Whether it gives the learner's answer in all failing cases, and spoils no other."""
        return self.same_answer == failing and self.minus_spoilt == 0


class Candidate:
    """A known wrong answer at work. What it returns is computed when needed: some take a second.

    Args:
        mistake: that it makes.
        answer: the function.
        cases: how many there are.
        arguments: those of the case of a number.
        effect: what an answer to the case of a number does, by which it is recognised.
        problems: what is wrong with the answers to all cases.
    """

    def __init__(
        self,
        mistake: Mistake,
        answer: Function,
        cases: int,
        arguments: Callable[[int], tuple[Any, ...]],
        effect: Callable[[Any, int], Any],
        problems: Callable[[Sequence[Any]], list[str]],
    ) -> None:
        self.mistake = mistake
        self._numbers, self._problems = range(cases), problems
        self._answer = cache(lambda number: answer_to(arguments(number), answer))
        self._effect = cache(lambda number: effect(self._answer(number), number))

    @cached_property
    def wrong(self) -> list[bool]:
        """Which of its answers are wrong."""
        return [bool(problem) for problem in self._problems(list(map(self._answer, self._numbers)))]

    def evidence(
        self, calls: Sequence[Call], failing: Sequence[int], right: Sequence[Any], tolerance: float
    ) -> Evidence | None:
        """Return how well the mistake explains the failing calls.

        None where it explains fewer than half of them, or fewer cases than it would spoil.
        """
        if self.mistake.trace:
            shows = all(self.mistake.trace(calls[case].arguments) for case in failing)
            return Evidence(len(failing), 0, 0) if shows else None
        if self.mistake.raises:
            count = sum(_says(calls[case].answer, self.mistake.raises) for case in failing)
            return Evidence(count, 0, 0) if 2 * count >= len(failing) else None
        same, same_shape = [], []
        for case in failing:
            learners, known = calls[case].answer, self._effect(case)
            if not difference(learners, known, tolerance, any_dtype=True):
                same.append(case)
            if _same_wrong_shape(learners, known, right[case]):
                same_shape.append(case)
        if not same and not same_shape:
            return None
        same = [case for case in same if self.wrong[case]]
        errors = [case for case in same if isinstance(calls[case].answer, BaseException)]
        # A True for False, or an error of the same type, says little by itself.
        says_little = bool(errors) or isinstance(right[0], bool)
        if (says_little and len(same) < len(failing)) or len(errors) == len(calls):
            return None
        spoilt = sum(self.wrong) - sum(self.wrong[case] for case in failing)
        evidence = Evidence(len(same), len(same_shape), -spoilt)
        enough = 2 * evidence.explained >= max(len(failing), 2 * spoilt)
        return evidence if enough else None


def explanation(
    candidates: Sequence[Candidate],
    calls: Sequence[Call],
    failing: Sequence[int],
    right: Sequence[Any],
    tolerance: float,
    exactly: bool = False,
) -> str:
    """Name the mistake that explains most of the failing cases, and ask its question.

    "" if no mistake explains them; with ``exactly``, if none is wrong in these cases and no other.
    """
    best: tuple[Mistake, Evidence] | None = None
    for candidate in candidates:
        evidence = candidate.evidence(calls, failing, right, tolerance)
        if exactly and evidence and not evidence.is_exact(len(failing)):
            continue
        if evidence and (best is None or evidence > best[1]):
            best = candidate.mistake, evidence
    if best is None:
        return ""
    mistake, evidence = best
    text = f"{mistake.name}. {mistake.question}"
    if evidence.explained < len(failing):
        text += f" (That explains {evidence.explained} of the {len(failing)} wrong answers.)"
    return text


def _says(answer: Any, words: str) -> bool:
    """Whether an answer is an error whose message contains a regular expression."""
    return isinstance(answer, BaseException) and bool(re.search(words, str(answer)))


def _same_wrong_shape(learners: Any, known: Any, right: Any) -> bool:
    """Whether a learner's answer has the shape of a known one, and not the right one."""
    if isinstance(learners, Tensor) and bool(learners.isnan().all()):
        return False
    shape = shape_of(learners)
    return shape is not None and shape == shape_of(known) != shape_of(right)
