"""The one exercise of lesson 00: the weights of a word behind a bias on distance."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.compare import difference
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


def _divided_and_measured(
    divisor: Callable[[Tensor], float], distance: Callable[[Tensor, int], Tensor]
) -> Callable[..., Tensor]:
    """An answer that divides the dot products and measures the distance in its own way."""
    return lambda words, p, strength: (
        words @ words[p] / divisor(words) - strength * distance(torch.arange(len(words)), p)
    ).softmax(0)


def _root(words: Tensor) -> float:
    return words.shape[1] ** 0.5


def _one_sided(j: Tensor, p: int) -> Tensor:
    return j - p


def _squared(j: Tensor, p: int) -> Tensor:
    return (j - p) ** 2


def _as_vectors(distance: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    """An answer that takes the distance from the gaps between the words' vectors, (n, width)."""
    return lambda words, p, strength: (
        _scores(words, p) - strength * distance(words - words[p])
    ).softmax(0)


def _with_marks(mark: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
    """An answer that adds a mark to each word and takes nothing off the scores."""

    def answer(words: Tensor, place: int, strength: float) -> Tensor:
        places = torch.arange(len(words))
        return _scores(words + mark(places, strength)[:, None], place).softmax(0)

    return answer


def _around(words: Tensor, place: int) -> Tensor:
    distance = _distances(words, place)
    return torch.minimum(distance, len(words) - distance)


def _cosines(words: Tensor, place: int) -> Tensor:
    return torch.cosine_similarity(words, words[place][None], dim=1)


def _only_earlier(words: Tensor, place: int, strength: float) -> Tensor:
    lowered = _scores(words, place) - strength * _distances(words, place)
    return lowered.masked_fill(torch.arange(len(words)) > place, -torch.inf).softmax(0)


def _judge(answer: Any, words: Tensor, place: int, strength: float) -> str:
    """Where the numbers are off and do not sum to 1, ask for that, too."""
    right = _weights(words, place, strength)
    text = difference(answer, right)
    if not text or not isinstance(answer, Tensor) or answer.shape != right.shape:
        return text
    if not answer.is_floating_point() or abs(float(answer.sum()) - 1) < 1e-3:
        return text
    return f"{text} Yours sum to {float(answer.sum()):.3g}. What should weights sum to?"


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
            lambda words, p, strength: (
                _scores(words, p) - strength / (1 + _distances(words, p))
            ).softmax(0),
        ),
        Mistake(
            "a minus sign reaches the scores",
            "Of two words at the same distance, which should get more: the one that scores high?",
            _from_score_and_price(lambda scores, price: (price - scores).softmax(0)),
            _from_score_and_price(lambda scores, price: (-price - scores).softmax(0)),
        ),
        Mistake(
            "the strength changes nothing",
            "How many different numbers do you take off the scores? Softmax does not notice what "
            "all of them share.",
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
            _measured(_squared),
        ),
        Mistake(
            "not every further place costs the same",
            "What does yours take off for one place, for two and for three?",
            _measured(lambda j, p: (j - p).abs() ** 0.5),
            _measured(lambda j, p: (j - p).abs().log1p()),
            _measured(lambda j, p: (j - p).abs().clamp(max=2)),
            lambda words, p, strength: (
                _scores(words, p) - strength ** _distances(words, p)
            ).softmax(0),
        ),
        Mistake(
            "all other words cost the same",
            "Does a far word in yours lose more than a near one?",
            _measured(lambda j, p: (j != p).float()),
        ),
        Mistake(
            "a neighbour costs no more than the word itself",
            "How many steps is it from `place` to the next word, and how many in yours?",
            _measured(lambda j, p: ((j - p).abs() - 1).clamp(min=0)),
        ),
        Mistake(
            "the sentence is bent into a ring",
            "How many steps is it from the first word to the last, and how many in yours?",
            lambda words, p, strength: (_scores(words, p) - strength * _around(words, p)).softmax(
                0
            ),
        ),
        Mistake(
            "the distance is divided by the length of the sentence",
            "What does one place cost in a short sentence, and what in a long one?",
            lambda words, p, strength: _weights(words, p, strength / len(words)),
            lambda words, p, strength: _weights(words, p, strength / max(1, len(words) - 1)),
        ),
        Mistake(
            "the distance is that of two vectors",
            "The exercise means places in the sentence. Does yours change if a word moves?",
            _as_vectors(lambda gaps: gaps.norm(dim=1)),
            _as_vectors(lambda gaps: (gaps**2).sum(1)),
            _as_vectors(lambda gaps: (gaps**2).mean(1)),
            _as_vectors(lambda gaps: gaps.abs().sum(1)),
        ),
        Mistake(
            "the division reaches the distance, too",
            "Only dot products grow with the width. Which part of your formula is divided?",
            lambda words, p, strength: _weights(words, p, strength / words.shape[1]),
            lambda words, p, strength: (
                (words @ words[p] - strength * _distances(words, p)) / _root(words)
            ).softmax(0),
        ),
        Mistake(
            "the dot product and the distance are both off",
            "One thing at a time. At strength 0, what divides a dot product? And how far is the "
            "word before `place`, how far the one after it?",
            *[
                _divided_and_measured(divisor, distance)
                for divisor, distance in product(
                    (_root, len, lambda words: 1.0, lambda words: 32.0), (_one_sided, _squared)
                )
            ],
        ),
        Mistake(
            "the dot product is not divided",
            "What has the lesson done to each dot product before the softmax?",
            _divided_by(lambda words: 1.0),
        ),
        Mistake(
            "the dot product is divided by the root of the width",
            "Most models do that. By what does this lesson divide?",
            _divided_by(_root),
            lambda words, p, strength: (words @ words[p] / _root(words)).softmax(0),
        ),
        Mistake(
            "the dot product is divided by the lengths of both vectors",
            "That makes cosines. What has the lesson's first code divided by?",
            lambda words, p, strength: (
                _cosines(words, p) - strength * _distances(words, p)
            ).softmax(0),
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
            _divided_by(lambda words: len(words) ** 0.5),
        ),
        Mistake(
            "the dot product is divided by how many numbers all words have",
            "How many numbers does one dot product multiply?",
            _divided_by(lambda words: words.numel()),
        ),
        Mistake(
            "the distance multiplies the score",
            "What does that do to a score of 0, and what to one below 0?",
            _from_score_and_price(lambda scores, price: (scores * price).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores * (1 - price)).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores / (1 + price)).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores * (-price).exp()).softmax(0)),
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
            _from_score_and_price(lambda scores, price: (scores.softmax(0) - price).softmax(0)),
        ),
        Mistake(
            "the softmax runs twice",
            "What becomes of weights, all between 0 and 1, if they are taken for scores?",
            _from_score_and_price(lambda scores, price: (scores - price).softmax(0).softmax(0)),
        ),
        Mistake(
            "the scores are shared out as they are",
            "What would a score below 0 get? Which step of the lesson's first code is missing?",
            _from_score_and_price(lambda scores, price: _shared_out(scores - price)),
            _from_score_and_price(lambda scores, price: _shared_out(scores)),
            _from_score_and_price(lambda scores, price: _shared_out((scores - price).abs())),
            _from_score_and_price(lambda scores, price: _shared_out((scores - price).relu())),
        ),
        Mistake(
            "each score is squeezed by itself",
            "What do yours sum to, and what should weights sum to?",
            _from_score_and_price(lambda scores, price: (scores - price).sigmoid()),
            _from_score_and_price(lambda scores, price: _shared_out((scores - price).sigmoid())),
        ),
        Mistake(
            "these are scores, not weights",
            "What do yours sum to, and which function makes weights of scores?",
            _from_score_and_price(lambda scores, price: scores - price),
            _from_score_and_price(lambda scores, price: scores),
            lambda words, p, strength: words @ words[p],
            lambda words, p, strength: words @ words[p] / _root(words),
            lambda words, p, strength: words @ words[p] - strength * _distances(words, p),
            lambda words, p, strength: (
                words @ words[p] / _root(words) - strength * _distances(words, p)
            ),
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
            _measured(lambda j, p: (j + 1 - p).abs()),
            _measured(lambda j, p: (j - 1 - p).abs()),
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
            "one number comes back",
            "At how many words does the word at `place` look? Each of them gets a weight.",
            lambda words, p, strength: _weights(words, p, strength).argmax(),
            lambda words, p, strength: _scores(words, p).argmax(),
            lambda words, p, strength: _weights(words, p, strength).max(),
            _from_score_and_price(lambda scores, price: (scores - price).max()),
            lambda words, p, strength: _scores(words, p).max(),
            lambda words, p, strength: _weights(words, p, strength).sum(),
            lambda words, p, strength: _weights(words, p, strength)[p],
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
            "later words get nothing",
            "At which words does the word at `place` look? The exercise says it.",
            _only_earlier,
        ),
        Mistake(
            "a mark is added to the words, and nothing taken off their scores",
            "That is door 1. What passes through door 3?",
            _with_marks(lambda places, strength: strength * places),
            _with_marks(lambda places, strength: places),
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
            "a list or a range has no arithmetic",
            "Numbers in a list cannot be multiplied or subtracted at once. What does the lesson's "
            "code use to count places?",
            lambda words, p, strength: strength * [abs(other - p) for other in range(len(words))],
            raises=r"can't multiply sequence|operand type.*'(list|range)'|must be Tensor, not list",
        ),
        Mistake(
            "`place` is used as if it were a vector",
            "It is a number. Where is the vector of the word that asks?",
            lambda words, p, strength: words @ p,
            raises="operand type.*'Tensor' and 'int'|must be Tensor, not int",
        ),
        Mistake(
            "the softmax is not told its axis, or has no such axis",
            "How many axes have your scores? The lesson's first code names the one it shares out.",
            lambda words, p, strength: _scores(words, p).softmax(),  # type: ignore[call-arg]
            lambda words, p, strength: _scores(words, p).softmax(1),
            raises='softmax.* missing 1 required.*"dim"|Dimension out of range',
        ),
        Mistake(
            "one vector meets a whole table",
            "That function takes two vectors. How did the lesson's first code score all words?",
            lambda words, p, strength: torch.dot(words, words[p]),
            raises="1D tensors expected",
        ),
        Mistake(
            "there are always 6 places in yours",
            "The lesson's sentence has 6 words. How many has the one that you are given?",
            lambda words, p, strength: (
                _scores(words, p).sub_(strength * (torch.arange(6) - p).abs()).softmax(0)
            ),
            raises=r"tensor a \(6\) must match|match the size of tensor b \(6\)|shape \[6\]",
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
    judge=_judge,
)
