"""Lesson 00's exercise: answers in other styles, and natural wrong ones."""

import math

import numpy as np
import pytest
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson00 import check_attention_weights

j = torch.arange


def scores(words, place):
    return words @ words[place] / words.shape[1]


def distances(words, place):
    return (j(len(words)) - place).abs()


def both(finish):
    """An answer that finishes the right scores and distances times strength in its own way."""
    return lambda words, p, strength: finish(scores(words, p), strength * distances(words, p))


def measured(distance):
    """An answer that measures the distance of the places in its own way."""
    return lambda words, p, strength: (
        scores(words, p) - strength * distance(j(len(words)), p)
    ).softmax(0)


def each_word(distance):
    """An answer by a loop over the words that measures the distance of each in its own way."""
    return lambda words, p, strength: torch.stack(
        [
            word @ words[p] / len(word) - strength * distance(word, other, p)
            for other, word in enumerate(words)
        ]
    ).softmax(0)


def lessons_32(finish, query=None):
    """An answer from the lesson's line, with its 32, and distances times strength."""
    return lambda words, p, strength: finish(
        words @ words[p if query is None else query] / 32, strength * distances(words, p)
    )


def marked(divisor=None, query=None, sign=None):
    """An answer that adds places to the words, as the lesson's second picture does."""

    def answer(words, p, strength):
        factor = 1 if sign is None else sign * strength
        placed = words + factor * j(len(words))[:, None]
        asks = placed[p if query is None else query]
        return (placed @ asks / (divisor or words.shape[1])).softmax(0)

    return answer


def by_loops(words, place, strength):
    lowered = []
    for other, word in enumerate(words):
        score = sum(float(a) * float(b) for a, b in zip(word, words[place], strict=True))
        lowered.append(score / len(word) - strength * abs(other - place))
    powers = [math.exp(score - max(lowered)) for score in lowered]
    return torch.tensor([power / sum(powers) for power in powers])


def by_einsum(words, place, strength):
    products = torch.einsum("nd,d->n", words, words[place])
    return torch.softmax(products / words.size(-1) - strength * distances(words, place), -1)


def row_of_a_matrix(words, place, strength):
    far = (j(len(words)) - j(len(words))[:, None]).abs()
    return (words @ words.T / words.shape[1] - strength * far).softmax(-1)[place]


def in_doubles(words, place, strength):
    powers = both(lambda score, price: (score - price).exp())(words.double(), place, strength)
    return powers / powers.sum()


test_right_answers_pass = right_answers(
    {
        check_attention_weights: [
            by_loops,
            by_einsum,
            row_of_a_matrix,
            in_doubles,
            both(lambda score, price: (score - price).exp() / (score - price).exp().sum()),
            both(lambda score, price: torch.nn.functional.softmax(score - price, dim=0)),
            both(lambda score, price: (score - price - (score - price).max()).softmax(0)),
            # the price multiplies the weights, and they are shared out once more
            both(lambda score, price: (score.softmax(0) * (-price).exp()).log().softmax(0)),
            lambda words, p, strength: (
                (words * words[p]).mean(1) - strength * (distances(words, p) + 1)
            ).softmax(0),
        ]
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_attention_weights: [
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * (j(len(words)) - p)
                ).softmax(0),
                "the two sides of `place` are not treated alike",
            ),
            (
                lambda words, p, strength: (scores(words, p) - strength * j(len(words))).softmax(0),
                "How far is the word before `place`",
            ),
            (both(lambda score, price: (score + price).softmax(0)), "far words gain"),
            (
                lambda words, p, strength: (scores(words, p) - strength * p).softmax(0),
                "the strength changes nothing",
            ),
            (
                lambda words, p, strength: (scores(words, p) - distances(words, p)).softmax(0),
                "the strength does not multiply the distance",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * distances(words, p) ** 2
                ).softmax(0),
                "the distance is squared",
            ),
            (
                lambda words, p, strength: (
                    (words @ words[p] - strength * distances(words, p)) / words.shape[1]
                ).softmax(0),
                "the division reaches the distance, too",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] - strength * distances(words, p)
                ).softmax(0),
                "is not divided",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] / math.sqrt(words.shape[1]) - strength * distances(words, p)
                ).softmax(0),
                "divided by the root of the width",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] / words.shape[0] - strength * distances(words, p)
                ).softmax(0),
                "divided by the number of words",
            ),
            (
                both(lambda score, price: (score * (1 - price)).softmax(0)),
                "the distance multiplies the score",
            ),
            (
                both(lambda score, price: score.softmax(0) - price),
                "the distance acts after the softmax",
            ),
            (both(lambda score, price: score - price), "these are scores, not weights"),
            (lambda words, p, strength: words @ words[p], "these are scores, not weights"),
            (both(lambda score, price: (score - price).exp()), "powers of e are not shared out"),
            (
                lambda words, p, strength: (
                    words @ words[p] / 32 - strength * distances(words, p)
                ).softmax(0),
                "divided by 32, whatever the width",
            ),
            (both(lambda score, price: (score - price).log_softmax(0)), "logarithms of weights"),
            (
                lambda words, p, strength: (
                    words @ words[p] / words.shape[1]
                    - strength * (torch.arange(len(words)) - 1).abs()
                ).softmax(0),
                "the distance does not start at `place`",
            ),
            (
                both(
                    lambda score, price: (
                        (score.softmax(0) - price) / (score.softmax(0) - price).sum()
                    )
                ),
                "after the softmax, and the weights are shared out anew",
            ),
            (lambda words, p, strength: (words * words[p]).sum(), "along the wrong axis"),
            (lambda words, p, strength: (words * words[p]).mean(0), "along the wrong axis"),
            (
                lambda words, p, strength: (
                    words @ words[1] / words.shape[1] - strength * distances(words, p)
                ).softmax(0),
                "`place` is not used, or only for the distance",
            ),
            (lambda words, p, strength: row_of_a_matrix(words, 0, strength), "is not used"),
            (
                lambda words, p, strength: torch.stack(
                    [row_of_a_matrix(words, q, strength) for q in range(len(words))]
                ),
                "there is an axis too many",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p][:, None] / words.shape[1] - strength * distances(words, p)
                ).softmax(0),
                "there is an axis too many",
            ),
            (lambda words, p, strength: words * words[p], "the products are not added up"),
            (
                lambda words, p, strength: row_of_a_matrix(words, p, strength) @ words,
                "this is the sum of the values",
            ),
            (
                both(
                    lambda score, price: torch.where(price > 0, score - price, -1e9).softmax(0),
                ),
                "the word does not look at itself",
            ),
            (
                lambda words, p, strength: scores(
                    words - strength * distances(words, p)[:, None], p
                ).softmax(0),
                "off the words, not off their scores",
            ),
            (lambda words, p, strength: (words[p] @ words).softmax(0), "two shapes do not fit"),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * (j(words.shape[1]) - p).abs()
                ).softmax(0),
                "two shapes do not fit",
            ),
            # the softmax
            (both(lambda score, price: (score - price).softmax(0).softmax(0)), "runs twice"),
            (
                both(lambda score, price: (score.softmax(0) - price).softmax(0)),
                "the distance acts after the softmax",
            ),
            (
                both(lambda score, price: (score - price) / (score - price).sum()),
                "shared out as they are",
            ),
            (both(lambda score, price: (score - price).sigmoid()), "squeezed by itself"),
            (
                lambda words, p, strength: words @ words[p] - strength * distances(words, p),
                "these are scores, not weights",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] / math.sqrt(words.shape[1]) - strength * distances(words, p)
                ),
                "these are scores, not weights",
            ),
            (both(lambda score, price: (score - price).softmax()), "not told its axis"),
            (both(lambda score, price: (score - price).softmax(1)), "has no such axis"),
            (both(lambda score, price: (score - price).softmax(0).argmax()), "one number comes"),
            (both(lambda score, price: (score - price).max()), "one number comes back"),
            # the distance
            (measured(lambda i, p: (i + 1 - p).abs()), "does not start at `place`"),
            (measured(lambda i, p: (i - (p - 1)).abs()), "does not start at `place`"),
            (measured(lambda i, p: ((i - p).abs() - 1).clamp(min=0)), "no more than the word"),
            (measured(lambda i, p: (i != p).float()), "all other words cost the same"),
            (measured(lambda i, p: (i - p).abs().sqrt()), "not every further place"),
            (measured(lambda i, p: (i - p).abs() / len(i)), "by the length of the sentence"),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * (words - words[p]).norm(dim=1)
                ).softmax(0),
                "from the words' own numbers",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * torch.dist(words, words[p])
                ).softmax(0),
                "How many different numbers do you take off the scores?",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength / (1 + distances(words, p))
                ).softmax(0),
                "far words gain",
            ),
            (measured(lambda i, p: (torch.arange(6) - p).abs()), "always 6 places"),
            # the division
            (
                lambda words, p, strength: (
                    words @ words[p] / math.sqrt(words.shape[1]) - strength * (j(len(words)) - p)
                ).softmax(0),
                "are both off",
            ),
            (
                lambda words, p, strength: (
                    (words @ words[p] - strength * distances(words, p)) / math.sqrt(words.shape[1])
                ).softmax(0),
                "the division reaches the distance, too",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] / words.norm(dim=1) / words[p].norm()
                    - strength * distances(words, p)
                ).softmax(0),
                "by the lengths of both vectors",
            ),
            (
                lambda words, p, strength: (
                    words @ words[p] / words.numel() - strength * distances(words, p)
                ).softmax(0),
                "how many numbers all words have",
            ),
            # another door, another mask, other signs
            (
                both(lambda score, price: (score * (-price).exp()).softmax(0)),
                "the distance multiplies the score",
            ),
            (both(lambda score, price: (-(score - price)).softmax(0)), "a minus sign reaches"),
            (
                lambda words, p, strength: (
                    (scores(words, p) - strength * distances(words, p))
                    .masked_fill(j(len(words)) > p, -math.inf)
                    .softmax(0)
                ),
                "on one side of `place` get nothing",
            ),
            (
                lambda words, p, strength: scores(
                    words + strength * j(len(words))[:, None], p
                ).softmax(0),
                "a mark is added to the words",
            ),
            # the lesson's own lines, pasted
            (lambda words, p, strength: (words @ words[1] / 32).softmax(0), "for “cat” and 32"),
            (lessons_32(lambda score, price: (score - price).softmax(0), 1), "for “cat” and 32"),
            (lessons_32(lambda score, price: (score + price).softmax(0), 1), "for “cat” and 32"),
            (lessons_32(lambda score, price: score.softmax(0) - price, 1), "for “cat” and 32"),
            (lessons_32(lambda score, price: score - price, 1), "for “cat” and 32"),
            (lessons_32(lambda score, price: score.softmax(0)), "by 32, whatever the width"),
            (lessons_32(lambda score, price: score), "these are scores, not weights"),
            (lessons_32(lambda score, price: score, 1), "these are scores, not weights"),
            (lessons_32(lambda score, price: score - price), "these are scores, not weights"),
            (lessons_32(lambda score, price: score + price), "these are scores, not weights"),
            (lessons_32(lambda score, price: score.softmax(0) - price), "acts after the softmax"),
            (
                lessons_32(lambda score, price: score.softmax(0) * (-price).exp()),
                "acts after the softmax",
            ),
            (lessons_32(lambda score, price: (score + price).softmax(0)), "far words gain, and"),
            (
                lambda words, p, strength: (
                    words @ words[p] + strength * distances(words, p)
                ).softmax(0),
                "Of two equal words, which should get less? And at strength 0",
            ),
            (lambda words, p, strength: (words @ words[p]).softmax(0), "is not divided"),
            (
                lambda words, p, strength: (words @ words[1] / words.shape[1]).softmax(0),
                "`place` is not used",
            ),
            (marked(), "a mark is added to the words"),
            (marked(32), "a mark is added to the words"),
            (marked(32, 1), "a mark is added to the words"),
            (marked(sign=1), "a mark is added to the words"),
            (marked(sign=-1), "a mark is added to the words"),
            # strength and distance
            (
                lambda words, p, strength: (
                    (scores(words, p) - strength) * distances(words, p)
                ).softmax(0),
                "the distance multiplies the score",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength - distances(words, p)
                ).softmax(0),
                "What do one place and two places cost",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength / distances(words, p)
                ).softmax(0),
                "the strength does not multiply the distance",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - distances(words, p) / strength
                ).softmax(0),
                "the strength does not multiply the distance",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p).softmax(0) - strength * (j(len(words)) - p)
                ),
                "acts after the softmax",
            ),
            (
                both(lambda score, price: (score.softmax(0) - price).clamp(min=0)),
                "acts after the softmax",
            ),
            (
                both(
                    lambda score, price: (
                        (score.softmax(0) - price).clamp(min=0)
                        / (score.softmax(0) - price).clamp(min=0).sum()
                    )
                ),
                "after the softmax, and the weights are shared out anew",
            ),
            *[
                (measured(lambda i, p, longest=n: (i - p).abs().clamp(max=longest)), "for three")
                for n in (2, 3, 4, 5, 6)
            ],
            # words that do not count, or not all of them
            (both(lambda score, price: (-price).softmax(0)), "the words do not count"),
            (both(lambda score, price: -price), "the words do not count"),
            (
                lambda words, p, strength: (
                    (words * words[p]).sum() / words.shape[1] - strength * distances(words, p)
                ).softmax(0),
                "How many scores do you compute",
            ),
            (
                lambda words, p, strength: (
                    (scores(words, p) - strength * distances(words, p))
                    .masked_fill(j(len(words)) < p, -math.inf)
                    .softmax(0)
                ),
                "on one side of `place` get nothing",
            ),
            (
                both(lambda score, price: (score - price)[: int(price.argmin()) + 1].softmax(0)),
                "on one side of `place` get nothing",
            ),
            (
                lambda words, p, strength: row_of_a_matrix(words, p - 1, strength),
                "places are counted from 1",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p - 1) - strength * distances(words, p)
                ).softmax(0),
                "places are counted from 1",
            ),
            # loops
            (each_word(lambda word, other, p: abs(word - p)), "from the words' own numbers"),
            (each_word(lambda word, other, p: abs(word - p).sum()), "from the words' own numbers"),
            (each_word(lambda word, other, p: other - p), "are not treated alike"),
            (
                lambda words, p, strength: [
                    float((word @ words[p] / len(word)).softmax(0)) for word in words
                ],
                "squeezed by itself",
            ),
            (  # a list or an array is looked into
                lambda words, p, strength: both(lambda score, price: score - price)(
                    words, p, strength
                ).tolist(),
                "these are scores, not weights",
            ),
            (
                lambda words, p, strength: both(lambda score, price: (score + price).softmax(0))(
                    words, p, strength
                ).numpy(),
                "far words gain",
            ),
            # Python's own words for it
            (
                lambda words, p, strength: [
                    math.fabs(j(len(words)) - p) * strength for word in words
                ],
                "many numbers go where Python takes one",
            ),
            (both(lambda score, price: math.exp(score - price)), "where Python takes one"),
            (
                lambda words, p, strength: (
                    torch.tensor([word @ words[p] - strength * abs(word - p) for word in words])
                ).softmax(0),
                "where Python takes one",
            ),
            (
                lambda words, p, strength: (
                    -strength * np.abs(np.arange(len(words)) - p) + scores(words, p)
                ).softmax(0),
                "NumPy's arrays and PyTorch's tensors are mixed",
            ),
            (
                lambda words, p, strength: (words.numpy() @ words[p].numpy()).softmax(0),
                "NumPy's arrays and PyTorch's tensors are mixed",
            ),
            (lambda words, p, strength: distances(words, p).softmax(0), "gets whole numbers"),
            (
                lambda words, p, strength: [float(word @ words[p]) for word in words].softmax(0),  # type: ignore[attr-defined]
                "a list or a range has no arithmetic",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * (j(len(words)) - words[p]).abs()
                ).softmax(0),
                "Which of yours has as many numbers as a vector?",
            ),
            (
                lambda words, p, strength: (words @ words[p] / words.shape).softmax(0),
                "the size of `words` is two numbers",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * [abs(i - p) for i in range(len(words))]
                ).softmax(0),
                "a list or a range has no arithmetic",
            ),
            (
                lambda words, p, strength: (
                    scores(words, p) - strength * abs(range(len(words)) - p)
                ).softmax(0),
                "a list or a range has no arithmetic",
            ),
            (lambda words, p, strength: (words @ p).softmax(0), "as if it were a vector"),
            (lambda words, p, strength: torch.dot(words, words[p]), "meets a whole table"),
        ]
    },
)
test_what_is_no_tensor_of_weights_is_explained = wrong_answers(
    "wrong",
    {
        check_attention_weights: [
            (lambda words, p, strength: None, "Is a `return` missing?"),
            (lambda words, p, strength: [0.7] * len(words), "expected a torch tensor, got list"),
            (
                lambda words, p, strength: row_of_a_matrix(words, p, strength).tolist(),
                "the numbers are right, but they are in a list",
            ),
            (
                lambda words, p, strength: list(row_of_a_matrix(words, p, strength)),
                "the numbers are right, but they are in a list",
            ),
            (
                lambda words, p, strength: row_of_a_matrix(words, p, strength).numpy(),
                "the numbers are right, but they are in a ndarray",
            ),
            (lambda words, p, strength: [[1.0], "text"], "expected a torch tensor, got list"),
            (lambda words, p, strength: j(len(words)), "expected dtype torch.float32"),
            (lambda words, p, strength: undefined, "name 'undefined' is not defined"),  # type: ignore[name-defined] # noqa: F821
            (lambda words, p: words, "takes 2 positional arguments but 3 were given"),
            (both(lambda score, price: (score - price).tanh()), "What should weights sum to?"),
            (both(lambda score, price: (score - price).round().softmax(0)), "value that differs"),
            (lambda words, p, strength: (words.mul_(2), scores(words, p))[1], "argument words in"),
        ]
    },
)


@pytest.mark.parametrize("mistake", check_attention_weights.mistakes, ids=lambda m: m.name)
def test_no_question_gives_the_code_away(mistake):
    assert not any(code in mistake.question for code in ("abs", "softmax(", "arange", "shape"))
