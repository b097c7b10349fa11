"""Bad arguments to the additive and the contextual encodings and to their formulas."""

import torch
from bad_calls import bad_calls

from course_utils.encodings import FIRE, ALiBi, CoPE, Kerple, Places, Sandwich
from course_utils.encodings.functional import (
    alibi_bias,
    alibi_slopes,
    contextual_counts,
    fire_psi,
    fire_share,
    interpolated,
    kerple_log,
    kerple_power,
    log_n_factor,
    sandwich_bias,
)

NAN, INF = float("nan"), float("inf")
ROW, HALVES = torch.arange(4), torch.full((2,), 0.5)
Q = torch.zeros(1, 2, 4, 8)
SQUARE = torch.zeros(4, 4)


def bias(maker=ALiBi, q=Q, k=Q, q_pos=ROW, k_pos=ROW):
    return maker(16, 2).bias(q, k, Places(q_pos, k_pos))


def share(q_pos=ROW, k_pos=ROW, c=0.1, threshold=9.0):
    return fire_share(q_pos, k_pos, c, threshold)


# What is called, the error, the argument it must name, and what else its message must show.
BAD = [
    # constructors
    (lambda: ALiBi(16, 3), ValueError, "n_heads", "n_heads 3", "1, 2, 4, 8, 16"),
    (lambda: Kerple(16, 2, "logs"), ValueError, "kind", "'logs'", "did you mean 'log'", "power"),
    (lambda: Kerple(16, 2, None), TypeError, "kind", "NoneType"),
    (lambda: Kerple(16, 2, inside_scale=1), TypeError, "inside_scale", "int 1"),
    (lambda: Kerple(16, 2.0), TypeError, "n_heads", "float 2.0"),
    (lambda: Sandwich(16, 2, 7), ValueError, "d_bar", "even", "got 7", "6 or 8"),
    (lambda: Sandwich(16, 2, 64.0), TypeError, "d_bar", "float 64.0"),
    (lambda: FIRE(16, 2, hidden=0), ValueError, "hidden", "got 0"),
    (lambda: FIRE(16, 2, hidden="32"), TypeError, "hidden", "str '32'"),
    (lambda: FIRE(16, 2, original_len=0), ValueError, "original_len", "got 0"),
    (lambda: FIRE(16, 2, original_len=-512), ValueError, "original_len", "got -512"),
    (lambda: FIRE(16, 2, original_len=NAN), TypeError, "original_len", "float nan"),
    (lambda: CoPE(16, 2, 0), ValueError, "n_positions", "at least 2", "got 0"),
    (lambda: CoPE(16, 2, 1), ValueError, "n_positions", "at least 2", "got 1"),
    (lambda: CoPE(16, 2, 1.5), TypeError, "n_positions", "float 1.5"),
    (lambda: CoPE(16, 2, True), TypeError, "n_positions", "bool True"),
    # door 3
    (lambda: bias(q=Q[0]), ValueError, "q", "(batch, 2, seq, 8)", "(2, 4, 8)"),
    (lambda: bias(Kerple, k=Q[..., :4]), ValueError, "k", "(1, 2, 4, 4)"),
    (lambda: bias(Sandwich, q=Q.long()), TypeError, "q", "torch.int64"),
    (lambda: bias(FIRE, k=Q[:, [0, 1, 1]]), ValueError, "k", "(1, 3, 4, 8)"),
    (lambda: bias(CoPE, q=Q.tolist()), TypeError, "q", "list"),
    (lambda: bias(CoPE, k=Q[:, :, :0]), ValueError, "k", "empty", "(1, 2, 0, 8)"),
    (lambda: bias(q_pos=ROW[:3]), ValueError, "q_pos", "4 tokens", "got 3"),
    (lambda: bias(CoPE, k_pos=ROW[:1]), ValueError, "k_pos", "4 tokens", "got 1"),
    (lambda: bias(Kerple, k_pos=ROW[None, None]), ValueError, "k_pos", "(1, 1, 4)"),
    (lambda: bias(Sandwich, q_pos=[0, 1, 2, 3]), TypeError, "q_pos", "list [0, 1, 2, 3]"),
    (lambda: bias(k_pos=ROW / 0), ValueError, "k_pos", "nan at place 0"),
    (lambda: bias(FIRE, q_pos=ROW - INF), ValueError, "q_pos", "-inf at place 0"),
    (lambda: bias(CoPE, q_pos=ROW * NAN), ValueError, "q_pos", "nan at place 0"),
    (lambda: bias(Kerple, q_pos=ROW > 1), TypeError, "q_pos", "torch.bool"),
    # formulas
    (lambda: alibi_slopes(0), ValueError, "n_heads", "got 0"),
    (lambda: alibi_slopes(8.0), TypeError, "n_heads", "float 8.0"),
    (lambda: alibi_slopes(True), TypeError, "n_heads", "bool True"),
    (lambda: alibi_bias(ROW, [0.5, 0.25]), TypeError, "slopes", "list [0.5, 0.25]"),
    (lambda: alibi_bias([1, 2], HALVES), TypeError, "offsets", "list [1, 2]"),
    (lambda: kerple_log(ROW, 0.5, HALVES), TypeError, "r1", "float 0.5"),
    (lambda: kerple_log(ROW > 1, HALVES, HALVES), TypeError, "offsets", "torch.bool"),
    (lambda: kerple_power(ROW, HALVES, ROW), TypeError, "r2", "torch.int64"),
    (lambda: kerple_power(ROW, HALVES, Q), ValueError, "r2", "(heads,)", "(1, 2, 4, 8)"),
    (lambda: kerple_power(ROW, HALVES, HALVES[:1]), ValueError, "r2", "2", "got 1"),
    (lambda: sandwich_bias(3, 2), TypeError, "offsets", "int 3"),
    (lambda: sandwich_bias(ROW * 1j, 2), TypeError, "offsets", "complex"),
    (lambda: sandwich_bias(ROW, 0), ValueError, "n_heads", "got 0"),
    (lambda: sandwich_bias(ROW, 2, 3), ValueError, "d_bar", "got 3"),
    (lambda: fire_psi(2.0, 0.1), TypeError, "x", "float 2.0"),
    (lambda: fire_psi(ROW, 0), ValueError, "c", "got 0"),
    (lambda: share(c=torch.tensor(-0.1)), ValueError, "c", "above 0", "-0.1"),
    (lambda: share(c=HALVES), ValueError, "c", "(2,)"),
    (lambda: share(threshold=0.0), ValueError, "threshold", "got 0"),
    (lambda: share(threshold=torch.tensor(NAN)), ValueError, "threshold", "nan"),
    (lambda: share(q_pos=ROW / 0), ValueError, "q_pos", "nan at place 0"),
    (lambda: share(k_pos=3), TypeError, "k_pos", "int 3"),
    (lambda: log_n_factor(0, 512), ValueError, "n", "at least 1", "got 0"),
    (lambda: log_n_factor(ROW, 512), ValueError, "n", "at least 1", "got 0"),
    (lambda: log_n_factor(NAN, 512), ValueError, "n", "nan"),
    (lambda: log_n_factor(torch.tensor([2.0, INF]), 512), ValueError, "n", "inf at [1]"),
    (lambda: log_n_factor("9", 512), TypeError, "n", "str '9'"),
    (lambda: log_n_factor(9, 1), ValueError, "original_len", "at least 2", "got 1"),
    (lambda: log_n_factor(9, 512.0), TypeError, "original_len", "float 512.0"),
    (lambda: contextual_counts(SQUARE.long(), ROW, ROW), TypeError, "logits", "torch.int64"),
    (lambda: contextual_counts(SQUARE[:3], ROW, ROW), ValueError, "logits", "4 and 4", "(3, 4)"),
    (lambda: contextual_counts(SQUARE[0], ROW, ROW), ValueError, "logits", "q_len", "(4,)"),
    (lambda: contextual_counts(SQUARE, ROW, ROW * NAN), ValueError, "k_pos", "nan at place 0"),
    (lambda: interpolated(ROW, HALVES), TypeError, "table", "torch.int64"),
    (lambda: interpolated(HALVES, [0.5]), TypeError, "places", "list [0.5]"),
]


test_bad_input_names_the_argument_and_what_it_got = bad_calls(BAD)
