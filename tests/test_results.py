"""Differences between results are paired by seed; their intervals are those of the differences."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from course_utils.results import Change, average, change, t_quantile

SHORT, LONG = {"read": 64}, {"read": 256}


def rows(short, long, order=None):
    """A table of one model's losses at two lengths; ``order`` shuffles its rows."""
    records = [
        {"seed": seed, "read": read, "loss": loss}
        for read, losses in ((64, short), (256, long))
        for seed, loss in enumerate(losses)
        if loss is not None
    ]
    table = pd.DataFrame(records)
    return table if order is None else table.sample(frac=1, random_state=order)


def test_a_change_is_that_of_each_seed_not_that_of_the_means():
    difference = change(rows([1.0, 2.0, 3.0], [1.1, 2.1, 3.1]), SHORT, LONG)
    assert difference.mean == pytest.approx(0.1)
    assert difference.error == pytest.approx(0.0, abs=1e-12)  # all seeds change alike
    assert difference.repeats == 3


@given(st.integers(0, 2**16), st.integers(2, 6))
def test_the_order_of_the_rows_plays_no_part(seed, count):
    dice = np.random.default_rng(seed)
    short, long = dice.normal(size=(2, count))
    apart = long - short
    difference = change(rows(short, long, order=seed), SHORT, LONG)
    assert difference.mean == pytest.approx(apart.mean())
    assert difference.error == pytest.approx(apart.std(ddof=1) / count**0.5)


def test_a_seed_without_a_partner_is_left_out():
    difference = change(rows([1.0, 5.0, 1.0], [1.2, None, 1.4]), SHORT, LONG)
    assert difference.repeats == 2
    assert difference.mean == pytest.approx(0.3)


def test_one_seed_has_no_error_and_says_so():
    difference = change(rows([1.0], [1.5]), SHORT, LONG)
    assert math.isnan(difference.error)
    assert math.isnan(difference.margin)
    assert str(difference) == "+0.500 (once)"
    assert difference.above(0.4) and not difference.above(0.6)


@pytest.mark.parametrize(
    ("freedom", "share", "printed"),
    [(1, 0.95, 12.706), (2, 0.95, 4.303), (4, 0.95, 2.776), (4, 0.99, 4.604), (30, 0.95, 2.042)],
)
def test_t_quantiles_are_those_of_the_printed_tables(freedom, share, printed):
    assert t_quantile(freedom, share) == pytest.approx(printed, abs=5e-4)


@given(st.lists(st.floats(-2, 2, width=32), min_size=2, max_size=8, unique=True))
def test_above_and_below_agree_with_a_t_test(values):
    mean = average(torch.tensor(values, dtype=torch.float64))
    ends = stats.t.interval(0.95, len(values) - 1, mean.mean, mean.error)
    low, high = map(float, ends)
    for yardstick in (low - 1e-3, low + 1e-3, high - 1e-3, high + 1e-3, 0.0):
        if min(abs(low - yardstick), abs(high - yardstick)) > 1e-4:
            assert mean.above(yardstick) == (low > yardstick)
            assert mean.below(yardstick) == (high < yardstick)


def test_the_interval_of_three_seeds_is_far_wider_than_two_standard_errors():
    difference = Change(0.3, 0.1, 3)  # 0.3 ± 4.303 · 0.1
    assert not difference.above(0.0) and Change(0.3, 0.1, 5).above(0.0)
    assert not difference.below(0.7) and difference.below(0.75)
    assert not difference.below() and Change(-0.5, 0.1, 3).below()
    assert str(difference) == "+0.300 ± 0.430"


def test_a_run_that_diverged_is_not_dropped_and_counts_as_a_rise():
    lost = change(rows([1.0, 1.0, 1.0], [1.1, math.nan, 1.2]), SHORT, LONG)
    assert lost.repeats == 3 and math.isnan(lost.mean)
    assert lost.above(100.0) and not lost.below()


def test_a_choice_that_mixes_rows_is_refused():
    table = pd.concat([rows([1.0], [2.0]), rows([1.0], [2.0])])
    with pytest.raises(ValueError, match="one row a seed"):
        change(table, SHORT, LONG)
    with pytest.raises(ValueError, match="one row a seed"):
        change(table, {"read": 512}, LONG)
    with pytest.raises(ValueError, match="share a seed"):
        change(rows([1.0, None], [None, 2.0]), SHORT, LONG)


def test_an_average_has_the_standard_error_of_a_mean():
    mean = average(torch.tensor([1.0, 2.0, 3.0, 6.0]))
    assert mean.mean == pytest.approx(3.0)
    assert mean.error == pytest.approx(np.std([1, 2, 3, 6], ddof=1) / 2)
    assert math.isnan(average(torch.ones(1)).error)


test_bad_differences = bad_calls(
    [
        (lambda: average(torch.ones(0)), ValueError, "differences", "(0,)"),
        (lambda: average(torch.ones(2, 2)), ValueError, "differences", "(2, 2)"),
        (lambda: average([1.0]), TypeError, "differences", "list"),  # type: ignore[arg-type]
        (lambda: t_quantile(0), ValueError, "freedom", "got 0"),
        (lambda: t_quantile(3, 1.0), ValueError, "share", "got 1.0"),
    ]
)
