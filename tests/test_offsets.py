"""From a function of the offset to a matrix of scores, on the quick way and on the general one."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_utils.encodings.functional import by_offset, offset_matrix, toeplitz

lengths = st.integers(1, 12)


def test_an_offset_is_key_minus_query():
    offsets = offset_matrix(torch.tensor([0, 5]), torch.tensor([1, 2, 9]))
    assert offsets.tolist() == [[1, 2, 9], [-4, -3, 4]]


@given(lengths, lengths, st.lists(st.integers(1, 3), max_size=2))
def test_toeplitz_puts_entry_j_minus_i_on_its_diagonal(q_len, k_len, lead):
    row = torch.randn(*lead, q_len + k_len - 1)
    i, j = torch.arange(q_len)[:, None], torch.arange(k_len)
    assert torch.equal(toeplitz(row, q_len, k_len), row[..., j - i + q_len - 1])


@given(lengths, lengths)
def test_toeplitz_hands_each_diagonals_gradients_back_to_its_entry(q_len, k_len):
    row = torch.randn(q_len + k_len - 1, dtype=torch.float64, requires_grad=True)
    upstream = torch.randn(q_len, k_len, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(toeplitz(row, q_len, k_len), row, upstream)
    expected = torch.stack([upstream.diagonal(k).sum() for k in range(1 - q_len, k_len)])
    assert float((gradient - expected).abs().max()) <= 1e-12


def test_toeplitz_rows_lie_side_by_side_in_memory():
    """A mask whose keys are far apart in memory makes fused attention slower by a fifth."""
    assert toeplitz(torch.randn(3, 19), 8, 12).stride(-1) == 1


def two_heads(offsets):
    return torch.stack([offsets.double().sin(), offsets.double() / 3])


@given(lengths, lengths, st.integers(-1000, 1000), st.integers(-1000, 1000))
def test_counting_positions_and_the_same_in_another_order_agree(q_len, k_len, q_start, k_start):
    q_pos, k_pos = q_start + torch.arange(q_len), k_start + torch.arange(k_len)
    straight = by_offset(two_heads, q_pos, k_pos)
    assert torch.equal(straight, two_heads(offset_matrix(q_pos, k_pos)))
    q_order, k_order = torch.randperm(q_len), torch.randperm(k_len)
    shuffled = by_offset(two_heads, q_pos[q_order], k_pos[k_order])
    assert torch.equal(shuffled, straight[:, q_order][:, :, k_order])


@pytest.mark.parametrize("step", [2, 0, -1, 0.5])
def test_positions_that_do_not_count_up_by_one_are_taken_pair_by_pair(step):
    row = torch.arange(6) * step
    assert torch.equal(by_offset(two_heads, row, row), two_heads(offset_matrix(row, row)))


def test_each_offset_of_counting_positions_is_looked_at_once():
    seen = []

    def count(offsets):
        seen.append(offsets.numel())
        return two_heads(offsets)

    by_offset(count, torch.arange(40, 50), torch.arange(60))
    assert seen == [69]
