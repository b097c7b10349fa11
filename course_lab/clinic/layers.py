"""Attention layers to examine, and texts for them to read."""

import torch
from torch import Tensor

from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings.base import PositionalEncoding

GAIN = 3.0  # factor on the queries: a fresh layer's weights would be nearly uniform


def layer(
    encoding: PositionalEncoding,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    causal: bool = True,
    name: str = "a layer",
) -> MultiHeadAttention:
    """Return a fresh attention layer with this encoding; its weights follow from the seed.

    ``name`` is what messages call it.
    """
    with isolated_rng(seed):
        attention = MultiHeadAttention(encoding.d_model, encoding.n_heads, encoding, causal)
    with torch.no_grad():
        attention.W_q.weight *= GAIN
    attention.__name__ = name  # type: ignore[assignment]
    return attention.to(dtype).requires_grad_(False).eval()


def words(
    layer: MultiHeadAttention, texts: int = 1, n: int = 16, *, same: bool = False, seed: int = 0
) -> Tensor:
    """Return made-up words that a layer can read: (texts, n, d_model), in its dtype.

    With ``same`` all words of a text are the same word.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(texts, 1 if same else n, layer.d_model, generator=generator)
    weight = layer.W_q.weight
    return drawn.expand(-1, n, -1).to(weight.device, weight.dtype).clone()
