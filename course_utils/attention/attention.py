"""Multi-head attention that calls the four doors of any encoding and knows none by name."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from einops import rearrange
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.attention import blocks
from course_utils.attention.kv_cache import KVCache, places_across, places_of
from course_utils.encodings.base import PositionalEncoding, for_each_head
from course_utils.encodings.log_n import log_n_of
from course_utils.encodings.positions import Places, Positions

Sequence = Float[Tensor, "batch seq d_model"]
Memory = Float[Tensor, "batch keys d_model"]
MemoryPositions = Num[Tensor, "*batch keys"]
Weights = Float[Tensor, "batch heads q_len k_len"]


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
        d_head: width of a head where it is not d_model / n_heads, as in Qwen3 and Gemma. The
            encoding is then made with d_model = n_heads · d_head, and cannot use door 1.
        qk_norm: divides each head's queries and keys by their root mean square, with this number
            under the root, and multiplies by a learned vector, before door 2 (Yang et al. 2025,
            Qwen3, arXiv 2505.09388, section 2); None for no norm.

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
        d_head: int | None = None,
        qk_norm: float | None = None,
    ) -> None:
        super().__init__()
        if d_head is None:
            self.d_head = validation.heads(d_model, n_heads)
        else:
            validation.integer("d_model", d_model)
            validation.integer("n_heads", n_heads)
            self.d_head = validation.integer("d_head", d_head)
        self.d_model, self.n_heads = int(d_model), int(n_heads)
        width = self.n_heads * self.d_head
        self.n_kv_heads = self.n_heads if n_kv_heads is None else n_kv_heads
        validation.divisor("n_kv_heads", self.n_kv_heads, "n_heads", self.n_heads)
        encoding = PositionalEncoding(width, n_heads) if encoding is None else encoding
        what = "a PositionalEncoding, as encodings.create(name, …) makes it, or None"
        validation.instance("encoding", encoding, PositionalEncoding, what)
        self.causal = validation.boolean("causal", causal)
        encoding.check_fits(width, n_heads, causal)
        if width != self.d_model and "embed" in encoding.doors:
            raise ValueError(
                f"encoding must leave door 1 shut where n_heads · d_head, {width}, is not d_model, "
                f"{d_model}, got {encoding!r}; add it to the embeddings outside"
            )
        self.encoding = encoding
        self.log_n = None if log_n is None else validation.integer("log_n", log_n, minimum=2)
        with_bias = validation.boolean("projection_bias", projection_bias)
        kv_width = self.n_kv_heads * self.d_head
        self.W_q = nn.Linear(d_model, width, bias=with_bias)
        self.W_k = nn.Linear(d_model, kv_width, bias=with_bias)
        self.W_v = nn.Linear(d_model, kv_width, bias=with_bias)
        self.W_o = nn.Linear(width, d_model, bias=with_bias)
        self.q_norm = self.k_norm = None
        if qk_norm is not None:
            eps = validation.positive("qk_norm", qk_norm)
            self.q_norm, self.k_norm = nn.RMSNorm(self.d_head, eps), nn.RMSNorm(self.d_head, eps)

    def forward(
        self,
        x: Sequence,
        positions: Positions | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
        tokens: Int[Tensor, "batch seq"] | None = None,
        attention_mask: Bool[Tensor, "batch *queries keys"] | None = None,
        *,
        at: Places | None = None,
        memory: Memory | None = None,
        memory_positions: MemoryPositions | None = None,
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
                that may see no key at all gets 0. (batch, seq, keys) has keys for each query, as
                :func:`document_mask` makes it for texts packed into one row.
            at: what :func:`places_of` makes, from a model that has made it for all its layers and
                has passed door 1 itself. It replaces positions and mask, so these must be None.
            memory: vectors of another text, which keys and values then come from (Vaswani et al.
                2017, section 3.2.3), with no causal mask and no cache. ``attention_mask`` is about
                its keys. It has passed door 1 already, if at all: each text has its own.
            memory_positions: of the memory. Doors 2 to 4 compare positions, so they need to be told
                where both texts stand on one line, and raise ValueError where they are not.

        Returns:
            The output, and the weights, (batch, heads, seq, keys), or None. There are ``seq`` keys,
            and those of the cache before them; with a memory its own.
        """
        self._check(x, cache)
        encoding = self.encoding
        if memory is not None:
            self._check_memory(x, memory, memory_positions, cache, at)
            at = places_across(x, memory, positions, memory_positions, attention_mask)
            x = self._of_shape("embed", encoding.embed(x, at.embedding_positions, tokens), x.shape)
            return self._across(x, memory, at, need_weights)
        if memory_positions is not None:
            raise ValueError("memory must be given with memory_positions, got None")
        if at is not None and not (positions is None and attention_mask is None):
            raise TypeError("positions and attention_mask must be None beside at, which has them")
        if at is None:
            at = places_of(x, positions, cache, attention_mask)
            embedded = encoding.embed(x, at.embedding_positions, tokens)  # door 1
            x = self._of_shape("embed", embedded, x.shape)
        if encoding.whole:
            at = at.whole()
        q, k, v = self._projected(x, x)
        if encoding.static_keys:  # door 2, before the cache: it keeps what door 2 returns
            q, k = self._rotated(q, k, encoding.rotate(q, k, at.queries_alone))
        if cache is not None:
            k, v = cache.joined(k, v)
        cached = k, v
        if not encoding.static_keys:  # door 2, after the cache: all keys pass it at every step
            q, k = self._rotated(q, k, encoding.rotate(q, k, at))
        out, weights = self._attend(q, k, v, at, need_weights)  # doors 3 and 4
        if cache is not None:
            cache.store(*cached, at)
        return self._merged(out), weights

    def attend(
        self,
        x: Sequence,
        positions: Positions | None = None,
        need_weights: bool = False,
        cache: KVCache | None = None,
        attention_mask: Bool[Tensor, "batch *queries keys"] | None = None,
    ) -> tuple[Sequence, Weights | None]:
        """Like :meth:`forward` without door 1."""
        self._check(x, cache)
        at = places_of(x, positions, cache, attention_mask)
        return self(x, None, need_weights, cache, at=at)

    def _across(
        self, x: Tensor, memory: Tensor, at: Places, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Attention of one text to another, past door 1."""
        if self.encoding.whole:
            at = at.whole()
        q, k, v = self._projected(x, memory)
        q, k = self._rotated(q, k, self.encoding.rotate(q, k, at))
        out, weights = self._attend(q, k, v, at, need_weights)
        return self._merged(out), weights

    def _projected(self, x: Tensor, source: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries of x, (batch, heads, seq, d_head); keys and values of the source, kv_heads."""
        q = self._split(self.W_q(x))
        k = self._split(self.W_k(source))
        v = self._split(self.W_v(source))
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        return q, k, v

    def _merged(self, out: Tensor) -> Tensor:
        """The heads side by side, and the last projection."""
        return self.W_o(rearrange(out, "batch heads seq d_head -> batch seq (heads d_head)"))

    def _attend(
        self, q: Tensor, k: Tensor, v: Tensor, at: Places, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """softmax(scale · q·kᵀ + bias) · v + values, and the weights where they are asked for.

        One of four ways, all with the same result:

        - the formula step by step, where the weights are needed, as by door 4;
        - fused attention without a matrix, where there is no bias and it knows the mask itself;
        - diagonal by diagonal, where bias and causal mask depend on the offset alone;
        - fused attention with bias and mask as a matrix, for all the rest.

        Long texts come in blocks of queries, so that no matrix of all scores is ever made.
        """
        doors = self.encoding.doors
        if need_weights:
            return self._step_by_step(q, k, v, at)
        if "values" in doors:
            return self._in_blocks(self._step_by_step, q, k, v, at), None
        if "bias" not in doors and self._mask_is_built_in(at):
            q, _ = self._sharpened(q, None, at)
            is_causal = self.causal
            if at.q_len == 1:  # not in one expression: of a compiled model's length it is a symbol
                is_causal = False
            return self._fused(q, k, v, is_causal=is_causal), None
        if self._bias_is_by_diagonal(at):
            with torch.autocast(q.device.type, enabled=False):
                bias = self.encoding.bias_by_offset(at.diagonal_offsets)
            bias = self._of_shape("bias_by_offset", bias, (self.n_heads, at.q_len + at.k_len - 1))
            scale = self.encoding.scale(self.d_head)
            return blocks.attend_by_offset(q, k, v, at, bias, scale), None
        return self._in_blocks(self._masked, q, k, v, at), None

    def _in_blocks(
        self, attend: Callable[..., tuple[Tensor, Any]], q: Tensor, k: Tensor, v: Tensor, at: Places
    ) -> Tensor:
        """The output of ``attend``, called with a block of the queries at a time."""
        # A compiled graph serves every length: nothing may depend on how many blocks there are.
        if torch.compiler.is_compiling() or at.k_len <= blocks.BLOCK:
            return attend(q, k, v, at)[0]
        outs = []
        for rows, block in at.blocks(blocks.BLOCK, self.causal):
            keys, values = k[:, :, : block.k_len], v[:, :, : block.k_len]
            outs.append(attend(q[:, :, rows], keys, values, block)[0])
        return torch.cat(outs, dim=2)

    def _step_by_step(self, q: Tensor, k: Tensor, v: Tensor, at: Places) -> tuple[Tensor, Tensor]:
        """The output, and the weights that lead to it."""
        q, bias, hidden = self._terms(q, k, at)
        k, v = for_each_head(k, self.n_heads), for_each_head(v, self.n_heads)
        weights = attention_weights(q, k, self.encoding.scale(self.d_head), bias, hidden)
        out = weights @ v
        added = self.encoding.values(weights, at)  # door 4
        if added is not None:
            out = out + self._of_shape("values", added, out.shape)
        return out, weights

    def _masked(self, q: Tensor, k: Tensor, v: Tensor, at: Places) -> tuple[Tensor, None]:
        """The output by fused attention, with bias and mask as a matrix."""
        q, bias, hidden = self._terms(q, k, at)
        mask = None if bias is None else bias.to(q.dtype)
        if hidden is not None:
            # where makes one pass; masked_fill would copy first and fill then.
            mask = ~hidden if mask is None else torch.where(hidden, -torch.inf, mask)
        return self._fused(q, k, v, mask), None

    def _terms(
        self, q: Tensor, k: Tensor, at: Places
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Queries, bias of door 3, and which keys are hidden; None for no bias, none hidden."""
        with torch.autocast(q.device.type, enabled=False):  # a bias needs more than half precision
            bias = self.encoding.bias(q, k, at)
        if bias is not None:
            shape = (q.shape[0], self.n_heads, at.q_len, at.k_len)
            bias = self._of_shape("bias", bias, shape, broadcast=True)
        q, bias = self._sharpened(q, bias, at)
        # Positions decide what is hidden, not places in the row: shuffled positions work too.
        return q, bias, at.hidden if self.causal else at.padding

    def _sharpened(
        self, q: Tensor, bias: Tensor | None, at: Places
    ) -> tuple[Tensor, Tensor | None]:
        """Queries and bias, and so the scores, multiplied as log-n attention wants."""
        if self.log_n is None:
            return q, bias
        factor = log_n_of(at, self.log_n, self.causal, q.dtype)
        return q * factor.to(q.dtype), None if bias is None else bias * factor

    def _fused(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, is_causal: bool = False
    ) -> Tensor:
        scale, grouped = self.encoding.scale(self.d_head), self.n_kv_heads < self.n_heads
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=is_causal, scale=scale, enable_gqa=grouped
        )

    def _mask_is_built_in(self, at: Places) -> bool:
        """Whether fused attention's own causal mask, or no mask at all, is the right one."""
        if at.visible is not None:
            return False
        return not self.causal or (at.ascending and at.q_len in (1, at.k_len))

    def _bias_is_by_diagonal(self, at: Places) -> bool:
        """Whether bias and causal mask have one value a diagonal."""
        in_order = self.causal and at.ascending and at.consecutive and at.visible is None
        return in_order and self.encoding.bias_needs_offsets_only and self.log_n is None

    def _split(self, x: Tensor) -> Tensor:
        layout = "batch seq (heads d_head) -> batch heads seq d_head"
        return rearrange(x, layout, d_head=self.d_head)

    def _check(self, x: Tensor, cache: KVCache | None, name: str = "x") -> None:
        shape = f"(batch, seq, {self.d_model})"
        x = validation.floating(name, x, shape, ndim=3)
        if x.shape[-1] != self.d_model:
            raise ValueError(f"{name} must have shape {shape}, got {tuple(x.shape)}")
        weight = self.W_q.weight
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            raise TypeError(f"{name} must be {weight.dtype} like the weights, got {x.dtype}")
        validation.instance("cache", cache, KVCache | None, "a KVCache")
        if cache is not None and not self.causal:
            raise ValueError(
                f"cache must be None where attention is not causal, got {cache!r}: earlier tokens "
                "would have to be read again with the later ones in sight"
            )

    def _check_memory(
        self,
        x: Tensor,
        memory: Any,
        memory_positions: Tensor | None,
        cache: KVCache | None,
        at: Places | None,
    ) -> None:
        self._check(memory, None, "memory")
        if len(memory) != len(x):
            raise ValueError(f"memory must have the batch size of x, {len(x)}, got {len(memory)}")
        if self.causal:
            raise ValueError("causal must be False with memory: all of another text is there")
        if cache is not None or at is not None:
            raise ValueError("cache and at must be None with memory, which is read as a whole")
        compared = [door for door in self.encoding.doors if door != "embed"]
        if compared and memory_positions is None:
            raise ValueError(
                f"memory_positions must be given with {type(self.encoding).__name__}: it compares "
                "positions of queries and keys, which means something for two texts only where "
                "both stand on one line; else leave its doors shut, as T5 and Whisper do"
            )

    def _rotated(
        self, q: Tensor, k: Tensor, rotated: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """What door 2 returned for q and k, or an error if shapes have changed."""
        rotated_q, rotated_k = rotated
        rotated_q = self._of_shape("rotate", rotated_q, q.shape)
        return rotated_q, self._of_shape("rotate", rotated_k, k.shape)

    def _of_shape(
        self, door: str, result: Any, shape: Iterable[int], broadcast: bool = False
    ) -> Tensor:
        """Return what a door returned, or raise unless it has a shape, or broadcasts to it."""
        what = f"what {type(self.encoding).__name__}.{door} returns"
        full = tuple(shape)
        validation.instance(what, result, Tensor, f"a tensor {full}")
        if torch.compiler.is_compiling():  # comparing sizes would fix them
            return result
        if broadcast:
            fitting = zip(reversed(result.shape), reversed(full), strict=False)
            fits = result.ndim <= len(full) and all(size in (1, most) for size, most in fitting)
        else:
            fits = result.shape == full
        if not fits:
            verb = "broadcast to" if broadcast else "have"
            raise ValueError(f"{what} must {verb} shape {full}, got {tuple(result.shape)}")
        return result


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
    if bias is None and hidden is None:
        return scores.softmax(dim=-1)
    no_key = (scores == -torch.inf).all(-1, keepdim=True)  # softmax would give NaN there
    return scores.masked_fill(no_key, 0).softmax(dim=-1).masked_fill(no_key, 0)
