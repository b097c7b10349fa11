"""Lesson 07's exercises: answers in other styles."""

import numpy as np
from exercise_answers import right_answers

from course_lab.checks.lesson07 import check_long_enough, check_paired


def mean_as_a_number(losses, fewest):
    return losses[:, fewest - 1 :].mean().item()


def paired_in_numpy(short, long):
    changes = (long - short).numpy()
    return float(changes.mean()), np.std(changes, ddof=1) / len(changes) ** 0.5


test_right_answers_pass = right_answers(
    {check_long_enough: [mean_as_a_number], check_paired: [paired_in_numpy]}
)
