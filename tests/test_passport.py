"""The passport: what it counts is checked with encodings whose cost is known beforehand."""

import math
import re
import sys
import time
from typing import Any

import pytest
import torch
from torch import nn

from course_lab.measures import passport_text
from course_utils.encodings import PositionalEncoding
from course_utils.measures import passport

SMALL: dict[str, Any] = {"d_model": 16, "n_heads": 2, "length": 40, "batch": 3}


class AddOne(PositionalEncoding):
    """Costs one addition an entry."""

    def embed(self, x, positions, tokens=None):
        return x + 1


class Project(PositionalEncoding):
    """Costs one matrix product."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.matrix = nn.Parameter(torch.randn(d_model, d_model))
        self.register_buffer("kept", torch.zeros(7))

    def embed(self, x, positions, tokens=None):
        return x @ self.matrix


class Table(PositionalEncoding):
    """A row for each position below max_len, and ValueError past the end."""

    def __init__(self, d_model, n_heads, max_len):
        super().__init__(d_model, n_heads)
        self.table = nn.Parameter(torch.randn(max_len, d_model))

    def embed(self, x, positions, tokens=None):
        if int(positions.max()) >= len(self.table):
            raise ValueError(f"positions must be below {len(self.table)}")
        return x + self.table[positions]


class Distance(PositionalEncoding):
    """A bias that depends on the offset alone."""

    def bias(self, q, k, at):
        return -(at.k[None, :] - at.q[:, None]).abs().to(q)[None, None]


class ShortBias(Distance):
    """Its end is behind door 3."""

    def bias(self, q, k, at):
        if int(at.k.max()) >= 100:
            raise ValueError("too far")
        return super().bias(q, k, at)


class Causal(Distance):
    """Wrong by a lot for keys after the query, where attention must not look."""

    causal = True

    def bias(self, q, k, at):
        ahead = (at.k[None, :] - at.q[:, None]).clamp(min=0)
        return super().bias(q, k, at) + 100.0 * ahead * at.k[None, :]


# test_every_encoding_measured.py goes through all of them.
@pytest.mark.parametrize("name", ["none", "sinusoidal", "shaw", "cope"])
def test_a_passport_has_the_entries_of_every_other_and_is_the_same_again_but_for_the_time(name):
    first, second = passport(name, **SMALL), passport(name, **SMALL)
    assert first.keys() == passport("none", **SMALL).keys()
    ratio = first.pop("time_ratio")
    assert math.isfinite(ratio) and ratio > 0
    del second["time_ratio"]
    assert first == second


def test_no_encoding_costs_nothing_and_ends_nowhere():
    facts = passport("none", **SMALL)
    del facts["time_ratio"]
    assert facts == {
        "name": "none",
        "doors": (),
        "causal": False,
        "parameters": 0,
        "buffers": 0,
        "shift_error": 0.0,
        "extra_flops": 0,
        "extra_bytes": 0,
        "longest": None,
        "longest_tried": 2**20,
    }


def test_sinusoidal_costs_work_but_no_parameters_and_ends_nowhere():
    facts = passport("sinusoidal", **SMALL)
    assert facts["doors"] == ("embed",)
    assert (facts["parameters"], facts["buffers"], facts["longest"]) == (0, 0, None)
    assert facts["extra_flops"] >= SMALL["length"] * SMALL["d_model"]
    assert facts["extra_bytes"] >= 4 * SMALL["length"] * SMALL["d_model"]


def test_options_reach_the_encoding():
    slow, fast = (passport("sinusoidal", **SMALL, base=base) for base in (2.0, 1e9))
    assert slow["shift_error"] != fast["shift_error"]


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_one_addition_an_entry_is_counted_as_such(scheme, batch):
    scheme("add_one", AddOne)
    facts = passport("add_one", **SMALL | {"batch": batch})
    entries = batch * 40 * 16
    assert (facts["extra_flops"], facts["extra_bytes"]) == (entries, 4 * entries)


def test_a_matrix_product_is_two_operations_a_multiplication_and_parameters_are_no_buffers(scheme):
    scheme("project", Project)
    facts = passport("project", **SMALL)
    assert (facts["extra_flops"], facts["extra_bytes"]) == (2 * 3 * 40 * 16 * 16, 4 * 3 * 40 * 16)
    assert (facts["parameters"], facts["buffers"]) == (16 * 16, 7)


@pytest.mark.parametrize("max_len", [40, 63, 64, 1000])
def test_the_longest_sequence_of_a_table_is_its_length_and_at_40_it_cannot_shift(scheme, max_len):
    scheme("table", lambda d_model, n_heads: Table(d_model, n_heads, max_len))
    facts = passport("table", **SMALL)
    assert (facts["longest"], facts["parameters"]) == (max_len, max_len * 16)
    if max_len == SMALL["length"]:
        assert facts["shift_error"] is None


def test_the_longest_sequence_is_found_at_every_door(scheme):
    scheme("short_bias", ShortBias)
    assert passport("short_bias", **SMALL)["longest"] == 100


@pytest.mark.parametrize("maker", [Distance, Causal])
def test_a_bias_by_offset_has_a_shift_error_of_rounding_only_behind_its_mask(scheme, maker):
    scheme("distance", maker)
    facts = passport("distance", **SMALL)
    assert facts["shift_error"] <= 1e-6
    assert facts["doors"] == ("bias",)
    assert facts["causal"] == maker.causal


def test_sinusoidal_scores_change_when_all_positions_shift_whatever_the_seed():
    torch.manual_seed(1)
    first = passport("sinusoidal", **SMALL)["shift_error"]
    torch.manual_seed(2)
    assert passport("sinusoidal", **SMALL)["shift_error"] == first > 1e-3


def test_a_passport_in_words_says_everything_but_the_time_with_units():
    facts = {
        "name": "mine",
        "doors": ("embed", "bias"),
        "causal": True,
        "parameters": 1234,
        "buffers": 0,
        "shift_error": 0.25,
        "extra_flops": 5678,
        "extra_bytes": 90,
        "time_ratio": 1.234,
        "longest": 512,
        "longest_tried": 1024,
    }
    text = passport_text(facts)
    parts = ["mine", "embed, bias", "1,234", "0.25 of an attention weight"]
    for part in (*parts, "5,678 operations", "90 bytes", "512 tokens"):
        assert part in text
    assert "1.23" not in text


def test_a_passport_in_words_says_none_refused_and_no_limit():
    facts = passport("none", **SMALL) | {"shift_error": None}
    text = passport_text(facts)
    assert re.search(r"doors +none", text)
    assert "refused" in text and "no limit up to 1,048,576 tokens" in text


def test_a_passport_leaves_the_callers_random_numbers_alone():
    before = torch.get_rng_state()
    passport("sinusoidal", **SMALL)
    assert torch.equal(torch.get_rng_state(), before)


def test_fused_and_explicit_attention_count_nearly_the_same_arithmetic(scheme):
    class OpensDoorFourForNothing(PositionalEncoding):
        def values(self, weights, at):
            return None

    scheme("idle", OpensDoorFourForNothing)
    products = 2 * 2 * 32 * 2 * 64 * 64  # of the two matrix products of attention
    facts = passport("idle", d_model=32, n_heads=2, length=64, batch=2)
    assert abs(facts["extra_flops"]) < products / 4


def test_arithmetic_in_place_counts_and_copying_does_not(scheme):
    class Doubles(PositionalEncoding):
        def embed(self, x, positions, tokens=None):
            return x.clone().mul_(2)

    scheme("doubles", Doubles)
    facts = passport("doubles", d_model=32, n_heads=2, length=64, batch=2)
    assert facts["extra_flops"] == 2 * 64 * 32


@pytest.mark.parametrize("name", ["alibi", "kerple", "t5"])
def test_a_bias_by_offset_looks_at_each_offset_once_not_at_each_pair(name):
    facts = passport(name, d_model=32, n_heads=4, length=64, batch=1)
    assert facts["extra_flops"] < 4 * 64 * 64  # one operation for each head, query and key


@pytest.mark.parametrize("causal", [False, True])
def test_the_mask_asked_for_is_the_mask_measured_behind(causal):
    assert passport("sinusoidal", **SMALL, causal=causal)["causal"] == causal


def test_an_error_that_has_nothing_to_do_with_the_shift_is_not_taken_for_a_limit(scheme):
    class Broken(PositionalEncoding):
        def bias(self, q, k, at):
            raise ValueError("broken must be mended")

    scheme("broken", Broken)
    with pytest.raises(ValueError, match="broken must be mended"):
        passport("broken", **SMALL)


def test_the_search_for_the_longest_text_stops_where_one_position_takes_too_long(
    scheme, monkeypatch
):
    class Slow(PositionalEncoding):
        def bias(self, q, k, at):
            time.sleep(1e-4 * int(at.k.max()) / 100)
            return None

    monkeypatch.setattr(sys.modules[passport.__module__], "PATIENCE", 0.02)
    scheme("slow", Slow)
    facts = passport("slow", **SMALL)
    assert facts["longest"] is None
    assert facts["longest_tried"] < 2**20
    assert f"no limit up to {facts['longest_tried']:,} tokens" in passport_text(facts)


@pytest.mark.parametrize("name", ["learned", "multiplicative"])
def test_a_table_has_rows_for_every_token_that_is_measured(name):
    facts = passport(name, d_model=16, n_heads=2, length=600, batch=1)
    assert facts["longest"] == 600 and facts["parameters"] == 600 * 16
    assert passport(name, **SMALL)["longest"] == 512
    assert passport(name, **SMALL, max_len=64)["longest"] == 64
    with pytest.raises(ValueError, match="positions must be from 0 to 63"):
        passport(name, d_model=16, n_heads=2, length=65, batch=1, max_len=64)
