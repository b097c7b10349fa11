"""Lesson 10's exercises: answers in other styles, and wrong ones that get a fitting word."""

import numpy as np
import pytest
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab import chooser
from course_lab.checks.lesson10 import check_least_regret, check_somebodys_favourite

# The least regret


def row_by_row(losses):
    best = [min(column) for column in losses.T.tolist()]
    regrets = [
        max(loss - least for loss, least in zip(row, best, strict=True)) for row in losses.tolist()
    ]
    return regrets.index(min(regrets))


def in_numpy(losses):
    array = losses.numpy()
    return int((array - array.min(0)).max(1).argmin())


def in_one_line(losses):
    return (losses - losses.amin(0)).amax(1).argmin().item()


def test_the_library_has_nothing_that_solves_it():
    for answer in (
        lambda losses: int(chooser.undominated(losses).int().argmax()),
        lambda losses: int(losses[chooser.undominated(losses)].max(1).values.argmin()),
    ):
        assert check_least_regret.verdict(answer).kind != "right"


def test_of_equal_regrets_the_first_is_expected():
    def last(losses):
        regret = (losses - losses.amin(0)).amax(1)
        return int((regret == regret.min()).nonzero()[-1])

    assert check_least_regret.verdict(last).kind != "right"


# Somebody's favourite


def at_every_tie(costs):
    """Try a weight between each two at which some rows cost the same."""
    rows = costs.double()
    ties = [0.0, 1.0]
    for i in range(len(rows)):
        for j in range(i):
            first, second = (rows[i] - rows[j]).tolist()
            if first != second and 0 < second / (second - first) < 1:
                ties.append(second / (second - first))
    ties = sorted(set(ties))
    is_favourite = torch.zeros(len(rows), dtype=torch.bool)
    for low, high in zip(ties, ties[1:], strict=False):
        w = (low + high) / 2
        is_favourite[(w * rows[:, 0] + (1 - w) * rows[:, 1]).argmin()] = True
    return is_favourite


def chain(costs):
    """The lower left part of the convex hull, by a walk along the sorted rows."""
    rows = costs.double().numpy()
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    hull: list[int] = []
    for row in order:
        while len(hull) > 1:
            last_step = rows[hull[-1]] - rows[hull[-2]]
            next_step = rows[row] - rows[hull[-2]]
            if last_step[0] * next_step[1] - last_step[1] * next_step[0] > 0:
                break
            hull.pop()
        hull.append(row)
    cheapest = int(np.argmin(rows[hull, 1]))
    is_favourite = torch.zeros(len(rows), dtype=torch.bool)
    is_favourite[torch.tensor(hull[: cheapest + 1])] = True
    return is_favourite


test_right_answers_pass = right_answers(
    {
        check_least_regret: [row_by_row, in_numpy, in_one_line],
        check_somebodys_favourite: [at_every_tie, chain],
    }
)
test_the_lessons_own_function_does_not_pass = wrong_answers(
    "mistake", {check_somebodys_favourite: [(chooser.undominated, "no other beats")]}
)


@pytest.mark.parametrize("count", [10, 100, 1_000, 100_000])
def test_no_grid_of_weights_passes(count):
    def grid(costs):
        w = torch.linspace(0, 1, count, dtype=torch.float64)
        is_favourite = torch.zeros(len(costs), dtype=torch.bool)
        is_favourite[(costs.double() @ torch.stack([w, 1 - w])).argmin(0)] = True
        return is_favourite

    assert check_somebodys_favourite.verdict(grid).kind != "right"


def test_no_three_rows_of_a_case_lie_on_a_line_and_no_two_costs_are_equal():
    for (costs,) in check_somebodys_favourite.cases:
        assert all(len(set(column)) == len(costs) for column in costs.T.tolist())
        steps = costs[:, None].double() - costs[None].double()  # (i, j, 2)
        cross = steps[:, :, None, 0] * steps[:, None, :, 1]
        cross = cross - steps[:, :, None, 1] * steps[:, None, :, 0]  # (i, j, k), 0 on a line
        n = torch.arange(len(costs))
        i, j, k = n[:, None, None], n[:, None], n
        different = (i != j) & (j != k) & (i != k)
        assert not (cross[different] == 0).any()
