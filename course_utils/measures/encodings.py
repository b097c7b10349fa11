"""Measures of attention modules and of encodings as a whole."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import Places, PositionalEncoding, Positions


def equivariance_error(
    attention: Callable[[Tensor], Tensor | tuple[Tensor, Tensor | None]],
    x: Float[Tensor, "batch seq d_model"],
) -> float:
    """Largest difference between "shuffle, then attend" and "attend, then shuffle".

    With y = attention(x) and a permutation π it compares attention(x[:, π]) with y[:, π], for
    the reversal and three random permutations. Rounding alone gives about 1e-7 in float32.
    ``attention`` keeps the shape of x, or returns a tuple that starts with such a tensor.
    """
    validation.instance("attention", attention, Callable, "a module or function")
    x = validation.floating("x", x, "(batch, seq, d_model)", ndim=3)
    n = validation.integer("number of tokens in x", x.shape[1], minimum=2)

    def output(values: Tensor) -> Tensor:
        returned = attention(values)
        return returned[0] if isinstance(returned, tuple) else returned

    generator = torch.Generator().manual_seed(0)
    orders = [torch.arange(n).flip(0), *(torch.randperm(n, generator=generator) for _ in range(3))]
    with torch.no_grad():
        y = output(x)
        gaps = [(output(x[:, order]) - y[:, order]).abs().max() for order in orders]
        return float(torch.stack(gaps).max())  # a NaN stays one


def position_scores(
    encoding: PositionalEncoding,
    x: Float[Tensor, "batch seq d_model"],
    positions: Positions,
    tokens: Int[Tensor, "batch seq"] | None = None,
) -> Float[Tensor, "batch heads seq seq"]:
    """The scores, before mask and softmax, when queries and keys are the tokens themselves.

    Stands for attention without learned projections, so that what differs between two calls is
    position alone. ``tokens`` are ids for an encoding that looks at words; None takes the same
    word everywhere.
    """
    validation.instance("encoding", encoding, PositionalEncoding, "a PositionalEncoding")
    x = validation.floating("x", x, f"(batch, seq, {encoding.d_model})", ndim=3)
    if x.shape[-1] != encoding.d_model:
        raise ValueError(f"x must be {encoding.d_model} wide, got {tuple(x.shape)}")
    validation.positions("positions", positions, length=x.shape[1])
    if tokens is None:
        tokens = torch.zeros(x.shape[:2], dtype=torch.long, device=x.device)
    x = encoding.embed(x, positions, tokens)
    heads = x.unflatten(-1, (encoding.n_heads, -1)).transpose(1, 2)
    at = Places(positions)
    q, k = encoding.rotate(heads, heads, at)
    scores = encoding.scale(heads.shape[-1]) * q @ k.transpose(-1, -2)
    bias = encoding.bias(q, k, at)
    return scores if bias is None else scores + bias


def fingerprint(encoding: PositionalEncoding, length: int) -> Float[Tensor, "heads length length"]:
    """The scores of rows of identical tokens, averaged over tokens: what every token shares.

    One random token stands at every place, with queries and keys equal to the tokens. Scores
    are averaged over 64 such rows: 32 random tokens, always the same, and their negatives. So
    terms that change sign with the token cancel, and the scores of a single row look different:
    word times position in a scheme that adds to the embeddings, query times offset in others
    (Shaw, Transformer-XL, DeBERTa, CoPE). Mask and softmax come later: entries above the diagonal
    mean nothing where ``encoding.causal`` is True.

    Row = query position, column = key position, counted from 0, with device and dtype of the
    encoding's own floating-point tensors (float32 on the CPU if it has none).
    """
    return scores_of_identical_tokens(encoding, length)[0].mean(0)


@torch.no_grad()
def scores_of_identical_tokens(encoding: PositionalEncoding, length: int) -> tuple[Tensor, Tensor]:
    """Scores of rows of identical tokens, with the encoding and without any position."""
    n = validation.integer("length", length)
    validation.instance("encoding", encoding, PositionalEncoding, "a PositionalEncoding")
    tensors = [*encoding.parameters(), *encoding.buffers(), torch.empty(0)]
    like = next(filter(torch.is_floating_point, tensors))  # in device and dtype
    token = torch.randn(32, 1, encoding.d_model, generator=torch.Generator().manual_seed(0))
    x = torch.cat([token, -token]).expand(-1, n, -1).to(like)  # (64, n, d_model)
    heads = x[:, :1].unflatten(-1, (encoding.n_heads, -1)).transpose(1, 2)
    plain = encoding.scale(heads.shape[-1]) * heads.square().sum(-1, keepdim=True)
    return position_scores(encoding, x, torch.arange(n, device=like.device)), plain
