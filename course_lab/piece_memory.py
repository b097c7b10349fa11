"""A model that reads the last piece of a text with other pieces of it as its memory."""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.kv_cache import KVCache
from course_utils.models import TinyTransformer


@torch.no_grad()
def losses_with_memory(
    model: TinyTransformer,
    stretches: Int[Tensor, "many bytes"],
    *,
    piece: int,
    remembered: Sequence[int],
    starts: Sequence[int],
    last_start: int,
) -> Float[Tensor, "many piece"]:
    """Loss of the last piece of each stretch, in nats a byte, with other pieces as memory.

    The remembered pieces are read one by one, each alone, so the keys and values of one do not
    depend on the others. Then the last piece is read with all of them in sight.

    Args:
        model: a causal one.
        stretches: text, cut into pieces from its start; one byte more than the pieces, the
            successor of the last.
        piece: bytes a piece.
        remembered: which pieces to remember, counted from 0; all are before the last.
        starts: the position at which each of them is to start.
        last_start: the position at which the last piece starts.
    """
    validation.integer("piece", piece)
    last = (stretches.shape[1] - 1) // piece - 1
    row = torch.arange(piece, device=stretches.device)
    caches: list[list[KVCache]] = []  # of each piece, one a layer
    for number, start in zip(remembered, starts, strict=True):
        validation.below("remembered", number, last, "the last piece")
        caches.append(model.new_cache())
        model(stretches[:, number * piece : (number + 1) * piece], row + start, caches[-1])
    memory = [_joined(layer) for layer in zip(*caches, strict=True)] or model.new_cache()
    text = stretches[:, last * piece : (last + 1) * piece + 1]
    logits = model(text[:, :-1], row + last_start, memory)
    return F.cross_entropy(logits.transpose(1, 2), text[:, 1:], reduction="none")


def _joined(caches: Iterable[KVCache]) -> KVCache:
    """The keys, values and positions of several caches, one after another."""
    joined = KVCache()
    for cache in caches:
        assert cache.keys is not None and cache.values is not None and cache.positions is not None
        at = joined.places(cache.keys[:, 0], cache.positions)
        joined.store(*joined.joined(cache.keys, cache.values), at)
    return joined
