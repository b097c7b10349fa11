"""Lesson 11's exercises: tests of layers in other styles, and wrong ones with a fitting word."""

from exercise_answers import right_answers, wrong_answers
from layer_tests import (
    alone,
    copies,
    empty_words,
    last_word_after_a_prompt,
    library_numbers,
    moved,
    moved_outputs,
    nearest_wins_everywhere,
    pairs,
    spread_out,
    weights,
    word_by_word,
)

from course_lab import clinic
from course_lab.checks.lesson11 import check_anywhere, check_near_first, check_one_answer

test_right_answers_pass = right_answers(
    {
        check_one_answer: [
            lambda layer: copies(layer) and word_by_word(layer),
            lambda layer: last_word_after_a_prompt(layer) & alone(layer),
        ],
        check_near_first: [empty_words, nearest_wins_everywhere],
        check_anywhere: [moved_outputs, pairs, spread_out],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_one_answer: [
            (library_numbers, "one implementation's numbers"),
            (alone, "read pieces"),
            (word_by_word, "mix up the texts"),
        ],
        check_anywhere: [(lambda layer: moved(layer, 1500), "float16 begins")],
    },
)
test_weights_are_no_verdict = wrong_answers(
    "wrong",
    {check_near_first: [(lambda layer: weights(layer, clinic.words(layer)), "expected")]},
)
