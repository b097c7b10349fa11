"""A stream: text read byte by byte with a cache that holds the last few bytes and forgets the rest.

Five ways to go on past what was trained on:

- ``everything``: nothing is forgotten.
- ``the last 64``: the cache slides. Keys were computed while earlier ones were in sight.
- ``first 4 kept``: the first four bytes stay beside the last 60, at their own positions.
- ``first 4 moved along``: the same, and they follow the window, so that no offset is longer than in
  training. This is StreamingLLM (Xiao et al. 2023, arXiv 2309.17453, section 3.2).
- ``the last 64 anew``: no cache. For each byte the last 64 are read from position 0 on.

The same is measured of SmolLM2 with 256 tokens in sight, by a mask, which hides the same keys.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, cast

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_experiments import extrapolation, mixed_layers
from course_experiments.kept_weights import TrainingJob, Weights, weights_bytes
from course_experiments.run_keys import columns, digest, key, training_key
from course_experiments.sweep import Job
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Places, PositionalEncoding
from course_utils.measures import trained_models
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe
from course_utils.models.transformer import Block, Tokens
from course_utils.pretrained import SmolLM2
from course_utils.results import AS_TRAINED
from course_utils.texts import text
from course_utils.texts.tasks import IGNORED_TARGET, Examples

ENCODINGS = ("rope", "alibi", mixed_layers.NAME)
SINKS = 4  # bytes or tokens kept at the start, as many as Xiao et al. keep
STREAM = 1024  # bytes of each text that are read
BIN = 64  # bytes that one row covers
BLOCKS = 6  # texts
EVERYTHING, LAST, KEPT = "everything", "the last {}", "first 4 kept"
MOVED, ANEW = "first 4 moved along", "the last {} anew"
TOKENS_IN_SIGHT = 256  # of SmolLM2, and the tokens that one row covers
PUBLISHED_WAYS = (AS_TRAINED, LAST.format(TOKENS_IN_SIGHT), KEPT)

Row = dict[str, Any]


def jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    """The jobs of a sweep; ``lengths`` is the number of bytes of each text that are read."""
    (read,) = lengths
    keyed_jobs: list[Job] = []
    for recipe in recipes:
        job = TrainingJob(
            training_key(recipe, corpus=digest(corpus)),
            weights_bytes(recipe),
            partial(measured, recipe=recipe, corpus=corpus, read=read, bar=False),
        )
        keyed_jobs.append((key("streams", recipe, corpus=digest(corpus), read=read), job))
    return keyed_jobs


def measured(
    weights: Weights | None, recipe: Recipe, corpus: bytes, *, read: int = STREAM, bar: bool
) -> tuple[dict[str, list[Row]], Weights]:
    """Rows of losses in nats a byte, one for each way and 64 bytes; and the model's weights."""
    model, weights, training_columns = extrapolation.trained(weights, recipe, corpus, bar=bar)
    blocks = text.spread(text.split(text.from_bytes(corpus)).held_out, BLOCKS)
    texts = blocks[:, :read]
    sight = recipe.length
    by_way = {
        EVERYTHING: stream_losses(model, texts, read),
        LAST.format(sight): stream_losses(model, texts, sight),
        KEPT: stream_losses(model, texts, sight, sinks=SINKS),
        MOVED: stream_losses(model, texts, sight, sinks=SINKS, moved=True),
        ANEW.format(sight): losses_anew(model, texts, sight),
    }
    rows = []
    for way, losses in by_way.items():
        means = losses.mean(0)  # entry p is of the byte after that at position p
        for first in range(0, read, BIN):
            part = means[first : first + BIN]
            row = {"way": way, "first": first, "last": first + len(part) - 1}
            row["loss"] = round(float(part.mean()), 5)
            rows.append({**columns(recipe, model), "read": read, **row, **training_columns})
    return {"losses": rows}, weights


@torch.no_grad()
def stream_losses(
    model: TinyTransformer, texts: Tokens, sight: int, *, sinks: int = 0, moved: bool = False
) -> Float[Tensor, "texts seq_less_1"]:
    """Loss of each byte but the first, in nats, read one at a time, ``sight`` of them in sight.

    The byte that is read is one of them, and so are the first ``sinks`` bytes. With ``moved`` these
    stand right before the window, for encodings whose turns add up, as RoPE's.
    """
    texts = texts.to(model.embedding.weight.device)
    caches, blocks = model.new_cache(), cast("Iterable[Block]", model.blocks)
    losses = []
    for p in range(texts.shape[1] - 1):
        logits = model(texts[:, p : p + 1], torch.tensor([p]), caches)[:, 0]
        losses.append(F.cross_entropy(logits, texts[:, p + 1].long(), reduction="none"))
        for cache, block in zip(caches, blocks, strict=True):
            full = len(cache) == sight
            cache.keep_last(sight - 1 - sinks, first=sinks)
            if moved and full:
                _move_along(cache, block.attention.encoding, sinks)
    return torch.stack(losses, 1).cpu()


def _move_along(cache: KVCache, encoding: PositionalEncoding, count: int) -> None:
    """Move the first keys by one position: their turns and their numbers."""
    assert cache.keys is not None and cache.positions is not None
    one_further = Places(torch.ones(count, dtype=torch.long, device=cache.keys.device))
    first = cache.keys[:, :, :count]
    cache.keys = torch.cat(
        [encoding.rotate(first, first, one_further)[1], cache.keys[:, :, count:]], 2
    )
    steps = (torch.arange(len(cache), device=cache.keys.device) < count).long()
    cache.positions = cache.positions + steps


def losses_anew(
    model: TinyTransformer, texts: Tokens, sight: int
) -> Float[Tensor, "texts seq_less_1"]:
    """Loss of each byte but the first, in nats, from the ``sight`` bytes before it alone."""
    rows = []
    for row in texts:
        start = Examples(row[None, :sight], row[None, 1 : sight + 1].long())
        windows = row.unfold(0, sight + 1, 1)[1:]  # each with the byte that follows it
        targets = torch.full_like(windows[:, 1:], IGNORED_TARGET, dtype=torch.long)
        targets[:, -1] = windows[:, -1]
        later = Examples(windows[:, :-1], targets)
        losses = trained_models.losses(model, later)[:, -1]
        rows.append(torch.cat([trained_models.losses(model, start)[0], losses]))
    return torch.stack(rows)


def published(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """Mean losses of SmolLM2, in nats a token, of each 256 tokens, read in one of the ways."""
    n = tokens.shape[1]
    i, j = torch.arange(n, device=tokens.device)[:, None], torch.arange(n, device=tokens.device)
    sinks = SINKS if way == KEPT else 0
    visible = (j < sinks) | (i - j < TOKENS_IN_SIGHT - sinks)
    losses = model.loss(tokens, attention_mask=None if way == AS_TRAINED else visible[None])[0]
    rows = []
    for first in range(0, n - 1, TOKENS_IN_SIGHT):
        part = losses[first : first + TOKENS_IN_SIGHT]
        row: Row = {"first": first, "last": first + len(part) - 1}
        rows.append({**row, "loss": round(float(part.mean()), 5)})
    return rows
