"""A piece read with other pieces as its memory: the same as plain reading where it should be."""

import pytest
import torch
from bad_calls import bad_calls
from torch.nn import functional as F
from variants import rough_model

from course_lab.piece_memory import losses_with_memory
from course_utils.encodings import NAMES

PIECE = 4


def stretch(pieces, many=3):
    return torch.randint(32, (many, pieces * PIECE + 1))


def plainly(model, text):
    with torch.no_grad():
        logits = model(text[:, :-1])
    return F.cross_entropy(logits.mT, text[:, 1:], reduction="none")[:, -PIECE:]


def reread(model, text, remembered, starts, last_start):
    return losses_with_memory(
        model, text, piece=PIECE, remembered=remembered, starts=starts, last_start=last_start
    )


@pytest.mark.parametrize("encoding", NAMES)
def test_one_piece_before_the_last_in_its_place_is_plain_reading(encoding):
    model, text = rough_model(encoding), stretch(2)
    assert torch.allclose(reread(model, text, [0], [0], PIECE), plainly(model, text), atol=1e-4)


@pytest.mark.parametrize("encoding", NAMES)
def test_all_pieces_in_their_places_are_plain_reading_of_one_layer(encoding):
    # A second layer's keys would know the pieces before them, which a memory is not to.
    model, text = rough_model(encoding, n_layers=1), stretch(5)
    places = [0, 4, 8, 12]
    with_memory = reread(model, text, [0, 1, 2, 3], places, 16)
    assert torch.allclose(with_memory, plainly(model, text), atol=1e-4)
    mixed = reread(model, text, [2, 0, 3, 1], [8, 0, 12, 4], 16)  # the order does not matter
    assert torch.allclose(mixed, with_memory, atol=1e-4)


def test_without_memory_a_piece_is_read_alone():
    model, text = rough_model("rope"), stretch(3)
    with_memory = reread(model, text, [], [], 0)
    assert torch.allclose(with_memory, plainly(model, text[:, 2 * PIECE :]), atol=1e-5)


def test_where_a_memory_is_said_to_stand_matters_unless_there_are_no_positions():
    text = stretch(4)
    for encoding, same in (("none", True), ("alibi", False), ("sinusoidal", False)):
        model = rough_model(encoding)
        after_8, after_0 = (reread(model, text, [0], [at], 12) for at in (8, 0))
        assert torch.allclose(after_8, after_0, atol=1e-5) == same


def test_a_memory_is_read_without_the_pieces_before_it():
    model, text = rough_model("rope"), stretch(4)
    other = text.clone()
    other[:, :PIECE] = torch.randint(32, (len(text), PIECE))
    first, second = (reread(model, some, [1, 2], [4, 8], 12) for some in (text, other))
    assert torch.equal(first, second)


def misread(piece=PIECE, remembered=(), starts=()):
    model = rough_model("none")
    return losses_with_memory(
        model, stretch(3), piece=piece, remembered=remembered, starts=starts, last_start=8
    )


test_bad_arguments = bad_calls(
    [
        (lambda: misread(remembered=[2], starts=[0]), ValueError, "remembered", "got 2"),
        (lambda: misread(remembered=[-1], starts=[0]), ValueError, "remembered", "-1"),
        (lambda: misread(piece=0), ValueError, "piece", "got 0"),
    ]
)
