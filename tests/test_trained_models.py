"""How a trained model reads: entropies and memories are those of plain reading."""

import pytest
import torch
from bad_calls import bad_calls
from torch.nn import functional as F

from course_utils.encodings import NAMES
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix
from course_utils.measures.trained_models import entropy_by_query, losses_with_memory
from course_utils.models import TinyTransformer

PIECE = 4


def tiny(encoding, n_layers=2, **options):
    model = TinyTransformer(32, encoding, 16, n_layers, n_heads=2, max_len=32, **options)
    with torch.no_grad():
        for weight in model.parameters():  # so that attention is far from uniform
            weight.add_(0.3 * torch.randn_like(weight))
    return model.eval()


def stretch(pieces, many=3):
    return torch.randint(32, (many, pieces * PIECE + 1))


def plainly(model, text):
    with torch.no_grad():
        logits = model(text[:, :-1])
    return F.cross_entropy(logits.mT, text[:, 1:], reduction="none")[:, -PIECE:]


def reread(model, text, remembered, places, own_place):
    return losses_with_memory(
        model, text, piece=PIECE, remembered=remembered, places=places, own_place=own_place
    )


@pytest.mark.parametrize("encoding", NAMES)
def test_one_piece_before_the_last_in_its_place_is_plain_reading(encoding):
    model, text = tiny(encoding), stretch(2)
    assert torch.allclose(reread(model, text, [0], [0], PIECE), plainly(model, text), atol=1e-4)


@pytest.mark.parametrize("encoding", NAMES)
def test_all_pieces_in_their_places_are_plain_reading_of_one_layer(encoding):
    # A second layer's keys would know the pieces before them, which a memory is not to.
    model, text = tiny(encoding, n_layers=1), stretch(5)
    places = [0, 4, 8, 12]
    found = reread(model, text, [0, 1, 2, 3], places, 16)
    assert torch.allclose(found, plainly(model, text), atol=1e-4)
    mixed = reread(model, text, [2, 0, 3, 1], [8, 0, 12, 4], 16)  # the order does not matter
    assert torch.allclose(mixed, found, atol=1e-4)


def test_without_memory_a_piece_is_read_alone():
    model, text = tiny("rope"), stretch(3)
    found = reread(model, text, [], [], 0)
    assert torch.allclose(found, plainly(model, text[:, 2 * PIECE :]), atol=1e-5)


def test_where_a_memory_is_said_to_stand_matters_unless_there_are_no_positions():
    text = stretch(4)
    for encoding, same in (("none", True), ("alibi", False), ("sinusoidal", False)):
        model = tiny(encoding)
        near, far = (reread(model, text, [0], [at], 12) for at in (8, 0))
        assert torch.allclose(near, far, atol=1e-5) == same


def test_a_memory_is_read_without_the_pieces_before_it():
    model, text = tiny("rope"), stretch(4)
    other = text.clone()
    other[:, :PIECE] = torch.randint(32, (len(text), PIECE))
    one, two = (reread(model, some, [1, 2], [4, 8], 12) for some in (text, other))
    assert torch.equal(one, two)


@pytest.mark.parametrize("encoding", ["none", "alibi"])
def test_the_entropy_is_that_of_the_weights_worked_out_by_hand(encoding):
    model, tokens = tiny(encoding), torch.randint(32, (3, 10))
    entered = []
    for block in model.blocks:
        block.attention_norm.register_forward_hook(lambda _, __, out: entered.append(out))
    model(tokens)
    inputs, row = entered[:2], torch.arange(10)
    found = entropy_by_query(model, tokens)
    for block, x, nats in zip(model.blocks, inputs, found, strict=True):
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
    found = entropy_by_query(tiny(encoding), torch.randint(32, (2, 12)))
    assert found.shape == (2, 2, 12)
    most = (torch.arange(12) + 1.0).log()
    assert bool((found >= -1e-6).all()) and bool((found <= most + 1e-5).all())


@pytest.mark.parametrize("encoding", NAMES)
def test_what_is_measured_is_what_the_model_does(encoding):
    model, tokens = tiny(encoding), torch.randint(32, (2, 12))
    left = []
    model.blocks[-1].mlp.register_forward_hook(lambda _, __, out: left.append(out.detach()))
    entropy_by_query(model, tokens)
    model(tokens)
    measured, plain = left
    assert torch.allclose(measured, plain, atol=1e-4)


test_bad_arguments = bad_calls(
    [
        (lambda: reread(tiny("none"), stretch(3), [2], [0], 8), ValueError, "remembered", "got 2"),
        (lambda: reread(tiny("none"), stretch(3), [-1], [0], 8), ValueError, "remembered", "-1"),
        (
            lambda: losses_with_memory(
                tiny("none"), stretch(3), piece=0, remembered=[], places=[], own_place=0
            ),
            ValueError, "piece", "got 0",
        ),
    ]
)  # fmt: skip
