"""Bad arguments to the rotary encodings: each error names the argument and what it got."""

import torch
from bad_calls import bad_calls

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
    rotate_pairs,
    scaled_frequencies,
    xpos_scale,
)
from course_utils.encodings.layouts import convert_layout, layout_order, rotated_width

NAN, INF = float("nan"), float("inf")
ROW = torch.arange(4)
HEADS = torch.zeros(1, 2, 4, 8)
X, ANGLES = torch.zeros(4, 8), torch.zeros(4, 4)
FREQUENCIES = torch.ones(4)
WEIGHT = torch.zeros(16, 16)


def rope(**options):
    return Rotary(**{"d_model": 16, "n_heads": 2} | options)


def rotate(q=HEADS, k=HEADS, q_pos=ROW, k_pos=ROW, kind=Rotary, **options):
    return kind(16, 2, **options).rotate(q, k, Places(q_pos, k_pos))


def grid(positions):
    return rotate(q_pos=positions, kind=AxialRotary, width=2)


def frequencies(d=8, **options):
    return scaled_frequencies(d, **options)


def apply(x=X, angles=ANGLES, layout="half", factor=1.0):
    return apply_rope(x, angles, layout, factor)


def convert(weight=WEIGHT, n_heads=2, source="half", target="interleaved", **options):
    return convert_layout(weight, n_heads, source, target, **options)


# What is called, the error, the argument it must name, and what else its message must show.
BAD = [
    # scalings
    (lambda: Linear(-2), ValueError, "factor", "above 0", "got -2"),
    (lambda: Linear(0), ValueError, "factor", "above 0", "got 0"),
    (lambda: Linear(NAN), ValueError, "factor", "nan"),
    (lambda: Linear(INF), ValueError, "factor", "inf"),
    (lambda: Linear("2"), TypeError, "factor", "str '2'"),
    (lambda: Linear(True), TypeError, "factor", "bool True"),
    (lambda: Linear(None), TypeError, "factor", "NoneType"),
    (lambda: NTK(-1.5), ValueError, "factor", "got -1.5"),
    (lambda: NTK(0), ValueError, "factor", "got 0"),
    (lambda: DynamicNTK(-2, 2048), ValueError, "factor", "got -2"),
    (lambda: DynamicNTK(2, 0), ValueError, "original_len", "at least 1", "got 0"),
    (lambda: DynamicNTK(2, -5), ValueError, "original_len", "got -5"),
    (lambda: DynamicNTK(2, 2048.0), TypeError, "original_len", "float 2048.0"),
    (lambda: YaRN(-4, 2048), ValueError, "factor", "got -4"),
    (lambda: YaRN(4, 0), ValueError, "original_len", "got 0"),
    (lambda: YaRN(4, 2048, 1, 32), ValueError, "beta_fast", "above beta_slow, 32", "got 1"),
    (lambda: YaRN(4, 2048, 2, 2), ValueError, "beta_fast", "above beta_slow, 2", "got 2"),
    (lambda: YaRN(4, 2048, beta_slow=0), ValueError, "beta_slow", "got 0"),
    (lambda: YaRN(4, 2048, beta_fast=NAN), ValueError, "beta_fast", "nan"),
    (lambda: YaRN(4, 2048, released_code=1), TypeError, "released_code", "int 1"),
    (lambda: frequencies(base=1, scaling=YaRN(4, 64)), ValueError, "base", "above 1", "got 1.0"),
    (lambda: LongRoPE([1.0, -1.0], 4, 64), ValueError, "factors", "factors[1]", "got -1.0"),
    (lambda: LongRoPE([1.0, 0], 4, 64), ValueError, "factors", "factors[1]", "got 0"),
    (lambda: LongRoPE("1234", 4, 64), TypeError, "factors", "str '1234'"),
    (lambda: LongRoPE(4.0, 4, 64), TypeError, "factors", "float 4.0"),
    (lambda: LongRoPE([1.0] * 4, 0, 64), ValueError, "factor", "got 0"),
    (lambda: LongRoPE([1.0] * 4, 4, 1), ValueError, "original_len", "at least 2", "got 1"),
    (lambda: Llama3(8, 0), ValueError, "original_len", "got 0"),
    (lambda: Llama3(-8, 8192), ValueError, "factor", "got -8"),
    (lambda: Llama3(8, 8192, 4, 1), ValueError, "high_freq", "above low_freq, 4", "got 1"),
    # a scaling that does not fit is found when the encoding is made
    (lambda: rope(scaling=LongRoPE([1.0] * 3, 4, 64)), ValueError, "factors", "4 pairs", "got 3"),
    (lambda: rope(scaling=LongRoPE([], 4, 64)), ValueError, "factors", "4 pairs", "got 0"),
    (lambda: rope(scaling="yarn"), TypeError, "scaling", "str 'yarn'", "YaRN(factor="),
    (lambda: rope(scaling={"factor": 2}), TypeError, "scaling", "dict {'factor': 2}"),
    (lambda: rope(scaling=4.0), TypeError, "scaling", "float 4.0"),
    (lambda: rope(scaling=Linear), TypeError, "scaling", "Linear"),
    # constructors
    (lambda: rope(layout="halves"), ValueError, "layout", "'halves'", "did you mean 'half'"),
    (lambda: rope(layout="interleave"), ValueError, "layout", "did you mean 'interleaved'"),
    (lambda: rope(layout=None), TypeError, "layout", "NoneType"),
    (lambda: rope(d_model=12, n_heads=4), ValueError, "d_model", "12 / 4 = 3", "8 or 16"),
    (lambda: rope(d_model=3, n_heads=3), ValueError, "d_model", "3 / 3 = 1", "try d_model 6"),
    (lambda: rope(n_heads=3), ValueError, "n_heads", "n_heads 3", "d_model 16"),
    (lambda: rope(fraction=0), ValueError, "fraction", "got 0"),
    (lambda: rope(fraction=-0.5), ValueError, "fraction", "got -0.5"),
    (lambda: rope(fraction=1.5), ValueError, "fraction", "got 1.5 (12 features)", "0.25, 0.5"),
    (lambda: rope(fraction=0.375), ValueError, "fraction", "got 0.375 (3 features)"),
    (lambda: rope(fraction=0.3), ValueError, "fraction", "got 0.3 (2.4 features)"),
    (lambda: rope(fraction=0.01), ValueError, "fraction", "got 0.01"),
    (lambda: rope(fraction=NAN), ValueError, "fraction", "nan"),
    (lambda: rope(fraction="1"), TypeError, "fraction", "str '1'"),
    (lambda: rope(base=0), ValueError, "base", "got 0"),
    (lambda: rope(base=-1e4), ValueError, "base", "-10000"),
    (lambda: rope(base=NAN), ValueError, "base", "nan"),
    (lambda: XPos(16, 2, scale_base=0), ValueError, "scale_base", "got 0"),
    (lambda: XPos(16, 2, base="big"), TypeError, "base", "str 'big'"),
    (lambda: XPos(10, 2), ValueError, "d_model", "10 / 2 = 5", "8 or 12"),
    (lambda: AxialRotary(16, 2, 0), ValueError, "width", "got 0"),
    (lambda: AxialRotary(16, 2, 2.0), TypeError, "width", "float 2.0"),
    (lambda: AxialRotary(12, 2, 3), ValueError, "d_model", "multiple of 4", "= 6", "8 or 16"),
    # rotate
    (lambda: rotate(q=HEADS[0]), ValueError, "q", "(2, 4, 8)"),
    (lambda: rotate(q=HEADS.long()), TypeError, "q", "torch.int64"),
    (lambda: rotate(k=HEADS[..., :6]), ValueError, "k", "(batch, 2, seq, 8)", "(1, 2, 4, 6)"),
    (lambda: rotate(k=HEADS[:, [0, 1, 1]]), ValueError, "k", "(1, 3, 4, 8)"),
    (lambda: rotate(q_pos=ROW[:3]), ValueError, "q_pos", "4 tokens", "got 3"),
    (lambda: rotate(k_pos=torch.arange(5)), ValueError, "k_pos", "4 tokens", "got 5"),
    (lambda: rotate(q_pos=ROW[None, None]), ValueError, "q_pos", "(1, 1, 4)"),
    (lambda: rotate(k_pos=[0, 1, 2, 3]), TypeError, "k_pos", "list"),
    (lambda: rotate(k_pos=ROW / 0), ValueError, "k_pos", "finite"),
    (lambda: rotate(kind=XPos, k_pos=ROW[:2]), ValueError, "k_pos", "got 2"),
    (lambda: grid(ROW / 2), ValueError, "q_pos", "whole", "0.5 at place 1"),
    # pure functions
    (lambda: frequencies(7), ValueError, "d", "even", "got 7"),
    (lambda: frequencies(0), ValueError, "d", "got 0"),
    (lambda: frequencies(8.0), TypeError, "d", "float 8.0"),
    (lambda: frequencies(base=0), ValueError, "base", "got 0"),
    (lambda: frequencies(length=-1), ValueError, "length", "got -1"),
    (lambda: frequencies(length=0), ValueError, "length", "got 0"),
    (lambda: frequencies(length="4k"), TypeError, "length", "str '4k'"),
    (lambda: rope_angles(ROW[None, None], FREQUENCIES), ValueError, "positions", "(1, 1, 4)"),
    (lambda: rope_angles(ROW, FREQUENCIES[None, None]), ValueError, "frequencies", "(1, 1, 4)"),
    (lambda: rope_angles(ROW, FREQUENCIES.bfloat16()), TypeError, "frequencies", "torch.bfloat16"),
    (lambda: rope_angles(ROW, 1.0), TypeError, "frequencies", "float 1.0"),
    (lambda: axial_angles(ROW, ROW[:3], FREQUENCIES), ValueError, "columns", "got 3"),
    (lambda: xpos_scale(ROW, 7), ValueError, "d", "got 7"),
    (lambda: xpos_scale(ROW, 8, -512), ValueError, "scale_base", "-512"),
    (lambda: apply(layout="neox"), ValueError, "layout", "'neox'", "interleaved, half"),
    (lambda: apply(x=X[:, :7]), ValueError, "x", "even d", "(4, 7)"),
    (lambda: apply(x=X[0]), ValueError, "x", "(8,)"),
    (lambda: apply(x=X.long()), TypeError, "x", "torch.int64"),
    (lambda: apply(angles=X), ValueError, "angles", "(4, 4)", "got (4, 8)"),
    (lambda: apply(angles=ANGLES[:3]), ValueError, "angles", "got (3, 4)"),
    (lambda: apply(angles=ANGLES[:, :2]), ValueError, "angles", "got (4, 2)"),
    (lambda: apply(angles=ANGLES.long()), TypeError, "angles", "torch.int64"),
    (lambda: apply(angles=ANGLES.half()), TypeError, "angles", "torch.float16"),
    (lambda: apply(HEADS, ANGLES.expand(3, 4, 4)), ValueError, "angles", "axes", "got (3, 4, 4)"),
    (lambda: apply(HEADS, ANGLES.expand(3, 1, 4, 4)), ValueError, "angles", "got (3, 1, 4, 4)"),
    (lambda: apply(factor=0), ValueError, "factor", "above 0", "got 0"),
    (lambda: rotate_pairs(X, ANGLES, ANGLES[:1]), ValueError, "sin", "got (1, 4)"),
    (lambda: rotated_width(7, 1.0), ValueError, "d_head", "got 7"),
    (lambda: layout_order(7, "half", "half"), ValueError, "d", "got 7"),
    (lambda: layout_order(8, "half", "full"), ValueError, "target", "'full'"),
    (lambda: convert(source="Half"), ValueError, "source", "'Half'", "did you mean 'half'"),
    (lambda: convert(n_heads=3), ValueError, "n_heads", "n_heads 3", "d_model 16"),
    (lambda: convert(fraction=0.3), ValueError, "fraction", "got 0.3"),
    (lambda: convert(weight=WEIGHT.long()), TypeError, "weight", "torch.int64"),
    (lambda: convert(weight=torch.zeros(())), ValueError, "weight", "(d_model, …)", "number 0.0"),
    (lambda: convert(weight=None), TypeError, "weight", "NoneType"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)
