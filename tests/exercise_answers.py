"""Answers to exercises, right and wrong ones, as parametrised tests of their checks."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest

from course_lab.checks import Check

Answer = Callable[..., Any]


def right_answers(answers: Mapping[Check, Sequence[Answer]]) -> Callable[..., None]:
    """Return a test that each check calls these answers right, however they are written."""
    rows = [
        pytest.param(check, answer, id=f"{check.name} {number} {answer.__name__}")
        for check, of_check in answers.items()
        for number, answer in enumerate(of_check)
    ]

    @pytest.mark.parametrize(("check", "answer"), rows)
    def test(check, answer):
        verdict = check.verdict(answer)
        assert verdict.kind == "right", verdict.text

    return test


def wrong_answers(
    kind: str, answers: Mapping[Check, Iterable[tuple[Answer, str]]]
) -> Callable[..., None]:
    """Return a test that each check gives these answers a verdict of this kind with these words."""
    rows = [
        pytest.param(check, answer, words, id=f"{check.name}: {words}")
        for check, of_check in answers.items()
        for answer, words in of_check
    ]

    @pytest.mark.parametrize(("check", "answer", "words"), rows)
    def test(check, answer, words):
        verdict = check.verdict(answer)
        assert (verdict.kind, words in verdict.text) == (kind, True), verdict.text

    return test
