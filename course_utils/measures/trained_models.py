"""A look into a trained model: its loss in sliding windows, its attention, a text as its memory.

Nothing here trains. Not gathered in ``measures``, which loads without ``models``.
"""

from collections.abc import Iterable, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.kv_cache import KVCache
from course_utils.measures.weights import entropy
from course_utils.models import TinyTransformer
from course_utils.texts import tasks, text

AT_ONCE = 2**12  # tokens that a model reads at once: bounds the memory


def losses(model: TinyTransformer, examples: tasks.Examples) -> Float[Tensor, "batch seq"]:
    """Cross-entropy of every token, in nats, 0 where nothing is asked."""
    at_once = max(1, AT_ONCE // examples.tokens.shape[1])
    found = []
    with torch.no_grad():
        for tokens, targets in zip(*(part.split(at_once) for part in examples), strict=True):
            asked = targets != tasks.IGNORED_TARGET
            logits = model.head(model.hidden(tokens)[asked])  # (asked, vocab_size)
            loss = logits.new_zeros(targets.shape)
            loss[asked] = F.cross_entropy(logits, targets[asked], reduction="none")
            found.append(loss)
    return torch.cat(found)


def loss_by_position(
    model: TinyTransformer, blocks: text.Blocks, *, length: int
) -> Float[Tensor, " length"]:
    """Held-out loss after 1, 2, … ``length`` bytes of context, in nats a byte.

    The blocks are read in pieces that do not overlap, each from its first byte on: entry p is the
    mean loss, over all pieces, of the byte after the one at position p.
    """
    return losses(model, text.pieces(blocks, length=length)).mean(0)


def sliding_loss(
    model: TinyTransformer, held_out: text.Blocks, length: int, longest: int
) -> tuple[float, int]:
    """Mean held-out loss with n/2 to n bytes of context, nats a byte, and how many were judged.

    The text is read in windows of n = ``length`` bytes that advance by n/2, and the second half of
    each is judged: the same bytes for every length that divides the longest.
    """
    first = longest // 2
    end = (held_out.shape[1] - 1) // first * first  # where the last of the longest windows ends
    examples = text.sliding(held_out[:, : end + 1], length=length, first=first)
    judged = examples.targets >= 0
    return float(losses(model, examples)[judged].mean()), int(judged.sum())


@torch.no_grad()
def entropy_by_query(
    model: TinyTransformer, tokens: Int[Tensor, "batch seq"]
) -> Float[Tensor, "layers heads seq"]:
    """Entropy of the attention of each head, in nats, by the query's place; mean over the batch.

    The model is a causal one.
    """
    _, weights = model(tokens, need_weights=True)
    return torch.stack([entropy(one).mean(0) for one in weights])


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
        model: a causal one.
        stretches: text, cut into pieces from its start; one byte more than the pieces, the
            successor of the last.
        piece: bytes a piece.
        remembered: which pieces to remember, counted from 0; all are before the last.
        places: the position at which each of them is to start.
        own_place: the position at which the last piece starts.
    """
    validation.integer("piece", piece)
    last = (stretches.shape[1] - 1) // piece - 1
    row = torch.arange(piece, device=stretches.device)
    parts: list[list[KVCache]] = []
    for number, start in zip(remembered, places, strict=True):
        validation.below("remembered", number, last, "the last piece")
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
        texts, count = len(one.keys), len(one)
        at = all_of.places(texts, count, one.positions.device, one.positions)
        all_of.keep(*all_of.joined(one.keys, one.values), at)
    return all_of
