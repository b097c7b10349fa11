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
    return torch.tensor(sorted(2 * np.pi / np.angle(values[values.imag > 1e-9])))


def hands_by_cosines(table, count):
    centred, axes = main_axes(table, count)
    cosines = torch.linalg.eigvals(measures.turn(centred @ axes.T).matrix).real
    return (2 * math.pi / cosines.clamp(-1, 1).acos().sort(descending=True).values)[::2]


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


def fastest_first(periods):
    return periods.sort().values


def hands_by_slopes(table, count):
    values = eigenvalues(table, count)
    return fastest_first(2 * math.pi / (values.imag / values.real).atan())


def hands_by_slopes_sorted_as_angles(table, count):
    values = eigenvalues(table, count)
    return 2 * math.pi / (values.imag / values.real).atan().sort(descending=True).values


def hands_of_real_parts(table, count):
    return fastest_first(2 * math.pi / eigenvalues(table, count).real)


def carried(rows, n, count, step, start=slice(-1, None), back=None):
    """The rows after the known ones by any step from ``start``, brought back by ``back``."""
    centred, axes = main_axes(rows, count)
    clock, here, later = measures.turn(centred @ axes.T), (centred @ axes.T)[start], []
    for number in range(1, n + 1):
        here = step(clock, here, number)
        later.append(here)
    return rows.mean(0) + torch.cat(later) @ axes if back is None else back(later, axes)


def one_step(clock, here, number):
    return here @ clock.matrix + clock.shift


def onwards_along(centred, axes, n):
    here, later = centred @ axes.T, []
    clock, place = measures.turn(here), here[-1:]
    for _ in range(n):
        place = clock.onwards(place)
        later.append(place)
    return torch.cat(later) @ axes


def along_columns_of_v(rows, n, count):
    centred = rows - rows.mean(0)
    return rows.mean(0) + onwards_along(centred, torch.linalg.svd(centred)[2][:, :count].T, n)


def less_one_number(rows, n, count):
    centred = rows - rows.mean()
    axes = torch.linalg.svd(centred, full_matrices=False)[2][:count]
    return onwards_along(centred, axes, n) + rows.mean()


def hand_by_hand(rows, n, count):
    centred, axes = main_axes(rows, count)
    parts = [onwards_along(centred, axes[first : first + 2], n) for first in range(0, count, 2)]
    return rows.mean(0) + sum(parts)


def overwritten(rows, n, count):
    centred, axes = main_axes(rows, count)
    clock, here, later = measures.turn(centred @ axes.T), (centred @ axes.T)[-1], []
    for _ in range(n):
        here[:] = clock.onwards(here[None])[0]
        later.append(here)
    return rows.mean(0) + torch.stack(later) @ axes


WRONG_CARRIED = [
    (lambda rows, n, count: carried(rows, n, count // 2, one_step), "half of its directions"),
    (
        lambda rows, n, count: carried(rows, n, min(10, rows.shape[1]), one_step),
        "more directions than",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, one_step, back=lambda later, axes: rows[-1] + torch.cat(later) @ axes
        ),
        "counted from a point",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, one_step, back=lambda later, axes: rows[0] + torch.cat(later) @ axes
        ),
        "counted from a point",
    ),
    (
        lambda rows, n, count: carried(
            rows,
            n,
            count,
            one_step,
            back=lambda later, axes: rows.mean(0) + torch.stack(later) @ axes,
        ),
        "an axis too many",
    ),
    (lambda rows, n, count: carried(rows, n, count, one_step).flip(0), "comes first"),
    (
        lambda rows, n, count: carried(rows, n, count, one_step, start=slice(-2, -1)),
        "the last of theirs",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, _: (here + clock.shift) @ clock.matrix
        ),
        "shift is turned",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, _: here @ clock.matrix - clock.shift
        ),
        "wrong direction",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, _: here @ clock.matrix.T + clock.shift
        ),
        "the other way",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, number: clock.onwards(here, number)
        ),
        "longer and longer",
    ),
    (
        lambda rows, n, count: carried(rows, n + len(rows), count, one_step, slice(1))[-n:],
        "second of theirs",
    ),
    (
        lambda rows, n, count: torch.cat([rows[-1:], carried(rows, n, count, one_step)]),
        "one of the n after it",
    ),
    (lambda rows, n, count: carried(rows, n, count, one_step)[:-1], "is missing"),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, _, __: clock.onwards(rows[-1:])
        ),
        "shapes do not fit",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, number: here @ clock.matrix + number * clock.shift
        ),
        "the shift grows",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, _: clock.onwards(clock.onwards(here))
        ),
        "every second row",
    ),
    (
        lambda rows, n, count: carried(
            rows,
            n,
            count,
            lambda clock, here, _: torch.nn.functional.normalize(clock.onwards(here)) * here.norm(),
        ),
        "to the length of the one before",
    ),
    (
        lambda rows, n, count: carried(
            rows, n, count, lambda clock, here, _: clock.onwards(here, torch.arange(1, n + 1))
        ),
        "many steps at once",
    ),
    (along_columns_of_v, "SVD's last matrix"),
    (less_one_number, "less one number"),
    (hand_by_hand, "in pairs, a hand each"),
    (overwritten, "each step overwrites"),
]


def periods(angles):
    return fastest_first(2 * math.pi / angles[angles > 0])


def step_matrix(table, count):
    centred, axes = main_axes(table, count)
    return measures.turn(centred @ axes.T).matrix


WRONG_HANDS = [
    (
        lambda table, count: (lambda a: 2 * math.pi / a[a > 0])(
            torch.linalg.eigvals(step_matrix(table, count)).angle()
        ),
        "in no order",
    ),
    (
        lambda table, count: (
            2 * math.pi / torch.linalg.svdvals(step_matrix(table, count))[: count // 2]
        ),
        "is 2π",
    ),
    (
        lambda table, count: fastest_first(
            2 * math.pi / torch.linalg.eigvalsh(step_matrix(table, count)).clamp(-1, 1).acos()
        )[::2],
        "symmetric",
    ),
    (lambda table, count: 2 * math.pi / eigenvalues(table, count).log(), "complex"),
    (lambda table, count: periods(eigenvalues(table, count // 2).angle()), "missing"),
    (
        lambda table, count: periods(eigenvalues(table, min(10, table.shape[1])).angle()),
        "ten directions",
    ),
    (lambda table, count: periods(eigenvalues(table, count).angle()).round(), "whole number"),
    (
        lambda table, count: fastest_first(
            2 * math.pi / torch.rad2deg(eigenvalues(table, count).angle())
        ),
        "in degrees",
    ),
    (
        lambda table, count: fastest_first(2 * math.pi * eigenvalues(table, count).angle()),
        "longer period",
    ),
    (
        lambda table, count: fastest_first(
            2
            * math.pi
            / torch.linalg.eigvals(step_matrix(table, count)).angle()[: count // 2].abs()
        ),
        "others not at all",
    ),
    (
        lambda table, count: (lambda a: fastest_first(2 * math.pi / a[a < 0]).flip(0))(
            torch.linalg.eigvals(step_matrix(table, count)).angle()
        ),
        "negative",
    ),
    (
        lambda table, count: (lambda a: fastest_first(2 * math.pi / a.abs()))(
            torch.linalg.eigvals(step_matrix(table, count)).angle()
        ),
        "comes twice",
    ),
    (
        lambda table, count: (
            2
            * math.pi
            / (torch.linalg.eigvals(step_matrix(table, count)).angle() % (2 * math.pi))
            .sort(descending=True)
            .values[: count // 2]
        ),
        "the long way round",
    ),
    (
        lambda table, count: periods(
            torch.linalg.eigvals(measures.turn((table - table.mean(0))[:, :count]).matrix).angle()
        ),
        "first columns",
    ),
    (
        lambda table, count: 2 * math.pi / eigenvalues(table, count).angle().sort(descending=True),
        "two things",
    ),
    (
        lambda table, count: torch.linalg.eigvals(
            measures.turn((lambda pair: pair[0] @ pair[1].T)(main_axes(table, count)))
        ),
        "more than a matrix",
    ),
]

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
            *WRONG_CARRIED,
        ],
        check_hands: [
            (lambda table, count: hands_by_any_matrix(table, count).flip(0), "slowest"),
            (lambda table, count: hands_by_any_matrix(table, count) / 2, "half turns"),
            (hands_by_slopes, "above a quarter turn"),
            (hands_by_slopes_sorted_as_angles, "above a quarter turn"),
            (hands_of_real_parts, "real part"),
            *WRONG_HANDS,
        ],
    },
)
