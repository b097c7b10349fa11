"""One text, read by a layer in another way: from a far start, in pieces, among other texts."""

import torch
from torch import Tensor

from course_lab.clinic.layers import words
from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import KVCache

ALLOWED = 1e-3  # what a healthy layer's output may be off, by rounding
PIECE = 5  # words


def changes(
    layer: MultiHeadAttention,
    start: int = 0,
    in_pieces: bool = False,
    among_others: bool = False,
    n: int = 16,
) -> Tensor:
    """Return by how much the output for each of n words changes, read in this way: (n,).

    The text is the last of three, which else is read alone, at once and from position 0.
    """
    texts = words(layer, texts=3, n=n)
    plain = layer(texts[2:])[0][-1]
    cache, piece = (KVCache(), PIECE) if in_pieces else (None, n)
    parts = texts[0 if among_others else 2 :].split(piece, dim=1)
    positions = (start + torch.arange(n)).split(piece)
    read = [layer(part, at, cache=cache)[0] for part, at in zip(parts, positions, strict=True)]
    return (torch.cat(read, dim=1)[-1] - plain).abs().amax(1)
