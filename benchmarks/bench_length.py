"""How causal attention behind each encoding grows with length: time and memory, 256 to 8192.

Time is over that of plain fused attention at the same length, batch 1, 8 heads, d_head 64,
forward, float32; memory is the peak of tensors alive at one time.
"""

from __future__ import annotations

import sys

import torch
from timing import interleaved, machine, peak_bytes, ratio

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, Places, create

LENGTHS = (256, 512, 1024, 2048, 4096, 8192)
HEADS, D_HEAD = 8, 64
D_MODEL = HEADS * D_HEAD


def main(names: list[str]) -> None:
    torch.manual_seed(0)
    print(machine())
    print("| scheme | " + " | ".join(map(str, LENGTHS)) + " |")
    print("|---|" + "---|" * len(LENGTHS))
    for name in names or NAMES:
        cells = []
        for length in LENGTHS:
            row = torch.arange(length)
            x, words = torch.randn(1, length, D_MODEL), torch.zeros(1, length, dtype=torch.long)
            ours, plain = (
                MultiHeadAttention(D_MODEL, HEADS, encoding, causal=True)
                for encoding in (
                    create(name, d_model=D_MODEL, n_heads=HEADS, max_len=length, causal=True),
                    None,
                )
            )
            q = torch.randn(1, HEADS, length, D_HEAD)

            def work(module: MultiHeadAttention, x=x, words=words, q=q, row=row) -> None:
                module.encoding.embed(x, row, words)
                at = Places(row)
                module._attend(*module.encoding.rotate(q, q, at), q, at, False)

            both = {"ours": lambda ours=ours: work(ours), "plain": lambda plain=plain: work(plain)}
            with torch.no_grad():
                times = interleaved(both, rounds=9 if length <= 1024 else 3)
                peak = peak_bytes(both["ours"]) / 2**20
            cells.append(f"{ratio(times, 'ours', 'plain')[1]:.2f}×, {peak:.0f} MiB")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
