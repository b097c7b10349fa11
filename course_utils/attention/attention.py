"""Multi-head attention that calls the four doors of any encoding and knows none by name."""

import functools
from collections.abc import Callable

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention.kv_cache import KVCache, places
from course_utils.encodings.base import PositionalEncoding, for_each_head
from course_utils.encodings.log_n import log_n_of
from course_utils.encodings.positions import Places, Positions

Sequence = Float[Tensor, "batch seq d_model"]
Weights = Float[Tensor, "batch heads q_len k_len"]


# Queries are taken in blocks of this many, so that bias and weights of a long text never exist
# as a whole: less memory, and in the causal case half of the work is never done.
BLOCK = 128


class MultiHeadAttention(nn.Module):
    """softmax(scale · q·kᵀ + bias [+ causal mask]) · v + values, with position at four doors.

    Args:
        d_model: width of input and output.
        n_heads: number of heads; must divide ``d_model``.
        encoding: where position comes in; None for nowhere.
        causal: True hides every key whose position is after the query's.
        n_kv_heads: heads of keys and values; must divide ``n_heads``, so that as many queries'
            heads share each (Ainslie et al. 2023, arXiv 2305.13245). None for ``n_heads``.
        log_n: the length L a model was trained with; scores of a query that sees n > L keys are
            then multiplied by log n / log L (Su, kexue.fm 8823). None leaves them as they are.
        projection_bias: True adds a learned vector after each of the four projections, as BERT.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        encoding: PositionalEncoding | None = None,
        causal: bool = False,
        log_n: int | None = None,
        n_kv_heads: int | None = None,
        projection_bias: bool = False,
    ) -> None:
        super().__init__()
        self.d_head = validation.heads(d_model, n_heads)
        self.d_model, self.n_heads = int(d_model), int(n_heads)
        self.n_kv_heads = self.n_heads if n_kv_heads is None else n_kv_heads
        validation.divisor("n_kv_heads", self.n_kv_heads, "n_heads", self.n_heads)
        encoding = PositionalEncoding(d_model, n_heads) if encoding is None else encoding
        if not isinstance(encoding, PositionalEncoding):
            raise TypeError(
                f"encoding must be a PositionalEncoding or None, got {type(encoding).__name__} "
                f"{encoding!r}; encodings.create(name, …) makes one from a name"
            )
        self.causal = validation.boolean("causal", causal)
        encoding.check_fits(d_model, n_heads, causal)
        self.encoding = encoding
        self.log_n = None if log_n is None else validation.integer("log_n", log_n, minimum=2)
        narrow = self.n_kv_heads * self.d_head
        more = validation.boolean("projection_bias", projection_bias)
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, width, bias=more) for width in (d_model, narrow, narrow, d_model)
        )

    def forward(
        self,
        x: Sequence,
        positions: Positions | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
        tokens: Int[Tensor, "batch seq"] | None = None,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
        *,
        at: Places | None = None,
    ) -> tuple[Sequence, Weights | None]:
        """Attend with all four doors.

        Args:
            x: token embeddings without position.
            positions: of the tokens, for all texts or for each; None counts on from the cache, or
                from 0, and leaves out padding.
            need_weights: True returns the weights too and computes the softmax step by step;
                False uses PyTorch's fused attention. The output is the same to rounding.
            cache: what this module has read before; ``x`` is then what follows, and the cache
                holds it too afterwards. Only for causal attention.
            tokens: ids of the words, for encodings that look at them.
            attention_mask: True where a key may be seen, False where it is padding, the cache's
                keys first; None hides what was hidden when it was read, and nothing else. A query
                that may see no key at all gets 0.
            at: what :func:`places` makes, in place of positions and mask: from a model that has
                made it for all its layers, and has passed door 1.

        Returns:
            The output, and the weights, (batch, heads, seq, keys), or None. There are ``seq`` keys,
            and those of the cache before them.
        """
        self._check(x, cache)
        if at is None:
            at = places(x, positions, cache, attention_mask)
            x = self.encoding.embed(x, at.words, tokens)
        split = "batch seq (heads d_head) -> batch heads seq d_head"
        q, k, v = (
            rearrange(W(x), split, d_head=self.d_head) for W in (self.W_q, self.W_k, self.W_v)
        )
        once = self.encoding.static_keys
        if once:
            q, k = self.encoding.rotate(q, k, at.own)
        if cache is not None:
            k, v = read = cache.joined(k, v)
        if not once:
            q, k = self.encoding.rotate(q, k, at)
        out, weights = self._mix(q, k, v, at, need_weights)
        if cache is not None:
            cache.keep(*read, at)
        merged = rearrange(out, "batch heads seq d_head -> batch seq (heads d_head)")
        return self.W_o(merged), weights

    def attend(
        self,
        x: Sequence,
        positions: Positions | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
        attention_mask: Bool[Tensor, "batch keys"] | None = None,
    ) -> tuple[Sequence, Weights | None]:
        """Like :meth:`forward` without door 1."""
        self._check(x, cache)
        at = places(x, positions, cache, attention_mask)
        return self(x, None, need_weights, cache, at=at)

    def _check(self, x: Tensor, cache: KVCache | None) -> None:
        shape = f"(batch, seq, {self.d_model})"
        x = validation.floating("x", x, shape, ndim=3)
        if x.shape[-1] != self.d_model:
            raise ValueError(f"x must have shape {shape}, got {tuple(x.shape)}")
        weight = self.W_q.weight
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise TypeError(f"x must be {weight.dtype} like the weights, got {x.dtype}")
        if cache is not None and not isinstance(cache, KVCache):
            raise TypeError(f"cache must be a KVCache, got {type(cache).__name__} {cache!r}")
        if cache is not None and not self.causal:
            raise ValueError(
                f"cache must be None where attention is not causal, got {cache!r}: earlier tokens "
                "would have to be read again with the later ones in sight"
            )

    def _mix(
        self, q: Tensor, k: Tensor, v: Tensor, at: Places, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Doors 3 and 4 for queries, keys and values of all heads, in blocks of the queries."""
        # An exported model serves every length, so how many blocks there are must not be asked.
        if need_weights or torch.compiler.is_exporting() or at.k_len <= BLOCK or self._is_plain(at):
            return self._block(q, k, v, at, need_weights)
        # What is compiled reads no values, so it never asks how far apart the scores are.
        compiling = torch.compiler.is_compiling()
        outs, spread = [], None if compiling else functools.cache(lambda: self._spread(q, k))
        for rows, part in at.blocks(BLOCK, self.causal):
            keys, values = k[:, :, : part.k_len], v[:, :, : part.k_len]
            out, _ = self._block(q[:, :, rows].flip(2), keys, values, part, False, spread)
            outs.append(out.flip(2))
        # Fused attention lays out its results as (batch, seq, heads, d_head), which merges freely.
        return torch.cat([out.transpose(1, 2) for out in outs], dim=1).transpose(1, 2), None

    def _is_plain(self, at: Places) -> bool:
        """Whether fused attention can do everything by itself, without a matrix of scores."""
        doors = self.encoding.doors
        mask_is_known = not self.causal or (at.ascending and at.q_len in (1, at.k_len))
        mask_is_known = mask_is_known and at.visible is None
        return mask_is_known and "bias" not in doors and "values" not in doors

    def _spread(self, q: Tensor, k: Tensor) -> Tensor:
        """How far apart the scores of one query can be, at most: (heads,).

        No score is further from 0 than the longest query times the longest key.
        """
        longest_q, longest_k = (
            torch.linalg.vector_norm(one.detach().float(), dim=-1).amax((0, 2)) for one in (q, k)
        )
        group = self.n_heads // self.n_kv_heads
        return 2 * self.encoding.scale(self.d_head) * longest_q * longest_k.repeat_interleave(group)

    def _block(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        at: Places,
        need_weights: bool,
        spread: Callable[[], Tensor] | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Scores, softmax and sum for some queries and the keys that they may see."""
        scale = self.encoding.scale(self.d_head)
        with torch.autocast(q.device.type, enabled=False):  # a bias needs more than half precision
            bias = self.encoding.bias(q, k, at)
        masked = at.masked(bias, spread)
        bias = bias if masked is None else masked
        # Positions decide what is hidden, not places in the row: shuffled positions work too.
        hides = self.causal and masked is None and not (at.ascending and at.q_len == 1)
        if self.log_n is not None:
            factor = log_n_of(at, self.log_n, self.causal, q.dtype)
            q = q * factor.to(q.dtype)
            bias = None if bias is None else bias * factor
        explicit = need_weights or "values" in self.encoding.doors
        grouped = self.n_kv_heads < self.n_heads
        if not explicit and self._is_plain(at) and bias is None:
            attend = F.scaled_dot_product_attention
            return attend(q, k, v, is_causal=hides, scale=scale, enable_gqa=grouped), None
        hidden = at.hidden if hides else at.padding
        if explicit:
            if bias is not None and hidden is not None and at.visible is not None:
                hidden = hidden | (bias == -torch.inf)  # both together may leave a query nothing
            k, v = for_each_head(k, self.n_heads), for_each_head(v, self.n_heads)
            weights = attention_weights(q, k, scale, bias, hidden)
            out = weights @ v
            extra = self.encoding.values(weights, at)
            return (out if extra is None else out + extra), weights if need_weights else None
        mask = bias if bias is None else bias.to(q.dtype)
        if hidden is not None:
            # where makes one pass; masked_fill would copy first and fill then.
            mask = ~hidden if mask is None else torch.where(hidden, -torch.inf, mask)
        attend = F.scaled_dot_product_attention
        return attend(q, k, v, attn_mask=mask, scale=scale, enable_gqa=grouped), None


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
        hidden: boolean, broadcastable likewise. A query that may see no key has weights of 0.

    Source: Vaswani et al. 2017, equation 1.
    """
    scores = scale * q @ k.transpose(-1, -2)
    if bias is not None:
        scores = scores + bias.to(scores.dtype)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -torch.inf)
    weights = scores.softmax(dim=-1)
    nothing = None if hidden is None else hidden.all(-1, keepdim=True)
    if nothing is None or (validation.readable(nothing) and not bool(nothing.any())):
        return weights
    return weights.masked_fill(nothing, 0)
