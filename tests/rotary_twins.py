"""What the tests of rotary encodings share: a slow twin, scores, gaps."""

import math

import torch
from hypothesis import strategies as st

from course_utils.encodings import Places

layouts = st.sampled_from(["interleaved", "half"])
shifts = st.integers(-(10**4), 10**4)


def random(*shape, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1), dtype=dtype)


def pairs_of(d, layout):
    if layout == "interleaved":
        return [(2 * m, 2 * m + 1) for m in range(d // 2)]
    return [(m, m + d // 2) for m in range(d // 2)]


def slow_rope(x, angles, layout):
    """Su et al. 2021, equation 34, one pair at a time, for x (seq, d)."""
    out = [list(token) for token in x.tolist()]
    for token, turns in zip(out, angles.tolist(), strict=True):
        for (first, second), angle in zip(pairs_of(len(token), layout), turns, strict=True):
            a, b = token[first], token[second]
            token[first] = a * math.cos(angle) - b * math.sin(angle)
            token[second] = a * math.sin(angle) + b * math.cos(angle)
    return torch.tensor(out, dtype=torch.float64)


def angles_of(row, d, base=10000.0):
    return torch.tensor(
        [[p * base ** (-2 * m / d) for m in range(d // 2)] for p in row], dtype=torch.float64
    )


def scores(encoding, q, k, q_pos, k_pos):
    q, k = encoding.rotate(q, k, Places(q_pos, k_pos))
    return encoding.scale(encoding.d_head) * q @ k.transpose(-1, -2)


def toeplitz_gap(matrix):
    """How far entries of entries diagonal are apart, at most, over all diagonals and heads."""
    diagonals = [matrix.diagonal(offset, -2, -1) for offset in range(1 - matrix.shape[-1], 1)]
    return max(float((entries.amax(-1) - entries.amin(-1)).max()) for entries in diagonals)
