"""A training step of TinyTransformer over the same network written out with bare fused attention.

The bare network has the same layers and the same numbers of everything, but no doors, no checks
and no positions: its rotation and its bias are tables made once. Ratios of tokens per second,
ours over bare: 0.9 and more means within 10 %.
"""

from __future__ import annotations

import torch
from timing import interleaved, machine, ratio, shown
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils.encodings.functional import alibi_slopes
from course_utils.models import TinyTransformer

VOCABULARY, D_MODEL, LAYERS, HEADS = 256, 128, 4, 4
D_HEAD = D_MODEL // HEADS
SHAPES = ((8, 64), (32, 64), (16, 256), (4, 1024))  # batch, length; the first as in the experiment


class BareBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(D_MODEL) for _ in range(2))
        self.q, self.k, self.v, self.o = (nn.Linear(D_MODEL, D_MODEL, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(
            nn.Linear(D_MODEL, 4 * D_MODEL), nn.GELU(), nn.Linear(4 * D_MODEL, D_MODEL)
        )

    def forward(self, x: Tensor, turn: Tensor | None, mask: Tensor | None) -> Tensor:
        near = self.norms[0](x)
        q, k, v = (
            W(near).unflatten(-1, (HEADS, D_HEAD)).transpose(1, 2) for W in (self.q, self.k, self.v)
        )
        if turn is not None:
            q, k = (
                torch.view_as_real(
                    torch.view_as_complex(vectors.unflatten(-1, (-1, 2))) * turn
                ).flatten(-2)
                for vectors in (q, k)
            )
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        x = x + self.o(out.transpose(1, 2).flatten(-2))
        return x + self.mlp(self.norms[1](x))


class Bare(nn.Module):
    def __init__(self, encoding: str, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, D_MODEL)
        self.blocks = nn.ModuleList(BareBlock() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(D_MODEL)
        self.head = nn.Linear(D_MODEL, VOCABULARY, bias=False)
        self.head.weight = self.embedding.weight
        row = torch.arange(length)
        angles = row[:, None] * 10000.0 ** -(torch.arange(0, D_HEAD, 2) / D_HEAD)
        self.turn = torch.polar(torch.ones_like(angles), angles) if encoding == "rope" else None
        offsets = row[None, :] - row[:, None]
        bias = -alibi_slopes(HEADS)[:, None, None] * offsets.abs()
        hidden = bias.masked_fill(offsets > 0, -torch.inf)[None]
        self.mask = hidden if encoding == "alibi" else None

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids) * D_MODEL**0.5
        for block in self.blocks:
            x = block(x, self.turn, self.mask)
        return self.head(self.norm(x))


def step(model: nn.Module, ids: Tensor) -> None:
    loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
    model.zero_grad()
    loss.backward()


def main() -> None:
    torch.manual_seed(0)
    print(machine())
    print("| encoding | batch × length | tokens per second, ours over bare |")
    print("|---|---|---|")
    for encoding in ("none", "rope", "alibi"):
        for batch, length in SHAPES:
            ids = torch.randint(VOCABULARY, (batch, length + 1))
            ours = TinyTransformer(VOCABULARY, encoding, D_MODEL, LAYERS, HEADS)
            bare = Bare(encoding, length)
            counts = [sum(p.numel() for p in model.parameters()) for model in (ours, bare)]
            assert counts[0] == counts[1], counts
            work = {"ours": lambda: step(ours, ids), "bare": lambda: step(bare, ids)}  # noqa: B023
            share = shown(ratio(interleaved(work), "bare", "ours"))
            print(f"| {encoding} | {batch} × {length} | {share} |", flush=True)


if __name__ == "__main__":
    main()
