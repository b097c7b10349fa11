"""Lesson 08's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson08 import check_factors, check_ntk_factor


def ntk_factor_in_float32(d, base, trained, target):
    speeds = base ** -(torch.arange(0, d, 2, dtype=torch.float32) / d)
    slow = (trained * speeds < 2 * math.pi).nonzero()
    if not len(slow):
        return 1
    return torch.tensor(target / trained) ** ((d - 2) / (2 * slow[0, 0].float()))


def ntk_factor_by_bisection(d, base, trained, target):
    speeds = [base ** (-2 * m / d) for m in range(d // 2)]

    def is_enough(s):
        slowed = [speed * s ** (-2 * m / (d - 2)) for m, speed in enumerate(speeds)]
        return all(
            trained * speed >= 2 * math.pi or target * new <= trained * speed
            for speed, new in zip(speeds, slowed, strict=True)
        )

    low, high = 1.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def factors_in_three_steps(turns, s):
    factors = torch.full_like(turns, s)
    factors[turns > 0.4] = 0.75 * s
    factors[turns >= 1] = 1.0
    return factors


test_right_answers_pass = right_answers(
    {
        check_ntk_factor: [ntk_factor_in_float32, ntk_factor_by_bisection],
        check_factors: [factors_in_three_steps],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_ntk_factor: [
            (lambda d, base, trained, target: target // trained, "the slowest pair"),
            (
                lambda d, base, trained, target: (
                    (target / trained) ** ((d - 2) / d * math.log(base, trained / 2 / math.pi))
                ),
                "between two pairs",
            ),
        ]
    },
)
test_other_wrong_answers_are_explained = wrong_answers(
    "wrong",
    {
        check_factors: [
            (lambda turns, s: turns.clamp(1, s), "nats at 64 bytes and"),
            (lambda turns, s: torch.tensor([1.0] * 5 + [6.0] + [8.0] * 10), "each of 64 pairs"),
            (lambda turns, s: torch.zeros_like(turns), "above 0"),
        ]
    },
)
