"""The explorer of the long experiment says what the table says."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy import stats

from course_utils import data, encodings, explorers
from course_utils.results import AS_TRAINED

LOSS, ABOVE, POSITION, LOG_N = explorers.VIEWS


def shown(fig, number):
    """What one of the two curves shows: place → mean."""
    line = fig.axes[0].lines[2 * number]
    return dict(zip(map(float, line.get_xdata()), map(float, line.get_ydata()), strict=True))


def losses(encoding, reading=AS_TRAINED):
    rows = data.results("extrapolation")
    rows = rows[(rows["encoding"] == encoding) & (rows["reading"] == reading)]
    return rows.groupby("read")["loss"].mean()


def test_the_curves_are_the_means_of_the_table():
    fig = Figure()
    explorers.lengths(fig, "rope", "alibi", LOSS, 5)
    for number, name in enumerate(("rope", "alibi")):
        assert shown(fig, number) == pytest.approx(losses(name).to_dict())


def test_the_bars_are_the_intervals_of_the_means():
    fig = Figure()
    explorers.lengths(fig, "rope", "alibi", LOSS, 5)
    rows = data.results("extrapolation")
    rows = rows[(rows["encoding"] == "alibi") & (rows["reading"] == AS_TRAINED)]
    seeds = rows.groupby("read")["loss"]
    half = stats.t.ppf(0.975, seeds.size() - 1) * seeds.sem()
    ends = np.asarray(fig.axes[0].lines[3].get_ydata()).reshape(-1, 3)  # low, high, a gap
    assert ends[:, 0] == pytest.approx((seeds.mean() - half).to_numpy(), rel=1e-6)
    assert ends[:, 1] == pytest.approx((seeds.mean() + half).to_numpy(), rel=1e-6)


def test_the_sentence_says_where_the_curves_end():
    sentence = explorers.lengths(Figure(), "none", "alibi", LOSS, 3)
    found = re.findall(r"(\w+) (-?[\d.]+\d) \(", sentence)
    assert [name for name, _ in found] == ["none", "alibi"]
    for name, mean in found:
        assert float(mean) == pytest.approx(losses(name)[512], abs=6e-4)


def test_above_its_own_loss_every_curve_is_zero_at_the_trained_length():
    fig = Figure()
    explorers.lengths(fig, "rope", "sinusoidal", ABOVE, 5)
    assert shown(fig, 0)[64] == shown(fig, 1)[64] == 0
    rise = losses("rope")[2048] - losses("rope")[64]
    assert shown(fig, 0)[2048] == pytest.approx(rise, abs=1e-6)


def test_log_n_is_compared_with_the_same_length_as_trained():
    fig = Figure()
    explorers.lengths(fig, "none", "rope", LOG_N, 5)
    for number, name in enumerate(("none", "rope")):
        change = losses(name, "log-n") - losses(name)
        assert shown(fig, number) == pytest.approx(change.dropna().to_dict(), abs=1e-6)
        assert 64 not in shown(fig, number)


def test_positions_end_where_the_slider_says():
    fig = Figure()
    explorers.lengths(fig, "rope", "alibi", POSITION, 2)
    places = list(shown(fig, 0))
    assert places == [32, 96, 160, 224]


def test_the_encodings_to_choose_from_are_those_of_the_table_whatever_else_there_is(scheme):
    scheme("another", encodings.ALiBi)
    table = data.results("extrapolation")["encoding"].drop_duplicates().tolist()
    assert explorers.measured("alibi") == ["alibi", *(one for one in table if one != "alibi")]


def test_an_encoding_without_results_is_explained():
    with pytest.raises(ValueError, match="beside must be one with results"):
        explorers.lengths(Figure(), "rope", "roap", LOSS, 5)
