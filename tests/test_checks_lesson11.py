"""Lesson 11's exercises: tests of layers in other styles, and wrong ones with a fitting word."""

from exercise_answers import right_answers, wrong_answers
from layer_tests import (
    empty_words,
    every_row,
    falling,
    falling_or_equal,
    moved,
    moved_outputs,
    nearest_wins_everywhere,
    pairs,
    spread_out,
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


test_right_answers_pass = right_answers(
    {
        check_near_first: [falling, every_row],
        check_anywhere: [moved_outputs, pairs, spread_out],
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
            (lambda layer: moved(layer, 1500), "float16 begins"),
        ],
    },
)


def test_no_message_names_the_fault_of_a_held_back_layer():
    shown = [check.verdict(lambda layer: "?").text for check in (check_near_first, check_anywhere)]
    for fault in clinic.FAULTS:
        for patient in clinic.ward(fault):
            assert all(patient.what not in text for text in shown)
