"""What holds for the scores of every encoding, whichever of doors 2 to 4 it opens."""

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from variants import VARIANTS, few_examples, label, variants

from course_utils.encodings import Places, create

LENGTH, HEADS, D_HEAD = 12, 2, 8
seeds = st.integers(0, 2**16)
orders = st.permutations(range(LENGTH)).map(torch.tensor)
shifts = st.integers(-(10**6), 10**6)


def encoding_of(variant, seed=0):
    """An encoding in float64 with parameters of noticeable size, so that every term shows."""
    torch.manual_seed(seed)
    name, options = variant
    encoding = create(name, d_model=HEADS * D_HEAD, n_heads=HEADS, causal=True, **options)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return encoding.double()


OFFSETS_ONLY = [variant for variant in VARIANTS if encoding_of(variant).offsets_only]


def vectors():
    return torch.randn(2, 1, HEADS, LENGTH, D_HEAD, dtype=torch.float64)


def scores(encoding, q, k, q_pos, k_pos):
    """What attention takes the softmax of; 0 where an encoding for causal attention sees no key."""
    at = Places(q_pos, k_pos)
    q, k = encoding.rotate(q, k, at)
    products = encoding.scale(D_HEAD) * q @ k.mT
    bias = encoding.bias(q, k, at)
    total = products if bias is None else products + bias
    return total.where(k_pos <= q_pos[:, None], 0) if encoding.causal else total


@pytest.mark.parametrize("variant", OFFSETS_ONLY, ids=label)
@few_examples
@given(seed=seeds, shift=shifts, order=orders)
def test_moving_all_positions_changes_nothing_where_offsets_alone_count(
    variant, seed, shift, order
):
    encoding = encoding_of(variant, seed).float()
    q, k = vectors().float()
    for row in (torch.arange(LENGTH), order):
        moved = scores(encoding, q, k, row + shift, row + shift)
        assert gap(moved, scores(encoding, q, k, row, row)) <= 1e-5


@pytest.mark.parametrize("variant", OFFSETS_ONLY, ids=label)
@few_examples
@given(seed=seeds, shift=shifts)
def test_scores_of_identical_tokens_are_toeplitz_where_offsets_alone_count(variant, seed, shift):
    encoding, row = encoding_of(variant, seed).float(), torch.arange(LENGTH) + shift
    q, k = (x[:, :, :1].float().expand(-1, -1, LENGTH, -1) for x in vectors())
    same = scores(encoding, q, k, row, row)
    assert gap(same[..., 1:, 1:], same[..., :-1, :-1]) <= 1e-5


@variants()
@few_examples
@given(seed=seeds, ends=st.tuples(*[st.integers(1, LENGTH)] * 3).map(sorted))
def test_some_queries_and_the_keys_up_to_them_get_their_part_of_the_scores(variant, seed, ends):
    first, last, seen = ends
    encoding, row = encoding_of(variant, seed), torch.arange(LENGTH)
    q, k = vectors()
    some, keys = slice(first - 1, last), slice(seen)
    part = scores(encoding, q[:, :, some], k[:, :, keys], row[some], row[keys])
    assert gap(part, scores(encoding, q, k, row, row)[:, :, some, keys]) <= 1e-10


@variants()
@few_examples
@given(seed=seeds, q_order=orders, k_order=orders)
def test_shuffled_queries_and_keys_get_the_shuffled_scores(variant, seed, q_order, k_order):
    encoding, row = encoding_of(variant, seed), torch.arange(LENGTH)
    q, k = vectors()
    shuffled = scores(encoding, q[:, :, q_order], k[:, :, k_order], q_order, k_order)
    straight = scores(encoding, q, k, row, row)
    assert gap(shuffled, straight[:, :, q_order][..., k_order]) <= 1e-10


DTYPES = {torch.int32: 1e-10, torch.float16: 1e-10, torch.bfloat16: 1e-10, torch.float64: 1e-6}


@variants()
@pytest.mark.parametrize("dtype", DTYPES)
def test_whole_positions_mean_the_same_in_every_dtype(variant, dtype):
    """In bfloat16 −251 and 200 are exact, and their difference of 451 is not."""
    encoding = encoding_of(variant)
    q, k = vectors()[..., :4, :]
    q_pos, k_pos = torch.tensor([201, 204, 212, 250]), torch.tensor([200, -251, 3, 100])
    plain = scores(encoding, q, k, q_pos, k_pos)
    assert gap(scores(encoding, q, k, q_pos.to(dtype), k_pos.to(dtype)), plain) <= DTYPES[dtype]


@variants()
@few_examples
@given(seed=seeds, shift=shifts, order=orders)
def test_door_4_depends_on_offsets_alone_and_takes_any_part_in_any_order(
    variant, seed, shift, order
):
    encoding, row = encoding_of(variant, seed), torch.arange(LENGTH)
    weights = torch.rand(1, HEADS, LENGTH, LENGTH, dtype=torch.float64)
    added = encoding.values(weights, Places(row))
    if added is None:
        pytest.skip("leaves door 4 shut")
    assert torch.equal(encoding.values(weights, Places(row + shift)), added)
    part = encoding.values(weights[:, :, order[:5]], Places(row[order[:5]], row))
    assert gap(part, added[:, :, order[:5]]) <= 1e-10
    shuffled = encoding.values(weights[:, :, order][..., order], Places(order))
    assert gap(shuffled, added[:, :, order]) <= 1e-10
