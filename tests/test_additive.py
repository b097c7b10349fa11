"""ALiBi, KERPLE, Sandwich, FIRE and log-n attention: what follows from their formulas."""

import math
from collections.abc import Callable

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st

from course_utils.encodings import FIRE, ALiBi, Kerple, Places, Sandwich
from course_utils.encodings.base import PositionalEncoding
from course_utils.encodings.functional import (
    alibi_bias,
    alibi_slopes,
    fire_psi,
    fire_share,
    kerple_log,
    kerple_power,
    log_n_factor,
    sandwich_bias,
    sinusoidal_table,
)
from course_utils.measures import toeplitz_error

HEADS, D_MODEL = 3, 12

OFFSET_ONLY: dict[str, Callable[..., PositionalEncoding]] = {
    "alibi": ALiBi,
    "kerple log": Kerple,
    "kerple power": lambda d_model, n_heads: Kerple(d_model, n_heads, kind="power"),
    "sandwich": Sandwich,
}
ALL = OFFSET_ONLY | {"fire": lambda d_model, n_heads: FIRE(d_model, n_heads, original_len=6)}
every_scheme = pytest.mark.parametrize("name", ALL)
offset_only = pytest.mark.parametrize("name", OFFSET_ONLY)

head_counts = st.integers(1, 64)
seeds = st.integers(0, 2**16)
rows = st.lists(st.floats(-3000, 3000) | st.integers(-3000, 3000), min_size=1, max_size=6)
positive = st.floats(0.01, 2)


def bias_of(encoding, q_pos, k_pos, dtype=torch.float64):
    """What door 3 adds, (heads, q_len, k_len), to random queries and keys."""
    shape = (1, encoding.n_heads, -1, encoding.d_head)
    q, k = (torch.randn(len(row), D_MODEL, dtype=dtype).reshape(shape) for row in (q_pos, k_pos))
    return encoding.to(dtype).bias(q, k, Places(q_pos, k_pos))[0].detach()


def seeded(name, seed=0):
    torch.manual_seed(seed)
    return ALL[name](D_MODEL, HEADS)


def float64(row):
    return torch.tensor(row, dtype=torch.float64)


# What encodings start from


def test_fire_starts_at_the_papers_values():
    encoding = FIRE(D_MODEL, HEADS)
    assert encoding.log_c.exp().item() == pytest.approx(0.1)
    assert encoding.log_threshold.exp().item() == pytest.approx(512)


@pytest.mark.parametrize("kind", ["log", "power"])
@given(seeds)
def test_kerple_starts_in_the_ranges_of_the_released_code(kind, seed):
    torch.manual_seed(seed)
    encoding = Kerple(64, 64, kind=kind)
    height, second = (2, 1) if kind == "log" else (1, 2)
    for values, high in ((encoding.r1, height), (encoding.r2, second)):
        assert float(values.detach().min()) >= 0.0099 and float(values.detach().max()) <= high
        assert float(values.detach().max()) > 0.8 * high
        assert float(values.detach().min()) < 0.2 * high


@pytest.mark.parametrize("kind", ["log", "power"])
@given(st.floats(-1e4, 1e4))
def test_kerple_keeps_its_range_whatever_the_optimiser_does(kind, value):
    encoding = Kerple(D_MODEL, HEADS, kind=kind)
    for parameter in encoding.parameters():
        torch.nn.init.constant_(parameter, value)
    assert bool((encoding.r1 >= 0).all()) and bool((encoding.r2 >= 0).all())
    assert kind == "log" or bool((encoding.r2 <= 2).all())


# Slopes


@given(head_counts)
def test_slopes_are_positive_distinct_and_fall_within_each_run(heads):
    slopes = alibi_slopes(heads)
    lower = 2 ** (heads.bit_length() - 1)
    assert slopes.shape == (heads,) and slopes.dtype == torch.float32
    assert bool((slopes > 0).all())
    assert len(slopes.unique()) == heads
    assert bool((slopes[:lower].diff() < 0).all())
    assert bool((slopes[lower:].diff() < 0).all())


@given(st.integers(0, 6).map(lambda power: 2**power))
def test_slopes_of_a_power_of_two_are_geometric_from_their_own_ratio_to_1_over_256(heads):
    slopes = alibi_slopes(heads, dtype=torch.float64)
    assert slopes[-1] == 2**-8
    assert gap(slopes, slopes[0] ** torch.arange(1, heads + 1)) <= 1e-15


def test_slopes_of_8_heads_are_the_papers_exactly():
    assert alibi_slopes(8).tolist() == [2**-h for h in range(1, 9)]


def test_slopes_of_12_heads_are_those_of_8_and_every_other_one_of_16():
    sixteen = alibi_slopes(16)
    assert torch.equal(alibi_slopes(12), torch.cat([alibi_slopes(8), sixteen[0:8:2]]))


# Offsets alone


@every_scheme
def test_stretched_positions_lie_between_whole_ones(name):
    """At half steps every second row and column is what whole positions get."""
    encoding, halves = seeded(name), torch.arange(0, 8, 0.5, dtype=torch.float64)
    whole = bias_of(encoding, halves[::2], halves[::2])
    assert gap(bias_of(encoding, halves, halves)[:, ::2, ::2], whole) <= 1e-12


@offset_only
@given(seeds)
def test_both_directions_count_alike(name, seed):
    row = torch.arange(12)
    bias = bias_of(seeded(name, seed), row, row)
    assert gap(bias, bias.transpose(1, 2)) <= 1e-12


@pytest.mark.parametrize("name", ["alibi", "kerple log", "kerple power"])
@given(seeds)
def test_the_bias_falls_with_distance_from_zero_at_home(name, seed):
    bias = bias_of(seeded(name, seed), torch.tensor([0]), torch.arange(200))[:, 0]
    assert bool((bias[:, 0] == 0).all())
    assert bool((bias.diff(dim=-1) < 0).all())


@every_scheme
def test_a_bias_is_float32_for_half_precision_queries(name):
    row = torch.arange(5)
    for dtype in (torch.bfloat16, torch.float16):
        assert bias_of(seeded(name), row, row, dtype).dtype == torch.float32


@every_scheme
def test_bfloat16_queries_do_not_round_the_distances(name):
    row, encoding = torch.arange(1500, 1540), seeded(name)
    q = torch.randn(1, HEADS, 40, 4)
    exact = encoding.bias(q, q, Places(row))
    assert torch.equal(encoding.bias(q.bfloat16(), q.bfloat16(), Places(row)), exact)


def test_alibi_and_sandwich_have_nothing_to_learn():
    assert [name for name in ALL if not seeded(name).state_dict()] == ["alibi", "sandwich"]


# Each scheme's own


@given(rows, st.lists(positive, min_size=1, max_size=4))
def test_kerple_power_with_exponent_1_is_alibi_with_slope_r1(row, heights):
    r1, offsets = float64(heights), float64(row)
    kernel = kerple_power(offsets, r1, torch.ones_like(r1))
    assert gap(kernel, alibi_bias(offsets, r1)) <= 1e-10


@given(st.integers(1, 1000), positive, positive)
def test_kerple_log_loses_less_and_less_with_each_step(distance, r1, r2):
    row = kerple_log(torch.arange(distance, distance + 3), float64([r1]), float64([r2]))[0]
    assert row[0] - row[1] > row[1] - row[2]


@given(st.lists(st.integers(-2000, 2000), min_size=2, max_size=8), head_counts)
def test_sandwich_is_the_product_of_two_sinusoidal_encodings(row, heads):
    table = sinusoidal_table(float64(row), 64)
    product = (table @ table.T - 32)[None] * heads / 8
    product = product / torch.arange(1, heads + 1)[:, None, None]
    offsets = float64(row)[None, :] - float64(row)[:, None]
    assert gap(sandwich_bias(offsets, heads, 64), product) <= 1e-9


def test_sandwich_is_zero_at_home_and_below_zero_elsewhere():
    bias = sandwich_bias(torch.arange(-3000, 3001), 4)
    assert bool((bias[:, 3000] == 0).all())
    assert int((bias < 0).sum()) == 4 * 6000


@given(st.floats(0.01, 10), st.integers(1, 300), st.integers(0, 300))
def test_past_its_threshold_fire_sees_the_share_of_the_way_back(c, threshold, beyond):
    i = threshold + beyond
    share = fire_share(float64([i]), torch.arange(i + 1), c, float(threshold))[0]
    assert share[0] == pytest.approx(1)
    assert share[-1] == 0
    assert bool((share.diff() < 0).all())


@given(st.floats(0.01, 10), st.floats(1.1, 50), st.integers(1, 40))
def test_past_its_threshold_fire_stretches_with_the_positions(c, stretch, threshold):
    row = torch.arange(threshold, 60, dtype=torch.float64)
    plain = fire_share(row, row, c, float(threshold))
    stretched = fire_share(stretch * row, stretch * row, c / stretch, float(threshold))
    assert gap(plain, stretched) <= 1e-12


@given(st.integers(-300, 100))
def test_before_its_threshold_fire_sees_the_offset_alone(shift):
    row = torch.arange(10)
    here, there = (fire_share(r, r, 0.1, 110.0) for r in (row, row + shift))
    assert torch.equal(here, there)
    assert float(toeplitz_error(here)) <= 1e-6


def test_past_its_threshold_fire_gives_shifted_positions_another_bias():
    encoding, row = FIRE(D_MODEL, HEADS, original_len=4), torch.arange(10)
    shifted = bias_of(encoding, row + 100, row + 100)
    assert gap(bias_of(encoding, row, row), shifted) > 0.01


def test_the_threshold_of_fire_has_no_gradient_from_queries_past_it():
    encoding, row = FIRE(D_MODEL, HEADS, original_len=4), torch.arange(10, 20)
    q = torch.randn(1, HEADS, 10, 4)
    encoding.bias(q, q, Places(row)).square().sum().backward()
    assert encoding.log_threshold.grad == 0
    assert encoding.log_c.grad != 0


@given(st.floats(-1000, 1000), st.floats(0.01, 10))
def test_psi_is_a_logarithm_of_the_distance(x, c):
    assert float(fire_psi(float64(x), c)) == pytest.approx(math.log(c * abs(x) + 1), abs=1e-12)


# Log-n attention


@given(st.integers(1, 10**6), st.integers(2, 10**5))
def test_log_n_factor_is_one_logarithm_over_another(n, original_len):
    expected = math.log(n) / math.log(original_len)
    assert log_n_factor(n, original_len) == pytest.approx(expected)
    assert float(log_n_factor(float64(n), original_len)) == pytest.approx(expected)


@given(st.integers(2, 10**5))
def test_log_n_factor_is_1_at_the_length_trained_at(original_len):
    assert log_n_factor(original_len, original_len) == 1


def test_log_n_factor_keeps_the_shape_of_a_tensor():
    factors = log_n_factor(torch.arange(1, 7).view(2, 3), 512)
    assert (factors.shape, factors.dtype) == ((2, 3), torch.float32)
    assert factors[0, 0] == 0


def test_log_n_factor_holds_the_entropy_of_random_logits_as_they_grow_in_number():
    """Without it the share of log n that entropy takes rises with n; with it that share stays."""
    short, long = torch.randn(64, 128) * 4, torch.randn(64, 8192) * 4

    def spread(logits):
        entropy = torch.special.entr(logits.softmax(-1)).sum(-1)
        return float(entropy.mean())

    plain = spread(long) - spread(short)
    scaled = spread(log_n_factor(8192, 128) * long) - spread(short)
    assert abs(scaled) < 0.5 * plain
