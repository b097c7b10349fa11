"""The explorer of ALiBi's heads says the numbers that the slopes have."""

import math

import pytest
from matplotlib.figure import Figure

from course_utils import explorers


def test_the_steepest_of_eight_heads_sees_six_keys():
    sentence = explorers.distance_cost(Figure(), 8, 0, 96, False)
    assert "Slope 0.5000" in sentence
    assert "at most 5 positions away" in sentence  # six keys with the query's own place


def test_head_8_of_12_is_steep_again():
    assert "Slope 0.7071" in explorers.distance_cost(Figure(), 12, 8, 96, False)


def test_a_symmetric_head_reaches_as_far_with_twice_the_keys():
    causal = explorers.distance_cost(Figure(), 8, 2, 192, False)
    both = explorers.distance_cost(Figure(), 8, 2, 192, True)
    assert "Query 191" in causal and "Query 96" in both
    assert f"at most {math.log(192):.2f} nats" in both


def test_a_flat_head_is_nearly_uniform():
    sentence = explorers.distance_cost(Figure(), 8, 7, 16, False)
    assert "entropy 2.77 of at most 2.77" in sentence


def test_a_head_past_the_last_is_explained():
    with pytest.raises(ValueError, match="head must be below heads, 4, got 4"):
        explorers.distance_cost(Figure(), 4, 4, 96, False)
