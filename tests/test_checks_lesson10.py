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


def squared(losses):
    return int(((losses - losses.amin(0)) ** 2).mean(1).argmin())


def median(losses):
    return int((losses - losses.amin(0)).quantile(0.5, dim=1, interpolation="lower").argmin())


def best_length_of_each(losses):
    return int((losses - losses.amin(0)).amin(1).argmin())


def against_one_row(losses):
    return int((losses - losses[losses.mean(1).argmin()]).amax(1).argmin())


def without_a_dimension(losses):
    return (losses - losses.amin(0)).argmin().item()


def place_of_the_largest(losses):
    return int((losses - losses.amin(0)).argmax(1).argmin())


def sign_turned(losses):
    return int((losses.amin(0) - losses).amax(1).argmin())


def against_second_best(losses):
    ordered = losses.sort(0).values
    return int((losses - ordered[1 if len(losses) > 1 else 0]).amax(1).argmin())


def by_ranks(losses):
    return int(losses.argsort(0).argsort(0).amax(1).argmin())


def last_of_equals(losses):
    regret = (losses - losses.amin(0)).amax(1).tolist()
    return len(regret) - 1 - regret[::-1].index(min(regret))


def first_length_alone(losses):
    return losses[:, 0].argmin().item()


def hardest_length_alone(losses):
    return losses[:, losses.amin(0).argmax()].argmin().item()


def against_the_first_length(losses):
    return (losses - losses[:, :1]).amax(1).argmin().item()


def last_less_first(losses):
    return (losses[:, -1] - losses[:, 0]).argmin().item()


def against_the_worst(losses):
    return (losses.amax(0) - losses).amax(1).argmin().item()


def most_even(losses):
    regret = losses - losses.amin(0)
    return (regret - regret.mean(1, keepdim=True)).square().sum(1).argmin().item()


def smallest_above_zero(losses):
    regret = losses - losses.amin(0)
    return regret.masked_fill(regret == 0, torch.inf).amin(1).argmin().item()


def nearly_the_largest(losses):
    return (losses - losses.amin(0)).quantile(0.9, dim=1).argmin().item()


def by_the_second_regret(losses):
    rows = (losses - losses.amin(0)).sort(1, descending=True).values.tolist()
    return rows.index(min(rows))


def against_the_median(losses):
    return (losses - losses.median(0).values).amax(1).argmin().item()


def over_the_range(losses):
    lowest, highest = losses.amin(0), losses.amax(0)
    return ((losses - lowest) / (highest - lowest).clamp(min=1e-9)).amax(1).argmin().item()


def smallest_loss_of_all(losses):
    return int(losses.argmin()) // losses.shape[1]


def sum_of_ranks(losses):
    return int(losses.argsort(0).argsort(0).double().mean(1).argmin())


def against_row_0(losses):
    return int((losses - losses[:1]).amax(1).argmin())


def both_ends(losses):
    regret = losses - losses.amin(0)
    return int(torch.maximum(regret[:, 0], regret[:, -1]).argmin())


def worst_never_reset(losses):
    best, chosen, worst = float("inf"), 0, 0.0
    for row in range(len(losses)):
        for column in range(losses.shape[1]):
            worst = max(worst, (losses[row, column] - losses[:, column].min()).item())
        if worst < best:
            best, chosen = worst, row
    return chosen


def row_below(losses):
    below = torch.cat([losses[1:], losses[:1]])
    return int((losses - below).amax(1).argmin())


def from_the_mean(losses):
    return int((losses - losses.mean(0)).abs().amax(1).argmin())


def from_the_second_best(losses):
    ordered = losses.sort(0).values
    return int((losses - ordered[1 if len(losses) > 1 else 0]).abs().amax(1).argmin())


def own_mean(losses):
    return int((losses - losses.mean(1)[:, None]).amax(1).argmin())


def argsort_once(losses):
    return int(losses.argsort(dim=0).max(1).values.argmin())


def norm(power):
    return lambda losses: int(((losses - losses.amin(0)) ** power).sum(1).argmin())


def from_one(losses):
    return int((losses - losses.amin(0)).amax(1).argmin()) + 1


def rounded(losses):
    regret = (losses - losses.amin(0)).round(decimals=1)
    return regret.amax(1).argmin().item()


def without_the_first(losses):
    kept = losses[:, 1:] if losses.shape[1] > 1 else losses
    return (kept - kept.amin(0)).amax(1).argmin().item()


def later_half(losses):
    kept = losses[:, losses.shape[1] // 2 :]
    return (kept - kept.amin(0)).amax(1).argmin().item()


def lowest_so_far(losses):
    return (losses - losses.cummin(0)[0]).amax(1).argmin().item()


def lowest_of_the_row_so_far(losses):
    return (losses - losses.cummin(1)[0]).amax(1).argmin().item()


def against_the_row_above(losses):
    rise = losses - torch.cat([losses[:1], losses[:-1]])
    return rise.amax(1).argmin().item()


def without_the_last(losses):
    kept = losses[:, :-1] if losses.shape[1] > 1 else losses
    return (kept - kept.amin(0)).amax(1).argmin().item()


def without_the_last_in_regrets(losses):
    regret = losses - losses.amin(0)
    return regret[:, :-1].amax(1).argmin().item() if losses.shape[1] > 1 else 0


def every_other(losses):
    return (losses - losses.amin(0))[:, ::2].amax(1).argmin().item()


def second_largest(losses):
    ordered = (losses - losses.amin(0)).sort(1).values
    return ordered[:, -min(2, losses.shape[1])].argmin().item()


def second_by_topk(losses):
    return (losses - losses.amin(0)).topk(min(2, losses.shape[1]), dim=1).values[:, -1].argmin()


def without_the_last_row(losses):
    rows = losses[:-1] if len(losses) > 1 else losses
    return (losses - rows.amin(0)).amax(1).argmin().item()


def p_norm(losses):
    return ((losses - losses.amin(0)) ** 8).sum(1).argmin().item()


def soft_maximum(scale):
    return lambda losses: int((scale * (losses - losses.amin(0))).exp().sum(1).log().argmin())


def all_largest_regrets(losses):
    return (losses - losses.amin(0)).amax(1)


def best_somewhere(losses):
    rows = sorted(set(losses.argmin(0).tolist()))
    regret = (losses - losses.amin(0)).amax(1)
    return min(rows, key=lambda row: regret[row].item())


def in_perplexities(losses):
    return (losses.exp() - losses.exp().amin(0)).amax(1).argmin().item()


def mean_above_zero(losses):
    regret = losses - losses.amin(0)
    means = [row[row > 0].mean().item() if (row > 0).any() else 0.0 for row in regret]
    return means.index(min(means))


def cut_to_int(losses):
    worst = [int(row.max()) for row in losses - losses.amin(0)]
    return worst.index(min(worst))


def all_equals(losses):
    regret = (losses - losses.amin(0)).amax(1)
    return torch.where(regret == regret.min())[0]


def nearly_equal(margin):
    def answer(losses):
        regret = (losses - losses.amin(0)).amax(1)
        return int((regret < regret.min() + margin).nonzero()[0])

    return answer


def to_hundredths(losses):
    regret = ((losses - losses.amin(0)) * 100).round() / 100
    return regret.amax(1).argmin().item()


def of_squares(losses):
    return regret_table(losses**2).amax(1).argmin().item()


def search_from_one(losses):
    """The best of a length is looked for from 1 on, so it is never above 1."""
    largest = []
    for row in losses.tolist():
        best = [min(1, *column) for column in zip(*losses.tolist(), strict=True)]
        largest.append(max(loss - least for loss, least in zip(row, best, strict=True)))
    return largest.index(min(largest))


def without_keepdim(losses):
    return (losses - losses.min(1).values).amax(1).argmin().item()


test_wrong_answers_get_a_fitting_word = wrong_answers(
    "mistake",
    {
        check_least_regret: [
            (squared, "squared regrets"),
            (median, "median regret"),
            (best_length_of_each, "smallest of the smallest regrets"),
            (against_one_row, "is that the best at every length?"),
            (without_a_dimension, "cells of the whole table"),
            (place_of_the_largest, "where each row has its largest regret"),
            (sign_turned, "negative or 0"),
            (against_second_best, "second best"),
            (by_ranks, "places are compared"),
            (last_of_equals, "this is the last"),
            (first_length_alone, "only the first length"),
            (hardest_length_alone, "hardest for all"),
            (against_the_first_length, "at the first length"),
            (last_less_first, "the last loss is above the first"),
            (against_the_worst, "the highest of its length"),
            (most_even, "differ least"),
            (smallest_above_zero, "that is not 0"),
            (nearly_the_largest, "quantile"),
            (by_the_second_regret, "their other regrets"),
            (against_the_median, "the median of its length"),
            (over_the_range, "divided by the range"),
            (smallest_loss_of_all, "smallest single loss"),
            (sum_of_ranks, "places are added up"),
            (against_row_0, "first row"),
            (both_ends, "the first and the last length"),
            (from_one, "from 1"),
            (rounded, "rounded"),
            (without_the_first, "some lengths are left out"),
            (later_half, "some lengths are left out"),
            (lowest_so_far, "row 0 is the answer"),
            (worst_never_reset, "row 0 is the answer"),
            (row_below, "the one below it"),
            (from_the_mean, "on either side"),
            (from_the_second_best, "on either side"),
            (own_mean, "mean of its own row"),
            (argsort_once, "argsort was asked once"),
            (norm(4), "the largest more than others"),
            (norm(10), "the largest more than others"),
            (norm(30), "the largest more than others"),
            (lowest_of_the_row_so_far, "how much a row rises"),
            (against_the_row_above, "the one above it"),
            (all_largest_regrets, "the largest regrets of all rows"),
            (without_the_last, "the last length is left out"),
            (without_the_last_in_regrets, "the last length is left out"),
            (every_other, "every other length"),
            (second_largest, "second largest regret is the smallest"),
            (second_by_topk, "second largest regret is the smallest"),
            (without_the_last_row, "the last row is left out"),
            (p_norm, "the largest more than others"),
            (soft_maximum(1), "regrets of all lengths count"),
            (soft_maximum(40), "regrets of all lengths count"),
            (best_somewhere, "best at some length"),
            (in_perplexities, "exp(loss)"),
            (of_squares, "squared losses"),
            (search_from_one, "the number with which you begin"),
            (
                lambda losses: regret_table(losses).max(1).values.min(0),
                "Which of the two is the row",
            ),
            (without_keepdim, "Whose best do you want at each length"),
            (mean_above_zero, "regrets above 0"),
            (lambda losses: int(losses.median(1).values.argmin()), "smallest median"),
            (lambda losses: int(losses.log().mean(1).argmin()), "geometric mean"),
            (lambda losses: int(chooser.undominated(losses).int().argmax()), "no other beats"),
            (cut_to_int, "whole numbers"),
            (all_equals, "all rows of the least regret"),
            (lambda losses: [in_one_line(losses)], "a list"),
            (lambda losses: 1, "1 in every case"),
            (lambda losses: -1, "-1 in every case"),
            (nearly_equal(0.01), "by rounding or by a margin"),
            (nearly_equal(0.005), "by rounding or by a margin"),
            (to_hundredths, "by rounding or by a margin"),
        ]
    },
)


def regret_table(losses):
    return losses - losses.amin(0)


def mean_and_deviation(losses):
    scores = (losses - losses.mean(0)) / losses.std(0, correction=0).clamp(min=1e-9)
    return scores.amax(1).argmin().item()


def in_deviations(losses):
    spread = losses.std(0, correction=0).clamp(min=1e-9)
    return (regret_table(losses) / spread).amax(1).argmin().item()


def two_largest(losses):
    return regret_table(losses).sort(1).values[:, -2:].sum(1).argmin().item()


def largest_and_mean(losses):
    regret = regret_table(losses)
    return (regret.amax(1) + regret.mean(1)).argmin().item()


def is_the_least(losses):
    largest = regret_table(losses).amax(1)
    return largest <= largest.min()


test_what_readers_tried_gets_its_own_question = wrong_answers(
    "mistake",
    {
        check_least_regret: [
            (mean_and_deviation, "divided by the standard deviation there"),
            (in_deviations, "regret is divided by the standard deviation"),
            (two_largest, "another is added"),
            (largest_and_mean, "another is added"),
            (is_the_least, "not the number of a row"),
        ]
    },
)


test_forgotten_values_get_a_question = wrong_answers(
    "mistake",
    {
        check_least_regret: [
            (lambda losses: int((losses - losses.min(0)).amax(1).argmin()), "two tensors in one"),
            (lambda losses: int(regret_table(losses).max(1).argmin()), "two tensors in one"),
            (lambda losses: torch.argmin(regret_table(losses).max(1)), "two tensors in one"),
        ]
    },
)


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


def bounds(costs):
    """The excesses a and b over each rival, and the weight at which both cost the same."""
    a, b = (costs[:, None] - costs[None]).double().unbind(-1)
    return a, b, b / (b - a)


def one_sided(costs):
    a, b, tie = bounds(costs)
    return torch.where(a != b, tie, torch.inf).amin(1) > 0


def weights_of_any_size(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin(1)
    return torch.where(a < b, tie, -torch.inf).amax(1) < upper


def on_front(costs):
    rows = chooser.undominated(costs.double()).nonzero()[:, 0]
    return rows[costs[rows, 0].argsort()].tolist()


def is_below(costs, row, left, right):
    (x, y), (x0, y0), (x1, y1) = (costs[n].tolist() for n in (row, left, right))
    return y < y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def one_pass(costs):
    rows = on_front(costs)
    middle = zip(rows, rows[1:], rows[2:], strict=False)
    kept = [row for left, row, right in middle if is_below(costs, row, left, right)]
    return torch.tensor([n in {rows[0], rows[-1], *kept} for n in range(len(costs))])


def below_one_chord(costs):
    rows = on_front(costs)
    kept = [row for row in rows[1:-1] if is_below(costs, row, rows[0], rows[-1])]
    return torch.tensor([n in {rows[0], rows[-1], *kept} for n in range(len(costs))])


def normalised_grid(costs):
    scaled = costs.double() - costs.double().amin(0)
    scaled = scaled / scaled.amax(0).clamp(min=1e-9)
    w = torch.linspace(0, 1, 500, dtype=torch.float64)
    best = (scaled @ torch.stack([w, 1 - w])).argmin(0)
    return torch.isin(torch.arange(len(costs)), best)


def small_weights(costs):
    w = torch.logspace(-5, 0, 300, dtype=torch.float64)
    best = (costs.double() @ torch.stack([w, 1 - w])).argmin(0)
    return torch.isin(torch.arange(len(costs)), best)


def bounds_with_itself(costs):
    """Divide 0 by 0 for a row and itself: every bound is nan."""
    a, b = (costs[:, None] - costs[None]).double().unbind(-1)
    bound = -b / (a - b)
    upper = torch.where(a >= b, bound, torch.inf).amin(1).clamp(max=1)
    return torch.where(a < b, bound, -torch.inf).amax(1).clamp(min=0) < upper


def inside(upper, lower):
    return lower.amax(1).clamp(min=0) < upper.amin(1).clamp(max=1)


def sides_by_a(costs):
    a, b, tie = bounds(costs)
    return inside(torch.where(a > 0, tie, torch.inf), torch.where(a < 0, tie, -torch.inf))


def signs_slipped(costs):
    a, b, tie = bounds(costs)
    return inside(torch.where(a > b, -tie, torch.inf), torch.where(a < b, -tie, -torch.inf))


def exchanged(costs):
    a, b, tie = bounds(costs)
    return inside(torch.where(a < b, tie, torch.inf), torch.where(a > b, tie, -torch.inf))


def hull_to_the_right_end(costs):
    rows = costs.double().tolist()
    hull: list[int] = []
    for row in sorted(range(len(rows)), key=lambda n: rows[n]):
        while len(hull) > 1:
            (x0, y0), (x1, y1), (x, y) = rows[hull[-2]], rows[hull[-1]], rows[row]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) > 0:
                break
            hull.pop()
        hull.append(row)
    return torch.tensor([n in hull for n in range(len(rows))])


def upper_and_lower(costs):
    a, b, tie = bounds(costs)
    return torch.where(a > b, tie, torch.inf).amin(1), torch.where(a < b, tie, -torch.inf).amax(1)


def upper_not_cut(costs):
    upper, lower = upper_and_lower(costs)
    return lower.clamp(min=0) < upper


def lower_not_cut(costs):
    upper, lower = upper_and_lower(costs)
    return lower < upper.clamp(max=1)


def both_inside(costs):
    upper, lower = upper_and_lower(costs)
    return (lower > 0) & (lower < upper) & (upper < 1)


def loosest(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, -torch.inf).amax(1).clamp(max=1)
    lower = torch.where(a < b, tie, torch.inf).amin(1).clamp(min=0)
    return lower < upper


def loosest_with_itself(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amax(1).clamp(max=1)
    return torch.where(a < b, tie, -torch.inf).amin(1).clamp(min=0) < upper


def sum_for_difference(costs):
    a, b, _ = bounds(costs)
    tie = -b / torch.where(a + b == 0, 1.0, a + b)
    return inside(torch.where(a + b > 0, tie, torch.inf), torch.where(a + b < 0, tie, -torch.inf))


def sum_with_the_sides_right(costs):
    a, b, _ = bounds(costs)
    tie = -b / torch.where(a + b == 0, 1.0, a + b)
    return inside(torch.where(a > b, tie, torch.inf), torch.where(a < b, tie, -torch.inf))


def divided_by_a(costs):
    a, b, _ = bounds(costs)
    tie = -b / torch.where(a == 0, 1.0, a)
    return inside(torch.where(a > 0, tie, torch.inf), torch.where(a < 0, tie, -torch.inf))


def sides_by_b(costs):
    a, b, tie = bounds(costs)
    return inside(torch.where(b < 0, tie, torch.inf), torch.where(b > 0, tie, -torch.inf))


def cheapest_near_ties(step):
    def answer(costs):
        rows, (_, _, ties) = costs.double(), bounds(costs)
        is_favourite = torch.zeros(len(rows), dtype=torch.bool)
        for tie in ties.flatten().tolist():
            for w in (tie - step, tie + step):
                if 0 < w < 1:
                    is_favourite[(w * rows[:, 0] + (1 - w) * rows[:, 1]).argmin()] = True
        return is_favourite

    return answer


def beaten_in_both_passed_over(costs):
    a, b, tie = bounds(costs)
    upper = torch.where((a > 0) & (b < 0), tie, torch.inf)
    return inside(upper, torch.where((a < 0) & (b > 0), tie, -torch.inf))


def smallest_product(costs):
    return torch.arange(len(costs)) == costs.prod(1).argmin()


def below_every_chord(costs):
    """Struck out if dominated, or above a chord of any two: three plain loops."""
    rows, n = costs.double().tolist(), len(costs)
    is_favourite = torch.ones(n, dtype=torch.bool)
    for i in range(n):
        x, y = rows[i]
        if any(p <= x and q <= y and (p, q) != (x, y) for p, q in rows):
            is_favourite[i] = False
            continue
        for p, q in rows:
            for r, s in rows:
                if p < x < r and y > q + (s - q) * (x - p) / (r - p):
                    is_favourite[i] = False
    return is_favourite


def over_the_wrong_dimension(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin(0).clamp(max=1)
    return torch.where(a < b, tie, -torch.inf).amax(0).clamp(min=0) < upper


def with_a_tolerance(costs):
    upper, lower = upper_and_lower(costs)
    return upper.clamp(max=1) - lower.clamp(min=0) > 1e-6


def exactly_at_its_bounds(costs):
    rows = costs.double()
    is_favourite = torch.zeros(len(rows), dtype=torch.bool)
    for n, row in enumerate(rows):
        a, b = (row - rows).unbind(-1)
        weights = [0.0, 1.0, *(-b / torch.where(a == b, 1.0, a - b)).tolist()]
        tried = [w for w in weights if 0 <= w <= 1]
        is_favourite[n] = any(bool((w * a + (1 - w) * b <= 0).all()) for w in tried)
    return is_favourite


def open_grid(costs):
    w = torch.arange(0.01, 1, 0.01, dtype=torch.float64)
    best = (costs.double() @ torch.stack([w, 1 - w])).argmin(0)
    return torch.isin(torch.arange(len(costs)), best)


def random_weights(costs):
    w = torch.rand(100, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    best = (costs.double() @ torch.stack([w, 1 - w])).argmin(0)
    return torch.isin(torch.arange(len(costs)), best)


def nearly_cheapest(tolerance):
    def answer(costs):
        rows, (_, _, ties) = costs.double(), bounds(costs)
        ties = ties[(ties > 0) & (ties < 1)].tolist()
        is_favourite = torch.zeros(len(rows), dtype=torch.bool)
        for w in [1e-9, *ties, 1 - 1e-9]:
            sums = w * rows[:, 0] + (1 - w) * rows[:, 1]
            is_favourite |= sums <= sums.min() + tolerance
        return is_favourite

    return answer


def front_on_the_hull(costs):
    from scipy.spatial import ConvexHull, QhullError

    front = chooser.undominated(costs.double())
    try:
        corners = torch.tensor(ConvexHull(costs.double().numpy()).vertices)
    except (QhullError, ValueError):
        corners = torch.arange(len(costs))
    return front & torch.isin(torch.arange(len(costs)), corners)


def below_the_line(costs):
    (x0, y0), (x1, y1) = (costs[row].tolist() for row in costs.argmin(0))
    return torch.tensor(
        [(y - y0) * (x1 - x0) <= (y1 - y0) * (x - x0) or (x, y) == (x0, y0) for x, y in costs]
    )


def mark(costs, rows):
    return torch.tensor([n in rows for n in range(len(costs))])


def chain_with_if(costs):
    """The walk along the sorted rows, in which `if` stands for `while`."""
    rows = costs.double().tolist()
    hull: list[int] = []
    for row in sorted(range(len(rows)), key=lambda n: rows[n]):
        if len(hull) > 1:
            (x0, y0), (x1, y1), (x, y) = rows[hull[-2]], rows[hull[-1]], rows[row]
            if (x1 - x0) * (y - y0) - (y1 - y0) * (x - x0) <= 0:
                hull.pop()
        hull.append(row)
    return mark(costs, hull)


def chain_with_if_to_the_cheapest(costs):
    cheapest = costs[costs[:, 1].argmin()]
    return chain_with_if(costs) & (costs[:, 0] <= cheapest[0])


def one_step_between_the_ends(costs):
    rows, kept = costs.double(), set(costs.argmin(0).tolist())
    left, right = (rows[n] for n in costs.argmin(0))
    normal = torch.stack([left[1] - right[1], right[0] - left[0]])
    return mark(costs, kept | {int((rows @ normal).argmin())})


def ends_of_edges(costs):
    """Each pair of rows with no other below its line, the two costs' weights being above 0."""
    rows, kept = costs.double(), set()
    for i, first in enumerate(rows):
        for j, second in enumerate(rows):
            normal = torch.stack([first[1] - second[1], second[0] - first[0]])
            if (normal > 0).all() and (rows @ normal >= first @ normal - 1e-12).all():
                kept |= {i, j}
    return mark(costs, kept)


def cheapest_at(weight_of):
    def answer(costs):
        rows, kept = costs.double(), set()
        for n, row in enumerate(rows):
            w = weight_of(rows, n)
            sums = w * rows[:, 0] + (1 - w) * rows[:, 1]
            if w * row[0] + (1 - w) * row[1] <= sums.min():
                kept.add(n)
        return mark(costs, kept)

    return answer


def mean_of_bounds(rows, n):
    a, b = (rows[n] - rows).unbind(-1)
    bounds = (b / (b - a))[torch.arange(len(rows)) != n]
    return bounds.mean().clamp(0, 1) if len(bounds) else 0.5


def share_of_the_second(rows, n):
    return rows[n, 1] / rows[n].sum()


def nearest_to_the_ideal(costs):
    ideal = costs.amin(0)
    return mark(costs, {int(((costs - ideal) ** 2).sum(1).argmin())})


def flattest_first(costs):
    rows = costs.double()
    at, end = int(rows[:, 0].argmin()), int(rows[:, 1].argmin())
    kept = {at}
    while at != end:
        on = [n for n in on_front(costs) if rows[n, 0] > rows[at, 0]]
        at = max(on, key=lambda n: ((rows[n, 1] - rows[at, 1]) / (rows[n, 0] - rows[at, 0])).item())
        kept.add(at)
    return mark(costs, kept)


def pairs_of_bounds(costs):
    return torch.stack(upper_and_lower(costs)[::-1], dim=1)


def one_bound_for_all(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)
    w = b / (b - a)
    return w[a < b].amax() < w[a > b].amin() if len(costs) > 1 else torch.ones(1).bool()


def cut_first(costs):
    a, b, tie = bounds(costs)
    tie = tie.clamp(0, 1)
    upper = torch.where(a > b, tie, torch.inf).amin(1)
    return torch.where(a < b, tie, -torch.inf).amax(1) < upper


def cut_first_and_equal(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie.clamp(0, 1), 1).amin(1)
    return torch.where(a < b, tie.clamp(0, 1), 0).amax(1) <= upper


def weight_of_the_other(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)
    w = a / (a - b)
    return inside(torch.where(a > b, w, torch.inf), torch.where(a < b, w, -torch.inf))


def amin_for_both(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin(1).clamp(max=1)
    return torch.where(a < b, tie, torch.inf).amin(1).clamp(min=0) < upper


def amax_for_both(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, -torch.inf).amax(1).clamp(max=1)
    return torch.where(a < b, tie, -torch.inf).amax(1).clamp(min=0) < upper


def a_over_b(costs):
    a, b, _ = bounds(costs)
    w = a / torch.where(b == 0, 1.0, b)
    return inside(torch.where(a > b, w, torch.inf), torch.where(a < b, w, -torch.inf))


def upper_of_all_rows(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin().clamp(max=1)
    return torch.where(a < b, tie, -torch.inf).amax(1).clamp(min=0) < upper


def lower_of_all_rows(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin(1).clamp(max=1)
    return torch.where(a < b, tie, -torch.inf).amax().clamp(min=0) < upper


def both_of_all_rows(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.inf).amin().clamp(max=1)
    lower = torch.where(a < b, tie, -torch.inf).amax().clamp(min=0)
    return (lower < upper).repeat(len(costs))


def half_between_all(costs):
    _, _, tie = bounds(costs)
    tie = tie.fill_diagonal_(0.5)
    return (tie.amin(1) < 0.5) & (tie.amax(1) > 0.5)


def middle_of_each_side(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.nan).nanmedian(1).values
    return torch.where(a < b, tie, torch.nan).nanmedian(1).values < upper


def mean_of_each_side(costs):
    a, b, tie = bounds(costs)
    upper = torch.where(a > b, tie, torch.nan).nanmean(1).nan_to_num(1.0)
    return torch.where(a < b, tie, torch.nan).nanmean(1).nan_to_num(0.0) < upper


def all_bounds_inside(costs):
    a, b, tie = bounds(costs)
    return (((tie > 0) & (tie < 1)) | (a == b)).all(1)


def more_than_half(costs):
    a, b, _ = bounds(costs)
    return ((a < 0) | (b < 0)).double().mean(1) > 0.5


def million_inside(costs):
    return million(costs, slice(1, -1))


def million(costs, kept=slice(None)):
    w = torch.linspace(0, 1, 1_000_001, dtype=torch.float64)[kept]
    rows = costs.double()
    best = [(rows @ torch.stack([part, 1 - part])).argmin(0).unique() for part in w.split(50_000)]
    return torch.isin(torch.arange(len(costs)), torch.cat(best))


def by_formula(formula):
    def answer(costs):
        a, b = (costs[:, None] - costs).double().unbind(-1)
        w = formula(a, b)
        return inside(torch.where(a > b, w, torch.inf), torch.where(a < b, w, -torch.inf))

    return answer


def loop(costs, keep_upper=min, keep_lower=max, first_rival=lambda n: 0):
    marks = []
    for n, row in enumerate(costs.double()):
        low, high = 0.0, 1.0
        for m in range(first_rival(n), len(costs)):
            a, b = (row - costs[m].double()).tolist()
            if a > b:
                high = keep_upper(high, b / (b - a))
            elif a < b:
                low = keep_lower(low, b / (b - a))
        marks.append(low < high)
    return torch.tensor(marks)


def last_of_each(costs):
    return loop(costs, lambda _, w: w, lambda _, w: w)


def last_upper(costs):
    return loop(costs, keep_upper=lambda _, w: w)


def rivals_further_down(costs):
    return loop(costs, first_rival=lambda n: n + 1)


def ends_and_equal(costs):
    return mark(costs, {*costs.argmin(0).tolist(), int(costs.sum(1).argmin())})


def weighted_products(costs):
    w = torch.linspace(0, 1, 101, dtype=torch.float64)[:, None]
    products = costs[:, 0].double() ** w * costs[:, 1].double() ** (1 - w)
    return mark(costs, set(products.argmin(1).tolist()))


def strictly_at_its_bounds(costs):
    rows, kept = costs.double(), set()
    for n, row in enumerate(rows):
        others = rows[torch.arange(len(rows)) != n]
        a, b = (row - others).unbind(-1)
        for w in (b / (b - a)).tolist():
            least = (w * others[:, 0] + (1 - w) * others[:, 1]).min()
            if 0 < w < 1 and w * row[0] + (1 - w) * row[1] < least:
                kept.add(n)
    return mark(costs, kept)


def below_middle_of_neighbours(costs):
    front, sums = on_front(costs), costs.double().sum(1).tolist()
    middle = zip(front, front[1:], front[2:], strict=False)
    kept = {n for left, n, right in middle if 2 * sums[n] < sums[left] + sums[right]}
    return mark(costs, {front[0], front[-1], *kept})


def sides(costs, dtype=torch.float64):
    """Each row's highest lower bound and its lowest upper one, within 0 and 1."""
    a, b = (costs[:, None] - costs[None]).double().unbind(-1)
    w = (-b / (a - b)).to(dtype)
    lower = torch.where(a < b, w, -torch.inf).amax(1).clamp(min=0)
    return lower, torch.where(a > b, w, torch.inf).amin(1).clamp(max=1)


def just_above_the_lower_bound(costs):
    w = (sides(costs)[0] + 1e-6)[:, None]
    sums = w * costs[:, 0].double() + (1 - w) * costs[:, 1].double()
    return sums.argmin(1) == torch.arange(len(costs))


def bounds_of_float32(costs):
    lower, upper = sides(costs, torch.float32)
    return lower < upper


def tiny_steps_from_every_bound(costs):
    a, b = (costs[:, None] - costs[None]).double().unbind(-1)
    ties = (-b / (a - b)).flatten()
    w = torch.cat([torch.tensor([0.5]).double(), ties - 1e-12, ties + 1e-12])
    w = w[(w > 0) & (w < 1)]
    return mark(costs, (costs.double() @ torch.stack([w, 1 - w])).argmin(0).tolist())


def both_sides_at_once(costs):
    a, b = (costs[:, None] - costs[None]).double().unbind(-1)
    w = (-b / (a - b)).nan_to_num()
    return w.amin(1).clamp(min=0) < w.amax(1).clamp(max=1)


NOT_THE_SAME = "not where both cost the same"
test_wrong_favourites_get_a_fitting_word = wrong_answers(
    "mistake",
    {
        check_somebodys_favourite: [
            (one_sided, "from above and from below"),
            (just_above_the_lower_bound, "so small a step"),
            (tiny_steps_from_every_bound, "so small a step"),
            (bounds_of_float32, "in float32"),
            (both_sides_at_once, "thrown together"),
            (lambda costs: torch.stack(sides(costs)), "not yet an answer"),
            (lambda costs: torch.stack(sides(costs), 1), "not yet an answer"),
            (one_bound_for_all, "one long list"),
            (weights_of_any_size, "between 0 and 1"),
            (one_pass, "neighbours only"),
            (below_one_chord, "the line between the best of each column"),
            (normalised_grid, "grid of weights"),
            (small_weights, "grid of weights"),
            (bounds_with_itself, "no row at all"),
            (sides_by_a, "by the first cost alone"),
            (signs_slipped, "wrong sign"),
            (exchanged, "bounds are exchanged"),
            (hull_to_the_right_end, "goes on after"),
            (upper_not_cut, "weights above 1"),
            (lower_not_cut, "weights below 0"),
            (both_inside, "both bounds have to lie"),
            (loosest, "the highest counts"),
            (loosest_with_itself, "all rows are marked"),
            (sum_for_difference, "a + b"),
            (with_a_tolerance, "short ranges"),
            (exactly_at_its_bounds, "rounding"),
            (sum_with_the_sides_right, "a + b"),
            (divided_by_a, "by a alone"),
            (sides_by_b, "by the second cost alone"),
            (cheapest_near_ties(0.0), "cost the same"),
            (cheapest_near_ties(1e-6), "jumps over"),
            (cheapest_near_ties(1e-9), "jumps over"),
            (beaten_in_both_passed_over, "cheaper in both costs"),
            (smallest_product, "product"),
            (lambda costs: costs.prod(1) == costs.prod(1).amin(), "product"),
            (over_the_wrong_dimension, "which dimension"),
            (open_grid, "grid of weights"),
            (random_weights, "by chance"),
            (nearly_cheapest(1e-8), "tolerance"),
            (nearly_cheapest(1e-6), "tolerance"),
            (nearly_cheapest(1e-5), "tolerance"),
            (front_on_the_hull, "one of its sides"),
            (below_the_line, "on or below the line"),
            (chain_with_if, "one earlier row at most"),
            (chain_with_if_to_the_cheapest, "one earlier row at most"),
            (one_step_between_the_ends, "and then no other"),
            (ends_of_edges, "one row is the best in both"),
            (cheapest_at(mean_of_bounds), "one weight is tried for each row"),
            (cheapest_at(share_of_the_second), "one weight is tried for each row"),
            (nearest_to_the_ideal, "nearest to the best"),
            (flattest_first, "flattest"),
            (pairs_of_bounds, "two bounds a row"),
            (cut_first, "±inf is filled in afterwards"),
            (cut_first_and_equal, "once they are cut"),
            (weight_of_the_other, "7/11 or 4/11"),
            (amin_for_both, "both sides take their lowest"),
            (amax_for_both, "both sides take their highest"),
            (a_over_b, "w is a / b"),
            (upper_of_all_rows, "one bound is the same for all"),
            (lower_of_all_rows, "one bound is the same for all"),
            (both_of_all_rows, "no row that has a rival"),
            (half_between_all, "thrown together"),
            (middle_of_each_side, "the middle bound"),
            (mean_of_each_side, "the mean of the bounds"),
            (all_bounds_inside, "dearer in the other"),
            (more_than_half, "rivals are counted"),
            (million, "however fine, misses"),
            (million_inside, "however fine, misses"),
            (by_formula(lambda a, b: b / (a + b)), NOT_THE_SAME),
            (by_formula(lambda a, b: b / a), NOT_THE_SAME),
            (by_formula(lambda a, b: -b / a), NOT_THE_SAME),
            (by_formula(lambda a, b: -a / b), NOT_THE_SAME),
            (by_formula(lambda a, b: a / (b - a)), NOT_THE_SAME),
            (by_formula(lambda a, b: b - a), NOT_THE_SAME),
            (by_formula(lambda a, b: (b - a) / b), NOT_THE_SAME),
            (by_formula(lambda a, b: b.abs() / (a.abs() + b.abs())), NOT_THE_SAME),
            (last_of_each, "the last one counts"),
            (last_upper, "the last one counts"),
            (rivals_further_down, "further down only"),
            (ends_and_equal, "best of each column and of equal weights"),
            (weighted_products, "weighted products"),
            (strictly_at_its_bounds, "at a bound, and there one costs the same"),
            (below_middle_of_neighbours, "those of the neighbours"),
            (lambda costs: costs.sum(1) < costs.sum(1).mean(), "with their mean"),
            (lambda costs: (costs[:, None] - costs).diff(dim=-1)[..., 0].gt(0).any(1), "one rival"),
            (lambda costs: (costs[:, None, 1] < costs[:, 1]).any(1), "one rival"),
            (lambda costs: costs[:, None, 0] < costs[:, 0], "each pair of rows"),
        ]
    },
)
test_right_answers_pass = right_answers(
    {
        check_least_regret: [row_by_row, in_numpy, in_one_line],
        check_somebodys_favourite: [at_every_tie, chain, below_every_chord, loop],
    }
)
test_the_lessons_own_function_does_not_pass = wrong_answers(
    "mistake", {check_somebodys_favourite: [(chooser.undominated, "no other beats")]}
)


@pytest.mark.parametrize("count", [101, 1_001, 10_001, 100_001])
@pytest.mark.parametrize("tolerance", [0.001, 0.01, 0.1])
def test_a_grid_with_a_tolerance_gets_a_question_about_it(count, tolerance):
    def grid(costs):
        w = torch.linspace(0, 1, count, dtype=torch.float64)
        sums = costs.double() @ torch.stack([w, 1 - w])
        return (sums - sums.amin(0) < tolerance).any(1)

    verdict = check_somebodys_favourite.verdict(grid)
    assert verdict.kind == "mistake" and "tolerance" in verdict.text


@pytest.mark.parametrize("count", [10, 100, 1_000, 100_000])
def test_no_grid_of_weights_passes(count):
    def grid(costs):
        w = torch.linspace(0, 1, count, dtype=torch.float64)
        is_favourite = torch.zeros(len(costs), dtype=torch.bool)
        is_favourite[(costs.double() @ torch.stack([w, 1 - w])).argmin(0)] = True
        return is_favourite

    assert check_somebodys_favourite.verdict(grid).kind != "right"


def test_no_three_rows_of_a_case_lie_on_a_line_and_no_two_costs_or_differences_are_equal():
    for (costs,) in check_somebodys_favourite.cases:
        assert all(len(set(column)) == len(costs) for column in costs.T.tolist())
        steps = costs[:, None].double() - costs[None].double()  # (i, j, 2)
        assert int((steps[..., 0] == steps[..., 1]).sum()) == len(costs)  # a row and itself
        cross = steps[:, :, None, 0] * steps[:, None, :, 1]
        cross = cross - steps[:, :, None, 1] * steps[:, None, :, 0]  # (i, j, k), 0 on a line
        n = torch.arange(len(costs))
        i, j, k = n[:, None, None], n[:, None], n
        different = (i != j) & (j != k) & (i != k)
        assert not (cross[different] == 0).any()


def sides_by_both_signs(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)
    equal = b / (b - a)
    low = torch.where(a < 0, equal, -torch.inf).amax(1).clamp(min=0)
    return low < torch.where(b < 0, equal, torch.inf).amin(1).clamp(max=1)


def cost_at_its_own_crossing(costs):
    a, b = (costs[:, None] - costs).double().unbind(-1)
    equal = (b / (b - a)).nan_to_num(0.5)
    return (equal * a + (1 - equal) * b <= 0).all(1)


test_sides_by_signs_and_costs_at_a_crossing_get_a_question = wrong_answers(
    "mistake",
    {
        check_somebodys_favourite: [
            (sides_by_both_signs, "one side goes by the sign of a"),
            (cost_at_its_own_crossing, "rounding decides"),
        ]
    },
)
