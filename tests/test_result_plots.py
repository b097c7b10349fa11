"""Pictures of results show the numbers that they were given."""

import math

import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from course_lab.figures import numbered, seeds_by_row, squares
from course_utils import plots

pytestmark = pytest.mark.usefixtures("figures")


def summary(margins):
    at = pd.MultiIndex.from_product([["a", "b"], [64, 32]], names=["encoding", "read"])
    return pd.DataFrame({"mean": [1.0, 2.0, 3.0, 4.0], "margin": margins}, index=at)


def bars(ax):
    """Half the length of each bar, in the order of the legend."""
    return [
        (segment[1][1] - segment[0][1]) / 2
        for container in ax.containers
        if isinstance(container, ErrorbarContainer)
        for segment in container.lines[2][0].get_segments()
    ]


def test_curves_ascend_in_length_and_their_bars_are_the_intervals():
    ax = Figure().subplots()
    plots.seed_curves(ax, summary([0.1, 0.2, 0.3, 0.4]), ["b", "a"])
    curves = [c.lines[0] for c in ax.containers if isinstance(c, ErrorbarContainer)]
    assert [list(np.asarray(curve.get_ydata())) for curve in curves] == [[4, 3], [2, 1]]
    assert bars(ax) == pytest.approx([0.4, 0.3, 0.2, 0.1])
    assert ax.get_legend_handles_labels()[1] == ["b", "a"]


def test_one_seed_gets_no_bar():
    ax = Figure().subplots()
    plots.seed_curves(ax, summary([math.nan] * 4), ["a"])
    assert bars(ax) == [0, 0]


def test_every_cell_carries_its_number_in_a_readable_colour():
    ax = Figure().subplots()
    numbered(ax, torch.tensor([[0.0, -2.0], [0.3, 3.0]]), ["x", "y"], [1, 2], limit=1.0)
    assert [text.get_text() for text in ax.texts] == ["+0.00", "-2.00", "+0.30", "+3.00"]
    assert [text.get_color() for text in ax.texts] == [".15", "w", ".15", "w"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["x", "y"]


def test_squares_are_coloured_by_what_was_added_to_their_first_cell():
    matrices = {"a": torch.tensor([[1.0, 2.0], [1.5, 3.0]]), "b": torch.full((2, 2), 7.0)}
    first, second = squares(matrices, ("r", "s"), ("t", "u"), limit=2.0).axes
    assert torch.tensor(first.collections[0].get_array()).tolist() == [[0, 1], [0.5, 2]]
    assert [text.get_text() for text in first.texts] == ["1.0", "2.0", "1.5", "3.0"]
    assert not np.asarray(second.collections[0].get_array()).any()


def test_each_kind_of_run_stands_in_its_own_part_of_a_row():
    ax = Figure().subplots()
    values = {("top", "short"): [0.2, 0.4], ("top", "long"): [0.9], ("low", "long"): [1.0]}
    marks = {"short": {"marker": "o"}, "long": {"marker": "s"}}
    seeds_by_row(ax, values, {"top": "C0", "low": "C1"}, marks, {"guessing": 0.5})
    lines = [line for line in ax.lines if line.get_marker() in ("o", "s")]
    shown = [np.asarray(line.get_xdata()).tolist() for line in lines]
    assert shown == [[0.2, 0.4], [0.9], [1.0], [], []]  # the last two are the legend's
    short, long, low = (np.asarray(line.get_ydata()) for line in lines[:3])
    assert -0.5 < short.min() < short.max() < long[0] < 0.5 < low[0] < 1.5
    assert ax.get_legend_handles_labels()[1] == ["short", "long"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["top", "low"]


def seed_curves(names):
    plots.seed_curves(Figure().subplots(), summary([0.1] * 4), names)


def numbers(rows, columns):
    numbered(Figure().subplots(), torch.ones(2, 2), rows, columns, limit=1)


test_bad_arguments = bad_calls(
    [
        (lambda: seed_curves(["c"]), ValueError, "names", "'c'"),
        (lambda: numbers("abc", "ab"), ValueError, "rows", "got 3 and 2"),
    ]
)
