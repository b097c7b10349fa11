"""The one exercise of lesson 00, which shows how checks and hints work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import no_tensor
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case, Rule
from course_lab.explorers.short_sentence import CAT, FAR, NEAR, drawings

DISTINCT = 1e-4  # by how much the marks of two places have to differ, somewhere
LONGER, LONGEST = 9, 50  # words by which a sentence grows, and up to which
SENTENCE = (6, 32)  # the shape of the marks of "the cat sat on the mat"
DRAWN = 200  # drawings of the random words
CLEARLY, ENOUGH = 1.05, 120  # how many times as much the nearer "the" gets, in how many drawings
MOST, GENTLE = 0.6, 150  # the largest weight that is no glut, in how many drawings


def _marks(n: int, width: int) -> Tensor:
    """Return 1/(1 + p) as the mark of place p, in every column."""
    return (1 / (1 + torch.arange(n)))[:, None] * torch.ones(width)


def seen(
    marks: Float[Tensor, "words d_model"], in_front: int = 0
) -> Float[Tensor, "drawing words"]:
    """Return the weights of "cat" in 200 drawings of the sentence, with these marks added.

    So many random words stand ``in_front`` of the sentence; their weights come last.
    """
    generator = torch.Generator().manual_seed(3)
    front = torch.randn(DRAWN, in_front, SENTENCE[1], generator=generator).double()
    words = torch.cat([front, drawings(DRAWN)], 1) + marks[: in_front + SENTENCE[0]]
    query = words[:, in_front + CAT, :, None]
    weights = ((words @ query)[..., 0] / SENTENCE[1]).softmax(-1)
    return weights.roll(-in_front, dims=-1)


def nearer_wins(weights: Float[Tensor, "drawing words"], times: float = CLEARLY) -> int:
    """In how many drawings the nearer "the" gets at least this many times as much."""
    return int((weights[:, NEAR] >= times * weights[:, FAR]).sum())


def no_glut(weights: Float[Tensor, "drawing words"]) -> int:
    """In how many drawings no word gets more than 0.6."""
    return int((weights.amax(1) <= MOST).sum())


def _closes_in(marks: Float[Tensor, "words d_model"], last: int) -> bool:
    """Whether each mark up to ``last`` is nearer to the one before than that to its own."""
    steps = marks[: last + 1].diff(dim=0).abs().amax(-1)
    return last > 1 and bool((steps.diff() < 0).all())


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
    alike = f"the marks of places {first} and {second} are the same, or differ by less than"
    if second == first + 1 and _closes_in(marks, second):
        return (
            f"{alike} {DISTINCT}. Your marks change so fast at first that those of late places are "
            "alike. What changes more slowly?"
        )
    return (
        f"{alike} {DISTINCT}. Equal words that stand there stay equal: what differs between the "
        "two places, whatever the words are?"
        + (f" (At width {width}: which of your columns are left?)" if width < SENTENCE[1] else "")
    )


@dataclass(frozen=True)
class MarkStays(Rule):
    """The mark of a place is the same in a longer sentence."""

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Name the first place whose mark changes when words are added at the end."""
        for n, width in cases:
            short = call(answer, (n, width), seconds).answer
            for longer in (min(n + LONGER, LONGEST), LONGEST):
                long = call(answer, (longer, width), seconds).answer
                if isinstance(long, BaseException):
                    error = f"{type(long).__name__}: {long}".strip()
                    return f"for a sentence of {longer} words it ends with {error}."
                differ = (short.double() - long[:n].double()).abs().amax(-1) >= DISTINCT
                if bool(differ.any()):
                    return (
                        f"the mark of place {int(differ.int().argmax())} changes when the sentence "
                        f"grows from {n} to {longer} words. Which part of your mark knows how many "
                        "words follow? (Random numbers with a fixed seed may come in another "
                        "order, if more are asked for.)"
                    )
        return ""


@dataclass(frozen=True)
class NearerWins(Rule):
    """With these marks "cat" looks more at the nearer "the", and not at one word only."""

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say what the marks of "cat" and both "the" do to the scores."""
        marks = call(answer, SENTENCE, seconds).answer.detach().cpu().double()
        weights = seen(marks)
        near, far = (float(marks[CAT] @ marks[p] / marks.shape[1]) for p in (NEAR, FAR))
        products = (
            f"The dot product of the marks of places 1 and 0, divided by 32, is {near:.4g}; of 1 "
            f"and 4, {far:.4g}."
        )
        if nearer_wins(weights) < ENOUGH:
            return (
                f"the nearer “the” gets at least 5 % more in only {nearer_wins(weights)} of "
                f"{DRAWN} drawings. {products} {_question(marks, near, far)}"
            )
        if no_glut(weights) < GENTLE:
            return (
                f"one word gets more than {MOST} in {DRAWN - no_glut(weights)} of {DRAWN} "
                f"drawings. {products} How large may marks be, beside words whose numbers are "
                "about 1?"
            )
        return ""

    def kept(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say in how many drawings."""
        weights = seen(call(answer, SENTENCE, seconds).answer.detach().cpu().double())
        return (
            f"The nearer “the” gets at least 5 % more in {nearer_wins(weights)} of {DRAWN} "
            f"drawings; no weight is above {MOST} in {no_glut(weights)}."
        )


def _question(marks: Float[Tensor, "words d_model"], near: float, far: float) -> str:
    """What to ask about marks whose products do not favour the nearer "the" clearly."""
    if not bool(marks[CAT].any()):
        return "Which mark stands in both products? What are they, if it is 0?"
    row = marks[CAT]
    if near < far and bool((row > 0).any() and (row < 0).any()):
        return (
            "Each mark has numbers above 0 and below. What makes two such rows alike? Are those of "
            "neighbouring places?"
        )
    if near < 0:
        return (
            "A product below 0 takes from the score of the nearer “the”. Do the marks of places 0 "
            "and 1 have the same sign?"
        )
    if not bool(marks[NEAR].any()):
        return "The mark of place 0 is 0. What is its product with any other?"
    if near < far:
        return "Which of the two should be larger, and what would shrink the other?"
    return (
        f"The first is larger by {near - far:.4g}; for 5 % more it takes about 0.05. How do you "
        "make their difference larger?"
    )


check_marks = Check(
    "marks",
    _marks,
    cases=[SENTENCE, (2, 4), (6, 6), (5, 2), (50, 8), (50, 4), (50, 32)],
    judge=_judge_marks,
    mistakes=[
        Mistake(
            "each column has a number of its own, and each row is the same",
            "The rows are the places. Along which axis do your numbers count?",
            lambda n, width: torch.arange(width).repeat(n, 1),
            lambda n, width: (1 / (1 + torch.arange(width))).repeat(n, 1),
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
            lambda n, width: 1 / (1 + torch.arange(n)) * torch.ones(width),
            lambda n, width: 1 / (1 + torch.arange(n)) * torch.ones(n, width),
            lambda n, width: (1 / (1 + torch.arange(n))).expand(n, width),
        ),
        Mistake(
            "the division rounds down to whole numbers",
            "What is left of 1/2 there? Which sign divides without rounding?",
            lambda n, width: (1 // (1 + torch.arange(n)))[:, None] * torch.ones(width),
        ),
        Mistake(
            "place 0 divides by 0",
            "What do you add to p, so that no place divides by 0?",
            lambda n, width: (1 / torch.arange(n))[:, None] * torch.ones(width),
        ),
    ],
    hints=(
        "A score is a dot product. With marks it grows by the dot product of two marks: of places "
        "1 and 0 for the nearer “the”, of 1 and 4 for the farther. Which has to be larger?",
        "Marks that shrink from place to place, slowly, and stay above 0: a product of two marks "
        "below 0 is above 0 again.",
        "p = torch.arange(n)[:, None] is a column of places. Which fraction of 1 and p shrinks, "
        "and is defined at 0? Multiplied by a row of `width` ones, what shape has it?",
    ),
    rules=[MarkStays(), NearerWins()],
    but="the shape fits, but",
)
