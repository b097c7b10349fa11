"""Attention to a memory: keys and values of another text."""

import pytest
import torch
from closeness import gap
from torch import nn

from course_utils.attention import KVCache, MultiHeadAttention
from course_utils.encodings import NAMES, NoEncoding, create

D_MODEL, N_HEADS = 16, 2


def texts(seq=5, keys=300):
    return torch.randn(2, seq, D_MODEL), torch.randn(2, keys, D_MODEL)


@pytest.mark.parametrize("padded", [False, True], ids=["whole", "padded"])
def test_it_is_that_of_torch(padded):
    ours, (x, memory) = MultiHeadAttention(D_MODEL, N_HEADS), texts()
    theirs = nn.MultiheadAttention(D_MODEL, N_HEADS, bias=False, batch_first=True)
    mask = None
    if padded:
        mask = torch.arange(300) < torch.tensor([[300], [170]])
    with torch.no_grad():
        inward = torch.cat([ours.W_q.weight, ours.W_k.weight, ours.W_v.weight])
        theirs.in_proj_weight.copy_(inward)
        theirs.out_proj.weight.copy_(ours.W_o.weight)
    hidden = None if mask is None else ~mask
    expected, their_weights = theirs(
        x, memory, memory, key_padding_mask=hidden, average_attn_weights=False
    )
    out, weights = ours(x, memory=memory, attention_mask=mask, need_weights=True)
    assert gap(out, expected) <= 1e-5 and gap(weights, their_weights) <= 1e-5
    assert gap(ours(x, memory=memory, attention_mask=mask)[0], expected) <= 1e-5


def test_it_is_that_of_t5_which_has_no_position_across_two_texts():
    pytest.importorskip("transformers", reason="the oracle is not installed")
    from transformers import T5Config
    from transformers.models.t5.modeling_t5 import T5Attention

    class Unscaled(NoEncoding):
        def scale(self, d_head):
            return 1.0

    ours, (x, memory) = MultiHeadAttention(D_MODEL, N_HEADS, Unscaled(D_MODEL, N_HEADS)), texts()
    config = T5Config(d_model=D_MODEL, d_kv=8, num_heads=N_HEADS, is_decoder=True)
    theirs = T5Attention(config, has_relative_attention_bias=False, layer_idx=0).eval()
    with torch.no_grad():
        for name in ("q", "k", "v", "o"):
            getattr(theirs, name).weight.copy_(getattr(ours, f"W_{name}").weight)
    assert gap(ours(x, memory=memory)[0], theirs(x, key_value_states=memory)[0]) <= 1e-5


@pytest.mark.parametrize("name", NAMES)
def test_doors_that_compare_positions_want_to_know_those_of_the_memory(name):
    if name in ("xpos", "cope"):
        pytest.skip(f"{name} is for causal attention only")
    encoding = create(name, d_model=D_MODEL, n_heads=N_HEADS)
    module, (x, memory) = MultiHeadAttention(D_MODEL, N_HEADS, encoding), texts()
    tokens = torch.zeros(x.shape[:2], dtype=torch.long)
    if set(encoding.doors) - {"embed"}:
        with pytest.raises(ValueError, match="memory_positions must be given with"):
            module(x, memory=memory, tokens=tokens)
    else:
        assert module(x, memory=memory, tokens=tokens)[0].shape == x.shape


@pytest.mark.parametrize("name", ["rope", "alibi", "t5", "shaw", "transformer_xl", "deberta"])
def test_with_positions_on_one_line_the_offset_between_the_texts_is_what_counts(name):
    encoding = create(name, d_model=D_MODEL, n_heads=N_HEADS)
    module, (x, memory) = MultiHeadAttention(D_MODEL, N_HEADS, encoding), texts()
    q_pos, k_pos = torch.arange(5) + 20, torch.arange(300)
    out, weights = module(x, q_pos, True, memory=memory, memory_positions=k_pos)
    assert gap(module(x, q_pos, memory=memory, memory_positions=k_pos)[0], out) <= 1e-5
    moved = module(x, q_pos + 70, memory=memory, memory_positions=k_pos + 70)[0]
    assert gap(moved, out) <= 1e-4
    assert gap(module(x, q_pos + 9, memory=memory, memory_positions=k_pos)[0], out) > 1e-4
    order = torch.randperm(300)
    shuffled = module(x, q_pos, memory=memory[:, order], memory_positions=k_pos[order])[0]
    assert gap(shuffled, out) <= 1e-5
    assert weights.shape == (2, N_HEADS, 5, 300)


def test_the_memory_alone_is_what_is_summed():
    module, (x, memory) = MultiHeadAttention(D_MODEL, N_HEADS), texts()
    changed = memory.clone()
    changed[:, 7] += 1
    assert gap(module(x, memory=changed)[0], module(x, memory=memory)[0]) > 1e-4
    nothing = torch.zeros_like(memory)
    assert gap(module(x, memory=nothing)[0], torch.zeros_like(x)) == 0


@pytest.mark.parametrize(
    ("options", "call", "words"),
    [
        ({}, {"memory": torch.zeros(2, 3, 5)}, "memory must have shape"),
        ({}, {"memory": torch.zeros(1, 3, D_MODEL)}, "memory must have the batch size of x, 2"),
        ({"causal": True}, {"memory": torch.zeros(2, 3, D_MODEL)}, "causal must be False"),
        ({}, {"memory": torch.zeros(2, 3, D_MODEL), "cache": KVCache()}, "cache must be None"),
        (
            {},
            {"memory": torch.zeros(2, 3, D_MODEL), "memory_positions": torch.arange(4)},
            "memory_positions must have one entry for each of the 3 tokens",
        ),
        ({}, {"memory_positions": torch.arange(4)}, "memory must be given with memory_positions"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_refused(plain_arguments, options, call, words):
    module = MultiHeadAttention(D_MODEL, N_HEADS, **options)
    with pytest.raises(ValueError, match=words):
        module(torch.randn(2, 5, D_MODEL), **call)
