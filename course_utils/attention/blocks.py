"""The fast path of causal attention whose bias depends on the offset alone, and its slow twin.

Queries are taken in blocks, so that bias and weights of a long text never exist as a whole: less
memory, and half of the work is never done.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_utils.encodings.offsets import toeplitz
from course_utils.encodings.positions import Places

BLOCK = 128  # queries

# Keys with less than e^-40 of the largest weight are hidden: a million of them are 4e-12 of the
# sum. They change no digit of it, but weights near 1e-38 take some processors 100 times as long.
NEGLIGIBLE_LOG_WEIGHT = 40.0

Queries = Float[Tensor, "batch heads q_len d_head"]
Keys = Float[Tensor, "batch kv_heads k_len d_head"]
Diagonals = Float[Tensor, "heads diagonals"]


def attend_by_offset(
    q: Queries, k: Keys, v: Keys, at: Places, bias: Diagonals, scale: float
) -> Queries:
    """softmax(scale · q·kᵀ + bias + causal mask) · v, a block of the queries at a time.

    Args:
        q, k, v: queries, and keys and values with as many heads or fewer.
        at: their positions: consecutive, ascending, without padding.
        bias: of each diagonal, lowest offset first: (heads, q_len + k_len − 1).
        scale: factor on q·k.
    """
    if torch.compiler.is_compiling():  # a loop would fix how many blocks there are
        return attend_by_offset_at_once(q, k, v, at, bias, scale)
    bias = without_negligible(mask_later(bias, at), q, k, scale).to(q.dtype)
    # With the last key first, each row of the matrix is the one before it, moved by one entry. So
    # the matrix is a view of its diagonals, and the softmax does not mind the order of the keys.
    k, v = k.flip(2), v.flip(2)
    outs = []
    for rows, block in at.blocks(BLOCK, causal=True):
        diagonals = bias[:, block.own_diagonals].flip(-1)
        matrix = diagonals.unfold(-1, block.k_len, 1)  # (heads, q_len, k_len)
        if matrix.device.type != "cpu":
            matrix = matrix.contiguous()  # a GPU reads it aligned
        keys, values = k[:, :, -block.k_len :], v[:, :, -block.k_len :]
        outs.append(_fused(q[:, :, rows], keys, values, matrix, scale))
    return outs[0] if len(outs) == 1 else torch.cat(outs, dim=2)


def attend_by_offset_at_once(
    q: Queries, k: Keys, v: Keys, at: Places, bias: Diagonals, scale: float
) -> Queries:
    """The slow twin of :func:`attend_by_offset`: one matrix for all queries and keys."""
    matrix = toeplitz(mask_later(bias, at).to(q.dtype), at.q_len, at.k_len)
    return _fused(q, k, v, matrix, scale)


def mask_later(bias: Diagonals, at: Places) -> Diagonals:
    """The bias with −inf on the diagonals of keys that stand after the query."""
    return bias.masked_fill(at.diagonal_offsets > 0, -torch.inf)


def without_negligible(bias: Diagonals, q: Queries, k: Keys, scale: float) -> Diagonals:
    """The bias with −inf where it leaves a key no weight to speak of, whatever q·k is.

    The bias must be that of ascending positions. Then each query sees its own key, and a key's
    weight is at most that of the own key times e^(its bias − the own key's bias + spread).
    """
    own_key = bias[:, k.shape[2] - 1 : k.shape[2]]  # the diagonal of offset 0
    least = own_key - NEGLIGIBLE_LOG_WEIGHT - score_spread(q, k, scale)[:, None]
    return bias.masked_fill(bias < least, -torch.inf)


def score_spread(q: Queries, k: Keys, scale: float) -> Float[Tensor, " heads"]:
    """How far apart two scores of one query can be at most, for each head.

    No score is further from 0 than the longest query times the longest key.
    """
    group = q.shape[1] // k.shape[1]
    longest_q = torch.linalg.vector_norm(q.detach().float(), dim=-1).amax((0, 2))
    longest_k = torch.linalg.vector_norm(k.detach().float(), dim=-1).amax((0, 2))
    return 2 * scale * longest_q * longest_k.repeat_interleave(group)


def _fused(q: Tensor, k: Tensor, v: Tensor, matrix: Tensor, scale: float) -> Tensor:
    grouped = k.shape[1] < q.shape[1]
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=matrix[None], scale=scale, enable_gqa=grouped
    )
