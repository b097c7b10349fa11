"""Lesson 00's exercise: marks in other styles, and natural ones that do not tell places apart."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson00 import check_marks
from course_utils.encodings.functional import sinusoidal_table


def column(mark):
    """Marks that are the same in every column."""
    return lambda n, width: mark(torch.arange(n).double())[:, None].expand(n, width)


def hands(n, width):
    places = torch.arange(n)[:, None] * 0.5
    return torch.cat([places.cos(), places.sin()], 1).repeat(1, width)[:, :width] * (
        1 + 0.01 * places
    )


def in_the_first_column(n, width):
    marks = torch.zeros(n, width)
    marks[:, 0] = 4 / (1 + torch.arange(n))
    return marks


def lesson_02(n, width):
    return sinusoidal_table(torch.arange(n), width + width % 2)[:, :width]


def row_by_row(n, width):
    marks = torch.zeros(50, width)
    for p in range(50):
        marks[p] = 1 - 0.02 * p
    return marks[:n]


def seeded(n, width):
    return torch.stack(
        [torch.randn(width, generator=torch.Generator().manual_seed(p + 50)) for p in range(n)]
    )


def binary_digits(n, width):
    return (torch.arange(n)[:, None] >> torch.arange(width)) % 2 == 1


def seeded_once(n, width):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(0))


test_right_answers_pass = right_answers(
    {
        check_marks: [
            in_the_first_column,
            lesson_02,
            hands,
            row_by_row,
            column(lambda p: 1 - 0.1 * p),
            column(lambda p: 1 - p / 40),
            column(lambda p: (40 - p) / 40),
            column(lambda p: (50 - p) / 50),
            column(lambda p: 0.9**p),
            column(lambda p: (-0.1 * p).exp()),
            column(lambda p: -1 / (1 + p)),  # of one sign, below 0
            column(torch.cos),
            lambda n, width: torch.tensor([[1 / (1 + p)] * width for p in range(n)]),
            lambda n, width: (1 / torch.arange(1, n + 1)).repeat(width, 1).T,
            lambda n, width: (1 / (1 + torch.arange(n))).unsqueeze(1).expand(n, width),
        ]
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_marks: [
            (lambda n, width: torch.arange(width)[None].expand(n, width), "each row is the same"),
            (lambda n, width: torch.ones(width, n), "exchanged"),
            (lambda n, width: 1 / (1 + torch.arange(n)), "one number"),
            (lambda n, width: 1 / (1 + torch.arange(n).view(-1, 1)), "a row of one number"),
            (lambda n, width: torch.ones(n, width), "all marks are the same"),
            (lambda n, width: torch.zeros(n, width), "all marks are 0"),
            (lambda n, width: torch.eye(n, width), "beyond the width"),
            (lambda n, width: torch.arange(n) * torch.ones(width), "n numbers meet a row"),
            (lambda n, width: 1 / (1 + torch.arange(n)) * torch.ones(width), "n numbers meet"),
            (lambda n, width: 1 / torch.arange(n)[:, None].expand(n, width), "divides by 0"),
        ]
    },
)
test_other_wrong_marks_are_explained = wrong_answers(
    "wrong",
    {
        check_marks: [
            (
                lambda n, width: torch.full((n, width), 7.0),
                "places 0 and 1 are the same, or differ by less",
            ),
            (column(lambda p: 5 - p % 5), "places 0 and 5"),
            (binary_digits, "places 0 and"),  # of as many columns as there are
            (lambda n, width: torch.randn(n, width), "two different answers"),
            (lambda n, width: print(n), "Is a `return` missing?"),
            (lambda n, width: [[p] * width for p in range(n)], "expected a torch tensor, got list"),
            (lambda n, width: math.nan * torch.ones(n, width), "not finite"),
            (column(lambda p: p.clamp(max=10)), "places 10 and 11 are the same"),
            (lambda n, width: (1j * torch.arange(n)).exp()[:, None].repeat(1, width), "complex"),
        ]
    },
)
test_marks_that_shrink_too_fast_are_told_by_what_they_do = wrong_answers(
    "wrong",
    {
        check_marks: [
            (column(mark), "those of late places are alike")
            for mark in (
                lambda p: 0.5**p,
                lambda p: 0.7**p,
                lambda p: 0.8**p,
                lambda p: (-p).exp(),
                lambda p: (-p / 3).exp(),
                lambda p: 1 / (1 + p) ** 2,
                lambda p: 1 / (1 + p**2),
                lambda p: 1 + 0.5**p,
                torch.tanh,
            )
        ]
    },
)
test_a_mark_does_not_depend_on_later_words = wrong_answers(
    "rule",
    {
        check_marks: [
            (lambda n, width: column(lambda p: p / n)(n, width), "place 1 changes when the"),
            (lambda n, width: column(lambda p: 1 - p / n)(n, width), "grows from 6 to 15"),
            (lambda n, width: column(lambda p: p - n // 2)(n, width), "place 0 changes"),
            (seeded_once, "another order"),
            (lambda n, width: column(lambda p: n - 1 - p)(n, width), "place 0 changes"),
            (lambda n, width: torch.linspace(0, 1, n)[:, None].expand(n, width), "place 1 changes"),
            (
                lambda n, width: column(lambda p: 1 / (1 + p) + (n > 20))(n, width),
                "grows from 6 to 50 words",
            ),
        ]
    },
)
FARTHER = "Which of the two should be larger"
CLEARER = "for 5 % more it takes about 0.05"
NOTHING = "The mark of place 0 is 0"
test_marks_have_to_favour_the_nearer = wrong_answers(
    "rule",
    {
        check_marks: [
            (column(lambda p: p), "the shape fits, but the nearer “the” gets at least 5 % more in"),
            (column(lambda p: p), "only 0 of 200 drawings"),
            (column(lambda p: p), "of 1 and 4, 4."),
            (column(lambda p: -p), NOTHING),
            (column(lambda p: 0.1 * p), NOTHING),
            (column(lambda p: -0.1 * p), NOTHING),
            (column(lambda p: 1 + p), FARTHER),
            (column(lambda p: p + 0.1), FARTHER),
            (lambda n, width: torch.arange(n * width).view(n, width) / 100, FARTHER),
            (column(lambda p: 1 - 0.00011 * p), CLEARER),
            (column(lambda p: 0.999**p), CLEARER),
            (column(lambda p: 1 - p / 100), CLEARER),
            (column(lambda p: 1 - p), "Which mark stands in both products"),
            (column(lambda p: (-1) ** p / (1 + p)), "have the same sign"),
            (column(lambda p: p - 0.5), "have the same sign"),
            (column(lambda p: 5 - p), "one word gets more than 0.6 in"),
            (column(lambda p: 40 - p), "How large may marks be"),
            (column(lambda p: 10 / (1 + p)), "How large may marks be"),
        ]
    },
)


def test_marks_that_pass_are_told_in_how_many_drawings():
    assert str(check_marks.verdict(lesson_02)).endswith(
        "5 % more in 136 of 200 drawings; no weight is above 0.6 in 200."
    )
