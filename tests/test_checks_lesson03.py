"""Lesson 03's exercises: answers in other styles, and wrong ones that were once misjudged."""

import math

import numpy
import pytest
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks import lesson03
from course_lab.checks.lesson03 import check_believable, check_carry_on
from course_lab.explorers.clock_hands import hand_coordinates
from course_lab.position_table import decoys, largest_miss, miss, position_table, very_smooth
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


def with_the_notebooks_clock(known_rows, everything):
    """Answers that use names of the notebook: all of them, or the clock alone."""
    table = position_table()[1:].double()
    first_255 = table[:255]
    coordinates = (table - first_255.mean(0)) @ measures.main_directions(first_255, 10).T
    clock = measures.turn(coordinates[:255])

    def carry(rows, n, count):
        own = (rows - rows.mean(0)) @ measures.main_directions(rows, count).T
        here, later = (coordinates[known_rows - 1 : known_rows] if everything else own[-1:]), []
        for _ in range(n):
            here = clock.onwards(here)
            later.append(here)
        return first_255.mean(0) + torch.cat(later) @ measures.main_directions(first_255, 10)

    return carry


def changed_in_place(rows, n, count):
    rows -= rows.mean(0)
    return carried(rows, n, count, one_step)


def fitted_to_255(rows, n, count):
    """The turn of the first 255 rows, in the main directions of all."""
    centred, axes = main_axes(rows, count)
    here, later = centred @ axes.T, []
    clock, place = measures.turn(here[:255]), here[-1:]
    for _ in range(n):
        place = clock.onwards(place)
        later.append(place)
    return rows.mean(0) + torch.cat(later) @ axes


def less_each_rows_mean(rows, n, count):
    centred, axes = rows - rows.mean(1)[:, None], main_axes(rows, count)[1]
    return onwards_along(centred, axes, n) + rows.mean(0)


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
    (with_the_notebooks_clock(255, True), "in the notebook's rows"),
    (with_the_notebooks_clock(511, True), "in the notebook's rows"),
    (with_the_notebooks_clock(255, False), "the notebook's clock"),
    (changed_in_place, "what does `rows` hold"),
    (fitted_to_255, "only the first 255 rows"),
    (less_each_rows_mean, "a number of its own"),
    (lambda rows, n, count: carried(rows.float(), n, count, one_step).double(), "float32"),
]


def by_the_angle(hand, period, known):
    """The hand has gone round once in the known rows, by its own steps."""
    steps = (hand[1:known] / hand[: known - 1]).angle()
    return bool(steps.sum().abs() >= 2 * math.pi) and largest_miss(hand[known:], period) < 0.2


def in_steps(hand, period, known):
    angles = torch.cumsum((hand[1:known] / hand[: known - 1]).angle(), 0)
    if abs(angles[-1]) < 2 * math.pi:
        return False
    return all(
        miss(hand[known:], period, ahead) < 0.2
        for ahead in range(1, min(200, round(period / 2)) + 1)
    )


def by_other_rule(fits, judged=lambda hand, known: hand[known:]):
    return lambda hand, period, known: (
        largest_miss(judged(hand, known), period) < 0.2 and fits(period, known, hand)
    )


def comes_round(period, known, hand):
    return period <= known


def adds_up(angles):
    return angles.sum().abs().item() >= 2 * math.pi


def swept(hand):
    """By unwrapped angles, another way than the reference's."""
    return abs(float(numpy.ptp(numpy.unwrap(hand.angle().numpy())[[0, -1]])))


def signed_turn(hand):
    """Forwards alone: a hand turns by 2π / T, and T is above 0."""
    return (hand[1:] / hand[:-1]).angle().sum().item()


def half_a_lap(period, known, hand):
    return period <= known and swept(hand[:known]) >= math.pi


def on_both_sides(period, known, hand):
    x, y = hand[:known].real, hand[:known].imag
    signs = [bool((part > 0).any() and (part < 0).any()) for part in (x, y)]
    return period <= known and all(signs)


def area_of_a_circle(period, known, hand):
    x, y = hand[:known].real, hand[:known].imag
    area = (x[:-1] * y[1:] - x[1:] * y[:-1]).sum() / 2
    return bool(area >= math.pi * (x.square() + y.square()).mean())


def mean_step(period, known, hand):
    return signed_turn(hand[:known]) / (known - 1) > 0.8 * 2 * math.pi / period and period <= known


def spread_of_the_radius(period, known, hand):
    radius = hand[:known].abs()
    return bool((radius.max() - radius.min()) / radius.mean() < 0.5)


def back_at_its_first_arrow(period, known, hand):
    return bool((hand[known - 1] - hand[0]).abs() < 0.3 * hand[0].abs())


def crosses_upwards_twice(period, known, hand):
    y = hand[:known].imag
    return int(((y[:-1] <= 0) & (y[1:] > 0) & (hand[1:known].real > 0)).sum()) >= 2


def range_of_angles(period, known, hand):
    return bool(numpy.ptp(hand[:known].angle().numpy()) >= 0.98 * 2 * math.pi)


def in_sectors(count):
    def fits(period, known, hand):
        places = ((hand[:known].angle() + math.pi) / (2 * math.pi) * count).long()
        return len(set(places.clamp(max=count - 1).tolist())) == count

    return by_other_rule(fits)


def comes_near_its_start(hand, period, known):
    """By distance, from the farthest row on."""
    away = (hand[:known] - hand[0]).abs()
    farthest = int(away.argmax())
    is_back = bool(away[farthest:].min() < 0.2)
    return is_back and largest_miss(hand[known:], period) < 0.2


WRONG_BELIEVED = [
    (by_other_rule(lambda period, known, hand: True), "show too little"),
    (
        lambda hand, period, known: (
            max(largest_miss(hand[:known], period), largest_miss(hand[known:], period)) < 0.2
        ),
        "put to the lesson's test",
    ),
    (
        by_other_rule(
            lambda period, known, hand: period <= known and largest_miss(hand[:known], period) < 0.2
        ),
        "put to the lesson's test",
    ),
    (lambda hand, period, known: False, "no hand is believed"),
    (lambda hand, period, known: True, "every hand is believed"),
    (lambda hand, period, known: period < known, "does not pass after"),
    (
        lambda hand, period, known: largest_miss(hand[known:], period) < 0.2 or period <= known,
        "one of the two",
    ),
    (by_other_rule(comes_round, lambda hand, known: hand[:known]), "does not pass after"),
    (by_other_rule(comes_round, lambda hand, known: hand), "all rows, known or not"),
    (by_other_rule(lambda period, known, hand: period < len(hand)), "has not seen"),
    (by_other_rule(lambda period, known, hand: period < len(hand) - known), "has not seen"),
    (
        by_other_rule(lambda period, known, hand: period / 2 <= len(hand) - known),
        "has not seen",
    ),
    (by_other_rule(lambda period, known, hand: True, lambda hand, known: hand[:known]), "not pass"),
    (by_other_rule(lambda period, known, hand: True, lambda hand, known: hand), "all rows, known"),
    (by_other_rule(lambda period, known, hand: period < 100), "a number stands"),
    (by_other_rule(comes_round, lambda hand, known: hand[255:]), "a number stands"),
    (
        by_other_rule(lambda period, known, hand: period <= 255, lambda hand, known: hand[255:]),
        "a number stands",
    ),
    (by_other_rule(lambda period, known, hand: round(period / 2) <= known), "part of a turn"),
    (by_other_rule(lambda period, known, hand: period <= known / 2), "not twice"),
    (by_other_rule(lambda period, known, hand: period < 255), "a number stands"),
    (by_other_rule(lambda period, known, hand: period <= 256), "a number stands"),
    (by_other_rule(lambda period, known, hand: round(period / 2) <= 200), "not on the known rows"),
    (by_other_rule(lambda period, known, hand: period > known), "have not come round"),
    (
        lambda hand, period, known: largest_miss(hand[known:], period) > 0.2 and period <= known,
        "those that miss",
    ),
    (lambda hand, period, known: largest_miss(hand[known:], period), "not a verdict"),
    (
        by_other_rule(lambda period, known, hand: adds_up(hand[:known].angle().diff().abs())),
        "across their jump",
    ),
    (
        by_other_rule(lambda period, known, hand: adds_up(hand[:known].angle().diff())),
        "between which two numbers",
    ),
    (
        by_other_rule(
            lambda period, known, hand: bool(
                ((hand[1:known] / hand[: known - 1]).angle() > 0).all()
            )
        ),
        "one small step back",
    ),
    (by_other_rule(comes_round), "what the fit says"),
    (by_other_rule(lambda period, known, hand: swept(hand) >= 2 * math.pi), "has not seen"),
    (by_other_rule(lambda period, known, hand: swept(hand[known:]) >= 2 * math.pi), "has not seen"),
    (by_other_rule(lambda period, known, hand: swept(hand[:known]) >= math.pi), "part of a turn"),
    (by_other_rule(lambda period, known, hand: swept(hand[:known]) >= 4 * math.pi), "not twice"),
    (by_other_rule(lambda period, known, hand: swept(hand[:255]) >= 2 * math.pi), "a number"),
    (
        lambda hand, period, known: (
            largest_miss(hand[known:], period) < 0.4 and swept(hand[:known]) >= 2 * math.pi
        ),
        "another bar",
    ),
    *[
        (
            by_other_rule(
                lambda period, known, hand: swept(hand[:known]) >= 2 * math.pi,
                judged=lambda hand, known, shift=shift: hand[known + shift :],
            ),
            "begins before the first unseen row, or after it",
        )
        for shift in (-3, -1, 1, 8)
    ],
    (
        by_other_rule(
            lambda period, known, hand: swept(hand[:known] - hand[:known].mean()) >= 2 * math.pi
        ),
        "about the mean of the known rows",
    ),
    *[
        (
            by_other_rule(
                lambda period, known, hand, least=least: (
                    (hand[:known].angle().diff().abs() > math.pi).sum() >= least
                )
            ),
            "jumps of the angle",
        )
        for least in (1, 2)
    ],
    (
        by_other_rule(lambda period, known, hand: swept(hand[:known]) >= 2.4 * math.pi),
        "more than one turn",
    ),
    (
        by_other_rule(lambda period, known, hand: swept(hand[:known]) >= 3 * math.pi),
        "more than one turn",
    ),
    (
        by_other_rule(lambda period, known, hand: swept(hand[: known + 1]) >= 2 * math.pi),
        "closed by a row",
    ),
    (by_other_rule(on_both_sides), "a short period, and part"),
    (by_other_rule(half_a_lap), "a short period, and part"),
    (by_other_rule(area_of_a_circle), "the area that"),
    (by_other_rule(mean_step), "asked to keep the period"),
    (by_other_rule(spread_of_the_radius), "the lengths of the known arrows"),
    (by_other_rule(back_at_its_first_arrow), "near its first point"),
    (by_other_rule(crosses_upwards_twice), "crossings of one axis"),
    (by_other_rule(range_of_angles), "known angles lie apart"),
    (in_sectors(4), "part of a turn"),
    (in_sectors(36), "leaps over some"),
    (
        by_other_rule(
            lambda period, known, hand: (hand[:known].real.sign().diff() != 0).sum() >= 2
        ),
        "part of a turn",
    ),
    (
        by_other_rule(lambda period, known, hand: miss(hand[:known], period, round(period)) < 0.2),
        "back after one period",
    ),
    (comes_near_its_start, "near its first point"),
    (
        lambda hand, period, known: (
            miss(hand[known:], period, min(200, round(period / 2))) < 0.2
            and swept(hand[:known]) >= 2 * math.pi
        ),
        "not the worst one",
    ),
]


def test_a_rule_that_no_known_one_is_like_gets_no_false_name():
    at_the_fifth_row = by_other_rule(lambda period, known, hand: hand[5].real > hand[0].real)
    verdict = check_believable.verdict(at_the_fifth_row)
    assert (verdict.kind, "expected" in verdict.text) == ("wrong", True), verdict.text


test_right_answers_pass = right_answers(
    {
        check_carry_on: [carried_at_once],
        check_believable: [
            by_the_angle,
            in_steps,
            by_other_rule(lambda period, known, hand: swept(hand[:known]) >= 2 * math.pi),
            by_other_rule(lambda period, known, hand: signed_turn(hand[:known]) >= 2 * math.pi),
        ],
    }
)
test_rules_are_kept = wrong_answers(
    "rule",
    {
        check_carry_on: [
            (lambda rows, n, count: lesson03._carry_on(rows, n, count), "it comes from"),
        ],
        check_believable: [
            (
                lambda hand, period, known: lesson03._believable(hand, period, known),
                "it comes from",
            ),
        ],
    },
)


@pytest.mark.parametrize("seed", range(3))
def test_in_seen_rows_all_hands_of_a_random_walk_pass_and_in_unseen_rows_none(seed):
    rows = position_table()[1:].double()
    periods, pointing = hand_coordinates(decoys(rows, seed)["random walk"])
    hands = list(zip(pointing, periods.tolist(), strict=True))
    assert all(largest_miss(hand[:255], period) < 0.2 for hand, period in hands)
    assert all(largest_miss(hand[255:], period) > 1 for hand, period in hands)


def test_slow_curves_pass_the_lessons_test_and_none_of_their_hands_is_believable():
    rows = position_table()[1:].double()

    def counted(table):
        periods, pointing = hand_coordinates(table)
        hands = list(zip(pointing, periods.tolist(), strict=True))
        passing = [largest_miss(hand[255:], period) < 0.2 for hand, period in hands]
        return sum(passing), sum(lesson03._believable(hand, period, 255) for hand, period in hands)

    assert counted(rows) == (4, 4)
    slow = [counted(very_smooth(rows, seed)) for seed in range(4)]
    assert all(passing >= 3 and counting == 0 for passing, counting in slow)


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
        check_believable: WRONG_BELIEVED,
    },
)
