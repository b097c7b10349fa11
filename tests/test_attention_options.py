"""Heads of a width of their own, and norms of queries and keys, against Qwen3 in transformers."""

import pytest
import torch
from closeness import gap

from course_utils.attention import KVCache, MultiHeadAttention
from course_utils.encodings import NAMES, create

D_MODEL, N_HEADS, N_KV_HEADS, D_HEAD, EPS = 24, 4, 2, 16, 1e-6
WIDTH = N_HEADS * D_HEAD


def attention(name="rope", **options):
    encoding = create(name, d_model=WIDTH, n_heads=N_HEADS, causal=True, **options)
    return MultiHeadAttention(
        D_MODEL, N_HEADS, encoding, True, n_kv_heads=N_KV_HEADS, d_head=D_HEAD, qk_norm=EPS
    )


def test_attention_with_both_is_that_of_qwen3():
    pytest.importorskip("transformers", reason="the oracle is not installed")
    from transformers import Qwen3Config
    from transformers.models.qwen3 import modeling_qwen3

    config = Qwen3Config(
        hidden_size=D_MODEL,
        num_attention_heads=N_HEADS,
        num_key_value_heads=N_KV_HEADS,
        head_dim=D_HEAD,
        rms_norm_eps=EPS,
        num_hidden_layers=1,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
    )
    config._attn_implementation = "eager"
    theirs = modeling_qwen3.Qwen3Attention(config, 0)
    ours = attention(base=10_000.0, layout="half")
    with torch.no_grad():
        for norm in (ours.q_norm, ours.k_norm):
            norm.weight.normal_(1, 0.3)
        for name in ("q", "k", "v", "o"):
            weight = getattr(ours, f"W_{name}").weight
            getattr(theirs, f"{name}_proj").weight.copy_(weight)
        theirs.q_norm.weight.copy_(ours.q_norm.weight)
        theirs.k_norm.weight.copy_(ours.k_norm.weight)
    x, row = torch.randn(2, 9, D_MODEL), torch.arange(9)
    turn = modeling_qwen3.Qwen3RotaryEmbedding(config)(x, row[None])
    later = torch.full((9, 9), -torch.inf).triu(1)[None, None]
    assert gap(ours(x)[0], theirs(x, turn, later)[0]) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_serves_wide_heads_or_says_why_not(name):
    try:
        module = attention(name)
    except ValueError as error:
        assert "embed" in create(name, d_model=WIDTH, n_heads=N_HEADS, causal=True).doors
        assert "encoding must leave door 1 shut" in str(error)
        return
    x = torch.randn(2, 7, D_MODEL)
    out, weights = module(x, need_weights=True)
    assert out.shape == x.shape and weights.shape == (2, N_HEADS, 7, 7)
    assert gap(module(x)[0], out) <= 1e-5
    cache = KVCache()
    pieces = [module(part, cache=cache)[0] for part in x.split(3, dim=1)]
    assert gap(torch.cat(pieces, dim=1), out) <= 1e-5


def test_norms_take_the_size_of_queries_and_keys_away():
    module, x = attention("none"), torch.randn(1, 5, D_MODEL)
    before = module(x)[0]
    with torch.no_grad():
        module.W_q.weight *= 7
        module.W_k.weight *= 0.2
    assert gap(module(x)[0], before) <= 1e-4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"d_head": 0}, "d_head must be at least 1"),
        ({"qk_norm": 0.0}, "qk_norm must be a finite number above 0"),
        ({"d_head": 16, "encoding": "alibi"}, "encoding must be made for .* 64 and 4, got 24"),
    ],
    ids=str,
)
def test_options_that_cannot_be_are_refused(plain_arguments, options, words):
    if "encoding" in options:
        options = {**options, "encoding": create("alibi", d_model=D_MODEL, n_heads=N_HEADS)}
    with pytest.raises(ValueError, match=words):
        MultiHeadAttention(D_MODEL, N_HEADS, **options)
