"""Position in a published model, changed: what ``real`` reads with in place of the model's RoPE."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_utils.encodings import Linear, NoEncoding, Places, PositionalEncoding, Scaling
from course_utils.encodings.base import Keys, Queries, for_each_head
from course_utils.encodings.rope import Rotary
from course_utils.encodings.scaling import Length, Pairs, Scaled
from course_utils.results import AS_TRAINED

MOVED = 5000  # positions by which a text is moved
WIDER = 4 / 3  # times the factor that fits, for NTK-aware
CUT = "direct, cut off"  # only the last tokens are read, as many as the context has


class Rounded(Rotary):
    """RoPE by positions rounded to bfloat16: of those from 4096 to 8192 it knows every 32nd.

    What the causal mask hides is told by the positions as they were.
    """

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE, by rounded positions."""
        return super().rotate(q, k, Places(at.q.bfloat16().float(), at.k.bfloat16().float()))


class Noting(Rotary):
    """RoPE that notes queries and keys before they turn.

    Attributes:
        noted: (heads, seq, d_head) each, of the first text, for every layer that has been passed;
            to be set to an empty list first.
    """

    noted: list[tuple[Tensor, Tensor]]

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE."""
        self.noted.append((q[0], for_each_head(k, self.n_heads)[0]))
        return super().rotate(q, k, at)


@dataclass(frozen=True)
class Still(Scaling):
    """The pairs from ``first`` to ``last`` do not turn, the others do as before."""

    first: int
    last: int
    factor: float = 1.0

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        return plain.masked_fill(self.chosen(plain), 0), 1.0

    def chosen(self, plain: Pairs) -> Tensor:
        """Which pairs these are, (pairs,), True and False."""
        pair = torch.arange(len(plain), device=plain.device)
        return (self.first <= pair) & (pair <= self.last)


class LeftOut(Rotary):
    """RoPE whose pairs from ``first`` to ``last`` bring nothing to q·k; others do."""

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
        super().__init__(d_model, n_heads, base, layout, fraction, scaling)
        self.first, self.last = first, last

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE, with 0 in these pairs of the queries; pairs of neighbours."""
        q, k = super().rotate(q, k, at)
        pairs = torch.empty(self.d_head // 2, device=q.device)
        chosen = Still(self.first, self.last).chosen(pairs)
        return q.masked_fill(chosen.repeat_interleave(2), 0), k


PAIRS = {f"pairs {m}-{m + 3}": (m, m + 3) for m in range(0, 32, 4)}  # → the first and the last
PAIRS |= {"fast half": (0, 15), "slow half": (16, 31)}

# What is changed → the position of the first token, and RoPE's options or another encoding.
CHANGES: dict[str, tuple[int, Mapping[str, Any] | Callable[..., PositionalEncoding]]] = {
    AS_TRAINED: (0, {}),
    f"moved by {MOVED}": (MOVED, {}),
    f"moved by {MOVED}, rounded": (MOVED, Rounded),
    "no position": (0, NoEncoding),
    "wrong layout": (0, {"layout": "half"}),
    "base 10000": (0, {"base": 10_000.0}),
    "positions / 4": (0, {"scaling": Linear(4.0)}),
    **{f"{pairs} still": (0, {"scaling": Still(*ends)}) for pairs, ends in PAIRS.items()},
    **{
        f"{pairs} left out": (0, partial(LeftOut, first=ends[0], last=ends[1]))
        for pairs, ends in PAIRS.items()
    },
}

# How a long text is read → its name in course_utils.ways, and times the factor that fits.
STRETCHES: dict[str, tuple[str, float]] = {
    "direct": ("direct", 1.0),
    CUT: ("direct", 1.0),
    "interpolation": ("interpolation", 1.0),
    "NTK-aware": ("NTK-aware", 1.0),
    "NTK-aware, wider": ("NTK-aware", WIDER),
    "dynamic NTK": ("dynamic NTK", 1.0),
    "YaRN": ("YaRN", 1.0),
    "Llama 3.1": ("Llama 3.1", 1.0),
}
