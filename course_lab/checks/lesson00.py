"""The one exercise of lesson 00, which shows how checks and hints work."""

from __future__ import annotations

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without


def _weights(scores: Tensor) -> Tensor:
    positive = (scores - scores.amax(-1, keepdim=True)).exp()
    return positive / positive.sum(-1, keepdim=True)


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
        Mistake(
            "the exponential is missing",
            "Dividing by the sum makes rows sum to 1. What happens to a negative score?",
            lambda scores: scores / scores.sum(-1, keepdim=True),
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
            operations=("softmax", "log_softmax", "special_softmax", "special_log_softmax"),
            why="Here it is yours to write, with exp and sum.",
        )
    ],
)
