"""Measures of weights, tables and encodings: against brute force and known cases."""

import math

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lab.measures import (
    confused_ratio,
    diagonal_strength,
    linear_probe,
    nearest_pair,
    similarity_by_offset,
)
from course_utils import measures
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, Places, PositionalEncoding, create
from course_utils.encodings.functional import sinusoidal_frequencies, sinusoidal_table

seeds = st.integers(0, 2**16)
lengths = st.integers(1, 9)


def encoding(name, d_model=16, n_heads=2, **options):
    return create(name, d_model=d_model, n_heads=n_heads, **options)


def causal_uniform(n):
    return torch.ones(n, n).tril() / torch.arange(1, n + 1)[:, None]


# Entropy


@given(st.integers(1, 500))
def test_entropy_of_n_equal_weights_is_log_n(n):
    assert measures.entropy(torch.full((1, n), 1 / n)).item() == pytest.approx(
        math.log(n), abs=1e-5
    )


@given(lengths)
def test_entropy_of_one_hot_rows_is_zero(n):
    assert torch.equal(measures.entropy(torch.eye(n)), torch.zeros(n))


@given(seeds, st.integers(2, 9))
def test_entropy_is_minus_the_sum_of_w_log_w(seed, n):
    torch.manual_seed(seed)
    weights = torch.randn(2, 3, n, n).softmax(-1)
    nats = measures.entropy(weights)
    assert nats.shape == (2, 3, n)
    for row, value in zip(weights.flatten(0, -2).tolist(), nats.flatten().tolist(), strict=True):
        assert value == pytest.approx(-math.fsum(w * math.log(w) for w in row), abs=1e-5)


def test_weights_of_zero_contribute_nothing():
    visible = torch.tensor([[0.25, 0.75]])
    padded = torch.tensor([[0.25, 0.0, 0.75, 0.0, 0.0]])
    assert gap(measures.entropy(visible), measures.entropy(padded)) == 0


@given(st.integers(2, 30))
def test_uniform_causal_attention_has_entropy_log_of_the_row_number(n):
    expected = torch.arange(1, n + 1).log()
    assert gap(measures.entropy(causal_uniform(n)), expected) <= 1e-5


@given(st.integers(2, 30))
def test_normalised_entropy_of_uniform_causal_rows_is_one_but_zero_where_one_key_is_seen(n):
    normalised = measures.entropy(causal_uniform(n), normalise=True)
    assert normalised[0] == 0
    assert gap(normalised[1:], torch.ones(n - 1)) <= 1e-5


def test_normalising_divides_by_the_log_of_the_number_of_visible_keys():
    weights = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
    ratio = measures.entropy(weights) / measures.entropy(weights, normalise=True)
    assert ratio.item() == pytest.approx(math.log(3))


@given(seeds, st.permutations(range(6)))
def test_entropy_does_not_care_which_key_has_which_weight(seed, order):
    torch.manual_seed(seed)
    weights = torch.randn(4, 6).softmax(-1)
    assert gap(measures.entropy(weights), measures.entropy(weights[:, order])) <= 1e-6


def test_entropy_can_be_differentiated():
    logits = torch.randn(3, 4, requires_grad=True)
    measures.entropy(logits.softmax(-1)).sum().backward()
    assert logits.grad is not None and float(logits.grad.abs().sum()) > 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_entropy_accepts_weights_in_other_precisions(dtype):
    weights = torch.randn(4, 64).softmax(-1).to(dtype)
    assert measures.entropy(weights).dtype == dtype


# Diagonal strength


@given(lengths)
def test_diagonal_strength_is_one_for_the_identity_and_one_nth_for_uniform_weights(n):
    assert diagonal_strength(torch.eye(n)) == 1
    assert diagonal_strength(torch.full((n, n), 1 / n)).item() == pytest.approx(1 / n)


def test_diagonal_strength_is_one_number_a_head():
    weights = torch.randn(2, 3, 5, 5).softmax(-1)
    strength = diagonal_strength(weights)
    assert strength.shape == (2, 3)
    assert strength[1, 2].item() == pytest.approx(weights[1, 2].trace().item() / 5)


# Similarity


@given(seeds, st.integers(1, 6), st.integers(1, 5))
def test_similarity_matrix_holds_the_cosine_of_every_pair(seed, n, width):
    torch.manual_seed(seed)
    table = torch.randn(n, width)
    cosines = measures.similarity_matrix(table)
    for i in range(n):
        for j in range(n):
            cosine = torch.nn.functional.cosine_similarity(table[i], table[j], dim=0)
            assert cosines[i, j].item() == pytest.approx(cosine.item(), abs=1e-5)


@given(seeds, st.floats(0.01, 100))
def test_similarity_does_not_depend_on_the_length_of_a_row(seed, factor):
    torch.manual_seed(seed)
    table = torch.randn(4, 3)
    longer = table * torch.tensor([1, factor, 1, 2 * factor])[:, None]
    assert gap(measures.similarity_matrix(table), measures.similarity_matrix(longer)) <= 1e-5


@given(seeds, lengths)
def test_similarity_by_offset_is_the_mean_of_each_diagonal(seed, n):
    torch.manual_seed(seed)
    matrix = torch.randn(n, n)
    means = similarity_by_offset(matrix)
    for k in range(n):
        entries = [matrix[i, i + k].item() for i in range(n - k)]
        assert means[k].item() == pytest.approx(sum(entries) / len(entries), abs=1e-5)


def test_similarity_of_sinusoidal_rows_is_the_mean_cosine_of_their_offset():
    table = sinusoidal_table(torch.arange(40), 32)
    means = similarity_by_offset(measures.similarity_matrix(table))
    angles = torch.arange(40)[:, None] * sinusoidal_frequencies(32)
    assert gap(means, angles.cos().mean(1).float()) <= 1e-5


# Toeplitz


@given(seeds, lengths)
def test_toeplitz_error_is_zero_when_only_the_offset_counts(seed, n):
    torch.manual_seed(seed)
    by_offset = torch.randn(2 * n - 1)
    offsets = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    assert measures.toeplitz_error(by_offset[offsets + n - 1]) <= 1e-6


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2))
def test_toeplitz_error_finds_the_one_entry_that_differs(i, j, head):
    matrix = torch.zeros(3, 6, 6)
    matrix[head, i, j] = 2.0
    on_its_diagonal = 6 - abs(i - j)
    expected = 0 if on_its_diagonal == 1 else 2 * (1 - 1 / on_its_diagonal)
    assert measures.toeplitz_error(matrix) == pytest.approx(expected, abs=1e-6)


def test_toeplitz_error_has_the_units_of_the_matrix():
    matrix = torch.randn(6, 6)
    assert measures.toeplitz_error(100 * matrix) == pytest.approx(
        100 * measures.toeplitz_error(matrix), rel=1e-4
    )


# The nearest pair


@given(seeds, st.integers(2, 12), st.integers(1, 4), st.integers(1, 14))
def test_nearest_pair_agrees_with_trying_all_pairs(seed, n, width, chunk):
    torch.manual_seed(seed)
    table = torch.randn(n, width)
    pairs = {(i, j): math.dist(table[i], table[j]) for i in range(n) for j in range(i + 1, n)}
    nearest = nearest_pair(table, chunk)
    assert (nearest.first, nearest.second) == min(pairs, key=pairs.__getitem__)
    assert nearest.distance == pytest.approx(min(pairs.values()), abs=1e-5)


def test_a_collision_has_distance_zero():
    table = torch.randn(50, 8)
    table[41] = table[7]
    assert nearest_pair(table, chunk=16) == (0.0, 7, 41)


# Distances that similarity confuses


@given(seeds, st.integers(1, 30), st.booleans())
def test_the_confused_ratio_agrees_with_trying_all_pairs(seed, n, with_ties):
    similarity = torch.randn(n, generator=torch.Generator().manual_seed(seed))
    similarity = (2 * similarity).round() if with_ties else similarity
    ratios = [
        far / near
        for near in range(1, n + 1)
        for far in range(near, n + 1)
        if similarity[far - 1] >= similarity[near - 1]
    ]
    assert confused_ratio(similarity) == pytest.approx(max(ratios))


def test_similarity_that_always_falls_confuses_no_distances():
    assert confused_ratio(-torch.arange(50.0)) == 1
    assert confused_ratio(torch.ones(50)) == 50


# The linear probe


@given(seeds, st.integers(1, 4))
def test_linear_probe_predicts_rows_it_has_not_seen_if_the_target_is_linear(seed, width):
    torch.manual_seed(seed)
    features = torch.randn(40, width)
    targets = features @ torch.randn(width) + 5
    predicted = linear_probe(features, targets, torch.arange(40) < 25)
    assert gap(predicted, targets) <= 1e-3


def test_linear_probe_never_looks_at_the_targets_it_is_judged_on():
    features, targets, train = torch.randn(20, 3), torch.randn(20), torch.arange(20) % 2 == 0
    changed = torch.where(train, targets, 1e6)
    assert torch.equal(
        linear_probe(features, targets, train), linear_probe(features, changed, train)
    )


def test_linear_probe_on_one_constant_feature_gives_the_mean_of_the_training_targets():
    predicted = linear_probe(
        torch.ones(4, 1), torch.tensor([1.0, 3.0, 50.0, 50.0]), torch.tensor([1, 1, 0, 0]).bool()
    )
    assert gap(predicted, torch.full((4,), 2.0)) <= 1e-4


def test_linear_probe_survives_more_features_than_rows():
    features, train = torch.randn(10, 30), torch.arange(10) < 5
    targets = torch.randn(10)
    predicted = linear_probe(features, targets, train)
    assert gap(predicted[train], targets[train]) <= 1e-3


# Equivariance


@pytest.mark.parametrize("n_heads", [1, 4])
def test_equivariance_error_without_encoding_is_below_1e_6(n_heads):
    attention = MultiHeadAttention(16, n_heads)
    assert measures.equivariance_error(attention, torch.randn(2, 8, 16)) <= 1e-6


def test_equivariance_error_with_sinusoidal_is_large():
    attention = MultiHeadAttention(16, 4, encoding("sinusoidal", n_heads=4))
    assert measures.equivariance_error(attention, torch.randn(2, 8, 16)) > 1e-2


def test_equivariance_error_takes_any_function():
    x = torch.randn(1, 6, 4)
    assert measures.equivariance_error(torch.relu, x) == 0
    assert measures.equivariance_error(lambda x: x.cumsum(1), x) > 0.1


def test_equivariance_error_sees_through_a_function_that_survives_reversal():
    def neighbours(x):
        return x.roll(1, 1) + x.roll(-1, 1)

    x = torch.randn(1, 8, 4)
    assert gap(neighbours(x.flip(1)), neighbours(x).flip(1)) <= 1e-6
    assert measures.equivariance_error(neighbours, x) > 0.1


def test_equivariance_error_is_in_the_units_of_the_output():
    x = torch.randn(1, 2, 4)
    weights = torch.tensor([0.0, 1.0])[:, None]
    expected = gap(x.flip(1) * weights, (x * weights).flip(1))
    assert measures.equivariance_error(lambda x: x * weights, x) == pytest.approx(expected)


# Fingerprints


class SteadyBias(PositionalEncoding):
    """Door 3: a bias that a test can know."""

    def bias(self, q, k, at):
        distances = (at.k[None, :] - at.q[:, None]).to(q)
        return torch.stack([distances, -2 * distances])[None]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("n_heads", "length"), [(1, 1), (2, 5), (4, 12)])
def test_a_fingerprint_is_one_square_a_head(name, n_heads, length):
    scores = measures.fingerprint(encoding(name, n_heads=n_heads), length)
    assert scores.shape == (n_heads, length, length)


@pytest.mark.parametrize("name", NAMES)
def test_a_fingerprint_is_always_the_same_and_leaves_the_random_numbers_alone(name):
    measured = encoding(name)
    before = torch.get_rng_state()
    assert torch.equal(measures.fingerprint(measured, 6), measures.fingerprint(measured, 6))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_fingerprint_of_no_encoding_is_constant():
    scores = measures.fingerprint(encoding("none"), 8)
    assert gap(scores, scores[:, :1, :1]) <= 1e-5


def test_the_sinusoidal_fingerprint_depends_on_the_offset_alone_to_1e_4():
    scores = measures.fingerprint(encoding("sinusoidal", d_model=64, n_heads=4), 48)
    assert measures.toeplitz_error(scores) <= 1e-4
    assert gap(scores, scores.mean((-1, -2), keepdim=True)) > 1e-2


def test_the_sinusoidal_fingerprint_is_the_scaled_product_of_the_position_vectors():
    scores = measures.fingerprint(encoding("sinusoidal"), 6)
    tokens_alone = measures.fingerprint(encoding("none"), 6)
    p = sinusoidal_table(torch.arange(6), 16).unflatten(-1, (2, 8)).transpose(0, 1)
    assert gap(scores - tokens_alone, p @ p.mT / math.sqrt(8)) <= 1e-5


def test_the_fingerprint_of_a_bias_is_the_bias():
    scores = measures.fingerprint(SteadyBias(16, 2), 6)
    tokens_alone = measures.fingerprint(encoding("none"), 6)
    row = torch.arange(6)
    expected = SteadyBias(16, 2).bias(torch.zeros(1), None, Places(row))[0]
    assert gap(scores - tokens_alone, expected) <= 1e-4


def test_position_scores_are_the_weights_of_attention_without_projections():
    attention = MultiHeadAttention(16, 2, encoding("sinusoidal"))
    with torch.no_grad():
        attention.W_q.weight.copy_(torch.eye(16))
        attention.W_k.weight.copy_(torch.eye(16))
    x, row = torch.randn(2, 5, 16), torch.arange(5)
    scores = measures.position_scores(attention.encoding, x, row)
    assert gap(scores.softmax(-1), attention(x, row, need_weights=True)[1]) <= 1e-6


# All of them


@pytest.mark.parametrize(
    "measure",
    [
        measures.similarity_matrix,
        similarity_by_offset,
        measures.toeplitz_error,
        nearest_pair,
        lambda table: linear_probe(table, table[:, 0], torch.ones(6).bool()),
    ],
)
def test_measures_take_a_learned_table_as_it_is(measure):
    measure(nn.Parameter(torch.randn(6, 6)))


def test_equivariance_error_of_a_function_that_gives_nan_is_nan():
    x = torch.randn(1, 4, 8)
    calls = []

    def breaks_later(values):
        calls.append(1)
        return values * (torch.nan if len(calls) > 3 else 1.0)

    assert math.isnan(measures.equivariance_error(breaks_later, x))
