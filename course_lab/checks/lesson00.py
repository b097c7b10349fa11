"""The one exercise of lesson 00: the weights of a word behind a bias on distance."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn


def _scores(words: Tensor, place: int) -> Tensor:
    return words @ words[place] / words.shape[1]


def _distances(words: Tensor, place: int) -> Tensor:
    return (torch.arange(len(words)) - place).abs()


def _weights(words: Tensor, place: int, strength: float) -> Tensor:
    return (_scores(words, place) - strength * _distances(words, place)).softmax(0)


def _from_score_and_price(answer: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    """An answer from the right scores and what the distances should take off them."""
    return lambda words, p, strength: answer(_scores(words, p), strength * _distances(words, p))


def _measured(distance: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """An answer that measures the distance of places j from p in its own way."""
    return lambda words, p, strength: (
        _scores(words, p) - strength * distance(torch.arange(len(words)), p)
    ).softmax(0)


def _divided_by(divisor: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    """An answer that divides the dot products by another number."""
    return lambda words, p, strength: (
        words @ words[p] / divisor(words) - strength * _distances(words, p)
    ).softmax(0)


def _asked_by(query: int) -> Callable[..., Tensor]:
    """An answer that counts the distances from p, but scores another word's query."""
    return lambda words, p, strength: (
        _scores(words, query) - strength * _distances(words, p)
    ).softmax(0)


def _matrix(words: Tensor, strength: float) -> Tensor:
    """The lowered scores of all words as queries, (n, n)."""
    rows = [_scores(words, p) - strength * _distances(words, p) for p in range(len(words))]
    return torch.stack(rows)


def _lowered(words: Tensor, place: int, strength: float) -> Tensor:
    return words - strength * _distances(words, place)[:, None]


def _shared_out(weights: Tensor) -> Tensor:
    return weights / weights.sum()


def _others(scores: Tensor, price: Tensor) -> Tensor:
    return (scores - price)[price > 0].softmax(0)


check_attention_weights = Check(
    "attention_weights",
    _weights,
    cases=[
        (randn(6, 32), 1, 0.1),
        (randn(6, 32, seed=1), 0, 1.0),
        (randn(5, 4, seed=2), 4, 1.0),
        (randn(7, 3, seed=3), 3, 0.5),
        (randn(4, 8, seed=4), 2, 0.0),
        (randn(3, 16, seed=5)[[0, 1, 2, 0]], 3, 0.3),  # the word that asks stands twice
        (randn(1, 4, seed=6), 0, 1.0),
    ],
    mistakes=[
        Mistake(
            "the two sides of `place` are not treated alike",
            "How far is the word before `place`, and how far the one after it? What does yours "
            "take off the score of each?",
            _measured(lambda j, p: j - p),  # as with j itself: softmax ignores what all share
            _measured(lambda j, p: p - j),
            _measured(lambda j, p: (j - p).clamp(min=0)),
            _measured(lambda j, p: (p - j).clamp(min=0)),
        ),
        Mistake(
            "far words gain",
            "Of two equal words, which should get less?",
            _from_score_and_price(lambda scores, price: (scores + price).softmax(0)),
        ),
        Mistake(
            "the strength changes nothing",
            "What do you take off a near word's score, and what off a far one's? Softmax does not "
            "notice what all scores share.",
            _from_score_and_price(lambda scores, price: scores.softmax(0)),
        ),
        Mistake(
            "the strength is not used",
            "What should come out at strength 0, and what does yours give?",
            lambda words, p, strength: _weights(words, p, 1.0),
        ),
        Mistake(
            "the distance is squared",
            "Each further place costs the same. What does yours take for the first, and what for "
            "the second?",
            _measured(lambda j, p: (j - p) ** 2),
        ),
        Mistake(
            "the division reaches the distance, too",
            "Only dot products grow with the width. Which part of your formula is divided?",
            lambda words, p, strength: _weights(words, p, strength / words.shape[1]),
        ),
        Mistake(
            "the dot product is not divided",
            "What has the lesson done to each dot product before the softmax?",
            _divided_by(lambda words: 1.0),
        ),
        Mistake(
            "the dot product is divided by the root of the width",
            "Most models do that. By what does this lesson divide?",
            _divided_by(lambda words: words.shape[1] ** 0.5),
            lambda words, p, strength: (words @ words[p] / words.shape[1] ** 0.5).softmax(0),
        ),
        Mistake(
            "the dot product is divided by 32, whatever the width",
            "How many numbers has a word here, and how many in the sentence of the lesson?",
            _divided_by(lambda words: 32.0),
        ),
        Mistake(
            "the dot product is divided by the number of words",
            "How many words are there, and how many numbers does a dot product multiply?",
            _divided_by(len),
        ),
        Mistake(
            "the distance multiplies the score",
            "What does that do to a score of 0, and what to one below 0?",
            _from_score_and_price(lambda scores, price: (scores * price).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores * (1 - price)).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores / (1 + price)).softmax(0)),
        ),
        Mistake(
            "the distance acts after the softmax",
            "What do your weights sum to? Which step makes the sum 1, and what should come first?",
            _from_score_and_price(lambda scores, price: scores.softmax(0) - price),
            _from_score_and_price(lambda scores, price: scores.softmax(0) * price),
            _from_score_and_price(lambda scores, price: scores.softmax(0) * (1 - price)),
            _from_score_and_price(lambda scores, price: scores.softmax(0) * (-price).exp()),
            _from_score_and_price(lambda scores, price: scores.softmax(0) / (1 + price)),
        ),
        Mistake(
            "the distance acts after the softmax, and the weights are shared out anew",
            "1 off a score divides a weight by e. What do you do to a weight?",
            _from_score_and_price(lambda scores, price: _shared_out(scores.softmax(0) - price)),
            _from_score_and_price(
                lambda scores, price: _shared_out(scores.softmax(0) * (1 - price))
            ),
            _from_score_and_price(
                lambda scores, price: _shared_out(scores.softmax(0) / (1 + price))
            ),
        ),
        Mistake(
            "these are scores, not weights",
            "What do yours sum to, and which function makes weights of scores?",
            _from_score_and_price(lambda scores, price: scores - price),
            _from_score_and_price(lambda scores, price: scores),
            lambda words, p, strength: words @ words[p],
        ),
        Mistake(
            "the powers of e are not shared out",
            "What do yours sum to, and what should weights sum to?",
            _from_score_and_price(lambda scores, price: (scores - price).exp()),
        ),
        Mistake(
            "these are logarithms of weights",
            "What do yours sum to, and what should weights sum to? Which function is yours?",
            _from_score_and_price(lambda scores, price: (scores - price).log_softmax(0)),
        ),
        Mistake(
            "`place` is not used, or only for the distance",
            "Which word asks? What should change if another one does?",
            lambda words, p, strength: _weights(words, 0, strength),
            lambda words, p, strength: _weights(words, 1, strength),
            _asked_by(0),
            _asked_by(1),
        ),
        Mistake(
            "the distance does not start at `place`",
            "How far is the word at `place` from itself, and how far in yours?",
            _measured(lambda j, p: (j - 1).abs()),
            lambda words, p, strength: (
                _scores(words, p)
                - strength * _distances(words, int((words == words[p]).all(1).int().argmax()))
            ).softmax(0),
        ),
        Mistake(
            "the softmax runs over more than one word's scores",
            "What do your weights sum to? Which scores should share out the 1?",
            lambda words, p, strength: _matrix(words, strength).softmax(0)[p],
            lambda words, p, strength: (
                _matrix(words, strength).exp()[p] / _matrix(words, strength).exp().sum()
            ),
        ),
        Mistake(
            "there is an axis too many",
            "One word asks, so n weights come back. Which axis of yours is one too many?",
            lambda words, p, strength: _matrix(words, strength).softmax(-1),
            lambda words, p, strength: _weights(words, p, strength)[None],
            lambda words, p, strength: _weights(words, p, strength)[:, None],
        ),
        Mistake(
            "the products are not added up",
            "A dot product is one number for each word. How many numbers are yours?",
            lambda words, p, strength: words * words[p],
        ),
        Mistake(
            "the products are added up along the wrong axis",
            "A dot product is one number for each word. Which axis of `words` runs along a vector?",
            lambda words, p, strength: (words * words[p]).sum(),
            lambda words, p, strength: (words * words[p]).mean(),
            lambda words, p, strength: (words * words[p]).sum(0),
            lambda words, p, strength: (words * words[p]).mean(0),
        ),
        Mistake(
            "this is the sum of the values",
            "That comes after the weights. How many numbers should come back, and how many do?",
            lambda words, p, strength: _weights(words, p, strength) @ words,
        ),
        Mistake(
            "the word does not look at itself",
            "What did “cat” give itself in the first picture?",
            _from_score_and_price(
                lambda scores, price: (
                    (scores - price).masked_fill(price == 0, -torch.inf).softmax(0)
                )
            ),
            _from_score_and_price(_others),
        ),
        Mistake(
            "the distance is taken off the words, not off their scores",
            "Door 3 comes after the dot product. Where does your distance come in?",
            lambda words, p, strength: _scores(_lowered(words, p, strength), p).softmax(0),
            lambda words, p, strength: (
                _lowered(words, p, strength) @ words[p] / words.shape[1]
            ).softmax(0),
        ),
        Mistake(
            "two shapes do not fit",
            "A score and a distance for each word: how many are there of each? Which axis of "
            "`words` does a dot product add up?",
            lambda words, p, strength: words[p] @ words,
            raises="must match the size|cannot be multiplied|size mismatch|inconsistent tensor",
        ),
    ],
    hints=(
        "Three steps: a score for each word, less what its distance takes off, then the softmax. "
        "The lesson's first code has the first and the last, for place 1 and width 32.",
        "`torch.arange(len(words))` numbers the places. How many steps is each of them from "
        "`place`, whichever side it is on?",
        "The distances are `(torch.arange(len(words)) - place).abs()`. Take `strength` times "
        "them off the scores, then `.softmax(0)`.",
    ),
)
