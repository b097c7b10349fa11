"""The one exercise of lesson 00: the weights of a word behind a bias on distance."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lab.checks.compare import difference
from course_lab.checks.core import Check, Mistake, randn
from course_lab.sentences import CAT_ON_MAT, word_vectors


def _width(words: Tensor) -> float:
    return words.shape[1]


def _root(words: Tensor) -> float:
    return words.shape[1] ** 0.5


def _lessons_width(words: Tensor) -> float:
    return 32


def _lessons_root(words: Tensor) -> float:
    return 32**0.5


def _undivided(words: Tensor) -> float:
    return 1


def _scores(words: Tensor, place: int, divisor: Callable[[Tensor], float] = _width) -> Tensor:
    return words @ words[place] / divisor(words)


def _distances(words: Tensor, place: int) -> Tensor:
    return (torch.arange(len(words)) - place).abs()


def _weights(words: Tensor, place: int, strength: float) -> Tensor:
    return (_scores(words, place) - strength * _distances(words, place)).softmax(0)


def _softmax_of_rest(scores: Tensor, price: Tensor) -> Tensor:
    return (scores - price).softmax(0)


def _from_score_and_price(
    answer: Callable[[Tensor, Tensor], Tensor], divisor: Callable[[Tensor], float] = _width
) -> Callable[..., Tensor]:
    """An answer from the scores and what the distances should take off them."""
    return lambda words, p, strength: answer(
        _scores(words, p, divisor), strength * _distances(words, p)
    )


def _measured(
    distance: Callable[[Tensor, int], Tensor], divisor: Callable[[Tensor], float] = _width
) -> Callable[..., Tensor]:
    """An answer that measures the distance of places j from p in its own way."""
    return lambda words, p, strength: (
        _scores(words, p, divisor) - strength * distance(torch.arange(len(words)), p)
    ).softmax(0)


def _divided_by(divisor: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    """An answer that divides the dot products by another number."""
    return _from_score_and_price(_softmax_of_rest, divisor)


def _all_divided_by(divisor: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    """An answer that divides what is left after the price, too."""
    return lambda words, p, strength: (
        (words @ words[p] - strength * _distances(words, p)) / divisor(words)
    ).softmax(0)


def _without_price(divisor: Callable[[Tensor], float]) -> Callable[..., Tensor]:
    """An answer that takes nothing off the scores."""
    return _from_score_and_price(lambda scores, price: scores.softmax(0), divisor)


def _asked_by(
    query: int,
    divisor: Callable[[Tensor], float] = _width,
    answer: Callable[[Tensor, Tensor], Tensor] = _softmax_of_rest,
) -> Callable[..., Tensor]:
    """An answer that counts the distances from p, but scores another word's query."""
    return lambda words, p, strength: answer(
        _scores(words, query, divisor), strength * _distances(words, p)
    )


def _lessons_line(words: Tensor, place: int, strength: float) -> Tensor:
    return (words @ words[1] / 32).softmax(0)


def _matrix(words: Tensor, strength: float) -> Tensor:
    """The lowered scores of all words as queries, (n, n)."""
    rows = [_scores(words, p) - strength * _distances(words, p) for p in range(len(words))]
    return torch.stack(rows)


def _lowered(words: Tensor, place: int, strength: float) -> Tensor:
    return words - strength * _distances(words, place)[:, None]


def _one_sided(j: Tensor, p: int) -> Tensor:
    return j - p


def _squared(j: Tensor, p: int) -> Tensor:
    return (j - p) ** 2


def _capped(longest: int) -> Callable[..., Tensor]:
    return _measured(lambda j, p: (j - p).abs().clamp(max=longest))


def _signed_after_softmax(
    sign: int, divisor: Callable[[Tensor], float] = _width
) -> Callable[..., Tensor]:
    return lambda words, p, strength: (
        _scores(words, p, divisor).softmax(0) + sign * strength * (torch.arange(len(words)) - p)
    )


def _from_gaps(
    gap: Callable[[Tensor, int], Tensor], distance: Callable[[Tensor], Tensor]
) -> Callable[..., Tensor]:
    """An answer that takes the distance from the words' own numbers, (n, width)."""
    return lambda words, p, strength: (
        _scores(words, p) - strength * distance(gap(words, p))
    ).softmax(0)


def _gap_to_vector(words: Tensor, place: int) -> Tensor:
    return words - words[place]


def _gap_to_number(words: Tensor, place: int) -> Tensor:
    return words - place


def _price_for_each_number(gap: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """An answer that takes the gap of each of a word's numbers off its score, (n, width)."""
    return lambda words, p, strength: (
        _scores(words, p)[:, None] - strength * gap(words, p).abs()
    ).softmax(0)


def _products_not_added_up(axis: int, price: float = 1.0) -> Callable[..., Tensor]:
    """An answer whose softmax runs along one axis of the products, (n, width)."""
    return lambda words, p, strength: (
        words * words[p] / words.shape[1] - price * strength * _distances(words, p)[:, None]
    ).softmax(axis)


def _with_marks(
    mark: Callable[[Tensor, float], Tensor], answer: Callable[..., Tensor]
) -> Callable[..., Tensor]:
    """The answer to words with a mark added to each."""

    def of_marked_words(words: Tensor, place: int, strength: float) -> Tensor:
        marks = mark(torch.arange(len(words)), strength)
        return answer(words + marks[:, None], place, strength)

    return of_marked_words


def _around(words: Tensor, place: int) -> Tensor:
    distance = _distances(words, place)
    return torch.minimum(distance, len(words) - distance)


def _cosines(words: Tensor, place: int) -> Tensor:
    return torch.cosine_similarity(words, words[place][None], dim=1)


def _hiding(hidden: Callable[[Tensor, int], Tensor]) -> Callable[..., Tensor]:
    """An answer that hides some places j from the word at p."""

    def answer(words: Tensor, place: int, strength: float) -> Tensor:
        lowered = _scores(words, place) - strength * _distances(words, place)
        return lowered.masked_fill(hidden(torch.arange(len(words)), place), -torch.inf).softmax(0)

    return answer


def _as_tensor(answer: Any, *case: Any) -> Any:
    """A list or an array of numbers as a tensor, so that mistakes are seen in it, too."""
    if not isinstance(answer, (list, tuple, np.ndarray)):
        return answer
    try:
        return torch.as_tensor(answer, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # not numbers, or ragged
        return answer


def _judge(answer: Any, words: Tensor, place: int, strength: float) -> str:
    """Where the numbers are off and do not sum to 1, ask for that, too."""
    right = _weights(words, place, strength)
    numbers = _as_tensor(answer)
    if numbers is not answer and not difference(numbers, right):
        return (
            f"the numbers are right, but they are in a {type(answer).__name__}. Softmax returns a "
            "tensor. Which function makes one of yours?"
        )
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
        (randn(9, 5, seed=7), 8, 0.3),  # far enough to show a cap on the distance
        (randn(5, 6, seed=8), 1, 2.0),  # a strength above 1, which the explorer does not have
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
            "the strength multiplies the scores, too",
            "At strength 0 no distance counts. What is left of the scores in yours?",
            lambda words, p, strength: (
                strength * (_scores(words, p) - _distances(words, p))
            ).softmax(0),
        ),
        Mistake(
            "the strength does not multiply the distance",
            "What do one place and two places cost in yours at strength 1, and what at strength 2?",
            lambda words, p, strength: (
                _scores(words, p) - _distances(words, p) ** strength
            ).softmax(0),
            lambda words, p, strength: _weights(words, p, 1.0),  # or less `strength`, shared by all
            lambda words, p, strength: (
                _scores(words, p) - strength / _distances(words, p)
            ).softmax(0),
            lambda words, p, strength: (
                _scores(words, p) - strength / _distances(words, p).clamp(min=1)
            ).softmax(0),
            lambda words, p, strength: (
                _scores(words, p) - _distances(words, p) / strength
            ).softmax(0),
        ),
        Mistake(
            "the strength does not count as it is",
            "What does one place cost in yours at strength 0.3, and what at strength 2?",
            *[
                lambda words, p, strength, change=change: _weights(words, p, change(strength))
                for change in (
                    lambda strength: min(strength, 1.0),
                    lambda strength: strength**2,
                    lambda strength: strength**0.5,
                    lambda strength: 2 * strength,
                    lambda strength: strength / 2,
                    math.exp,
                    math.log1p,
                )
            ],
        ),
        Mistake(
            "what is left of the scores has lost its sign",
            "A score may lie below 0. Which part of your formula may not, and where do its "
            "brackets stand?",
            lambda words, p, strength: (
                (_scores(words, p) - strength * (torch.arange(len(words)) - p)).abs().softmax(0)
            ),
            _from_score_and_price(lambda scores, price: (scores - price).abs().softmax(0)),
            _from_score_and_price(lambda scores, price: (scores.abs() - price).softmax(0)),
        ),
        Mistake(
            "the last word asks",
            "Which word asks, by the parameters? Which one does an index of −1 pick?",
            _asked_by(-1),
        ),
        Mistake(
            "the word's own weight is taken off",
            "What do your weights sum to? May a word look at itself?",
            lambda words, p, strength: (
                _weights(words, p, strength) * (torch.arange(len(words)) != p)
            ),
        ),
        Mistake(
            "scores below 0 are made 0",
            "Two words score −1 and −3. Which should get more, and does it in yours?",
            _from_score_and_price(lambda scores, price: (scores.clamp(min=0) - price).softmax(0)),
            _from_score_and_price(lambda scores, price: (scores - price).clamp(min=0).softmax(0)),
        ),
        Mistake(
            "the distance is taken off the width",
            "Where do the brackets of your division end? Which part is divided, and by what?",
            lambda words, p, strength: (
                words @ words[p] / (words.shape[1] - strength * _distances(words, p))
            ).softmax(0),
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
            *map(_capped, (2, 3, 4, 5, 6)),
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
            _measured(lambda j, p: (j - p).abs() * ((j - p).abs() > 1)),
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
            "the products are not added up",
            "A dot product is one number for each word. How many numbers are yours?",
            lambda words, p, strength: words * words[p],
            *map(_products_not_added_up, (0, 1)),
            *[_products_not_added_up(axis, price=0.0) for axis in (0, 1)],
        ),
        Mistake(
            "the distance is taken from the words' own numbers",
            "The exercise means places in the sentence. Does yours change if a word moves?",
            _from_gaps(_gap_to_vector, lambda gaps: gaps.norm(dim=1)),
            _from_gaps(_gap_to_vector, lambda gaps: (gaps**2).sum(1)),
            _from_gaps(_gap_to_vector, lambda gaps: (gaps**2).mean(1)),
            _from_gaps(_gap_to_vector, lambda gaps: gaps.abs().sum(1)),
            _from_gaps(_gap_to_number, lambda gaps: gaps.abs().sum(1)),
            _from_gaps(_gap_to_number, lambda gaps: gaps.abs().mean(1)),
            _price_for_each_number(_gap_to_vector),
            _price_for_each_number(_gap_to_number),
        ),
        Mistake(
            "the division reaches the distance, too",
            "Only dot products grow with the width. Which part of your formula is divided?",
            lambda words, p, strength: _weights(words, p, strength / words.shape[1]),
            *map(_all_divided_by, (_root, _lessons_width, _lessons_root)),
        ),
        Mistake(
            "the dot product and the distance are both off",
            "One thing at a time. At strength 0, what divides a dot product? And how far is the "
            "word before `place`, how far the one after it?",
            *[
                _measured(distance, divisor)
                for divisor, distance in product(
                    (_root, len, _undivided, _lessons_width, _lessons_root), (_one_sided, _squared)
                )
            ],
        ),
        Mistake(
            "far words gain, and the dot product is off, too",
            "One thing at a time. Of two equal words, which should get less? And at strength 0, "
            "what divides a dot product?",
            *[
                _from_score_and_price(lambda scores, price: (scores + price).softmax(0), divisor)
                for divisor in (_root, len, _undivided, _lessons_width)
            ],
        ),
        Mistake(
            "the lesson's line is for “cat” and 32 numbers a word",
            "What in it must change for another word, and what for another width?",
            _lessons_line,
            _asked_by(1, _lessons_width),
            _asked_by(1, _lessons_width, lambda scores, price: (scores + price).softmax(0)),
            _asked_by(1, _lessons_width, lambda scores, price: scores.softmax(0) - price),
            _asked_by(1, _lessons_width, lambda scores, price: scores - price),
            lambda words, p, strength: _divided_by(_lessons_width)(words, 1, strength),
        ),
        Mistake(
            "the dot product is not divided",
            "What has the lesson done to each dot product before the softmax?",
            _divided_by(_undivided),
            _without_price(_undivided),
        ),
        Mistake(
            "the dot product is divided by the root of the width",
            "Most models do that. By what does this lesson divide?",
            _divided_by(_root),
            _without_price(_root),
            _divided_by(_lessons_root),
        ),
        Mistake(
            "the dot product is divided by the lengths of both vectors",
            "That makes cosines. What has the lesson's first code divided by?",
            lambda words, p, strength: (
                _cosines(words, p) - strength * _distances(words, p)
            ).softmax(0),
        ),
        Mistake(
            "the dot product is divided by the length of a vector",
            "What has the lesson's first code divided by?",
            lambda words, p, strength: _divided_by(lambda all_words: all_words[p].norm())(
                words, p, strength
            ),
        ),
        Mistake(
            "the dot product is divided by 32, whatever the width",
            "How many numbers has a word here, and how many in the sentence of the lesson?",
            _divided_by(_lessons_width),
            _without_price(_lessons_width),
        ),
        Mistake(
            "the dot product is divided by the number of words",
            "How many words are there, and how many numbers does a dot product multiply?",
            _divided_by(len),
        ),
        Mistake(
            "the dot product is divided by the root of the number of words",
            "How many words are there, how many numbers does a dot product multiply, and is there "
            "a root in the lesson's first code?",
            _divided_by(lambda words: len(words) ** 0.5),
        ),
        Mistake(
            "the dot product is divided by the width twice",
            "By what does the lesson divide a dot product, and how often do you?",
            _divided_by(lambda words: words.shape[1] ** 2),
            _divided_by(lambda words: words.shape[1] ** 1.5),
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
            *[
                lambda words, p, strength, divisor=divisor: (
                    (_scores(words, p, divisor) - strength) * _distances(words, p)
                ).softmax(0)
                for divisor in (_width, _lessons_width, _undivided)
            ],
        ),
        Mistake(
            "the distance acts after the softmax",
            "What do your weights sum to? Which step makes the sum 1, and what should come first?",
            _from_score_and_price(lambda scores, price: scores.softmax(0) + price),
            _from_score_and_price(lambda scores, price: (scores.softmax(0) - price).clamp(min=0)),
            _from_score_and_price(lambda scores, price: scores.softmax(0) * price),
            _from_score_and_price(lambda scores, price: scores.softmax(0) * (1 - price)),
            _from_score_and_price(lambda scores, price: scores.softmax(0) / (1 + price)),
            *[
                _from_score_and_price(answer, divisor)
                for divisor, answer in product(
                    (_width, _lessons_width, _undivided, _root),
                    (
                        lambda scores, price: scores.softmax(0) - price,
                        lambda scores, price: scores.softmax(0) * (-price).exp(),
                    ),
                )
            ],
            *[
                _signed_after_softmax(sign, divisor)
                for sign, divisor in product((-1, 1), (_width, _lessons_width))
            ],
        ),
        Mistake(
            "the distance acts after the softmax, and the weights are shared out anew",
            "1 off a score divides a weight by e. What do you do to a weight?",
            *[
                _from_score_and_price(answer, divisor)
                for divisor, answer in product(
                    (_width, _lessons_width),
                    (
                        lambda scores, price: _shared_out(scores.softmax(0) - price),
                        lambda scores, price: _shared_out((scores.softmax(0) - price).clamp(min=0)),
                    ),
                )
            ],
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
            _from_score_and_price(lambda scores, price: scores[:, None].softmax(1)[:, 0]),
        ),
        Mistake(
            "these are scores, not weights",
            "What do yours sum to, and which function makes weights of scores?",
            *[
                _from_score_and_price(answer, divisor)
                for divisor, answer in product(
                    (_width, _undivided, _root, _lessons_width),
                    (
                        lambda scores, price: scores,
                        lambda scores, price: scores - price,
                        lambda scores, price: scores + price,
                    ),
                )
            ],
            lambda words, p, strength: words @ words[1] / 32,
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
            "the words of the notebook are asked, not those that are given",
            "`words` is a parameter. Does your answer change with it?",
            lambda words, p, strength: _weights(word_vectors(CAT_ON_MAT, 32), p, strength),
            lambda words, p, strength: (
                _scores(word_vectors(CAT_ON_MAT, 32), p)[: len(words)]
                - strength * _distances(words, p)[:6]
            ).softmax(0),
        ),
        Mistake(
            "`place` is not used, or only for the distance",
            "Which word asks? What should change if another one does?",
            lambda words, p, strength: _weights(words, 0, strength),
            lambda words, p, strength: _weights(words, 1, strength),
            _asked_by(0),
            _asked_by(1),
            lambda words, p, strength: _scores(words, 1).softmax(0),
            lambda words, p, strength: _scores(words, 1, _undivided).softmax(0),
            _asked_by(1, _width, lambda scores, price: scores - price),
        ),
        Mistake(
            "places are counted from 1",
            "Which place has the first word of the lesson's sentence? Which word asks in yours if "
            "`place` is that?",
            lambda words, p, strength: _weights(words, p - 1, strength),
            lambda words, p, strength: _asked_by(p - 1)(words, p, strength),
            lambda words, p, strength: _scores(words, p - 1).softmax(0),
            lambda words, p, strength: _asked_by(p - 1, _lessons_width)(words, p, strength),
        ),
        Mistake(
            "the words do not count, only their places",
            "Would your weights change with other words in the sentence? How many scores do you "
            "compute, and how many should there be?",
            # a single sum over all products, shared by all words, gives the same
            _from_score_and_price(lambda scores, price: (-price).softmax(0)),
            _from_score_and_price(lambda scores, price: price.softmax(0)),
            _from_score_and_price(lambda scores, price: price),
            _from_score_and_price(lambda scores, price: -price),
            lambda words, p, strength: (
                (words * words[p]).sum() / words.shape[1] - strength * _distances(words, p)
            ),
            lambda words, p, strength: (-1.0 * _distances(words, p)).softmax(0),
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
            _from_score_and_price(lambda scores, price: (scores - price).softmax(0)[price > 0]),
        ),
        Mistake(
            "one weight is missing",
            "How many words are there, and how many weights? Which word gets none?",
            _from_score_and_price(lambda scores, price: (scores - price)[:-1].softmax(0)),
            _from_score_and_price(lambda scores, price: (scores - price)[1:].softmax(0)),
            _from_score_and_price(lambda scores, price: (scores - price).softmax(0)[:-1]),
            _from_score_and_price(lambda scores, price: (scores - price).softmax(0)[1:]),
        ),
        Mistake(
            "the words on one side of `place` get nothing",
            "At which words does the word at `place` look? The exercise says it.",
            _hiding(lambda j, p: j > p),
            _hiding(lambda j, p: j < p),
            lambda words, p, strength: _weights(words, p, strength)[: p + 1],
            lambda words, p, strength: _weights(words, p, strength)[p:],
            lambda words, p, strength: _weights(words[: p + 1], p, strength),
            lambda words, p, strength: _weights(words[p:], 0, strength),
        ),
        Mistake(
            "a mark is added to the words",
            "That is door 1. Which door does the exercise open, and what passes through it?",
            *[
                _with_marks(mark, answer)
                for mark, answer in product(
                    (
                        lambda places, strength: places,
                        lambda places, strength: strength * places,
                        lambda places, strength: -strength * places,
                    ),
                    (_without_price(_width), _without_price(_lessons_width)),
                )
            ],
            *[
                _with_marks(lambda places, strength: places, answer)
                for answer in (
                    _lessons_line,
                    _weights,
                    _divided_by(_lessons_width),
                    _from_score_and_price(lambda scores, price: scores, _lessons_width),
                )
            ],
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
            "Numbers in a list cannot be multiplied, subtracted or shared out at once. What does "
            "the lesson's code hold its words and places in?",
            lambda words, p, strength: strength * [abs(other - p) for other in range(len(words))],
            lambda words, p, strength: _scores(words, p).tolist().softmax(0),  # type: ignore[attr-defined]
            raises=r"can't multiply sequence|operand type.*'(list|range)'|must be Tensor, not list"
            "|'list' object has no attribute",
        ),
        Mistake(
            "NumPy's arrays and PyTorch's tensors are mixed",
            "Two libraries, two kinds of numbers. Which one counts places in the lesson's code?",
            lambda words, p, strength: (
                -strength * np.abs(np.arange(len(words)) - p) + _scores(words, p)
            ),
            lambda words, p, strength: _scores(words, p).numpy().softmax(0),  # type: ignore[attr-defined]
            raises="NumPy|numpy|must be Tensor, not ndarray",
        ),
        Mistake(
            "many numbers go where Python takes one",
            "Functions such as those of `math` take a single number. How many are there in yours, "
            "and which functions take them all at once?",
            lambda words, p, strength: math.fabs(words - p),
            lambda words, p, strength: math.exp(words),
            raises="can be converted to Python scalar|cannot be converted to Scalar",
        ),
        Mistake(
            "the softmax gets whole numbers",
            "Places and distances are whole numbers. Where are the scores in what yours is given?",
            lambda words, p, strength: _distances(words, p).softmax(0),
            raises="softmax.*not implemented for '(Long|Int)'",
        ),
        Mistake(
            "the size of `words` is two numbers",
            "How many words, and how many numbers a word: which of the two is the width?",
            lambda words, p, strength: words @ words[p] / words.shape,
            raises=r"torch\.Size|'Size'|not Size",
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
            "Each word has one score, one place, one distance. Which of yours has as many numbers "
            "as a vector?",
            lambda words, p, strength: torch.arange(max(2, len(words))) - words[p],
            raises="must match the size",
        ),
        Mistake(
            "two shapes do not fit in a product",
            "A dot product is one number for each word. Which axis of `words` does it add up?",
            lambda words, p, strength: words[p] @ words,
            raises="cannot be multiplied|size mismatch|inconsistent tensor",
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
    effect=_as_tensor,
)
