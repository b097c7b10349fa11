"""Shaw, Transformer-XL, T5 and DeBERTa against code that others wrote, with random weights."""

import pytest
import torch
from closeness import gap
from torchscale.component.relative_position_bias import RelativePositionBias as TorchscaleT5
from transformers import (
    DebertaConfig,
    DebertaV2Config,
    T5Config,
    VitsConfig,
    Wav2Vec2BertConfig,
    Wav2Vec2ConformerConfig,
    XLNetConfig,
)
from transformers.models.deberta import modeling_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.t5.modeling_t5 import T5Attention
from transformers.models.vits.modeling_vits import VitsAttention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention
from transformers.models.wav2vec2_conformer import modeling_wav2vec2_conformer
from transformers.models.xlnet.modeling_xlnet import XLNetModel, XLNetRelativeAttention
from x_transformers.x_transformers import RelativePositionBias as XTransformersT5

from course_utils.attention import attention_weights
from course_utils.encodings import T5, DeBERTa, Places, Shaw, TransformerXL
from course_utils.encodings.functional import t5_bucket

# batch, length, d_model, n_heads
shapes = pytest.mark.parametrize(
    ("batch", "length", "d_model", "n_heads"), [(1, 1, 8, 2), (2, 7, 12, 3), (3, 40, 64, 4)]
)


def heads(batch, length, d_model, n_heads):
    return torch.randn(3, batch, n_heads, length, d_model // n_heads).unbind(0)


def random_parameters(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return module.eval()


def attend(encoding, q, k, v):
    """Plain attention with doors 3 and 4."""
    row = torch.arange(q.shape[2])
    bias = encoding.bias(q, k, Places(row))
    weights = attention_weights(q, k, encoding.scale(encoding.d_head), bias)
    more = encoding.values(weights, Places(row))
    return weights @ v if more is None else weights @ v + more


def passing_through(linears):
    """Make projections hand their input on, so that given q, k, v reach the attention."""
    for linear in linears:
        torch.nn.init.eye_(linear.weight)
        if linear.bias is not None:
            torch.nn.init.zeros_(linear.bias)


def merged(x):
    return x.transpose(1, 2).flatten(2)  # (batch, seq, d_model)


def attend_to_itself(encoding, x):
    """The same content for queries, keys and values, (batch, seq, d_model)."""
    split = x.unflatten(-1, (encoding.n_heads, -1)).transpose(1, 2)
    return merged(attend(encoding, split, split, split))


# T5

# In the last four, rounding in float32 decides on some buckets: float64 would give others.
BUCKETS = [(32, 128), (8, 20), (64, 128), (128, 1000), (10, 6), (320, 800), (4, 5000)]
BUCKETS += [(18, 128), (18, 4096), (36, 32), (108, 64)]


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("n_buckets", "max_distance"), BUCKETS)
def test_t5_buckets_are_those_of_three_libraries(n_buckets, max_distance, bidirectional):
    offsets = torch.arange(-5000, 5001)
    ours = t5_bucket(offsets, n_buckets, max_distance, bidirectional)
    kinds = {"num_buckets": n_buckets, "max_distance": max_distance}
    transformers = T5Attention._relative_position_bucket(offsets, bidirectional, **kinds)
    torchscale = TorchscaleT5._relative_position_bucket(offsets, bidirectional, **kinds)
    x_transformers = XTransformersT5._relative_position_bucket(
        offsets, causal=not bidirectional, **kinds
    )
    assert torch.equal(ours, transformers)
    assert torch.equal(ours, torchscale)
    assert torch.equal(ours, x_transformers)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(("q_len", "k_len"), [(1, 1), (5, 5), (200, 200), (3, 150)])
def test_t5_bias_is_that_of_transformers_and_x_transformers(q_len, k_len, causal):
    config = T5Config(
        d_model=8, d_kv=4, num_heads=2, relative_attention_num_buckets=16, is_decoder=causal
    )
    oracle = T5Attention(config, has_relative_attention_bias=True, layer_idx=0)
    second = XTransformersT5(scale=1, causal=causal, num_buckets=16, heads=2)
    encoding = T5(8, 2, n_buckets=16, causal=causal)
    with torch.no_grad():
        encoding.table.normal_()
        oracle.relative_attention_bias.weight.copy_(encoding.table)
        second.relative_attention_bias.weight.copy_(encoding.table)
    past = k_len - q_len
    q_pos, k_pos = torch.arange(past, k_len), torch.arange(k_len)
    q, k = torch.randn(1, 2, q_len, 4), torch.randn(1, 2, k_len, 4)
    ours = encoding.bias(q, k, Places(q_pos, k_pos))
    assert ours is not None
    assert gap(ours, oracle.compute_bias(q_len, k_len, past_seen_tokens=past)) == 0
    assert gap(ours[0], second(q_len, k_len)) == 0


# Transformer-XL


def xlnet_columns(W_r):
    """Our W_r for XLNet, whose sinusoids have all sines before all cosines."""
    return torch.cat([W_r[:, 0::2], W_r[:, 1::2]], dim=1)


@shapes
def test_transformer_xl_attends_as_xlnet_does(batch, length, d_model, n_heads):
    d_head = d_model // n_heads
    config = XLNetConfig(d_model=d_model, n_head=n_heads, n_layer=1, d_inner=8, vocab_size=8)
    oracle, model = random_parameters(XLNetRelativeAttention(config)), XLNetModel(config).eval()
    encoding = random_parameters(TransformerXL(d_model, n_heads))
    with torch.no_grad():
        oracle.r.copy_(
            xlnet_columns(encoding.W_r.weight).T.unflatten(1, (n_heads, d_head))  # (D, h, d_head)
        )
        oracle.r_w_bias.copy_(encoding.u)
        oracle.r_r_bias.copy_(encoding.v)
    q, k, v = heads(batch, length, d_model, n_heads)
    R = model.relative_positional_encoding(length, length, bsz=batch)
    projected = torch.einsum("ibh,hnd->ibnd", R, oracle.r)
    seq_first = (x.permute(2, 0, 1, 3) for x in (q, k, v))  # (seq, batch, heads, d_head)
    expected = oracle.rel_attn_core(*seq_first, projected).permute(1, 2, 0, 3)
    assert gap(attend(encoding, q, k, v), expected) <= 1e-5


@shapes
def test_transformer_xl_attends_as_the_conformer_does(batch, length, d_model, n_heads):
    """A second oracle, with sines and cosines interleaved as ours: W_r is copied as it is."""
    config = Wav2Vec2ConformerConfig(
        hidden_size=d_model,
        num_attention_heads=n_heads,
        position_embeddings_type="relative",
        max_source_positions=64,
    )
    config._attn_implementation = "eager"
    oracle = modeling_wav2vec2_conformer.Wav2Vec2ConformerSelfAttention(config).eval()
    passing_through([oracle.linear_q, oracle.linear_k, oracle.linear_v, oracle.linear_out])
    encoding = random_parameters(TransformerXL(d_model, n_heads))
    with torch.no_grad():
        oracle.linear_pos.weight.copy_(encoding.W_r.weight)
        oracle.pos_bias_u.copy_(encoding.u)
        oracle.pos_bias_v.copy_(encoding.v)
    x = torch.randn(batch, length, d_model)
    R = modeling_wav2vec2_conformer.Wav2Vec2ConformerRelPositionalEmbedding(config)(x)
    expected = oracle(x, relative_position_embeddings=R)[0]
    assert gap(attend_to_itself(encoding, x), expected) <= 1e-5


# DeBERTa


def deberta_pair(config, attention, key_projection, query_projection):
    oracle = random_parameters(attention(config))
    encoding = random_parameters(
        DeBERTa(
            config.hidden_size,
            config.num_attention_heads,
            max_distance=config.max_relative_positions,
            released_code=True,
        )
    )
    with torch.no_grad():
        for ours, theirs in ((encoding.W_kr, key_projection), (encoding.W_qr, query_projection)):
            linear = getattr(oracle, theirs)
            linear.weight.copy_(ours.weight)
            if linear.bias is not None:  # which neither the paper nor our projections have
                linear.bias.zero_()
    return oracle, encoding


def deberta_config(config, d_model, n_heads, max_distance):
    return config(
        hidden_size=d_model,
        num_attention_heads=n_heads,
        relative_attention=True,
        max_relative_positions=max_distance,
        pos_att_type=["c2p", "p2c"],
    )


distances = pytest.mark.parametrize("max_distance", [1, 4, 64])


@distances
@shapes
def test_released_deberta_attends_as_transformers_does(
    batch, length, d_model, n_heads, max_distance
):
    """The library's first version follows the released code: so does ``released_code=True``."""
    config = deberta_config(DebertaConfig, d_model, n_heads, max_distance)
    attention = modeling_deberta.DisentangledSelfAttention
    oracle, encoding = deberta_pair(config, attention, "pos_proj", "pos_q_proj")
    with torch.no_grad():
        oracle.in_proj.weight.mul_(0.3)
    x = torch.randn(batch, length, d_model)
    row = torch.arange(length)
    expected, weights = oracle(
        x,
        torch.ones(batch, 1, length, length),
        output_attentions=True,
        relative_pos=(row[:, None] - row)[None],
        rel_embeddings=encoding.table,
    )
    q, k, v = oracle.transpose_for_scores(oracle.in_proj(x)).chunk(3, dim=-1)
    q, v = (x + bias.view(n_heads, 1, -1) for x, bias in ((q, oracle.q_bias), (v, oracle.v_bias)))
    assert gap(merged(attend(encoding, q, k, v)), expected) <= 1e-5
    ours = attention_weights(
        q, k, encoding.scale(encoding.d_head), encoding.bias(q, k, Places(row))
    )
    assert gap(ours, weights) <= 1e-5


@distances
@shapes
def test_released_deberta_has_the_bias_of_version_2(batch, length, d_model, n_heads, max_distance):
    """With one row an offset and projections of its own, as version 2 can be set."""
    config = deberta_config(DebertaV2Config, d_model, n_heads, max_distance)
    attention = modeling_deberta_v2.DisentangledSelfAttention
    oracle, encoding = deberta_pair(config, attention, "pos_key_proj", "pos_query_proj")
    q, k, _ = heads(batch, length, d_model, n_heads)
    row = torch.arange(length)
    expected = oracle.disentangled_attention_bias(
        q.flatten(0, 1), k.flatten(0, 1), (row[:, None] - row)[None], encoding.table, 3
    )
    ours = encoding.bias(q, k, Places(row))
    assert gap(ours, expected.view_as(ours)) <= 1e-5


def test_the_papers_deberta_is_not_what_transformers_computes():
    config = deberta_config(DebertaV2Config, 16, 2, 4)
    attention = modeling_deberta_v2.DisentangledSelfAttention
    oracle, released = deberta_pair(config, attention, "pos_key_proj", "pos_query_proj")
    paper = DeBERTa(16, 2, max_distance=4)
    paper.load_state_dict(released.state_dict())
    q, k, _ = heads(1, 9, 16, 2)
    row = torch.arange(9)
    expected = oracle.disentangled_attention_bias(
        q.flatten(0, 1), k.flatten(0, 1), (row[:, None] - row)[None], paper.table, 3
    )
    difference = (paper.bias(q, k, Places(row))[0] - expected).detach().abs()
    assert float(difference.max()) > 0.1
    # On the diagonal i = j, so the two readings agree there.
    assert float(difference.diagonal(dim1=1, dim2=2).max()) <= 1e-5


# Shaw


@pytest.mark.parametrize("max_distance", [1, 4, 64])
@shapes
def test_shaws_key_term_is_that_of_wav2vec2_bert(batch, length, d_model, n_heads, max_distance):
    config = Wav2Vec2BertConfig(
        hidden_size=d_model,
        num_attention_heads=n_heads,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=max_distance,
        right_max_position_embeddings=max_distance,
    )
    config._attn_implementation = "eager"
    oracle = Wav2Vec2BertSelfAttention(config).eval()
    passing_through([oracle.linear_q, oracle.linear_k, oracle.linear_v, oracle.linear_out])
    encoding = random_parameters(Shaw(d_model, n_heads, max_distance, use_values=False))
    with torch.no_grad():
        oracle.distance_embedding.weight.copy_(encoding.key_table)
    x = torch.randn(batch, length, d_model)
    assert gap(attend_to_itself(encoding, x), oracle(x)[0]) <= 1e-5


@pytest.mark.parametrize("beyond", [0, 5])
@shapes
def test_both_of_shaws_terms_are_those_of_vits(batch, length, d_model, n_heads, beyond):
    """VITS has both terms, but nothing beyond its window where Shaw clips: so none is beyond."""
    window = length + beyond
    config = VitsConfig(
        hidden_size=d_model, num_attention_heads=n_heads, window_size=window, attention_dropout=0.0
    )
    oracle = VitsAttention(config).eval()
    passing_through([oracle.q_proj, oracle.k_proj, oracle.v_proj, oracle.out_proj])
    encoding = random_parameters(Shaw(d_model, n_heads, max_distance=window))
    with torch.no_grad():
        oracle.emb_rel_k.copy_(encoding.key_table)
        oracle.emb_rel_v.copy_(encoding.value_table)
    x = torch.randn(batch, length, d_model)
    assert gap(attend_to_itself(encoding, x), oracle(x)[0]) <= 1e-5
