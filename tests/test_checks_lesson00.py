"""Lesson 00's exercise: answers in other styles, and wrong ones that were once misjudged."""

import torch
from exercise_answers import right_answers, wrong_answers
from torch.nn import functional as F

from course_lab.checks.lesson00 import check_weights


def by_logsumexp(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


def less_the_largest_of_all(scores):
    return less_the_rows_largest(scores - scores.max())


def less_the_rows_mean(scores):
    positive = (scores - scores.mean(-1, keepdim=True)).exp()
    return positive / positive.sum(-1, keepdim=True)


def less_the_rows_largest(scores):
    positive = (scores - scores.amax(-1, keepdim=True)).exp()
    return positive / positive.sum(-1, keepdim=True)


def shares(positive):
    return positive / positive.sum(-1, keepdim=True)


def by_attention_over_unit_vectors(scores):
    n = scores.shape[-1]
    queries, units = scores.reshape(1, -1, n), torch.eye(n)[None]
    return F.scaled_dot_product_attention(queries, units, units, scale=1.0).reshape(scores.shape)


test_right_answers_pass = right_answers(
    {check_weights: [by_logsumexp, less_the_largest_of_all, less_the_rows_mean]}
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_weights: [
            (lambda s: s.exp() / s.exp().sum(-1), "an axis has got lost"),
            (lambda s: shares((s - s.amax(-1)).exp()), "an axis has got lost"),
            (lambda s: shares((s - s.max(-1, keepdim=True)).exp()), "comes with its place"),
            (lambda s: s.exp() / s.exp().sum(1, keepdim=True), "from the front"),
            (lambda s: s.exp() / len(s), "do not sum to 1"),
            (lambda s: s.exp() / s.exp().max(), "do not sum to 1"),
            (lambda s: s.exp() / s.exp().mean(-1, keepdim=True), "number of its scores"),
            (lambda s: F.normalize(s.exp(), dim=-1), "do not sum to 1"),
            (lambda s: s.exp() / s.sum(-1), "a sum of the scores themselves"),
            (lambda s: (s / s.sum()).exp(), "divided before the exponential"),
            (lambda s: shares((s / s.max()).exp()), "divided before the exponential"),
            (lambda s: shares((s / s.shape[-1] ** 0.5).exp()), "divided before"),
            (lambda s: shares(2**s), "the base is 2"),
            (torch.sigmoid, "by itself"),
            (lambda s: shares(torch.sigmoid(s)), "by itself"),
            (lambda s: shares(s.clamp(max=50).exp()), "cut off"),
            (lambda s: shares(s.exp().nan_to_num()), "painted over"),
            (lambda s: torch.ones_like(s) / s.shape[-1], "are equal"),
        ]
    },
)
test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_weights: [
            (lambda scores: scores.softmax(-1), "yours to write"),
            (by_attention_over_unit_vectors, "yours to write"),
        ]
    },
)
