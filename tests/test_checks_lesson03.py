"""Lesson 03's exercises: answers in other styles, and wrong ones that were once misjudged."""

import cmath
import math

import numpy as np
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab import position_table
from course_lab.checks.lesson03 import check_carry_on, check_worst_miss
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


def carried_from_the_last_row(rows, n, count):
    centred, axes = main_axes(rows, count)
    clock = measures.turn(centred @ axes.T)
    here, later, new = (centred @ axes.T)[-1:], [], rows[-1]
    for _ in range(n):
        there = clock.onwards(here)
        new, here = new + (there - here)[0] @ axes, there
        later.append(new)
    return torch.stack(later)


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


def in_numpy(hand, period):
    points, worst = hand.numpy(), 0.0
    for ahead in range(1, min(200, round(period / 2)) + 1):
        later, forecast = points[ahead:], points[:-ahead] * np.exp(2j * np.pi * ahead / period)
        size = (np.abs(later) ** 2).sum() + (np.abs(forecast) ** 2).sum()
        worst = max(worst, (np.abs(later - forecast) ** 2).sum() / size)
    return worst


def row_by_row(hand, period):
    worst = 0.0
    for ahead in range(1, min(200, round(period / 2)) + 1):
        missed = size = 0.0
        for p in range(len(hand) - ahead):
            forecast = hand[p] * cmath.exp(2j * math.pi * ahead / period)
            missed += (hand[p + ahead] - forecast).abs() ** 2
            size += hand[p + ahead].abs() ** 2 + forecast.abs() ** 2
        worst = max(worst, missed / size)
    return worst


def by_other_steps(
    hand,
    period,
    factor=2j * math.pi,
    square=lambda x: x.abs() ** 2,
    best=max,
    leads=lambda period: range(1, min(200, round(period / 2)) + 1),
    below=lambda later, forecast, square: square(later).sum() + square(forecast).sum(),
):
    shares = []
    for ahead in leads(period):
        later, forecast = hand[ahead:], hand[:-ahead] * cmath.exp(factor * ahead / period)
        shares.append((square(later - forecast).sum() / below(later, forecast, square)).item())
    return best(shares)


def other(**steps):
    return lambda hand, period: by_other_steps(hand, period, **steps)


WRONG_MISSES = [
    (other(factor=-2j * math.pi), "turns backwards"),
    (other(factor=1j), "not in radians"),
    (other(factor=1j * math.pi), "half of what"),
    (other(factor=0), "does not turn"),
    (other(square=lambda x: x**2), "a complex number is complex"),
    (other(square=lambda x: x.abs()), "no squares"),
    (other(square=lambda x: x.real**2), "real part"),
    (other(best=min), "smallest"),
    (other(best=lambda shares: shares), "for each number of rows"),
    (other(best=lambda shares: shares[-1]), "farthest forecast counts"),
    (other(best=lambda shares: sum(shares) / len(shares)), "the mean"),
    (other(best=lambda shares: max(shares) < 0.2), "verdict"),
    (other(leads=lambda period: range(1, min(200, round(period / 2)))), "farthest forecast is"),
    (other(leads=lambda period: range(1, round(period / 2) + 1)), "more than 200"),
    (other(leads=lambda period: range(1, min(200, round(period)) + 1)), "a whole turn"),
    (other(below=lambda later, forecast, square: square(later).sum()), "the hand's alone"),
    (
        lambda hand, period: max(
            by_other_steps(hand, period, leads=lambda period, ahead=ahead: [ahead]) ** 0.5
            for ahead in range(1, min(200, round(period / 2)) + 1)
        ),
        "a root",
    ),
]

test_right_answers_pass = right_answers(
    {check_carry_on: [carried_at_once], check_worst_miss: [in_numpy, row_by_row]}
)
test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_worst_miss: [
            (position_table.largest_miss, "it comes from"),
            (
                lambda hand, period: max(
                    position_table.miss(hand, period, ahead)
                    for ahead in range(1, min(200, round(period / 2)) + 1)
                ),
                "it comes from",
            ),
        ]
    },
)
test_other_wrong_answers_are_explained = wrong_answers(
    "mistake",
    {
        check_carry_on: [
            (lambda rows, n, count: rows[-1:].repeat(n, 1), "a clamp"),
            (lambda rows, n, count: rows[:1].repeat(n, 1) * 0 + rows[-1], "a clamp"),
            (carried_by_any_matrix, "not a rotation"),
            (carried_from_the_last_row, "part outside"),
            (lambda rows, n, count: carried_at_once(rows, n, count)[-1:], "rows on the way"),
            (lambda rows, n, count: carried_at_once(rows, n, count)[-1], "rows on the way"),
            *WRONG_CARRIED,
        ],
        check_worst_miss: WRONG_MISSES,
    },
)
