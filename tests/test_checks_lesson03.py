"""Lesson 03's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import numpy as np
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson03 import check_carry_on, check_hands
from course_utils import measures


def main_axes(table, count):
    centred = table - table.mean(0)
    return centred, torch.linalg.svd(centred, full_matrices=False)[2][:count]


def affine_step(coordinates):
    ones = torch.ones(len(coordinates) - 1, 1, dtype=coordinates.dtype)
    known = torch.cat([coordinates[:-1], ones], 1)
    return torch.linalg.lstsq(known, coordinates[1:], driver="gelsd").solution


def carried_by_any_matrix(rows, n, count):
    centred, axes = main_axes(rows, count)
    here = centred @ axes.T
    step = affine_step(here)
    here, later = here[-1], []
    for _ in range(n):
        here = here @ step[:-1] + step[-1]
        later.append(rows.mean(0) + here @ axes)
    return torch.stack(later)


def carried_at_once(rows, n, count):
    centred, axes = main_axes(rows, count)
    clock = measures.turn(centred @ axes.T)
    steps = [clock.onwards((centred @ axes.T)[-1:], k) for k in range(1, n + 1)]
    return torch.cat(steps) @ axes + rows.mean(0)


def hands_by_any_matrix(table, count):
    centred, axes = main_axes(table, count)
    values = np.linalg.eigvals(affine_step(centred @ axes.T)[:-1].numpy())
    return torch.tensor(sorted(2 * np.pi / np.angle(values[values.imag > 1e-9]))[::-1])


def hands_by_cosines(table, count):
    centred, axes = main_axes(table, count)
    cosines = torch.linalg.eigvals(measures.turn(centred @ axes.T).matrix).real
    return (2 * math.pi / cosines.clamp(-1, 1).acos().sort().values)[::2]


def carried_from_the_last_row(rows, n, count):
    centred, axes = main_axes(rows, count)
    clock = measures.turn(centred @ axes.T)
    here, later, new = (centred @ axes.T)[-1:], [], rows[-1]
    for _ in range(n):
        there = clock.onwards(here)
        new, here = new + (there - here)[0] @ axes, there
        later.append(new)
    return torch.stack(later)


def eigenvalues(table, count):
    centred, axes = main_axes(table, count)
    values = torch.linalg.eigvals(measures.turn(centred @ axes.T).matrix)
    return values[values.imag > 0]


def slowest_first(periods):
    return periods.sort(descending=True).values


def hands_by_slopes(table, count):
    values = eigenvalues(table, count)
    return slowest_first(2 * math.pi / (values.imag / values.real).atan())


def hands_by_slopes_sorted_as_angles(table, count):
    values = eigenvalues(table, count)
    return 2 * math.pi / (values.imag / values.real).atan().sort().values


def hands_of_real_parts(table, count):
    return slowest_first(2 * math.pi / eigenvalues(table, count).real)


test_right_answers_pass = right_answers(
    {
        check_carry_on: [carried_by_any_matrix, carried_at_once],
        check_hands: [hands_by_any_matrix, hands_by_cosines],
    }
)
test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_hands: [
            (
                lambda table, count: (
                    measures.hands(
                        measures.turn((lambda pair: pair[0] @ pair[1].T)(main_axes(table, count)))
                    ).periods
                ),
                "hands",
            )
        ]
    },
)
test_other_wrong_answers_are_explained = wrong_answers(
    "mistake",
    {
        check_carry_on: [
            (lambda rows, n, count: rows[-1:].repeat(n, 1), "a clamp"),
            (lambda rows, n, count: rows[:1].repeat(n, 1) * 0 + rows[-1], "a clamp"),
            (carried_from_the_last_row, "part outside"),
            (lambda rows, n, count: carried_at_once(rows, n, count)[-1:], "rows on the way"),
            (lambda rows, n, count: carried_at_once(rows, n, count)[-1], "rows on the way"),
        ],
        check_hands: [
            (lambda table, count: hands_by_any_matrix(table, count).flip(0), "fastest"),
            (lambda table, count: hands_by_any_matrix(table, count) / 2, "half turns"),
            (hands_by_slopes, "above a quarter turn"),
            (hands_by_slopes_sorted_as_angles, "above a quarter turn"),
            (hands_of_real_parts, "real part"),
        ],
    },
)
