"""Measures of a trained model: its loss on every token and in sliding windows.

Nothing here trains. Not gathered in ``measures``, which loads without ``models``.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.models import TinyTransformer
from course_utils.texts import tasks, text

TOKENS_AT_ONCE = 2**12  # that a model reads in one pass: bounds the memory


@torch.no_grad()
def losses(model: TinyTransformer, examples: tasks.Examples) -> Float[Tensor, "batch seq"]:
    """Cross-entropy of every token, in nats, 0 where there is no target.

    Read on the model's device, and returned on the CPU.
    """
    rows_at_once = max(1, TOKENS_AT_ONCE // examples.tokens.shape[1])
    examples = examples.to(model.embedding.weight.device)
    all_losses = []
    for tokens, targets in zip(*(ids.split(rows_at_once) for ids in examples), strict=True):
        has_target = targets != tasks.IGNORED_TARGET
        logits = model.head(model.hidden(tokens)[has_target])  # (targets, vocab_size)
        loss = logits.new_zeros(targets.shape)
        loss[has_target] = F.cross_entropy(logits, targets[has_target], reduction="none")
        all_losses.append(loss)
    return torch.cat(all_losses).cpu()


def loss_by_position(
    model: TinyTransformer, blocks: text.Blocks, *, length: int
) -> Float[Tensor, " length"]:
    """Held-out loss after 1, 2, … ``length`` bytes of context, in nats a byte.

    Entry p is the mean loss, over all :func:`text.pieces`, of the byte after that at position p.
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
    judged = (examples.targets != tasks.IGNORED_TARGET).cpu()
    return float(losses(model, examples)[judged].mean()), int(judged.sum())
