"""RoPE's frequencies and what each scaling makes of them, against the papers' formulas."""

import dataclasses
import math

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from course_utils.encodings import NTK, DynamicNTK, Linear, Llama3, LongRoPE, Scaling, YaRN
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies

widths = st.integers(1, 64).map(lambda half: 2 * half)
bases = st.floats(1.5, 1e6)
factors = st.floats(1, 64)
lengths = st.integers(2, 10**5)


def gap(ours, slow):
    return float((ours - torch.tensor(slow, dtype=torch.float64)).abs().max())


def plain(d, base):
    return [base ** (-2 * m / d) for m in range(d // 2)]


def clip(value):
    return min(max(value, 0.0), 1.0)


def larger_base(d, base, stretch):
    return plain(d, base * stretch ** (d / (d - 2))) if d > 2 else [1.0]


def ramp_over_turns(d, base, s, length, slow, fast):
    out = []
    for theta in plain(d, base):
        turns = length * theta / (2 * math.pi)
        keep = clip((turns - slow) / (fast - slow))
        out.append((1 - keep) * theta / s + keep * theta)
    return out


def ramp_over_pairs(d, base, s, length, slow, fast):
    """The released code of YaRN: where a pair turns slow and fast times, rounded outwards."""

    def pair(turns):
        return d * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = max(math.floor(pair(fast)), 0), min(math.ceil(pair(slow)), d - 1)
    assume(low <= high)  # else its ramp runs backwards: a test below holds ours to better
    high = high + 0.001 if high == low else high
    out = []
    for m, theta in enumerate(plain(d, base)):
        keep = 1 - clip((m - low) / (high - low))
        out.append((1 - keep) * theta / s + keep * theta)
    return out


@given(widths, bases)
def test_frequencies_are_the_papers_to_1e_10(d, base):
    frequencies, factor = scaled_frequencies(d, base)
    assert (frequencies.dtype, frequencies.shape, factor) == (torch.float64, (d // 2,), 1.0)
    assert gap(frequencies, plain(d, base)) <= 1e-10


@given(widths, bases, factors)
def test_linear_divides_every_frequency(d, base, s):
    frequencies, factor = scaled_frequencies(d, base, Linear(s))
    assert gap(frequencies, [theta / s for theta in plain(d, base)]) <= 1e-10
    assert factor == 1


@given(widths, bases, factors)
def test_ntk_is_the_larger_base(d, base, s):
    frequencies, factor = scaled_frequencies(d, base, NTK(s))
    assert gap(frequencies, larger_base(d, base, s)) <= 1e-10
    assert factor == 1


@given(widths.filter(lambda d: d > 2), bases, factors)
def test_ntk_keeps_the_fastest_pair_and_slows_the_slowest_by_the_factor(d, base, s):
    before, after = rope_frequencies(d, base), scaled_frequencies(d, base, NTK(s))[0]
    assert after[0] == before[0]
    assert float(after[-1] * s / before[-1]) == pytest.approx(1, rel=1e-12)


@given(widths, bases, factors, lengths, st.floats(1, 20))
def test_dynamic_ntk_is_the_larger_base_past_the_length_of_training(d, base, s, trained, times):
    n = trained * times
    frequencies, factor = scaled_frequencies(d, base, DynamicNTK(s, trained), length=n)
    assert gap(frequencies, larger_base(d, base, s * n / trained - (s - 1))) <= 1e-10
    assert factor == 1


@given(widths, bases, factors, lengths, st.none() | st.floats(0, 1, exclude_min=True))
def test_dynamic_ntk_changes_nothing_up_to_the_length_of_training(d, base, s, trained, part):
    n = None if part is None else part * trained
    frequencies, _ = scaled_frequencies(d, base, DynamicNTK(s, trained), length=n)
    assert torch.equal(frequencies, rope_frequencies(d, base))


@pytest.mark.parametrize("length", [100, 1000, 100_000])
def test_dynamic_ntk_takes_the_length_as_a_tensor_too(length):
    scaling = DynamicNTK(4.0, 512)
    number, _ = scaled_frequencies(32, 10000.0, scaling, length)
    tensor, _ = scaled_frequencies(32, 10000.0, scaling, torch.tensor(length))
    assert torch.equal(number, tensor)


@given(widths, bases, factors, lengths, st.floats(0.5, 4), st.floats(5, 64))
def test_yarn_as_in_the_paper_ramps_over_the_number_of_turns(d, base, s, trained, slow, fast):
    scaling = YaRN(s, trained, fast, slow, released_code=False)
    frequencies, factor = scaled_frequencies(d, base, scaling)
    assert gap(frequencies, ramp_over_turns(d, base, s, trained, slow, fast)) <= 1e-10
    assert factor == pytest.approx(0.1 * math.log(s) + 1)


@given(widths, bases, factors, lengths, st.floats(0.5, 4), st.floats(5, 64))
def test_yarn_as_released_ramps_over_the_index_of_the_pair(d, base, s, trained, slow, fast):
    frequencies, factor = scaled_frequencies(d, base, YaRN(s, trained, fast, slow))
    assert gap(frequencies, ramp_over_pairs(d, base, s, trained, slow, fast)) <= 1e-10
    assert factor == pytest.approx(0.1 * math.log(s) + 1)


@given(widths, bases, st.integers(1, 10**5), st.booleans())
def test_yarn_never_keeps_a_slower_pair_more_than_a_faster_one(d, base, trained, released):
    scaling = YaRN(8, trained, released_code=released)
    kept = scaled_frequencies(d, base, scaling)[0] / rope_frequencies(d, base)
    assert bool((kept.diff() <= 1e-12).all())
    assert bool(((kept > 1 / 8 - 1e-12) & (kept < 1 + 1e-12)).all())


@pytest.mark.parametrize(("d", "base", "trained", "kept"), [(2, 2, 126, 1), (64, 1e4, 4, 1 / 8)])
def test_yarn_is_right_where_the_ends_of_the_released_codes_ramp_cross(d, base, trained, kept):
    """With all pairs fast, every one is kept; with L below one turn, all but the first slow."""
    ratios = scaled_frequencies(d, base, YaRN(8, trained, 5))[0] / rope_frequencies(d, base)
    assert torch.allclose(ratios[-31:], torch.full_like(ratios[-31:], kept))


def test_the_two_ramps_of_yarn_agree_at_the_ends_and_differ_in_between():
    before = rope_frequencies(128)
    paper = scaled_frequencies(128, scaling=YaRN(8, 2048, released_code=False))[0] / before
    code = scaled_frequencies(128, scaling=YaRN(8, 2048))[0] / before
    assert paper[0] == code[0] == 1
    assert float(paper[-1]) == float(code[-1]) == pytest.approx(1 / 8)
    assert float((paper - code).abs().max()) > 0.1


@given(widths, bases, factors, lengths, st.floats(0.5, 2), st.floats(2.5, 8))
def test_llama3_ramps_over_the_number_of_turns(d, base, s, trained, low, high):
    frequencies, factor = scaled_frequencies(d, base, Llama3(s, trained, low, high))
    assert gap(frequencies, ramp_over_turns(d, base, s, trained, low, high)) <= 1e-10
    assert factor == 1


def test_llama3_slows_long_waves_only():
    before, after = rope_frequencies(128), scaled_frequencies(128, scaling=Llama3(8, 8192))[0]
    waves, slowed = 2 * math.pi / before, before / after
    assert torch.equal(slowed[waves < 8192 / 4], torch.ones(int((waves < 8192 / 4).sum())).double())
    assert torch.allclose(slowed[waves > 8192], torch.tensor(8.0).double())
    between = slowed[(waves > 8192 / 4) & (waves < 8192)]
    assert len(between) > 0 and bool(((between > 1) & (between < 8)).all())


@given(st.lists(st.floats(1, 64), min_size=1, max_size=40), bases, factors, lengths)
def test_longrope_divides_each_frequency_by_its_own_factor(each, base, s, trained):
    d = 2 * len(each)
    frequencies, factor = scaled_frequencies(d, base, LongRoPE(each, s, trained))
    slow = [theta / divisor for theta, divisor in zip(plain(d, base), each, strict=True)]
    assert gap(frequencies, slow) <= 1e-10
    assert factor == pytest.approx(math.sqrt(1 + math.log(s) / math.log(trained)))


def neutral(d):
    """Each scaling with factor 1. DynamicNTK is one up to the length of training only."""
    return [
        Linear(1),
        NTK(1),
        DynamicNTK(1, 100),
        YaRN(1, 100),
        YaRN(1, 100, released_code=False),
        LongRoPE([1] * (d // 2), 1, 100),
        Llama3(1, 100),
    ]


@given(widths, bases, st.integers(1, 100))
def test_factor_1_changes_nothing(d, base, length):
    for scaling in neutral(d):
        frequencies, factor = scaled_frequencies(d, base, scaling, length)
        assert gap(frequencies, plain(d, base)) <= 1e-10
        assert factor == 1


@given(widths, bases, factors)
def test_no_scaling_speeds_a_pair_up(d, base, s):
    scalings = [Linear(s), NTK(s), DynamicNTK(s, 50), YaRN(s, 50), Llama3(s, 50)]
    before = rope_frequencies(d, base)
    for scaling in scalings:
        assert bool((scaled_frequencies(d, base, scaling, 400)[0] <= before * (1 + 1e-12)).all())


@pytest.mark.parametrize("kind", [YaRN, LongRoPE])
def test_a_factor_below_1_leaves_the_scores_as_they_are(kind):
    scaling = YaRN(0.5, 64) if kind is YaRN else LongRoPE([0.5] * 4, 0.5, 64)
    assert scaled_frequencies(8, scaling=scaling)[1] == 1


@pytest.mark.parametrize("scaling", neutral(8))
def test_scalings_are_frozen_values_that_compare_and_hash(scaling):
    assert isinstance(scaling, Scaling)
    assert dataclasses.is_dataclass(scaling) and not isinstance(scaling, type)
    assert scaling == dataclasses.replace(scaling)
    assert hash(scaling) == hash(dataclasses.replace(scaling))
    for field in dataclasses.fields(scaling):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(scaling, field.name, 2.0)
