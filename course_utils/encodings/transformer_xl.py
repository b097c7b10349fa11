"""Transformer-XL: the query also meets the sinusoidal encoding of i − j, and two learned vectors.

    e_ij = [(q_i + u) · k_j + (q_i + v) · W_r R(i − j)]/√d

Source: Dai et al. 2019, arXiv 1901.02860, section 3.3.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Bias, Keys, Look, PositionalEncoding, Queries, for_each_head
from course_utils.encodings.offsets import skew
from course_utils.encodings.positions import Places
from course_utils.encodings.sinusoidal import sinusoidal_table


def sinusoidal_scores(
    g: Float[Tensor, "*lead q_len d_model"],
    q_pos: Num[Tensor, "*batch q_len"],
    k_pos: Num[Tensor, "*batch k_len"],
) -> Float[Tensor, "*lead q_len k_len"]:
    """g_i · R(i − j), R the sinusoidal encoding of i − j, for positions in any order.

    No R(i − j) is ever made: by the addition theorems R(i − j) is R(j) turned by an angle that
    depends on i alone, so g_i is turned instead and then multiplied with R(j).
    """
    d_model = g.shape[-1]
    here, there = (
        sinusoidal_table(row.double() if g.dtype == torch.float64 else row, d_model).to(g.dtype)
        for row in (q_pos, k_pos)
    )  # (q_len, d_model), (k_len, d_model)
    if here.ndim == 3:  # a row for each text, the same for all heads
        here, there = here[:, None], there[:, None]
    sin, cos = here[..., 0::2], here[..., 1::2]  # (q_len, pairs), of i·θ
    on_sin, on_cos = g[..., 0::2], g[..., 1::2]  # what multiplies sin and cos of (i − j)·θ
    turned = torch.stack([on_cos * sin - on_sin * cos, on_sin * sin + on_cos * cos], dim=-1)
    return turned.flatten(-2) @ there.mT


class TransformerXL(PositionalEncoding):
    """Transformer-XL's relative positions at door 3: what goes beyond q_i · k_j is the bias.

    R has its sines in the even columns and cosines in the odd ones, as everywhere in this course.
    The authors' released code and XLNet put all sines first (the paper does not say), so their W_r
    has its columns in another order: column m of theirs is column 2m of ours, D/2 + m of theirs
    2m + 1 of ours. ``d_model`` is an even number.
    """

    look = Look("#02adb4", "X", (0, (10, 2)))
    shared = False
    offsets_only = True

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        validation.even("d_model", d_model)
        self.u = nn.Parameter(torch.randn(n_heads, self.d_head) * 0.02)
        self.v = nn.Parameter(torch.randn(n_heads, self.d_head) * 0.02)
        self.W_r = nn.Linear(d_model, d_model, bias=False)

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return [u · k_j + (q_i + v) · W_r R(i − j)]/√d, float32 at least; fractions are fine."""
        at = self._check(q, k, at)
        dtype = torch.promote_types(q.dtype, torch.float32)
        q, k, u, v = q.to(dtype), k.to(dtype), self.u.to(dtype), self.v.to(dtype)
        scale = self.scale(self.d_head)
        W = self.W_r.weight.to(dtype).unflatten(0, (self.n_heads, self.d_head))  # (h, d_head, D)
        queries = scale * (q + v[:, None])  # (batch, h, q_len, d_head)

        def R(offsets: Tensor) -> Tensor:  # (diagonals) → (D, diagonals), of i − j
            row = offsets.double() if dtype == torch.float64 else offsets
            return sinusoidal_table(-row, self.d_model).to(dtype).T

        # Consecutive positions share their offsets: each is projected once. A single query
        # shares nothing, and projecting an R for every key would cost more than the scores.
        if at.consecutive and at.q_len > 1:
            table = at.diagonals(R, key=("R", self.d_model, dtype))  # (D, diagonals)
            by_position = skew(queries @ (W @ table))
        else:
            by_position = sinusoidal_scores(queries @ W, at.q, at.k)
        return by_position + (scale * u[:, None]) @ for_each_head(k, self.n_heads).mT
