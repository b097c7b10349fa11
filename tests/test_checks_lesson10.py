"""Lesson 10's exercises: right answers in other styles pass, wrong ones get a fitting word."""

import numpy as np
import pytest
import torch

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
    found = losses.numpy()
    return int((found - found.min(0)).max(1).argmin())


@pytest.mark.parametrize(
    "answer",
    [
        row_by_row,
        in_numpy,
        lambda losses: (losses - losses.amin(0)).amax(1).argmin().item(),
    ],
)
def test_the_least_regret_passes_however_it_is_found(answer):
    assert check_least_regret.verdict(answer).kind == "right"


def test_the_library_has_nothing_that_solves_it():
    for answer in (
        lambda losses: int(chooser.undominated(losses).int().argmax()),
        lambda losses: int(losses[chooser.undominated(losses)].max(1).values.argmin()),
    ):
        assert check_least_regret.verdict(answer).kind != "right"


def test_of_equal_regrets_the_first_is_asked_for():
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
    found = torch.zeros(len(rows), dtype=torch.bool)
    for low, high in zip(ties, ties[1:], strict=False):
        w = (low + high) / 2
        found[(w * rows[:, 0] + (1 - w) * rows[:, 1]).argmin()] = True
    return found


def chain(costs):
    """The lower left part of the convex hull, by a walk along the sorted rows."""
    rows = costs.double().numpy()
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    hull: list[int] = []
    for place in order:
        while len(hull) > 1:
            one, other = rows[hull[-1]] - rows[hull[-2]], rows[place] - rows[hull[-2]]
            if one[0] * other[1] - one[1] * other[0] > 0:
                break
            hull.pop()
        hull.append(place)
    cheapest = int(np.argmin(rows[hull, 1]))
    found = torch.zeros(len(rows), dtype=torch.bool)
    found[torch.tensor(hull[: cheapest + 1])] = True
    return found


@pytest.mark.parametrize("answer", [at_every_tie, chain])
def test_a_favourite_passes_however_it_is_found(answer):
    assert check_somebodys_favourite.verdict(answer).kind == "right"


@pytest.mark.parametrize("count", [10, 100, 1_000, 100_000])
def test_no_grid_of_weights_passes(count):
    def grid(costs):
        w = torch.linspace(0, 1, count, dtype=torch.float64)
        found = torch.zeros(len(costs), dtype=torch.bool)
        found[(costs.double() @ torch.stack([w, 1 - w])).argmin(0)] = True
        return found

    assert check_somebodys_favourite.verdict(grid).kind != "right"


def test_the_lessons_own_function_does_not_pass():
    verdict = check_somebodys_favourite.verdict(chooser.undominated)
    assert verdict.kind == "mistake" and "nobody beats" in verdict.text


def test_no_three_rows_of_a_case_lie_on_a_line_and_no_two_costs_are_equal():
    for (costs,) in check_somebodys_favourite.cases:
        assert all(len(set(column)) == len(costs) for column in costs.T.tolist())
        apart = costs[:, None].double() - costs[None].double()  # (i, j, 2)
        cross = apart[:, :, None, 0] * apart[:, None, :, 1]
        cross = cross - apart[:, :, None, 1] * apart[:, None, :, 0]
        n = torch.arange(len(costs))
        one, other, third = n[:, None, None], n[:, None], n
        different = (one != other) & (other != third) & (one != third)
        assert not (cross[different] == 0).any()
