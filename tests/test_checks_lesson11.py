"""Lesson 11's exercises: tests of layers in other styles, and wrong ones with a fitting word."""

import torch
from exercise_answers import right_answers, wrong_answers
from layer_tests import (
    empty_words,
    every_row,
    falling,
    falling_or_equal,
    moved,
    nearest_wins_everywhere,
    weights,
)

from course_lab import clinic
from course_lab.checks.lesson11 import check_anywhere, check_near_first


def one_word_row(layer):
    """A query's weights over 20 equal words: (heads, keys)."""
    return weights(layer, clinic.words(layer, n=20, same=True))[0, :, 10]


def mask_forgotten(layer):
    row = one_word_row(layer)
    return bool((row[:, :11].diff() > 0).all() and (row[:, 10:].diff() < 0).all())


def mean_of_heads(layer):
    row = one_word_row(layer).mean(0)
    return bool((row[:11].diff() > 0).all() and not (row[10:].diff() > 0).any())


def first_head(layer):
    row = one_word_row(layer)[0]
    return bool((row[:11].diff() > 0).all() and not (row[10:].diff() > 0).any())


def other_words(layer):
    row = weights(layer, clinic.words(layer, n=20))[0, :, 10]
    return bool((row[:, :11].diff() > 0).all())


def outputs_at(layer, start):
    x, p = clinic.words(layer, 2, 20, seed=4), torch.arange(20)
    return torch.allclose(layer(x, p)[0], layer(x, p + start)[0], atol=1e-3)


def of_two_words(layer, start):
    """Every two words of a text by themselves: what the second gives the first."""
    x, first = clinic.words(layer, n=2), torch.tensor([0, 1])
    return all(
        (weights_at(layer, x, first * d) - weights_at(layer, x, first * d + start)).abs().max()
        < 1e-3
        for d in range(1, 15)
    )


def weights_at(layer, x, positions):
    return layer(x, positions, need_weights=True)[1]


def without_tolerance(layer, start):
    x, p = clinic.words(layer, n=12), torch.arange(12)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start))


def in_the_first_head(layer, start):
    x, p = clinic.words(layer, n=12), torch.arange(12)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return torch.allclose(near[:, 0], far[:, 0], atol=1e-3)


def one_step_on(layer, start):
    x, p = clinic.words(layer, n=12), torch.arange(12) + start
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + 1), atol=1e-3)


test_right_answers_pass = right_answers(
    {
        check_near_first: [falling, every_row],
        check_anywhere: [moved, outputs_at, of_two_words],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_near_first: [
            (mask_forgotten, "no layer with a causal mask"),
            (falling_or_equal, "costs nothing"),
            (empty_words, "one or two others"),
            (nearest_wins_everywhere, "which key gets most"),
            (mean_of_heads, "mean of the heads"),
            (first_head, "single head"),
            (other_words, "no layer, not even"),
        ],
        check_anywhere: [
            (lambda layer, start: moved(layer, 8000), "whatever the start"),
            (without_tolerance, "for rounding"),
            (in_the_first_head, "a single head"),
            (one_step_on, "two far starts"),
        ],
    },
)


def test_no_message_names_the_fault_of_a_held_back_layer():
    shown = [
        check.verdict(lambda layer, *start: "?").text
        for check in (check_near_first, check_anywhere)
    ]
    for fault in clinic.FAULTS:
        for patient in clinic.ward(fault):
            assert all(patient.what not in text for text in shown)
