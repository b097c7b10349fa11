"""RoPE with a part of it changed or recorded, to go into a published model by ``with_encoding``."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings import Places, Rotary, Scaling
from course_utils.encodings.base import Keys, Queries, for_each_head
from course_utils.encodings.scaling import Length, Pairs, Scaled
from course_utils.models.transformer import Tokens
from course_utils.pretrained.language_model import SmolLM2


class RecordingRotary(Rotary):
    """RoPE that records queries and keys before they turn, of the first text, layer by layer."""

    recorded: list[tuple[Tensor, Tensor]]  # (heads, seq, d_head) each; set to [] first

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE."""
        self.recorded.append((q[0], for_each_head(k, self.n_heads)[0]))
        return super().rotate(q, k, at)


@torch.no_grad()
def recorded(model: SmolLM2, tokens: Tokens) -> list[tuple[Tensor, Tensor]]:
    """Queries and keys of a text before they turn, (heads, seq, d_head) each, layer by layer.

    Heads of queries that share a head of keys have the same keys.
    """
    rope = model.encoding
    recording = RecordingRotary(rope.d_model, rope.n_heads, **rope.options)
    recording.recorded = []
    model.with_encoding(recording).hidden(tokens)
    return recording.recorded


def mean_keys(model: SmolLM2, tokens: Tokens) -> Float[Tensor, "layers n_heads d_head"]:
    """The mean over a text of the keys that each head sees, before they turn.

    The first token does not count.
    """
    return torch.stack([k[:, 1:].mean(1) for _, k in recorded(model, tokens)])


@dataclass(frozen=True)
class StoppedPairs(Scaling):
    """The pairs from ``first`` to ``last`` do not turn, the others do as before."""

    first: int
    last: int
    factor: float = 1.0

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        return plain.masked_fill(_is_between(self.first, self.last, plain), 0), 1.0


class LeftOutPairs(Rotary):
    """RoPE whose pairs of neighbours from ``first`` to ``last`` add nothing to q·k; others do."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        layout: str = "interleaved",
        fraction: float = 1.0,
        scaling: Scaling | None = None,
        first: int = 0,
        last: int = -1,
    ) -> None:
        validation.choice("layout", layout, ["interleaved"])
        super().__init__(d_model, n_heads, base, layout, fraction, scaling)
        self.first, self.last = first, last

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE, with 0 in these pairs of the queries."""
        q, k = super().rotate(q, k, at)
        pairs = torch.empty(self.d_head // 2, device=q.device)
        is_left_out = _is_between(self.first, self.last, pairs).repeat_interleave(2)
        return q.masked_fill(is_left_out, 0), k


class MeanKeyPairs(Rotary):
    """RoPE whose keys are alike in the pairs of neighbours from ``first`` to ``last``.

    There each key is its head's mean key, before it turns: the same at all places, whatever the
    token. The first token of a text keeps its own, unless ``keep_first`` is False, and so do all
    queries. Texts are read from their first token on, without a cache.

    Args:
        mean_keys: as :func:`mean_keys` finds them.
        first, last: pairs, 0 the fastest. The others are as for ``Rotary``.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        *,
        mean_keys: Float[Tensor, "layers n_heads d_head"],
        first: int = 0,
        last: int = -1,
        keep_first: bool = True,
    ) -> None:
        super().__init__(d_model, n_heads, base, "interleaved")
        self.mean_keys, self.first, self.last = mean_keys, first, last
        self.keep_first = keep_first
        self.passes = 0  # calls of rotate so far: a pass through the model makes one a layer

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE, with the mean key in these pairs."""
        of_queries = self.mean_keys[self.passes % len(self.mean_keys)].to(k)
        self.passes += 1
        mean_key = of_queries[:: self.n_heads // k.shape[1], None]  # (kv_heads, 1, d_head)
        pairs = torch.empty(self.d_head // 2, device=k.device)
        is_alike = _is_between(self.first, self.last, pairs).repeat_interleave(2)
        has_own = torch.arange(k.shape[2], device=k.device) < int(self.keep_first)
        is_alike = is_alike & ~has_own[:, None]  # (seq, d_head)
        return super().rotate(q, torch.where(is_alike, mean_key, k), at)


def _is_between(first: int, last: int, pairs: Pairs) -> Tensor:
    """Which of the pairs are from ``first`` to ``last``, (pairs,)."""
    number = torch.arange(len(pairs), device=pairs.device)
    return (first <= number) & (number <= last)
