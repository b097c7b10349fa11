"""Each encoding on a GPU beside the CPU: the same numbers, and what it costs there.

How far a small causal model's logits, gradients and logits in pieces are off, ‖GPU − CPU‖ / ‖CPU‖,
in float32 and in float64; attention's time over that without encoding, in float32 and in bfloat16;
and four ways to ALiBi in PyTorch's attention. Needs a GPU.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from timing import interleaved, machine, ratio, shown
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from course_utils.attention import MultiHeadAttention
from course_utils.encodings import NAMES, create
from course_utils.encodings.functional import alibi_bias, alibi_slopes
from course_utils.models import TinyTransformer

BATCH, LENGTH, HEADS, D_HEAD = 4, 2048, 8, 64
D_MODEL = HEADS * D_HEAD
PIECES = (100, 1, 49)  # tokens of a text of 150, as a cache may get them


def synchronized(function: Callable[[], Any]) -> Callable[[], None]:
    """The same work, which waits for the GPU: its calls return before they are done."""

    def work() -> None:
        function()
        torch.cuda.synchronize()

    return work


def results(model: TinyTransformer, tokens: Tensor) -> list[Tensor]:
    """Logits, gradients, and logits of the same tokens in pieces, in float64 on the CPU."""
    logits = model(tokens)
    logits.square().mean().backward()
    gradients = [each.grad.flatten() for each in model.parameters() if each.grad is not None]
    cache = model.new_cache()
    with torch.no_grad():
        pieces = [model(piece, cache=cache) for piece in tokens.split(PIECES, dim=1)]
    return [
        tensor.detach().cpu().double()
        for tensor in (logits, torch.cat(gradients), torch.cat(pieces, dim=1))
    ]


def differences(name: str, dtype: torch.dtype) -> list[str]:
    torch.manual_seed(0)
    on_cpu = TinyTransformer(256, name, d_model=64, n_layers=2, n_heads=4).to(dtype).eval()
    on_gpu = copy.deepcopy(on_cpu).to("cuda")
    tokens = torch.randint(256, (3, sum(PIECES)))
    pairs = zip(results(on_gpu, tokens.cuda()), results(on_cpu, tokens), strict=True)
    return [f"{float((gpu - cpu).norm() / cpu.norm()):.0e}" for gpu, cpu in pairs]


def over_no_encoding(name: str, dtype: torch.dtype) -> str:
    x = torch.randn(BATCH, LENGTH, D_MODEL, device="cuda", dtype=dtype)
    words = torch.zeros(BATCH, LENGTH, dtype=torch.long, device="cuda")
    work = {}
    for label in (name, "no encoding"):
        kind = label if label == name else "none"
        encoding = create(kind, d_model=D_MODEL, n_heads=HEADS, max_len=LENGTH, causal=True)
        attention = MultiHeadAttention(D_MODEL, HEADS, encoding, causal=True).to("cuda", dtype)
        work[label] = synchronized(partial(attention, x, tokens=words))
    with torch.no_grad():
        return shown(ratio(interleaved(work), name, "no encoding"))


def ways_to_alibi(dtype: torch.dtype) -> dict[str, str]:
    """Four ways to ALiBi's output; each time over that of attention without it."""
    q, k, v = torch.randn(3, BATCH, HEADS, LENGTH, D_HEAD, device="cuda", dtype=dtype)
    slopes = alibi_slopes(HEADS).to("cuda")
    row = torch.arange(LENGTH, device="cuda")
    offsets = row - row[:, None]  # key less query
    bias = alibi_bias(offsets, slopes).masked_fill(offsets > 0, -torch.inf).to(dtype)
    shape, scale = (*q.shape[:3], 1), D_HEAD**-0.5
    more_of_q = (slopes[:, None, None] / scale).to(dtype).expand(shape)
    more_of_k = row[:, None].to(dtype).expand(shape)
    wider_q, wider_k = (  # GPUs like eights
        pad(torch.cat(parts, dim=-1), (0, 7)) for parts in ((q, more_of_q), (k, more_of_k))
    )
    wider_v = pad(v, (0, 8))
    attend = scaled_dot_product_attention
    work = {
        "without": lambda: attend(q, k, v, is_causal=True),
        "one number more": lambda: attend(wider_q, wider_k, wider_v, is_causal=True, scale=scale),
        "bias passed": lambda: attend(q, k, v, attn_mask=bias),
        "written out": lambda: (q @ k.mT * scale + bias).softmax(-1) @ v,
    }
    times = interleaved({way: synchronized(function) for way, function in work.items()})
    return {way: shown(ratio(times, way, "without")) for way in work}


def main(names: list[str]) -> None:
    if not torch.cuda.is_available():
        print("no GPU here: nothing measured")
        return
    print(machine(), torch.cuda.get_device_name(), sep=", ")
    print("| scheme | logits | gradients | in pieces | in float64 | float32 | bfloat16 |")
    print("|---|---|---|---|---|---|---|")
    for name in names or NAMES:
        cells = [
            *differences(name, torch.float32),
            ", ".join(differences(name, torch.float64)),
            over_no_encoding(name, torch.float32),
            over_no_encoding(name, torch.bfloat16),
        ]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for dtype in (torch.float32, torch.bfloat16):
        print(f"ALiBi in {str(dtype).removeprefix('torch.')}:", ways_to_alibi(dtype))


if __name__ == "__main__":
    main(sys.argv[1:])
