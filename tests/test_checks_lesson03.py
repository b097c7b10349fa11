"""Lesson 03's exercises: answers in other styles, and wrong ones that were once misjudged."""

import numpy as np
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson03 import check_pieces

test_right_answers_pass = right_answers(
    {
        check_pieces: [
            lambda n, w, o: max(1, -(-(n - o) // (w - o))),
            lambda n, w, o: len(range(0, max(n - o, 1), w - o)),
        ]
    }
)
test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_pieces: [
            (
                lambda n, w, o: len([start for start in range(0, max(n - o, 1), w - o)]),
                "there is a loop in it",
            ),
            (lambda n, w, o: len(list(range(0, max(n - o, 1), w - o))), "MemoryError"),
        ]
    },
)
test_other_wrong_answers_are_explained = wrong_answers(
    "wrong", {check_pieces: [(lambda n, w, o: 1 + np.ceil(max(n - w, 0) / (w - o)), "as a float")]}
)
