"""Each encoding against the fastest library that has it too: time, gradients, peak memory.

Everything runs eagerly, in one process and in turns. Ratios are ours over the fastest other's:
below 1 we are faster. Shapes: batch 4, 8 heads, length 1024, d_head 64, float32.

    python benchmarks/bench_encodings.py [name …]      a few cases only
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from positional_encodings.torch_encodings import PositionalEncoding1D, Summer
from rotary_embedding_torch import RotaryEmbedding
from rotary_embedding_torch.rotary_embedding_torch import apply_rotary_emb
from timing import fastest, interleaved, machine, peak_bytes, ratio, shown
from torch import Tensor
from torch.nn import functional as F
from torchscale.component.xpos_relative_position import XPOS
from transformers import DebertaConfig, T5Config, XLNetConfig
from transformers.models.bloom.modeling_bloom import build_alibi_tensor
from transformers.models.deberta.modeling_deberta import DisentangledSelfAttention
from transformers.models.gptj import modeling_gptj
from transformers.models.llama import modeling_llama
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention
from x_transformers import x_transformers as xt

from course_utils.attention import MultiHeadAttention
from course_utils.attention.blocks import BLOCK
from course_utils.encodings import Places, create

BATCH, HEADS, LENGTH, D_HEAD = 4, 8, 1024, 64
D_MODEL = HEADS * D_HEAD
ROW = torch.arange(LENGTH)
AT = Places(ROW)  # made once a pass, for all layers
HIDDEN = ROW[None, :] > ROW[:, None]  # (query, key): what a causal mask hides


@dataclass
class Case:
    """What is timed, ours and the others', and the tensors that gradients are asked for."""

    what: str
    ours: Callable[[], Any]
    others: dict[str, Callable[[], Any]]
    leaves: list[Tensor]


def heads() -> list[Tensor]:
    """Queries, keys and values as attention makes them: views of (batch, seq, d_model)."""
    flat = (torch.randn(BATCH, LENGTH, HEADS, D_HEAD).transpose(1, 2) for _ in range(3))
    return [vectors.detach().requires_grad_() for vectors in flat]


def attention(name: str, **options: Any) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Causal attention behind an encoding, between its projections."""
    encoding = create(name, d_model=D_MODEL, n_heads=HEADS, causal=True, **options)
    module = MultiHeadAttention(D_MODEL, HEADS, encoding, causal=True)
    return lambda q, k, v: module._attend(q, k, v, Places(ROW), False)[0]


def softmax_sum(scores: Tensor, v: Tensor) -> Tensor:
    return scores.masked_fill(HIDDEN, -torch.inf).softmax(-1) @ v


def sinusoidal() -> Case:
    encoding, summer = create("sinusoidal", d_model=D_MODEL, n_heads=HEADS), PositionalEncoding1D
    x = torch.randn(BATCH, LENGTH, D_MODEL, requires_grad=True)
    theirs = Summer(summer(D_MODEL))
    return Case(
        "x + table",
        lambda: encoding.embed(x, ROW),
        {"positional-encodings": lambda: theirs(x)},
        [x],
    )


def rope(layout: str) -> Case:
    q, k, _ = heads()
    encoding = create("rope", d_model=D_MODEL, n_heads=HEADS, layout=layout)
    angles = ROW[:, None] * 10000.0 ** -(torch.arange(0, D_HEAD, 2) / D_HEAD)
    twice = torch.cat([angles, angles], -1)[None]
    half_cos, half_sin = twice.cos(), twice.sin()
    cos, sin = angles.cos()[None], angles.sin()[None]
    lucid = RotaryEmbedding(D_HEAD)(ROW.float())
    xt_angles, _ = xt.RotaryEmbedding(D_HEAD)(ROW)
    # GPT-J wants (batch, seq, heads, d_head).
    flat_q, flat_k = q.transpose(1, 2), k.transpose(1, 2)
    gptj = modeling_gptj.apply_rotary_pos_emb
    llama = modeling_llama.apply_rotary_pos_emb
    return Case(
        f"turn q and k, {layout}",
        lambda: encoding.rotate(q, k, AT),
        {
            "transformers LLaMA": lambda: llama(q, k, half_cos, half_sin),
            "transformers GPT-J": lambda: (gptj(flat_q, sin, cos), gptj(flat_k, sin, cos)),
            "rotary-embedding-torch": lambda: (
                apply_rotary_emb(lucid, q),
                apply_rotary_emb(lucid, k),
            ),
            "x-transformers": lambda: (
                xt.apply_rotary_pos_emb(q, xt_angles),
                xt.apply_rotary_pos_emb(k, xt_angles),
            ),
        },
        [q, k],
    )


def xpos() -> Case:
    q, k, _ = heads()
    encoding = create("xpos", d_model=D_MODEL, n_heads=HEADS)
    torchscale = XPOS(D_HEAD)
    angles, factor = xt.RotaryEmbedding(D_HEAD, use_xpos=True)(ROW)
    return Case(
        "turn q and k",
        lambda: encoding.rotate(q, k, AT),
        {
            "torchscale": lambda: (
                torchscale(q.flatten(0, 1)),
                torchscale(k.flatten(0, 1), downscale=True),
            ),
            "x-transformers": lambda: (
                xt.apply_rotary_pos_emb(q, angles, factor),
                xt.apply_rotary_pos_emb(k, angles, factor**-1),
            ),
        },
        [q, k],
    )


def t5_bias() -> Case:
    q, k, _ = heads()
    encoding = create("t5", d_model=D_MODEL, n_heads=HEADS, causal=True)
    config = T5Config(d_model=D_MODEL, d_kv=D_HEAD, num_heads=HEADS, is_decoder=True)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    second = xt.RelativePositionBias(1, causal=True, heads=HEADS)
    return Case(
        "bias of all pairs",
        lambda: encoding.bias(q, k, AT),
        {
            "transformers T5": lambda: theirs.compute_bias(LENGTH, LENGTH),
            "x-transformers": lambda: second(LENGTH, LENGTH),
        },
        [],
    )


def t5() -> Case:
    q, k, v = heads()
    ours = attention("t5")
    config = T5Config(d_model=D_MODEL, d_kv=D_HEAD, num_heads=HEADS, is_decoder=True)
    theirs = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    return Case(
        "causal attention",
        lambda: ours(q, k, v),
        {"transformers T5": lambda: softmax_sum(q @ k.mT + theirs.compute_bias(LENGTH, LENGTH), v)},
        [q, k, v],
    )


def alibi() -> Case:
    q, k, v = heads()
    ours, second = attention("alibi"), xt.AlibiPositionalBias(HEADS)
    slopes = build_alibi_tensor(torch.ones(BATCH, LENGTH), HEADS, torch.float32)

    def bloom() -> Tensor:  # (batch · heads, 1, keys) added inside the matrix product
        flat = [vectors.flatten(0, 1) for vectors in (q, k)]
        scores = torch.baddbmm(slopes, flat[0], flat[1].mT, alpha=D_HEAD**-0.5)
        return softmax_sum(scores.view(BATCH, HEADS, LENGTH, LENGTH), v)

    def x_transformers() -> Tensor:  # its bias is built once and kept
        bias = second(LENGTH, LENGTH).masked_fill(HIDDEN, -torch.inf)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=bias[None])

    return Case(
        "causal attention",
        lambda: ours(q, k, v),
        {"transformers BLOOM": bloom, "x-transformers": x_transformers},
        [q, k, v],
    )


def transformer_xl() -> Case:
    q, k, v = heads()
    ours = attention("transformer_xl")
    config = XLNetConfig(d_model=D_MODEL, n_head=HEADS, d_inner=4, n_layer=1, dropout=0.0)
    theirs = XLNetRelativeAttention(config)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.02)
    model = XLNetModel(config)
    hidden = HIDDEN.float()[:, :, None, None]

    def xlnet() -> Tensor:
        flat = (vectors.permute(2, 0, 1, 3) for vectors in (q, k, v))  # (seq, batch, heads, d_head)
        queries, keys, values = flat
        encoded = model.relative_positional_encoding(LENGTH, LENGTH, bsz=BATCH)
        projected = torch.einsum("ibh,hnd->ibnd", encoded, theirs.r)
        return theirs.rel_attn_core(queries, keys, values, projected, attn_mask=hidden)

    return Case("causal attention", lambda: ours(q, k, v), {"transformers XLNet": xlnet}, [q, k, v])


def deberta() -> Case:
    q, k, v = heads()
    ours = attention("deberta", max_distance=64, released_code=True)
    config = DebertaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        relative_attention=True,
        pos_att_type=["c2p", "p2c"],
        max_relative_positions=64,
    )
    theirs = DisentangledSelfAttention(config).eval()
    table, offsets = torch.randn(128, D_MODEL), (ROW[:, None] - ROW[None, :])[None]

    def transformers() -> Tensor:
        scaled = q / (3 * D_HEAD) ** 0.5
        bias = theirs.disentangled_att_bias(scaled, k, offsets, table, 3)
        return softmax_sum(scaled @ k.mT + bias, v)

    return Case(
        "causal attention", lambda: ours(q, k, v), {"transformers DeBERTa": transformers}, [q, k, v]
    )


def shaw() -> Case:
    q, k, v = heads()
    ours = attention("shaw", max_distance=64)
    table = torch.randn(2, 129, D_HEAD).mul(0.02).requires_grad_()
    row = (ROW[None, :] - ROW[:, None]).clamp(-64, 64) + 64

    def naive() -> Tensor:  # a vector for each pair: (1024, 1024, 64)
        keys, values = table[0][row], table[1][row]
        scores = q @ k.mT + torch.einsum("bhid,ijd->bhij", q, keys)
        weights = (scores * D_HEAD**-0.5).masked_fill(HIDDEN, -torch.inf).softmax(-1)
        return weights @ v + torch.einsum("bhij,ijd->bhid", weights, values)

    return Case("causal attention", lambda: ours(q, k, v), {"naive gather": naive}, [q, k, v])


def cope() -> Case:
    q, k, v = heads()
    ours, theirs = attention("cope"), xt.CoPE(D_HEAD, HEADS, 64)

    def x_transformers() -> Tensor:
        logits = (q @ k.mT * D_HEAD**-0.5).masked_fill(HIDDEN, -torch.finfo(q.dtype).max)
        return softmax_sum(logits + theirs(q, logits), v)

    return Case("causal attention", lambda: ours(q, k, v), {"x-transformers": x_transformers}, [q])


def plain(name: str, **options: Any) -> Callable[[], Case]:
    """For a scheme that no library at hand has: against attention without any encoding."""

    def case() -> Case:
        q, k, v = heads()
        ours = attention(name, **options)
        return Case(
            "causal attention",
            lambda: ours(q, k, v),
            {"no encoding": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True)},
            [q, k, v],
        )

    return case


def embedding(name: str) -> Callable[[], Case]:
    """Door 1 of a scheme that no library at hand has: against adding a table."""

    def case() -> Case:
        encoding = create(name, d_model=D_MODEL, n_heads=HEADS, max_len=LENGTH)
        x = torch.randn(BATCH, LENGTH, D_MODEL, requires_grad=True)
        ids = torch.randint(256, (BATCH, LENGTH))
        table = torch.nn.Embedding(LENGTH, D_MODEL)
        return Case(
            "door 1",
            lambda: encoding.embed(x, ROW, ids),
            {"x + nn.Embedding": lambda: x + table(ROW)},
            [x],
        )

    return case


CASES: dict[str, Callable[[], Case]] = {
    "sinusoidal": sinusoidal,
    "learned": embedding("learned"),
    "multiplicative": embedding("multiplicative"),
    "complex_order": embedding("complex_order"),
    "floater": embedding("floater"),
    "rope": lambda: rope("interleaved"),
    "rope half": lambda: rope("half"),
    "xpos": xpos,
    "t5 bias": t5_bias,
    "t5": t5,
    "alibi": alibi,
    "transformer_xl": transformer_xl,
    "deberta": deberta,
    "shaw": shaw,
    "cope": cope,
    "alibi/plain": plain("alibi"),
    "t5/plain": plain("t5"),
    "kerple/plain": plain("kerple"),
    "sandwich/plain": plain("sandwich"),
    "fire/plain": plain("fire"),
}


def building(name: str) -> tuple[float, float, float]:
    """Time to build the bias of causal attention, over plain causal attention."""
    q, k, v = (vectors.detach() for vectors in heads())
    encoding = create(name, d_model=D_MODEL, n_heads=HEADS, causal=True)

    def blocks() -> None:
        for stop in range(BLOCK, LENGTH + 1, BLOCK):
            rows = slice(stop - BLOCK, stop)
            encoding.bias(q[:, :, rows], k[:, :, :stop], Places(ROW[rows], ROW[:stop]))

    with torch.no_grad():
        times = interleaved(
            {
                "build": blocks,
                "plain": lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True),
            }
        )
    return ratio(times, "build", "plain")


def with_gradients(function: Callable[[], Any], leaves: list[Tensor]) -> Callable[[], None]:
    def work() -> None:
        out = function()
        outs = out if isinstance(out, tuple) else (out,)
        torch.autograd.grad([out.sum() for out in outs], leaves)

    return work


def report(name: str, case: Case) -> str:
    work = {"ours": case.ours} | case.others
    with torch.no_grad():
        times = interleaved(work)
        other = fastest(times, list(case.others))
        forward = ratio(times, "ours", other)
        memory = [peak_bytes(work[whose]) / 2**20 for whose in ("ours", other)]
    milliseconds = 1000 * sorted(times["ours"])[len(times["ours"]) // 2]
    both = "–"
    if case.leaves:
        with_both = {whose: with_gradients(run, case.leaves) for whose, run in work.items()}
        times = interleaved(with_both, rounds=7)
        both = shown(ratio(times, "ours", fastest(times, list(case.others))))
    return (
        f"| {name} | {case.what} | {milliseconds:.1f} | {other} | {shown(forward)} | {both} | "
        f"{memory[0]:.0f} / {memory[1]:.0f} |"
    )


def main(names: list[str]) -> None:
    torch.manual_seed(0)
    print(machine("transformers", "x-transformers", "rotary-embedding-torch", "torchscale"))
    print("| scheme | what | ours, ms | fastest other | forward | and backward | peak MiB |")
    print("|---|---|---|---|---|---|---|")
    for name in names or CASES:
        print(report(name, CASES[name]()), flush=True)
    for name in ("alibi", "t5"):
        if not names:
            print(
                f"building the bias of {name} over plain causal attention: {shown(building(name))}"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
