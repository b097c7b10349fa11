"""The two layouts of RoPE, and moving features and weights from one to the other."""

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from rotary_twins import angles_of, layouts, random

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import Rotary
from course_utils.encodings.functional import apply_rope
from course_utils.encodings.layouts import convert_layout, layout_order

widths = st.integers(1, 16).map(lambda half: 2 * half)
rows = st.lists(st.integers(-(10**4), 10**4), min_size=1, max_size=8)


@given(widths, rows)
def test_the_layouts_give_the_same_after_reordering_features(d, row):
    x, angles = random(len(row), d), angles_of(row, d)
    order = layout_order(d, "interleaved", "half")
    half = apply_rope(x[..., order], angles, "half")
    assert gap(half, apply_rope(x, angles, "interleaved")[..., order]) <= 1e-12


def test_the_layouts_are_not_interchangeable():
    x, angles = random(5, 8), angles_of(range(5), 8)
    assert gap(apply_rope(x, angles, "half"), apply_rope(x, angles, "interleaved")) > 0.1


@given(st.integers(1, 4), st.sampled_from([8, 16]), st.sampled_from([0.25, 0.5, 1.0]), layouts)
def test_converting_there_and_back_is_the_identity(heads, d_head, fraction, layout):
    weight = random(heads * d_head, 3)
    other = "half" if layout == "interleaved" else "interleaved"
    there = convert_layout(weight, heads, layout, other, fraction)
    assert torch.equal(convert_layout(there, heads, other, layout, fraction), weight)
    assert torch.equal(convert_layout(weight, heads, layout, layout, fraction), weight)


@pytest.mark.parametrize("fraction", [0.5, 1.0])
@pytest.mark.parametrize(("source", "target"), [("interleaved", "half"), ("half", "interleaved")])
def test_attention_is_the_same_after_converting_its_queries_and_keys(source, target, fraction):
    first, second = (
        MultiHeadAttention(32, 4, Rotary(32, 4, layout=layout, fraction=fraction)).double()
        for layout in (source, target)
    )
    second.load_state_dict(first.state_dict())
    x = random(2, 9, 32)
    assert gap(first(x)[0], second(x)[0]) > 1e-4
    for name in ("W_q", "W_k"):
        weight = getattr(first, name).weight.data
        getattr(second, name).weight.data = convert_layout(weight, 4, source, target, fraction)
    assert gap(first(x)[0], second(x)[0]) <= 1e-12


def test_a_bias_can_be_converted_like_a_weight():
    weight, bias = random(16, 3), random(16)
    both = convert_layout(torch.cat([weight, bias[:, None]], 1), 2, "interleaved", "half")
    assert torch.equal(both[:, 3], convert_layout(bias, 2, "interleaved", "half"))


def test_keys_of_grouped_queries_are_converted_by_their_own_number_of_heads():
    in_halves, interleaved = (
        MultiHeadAttention(32, 4, Rotary(32, 4, layout=layout), n_kv_heads=2).double()
        for layout in ("half", "interleaved")
    )
    interleaved.load_state_dict(in_halves.state_dict())
    x = random(2, 9, 32)
    for name, heads in (("W_q", 4), ("W_k", 2)):
        weight = getattr(in_halves, name).weight.data
        converted = convert_layout(weight, heads, "half", "interleaved", d_head=8)
        getattr(interleaved, name).weight.data = converted
    assert gap(in_halves(x)[0], interleaved(x)[0]) <= 1e-12
    with pytest.raises(ValueError, match="n_heads must be 2 for 16 rows .* got 4; under grouped"):
        convert_layout(in_halves.W_k.weight.data, 4, "half", "interleaved", d_head=8)
