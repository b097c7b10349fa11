"""The one exercise of lesson 00, which shows how checks and hints work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import no_tensor
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case, Rule

DISTINCT = 1e-4  # by how much the marks of two places have to differ, somewhere
LONGER = 9  # words by which a sentence grows


def _marks(n: int, width: int) -> Tensor:
    """Return place p as the mark of place p, in every column."""
    return torch.arange(n)[:, None] * torch.ones(width)


def _judge_marks(marks: Any, n: int, width: int) -> str:
    """Say why these cannot be added to words, or name two places with the same mark."""
    if marks is None:
        return "your function returns None. Is a `return` missing?"
    if text := no_tensor(marks):
        return text
    if tuple(marks.shape) != (n, width):
        return (
            f"expected shape {(n, width)}, a row for each place, got {tuple(marks.shape)}. How "
            "many words are there, and how many numbers has the vector of each?"
        )
    if marks.is_complex():
        return "your marks are complex numbers. Words are real: what would their sum be?"
    marks = marks.detach().cpu().double()
    if not bool(marks.isfinite().all()):
        return "a mark is not finite. Do you divide by 0, or raise a number to a high power?"
    gaps = (marks[:, None] - marks).abs().amax(-1) + torch.eye(n)  # 1 on the diagonal
    if bool((gaps >= DISTINCT).all()):
        return ""
    first, second = divmod(int((gaps < DISTINCT).int().argmax()), n)
    return (
        f"the marks of places {first} and {second} are the same, or differ by less than "
        f"{DISTINCT}. Equal words that stand there stay equal: what differs between the two "
        "places, whatever the words are?"
    )


@dataclass(frozen=True)
class MarkStays(Rule):
    """The mark of a place is the same in a longer sentence."""

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the first place whose mark changes when words are added at the end."""
        for n, width in cases:
            short = call(answer, (n, width), seconds).answer
            long = call(answer, (n + LONGER, width), seconds).answer
            if isinstance(long, BaseException):
                error = f"{type(long).__name__}: {long}".strip()
                return f"for a sentence of {n + LONGER} words it ends with {error}."
            differ = (short.double() - long[:n].double()).abs().amax(-1) >= DISTINCT
            if bool(differ.any()):
                return (
                    f"the mark of place {int(differ.int().argmax())} changes when the sentence "
                    f"grows from {n} to {n + LONGER} words. Which part of your mark knows how many "
                    "words follow? (Random numbers with a fixed seed may come in another order, if "
                    "more are asked for.)"
                )
        return ""


check_marks = Check(
    "marks",
    _marks,
    cases=[(6, 32), (2, 3), (5, 5), (40, 8)],
    judge=_judge_marks,
    mistakes=[
        Mistake(
            "each column has a number of its own, and each row is the same",
            "The rows are the places. Along which axis do your numbers count?",
            lambda n, width: torch.arange(width).repeat(n, 1),
        ),
        Mistake(
            "the rows and the columns are exchanged",
            "Words come as one row each. How many rows has a sentence of n words?",
            lambda n, width: torch.arange(n).repeat(width, 1),
        ),
        Mistake(
            "each place has one number, and it should have a row of them",
            "A mark is added to a word's vector. How many numbers has that vector?",
            lambda n, width: torch.arange(n),
        ),
        Mistake(
            "each place has a row of one number",
            "How do you repeat that number, so that the row is as wide as a word's vector?",
            lambda n, width: torch.arange(n)[:, None],
        ),
        Mistake(
            "all marks are the same",
            "You add the same to every word. Which two words does that tell apart?",
            lambda n, width: torch.ones(n, width),
        ),
        Mistake(
            "all marks are 0",
            "What does a word's vector become, if you add 0 to it?",
            lambda n, width: torch.zeros(n, width),
        ),
        Mistake(
            "the marks only say whether a place is even or odd",
            "What do places 0 and 2 have in common, and how would you tell them apart?",
            lambda n, width: (torch.arange(n) % 2)[:, None] * torch.ones(width),
        ),
        Mistake(
            "a place beyond the width of a vector gets no mark",
            "There are only so many columns. What do you do with place 20, if a vector has 8 "
            "numbers?",
            lambda n, width: torch.eye(n, width),
        ),
        Mistake(
            "n numbers meet a row of `width` numbers",
            "A row for each place: how do you stand n numbers up as a column?",
            lambda n, width: torch.arange(n) + torch.ones(width),
            lambda n, width: torch.arange(n) * torch.ones(width),
        ),
    ],
    hints=(
        "torch.arange(n) counts the places, from 0 to n − 1.",
        "The simplest mark of place p is the number p itself, in each of its columns.",
        "torch.arange(n)[:, None] is a column of places, of shape (n, 1). Multiply it by a row of "
        "`width` ones: what shape comes out?",
    ),
    rules=[MarkStays()],
)
