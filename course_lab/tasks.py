"""A task on made-up sequences that only lessons ask; others are in ``texts.tasks``."""

import torch

from course_utils import validation
from course_utils.texts.tasks import IGNORED_TARGET, Examples, random_tokens


def token_at_place(
    place: int, *, length: int, batch: int, vocab_size: int, generator: torch.Generator
) -> Examples:
    """Every token from ``place`` on names the token at ``place``: a question about places only.

    Arguments as ``texts.tasks.token_at_offset``, with ``place`` from 0 to ``length`` − 1.
    """
    tokens = random_tokens(length, batch, vocab_size, generator)
    validation.below("place", place, length, "the length")
    targets = tokens[:, place : place + 1].expand(-1, length).clone()
    targets[:, :place] = IGNORED_TARGET  # a causal model has not seen it yet
    return Examples(tokens, targets)
