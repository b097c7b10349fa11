"""Tasks on made-up sequences that isolate one question about position, and how they are judged.

Each task is a function that draws a fresh batch; the answer hangs on places or offsets alone.
"""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import Positions

IGNORED_TARGET = -100  # of a token without a question; cross_entropy leaves it out


class Examples(NamedTuple):
    """Token ids of sequences, and the answer at each: an id, or ``IGNORED_TARGET`` for none."""

    tokens: Int[Tensor, "batch seq"]
    targets: Int[Tensor, "batch seq"]

    def to(self, device: torch.device) -> "Examples":
        """The same examples on another device."""
        return Examples(self.tokens.to(device), self.targets.to(device))


def token_at_offset(
    offset: int, *, length: int, batch: int, vocab_size: int, generator: torch.Generator
) -> Examples:
    """Every token names the token at j − i = ``offset`` from it: a question about offsets only.

    An offset of −1 stands for the token before, 1 for the one after, 0 for the token itself. It
    reaches less than ``length``. The tokens are :func:`random_tokens`.
    """
    tokens = random_tokens(length, batch, vocab_size, generator)
    if validation.integer("offset", offset, minimum=1 - length) >= length:
        raise ValueError(f"offset must reach less than the length, {length}, got {offset}")
    place = torch.arange(length) + offset
    outside = (place < 0) | (place >= length)
    targets = tokens[:, place.clamp(0, length - 1)]
    return Examples(tokens, targets.masked_fill(outside, IGNORED_TARGET))


def token_at_place(
    place: int, *, length: int, batch: int, vocab_size: int, generator: torch.Generator
) -> Examples:
    """Every token from ``place`` on names the token at ``place``: a question about places only.

    Arguments as :func:`token_at_offset`, with ``place`` from 0 to ``length`` − 1.
    """
    tokens = random_tokens(length, batch, vocab_size, generator)
    validation.below("place", place, length, "the length")
    targets = tokens[:, place : place + 1].expand(-1, length).clone()
    targets[:, :place] = IGNORED_TARGET  # a causal model has not seen it yet
    return Examples(tokens, targets)


def loss(model: nn.Module, examples: Examples, positions: Positions | None = None) -> Tensor:
    """Mean cross-entropy of the tokens that have a target, in nats."""
    logits = model(examples.tokens, positions).flatten(0, 1)
    return F.cross_entropy(logits, examples.targets.flatten(), ignore_index=IGNORED_TARGET)


def accuracy(model: nn.Module, examples: Examples, positions: Positions | None = None) -> float:
    """Share of right answers among the tokens that have a target, between 0 and 1."""
    with torch.no_grad():
        answers = model(examples.tokens, positions).argmax(-1)
    has_target = examples.targets != IGNORED_TARGET
    return float((answers == examples.targets)[has_target].float().mean())


def random_tokens(
    length: int, batch: int, vocab_size: int, generator: torch.Generator
) -> Int[Tensor, "batch seq"]:
    """``batch`` sequences of ``length`` ids, drawn evenly from 0 to ``vocab_size`` − 1."""
    validation.integer("length", length)
    validation.integer("batch", batch)
    validation.integer("vocab_size", vocab_size, minimum=2)
    validation.instance("generator", generator, torch.Generator, "a torch.Generator")
    return torch.randint(vocab_size, (batch, length), generator=generator)
