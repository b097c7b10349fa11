"""What models' cards say of YaRN beside factor and length, against transformers."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("transformers", reason="the oracle is not installed")

from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from course_utils.encodings import YaRN
from course_utils.encodings.functional import scaled_frequencies

sizes = st.floats(0.1, 4)


def oracle(d, base, factor, trained, **options):
    rope = {"rope_type": "yarn", "rope_theta": base, "factor": factor}
    rope |= {"original_max_position_embeddings": trained, **options}
    config = LlamaConfig(
        hidden_size=d,
        num_attention_heads=1,
        max_position_embeddings=int(trained * factor),
        rope_parameters=rope,
    )
    return ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")


def assert_equal_to_transformers(scaling, d, base, **options):
    ours, our_factor = scaled_frequencies(d, base, scaling)
    theirs, their_factor = oracle(d, base, scaling.factor, scaling.original_len, **options)
    torch.testing.assert_close(ours.float(), theirs.float(), rtol=1e-5, atol=0)
    assert our_factor == pytest.approx(their_factor)


@given(st.floats(1, 40), sizes)
def test_an_attention_factor_of_the_card_replaces_the_computed_one(factor, attention_factor):
    scaling = YaRN(factor, 2048, attention_factor=attention_factor)
    assert_equal_to_transformers(scaling, 64, 1e4, attention_factor=attention_factor)


@given(st.floats(1, 40), sizes, sizes)
def test_mscale_is_that_of_transformers(factor, mscale, mscale_all_dim):
    scaling = YaRN(factor, 2048, mscale=mscale, mscale_all_dim=mscale_all_dim)
    options = {"mscale": mscale, "mscale_all_dim": mscale_all_dim}
    assert_equal_to_transformers(scaling, 64, 1e4, **options)


@given(
    st.integers(1, 64).map(lambda half: 2 * half),
    st.floats(100, 1e6),
    st.floats(1, 40),
    st.integers(512, 32768),
)
def test_ends_that_are_not_truncated_are_those_of_transformers(d, base, factor, trained):
    scaling = YaRN(factor, trained, truncate=False)
    assert_equal_to_transformers(scaling, d, base, truncate=False)


def test_truncated_ends_change_the_frequencies_between_them():
    plain, _ = scaled_frequencies(64, 1e4, YaRN(4, 2048))
    fractional, _ = scaled_frequencies(64, 1e4, YaRN(4, 2048, truncate=False))
    assert not torch.equal(plain, fractional)
    assert torch.equal(plain[[0, -1]], fractional[[0, -1]])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mscale": 1.0}, "mscale and mscale_all_dim must be given together"),
        ({"mscale_all_dim": 1.0}, "mscale and mscale_all_dim must be given together"),
        ({"attention_factor": 0.0}, "attention_factor must be a finite number above 0"),
        ({"attention_factor": math.nan}, "attention_factor must be a finite number above 0"),
        ({"truncate": 1}, "truncate must be True or False"),
    ],
    ids=str,
)
def test_what_no_card_can_say_is_refused(plain_arguments, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        YaRN(4, 2048, **options)
