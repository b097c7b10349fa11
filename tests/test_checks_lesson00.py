"""Lesson 00's exercise: answers in other styles, and natural wrong ones."""

import math

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
                "the strength is not used",
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
                "that of two vectors",
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
                "later words get nothing",
            ),
            (
                lambda words, p, strength: scores(
                    words + strength * j(len(words))[:, None], p
                ).softmax(0),
                "a mark is added to the words",
            ),
            # Python's own words for it
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
            (lambda words, p, strength: [1.0] * len(words), "expected a torch tensor, got list"),
            (lambda words, p, strength: j(len(words)), "expected dtype torch.float32"),
            (lambda words, p, strength: undefined, "name 'undefined' is not defined"),  # type: ignore[name-defined] # noqa: F821
            (lambda words, p: words, "takes 2 positional arguments but 3 were given"),
            (both(lambda score, price: (score - price).tanh()), "What should weights sum to?"),
            (both(lambda score, price: (score - 2 * price).softmax(0)), "value that differs"),
            (lambda words, p, strength: (words.mul_(2), scores(words, p))[1], "argument words in"),
        ]
    },
)


@pytest.mark.parametrize("mistake", check_attention_weights.mistakes, ids=lambda m: m.name)
def test_no_question_gives_the_code_away(mistake):
    assert not any(code in mistake.question for code in ("abs", "softmax(", "arange", "shape"))
