"""What RoPE's pairs bring to a head's scores: the shares add up, and tell place from content."""

import pytest
import torch
from torch import Tensor

from course_utils import measures
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies

THETA = rope_frequencies(16)


def draw(n: int = 120, heads: int = 2, seed: int = 0) -> tuple[Tensor, Tensor]:
    q, k = torch.randn(2, heads, n, 16, generator=torch.Generator().manual_seed(seed))
    return q, k


def test_shares_add_up_to_one_in_each_head():
    position, content = measures.pair_shares(*draw(), THETA)
    assert position.shape == content.shape == (2, 8)
    torch.testing.assert_close((position + content).sum(1), torch.ones(2))


def test_a_share_is_the_pairs_covariance_with_the_score_over_keys():
    q, k = draw(30, 1)
    angles = rope_angles(torch.arange(30), THETA)
    turned = [apply_rope(vectors[0], angles).double().unflatten(-1, (8, 2)) for vectors in (q, k)]
    shares = torch.zeros(8, dtype=torch.float64)
    for i in range(16, 30):
        parts = (turned[0][i] * turned[1][1 : i + 1]).sum(-1)  # (keys, pairs)
        parts = parts - parts.mean(0)
        shares += (parts * parts.sum(1, keepdim=True)).sum(0)
    position, content = measures.pair_shares(q, k, THETA)
    sums = position + content
    torch.testing.assert_close(sums[0].double(), shares / shares.sum(), atol=1e-5, rtol=0)


def test_equal_tokens_leave_nothing_to_content():
    q, k = (vectors[:, :1].expand(-1, 120, -1) for vectors in draw())
    position, content = measures.pair_shares(q, k, THETA)
    torch.testing.assert_close(position.sum(1), torch.ones(2))
    assert float(content.abs().max()) < 1e-5


def test_random_tokens_leave_little_to_distance():
    position, content = measures.pair_shares(*draw(400), THETA)
    assert float(position.sum(1).max()) < 0.1 < 0.9 < float(content.sum(1).min())


def test_a_pair_in_which_q_is_0_has_no_share():
    q, k = draw()
    q[..., 4:6] = 0
    for shares in measures.pair_shares(q, k, THETA):
        assert not shares[:, 2].any() and shares[:, [0, 1, 3]].all()


def test_the_first_token_does_not_count():
    q, k = draw()
    expected = measures.pair_shares(q, k, THETA)
    k[:, 0] = 100 * k[:, 0]
    for shares, want in zip(measures.pair_shares(q, k, THETA), expected, strict=True):
        torch.testing.assert_close(shares, want)


def test_mean_products_give_the_mean_score_by_distance_where_all_tokens_are_equal():
    q, k = (vectors[:, :1].expand(-1, 60, -1) for vectors in draw())
    z = measures.mean_products(q, k)
    angles = rope_angles(torch.arange(60), THETA)
    scores = apply_rope(q, angles) @ apply_rope(k, angles).mT
    series = (z[:, None] * torch.polar(torch.ones_like(angles), angles)).real.sum(-1)
    torch.testing.assert_close(scores[:, -1].flip(1), series.float(), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("n", [17, 3])
def test_too_short_a_text_is_explained(n):
    with pytest.raises(ValueError, match=rf"positions of q must be .* 18, got {n}"):
        measures.pair_shares(*draw(n), THETA)
