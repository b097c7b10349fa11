"""Position in a published model, changed: what ``real`` reads with in place of the model's RoPE."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from course_utils.encodings import Linear, NoEncoding, Places, PositionalEncoding
from course_utils.encodings.base import Keys, Queries
from course_utils.encodings.rope import Rotary
from course_utils.pretrained.ablation import LeftOutPairs, StoppedPairs
from course_utils.results import AS_TRAINED

MOVED = 5000  # positions by which a text is moved
WIDER = 4 / 3  # times the factor that fits, for NTK-aware
CUT = "direct, cut off"  # only the last tokens are read, as many as the context has


class Rounded(Rotary):
    """RoPE by positions rounded to bfloat16, which knows every 32nd of those from 4096 to 8192.

    The causal mask still goes by the positions that are not rounded.
    """

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """As RoPE, by rounded positions."""
        return super().rotate(q, k, Places(at.q.bfloat16().float(), at.k.bfloat16().float()))


# The first and the last pair of each group of pairs.
PAIRS = {f"pairs {m}-{m + 3}": (m, m + 3) for m in range(0, 32, 4)}
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
}
for pairs, (first_pair, last_pair) in PAIRS.items():
    CHANGES[f"{pairs} still"] = (0, {"scaling": StoppedPairs(first_pair, last_pair)})
for pairs, (first_pair, last_pair) in PAIRS.items():
    CHANGES[f"{pairs} left out"] = (0, partial(LeftOutPairs, first=first_pair, last=last_pair))

# How a long text is read → its name in models.stretching, and times the factor that fits.
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
