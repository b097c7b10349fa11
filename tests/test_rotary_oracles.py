"""RoPE, its scalings, xPos and RoPE on a grid against code that others wrote."""

import math

import pytest
import torch
from closeness import gap
from pairwise import pairwise
from rotary_embedding_torch import RotaryEmbedding as LucidRotary
from rotary_embedding_torch import apply_rotary_emb
from torchscale.component.xpos_relative_position import XPOS
from transformers import DINOv3ViTConfig, GPTNeoXConfig, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.dinov3_vit import modeling_dinov3_vit as dinov3
from transformers.models.gpt_neox import modeling_gpt_neox as neox
from transformers.models.gptj import modeling_gptj as gptj
from transformers.models.llama import modeling_llama as llama
from x_transformers import x_transformers as xt

from course_utils.encodings import (
    NTK,
    AxialRotary,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Places,
    Rotary,
    XPos,
    YaRN,
)
from course_utils.encodings.functional import (
    apply_rope,
    axial_angles,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
)

# The oracles multiply positions and frequencies in float32, so their own error grows by up to 2e-7
# a position; ours does not (see the last test here). Up to 32 positions both are within 1e-5.
SHAPES = [(1, 1, 1, 4), (2, 4, 32, 8), (1, 3, 30, 64), (2, 2, 17, 128)]
every_shape = pytest.mark.parametrize("shape", SHAPES)
WIDTHS, BASES, FACTORS = [4, 32, 64, 128], [10000.0, 500000.0], [1.0, 2.0, 8.0, 32.0]
every_base = pytest.mark.parametrize("base", BASES)
every_width = pytest.mark.parametrize("d", WIDTHS)
every_factor = pytest.mark.parametrize("s", FACTORS)


def turned(shape, layout, **options):
    """Random queries and keys, and both as our encoding turns them."""
    _, heads, seq, d = shape
    q, k = torch.randn(2, *shape)
    encoding = Rotary(heads * d, heads, layout=layout, **options)
    return (q, k), encoding.rotate(q, k, Places(torch.arange(seq)))


def config(d, base, **rope):
    return LlamaConfig(
        hidden_size=2 * d,
        num_attention_heads=2,
        head_dim=d,
        max_position_embeddings=rope.get("original_max_position_embeddings", 2048),
        rope_parameters={"rope_theta": base, "rope_type": "default", **rope},
    )


# The rotation


@every_shape
@every_base
def test_half_is_llamas_rope(shape, base):
    vectors, ours = turned(shape, "half", base=base)
    q, k = vectors
    row = torch.arange(shape[2])[None]
    cos, sin = llama.LlamaRotaryEmbedding(config(shape[3], base))(q, row)
    theirs = llama.apply_rotary_pos_emb(q, k, cos, sin)
    assert max(map(gap, ours, theirs)) <= 1e-5


@every_shape
def test_interleaved_is_gptjs_rope(shape):
    vectors, ours = turned(shape, "interleaved")
    sin, cos = gptj.create_sinusoidal_positions(shape[2], shape[3])[None].chunk(2, dim=-1)
    for x, mine in zip(vectors, ours, strict=True):
        theirs = gptj.apply_rotary_pos_emb(x.transpose(1, 2), sin, cos).transpose(1, 2)
        assert gap(mine, theirs) <= 1e-5


@every_shape
@every_base
def test_interleaved_is_the_rope_of_rotary_embedding_torch_and_x_transformers(shape, base):
    vectors, ours = turned(shape, "interleaved", base=base)
    lucid = LucidRotary(shape[3], theta=base)
    angles, _ = xt.RotaryEmbedding(shape[3], base=base).forward_from_seq_len(shape[2])
    for x, mine in zip(vectors, ours, strict=True):
        assert gap(mine, lucid.rotate_queries_or_keys(x)) <= 1e-5
        assert gap(mine, xt.apply_rotary_pos_emb(x, angles)) <= 1e-5


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75])
def test_a_fraction_is_the_partial_rope_of_gpt_neox(fraction):
    shape = (2, 2, 30, 32)
    vectors, ours = turned(shape, "half", fraction=fraction)
    q, k = vectors
    rope = {"rope_theta": 1e4, "rope_type": "default", "partial_rotary_factor": fraction}
    config = GPTNeoXConfig(hidden_size=64, num_attention_heads=2, rope_parameters=rope)
    oracle = neox.GPTNeoXRotaryEmbedding(config)
    cos, sin = oracle(q, torch.arange(30)[None])
    theirs = neox.apply_rotary_pos_emb(q, k, cos, sin)
    assert cos.shape[-1] == 32 * fraction
    assert max(map(gap, ours, theirs)) <= 1e-5


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.75])
def test_a_fraction_is_the_partial_rope_of_rotary_embedding_torch(fraction):
    vectors, ours = turned((2, 2, 30, 32), "interleaved", fraction=fraction)
    lucid = LucidRotary(int(32 * fraction))
    for x, mine in zip(vectors, ours, strict=True):
        assert gap(mine, lucid.rotate_queries_or_keys(x)) <= 1e-5


# The scalings


def agree(ours, theirs):
    frequencies, factor = theirs
    assert gap(ours[0], frequencies) <= 1e-5
    assert float((ours[0] / frequencies - 1).abs().max()) <= 1e-5  # slow pairs too
    assert ours[1] == pytest.approx(factor, abs=1e-5)


def transformers_scaling(kind, d, base, factor, trained=2048, length=None, **options):
    """Frequencies and factor of attention by transformers' function of this name."""
    options = {"factor": factor, "original_max_position_embeddings": trained, **options}
    rope = config(d, base, rope_type=kind, **options)
    return ROPE_INIT_FUNCTIONS[kind](rope, "cpu", seq_len=length)


@every_width
@every_base
@every_factor
def test_linear_is_that_of_transformers(d, base, s):
    agree(scaled_frequencies(d, base, Linear(s)), transformers_scaling("linear", d, base, s))


@pairwise(d=WIDTHS, base=BASES, s=FACTORS, length=[None, 100, 2048, 2049, 10_000])
def test_dynamic_ntk_is_that_of_transformers(d, base, s, length):
    oracle = transformers_scaling("dynamic", d, base, s, length=length)
    agree(scaled_frequencies(d, base, DynamicNTK(s, 2048), length), oracle)


@pairwise(d=WIDTHS, base=BASES, s=FACTORS, trained=[64, 2048, 32768], betas=[(32, 1), (16, 2)])
def test_yarn_as_released_is_that_of_transformers(d, base, s, trained, betas):
    fast, slow = betas
    oracle = transformers_scaling("yarn", d, base, s, trained, beta_fast=fast, beta_slow=slow)
    agree(scaled_frequencies(d, base, YaRN(s, trained, fast, slow)), oracle)


@every_width
@every_base
@every_factor
def test_longrope_is_that_of_transformers(d, base, s):
    each = (1 + 3 * torch.rand(d // 2)).tolist()
    factors = {"long_factor": each, "short_factor": [1.0] * (d // 2)}
    oracle = transformers_scaling("longrope", d, base, s, length=4096, **factors)
    agree(scaled_frequencies(d, base, LongRoPE(each, s, 2048), 4096), oracle)


@pairwise(d=WIDTHS, base=BASES, s=FACTORS, trained=[64, 2048, 8192], bounds=[(1, 4), (2, 16)])
def test_llama3_is_that_of_transformers(d, base, s, trained, bounds):
    low, high = bounds
    factors = {"low_freq_factor": low, "high_freq_factor": high}
    oracle = transformers_scaling("llama3", d, base, s, trained, **factors)
    agree(scaled_frequencies(d, base, Llama3(s, trained, low, high)), oracle)


@every_width
@every_base
@every_factor
def test_ntk_is_that_of_x_transformers(d, base, s):
    oracle = xt.RotaryEmbedding(d, base=base, base_rescale_factor=s).inv_freq
    agree(scaled_frequencies(d, base, NTK(s)), (oracle, 1.0))


@every_width
@every_factor
def test_ntk_is_that_of_rotary_embedding_torch(d, s):
    oracle = LucidRotary(d, theta=10000, theta_rescale_factor=s).freqs.detach()
    agree(scaled_frequencies(d, 10000.0, NTK(s)), (oracle, 1.0))


@pytest.mark.parametrize(
    ("scaling", "kind"), [(YaRN(4, 16), "yarn"), (DynamicNTK(4, 16), "dynamic")]
)
def test_a_scaled_llama_turns_queries_and_keys_as_we_do(scaling, kind):
    vectors, ours = turned((2, 2, 60, 64), "half", scaling=scaling)
    q, k = vectors
    rope = config(64, 1e4, rope_type=kind, factor=4.0, original_max_position_embeddings=16)
    cos, sin = llama.LlamaRotaryEmbedding(rope)(q, torch.arange(60)[None])
    assert max(map(gap, ours, llama.apply_rotary_pos_emb(q, k, cos, sin))) <= 1e-5


# xPos: each library has a reference position of its own, so scores are compared, not vectors.


def xpos_scores(shape):
    _, heads, seq, d = shape
    q, k = torch.randn(2, *shape)
    row = torch.arange(seq)
    turned_q, turned_k = XPos(heads * d, heads).rotate(q, k, Places(row))
    return q, k, turned_q @ turned_k.transpose(-1, -2) / math.sqrt(d)


@every_shape
def test_xpos_is_that_of_torchscale_and_x_transformers(shape):
    q, k, ours = xpos_scores(shape)
    oracle = XPOS(shape[3])
    torchscale = [oracle(q.flatten(0, 1)), oracle(k.flatten(0, 1), downscale=True)]
    angles, scale = xt.RotaryEmbedding(shape[3], use_xpos=True).forward_from_seq_len(shape[2])
    x_transformers = [
        xt.apply_rotary_pos_emb(x, angles, factor) for x, factor in ((q, scale), (k, 1 / scale))
    ]
    for queries, keys in (torchscale, x_transformers):
        theirs = (queries @ keys.mT / math.sqrt(shape[3])).view_as(ours)
        assert gap(ours.tril(), theirs.tril()) <= 1e-5


# On a grid


@pytest.mark.parametrize(("height", "width", "d"), [(3, 5, 8), (7, 4, 32), (1, 6, 64)])
@pytest.mark.parametrize("base", [100.0, 10000.0])
def test_axial_rope_is_that_of_rotary_embedding_torch(height, width, d, base):
    x = torch.randn(2, 1, height * width, d)
    row = torch.arange(height * width)
    ours, _ = AxialRotary(d, 1, width, base=base).rotate(x, x, Places(row))
    angles = LucidRotary(d // 2, theta=base).get_axial_freqs(height, width).flatten(0, 1)
    assert gap(ours, apply_rotary_emb(angles, x).detach()) <= 1e-5


@pytest.mark.parametrize(("height", "width", "d"), [(3, 5, 8), (4, 4, 64)])
def test_axial_angles_with_centred_positions_are_those_of_dinov3(height, width, d):
    sizes = {"hidden_size": 2 * d, "num_attention_heads": 2, "patch_size": 4, "rope_theta": 100.0}
    oracle = dinov3.DINOv3ViTRopePositionEmbedding(DINOv3ViTConfig(**sizes)).eval()
    cos, sin = oracle(torch.zeros(1, 3, 4 * height, 4 * width))
    q, k = torch.randn(2, 1, 2, height * width, d)
    theirs = dinov3.apply_rotary_pos_emb(q, k, cos, sin)
    # DINOv3 measures the patches' middles from the image's middle, from −1 to 1, times 2π.
    place = torch.arange(height * width)
    rows = 2 * math.pi * (2 * (place // width + 0.5) / height - 1)
    columns = 2 * math.pi * (2 * (place % width + 0.5) / width - 1)
    angles = axial_angles(rows, columns, rope_frequencies(d // 2, 100.0))
    assert (
        max(gap(apply_rope(x, angles, "half"), y) for x, y in zip((q, k), theirs, strict=True))
        <= 1e-5
    )


def test_far_from_the_start_ours_is_nearer_to_float64_than_the_libraries():
    row, d = torch.arange(100_000, 100_010), 64
    x = torch.randn(10, d)
    exact = apply_rope(x.double(), rope_angles(row, rope_frequencies(d)))
    ours, _ = Rotary(d, 1).rotate(x[None, None], x[None, None], Places(row))
    angles, _ = xt.RotaryEmbedding(d)(row)
    theirs = xt.apply_rotary_pos_emb(x[None, None], angles)
    assert gap(ours[0, 0], exact) <= 1e-6 < 1e-3 < gap(theirs[0, 0], exact)
