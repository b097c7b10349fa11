"""CoPE: its formula, an independent implementation, and what counting by content means."""

import math

import pytest
import torch
from closeness import gap
from hypothesis import example, given
from hypothesis import strategies as st
from x_transformers.x_transformers import CoPE as OtherCoPE

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import CoPE, Places
from course_utils.encodings.functional import contextual_counts, interpolated

BATCH, HEADS, D_HEAD = 2, 3, 4
D_MODEL = HEADS * D_HEAD

seeds = st.integers(0, 2**16)
rows = st.lists(st.integers(-30, 30), min_size=1, max_size=7)


def random_cope(n_positions=6, dtype=torch.float64):
    encoding = CoPE(D_MODEL, HEADS, n_positions).to(dtype)
    torch.nn.init.normal_(encoding.table)
    return encoding


def vectors(q_len, k_len, dtype=torch.float64):
    q = torch.randn(BATCH, HEADS, q_len, D_HEAD, dtype=dtype)
    return q, torch.randn(BATCH, HEADS, k_len, D_HEAD, dtype=dtype)


def slow_bias(q, k, q_row, k_row, table):
    """Golovneva et al. 2024, section 4, for one head: q (q_len, d), k (k_len, d), Python floats."""
    q, k, table = q.tolist(), k.tolist(), table.tolist()

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    bias = []
    for query, i in zip(q, q_row, strict=True):
        gates = [1 / (1 + math.exp(-dot(query, key) / math.sqrt(len(query)))) for key in k]
        line = []
        for j in k_row:
            count = sum(gate for gate, t in zip(gates, k_row, strict=True) if j <= t <= i)
            count = min(count, len(table) - 1)
            low, high = math.floor(count), math.ceil(count)
            mixed = (count - low) * dot(query, table[high])
            line.append(mixed + (1 - (count - low)) * dot(query, table[low]))
        bias.append(line)
    return torch.tensor(bias, dtype=torch.float64)


# The formula and another implementation


@example(q_row=[2], k_row=[1, 1, 2], n_positions=4, seed=0)
@given(rows, rows, st.integers(2, 9), seeds)
def test_cope_is_the_papers_formula_at_any_positions_repeated_ones_too(
    q_row, k_row, n_positions, seed
):
    torch.manual_seed(seed)
    encoding = random_cope(n_positions)
    q, k = vectors(len(q_row), len(k_row))
    bias = encoding.bias(q, k, Places(torch.tensor(q_row), torch.tensor(k_row))).detach()
    for b in range(BATCH):
        for h in range(HEADS):
            expected = slow_bias(q[b, h], k[b, h], q_row, k_row, encoding.table)
            assert gap(bias[b, h], expected) <= 1e-10


@pytest.mark.parametrize("length", [1, 5, 40])
@pytest.mark.parametrize("n_positions", [2, 8, 64])
def test_cope_agrees_with_x_transformers_given_masked_scores(length, n_positions):
    encoding = random_cope(n_positions, torch.float32)
    other = OtherCoPE(D_HEAD, HEADS, n_positions)
    other.pos_emb = encoding.table
    q, k = vectors(length, length, torch.float32)
    row = torch.arange(length)
    hidden = row > row[:, None]
    scores = (q @ k.transpose(-1, -2) / math.sqrt(D_HEAD)).masked_fill(hidden, -torch.inf)
    theirs, ours = other(q, scores), encoding.bias(q, k, Places(row))
    assert gap(ours.detach(), theirs.detach()) <= 1e-5


@pytest.mark.parametrize("length", [5, 24])
def test_cope_has_the_gradients_of_x_transformers(length):
    encoding = random_cope(4, torch.float32)
    other = OtherCoPE(D_HEAD, HEADS, 4)
    other.pos_emb = torch.nn.Parameter(encoding.table.detach().clone())
    mine, row = vectors(length, length, torch.float32), torch.arange(length)
    theirs = [x.clone().requires_grad_() for x in mine]
    mine = [x.requires_grad_() for x in mine]
    hidden, direction = row > row[:, None], torch.randn(BATCH, HEADS, length, length)
    scores = (theirs[0] @ theirs[1].transpose(-1, -2) / 2).masked_fill(hidden, -torch.inf)
    (other(theirs[0], scores) * direction).sum().backward()
    (encoding.bias(*mine, Places(row)) * direction).sum().backward()
    assert gap(encoding.table.grad, other.pos_emb.grad) <= 1e-4
    for my_one, their_one in zip(mine, theirs, strict=True):
        assert gap(my_one.grad, their_one.grad) <= 1e-4


# Counting


@given(st.integers(1, 20), st.integers(2, 12))
def test_with_every_gate_open_cope_counts_the_keys_from_j_to_i(length, n_positions):
    """Huge logits open all gates: then it is a table of relative positions, i − j + 1."""
    encoding, row = random_cope(n_positions), torch.arange(length)
    q = torch.full((1, HEADS, length, D_HEAD), 100.0, dtype=torch.float64)
    bias = encoding.bias(q, q, Places(row))[0]
    steps = (row[:, None] - row + 1).clamp(0, n_positions - 1)
    expected = (100 * encoding.table.sum(-1))[steps]
    assert gap(bias.detach(), expected.expand_as(bias).detach()) <= 1e-9


@given(st.integers(1, 20))
def test_with_every_gate_shut_every_count_is_zero(length):
    logits = torch.full((length, length), -1000.0)
    assert not contextual_counts(logits, torch.arange(length), torch.arange(length)).any()


def test_a_gate_that_opens_on_one_word_counts_that_word_only():
    marks = torch.tensor([1.0, 0, 0, 1, 0, 1, 0])
    logits = (2 * marks - 1).expand(7, 7) * 1000
    counts = contextual_counts(logits, torch.arange(7), torch.arange(7))[-1]
    assert counts.tolist() == [3, 2, 2, 2, 1, 1, 0]


@given(st.integers(2, 12), seeds)
def test_counts_grow_towards_the_past_and_are_zero_after_the_query(length, seed):
    torch.manual_seed(seed)
    row = torch.arange(length)
    counts = contextual_counts(torch.randn(length, length), row, row)
    assert bool((counts.diff(dim=-1) <= 0).all())
    assert not counts.triu(1).any()
    assert bool((counts[:, 0] <= row + 1).all())


@given(st.lists(st.floats(0, 20), min_size=1, max_size=8), seeds)
def test_interpolation_at_a_place_mixes_its_two_neighbours(places, seed):
    torch.manual_seed(seed)
    table = torch.randn(8, dtype=torch.float64)
    mixed = interpolated(table, torch.tensor(places, dtype=torch.float64)).tolist()
    for value, place in zip(mixed, (min(place, 7) for place in places), strict=True):
        low, high = float(table[math.floor(place)]), float(table[math.ceil(place)])
        assert value == pytest.approx(low + (place % 1) * (high - low), abs=1e-12)


# Positions, causality


@given(st.integers(-(10**4), 10**4) | st.floats(-100, 100), st.sampled_from([1, 2, 7]), seeds)
def test_only_the_order_of_positions_matters(shift, stretch, seed):
    torch.manual_seed(seed)
    encoding, row = random_cope(), torch.arange(6)
    q, k = vectors(6, 6)
    moved = row * stretch + shift
    plain, other = encoding.bias(q, k, Places(row)), encoding.bias(q, k, Places(moved))
    assert torch.equal(plain, other)


def test_keys_after_the_query_change_nothing_and_get_a_finite_bias():
    encoding, row = random_cope(), torch.arange(8)
    q, k = vectors(8, 8)
    changed = k.clone()
    changed[:, :, 5:] = 1e3 * torch.randn_like(changed[:, :, 5:])
    before, after = encoding.bias(q, k, Places(row)), encoding.bias(q, changed, Places(row))
    assert torch.equal(before[:, :, :5, :5], after[:, :, :5, :5])
    assert bool(after.isfinite().all())
    ahead = row > row[:, None]
    count_zero = (q @ encoding.table[0])[..., None].expand_as(before)  # (…, q_len, k_len)
    assert gap(before[..., ahead], count_zero[..., ahead]) <= 1e-12


def test_cope_depends_on_what_the_tokens_say():
    encoding, row = random_cope(), torch.arange(8)
    q, k = vectors(8, 8)
    assert gap(encoding.bias(q, k, Places(row)), encoding.bias(q, k.flip(2), Places(row))) > 0.01


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_counts_do_not_stall(dtype):
    """In bfloat16 a running sum of ones stops at 256; counts are float32."""
    counts = contextual_counts(
        torch.full((1, 900), 100.0, dtype=dtype), torch.tensor([899]), torch.arange(900)
    )
    assert counts.dtype == torch.float32
    assert torch.equal(counts[0], torch.arange(900, 0, -1.0))


def test_every_parameter_has_a_gradient_through_attention():
    encoding = random_cope(4, torch.float32)
    attention = MultiHeadAttention(D_MODEL, HEADS, encoding, causal=True)
    attention(torch.randn(2, 12, D_MODEL))[0].square().sum().backward()
    assert bool((encoding.table.grad.abs().sum(-1) > 0).all())
    assert list(encoding.state_dict()) == ["table"]


def test_a_fresh_table_is_small_but_not_zero():
    table = CoPE(512, 8).table
    assert table.shape == (64, 64)
    assert 0.018 < float(table.detach().std()) < 0.022


def test_cope_asks_for_a_causal_mask_and_a_table_a_layer():
    assert CoPE.causal and not CoPE.shared
    assert CoPE(D_MODEL, HEADS).doors == ("bias",)
