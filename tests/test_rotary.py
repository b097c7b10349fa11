"""RoPE against a slow twin from the paper's formula, then its properties."""

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from rotary_twins import angles_of, layouts, random, scores, shifts, slow_rope, toeplitz_gap

from course_utils.encodings import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Places, Rotary, YaRN
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    rotate_pairs,
    scaled_frequencies,
)

every_layout = pytest.mark.parametrize("layout", ["interleaved", "half"])
widths = st.integers(1, 16).map(lambda half: 2 * half)
rows = st.lists(st.integers(-(10**4), 10**4), min_size=1, max_size=8)
SCALINGS = [
    None,
    Linear(4),
    NTK(4),
    DynamicNTK(4, 16),
    YaRN(4, 16),
    YaRN(4, 16, released_code=False),
    LongRoPE([1.0, 1.1, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0], 4, 16),
    Llama3(4, 16),
]


# The rotation


@given(rows, widths, layouts, st.floats(2, 1e6))
def test_apply_rope_is_the_papers_formula_to_1e_10(row, d, layout, base):
    x, angles = random(len(row), d), angles_of(row, d, base)
    assert gap(apply_rope(x, angles, layout), slow_rope(x, angles, layout)) <= 1e-10


@given(rows, widths, st.floats(2, 1e6))
def test_angles_are_position_times_frequency(row, d, base):
    ours = rope_angles(torch.tensor(row), rope_frequencies(d, base))
    assert gap(ours, angles_of(row, d, base)) <= 1e-8  # at angles up to 10⁴ rad


@given(rows, widths, layouts)
def test_rope_keeps_norms(row, d, layout):
    x = random(2, 3, len(row), d)
    assert gap(apply_rope(x, angles_of(row, d), layout).norm(dim=-1), x.norm(dim=-1)) <= 1e-12


@given(rows, widths, layouts)
def test_turning_there_and_back_is_the_identity(row, d, layout):
    x, angles = random(len(row), d), angles_of(row, d)
    assert gap(apply_rope(apply_rope(x, angles, layout), -angles, layout), x) <= 1e-12


@given(st.integers(-5000, 5000), st.integers(-5000, 5000), widths, layouts)
def test_turning_by_p_and_then_by_q_is_turning_by_p_plus_q(p, q, d, layout):
    x = random(1, d)
    twice = apply_rope(apply_rope(x, angles_of([p], d), layout), angles_of([q], d), layout)
    assert gap(twice, apply_rope(x, angles_of([p + q], d), layout)) <= 1e-10


@every_layout
def test_position_0_stays(layout):
    x = random(1, 8)
    assert torch.equal(apply_rope(x, torch.zeros(1, 4, dtype=torch.float64), layout), x)


@every_layout
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_gives_the_float32_result_rounded(dtype, layout):
    row = torch.arange(4000, 4100)  # bfloat16 would know 7 of these positions
    encoding = Rotary(32, 2, layout=layout)
    x = random(2, 2, 100, 16).to(dtype)
    narrow, _ = encoding.rotate(x, x, Places(row))
    wide, _ = encoding.rotate(x.float(), x.float(), Places(row))
    assert narrow.dtype == dtype
    assert torch.equal(narrow, wide.to(dtype))


@every_layout
def test_half_precision_angles_are_not_rounded_further(layout):
    x, angles = random(3, 8).bfloat16(), angles_of([1, 2, 3], 8).float()
    assert torch.equal(
        apply_rope(x, angles, layout), apply_rope(x.float(), angles, layout).bfloat16()
    )


@every_layout
@pytest.mark.parametrize("scaling", SCALINGS)
def test_the_functions_give_what_the_class_gives_attention_factor_included(scaling, layout):
    row, x = torch.arange(40), random(2, 2, 40, 16)
    theta, factor = scaled_frequencies(16, 10000.0, scaling, length=40)
    turned = apply_rope(x, rope_angles(row, theta), layout, factor)
    encoding = Rotary(32, 2, layout=layout, scaling=scaling)
    assert gap(turned, encoding.rotate(x, x, Places(row))[0]) <= 1e-12


@every_layout
def test_texts_and_heads_may_turn_by_angles_of_their_own(layout):
    x, theta = random(3, 2, 4, 8), rope_frequencies(8)
    texts = torch.tensor([[0, 1, 2, 3], [5, 6, 8, 9], [0, 0, 1, 2]])
    by_text = apply_rope(x, rope_angles(texts, theta)[:, None], layout)
    for vectors, row, turned in zip(x, texts, by_text, strict=True):
        assert torch.equal(turned, apply_rope(vectors, rope_angles(row, theta), layout))
    speeds = torch.stack([theta, theta / 3])  # a row of frequencies for each head
    by_head = apply_rope(x, rope_angles(texts[0], speeds)[None], layout)
    for head, frequencies in enumerate(speeds):
        alone = apply_rope(x[:, head], rope_angles(texts[0], frequencies), layout)
        assert torch.equal(by_head[:, head], alone)


@every_layout
def test_gradients_are_right_to_the_second_order_in_x_and_in_the_angles(layout):
    x, angles = random(2, 3, 4).requires_grad_(), angles_of([1, 5, 9], 4).requires_grad_()
    assert torch.autograd.gradcheck(lambda x, a: apply_rope(x, a, layout), (x, angles))
    assert torch.autograd.gradgradcheck(lambda x, a: apply_rope(x, a, layout), (x, angles))


@every_layout
def test_with_and_without_gradients_the_result_is_the_same(layout):
    x, angles = random(2, 5, 8, dtype=torch.float32), angles_of(range(5), 8)
    with_gradients = apply_rope(x.clone().requires_grad_(), angles, layout)
    assert with_gradients.requires_grad
    assert gap(apply_rope(x, angles, layout), with_gradients) <= 1e-6


@every_layout
def test_x_itself_is_left_alone(layout):
    x = random(3, 8)
    before = x.clone()
    apply_rope(x, angles_of([1, 2, 3], 8), layout)
    assert torch.equal(x, before)


@every_layout
@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("step", [1, 2, 3])
def test_any_strides_and_any_start_in_memory_will_do(layout, start, step):
    x = random(4, 3, 60)[..., start::step][..., :8]
    alone = random(40)[start : start + 24].view(3, 8)
    odd_rows = random(3, 9)[:, :8]
    for strided in (x, x.transpose(0, 1)[:, :3], alone, odd_rows):
        angles = angles_of(range(strided.shape[-2]), 8)
        copy = strided.clone(memory_format=torch.contiguous_format)
        assert torch.equal(apply_rope(strided, angles, layout), apply_rope(copy, angles, layout))


@every_layout
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_rope_maps_over_a_new_axis(layout):
    x, angles = random(5, 3, 8), angles_of([1, 2, 3], 8)
    mapped = torch.func.vmap(lambda vectors: apply_rope(vectors, angles, layout))(x)
    assert torch.equal(mapped, apply_rope(x, angles, layout))


@every_layout
def test_cos_and_sin_times_a_factor_multiply_the_result(layout):
    x, angles = random(3, 8), angles_of([1, 2, 3], 8)
    grown = rotate_pairs(x, 1.5 * angles.cos(), 1.5 * angles.sin(), layout)
    assert gap(grown, 1.5 * apply_rope(x, angles, layout)) <= 1e-12


# The encoding


@given(st.sampled_from(SCALINGS), layouts, shifts)
def test_rope_scores_depend_on_the_offset_only_under_every_scaling(scaling, layout, shift):
    encoding = Rotary(32, 2, layout=layout, scaling=scaling)
    token = random(1, 2, 1, 16, dtype=torch.float32).expand(1, 2, 24, 16)
    row = torch.arange(24) + shift
    assert toeplitz_gap(scores(encoding, token, token, row, row)) <= 1e-5


@given(st.sampled_from(SCALINGS), layouts)
def test_one_query_against_all_keys_gets_its_row_of_the_scores(scaling, layout):
    encoding = Rotary(32, 2, layout=layout, scaling=scaling)
    q, k, row = random(1, 2, 30, 16), random(1, 2, 30, 16), torch.arange(30)
    whole = scores(encoding, q, k, row, row)
    assert gap(scores(encoding, q[:, :, -1:], k, row[-1:], row), whole[:, :, -1:]) <= 1e-12


@given(st.floats(1, 32), layouts)
def test_linear_scaling_is_position_interpolation(s, layout):
    q, k = random(2, 1, 2, 9, 16)
    row = torch.arange(9, dtype=torch.float64)
    stretched = Rotary(32, 2, layout=layout, scaling=Linear(s)).rotate(q, k, Places(row))
    squeezed = Rotary(32, 2, layout=layout).rotate(q, k, Places(row / s))
    for ours, theirs in zip(stretched, squeezed, strict=True):
        assert gap(ours, theirs) <= 1e-10


@pytest.mark.parametrize("scaling", [YaRN(4, 16), LongRoPE([1.0] * 8, 4, 16)])
def test_the_attention_factor_reaches_the_scores_squared(scaling):
    frequencies, factor = scaled_frequencies(16, scaling=scaling)
    q, k = random(2, 1, 2, 9, 16)
    turned = [apply_rope(x, rope_angles(torch.arange(9), frequencies)) for x in (q, k)]
    plain = turned[0] @ turned[1].transpose(-1, -2) / 4
    ours = scores(Rotary(32, 2, scaling=scaling), q, k, torch.arange(9), torch.arange(9))
    assert factor > 1.1
    assert gap(ours, factor**2 * plain) <= 1e-12


def test_dynamic_ntk_turns_all_keys_again_under_the_base_of_the_longest():
    scaling = DynamicNTK(4, 16)
    encoding, k = Rotary(16, 2, scaling=scaling), random(1, 2, 40, 8)
    for n in (10, 16, 17, 40):
        frequencies, _ = scaled_frequencies(8, scaling=scaling, length=n)
        angles = rope_angles(torch.arange(n), frequencies)
        keys = k[:, :, :n]
        _, ours = encoding.rotate(
            keys[:, :, -1:], keys, Places(torch.tensor([n - 1]), torch.arange(n))
        )
        assert gap(ours, apply_rope(keys, angles)) <= 1e-12


@every_layout
@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75, 1.0])
def test_a_fraction_turns_the_first_features_and_leaves_the_rest(layout, fraction):
    q, k, row = random(1, 2, 5, 16), random(1, 2, 7, 16), torch.arange(2, 9)
    turned = Rotary(32, 2, layout=layout, fraction=fraction).rotate(q, k, Places(row[:5], row))
    width = int(16 * fraction)
    for ours, x in zip(turned, (q, k), strict=True):
        angles = angles_of(row[: x.shape[2]].tolist(), width)
        assert gap(ours[..., :width], apply_rope(x[..., :width], angles, layout)) <= 1e-12
        assert torch.equal(ours[..., width:], x[..., width:])


def test_a_fraction_of_a_third_is_taken_for_what_it_means():
    assert Rotary(96, 2, fraction=1 / 3).n_turned == 16


def test_changing_the_base_or_the_scaling_afterwards_takes_effect():
    encoding, row = Rotary(16, 2), torch.arange(6)
    q, k = random(2, 1, 2, 6, 8)
    encoding.rotate(q, k, Places(row))
    encoding.base = 50.0
    assert torch.equal(
        encoding.rotate(q, k, Places(row))[0], Rotary(16, 2, base=50.0).rotate(q, k, Places(row))[0]
    )
