"""ALiBi, KERPLE and Sandwich against code that others wrote."""

import pytest
import torch
from attn_gym.mods.sandwich import generate_sandwich_bias
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor
from x_transformers.x_transformers import AlibiPositionalBias

from course_utils.encodings import ALiBi, Kerple, Places, Sandwich
from course_utils.encodings.functional import alibi_slopes

every_head_count = pytest.mark.parametrize("heads", range(1, 65))


def bias_of(encoding, q_pos, k_pos):
    heads = encoding.n_heads
    q, k = (torch.randn(1, heads, len(row), encoding.d_head) for row in (q_pos, k_pos))
    return encoding.bias(q, k, Places(q_pos, k_pos))[0].detach()


def bloom(heads, length):
    """(heads, 1, length): bloom's slopes times the key's place, and nothing of the query's."""
    mask = torch.ones(1, length, dtype=torch.long)
    return build_alibi_tensor(mask, heads, torch.float32).view(heads, 1, length)


# ALiBi


@every_head_count
def test_slopes_agree_with_blooms(heads):
    assert gap(alibi_slopes(heads), bloom(heads, 2)[:, 0, 1]) <= 1e-6


@every_head_count
def test_slopes_agree_with_x_transformers(heads):
    theirs = torch.tensor(AlibiPositionalBias._get_slopes(heads), dtype=torch.float64)
    assert gap(alibi_slopes(heads, dtype=torch.float64), theirs) <= 1e-15


@every_head_count
def test_slopes_agree_with_mpts_which_orders_other_counts_than_powers_of_two_its_own_way(heads):
    """MPT takes 1::2 of the next higher power of two, then 0::2: the same two runs as ours."""
    theirs = -build_mpt_alibi_tensor(heads, 2)[:, 0, 0]
    assert gap(alibi_slopes(heads), theirs) <= 1e-7


@pytest.mark.parametrize("heads", [1, 3, 8, 12])
@pytest.mark.parametrize(("q_len", "k_len"), [(1, 1), (7, 7), (1, 9), (5, 12)])
def test_alibi_agrees_with_x_transformers_for_queries_at_the_end_of_the_keys(heads, q_len, k_len):
    theirs = AlibiPositionalBias(heads)(q_len, k_len)
    ours = bias_of(ALiBi(4 * heads, heads), torch.arange(k_len - q_len, k_len), torch.arange(k_len))
    assert gap(ours, theirs) <= 1e-5


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=9))
def test_alibi_agrees_with_x_transformers_at_any_positions(row):
    row = torch.tensor(row)
    theirs = AlibiPositionalBias(6).forward_custom_pos(row)
    assert gap(bias_of(ALiBi(24, 6), row, row), theirs) <= 1e-5


@pytest.mark.parametrize("heads", [1, 4, 6])
@pytest.mark.parametrize("length", [2, 33])
def test_blooms_shortcut_is_alibi_after_a_softmax_with_a_causal_mask_only(heads, length):
    row = torch.arange(length)
    ours, theirs = bias_of(ALiBi(4 * heads, heads), row, row), bloom(heads, length)
    logits = torch.randn(heads, length, length)
    hidden = torch.ones(length, length, dtype=torch.bool).triu(1)

    def weights(bias, masked):
        return (logits + bias).masked_fill(hidden & masked, -torch.inf).softmax(-1)

    assert gap(weights(ours, True), weights(theirs, True)) <= 1e-5
    assert gap(weights(ours, False), weights(theirs, False)) > 1e-3


# KERPLE: its released code in a few lines of our own, since no library carries it


@pytest.mark.parametrize("kind", ["log", "power"])
@pytest.mark.parametrize("inside", [False, True])
def test_kerple_adds_its_kernel_after_the_scaling_as_the_code_or_before_it_as_the_paper(
    kind, inside
):
    heads, d_head, length = 3, 16, 11
    encoding = Kerple(heads * d_head, heads, kind=kind, inside_scale=inside)
    r1, r2 = encoding.r1.view(-1, 1, 1).double(), encoding.r2.view(-1, 1, 1).double()
    row = torch.arange(length)
    distance = torch.cdist(row[:, None].double(), row[:, None].double(), p=1)
    kernel = r1 * (1 + r2 * distance).log() if kind == "log" else r1 * distance.pow(r2)
    q, k = torch.randn(2, 1, heads, length, d_head)
    dots = (q @ k.transpose(-1, -2)).double()
    expected = (dots - kernel) / d_head**0.5 if inside else dots / d_head**0.5 - kernel
    ours = encoding.scale(d_head) * dots + encoding.bias(q, k, Places(row))
    assert gap(ours.detach(), expected.detach()) <= 1e-5


# Sandwich


@pytest.mark.parametrize("heads", [1, 4, 12])
@pytest.mark.parametrize("d_bar", [2, 64, 128])
@pytest.mark.parametrize("start", [0, 90])
def test_sandwich_agrees_with_attention_gym_up_to_its_constant(heads, d_bar, start):
    """attention-gym leaves −d̄/2 out, which shifts a row's scores alike."""
    row = torch.arange(start, start + 30)
    i, j = row[:, None], row[None, :]
    modify = generate_sandwich_bias(heads, 128, d_bar)
    theirs = torch.stack([modify(torch.zeros(30, 30), 0, h, i, j) for h in torch.arange(heads)])
    constant = heads / (8 * torch.arange(1, heads + 1)) * d_bar / 2
    ours = bias_of(Sandwich(4 * heads, heads, d_bar), row, row)
    assert gap(ours, theirs - constant[:, None, None]) <= 1e-5
    assert gap(ours.softmax(-1), theirs.softmax(-1)) <= 1e-5
