"""Two published models: how long they take to load and to read, and how much memory.

Loading and memory are of fresh processes. Reading is compared with the same weights in
transformers, with its attention in eager mode, in turns.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from typing import Any

import torch
from timing import interleaved, machine, ratio, shown
from transformers import BertConfig, BertModel, LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from course_utils import pretrained
from course_utils.encodings.functional import convert_layout
from course_utils.pretrained import MiniLM, SmolLM2
from course_utils.texts import data

ROUNDS = 5
LOAD = """
import resource, time, torch
start = time.perf_counter()
from course_utils import pretrained
imported = time.perf_counter()
model = pretrained.{name}()
loaded = time.perf_counter()
{more}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(imported - start, loaded - start, peak)
"""
READ = "model.loss(torch.arange(1024)[None])"


def fresh(name: str, more: str = "") -> list[float]:
    """Seconds to import, seconds to import and load, peak memory in KiB, of a fresh process."""
    code = LOAD.format(name=name, more=more)
    run = [sys.executable, "-c", code]
    return [float(word) for word in subprocess.check_output(run, text=True).split()]


def loading(name: str) -> str:
    runs = [fresh(name) for _ in range(ROUNDS)]
    imports, whole = (statistics.median(part) for part in list(zip(*runs, strict=True))[:2])
    return f"{whole:.2f} s, {imports:.2f} of them for imports"


def llama(model: SmolLM2) -> LlamaForCausalLM:
    """transformers' model around our weights; those of queries and keys are reordered."""
    settings: dict[str, Any] = dict(
        vocab_size=49152,
        hidden_size=576,
        intermediate_size=1536,
        num_hidden_layers=30,
        num_attention_heads=9,
        num_key_value_heads=3,
        max_position_embeddings=8192,
        rms_norm_eps=1e-5,
        tie_word_embeddings=True,
        attn_implementation="eager",
        rope_parameters={"rope_theta": 100_000.0, "rope_type": "default"},
    )
    config = LlamaConfig(**settings)
    with torch.device("meta"):
        llama = LlamaForCausalLM(config)
    weights = {
        "model.embed_tokens.weight": model.embedding.weight,
        "model.norm.weight": model.norm.weight,
    }
    layer: Any
    for number, layer in enumerate(model.blocks):
        queries, keys = (
            convert_layout(linear.weight, heads, "interleaved", "half")
            for linear, heads in ((layer.attention.W_q, 9), (layer.attention.W_k, 3))
        )
        layer_weights = {
            "input_layernorm": layer.attention_norm.weight,
            "self_attn.q_proj": queries,
            "self_attn.k_proj": keys,
            "self_attn.v_proj": layer.attention.W_v.weight,
            "self_attn.o_proj": layer.attention.W_o.weight,
            "post_attention_layernorm": layer.mlp_norm.weight,
            "mlp.gate_proj": layer.gate.weight,
            "mlp.up_proj": layer.up.weight,
            "mlp.down_proj": layer.down.weight,
        }
        weights |= {f"model.layers.{number}.{name}.weight": w for name, w in layer_weights.items()}
    llama.load_state_dict(weights, strict=False, assign=True)
    llama.tie_weights()
    llama.model.rotary_emb = LlamaRotaryEmbedding(config)
    return llama.eval()


def bert() -> BertModel:
    """transformers' model of the encoder's sizes; its weights do not matter for its time."""
    settings: dict[str, Any] = dict(
        hidden_size=384,
        num_hidden_layers=6,
        intermediate_size=1536,
        num_attention_heads=12,
        attn_implementation="eager",
    )
    return BertModel(BertConfig(**settings)).eval()


@torch.no_grad()
def reading(model: SmolLM2, page: str) -> list[tuple[str, str, str]]:
    tokens = model.encode(page)[:, :512]
    theirs = llama(model)
    apart = float((model(tokens) - theirs(tokens).logits).abs().max())
    assert apart < 1e-2, f"the two models differ by {apart}"
    work = {"ours": lambda: model(tokens), "theirs": lambda: theirs(tokens)}
    times = interleaved(work, ROUNDS)
    cache = model.new_cache()
    model(tokens, cache=cache)
    kept = theirs(tokens, use_cache=True).past_key_values
    last = tokens[:, -1:]
    step = {
        "ours": lambda: model(last, cache=cache),
        "theirs": lambda: theirs(last, past_key_values=kept),
    }
    steps = interleaved(step, 4 * ROUNDS)
    return [
        (
            "SmolLM2, 512 tokens",
            f"{statistics.median(times['ours']):.2f} s",
            shown(ratio(times, "ours", "theirs")),
        ),
        (
            "SmolLM2, one more after 512",
            f"{1000 * statistics.median(steps['ours']):.0f} ms",
            shown(ratio(steps, "ours", "theirs")),
        ),
    ]


@torch.no_grad()
def embedding(model: MiniLM, page: str) -> list[tuple[str, str, str]]:
    sentences = [line for line in page.split("\n") if line.strip()][:128]
    theirs = bert()

    def padded() -> None:
        for start in range(0, len(sentences), 32):
            tokens, mask = model.encode(sentences[start : start + 32])
            theirs(tokens, mask.long())

    times = interleaved({"ours": lambda: model.embed(sentences), "theirs": padded}, ROUNDS)
    middle = statistics.median(times["ours"])
    return [
        (
            f"MiniLM, {len(sentences)} lines",
            f"{middle:.2f} s",
            shown(ratio(times, "ours", "theirs")),
        )
    ]


def main() -> None:
    if pretrained.missing():
        print(f"nothing to measure without {', '.join(pretrained.missing())}")
        return
    print(machine("transformers", "tokenizers", "gguf"))
    # First, for a child counts what its parent held when it was born.
    rows = [
        ("MiniLM, loaded", loading("minilm"), ""),
        ("SmolLM2, loaded", loading("smollm2"), ""),
        ("SmolLM2, loss of 1024 tokens", f"{fresh('smollm2', READ)[2] / 1e6:.2f} GB", ""),
    ]
    page = data.verified("documentation.txt").read_text(encoding="utf-8")[60_000:70_000]
    rows += embedding(pretrained.minilm(), page)
    rows += reading(pretrained.smollm2(), page)
    print("| what | ours | over transformers |")
    print("|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
