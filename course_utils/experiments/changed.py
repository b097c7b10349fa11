"""Position in a published model, changed: what ``real`` reads with in place of the model's RoPE."""

from collections.abc import Mapping
from dataclasses import dataclass
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
    """RoPE that notes the mean of ‖q_m‖·‖k_m‖ for each head and pair m.

    Attributes:
        noted: (heads, pairs) of each layer that has been passed; to be set to an empty list first.
    """

    noted: list[Tensor]

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE."""
        both = (q, for_each_head(k, self.n_heads))
        of_q, of_k = (one.unflatten(-1, (-1, 2)).norm(dim=-1).mean((0, 2)) for one in both)
        self.noted.append(of_q * of_k)  # the mean over all queries and keys is this product
        return super().rotate(q, k, at)


@dataclass(frozen=True)
class Still(Scaling):
    """The pairs from ``first`` to ``last`` do not turn, the others do as before."""

    first: int
    last: int
    factor: float = 1.0

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        pair = torch.arange(len(plain), device=plain.device)
        return plain.masked_fill((self.first <= pair) & (pair <= self.last), 0), 1.0


# What is changed → the position of the first token, and RoPE's options or another encoding.
CHANGES: dict[str, tuple[int, Mapping[str, Any] | type[PositionalEncoding]]] = {
    AS_TRAINED: (0, {}),
    f"moved by {MOVED}": (MOVED, {}),
    f"moved by {MOVED}, rounded": (MOVED, Rounded),
    "no position": (0, NoEncoding),
    "wrong layout": (0, {"layout": "half"}),
    "base 10000": (0, {"base": 10_000.0}),
    "positions / 4": (0, {"scaling": Linear(4.0)}),
    **{f"pairs {m}-{m + 3} still": (0, {"scaling": Still(m, m + 3)}) for m in range(0, 32, 4)},
    "fast half still": (0, {"scaling": Still(0, 15)}),
    "slow half still": (0, {"scaling": Still(16, 31)}),
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
