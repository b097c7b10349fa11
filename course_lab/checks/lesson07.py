"""Checks for lesson 07: context in sight, a fair average, paired seeds, log-n scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn


def _fewest(n: int, sliding: bool) -> int:
    """Return how many bytes the judged prediction with the least context sees."""
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
            "For pieces of 4, write down the four numbers and take their mean. What does your "
            "function return?",
            lambda n, sliding: _in_sight(n, sliding) - 0.5,
        ),
        Mistake(
            "sliding makes no difference",
            "Where does your function use `sliding`? Which predictions of a window are judged?",
            lambda n, sliding: _in_sight(n, False),
        ),
        Mistake(
            "the two protocols have changed places",
            "Which of the two discards the predictions with little context?",
            lambda n, sliding: _in_sight(n, not sliding),
        ),
        Mistake(
            "this is the most that any prediction sees",
            "The last prediction of a window sees n bytes. And the first that is judged?",
            lambda n, sliding: n,
        ),
        Mistake(
            "this is the fewest that any prediction sees",
            "That is where the judged predictions start. Where do they end? What is the middle?",
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
        "The numbers rise by one from prediction to prediction. So the mean needs two of them.",
        "It is (fewest + most) / 2. The most is n. The formula above has the fewest for windows.",
    ),
)


def _losses(*shape: int, seed: int = 0) -> Tensor:
    """Return losses of which no two ways of averaging agree by chance."""
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
            "At the start of a piece, does a prediction see much or little?",
            lambda losses, fewest: losses[:, : fewest - 1].mean(),
        ),
        Mistake(
            "it divides by all predictions",
            "You add up some of the losses. By how many do you divide?",
            lambda losses, fewest: losses[:, fewest - 1 :].sum() / losses.numel(),
        ),
        Mistake(
            "this counts from the end of a piece",
            "You take the last `fewest` columns. How much do the predictions before them see?",
            lambda losses, fewest: losses[:, -fewest:].mean(),
        ),
        Mistake(
            "this is one mean for each position",
            "How many numbers does the table of results hold for one length?",
            lambda losses, fewest: losses[:, fewest - 1 :].mean(0),
        ),
    ],
    hints=(
        "In a piece of 4 predictions see 1, 2, 3 and 4 bytes. Which columns stay if fewest = 3?",
        "Column i sees i + 1 bytes. From which i on is that at least `fewest`?",
        "Cut the columns with losses[:, first:], then take one mean over all that is left.",
    ),
)


def _standard_error(changes: Tensor) -> Tensor:
    return changes.std() / len(changes) ** 0.5


def _paired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    return (long - short).mean(), _standard_error(long - short)


def _unpaired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    squares = _standard_error(short) ** 2 + _standard_error(long) ** 2
    return (long - short).mean(), squares.sqrt()


def _with_error(error: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Any]:
    """Return an answer with the right mean and this error of the changes."""
    return lambda short, long: ((long - short).mean(), error(long - short))


check_paired = Check(
    "paired",
    _paired,
    cases=[
        (torch.tensor([1.2, 1.5, 1.1]), torch.tensor([1.3, 1.7, 1.2])),
        (torch.tensor([2.0, 1.0, 3.0, 2.5, 1.5]), torch.tensor([2.4, 1.1, 3.6, 2.6, 1.9])),
        (torch.tensor([1.4, 1.0]), torch.tensor([1.3, 0.8])),
    ],
    mistakes=[
        Mistake(
            "the spread is that of the models, not of their changes",
            "Does a model that is bad at both lengths change by more than the others?",
            _unpaired,
        ),
        Mistake(
            "the change has the wrong sign",
            "If a loss grows with the length, is the change above or below zero?",
            lambda short, long: ((short - long).mean(), _standard_error(long - short)),
        ),
        Mistake(
            "this is the spread of single seeds",
            "With a hundred seeds, would you know the mean no better than with two?",
            _with_error(lambda changes: changes.std()),
        ),
        Mistake(
            "it divides by the number of seeds",
            "With four times as many seeds, by what factor does the error of a mean shrink?",
            _with_error(lambda changes: changes.std() / len(changes)),
        ),
        Mistake(
            "the spread is divided by n, not by n − 1",
            "The mean was computed from the same few seeds. Does the spread around it come out "
            "too small? What does `correction` do in torch.std?",
            _with_error(lambda changes: changes.std(correction=0) / len(changes) ** 0.5),
        ),
        Mistake(
            "the error is that of the long reading alone",
            "Of which numbers do you take the spread: the losses at one length, or their changes?",
            lambda short, long: ((long - short).mean(), _standard_error(long)),
        ),
        Mistake(
            "the error is squared",
            "In which unit is a variance, if the losses are in nats?",
            _with_error(lambda changes: _standard_error(changes) ** 2),
        ),
    ],
    hints=(
        "Write the change of each model first. There is one for each seed.",
        "The standard error of a mean is the standard deviation of what was averaged, over √n.",
        "With change = long − short: its mean, and its std() over len(change) ** 0.5.",
    ),
)


def _log_ratio(n: int, trained: int) -> Tensor:
    """Return log-n's factor of each query, (n,), which may be below 1."""
    return (torch.arange(n) + 1.0).log() / math.log(trained)


def _factor(n: int, trained: int) -> Tensor:
    return _log_ratio(n, trained).clamp(min=1)


def _log_n(scores: Tensor, trained: int) -> Tensor:
    return scores * _factor(len(scores), trained)[:, None]


def _one_key_too_few(scores: Tensor, trained: int) -> Tensor:
    ratio = torch.arange(len(scores)).log() / math.log(trained)
    return scores * ratio.clamp(min=1)[:, None]


def _without_logarithms(scores: Tensor, trained: int) -> Tensor:
    ratio = (torch.arange(len(scores)) + 1) / trained
    return scores * ratio.clamp(min=1)[:, None]


check_log_n = Check(
    "log_n_scores",
    _log_n,
    cases=[(randn(9, 9), 3), (randn(12, 12), 4), (randn(5, 5), 8), (torch.ones(1, 1), 2)],
    mistakes=[
        Mistake(
            "early queries are flattened",
            "Query 0 sees one key. What is your factor for it? What should happen to short texts?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained)[:, None],
        ),
        Mistake(
            "a key is missing",
            "Query 0 sees itself. How many keys does query i see?",
            _one_key_too_few,
        ),
        Mistake(
            "the factor belongs to the key",
            "Rows are queries. Along which axis does your factor change?",
            lambda scores, trained: scores * _factor(len(scores), trained),
        ),
        Mistake(
            "all queries have the same factor",
            "In a causal text, does the query in the middle see as many keys as the last one?",
            lambda scores, trained: scores * max(1.0, math.log(len(scores)) / math.log(trained)),
        ),
        Mistake(
            "this spreads attention even thinner",
            "When scores are divided by a number above 1, is their softmax sharper or flatter?",
            lambda scores, trained: scores / _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "the factor is added",
            "What does the softmax do with a number that all keys of a query share?",
            lambda scores, trained: scores + _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "this is n / L, without logarithms",
            "The entropy of n equal weights is log n. Which growth is to be undone?",
            _without_logarithms,
        ),
        Mistake(
            "the factor never gets above 1",
            "Which texts are to stay as they were: the short ones or the long ones?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained).clamp(max=1)[:, None],
        ),
    ],
    hints=(
        "How many factors are there: one in all, one for each query, or one for each key?",
        "Make a tensor of how many keys each query sees. Divide its log by log(trained).",
        "factor.clamp(min=1)[:, None] has shape (n, 1) and multiplies row by row.",
    ),
)
