"""A stream read with a cache that forgets, and the mixed model that reads one."""

from typing import Any

import pytest
import torch
from torch.nn import functional as F

from course_experiments import extrapolation, mixed_layers, streams
from course_experiments.streams import losses_anew, stream_losses
from course_utils.encodings import NoEncoding, Rotary
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, build

TEXTS = torch.randint(97, 123, (2, 30), generator=torch.Generator().manual_seed(1))
TOLERANCE = 2e-5
CORPUS = bytes(torch.randint(97, 123, (70_000,), generator=torch.Generator()).tolist())


def model(encoding, n_layers=2):
    torch.manual_seed(0)
    return TinyTransformer(128, encoding, d_model=32, n_layers=n_layers, n_heads=2).eval()


@torch.no_grad()
def losses(reader, **arguments):
    """Of each byte but the first, all read at once."""
    logits = reader(TEXTS[:, :-1], **arguments)
    return F.cross_entropy(logits.transpose(1, 2), TEXTS[:, 1:], reduction="none")


def visible(sight, sinks):
    i = torch.arange(29)[:, None]
    j = torch.arange(29)
    return ((i - j < sight - sinks) | (j < sinks)).expand(2, -1, -1)


@pytest.mark.parametrize("encoding", streams.ENCODINGS)
@pytest.mark.parametrize("sinks", [0, 3])
def test_a_cache_that_forgets_reads_as_a_mask_does_that_hides_the_same_bytes(encoding, sinks):
    reader = model(encoding, n_layers=4)
    at_once = losses(reader, attention_mask=visible(8, sinks))
    assert (stream_losses(reader, TEXTS, 8, sinks=sinks) - at_once).abs().max() <= TOLERANCE
    assert (stream_losses(reader, TEXTS, 30) - losses(reader)).abs().max() <= TOLERANCE


@pytest.mark.parametrize("encoding", ["none", "rope", "alibi"])
@torch.no_grad()
def test_first_bytes_that_move_along_stand_right_before_the_window(encoding):
    """In one layer keys know nothing of what was in sight: the bytes in sight can be read alone."""
    reader = model(encoding, n_layers=1)
    moved = stream_losses(reader, TEXTS, 8, sinks=3, moved=True)
    for p in range(8, 29):
        in_sight = torch.cat([TEXTS[:, :3], TEXTS[:, p - 4 : p + 1]], 1)
        alone = F.cross_entropy(reader(in_sight)[:, -1], TEXTS[:, p + 1], reduction="none")
        assert (moved[:, p] - alone).abs().max() <= TOLERANCE
    kept = stream_losses(reader, TEXTS, 8, sinks=3)
    assert torch.allclose(kept, moved, atol=TOLERANCE) == (encoding == "none")


@torch.no_grad()
def test_bytes_read_anew_are_read_from_position_0_on():
    reader = model("rope")
    anew = losses_anew(reader, TEXTS, 8)
    assert (anew[:, :8] - losses(reader)[:, :8]).abs().max() <= TOLERANCE
    logits = reader(TEXTS[:, 10:18])[:, -1]
    alone = F.cross_entropy(logits, TEXTS[:, 18], reduction="none")
    assert (anew[:, 17] - alone).abs().max() <= TOLERANCE


def test_a_stream_gives_a_row_for_each_way_and_64_bytes():
    recipe = Recipe("rope", length=8, steps=2, batch=2, d_model=16, n_layers=1, n_heads=2)
    tables, weights = streams.measured(None, recipe, CORPUS, read=72, bar=False)
    rows = tables["losses"]
    assert [row["first"] for row in rows] == [0, 64] * 5
    assert {row["last"] for row in rows} == {63, 70}
    ways = list(dict.fromkeys(row["way"] for row in rows))
    assert ways == [
        "everything",
        "the last 8",
        "first 4 kept",
        "first 4 moved along",
        "the last 8 anew",
    ]
    again, _ = streams.measured(weights, recipe, CORPUS, read=72, bar=False)
    assert again == tables


def test_every_fourth_layer_of_the_mixed_model_has_no_position():
    recipe = Recipe(mixed_layers.NAME, d_model=16, n_layers=8, n_heads=2)
    blocks: Any = build(recipe).blocks
    kinds = [type(block.attention.encoding) for block in blocks]
    assert kinds == [Rotary, Rotary, Rotary, NoEncoding] * 2


def test_the_mixed_model_is_trained_and_read_as_the_others_are():
    recipe = Recipe(mixed_layers.NAME, length=8, steps=2, batch=2, d_model=16, n_layers=4)
    (job,) = extrapolation.jobs([recipe], CORPUS, (8, 16))
    rows = job[1]()["losses"]
    assert {row["encoding"] for row in rows} == {"rope_mixed"}
    assert {(row["reading"], row["read"]) for row in rows} >= {("as trained", 8), ("log-n", 16)}
