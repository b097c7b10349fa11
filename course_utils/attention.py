"""Multi-head attention that calls the four doors of any encoding and knows none by name."""

from __future__ import annotations

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import PositionalEncoding, Positions

Sequence = Float[Tensor, "batch seq d_model"]
Weights = Float[Tensor, "batch heads q_len k_len"]


class MultiHeadAttention(nn.Module):
    """softmax(scale · q·kᵀ + bias [+ causal mask]) · v + values, with position at four doors.

    Args:
        d_model: width of input and output.
        n_heads: number of heads; must divide ``d_model``.
        encoding: where position comes in; None for nowhere.
        causal: True hides every key whose position is after the query's.

    Raises:
        TypeError, ValueError: if ``n_heads`` does not divide ``d_model``, or ``encoding`` is
            not a PositionalEncoding.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        encoding: PositionalEncoding | None = None,
        causal: bool = False,
    ) -> None:
        super().__init__()
        self.d_head = validation.heads(d_model, n_heads)
        self.d_model, self.n_heads = int(d_model), int(n_heads)
        if encoding is not None and not isinstance(encoding, PositionalEncoding):
            raise TypeError(
                f"encoding must be a PositionalEncoding or None, got {type(encoding).__name__} "
                f"{encoding!r}; encodings.create(name, …) makes one from a name"
            )
        if not isinstance(causal, bool):
            raise TypeError(f"causal must be True or False, got {type(causal).__name__} {causal!r}")
        if encoding is not None and (encoding.d_model, encoding.n_heads) != (d_model, n_heads):
            raise ValueError(
                "encoding must be made for this attention's d_model and n_heads, "
                f"{d_model} and {n_heads}, got {encoding.d_model} and {encoding.n_heads}"
            )
        self.encoding = PositionalEncoding(d_model, n_heads) if encoding is None else encoding
        self.causal = causal
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4)
        )

    def forward(
        self, x: Sequence, positions: Positions | None = None, need_weights: bool = False
    ) -> tuple[Sequence, Weights | None]:
        """Attend with all four doors.

        Args:
            x: (batch, seq, d_model) token embeddings without position.
            positions: (seq,) positions of the tokens; None for 0, 1, 2, …
            need_weights: True returns the weights too and computes the softmax step by step;
                False uses PyTorch's fused attention. The output is the same to rounding.

        Returns:
            The output, (batch, seq, d_model), and the weights, (batch, heads, seq, seq), or None.

        Raises:
            TypeError, ValueError: if ``x`` has another dtype than the weights, another shape or
                is empty, or ``positions`` does not fit it.
        """
        x, row = self._checked(x, positions)
        return self._attend(self.encoding.embed(x, row), row, positions is None, need_weights)

    def attend(
        self, x: Sequence, positions: Positions | None = None, need_weights: bool = False
    ) -> tuple[Sequence, Weights | None]:
        """Like :meth:`forward` without door 1, for a model that has passed it already."""
        x, row = self._checked(x, positions)
        return self._attend(x, row, positions is None, need_weights)

    def _checked(self, x: Tensor, positions: Tensor | None) -> tuple[Tensor, Tensor]:
        shape = f"(batch, seq, {self.d_model})"
        x = validation.floating("x", x, shape, ndim=3)
        if x.shape[-1] != self.d_model:
            raise ValueError(f"x must have shape {shape}, got {tuple(x.shape)}")
        weight = self.W_q.weight
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise TypeError(f"x must be {weight.dtype} like the weights, got {x.dtype}")
        return x, validation.positions_or_count("positions", positions, x.shape[1], x.device)

    def _attend(
        self, x: Tensor, positions: Tensor, in_order: bool, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        split = "batch seq (heads d_head) -> batch heads seq d_head"
        q, k, v = (
            rearrange(W(x), split, heads=self.n_heads) for W in (self.W_q, self.W_k, self.W_v)
        )
        q, k = self.encoding.rotate(q, k, positions, positions)
        bias = self.encoding.bias(q, k, positions, positions)
        scale = self.encoding.scale(self.d_head)
        explicit = need_weights or "values" in self.encoding.doors
        fully_fused = not explicit and bias is None and in_order
        # Positions decide what is hidden, not places in the row: shuffled positions work too.
        masked = self.causal and not fully_fused
        hidden = positions[None, :] > positions[:, None] if masked else None  # (q, k)
        weights: Tensor | None = None
        if explicit:
            weights = attention_weights(q, k, scale, bias, hidden)
            out = weights @ v
            extra = self.encoding.values(weights, positions, positions)
            out = out if extra is None else out + extra
        elif fully_fused:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=scale)
        else:
            mask = bias if bias is None else bias.to(q.dtype)
            if hidden is not None:
                mask = ~hidden if mask is None else mask.masked_fill(hidden, -torch.inf)
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
        merged = rearrange(out, "batch heads seq d_head -> batch seq (heads d_head)")
        return self.W_o(merged), weights if need_weights else None


def attention_weights(
    q: Float[Tensor, "*lead q_len d_head"],
    k: Float[Tensor, "*lead k_len d_head"],
    scale: float,
    bias: Tensor | None = None,
    hidden: Tensor | None = None,
) -> Float[Tensor, "*lead q_len k_len"]:
    """softmax(scale · q·kᵀ + bias) over the keys; where ``hidden`` is True the weight is 0.

    Args:
        q: (…, q_len, d_head) queries.
        k: (…, k_len, d_head) keys.
        scale: factor on q·k.
        bias: added to the scores, broadcastable to (…, q_len, k_len).
        hidden: boolean, broadcastable likewise.

    Source: Vaswani et al. 2017, equation 1.
    """
    scores = scale * q @ k.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    return scores.softmax(dim=-1)
