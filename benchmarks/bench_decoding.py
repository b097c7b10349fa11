"""One more token after 8192: attention with each encoding over attention without any.

Eight heads of width 64, with projections and cache, float32, without gradients. Twice: with a cache
that grows, which copies what it holds, and with one of fixed capacity, which writes in place.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import torch
from timing import interleaved, machine, ratio, shown

from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import FixedCache, KVCache
from course_utils.encodings import create

HEADS, D_MODEL, LENGTH, ROUNDS = 8, 512, 8192, 40
NAMES = ("rope", "xpos", "alibi", "t5", "kerple", "shaw")


def step(name: str, fixed: bool) -> Callable[[], None]:
    encoding = create(name, d_model=D_MODEL, n_heads=HEADS, max_len=LENGTH, causal=True)
    attention = MultiHeadAttention(D_MODEL, HEADS, encoding, causal=True)
    cache = FixedCache(LENGTH + 2 * ROUNDS) if fixed else KVCache()
    new = torch.randn(1, 1, D_MODEL)
    with torch.no_grad():
        attention(torch.randn(1, LENGTH, D_MODEL), cache=cache)

    def work() -> None:
        with torch.no_grad():
            attention(new, cache=cache)

    return work


def main(names: list[str]) -> None:
    torch.manual_seed(0)
    print(machine())
    print("| encoding | growing cache | fixed capacity |")
    print("|---|---|---|")
    for name in names or NAMES:
        cells = []
        for fixed in (False, True):
            times = interleaved(
                {encoding: step(encoding, fixed) for encoding in (name, "none")}, ROUNDS
            )
            cells.append(shown(ratio(times, name, "none")))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
