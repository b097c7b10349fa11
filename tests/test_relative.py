"""Shaw, Transformer-XL, T5 and DeBERTa: what their papers say beside the formulas."""

import math

import pytest
import torch
from bias_formulas import deberta_row
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st

from course_utils.attention import attention_weights
from course_utils.encodings import T5, DeBERTa, Places, Shaw, TransformerXL
from course_utils.encodings.functional import (
    clip_offsets,
    deberta_index,
    deberta_scores,
    shaw_scores,
    shaw_values,
    sinusoidal_scores,
    sinusoidal_table,
    skew,
    t5_bucket,
)

D_MODEL, N_HEADS, D_HEAD = 12, 3, 4
MAKERS = {
    "shaw": lambda: Shaw(D_MODEL, N_HEADS, max_distance=3),
    "transformer_xl": lambda: TransformerXL(D_MODEL, N_HEADS),
    "t5": lambda: T5(D_MODEL, N_HEADS, n_buckets=8, max_distance=10),
    "t5 causal": lambda: T5(D_MODEL, N_HEADS, n_buckets=8, max_distance=10, causal=True),
    "deberta": lambda: DeBERTa(D_MODEL, N_HEADS, max_distance=3),
    "deberta as released": lambda: DeBERTa(D_MODEL, N_HEADS, max_distance=3, released_code=True),
}
every_scheme = pytest.mark.parametrize("scheme", MAKERS)
seeds = st.integers(0, 2**16)
whole = st.integers(-40, 40)


def random_encoding(scheme, seed=0, dtype=torch.float64):
    """An encoding whose parameters are all of size 1, so that every term shows."""
    torch.manual_seed(seed)
    encoding = MAKERS[scheme]()
    for parameter in encoding.parameters():
        torch.nn.init.normal_(parameter)
    return encoding.to(dtype)


def heads(*lengths, batch=2, dtype=torch.float64):
    return [torch.randn(batch, N_HEADS, length, D_HEAD, dtype=dtype) for length in lengths]


@given(seeds, st.lists(whole, min_size=1, max_size=5), st.lists(whole, min_size=1, max_size=6))
def test_shaws_value_term_is_the_papers_formula_to_1e_10_at_any_positions(seed, q_pos, k_pos):
    encoding = random_encoding("shaw", seed)
    weights = torch.rand(2, N_HEADS, len(q_pos), len(k_pos), dtype=torch.float64)
    expected = torch.zeros(2, N_HEADS, len(q_pos), D_HEAD, dtype=torch.float64)
    for a, i in enumerate(q_pos):
        for b, j in enumerate(k_pos):
            row = encoding.value_table[max(-3, min(3, j - i)) + 3]
            expected[:, :, a] += weights[:, :, a, b, None] * row
    added = encoding.values(weights, Places(torch.tensor(q_pos), torch.tensor(k_pos)))
    assert gap(added, expected) <= 1e-10


# Skewing, and never a vector for each pair


def shaw_by_lookup(q, key_table, offsets):
    """The formula read literally: a vector for each pair, (q_len, k_len, d_head) of them."""
    k = len(key_table) // 2
    return torch.einsum("...id,ijd->...ij", q, key_table[offsets.clamp(-k, k) + k])


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 2))
def test_skew_picks_for_each_key_the_entry_of_its_offset(q_len, k_len, batches):
    rows = torch.randn(*[2] * batches, q_len, q_len + k_len - 1)
    i, j = torch.meshgrid(torch.arange(q_len), torch.arange(k_len), indexing="ij")
    assert torch.equal(skew(rows), rows[..., i, j - i + q_len - 1])


@given(st.integers(1, 9), st.integers(1, 9))
def test_skew_copies_nothing(q_len, k_len):
    rows = torch.randn(2, q_len, q_len + k_len - 1)
    assert skew(rows).untyped_storage().data_ptr() == rows.untyped_storage().data_ptr()


@given(seeds, st.integers(1, 9), st.integers(1, 9), st.integers(1, 5))
def test_skewing_gives_shaws_scores(seed, q_len, k_len, max_distance):
    torch.manual_seed(seed)
    q = torch.randn(2, q_len, D_HEAD, dtype=torch.float64)
    table = torch.randn(2 * max_distance + 1, D_HEAD, dtype=torch.float64)
    diagonals = clip_offsets(torch.arange(1 - q_len, k_len), max_distance) + max_distance
    skewed = skew(q @ table[diagonals].T)
    offsets = torch.arange(k_len) - torch.arange(q_len)[:, None]
    assert gap(skewed, shaw_by_lookup(q, table, offsets)) <= 1e-12
    assert gap(shaw_scores(q, table, offsets), skewed) <= 1e-12


def largest_tensors(call):
    """Bytes of each tensor that a call and its backward pass allocate, largest first."""
    with torch.profiler.profile(profile_memory=True) as profile:
        call()
    return sorted((event.self_cpu_memory_usage for event in profile.events()), reverse=True)


def test_shaw_never_holds_a_vector_for_each_pair_not_even_for_the_gradient():
    n, d_head = 128, 64
    encoding, row = Shaw(d_head, 1), torch.arange(n)
    q, k = (torch.randn(1, 1, n, d_head, requires_grad=True) for _ in range(2))

    def ours():
        scores = encoding.bias(q, k, Places(row))
        assert scores is not None
        added = encoding.values(scores.softmax(-1), Places(row))
        assert added is not None
        (scores.sum() + added.sum()).backward()

    def by_lookup():
        offsets = row - row[:, None]
        shaw_by_lookup(q, encoding.key_table, offsets).sum().backward()

    a_vector_for_each_pair = 4 * n * n * d_head
    assert largest_tensors(by_lookup)[0] >= a_vector_for_each_pair
    # Indices of 64 bits for each pair, 1/32 of that here, are the largest that we make.
    assert largest_tensors(ours)[0] <= a_vector_for_each_pair / 16


# T5's buckets


buckets = st.tuples(st.integers(2, 80), st.integers(2, 2000), st.booleans()).filter(
    lambda kind: (kind[0] >= 4 and kind[0] % 2 == 0 or not kind[2]) and kind[1] > kind[0] // 2
)


@given(buckets)
def test_buckets_grow_with_distance_within_range(kind):
    n_buckets, _, bidirectional = kind
    buckets = t5_bucket(torch.arange(0, -5000, -1), *kind)
    assert buckets[0] == 0
    assert bool((buckets.diff() >= 0).all())
    assert buckets.max() == (n_buckets // 2 if bidirectional else n_buckets) - 1


@given(buckets)
def test_buckets_ahead_are_the_second_half_or_the_first_bucket(kind):
    n_buckets, _, bidirectional = kind
    distances = torch.arange(1, 3000)
    ahead, behind = t5_bucket(distances, *kind), t5_bucket(-distances, *kind)
    assert torch.equal(ahead, behind + n_buckets // 2 if bidirectional else 0 * behind)


@given(buckets)
def test_short_distances_have_a_bucket_each(kind):
    exact = (kind[0] // 2 if kind[2] else kind[0]) // 2
    distances = torch.arange(exact)
    assert torch.equal(t5_bucket(-distances, *kind), distances)


@given(buckets, st.integers(0, 10**7))
def test_all_distances_from_max_distance_on_share_the_last_bucket(kind, more):
    n_buckets, max_distance, bidirectional = kind
    last = (n_buckets // 2 if bidirectional else n_buckets) - 1
    assert t5_bucket(torch.tensor(-max_distance - more), *kind) == last


@given(buckets.filter(lambda kind: kind[2]))
def test_the_first_bucket_of_the_second_half_is_never_used(kind):
    used = t5_bucket(torch.arange(-3000, 3000), *kind)
    assert kind[0] // 2 not in used.tolist()


def test_of_32_buckets_for_both_directions_number_16_is_never_used():
    used = set(t5_bucket(torch.arange(-5000, 5001), 32, 128, True).tolist())
    assert used == set(range(32)) - {16}


def test_causal_buckets_are_full_at_distance_113_already():
    buckets = t5_bucket(-torch.arange(200), 32, 128, False).tolist()
    assert buckets.index(31) == 113
    assert set(buckets[113:]) == {31}


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_buckets_do_not_depend_on_the_integers_width(dtype):
    offsets = torch.arange(-128, 128)
    narrow = t5_bucket(offsets.to(dtype), 32, 128, True)
    assert torch.equal(narrow, t5_bucket(offsets, 32, 128, True))


# What else the papers say


@given(st.integers(-100, 100), st.integers(-100, 100), st.integers(1, 20))
def test_delta_is_the_papers_case_distinction(i, j, k):
    assert int(deberta_index(torch.tensor(j - i), k)) == deberta_row(i, j, k)


@given(st.integers(-(10**6), 10**6), st.integers(1, 20))
def test_clipping_keeps_near_offsets_and_the_sign_of_far_ones(offset, k):
    expected = offset if abs(offset) <= k else math.copysign(k, offset)
    assert int(clip_offsets(torch.tensor(offset), k)) == expected


@given(seeds, st.floats(-100, 100), st.floats(-100, 100))
def test_sinusoidal_scores_are_products_with_the_table_at_i_minus_j(seed, i, j):
    torch.manual_seed(seed)
    g = torch.randn(1, 8, dtype=torch.float64)
    i, j = (torch.tensor([position], dtype=torch.float64) for position in (i, j))
    assert gap(sinusoidal_scores(g, i, j), g @ sinusoidal_table(i - j, 8).T) <= 1e-12


def test_the_released_deberta_differs_from_the_paper_in_the_last_term_only():
    q, k, Kr, Qr = (torch.randn(1, 1, 6, 4, dtype=torch.float64) for _ in range(4))
    offsets = torch.arange(6) - torch.arange(6)[:, None]
    nothing = torch.zeros_like(Kr[0])

    def scores(Kr, Qr, released_code):
        return deberta_scores(q, k, Kr, Qr, offsets, released_code)

    assert torch.equal(scores(Kr[0], nothing, True), scores(Kr[0], nothing, False))
    assert gap(scores(nothing, Qr[0], True), scores(nothing, Qr[0], False)) > 0.1


def test_scales_are_the_papers():
    assert T5(D_MODEL, N_HEADS).scale(64) == 1
    assert DeBERTa(D_MODEL, N_HEADS).scale(64) == pytest.approx(1 / math.sqrt(192))
    assert Shaw(D_MODEL, N_HEADS).scale(64) == TransformerXL(D_MODEL, N_HEADS).scale(64) == 1 / 8


def test_only_t5_is_shared_by_the_layers():
    shared = {scheme: MAKERS[scheme]().shared for scheme in MAKERS}
    assert [scheme for scheme, is_shared in shared.items() if is_shared] == ["t5", "t5 causal"]


def test_t5_made_for_causal_attention_is_refused_elsewhere():
    assert T5(D_MODEL, N_HEADS, causal=True).causal
    assert not T5(D_MODEL, N_HEADS).causal


def test_shaw_without_values_has_one_table_and_one_door():
    encoding = Shaw(D_MODEL, N_HEADS, max_distance=5, use_values=False)
    assert list(encoding.state_dict()) == ["key_table"]
    assert encoding.doors == ("bias",)
    weights, row = torch.full((1, N_HEADS, 2, 2), 0.5), torch.arange(2)
    assert encoding.values(weights, Places(row)) is None
    assert Shaw(D_MODEL, N_HEADS).doors == ("bias", "values")


def test_parameters_have_the_names_and_shapes_of_the_course():
    shapes = {
        scheme: {name: tuple(value.shape) for name, value in MAKERS[scheme]().state_dict().items()}
        for scheme in ("shaw", "transformer_xl", "t5", "deberta")
    }
    assert shapes == {
        "shaw": {"key_table": (7, 4), "value_table": (7, 4)},
        "transformer_xl": {"u": (3, 4), "v": (3, 4), "W_r.weight": (12, 12)},
        "t5": {"table": (8, 3)},
        "deberta": {"table": (6, 12), "W_kr.weight": (12, 12), "W_qr.weight": (12, 12)},
    }


@every_scheme
def test_a_fresh_encoding_shows_its_shape(scheme):
    encoding, row = MAKERS[scheme]().double(), torch.arange(8)
    for name, parameter in encoding.named_parameters():
        assert float(parameter.detach().abs().max()) > 0, name
    q, k = heads(8, 8)
    bias = encoding.bias(q, k, Places(row))
    assert bias is not None and float(bias.detach().std()) > 0


@every_scheme
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("start", [0, 3000])
def test_half_precision_is_as_good_as_its_inputs(scheme, dtype, start):
    half = random_encoding(scheme, dtype=dtype)
    exact = random_encoding(scheme)
    exact.load_state_dict({name: value.double() for name, value in half.state_dict().items()})
    q, k = heads(30, 30, dtype=dtype)
    for row in (torch.arange(30) + start, torch.arange(30).flip(0) + start):
        expected = exact.bias(q.double(), k.double(), Places(row))
        bias = half.bias(q, k, Places(row))
        assert gap(bias, expected) <= 4 * torch.finfo(dtype).eps * float(
            expected.detach().abs().max()
        )


def test_shaws_value_term_sums_many_small_weights_in_bfloat16():
    encoding, row = random_encoding("shaw", dtype=torch.bfloat16), torch.arange(2000)
    weights = torch.full((1, N_HEADS, 1, 2000), 1 / 2048, dtype=torch.bfloat16)
    added = encoding.values(weights, Places(row[-1:], row))
    assert added.dtype == torch.bfloat16
    expected = 1996 / 2048 * encoding.value_table[0] + encoding.value_table[1:4].sum(0) / 2048
    assert gap(added, expected.expand_as(added)) <= 0.02


@every_scheme
def test_weights_of_every_row_sum_to_one(scheme):
    encoding, row = random_encoding(scheme), torch.arange(8)
    q, k = heads(8, 8)
    bias = encoding.bias(q, k, Places(row))
    weights = attention_weights(q, k, encoding.scale(D_HEAD), bias)
    assert weights.shape == (2, N_HEADS, 8, 8)
    assert gap(weights.sum(-1), torch.ones(2, N_HEADS, 8)) <= 1e-12


def test_transformer_xl_keeps_its_last_sinusoids():
    encoding = random_encoding("transformer_xl", dtype=torch.float32)
    q, k = heads(4, 6, dtype=torch.float32)
    first = encoding.bias(q, k, Places(torch.arange(2, 6), torch.arange(6)))
    again = encoding.bias(q, k, Places(torch.arange(5, 9), torch.arange(3, 9)))
    other = encoding.bias(q, k, Places(torch.arange(4), torch.arange(6)))
    assert torch.equal(first, again)
    assert gap(first, other) > 0.1


def test_shaws_functions_deal_out_and_collect_at_the_same_places():
    table, offsets = (
        torch.randn(7, 4, dtype=torch.float64),
        torch.arange(5) - torch.arange(6)[:, None],
    )
    weights = torch.rand(6, 5, dtype=torch.float64)
    q = torch.randn(6, 4, dtype=torch.float64)
    # Both contract the same (q, k, d_head) lookup, over d_head and over k: q·(w·T) = Σ w(q·T).
    by_values = (q * shaw_values(weights, table, offsets)).sum(-1)
    by_scores = (weights * shaw_scores(q, table, offsets)).sum(-1)
    assert gap(by_values, by_scores) <= 1e-12


def test_t5_starts_as_wide_as_its_unscaled_scores_want():
    table = T5(64, 8, n_buckets=320, max_distance=1000).table.detach()
    assert float(table.std()) == pytest.approx(64**-0.5, rel=0.1)
