"""RoPE with a part of it changed or recorded, to go into a published model by ``with_encoding``."""

from dataclasses import dataclass

import torch
from torch import Tensor

from course_utils import validation
from course_utils.encodings import Places, Rotary, Scaling
from course_utils.encodings.base import Keys, Queries, for_each_head
from course_utils.encodings.scaling import Length, Pairs, Scaled


class RecordingRotary(Rotary):
    """RoPE that records queries and keys before they turn, of the first text, layer by layer."""

    recorded: list[tuple[Tensor, Tensor]]  # (heads, seq, d_head) each; set to [] first

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE."""
        self.recorded.append((q[0], for_each_head(k, self.n_heads)[0]))
        return super().rotate(q, k, at)


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


def _is_between(first: int, last: int, pairs: Pairs) -> Tensor:
    """Which of the pairs are from ``first`` to ``last``, (pairs,)."""
    number = torch.arange(len(pairs), device=pairs.device)
    return (first <= number) & (number <= last)
