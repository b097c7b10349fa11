"""Lesson 00's exercise: marks in other styles, and natural ones that do not tell places apart."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson00 import check_marks


def in_the_first_column(n, width):
    marks = torch.zeros(n, width)
    marks[:, 0] = torch.arange(n)
    return marks


def seeded(n, width):
    return torch.stack(
        [torch.randn(width, generator=torch.Generator().manual_seed(p)) for p in range(n)]
    )


def binary_digits(n, width):
    return (torch.arange(n)[:, None] >> torch.arange(width)) % 2 == 1


def seeded_once(n, width):
    return torch.randn(n, width, generator=torch.Generator().manual_seed(0))


def waves(n, width):
    return (torch.arange(n)[:, None] * 0.5 ** torch.arange(width)).sin()


def shares(n, width):
    return (torch.arange(n)[:, None] / n).expand(n, width)


def centred(n, width):
    return (torch.arange(n) - n // 2)[:, None].expand(n, width)


test_right_answers_pass = right_answers(
    {
        check_marks: [
            in_the_first_column,
            binary_digits,
            seeded,
            waves,
            lambda n, width: torch.arange(n).repeat(width, 1).T,
            lambda n, width: torch.arange(n).unsqueeze(1).expand(n, width),
            lambda n, width: torch.arange(n * width).view(n, width),
            lambda n, width: torch.tensor([[p] * width for p in range(n)]),
            lambda n, width: 0.9 ** torch.arange(n)[:, None] * torch.ones(width),
            lambda n, width: (
                torch.arange(n, dtype=torch.float32)[:, None] * torch.ones(width)
            ).sin(),
        ]
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_marks: [
            (lambda n, width: torch.arange(width)[None].expand(n, width), "each row is the same"),
            (lambda n, width: torch.ones(width, n), "exchanged"),
            (lambda n, width: torch.arange(n).float(), "one number"),
            (lambda n, width: torch.arange(n).view(-1, 1), "a row of one number"),
            (lambda n, width: torch.ones(n, width), "all marks are the same"),
            (lambda n, width: torch.zeros(n, width), "all marks are 0"),
            (lambda n, width: torch.eye(n, width), "beyond the width"),
            (lambda n, width: torch.arange(n) * torch.ones(width), "n numbers meet a row"),
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
            (lambda n, width: (torch.arange(n) % 5)[:, None].expand(n, width), "places 0 and 5"),
            (lambda n, width: torch.randn(n, width), "two different answers"),
            (lambda n, width: print(n), "Is a `return` missing?"),
            (lambda n, width: [[p] * width for p in range(n)], "expected a torch tensor, got list"),
            (lambda n, width: 1 / torch.arange(n)[:, None].expand(n, width), "not finite"),
            (lambda n, width: math.nan * torch.ones(n, width), "not finite"),
            (
                lambda n, width: 0.5 ** torch.arange(n)[:, None] * torch.ones(width),
                "less than 0.0001",
            ),
            (lambda n, width: (1j * torch.arange(n)).exp()[:, None].repeat(1, width), "complex"),
        ]
    },
)
test_a_mark_does_not_depend_on_later_words = wrong_answers(
    "rule",
    {
        check_marks: [
            (shares, "place 1 changes when the sentence grows from 6 to 15"),
            (centred, "place 0 changes"),
            (seeded_once, "another order"),
            (lambda n, width: torch.arange(n).flip(0)[:, None].expand(n, width), "place 0 changes"),
            (lambda n, width: torch.linspace(0, 1, n)[:, None].expand(n, width), "place 1 changes"),
        ]
    },
)
