"""Checks for lesson 07: context in sight, a fair average, paired seeds, log-n scaling."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, numbers


def _fewest(n: int, sliding: bool) -> int:
    """What the judged prediction with the least context sees."""
    return n // 2 + 1 if sliding else 1


def _in_sight(n: int, sliding: bool) -> float:
    return (_fewest(n, sliding) + n) / 2


check_in_sight = Check(
    "in_sight",
    _in_sight,
    cases=[(64, False), (64, True), (4, False), (2, True), (2048, True)],
    mistakes=[
        Mistake(
            "a byte is missing",
            "The first prediction of a piece comes after one byte has been read. Which number do "
            "you count for it?",
            lambda n, sliding: _in_sight(n, sliding) - 1,
        ),
        Mistake(
            "half a byte is missing",
            "Pieces of 4: write down the four numbers and take their mean. What does yours say?",
            lambda n, sliding: _in_sight(n, sliding) - 0.5,
        ),
        Mistake(
            "sliding or not makes no difference",
            "Where does your function use `sliding`? Which predictions of a window are judged?",
            lambda n, sliding: _in_sight(n, False),
        ),
        Mistake(
            "the two protocols have changed places",
            "Which of the two throws the predictions with little context away?",
            lambda n, sliding: _in_sight(n, not sliding),
        ),
        Mistake(
            "this is the most that any prediction sees",
            "The last prediction of a window sees n bytes. And the first that is judged?",
            lambda n, sliding: n,
        ),
        Mistake(
            "this is the fewest that any prediction sees",
            "That is where the judged ones start. Where do they end, and what is in the middle?",
            _fewest,
        ),
        Mistake(
            "the first half of a window is not seen",
            "The first half of a window is not judged. Is it read?",
            lambda n, sliding: _in_sight(n // 2 if sliding else n, False),
        ),
    ],
    hints=(
        "Take n = 4 and write down what each judged prediction sees, for both protocols.",
        "The numbers rise by one from prediction to prediction. Then the mean needs two of them.",
        "It is (fewest + most) / 2. The most is n. The formula above has the fewest for windows.",
    ),
)


def _losses(*shape: int, seed: int = 0) -> Tensor:
    """Such that no two ways of averaging agree by chance."""
    return torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) * 3


check_long_enough = Check(
    "long_enough",
    lambda losses, fewest: losses[:, fewest - 1 :].mean(),
    cases=[(_losses(5, 8), 3), (_losses(3, 8, seed=1), 1), (_losses(4, 16, seed=2), 16)],
    mistakes=[
        Mistake(
            "the prediction that sees exactly `fewest` is left out",
            "The prediction at position 0 sees 1 byte. Which position sees `fewest`?",
            lambda losses, fewest: losses[:, fewest:].mean(),
        ),
        Mistake(
            "this is the published mean over everything",
            "Where does your function use `fewest`?",
            lambda losses, fewest: losses.mean(),
        ),
        Mistake(
            "pieces are left out, not positions",
            "Rows are pieces, columns are positions. Which of them did you cut?",
            lambda losses, fewest: losses[fewest - 1 :].mean(),
        ),
        Mistake(
            "these are the predictions with too little context",
            "At the start of a piece, is there much to see or little?",
            lambda losses, fewest: losses[:, : fewest - 1].mean(),
        ),
        Mistake(
            "it divides by all predictions",
            "You add up some of the losses. By how many do you divide?",
            lambda losses, fewest: losses[:, fewest - 1 :].sum() / losses.numel(),
        ),
        Mistake(
            "this counts from the end of a piece",
            "Your columns are the last `fewest` ones. What do those before them see?",
            lambda losses, fewest: losses[:, -fewest:].mean(),
        ),
        Mistake(
            "this is one mean for each position",
            "How many numbers does the table of results have for one length?",
            lambda losses, fewest: losses[:, fewest - 1 :].mean(0),
        ),
    ],
    hints=(
        "A piece of 4: the predictions see 1, 2, 3 and 4 bytes. Which columns stay for fewest = 3?",
        "Column i sees i + 1 bytes. From which i on is that at least `fewest`?",
        "Cut the columns with losses[:, first:], then one mean over all that is left.",
    ),
)


def _error(apart: Tensor) -> Tensor:
    return apart.std() / len(apart) ** 0.5


def _unpaired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    return (long - short).mean(), (_error(short) ** 2 + _error(long) ** 2).sqrt()


check_paired = Check(
    "paired",
    lambda short, long: ((long - short).mean(), _error(long - short)),
    cases=[
        (torch.tensor([1.2, 1.5, 1.1]), torch.tensor([1.3, 1.7, 1.2])),
        (torch.tensor([2.0, 1.0, 3.0, 2.5, 1.5]), torch.tensor([2.4, 1.1, 3.6, 2.6, 1.9])),
        (torch.tensor([1.4, 1.0]), torch.tensor([1.3, 0.8])),
    ],
    mistakes=[
        Mistake(
            "the spread is that of the models",
            "A model that is bad at both lengths: does it change by more than the others?",
            _unpaired,
        ),
        Mistake(
            "the change has the wrong sign",
            "A loss that grows with the length: is the change above or below zero?",
            lambda short, long: ((short - long).mean(), _error(long - short)),
        ),
        Mistake(
            "this is the spread of single seeds",
            "With a hundred seeds, would you know the mean no better than with two?",
            lambda short, long: ((long - short).mean(), (long - short).std()),
        ),
        Mistake(
            "it divides by the number of seeds",
            "Four times as many seeds: by what factor does the error of a mean shrink?",
            lambda short, long: ((long - short).mean(), (long - short).std() / len(short)),
        ),
        Mistake(
            "the spread is about the sample's own mean",
            "The mean was made of the same few seeds. Does the spread around it come out too "
            "small? What does `correction` do in torch.std?",
            lambda short, long: (
                (long - short).mean(),
                (long - short).std(correction=0) / len(short) ** 0.5,
            ),
        ),
        Mistake(
            "the error is that of the long reading alone",
            "Which numbers do you take the spread of: the losses at one length, or their changes?",
            lambda short, long: ((long - short).mean(), _error(long)),
        ),
        Mistake(
            "the error is squared",
            "In which unit is a variance, if the losses are in nats?",
            lambda short, long: ((long - short).mean(), _error(long - short) ** 2),
        ),
    ],
    hints=(
        "Write the change of each model first. There is one for each seed.",
        "The standard error of a mean is the standard deviation of what was averaged, over √n.",
        "With apart = long − short: its mean, and its std() over len(apart) ** 0.5.",
    ),
)


def _factor(n: int, trained: int) -> Tensor:
    """Log-n's factor of each query before it is kept from falling below 1: (n,)."""
    return (torch.arange(n) + 1.0).log() / math.log(trained)


def _log_n(scores: Tensor, trained: int) -> Tensor:
    return scores * _factor(len(scores), trained).clamp(min=1)[:, None]


check_log_n = Check(
    "log_n_scores",
    _log_n,
    cases=[(numbers(9, 9), 3), (numbers(12, 12), 4), (numbers(5, 5), 8), (torch.ones(1, 1), 2)],
    mistakes=[
        Mistake(
            "early queries are flattened",
            "Query 0 sees one key. What is your factor for it? What was asked for short texts?",
            lambda scores, trained: scores * _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "a key is missing",
            "Query 0 sees itself. How many keys does query i see?",
            lambda scores, trained: (
                scores * (torch.arange(len(scores)).log() / math.log(trained)).clamp(min=1)[:, None]
            ),
        ),
        Mistake(
            "the factor belongs to the key",
            "Rows are queries. Along which axis does your factor change?",
            lambda scores, trained: scores * _factor(len(scores), trained).clamp(min=1),
        ),
        Mistake(
            "all queries have one factor",
            "In a causal text, does the query in the middle see as many keys as the last one?",
            lambda scores, trained: scores * max(1.0, math.log(len(scores)) / math.log(trained)),
        ),
        Mistake(
            "this spreads attention even thinner",
            "Scores that are divided by a number above 1: is their softmax sharper or flatter?",
            lambda scores, trained: scores / _factor(len(scores), trained).clamp(min=1)[:, None],
        ),
        Mistake(
            "the factor is added",
            "What does the softmax do with a number that all keys of a query share?",
            lambda scores, trained: scores + _factor(len(scores), trained).clamp(min=1)[:, None],
        ),
        Mistake(
            "this is n / L, without logarithms",
            "The entropy of n equal weights is log n. Which growth is to be undone?",
            lambda scores, trained: (
                scores * ((torch.arange(len(scores)) + 1) / trained).clamp(min=1)[:, None]
            ),
        ),
        Mistake(
            "the factor never gets above 1",
            "Which texts are to stay as they were: the short ones or the long ones?",
            lambda scores, trained: scores * _factor(len(scores), trained).clamp(max=1)[:, None],
        ),
    ],
    hints=(
        "How many factors are there: one, one a query, or one a key?",
        "Make a row of the numbers of keys that the queries see. Take its log over log(trained).",
        "factor.clamp(min=1)[:, None] has shape (n, 1) and multiplies row by row.",
    ),
)
