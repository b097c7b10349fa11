"""Measures of trained models: entropies are those of plain reading."""

import pytest
import torch
from variants import rough_model

from course_lab.measures import entropy_by_query
from course_utils.encodings import NAMES
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix


@pytest.mark.parametrize("encoding", ["none", "alibi"])
def test_the_entropy_is_that_of_the_weights_worked_out_by_hand(encoding):
    model, tokens = rough_model(encoding), torch.randint(32, (3, 10))
    entered = []
    for block in model.blocks:
        block.attention_norm.register_forward_hook(lambda _, __, out: entered.append(out))
    model(tokens)
    inputs, row = entered[:2], torch.arange(10)
    measured = entropy_by_query(model, tokens)
    for block, x, nats in zip(model.blocks, inputs, measured, strict=True):
        q, k = (
            (x @ W.weight.T).view(3, 10, 2, 8).transpose(1, 2)
            for W in (block.attention.W_q, block.attention.W_k)
        )
        scores = q @ k.mT / 8**0.5
        if encoding == "alibi":
            scores = scores + alibi_bias(offset_matrix(row, row), alibi_slopes(2))
        weights = scores.masked_fill(row[None, :] > row[:, None], -torch.inf).softmax(-1)
        by_hand = -(weights * weights.clamp(min=1e-30).log()).sum(-1).mean(0)
        assert torch.allclose(nats, by_hand, atol=1e-4)


@pytest.mark.parametrize("encoding", NAMES)
def test_no_query_has_more_entropy_than_its_keys_allow(encoding):
    measured = entropy_by_query(rough_model(encoding), torch.randint(32, (2, 12)))
    assert measured.shape == (2, 2, 12)
    most = (torch.arange(12) + 1.0).log()
    assert bool((measured >= -1e-6).all()) and bool((measured <= most + 1e-5).all())


@pytest.mark.parametrize("encoding", NAMES)
def test_what_is_measured_is_what_the_model_does(encoding):
    model, tokens = rough_model(encoding), torch.randint(32, (2, 12))
    left = []
    model.blocks[-1].mlp.register_forward_hook(lambda _, __, out: left.append(out.detach()))
    entropy_by_query(model, tokens)
    model(tokens)
    measured, plain = left
    assert torch.allclose(measured, plain, atol=1e-4)
