"""Lesson 07's test of a cause: bands of far keys where one pair of RoPE turns at another speed."""

import math

import pytest
import torch

from course_experiments import far_bands, far_bands_turned
from course_experiments.stretched_hands import PAIRS, slowed
from course_lab.explorers.far_bands import PAIR, unseen
from course_utils.encodings.functional import rope_frequencies
from course_utils.models import shipped
from course_utils.texts import data, text


def test_pair_5_is_the_first_that_makes_no_whole_turn_in_a_piece():
    turns = 2 * math.pi / rope_frequencies(32)
    assert (turns[:PAIR] < 64).all() and turns[PAIR] > 64


def test_the_angles_beyond_the_pieces_are_new_until_the_turn_is_whole():
    theta = rope_frequencies(32)[PAIR].item()
    (first, end), (second, _), *_ = unseen(448)
    assert first == 64 and end * theta == pytest.approx(2 * math.pi)
    assert (second - first) * theta == pytest.approx(2 * math.pi)


def test_the_shipped_table_has_every_change_model_text_and_band():
    table = data.results("far_bands_turned")
    changes = table.groupby(["pair", "longer"], sort=False)
    assert tuple(changes.groups) == far_bands_turned.CHANGES
    bands = [start for start in far_bands.STARTS if start >= far_bands.KEYS]
    for _, rows in changes:
        by_model = rows.groupby(["seed", "text"])["first"].apply(list).to_dict()
        keys = [(s, t) for s in far_bands_turned.SEEDS for t in far_bands_turned.TEXTS]
        assert by_model == dict.fromkeys(keys, bands)


def test_a_shipped_number_comes_out_again():
    table = data.results("far_bands_turned").set_index(["seed", "pair", "longer", "text", "first"])
    factors = [1.15 if number == 5 else 1.0 for number in range(PAIRS)]
    model = slowed(shipped.model("rope", seed=2), shipped.length("rope"), factors)
    block = text.split(text.documentation()).held_out[5]
    torch.set_num_threads(1)
    expected = table.loc[(2, 5, 1.15, 5, 352), "loss"]
    assert far_bands.loss(model, block, 352) == pytest.approx(expected, abs=1e-3)
