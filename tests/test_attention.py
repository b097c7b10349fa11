"""Attention: two ways to compute it, what hides keys, and what order does to it."""

import math

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_utils.attention import MultiHeadAttention, attention_weights
from course_utils.attention.blocks import BLOCK
from course_utils.attention.kv_cache import KVCache, places_of
from course_utils.encodings import PositionalEncoding, create

# One small encoding for each door, so that attention is tested with all of them.


class TurnFirstPair(PositionalEncoding):
    """Door 2: rotates the first two features of each head by the position."""

    def rotate(self, q, k, at):
        return self._turned(q, at.q), self._turned(k, at.k)

    def _turned(self, x, positions):
        a, b, rest = x[..., :1], x[..., 1:2], x[..., 2:]
        cos, sin = positions.to(x).cos()[:, None], positions.to(x).sin()[:, None]
        return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], dim=-1)


class LinearBias(PositionalEncoding):
    """Door 3: takes the distance off the score, each head with a slope of its own."""

    def bias(self, q, k, at):
        slopes = 0.5 ** torch.arange(1, self.n_heads + 1)
        distances = (at.k[None, :] - at.q[:, None]).abs()
        return -(slopes[:, None, None] * distances)[None]


class KeyBias(PositionalEncoding):
    """Door 3 with a bias that stretches over the queries: (1, heads, 1, k_len)."""

    def bias(self, q, k, at):
        return at.k.to(q).sin().expand(1, self.n_heads, 1, -1)


class MeanPosition(PositionalEncoding):
    """Door 4: adds the mean position a query attends to, times a learned vector."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.direction = nn.Parameter(torch.linspace(-1, 1, self.d_head))

    def values(self, weights, at):
        return (weights @ at.k.to(weights))[..., None] * self.direction / 10


class Unscaled(PositionalEncoding):
    """No door, but a factor of 1 on q · k, as in T5."""

    def scale(self, d_head):
        return 1.0


class EveryDoor(TurnFirstPair, LinearBias, MeanPosition, Unscaled):
    """All of them, and the sinusoidal encoding at door 1."""

    def embed(self, x, positions, tokens=None):
        return create("sinusoidal", d_model=self.d_model, n_heads=self.n_heads).embed(x, positions)


ENCODINGS = {
    "nothing": lambda d, h: None,
    "sinusoidal": lambda d, h: create("sinusoidal", d_model=d, n_heads=h),
    "door 2": TurnFirstPair,
    "door 3": LinearBias,
    "door 3, one row": KeyBias,
    "door 4": MeanPosition,
    "other scale": Unscaled,
    "every door": EveryDoor,
}
each_encoding = pytest.mark.parametrize("make", ENCODINGS.values(), ids=ENCODINGS.keys())
both_masks = pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
seeds = st.integers(0, 2**16)


def attention(make, d_model=16, n_heads=4, causal=False):
    return MultiHeadAttention(d_model, n_heads, make(d_model, n_heads), causal)


# The two ways


@each_encoding
@both_masks
@given(
    seed=seeds,
    batch=st.integers(1, 3),
    seq=st.integers(1, 9),
    n_heads=st.integers(1, 4),
    half=st.integers(1, 4),
    order=st.sampled_from(["none", "offset", "shuffled", "fractions"]),
)
def test_asking_for_weights_does_not_change_the_output(
    make, causal, seed, batch, seq, n_heads, half, order
):
    torch.manual_seed(seed)
    module = attention(make, 2 * half * n_heads, n_heads, causal)
    x = torch.randn(batch, seq, module.d_model)
    positions = {
        "none": None,
        "offset": torch.arange(seq) + 5,
        "shuffled": torch.randperm(seq),
        "fractions": torch.arange(seq) / 3,
    }[order]
    fused, nothing = module(x, positions)
    explicit, weights = module(x, positions, need_weights=True)
    assert nothing is None
    assert weights.shape == (batch, n_heads, seq, seq)
    assert gap(fused, explicit) <= 1e-5


@each_encoding
@both_masks
def test_no_positions_means_counting_from_zero(make, causal):
    module, x = attention(make, causal=causal), torch.randn(2, 6, 16)
    assert gap(module(x)[0], module(x, torch.arange(6))[0]) <= 1e-6


@each_encoding
@both_masks
def test_each_row_of_weights_sums_to_one(make, causal):
    weights = attention(make, causal=causal)(torch.randn(2, 6, 16), need_weights=True)[1]
    assert bool((weights >= 0).all())
    assert gap(weights.sum(-1), torch.ones(2, 4, 6)) <= 1e-6


@both_masks
@pytest.mark.parametrize("need_weights", [False, True])
def test_attention_agrees_with_torchs_own_module(causal, need_weights):
    ours = MultiHeadAttention(16, 4, causal=causal)
    theirs = nn.MultiheadAttention(16, 4, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
    x = torch.randn(3, 7, 16)
    mask = torch.ones(7, 7, dtype=torch.bool).triu(1) if causal else None
    expected, their_weights = theirs(x, x, x, attn_mask=mask, average_attn_weights=False)
    out, our_weights = ours(x, need_weights=need_weights)
    assert gap(out, expected) <= 1e-5
    if need_weights:
        assert gap(our_weights, their_weights) <= 1e-5


def test_the_formula_with_scale_bias_and_mask_one_entry_at_a_time():
    q, k, bias = torch.randn(3, 4), torch.randn(5, 4), torch.randn(3, 5)
    hidden = torch.zeros(3, 5, dtype=torch.bool)
    hidden[0, 2] = hidden[2, 4] = True
    weights = attention_weights(q, k, 0.3, bias, hidden)
    for i in range(3):
        powers = [
            0.0 if hidden[i, j] else math.exp(0.3 * float(q[i] @ k[j]) + float(bias[i, j]))
            for j in range(5)
        ]
        for j in range(5):
            assert float(weights[i, j]) == pytest.approx(powers[j] / sum(powers), abs=1e-6)


@pytest.mark.parametrize("d_model", [4, 16, 64])
def test_scores_are_divided_by_the_root_of_the_heads_width(d_model):
    module = MultiHeadAttention(d_model, 2)
    x = torch.randn(1, 5, d_model)
    q, k = (W(x).unflatten(-1, (2, -1)).transpose(1, 2) for W in (module.W_q, module.W_k))
    expected = (q @ k.mT / math.sqrt(d_model / 2)).softmax(-1)
    assert gap(module(x, need_weights=True)[1], expected) <= 1e-6


# Each door is really passed


@pytest.mark.parametrize("make", [*ENCODINGS.values()][1:], ids=[*ENCODINGS][1:])
@pytest.mark.parametrize("need_weights", [False, True])
def test_every_encoding_changes_the_output(make, need_weights):
    module, x = attention(make), torch.randn(1, 6, 16)
    plain = MultiHeadAttention(16, 4)
    plain.load_state_dict(module.state_dict(), strict=False)
    difference = gap(
        module(x, need_weights=need_weights)[0], plain(x, need_weights=need_weights)[0]
    )
    assert difference > 1e-3


def test_attend_leaves_out_the_first_door_only():
    module, x, row = attention(EveryDoor), torch.randn(2, 6, 16), torch.arange(6)
    assert gap(module.attend(module.encoding.embed(x, row))[0], module(x)[0]) <= 1e-6
    assert gap(module.attend(x)[0], module(x)[0]) > 1e-3


# What is hidden


@both_masks
def test_only_a_causal_mask_hides_later_keys(causal):
    weights = attention(lambda d, h: None, causal=causal)(torch.randn(1, 6, 16), need_weights=True)
    later = weights[1].triu(1)
    assert bool((later == 0).all()) == causal


@pytest.mark.parametrize("positions", [[3, 0, 2, 1], [0.5, 0.0, 0.75, 0.25]])
def test_the_causal_mask_follows_positions_and_their_fractions_not_places(positions):
    module, row = attention(lambda d, h: None, causal=True), torch.tensor(positions)
    weights = module(torch.randn(1, 4, 16), row, need_weights=True)[1]
    assert torch.equal(weights[0, 0] > 0, row[None, :] <= row[:, None])


@each_encoding
@both_masks
@given(order=st.permutations(range(7)), seed=seeds)
def test_shuffling_tokens_together_with_their_positions_only_shuffles_the_output(
    make, causal, order, seed
):
    torch.manual_seed(seed)
    module, x, row = attention(make, causal=causal), torch.randn(2, 7, 16), torch.arange(7)
    order = torch.tensor(order)
    for need_weights in (False, True):
        straight = module(x, row, need_weights=need_weights)[0]
        shuffled = module(x[:, order], row[order], need_weights=need_weights)[0]
        assert gap(shuffled, straight[:, order]) <= 1e-5


# Order


@given(seed=seeds, order=st.permutations(range(7)))
def test_without_encoding_attention_is_permutation_equivariant_to_1e_6(seed, order):
    torch.manual_seed(seed)
    module, x = MultiHeadAttention(16, 4), torch.randn(1, 7, 16)
    order = torch.tensor(order)
    y, weights = module(x, need_weights=True)
    y_shuffled, weights_shuffled = module(x[:, order], need_weights=True)
    assert gap(y_shuffled, y[:, order]) <= 1e-6
    assert gap(weights_shuffled, weights[:, :, order][..., order]) <= 1e-6


@pytest.mark.parametrize("make", [ENCODINGS["sinusoidal"], TurnFirstPair, LinearBias, MeanPosition])
def test_an_encoding_breaks_permutation_equivariance(make):
    module, x = attention(make), torch.randn(1, 7, 16)
    order = torch.tensor([2, 0, 6, 1, 5, 3, 4])  # a mere reversal keeps every distance
    assert gap(module(x[:, order])[0], module(x)[0][:, order]) > 1e-2


def test_a_causal_mask_alone_breaks_permutation_equivariance():
    module, x = MultiHeadAttention(16, 4, causal=True), torch.randn(1, 7, 16)
    assert gap(module(x.flip(1))[0], module(x)[0].flip(1)) > 1e-2


# Numbers


def test_autocast_may_mix_precisions():
    module, x = MultiHeadAttention(16, 4), torch.randn(1, 3, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert module(x.bfloat16())[0].shape == x.shape


def test_attention_has_four_square_matrices_and_the_encodings_own_parameters():
    module = attention(MeanPosition)
    assert sum(p.numel() for p in module.parameters()) == 4 * 16 * 16 + 4


# Log-n scaling


def test_log_n_multiplies_every_score_by_log_n_over_log_l():
    module = MultiHeadAttention(16, 4, LinearBias(16, 4), causal=True, log_n=3)
    plain = MultiHeadAttention(16, 4, LinearBias(16, 4), causal=True)
    plain.load_state_dict(module.state_dict())
    x = torch.randn(1, 9, 16)
    scaled, before = (attend(x, need_weights=True)[1].log() for attend in (module, plain))
    for n in range(2, 10):  # the query at place n − 1 sees n keys
        factor = max(1.0, math.log(n) / math.log(3))
        expected = (factor * before[0, :, n - 1, :n]).log_softmax(-1)
        assert gap(scaled[0, :, n - 1, :n], expected) <= 1e-5


def test_log_n_keeps_to_float64():
    module = MultiHeadAttention(16, 4, LinearBias(16, 4), log_n=4).double()
    plain = MultiHeadAttention(16, 4, LinearBias(16, 4)).double()
    plain.load_state_dict(module.state_dict())
    x = torch.randn(1, 50, 16, dtype=torch.float64)
    scaled, before = (attend(x, need_weights=True)[1].log() for attend in (module, plain))
    expected = (math.log(50) / math.log(4) * before).log_softmax(-1)
    assert gap(scaled, expected) <= 1e-10


@both_masks
@pytest.mark.parametrize("make", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_log_n_changes_nothing_up_to_the_trained_length(make, causal):
    module, x = attention(make, causal=causal), torch.randn(2, 8, 16)
    before = module(x)[0]
    module.log_n = 8
    assert torch.equal(module(x)[0], before)
    module.log_n = 4
    assert gap(module(x)[0], before) > 1e-5


@each_encoding
@both_masks
def test_log_n_is_the_same_with_and_without_weights_and_in_any_order(make, causal):
    module, x = attention(make, causal=causal), torch.randn(1, 9, 16)
    module.log_n = 3
    fused, row, order = module(x)[0], torch.arange(9), torch.randperm(9)
    assert gap(module(x, need_weights=True)[0], fused) <= 1e-5
    assert gap(module(x[:, order], row[order])[0], fused[:, order]) <= 1e-5


@pytest.mark.parametrize("seq", [BLOCK - 1, 2 * BLOCK + 3])
def test_log_n_without_a_mask_counts_all_keys_also_where_queries_come_in_blocks(seq):
    module, x = attention(LinearBias), torch.randn(1, seq, 16)
    module.log_n = 3
    assert gap(module(x)[0], module(x, need_weights=True)[0]) <= 1e-5


@each_encoding
def test_log_n_with_a_cache_counts_the_keys_of_the_cache(make):
    module, x, cache = attention(make, causal=True), torch.randn(1, 9, 16), KVCache()
    module.log_n = 3
    parts = [module(x[:, i : i + 1], torch.tensor([i]), cache=cache)[0] for i in range(9)]
    assert gap(torch.cat(parts, 1), module(x)[0]) <= 1e-5


# Blocks


@each_encoding
@both_masks
@pytest.mark.parametrize("seq", [BLOCK, BLOCK + 1, 3 * BLOCK - 1])
def test_long_texts_are_read_in_blocks_with_the_same_result(make, causal, seq):
    module, x = attention(make, causal=causal), torch.randn(1, seq, 16)
    assert gap(module(x)[0], module(x, need_weights=True)[0]) <= 1e-5


def test_no_matrix_of_all_scores_is_made_for_a_long_causal_text():
    class Watched(LinearBias):
        largest = 0

        def bias(self, q, k, at):
            bias = super().bias(q, k, at)
            Watched.largest = max(Watched.largest, bias.numel())
            return bias

    attention(Watched, causal=True)(torch.randn(1, 1024, 16))
    assert Watched.largest == 4 * BLOCK * 1024


# A cache


@each_encoding
def test_a_cache_may_be_filled_in_any_order_of_positions(make):
    module, x, cache = attention(make, causal=True), torch.randn(1, 8, 16), KVCache()
    row = torch.tensor([3, 0, 2, 1, 9, 7, 4, 8])
    module(x[:, :4], row[:4], cache=cache)
    later = module(x[:, 4:], row[4:], cache=cache)[0]
    # Token 4 sees all of the first four, which is what it sees in one pass.
    assert gap(later, module(x, row)[0][:, 4:]) <= 1e-5


def test_positions_go_on_after_the_largest_in_a_cache():
    module, x, cache = attention(TurnFirstPair, causal=True), torch.randn(1, 5, 16), KVCache()
    module(x[:, :3], torch.tensor([9, 4, 7]), cache=cache)
    last = module(x[:, 3:], cache=cache)[0]
    assert cache.positions is not None and cache.positions.tolist() == [9, 4, 7, 10, 11]
    at_once = module(x, torch.tensor([9, 4, 7, 10, 11]))[0]
    assert gap(last, at_once[:, 3:]) <= 1e-5


def test_a_cache_tells_its_length():
    module, cache = attention(TurnFirstPair, causal=True), KVCache()
    assert (len(cache), repr(cache)) == (0, "KVCache(0 tokens)")
    module(torch.randn(1, 3, 16), cache=cache)
    assert (len(cache), repr(cache)) == (3, "KVCache(3 tokens)")


def test_gradients_flow_through_a_cache():
    module, cache = attention(TurnFirstPair, causal=True), KVCache()
    x = torch.randn(1, 4, 16, requires_grad=True)
    module(x[:, :3], cache=cache)
    module(x[:, 3:], cache=cache)[0].sum().backward()
    assert x.grad is not None and bool((x.grad.abs().sum(-1) > 0).all())


# Encodings that need a mask


def test_an_encoding_for_causal_attention_is_refused_without_a_mask():
    class OnlyBack(PositionalEncoding):
        causal = True

    assert MultiHeadAttention(16, 4, OnlyBack(16, 4), causal=True).causal
    with pytest.raises(ValueError, match="causal must be True with OnlyBack"):
        MultiHeadAttention(16, 4, OnlyBack(16, 4))


def test_what_is_known_from_places_is_not_said_twice():
    module, x = attention(TurnFirstPair, causal=True), torch.randn(1, 3, 16)
    at = places_of(x)
    for more in ({"positions": torch.arange(3)}, {"attention_mask": torch.ones(1, 3) > 0}):
        with pytest.raises(TypeError, match="positions and attention_mask must be None beside at"):
            module(x, at=at, **more)


class NoKeyForTheFirst(PositionalEncoding):
    """A bias that leaves the first query no key at all."""

    def bias(self, q, k, at):
        return torch.where(at.q[:, None] == 0, -torch.inf, 0.0).expand(at.q_len, at.k_len)


@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_that_may_see_no_key_gets_0_and_finite_gradients(need_weights):
    module, x = MultiHeadAttention(16, 4, NoKeyForTheFirst(16, 4)), torch.randn(1, 3, 16)
    out = module(x, need_weights=need_weights)[0]
    assert bool((out[:, 0] == 0).all()) and bool(out.isfinite().all())
    out.square().sum().backward()
    gradients = [weight.grad for weight in module.parameters() if weight.grad is not None]
    assert len(gradients) == 4 and all(bool(gradient.isfinite().all()) for gradient in gradients)


@pytest.mark.parametrize("door", ["embed", "rotate", "bias_by_offset", "bias", "values"])
def test_what_a_door_returns_in_another_shape_is_refused(door):
    wrong = torch.zeros(5, 4, 3, 3, 2)
    result = (wrong, wrong) if door == "rotate" else wrong
    kind = type("Mine", (PositionalEncoding,), {door: lambda self, *arguments: result})
    module = MultiHeadAttention(16, 4, kind(16, 4), causal=True)
    with pytest.raises(ValueError, match=rf"what Mine.{door} returns must .*got \(5, 4, 3, 3, 2\)"):
        module(torch.randn(1, 3, 16))
