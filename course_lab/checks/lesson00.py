"""The one exercise of lesson 00, which shows how checks and hints work."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without


def _reduced(scores: Tensor) -> Tensor:
    """Return the scores, each less the largest of its row."""
    return scores - scores.amax(-1, keepdim=True)


def _weights(scores: Tensor) -> Tensor:
    positive = _reduced(scores).exp()
    return positive / positive.sum(-1, keepdim=True)


def _softmax_by(positive: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Return an answer that divides these positive numbers by their sum."""
    return lambda scores: positive(scores) / positive(scores).sum(-1, keepdim=True)


def _divided_by(divisor: Callable[[Tensor], Tensor]) -> list[Callable[[Tensor], Tensor]]:
    """Return answers that divide the exponentials by this, of plain scores and of reduced ones."""

    def reduced(scores: Tensor) -> Tensor:
        positive = _reduced(scores).exp()
        return positive / divisor(positive)

    return [lambda scores: scores.exp() / divisor(scores.exp()), reduced]


check_weights = Check(
    "weights",
    _weights,
    cases=[
        (torch.tensor([0.0, 0.0, 0.0, 0.0]),),
        (torch.tensor([2.0, 1.0, -1.0]),),
        (torch.tensor([[1.0, 0.5, 3.0], [0.2, 4.0, 1.0]]),),
        (torch.tensor([100.0, 99.0]),),
        (randn(2, 3, 4),),
    ],
    mistakes=[
        Mistake(
            "the weights of a row do not sum to 1",
            "You take the exponential. What do you divide by?",
            lambda scores: scores.exp(),
        ),
        *(
            Mistake(
                "the weights of a row do not sum to 1",
                "Add up a row of yours. By what must you divide it, so that the sum is 1?",
                answer,
            )
            for divisor in (
                lambda positive: positive.shape[-1],
                lambda positive: positive.amax(-1, keepdim=True),
                lambda positive: positive.norm(dim=-1, keepdim=True),
            )
            for answer in _divided_by(divisor)
        ),
        *(
            Mistake(
                "each row sums to the number of its scores, not to 1",
                "What is the sum of numbers that you have divided by their mean?",
                answer,
            )
            for answer in _divided_by(lambda positive: positive.mean(-1, keepdim=True))
        ),
        Mistake(
            "all weights of a row are equal",
            "Of the scores 2 and −1, which should weigh more?",
            lambda scores: torch.full_like(scores, 1 / scores.shape[-1]),
        ),
        Mistake(
            "the exponentials are divided by a sum of the scores themselves",
            "Weights share a whole. Of which numbers are they shares, of the scores or of their "
            "exponentials?",
            lambda scores: scores.exp() / scores.sum(-1, keepdim=True),
        ),
        Mistake(
            "an axis has got lost",
            "What shape has the sum, or the largest number, of each row of a (2, 3) tensor? Can it "
            "stand beside the rows themselves?",
            lambda scores: _reduced(scores).exp() / _reduced(scores).exp().sum(-1),
            raises="must match the size of tensor",
        ),
        Mistake(
            "the largest score comes with its place",
            "max along an axis returns two things. What are they, and which do you need?",
            lambda scores: scores - scores.max(-1, keepdim=True),
            raises=r"return_types\.max",
        ),
        Mistake(
            "an axis is named by its number from the front",
            "Scores may have one axis, two or three. Which number means the last of them, however "
            "many there are?",
            lambda scores: _reduced(scores).exp() / _reduced(scores).exp().sum(2, keepdim=True),
            raises="Dimension out of range",
        ),
        Mistake(
            "each score is looked at by itself",
            "A sigmoid knows one score. What must a weight know of the other scores of its row?",
            lambda scores: scores.sigmoid(),
        ),
        Mistake(
            "each score is looked at by itself",
            "How far apart are the sigmoids of 100 and 99, and how far their exponentials?",
            _softmax_by(torch.sigmoid),
        ),
        Mistake(
            "the signs of the scores are gone",
            "Of the scores 2 and −1, which should weigh more, and of 2 and −2? e to any number is "
            "positive already.",
            _softmax_by(lambda scores: _reduced(scores.abs()).exp()),
        ),
        Mistake(
            "the largest score gets all",
            "May a score that is a little lower than the largest weigh nothing at all?",
            lambda scores: torch.eye(scores.shape[-1])[scores.argmax(-1)],
        ),
        Mistake(
            "large scores are cut off",
            "Is 100 worth more than 99? The softmax does not change when every score of a row is "
            "reduced by the same amount: which amount is safe?",
            lambda scores: _softmax_by(torch.exp)(scores.clamp(max=80)),
        ),
        Mistake(
            "nan is painted over",
            "What should the weights of 100 and 99 sum to? The softmax does not change when every "
            "score of a row is reduced by the same amount: which amount is safe?",
            lambda scores: _softmax_by(torch.exp)(scores).nan_to_num(),
        ),
        Mistake(
            "the base is 2",
            "Which number is raised to the scores, in the formula and in your code?",
            _softmax_by(lambda scores: torch.exp2(_reduced(scores))),
        ),
        Mistake(
            "the scores are divided before the exponential",
            "Does the formula change the scores before it raises e to them?",
            lambda scores: (scores / scores.shape[-1] ** 0.5).softmax(-1),
        ),
        *(
            Mistake(
                "the scores are divided before the exponential",
                "To reduce all scores by the same amount, do you divide them, or do you subtract?",
                answer,
            )
            for answer in (
                lambda scores: (scores / scores.amax(-1, keepdim=True)).softmax(-1),
                lambda scores: (scores / scores.sum(-1, keepdim=True)).softmax(-1),
                lambda scores: (scores / scores.sum(-1, keepdim=True)).exp(),
            )
        ),
        Mistake(
            "the exponential is missing",
            "Dividing by the sum makes rows sum to 1. What happens to a negative score?",
            lambda scores: scores / scores.sum(-1, keepdim=True),
        ),
        Mistake(
            "the exponential is missing",
            "You reduce the scores by the largest of their row. Which numbers are shared out then?",
            _reduced,
        ),
        Mistake(
            "all rows together sum to 1",
            "Over which axis do you sum, and what should sum to 1?",
            lambda scores: scores.exp() / scores.exp().sum(),
        ),
        Mistake(
            "large scores give nan",
            "exp(100) is too large for float32. The softmax does not change when every score "
            "of a row is reduced by the same amount: which amount is safe?",
            lambda scores: scores.exp() / scores.exp().sum(-1, keepdim=True),
        ),
        Mistake(
            "the sum runs along the wrong axis",
            "Add up a row of your result, then a column. Which of the two should give 1?",
            lambda scores: scores.softmax(0),
        ),
        Mistake(
            "the sum runs along the wrong axis",
            "You reduce the scores row by row. Do you add up row by row too?",
            lambda scores: _reduced(scores).exp() / _reduced(scores).exp().sum(0, keepdim=True),
        ),
        Mistake(
            "a high score gets a small weight",
            "Of the scores 2 and −1, which should weigh more?",
            lambda scores: (-scores).softmax(-1),
        ),
        Mistake(
            "these are the logarithms of the weights",
            "Are your numbers between 0 and 1?",
            lambda scores: scores.log_softmax(-1),
        ),
    ],
    hints=(
        "The result has the shape of the scores, no number is negative, and each row sums to 1.",
        "Two steps: make every score positive with the exponential, then divide by the row's sum.",
        "Subtract the row's largest score before the exponential: scores.amax(-1, keepdim=True). "
        "The axis to work along is the last one, for the sum too.",
    ),
    rules=[
        Without(
            operations=(
                "softmax",
                "log_softmax",
                "special_softmax",
                "special_log_softmax",
                "softmin",
                "scaled_dot_product_attention",
            ),
            why="Here it is yours to write, with exp and sum.",
        )
    ],
)
