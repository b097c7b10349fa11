"""How a text is read: what attention spreads over, and text that is handed over as memory.

Nothing here trains a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils import measures, validation
from course_utils.cache import KVCache
from course_utils.models import Block, TinyTransformer


@torch.no_grad()
def entropy_by_query(
    model: TinyTransformer, tokens: Int[Tensor, "batch seq"]
) -> Float[Tensor, "layers heads seq"]:
    """Entropy of the attention of each head, in nats, by the query's place; mean over the batch.

    Args:
        model: a causal model.
        tokens: (batch, seq) ids to read.
    """
    row = torch.arange(tokens.shape[1], device=tokens.device)
    x = model.embedding(tokens) * model.embedding.embedding_dim**0.5
    if not model.encoding.every_layer:
        x = model.encoding.embed(x, row, tokens)
    found = []
    for block in cast("Iterable[Block]", model.blocks):
        if model.encoding.every_layer:
            x = block.attention.encoding.embed(x, row, tokens)
        added, weights = block.attention.attend(block.attention_norm(x), row, need_weights=True)
        assert weights is not None
        found.append(measures.entropy(weights).mean(0))  # (heads, seq)
        x = x + added
        x = x + block.mlp(block.mlp_norm(x))
    return torch.stack(found)


@torch.no_grad()
def losses_with_memory(
    model: TinyTransformer,
    stretches: Int[Tensor, "many bytes"],
    *,
    piece: int,
    remembered: Sequence[int],
    places: Sequence[int],
    own_place: int,
) -> Float[Tensor, "many piece"]:
    """Loss of the last piece of each stretch, in nats a byte, with other pieces as memory.

    The pieces that are remembered are read one by one, each alone, so that their keys and values
    are sound whatever else there is. Then the last piece is read with all of them in sight.

    Args:
        model: a causal model.
        stretches: (many, bytes) text, cut into pieces from its start; one byte more than the
            pieces, the successor of the last.
        piece: bytes a piece.
        remembered: which pieces to remember, counted from 0.
        places: the position at which each of them is to start.
        own_place: the position at which the last piece starts.

    Raises:
        TypeError, ValueError: if a number is not usable, or a remembered piece is not before the
            last one.
    """
    validation.integer("piece", piece)
    last = (stretches.shape[1] - 1) // piece - 1
    row = torch.arange(piece, device=stretches.device)
    parts: list[list[KVCache]] = []
    for number, start in zip(remembered, places, strict=True):
        if validation.integer("remembered", number, minimum=0) >= last:
            raise ValueError(f"remembered must be below {last}, the last piece, got {number}")
        parts.append(model.new_cache())
        model(stretches[:, number * piece : (number + 1) * piece], row + start, parts[-1])
    memory = [_together(one) for one in zip(*parts, strict=True)] or model.new_cache()
    own = stretches[:, last * piece : (last + 1) * piece + 1]
    logits = model(own[:, :-1], row + own_place, memory)
    return F.cross_entropy(logits.transpose(1, 2), own[:, 1:], reduction="none")


def _together(caches: Iterable[KVCache]) -> KVCache:
    """The keys, values and positions of several caches, one after another."""
    all_of = KVCache()
    for one in caches:
        assert one.keys is not None and one.values is not None and one.positions is not None
        all_of.keep(*all_of.joined(one.keys, one.values, one.positions))
    return all_of
