"""Bad arguments of the relative family: the error names the argument and what is valid."""

import torch
from bad_calls import bad_calls

from course_utils.encodings import T5, DeBERTa, Places, Shaw, TransformerXL
from course_utils.encodings.functional import (
    clip_offsets,
    deberta_index,
    shaw_scores,
    shaw_values,
    skew,
    t5_bucket,
)

ROW = torch.arange(4)
HEADS = torch.zeros(1, 2, 4, 4)
WEIGHTS = torch.full((1, 2, 4, 4), 0.25)
OFFSETS = ROW - ROW[:, None]


def bias(kind, q=HEADS, k=HEADS, q_pos=ROW, k_pos=ROW):
    return kind(8, 2).bias(q, k, Places(q_pos, k_pos))


def values(weights=WEIGHTS, q_pos=ROW, k_pos=ROW, **options):
    return Shaw(8, 2, **options).values(weights, Places(q_pos, k_pos))


def bucket(offsets=OFFSETS, n_buckets=32, max_distance=128, bidirectional=True):
    return t5_bucket(offsets, n_buckets, max_distance, bidirectional)


# What is called, the error, the argument it must name, and what else its message must show.
BAD = [
    # constructors
    (lambda: Shaw(8, 3), ValueError, "n_heads", "n_heads 3"),
    (lambda: Shaw(8, 2, max_distance=0), ValueError, "max_distance", "got 0"),
    (lambda: Shaw(8, 2, max_distance=-4), ValueError, "max_distance", "got -4"),
    (lambda: Shaw(8, 2, max_distance=4.0), TypeError, "max_distance", "float 4.0"),
    (lambda: Shaw(8, 2, max_distance=True), TypeError, "max_distance", "bool True"),
    (lambda: Shaw(8, 2, use_values="yes"), TypeError, "use_values", "str 'yes'"),
    (lambda: Shaw(8, 2, use_values=None), TypeError, "use_values", "None"),
    (lambda: TransformerXL(9, 3), ValueError, "d_model", "even", "got 9", "8 or 10"),
    (lambda: TransformerXL(8.0, 2), TypeError, "d_model", "float 8.0"),
    (lambda: DeBERTa(8, 2, max_distance=0), ValueError, "max_distance", "got 0"),
    (lambda: DeBERTa(8, 2, max_distance="8"), TypeError, "max_distance", "str '8'"),
    (lambda: DeBERTa(8, 2, max_distance=True), TypeError, "max_distance", "bool True"),
    (lambda: DeBERTa(8, 2, released_code=1), TypeError, "released_code", "int 1"),
    (lambda: T5(8, 2, n_buckets=7), ValueError, "n_buckets", "even", "got 7"),
    (lambda: T5(8, 2, n_buckets=2), ValueError, "n_buckets", "at least 4", "got 2"),
    (lambda: T5(8, 2, n_buckets=1, causal=True), ValueError, "n_buckets", "at least 2", "got 1"),
    (lambda: T5(8, 2, n_buckets=0), ValueError, "n_buckets", "got 0"),
    (lambda: T5(8, 2, n_buckets=32.0), TypeError, "n_buckets", "float 32.0"),
    (lambda: T5(8, 2, max_distance=8), ValueError, "max_distance", "more than 8", "got 8"),
    (lambda: T5(8, 2, max_distance=16, causal=True), ValueError, "max_distance", "than 16"),
    (lambda: T5(8, 2, max_distance=0), ValueError, "max_distance", "got 0"),
    (lambda: T5(8, 2, max_distance=True), TypeError, "max_distance", "bool True"),
    (lambda: T5(8, 2, causal=0), TypeError, "causal", "int 0"),
    # door 3
    (lambda: bias(Shaw, q=HEADS[..., :3]), ValueError, "q", "(batch, 2, seq, 4)", "(1, 2, 4, 3)"),
    (lambda: bias(T5, k=HEADS[:, [0, 1, 1]]), ValueError, "k", "2, seq, 4)", "(1, 3, 4, 4)"),
    (lambda: bias(DeBERTa, q=HEADS[0]), ValueError, "q", "(2, 4, 4)"),
    (lambda: bias(TransformerXL, q=HEADS.long()), TypeError, "q", "torch.int64"),
    (lambda: bias(TransformerXL, k=[[1.0]]), TypeError, "k", "list"),
    (lambda: bias(TransformerXL, q_pos=ROW[:3]), ValueError, "q_pos", "4 tokens", "got 3"),
    (lambda: bias(DeBERTa, k_pos=torch.arange(5)), ValueError, "k_pos", "4 tokens", "got 5"),
    (lambda: bias(TransformerXL, k_pos=ROW / 0), ValueError, "k_pos", "finite", "nan at place 0"),
    (lambda: bias(Shaw, q_pos=ROW / 2), ValueError, "q_pos", "whole", "0.5 at place 1"),
    (lambda: bias(T5, k_pos=ROW / 2), ValueError, "k_pos", "whole", "0.5 at place 1"),
    (lambda: bias(DeBERTa, q_pos=ROW + 0.5), ValueError, "q_pos", "whole", "0.5 at place 0"),
    (lambda: bias(Shaw, q_pos=[0, 1, 2, 3]), TypeError, "q_pos", "list [0, 1, 2, 3]"),
    (lambda: bias(T5, q_pos=ROW > 1), TypeError, "q_pos", "torch.bool"),
    (lambda: Shaw(8, 2).bias(HEADS, HEADS, ROW), TypeError, "at", "Places", "tensor([0, 1, 2, 3])"),
    (lambda: bias(T5, q_pos=ROW.expand(3, 4)), ValueError, "q_pos", "one row", "1 texts", "got 3"),
    # door 4
    (lambda: Shaw(8, 2).values(WEIGHTS, ROW), TypeError, "at", "Places", "tensor([0, 1, 2, 3])"),
    (lambda: values(weights=WEIGHTS[0]), ValueError, "weights", "(2, 4, 4)"),
    (lambda: values(weights=WEIGHTS[:, :1]), ValueError, "weights", "(1, 1, 4, 4)"),
    (lambda: values(weights=WEIGHTS > 0), TypeError, "weights", "torch.bool"),
    (lambda: values(q_pos=ROW[:2]), ValueError, "q_pos", "4 tokens", "got 2"),
    (lambda: values(k_pos=ROW / 2), ValueError, "k_pos", "whole", "0.5 at place 1"),
    (lambda: values(k_pos=ROW[:2], use_values=False), ValueError, "k_pos", "got 2"),
    # functional
    (lambda: bucket(OFFSETS.float()), TypeError, "offsets", "integers", "torch.float32"),
    (lambda: bucket(OFFSETS > 0), TypeError, "offsets", "torch.bool"),
    (lambda: bucket([1, 2]), TypeError, "offsets", "list [1, 2]"),
    (lambda: bucket(n_buckets=31), ValueError, "n_buckets", "even", "got 31"),
    (lambda: bucket(n_buckets=-32), ValueError, "n_buckets", "got -32"),
    (lambda: bucket(max_distance=8), ValueError, "max_distance", "more than 8", "got 8"),
    (lambda: bucket(max_distance=128.0), TypeError, "max_distance", "float 128.0"),
    (lambda: bucket(bidirectional=None), TypeError, "bidirectional", "NoneType"),
    (lambda: clip_offsets(OFFSETS, 0), ValueError, "max_distance", "got 0"),
    (lambda: clip_offsets(OFFSETS / 2, 3), TypeError, "offsets", "torch.float32"),
    (lambda: deberta_index(OFFSETS, 1.5), TypeError, "max_distance", "float 1.5"),
    (lambda: deberta_index(3, 2), TypeError, "offsets", "int 3"),
    (lambda: skew(torch.zeros(4, 3)), ValueError, "rows", "(4, 3)"),
    (lambda: skew(torch.zeros(4)), ValueError, "rows", "(4,)"),
    (lambda: skew([[1.0]]), TypeError, "rows", "list"),
    (lambda: shaw_scores(HEADS, torch.zeros(4, 4), OFFSETS), ValueError, "key_table", "got 4"),
    (lambda: shaw_values(WEIGHTS, torch.zeros(1, 4), OFFSETS), ValueError, "value_table", "got 1"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)
