"""Lesson 00's exercise: answers in other styles."""

from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson00 import check_weights


def by_logsumexp(scores):
    return (scores - scores.logsumexp(-1, keepdim=True)).exp()


test_right_answers_pass = right_answers({check_weights: [by_logsumexp]})
test_rules_are_kept = wrong_answers(
    "rule", {check_weights: [(lambda scores: scores.softmax(-1), "yours to write")]}
)
