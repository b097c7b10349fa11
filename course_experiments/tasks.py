"""The tasks on made-up sequences that only the experiments ask; others are in ``texts.tasks``."""

import torch

from course_utils import validation
from course_utils.texts.tasks import IGNORED_TARGET, Examples, random_tokens


def backwards(*, length: int, batch: int, vocab_size: int, generator: torch.Generator) -> Examples:
    """Say a sequence backwards: a question about places counted from the end.

    Each row is ``length`` symbols, the sign ``vocab_size`` for "now you", and the symbols from the
    last to the second; from the sign on, each token names the next symbol backwards. So rows have
    2 · ``length`` tokens and a model needs ``vocab_size`` + 1 ids.
    """
    symbols = random_tokens(length, batch, vocab_size, generator)
    sign = torch.full((batch, 1), vocab_size)
    mirrored = symbols.flip(1)  # (batch, length)
    tokens = torch.cat([symbols, sign, mirrored[:, :-1]], dim=1)  # (batch, 2 · length)
    ignored = torch.full_like(symbols, IGNORED_TARGET)
    return Examples(tokens, torch.cat([ignored, mirrored], dim=1))


def token_after_marker(
    *,
    length: int,
    batch: int,
    vocab_size: int,
    generator: torch.Generator,
    marker: int | None = None,
) -> Examples:
    """Name the symbol after a marker that stands anywhere: a question about neighbours.

    Rows have ``length`` tokens: symbols, among them once the marker ``vocab_size``, and at the end
    the sign ``vocab_size`` + 1, the only token with a target. A model needs ``vocab_size`` + 2
    ids, and ``length`` is 3 or more. The place of the ``marker``, up to ``length`` − 3, is drawn
    for each row if it is not given.
    """
    validation.integer("length", length, minimum=3)
    tokens = random_tokens(length, batch, vocab_size, generator)
    rows = torch.arange(batch)
    places = torch.randint(length - 2, (batch,), generator=generator)
    if marker is not None:
        places.fill_(validation.below("marker", marker, length - 2, "the last place for it"))
    tokens[rows, places], tokens[:, -1] = vocab_size, vocab_size + 1
    targets = torch.full_like(tokens, IGNORED_TARGET)
    targets[:, -1] = tokens[rows, places + 1]
    return Examples(tokens, targets)
