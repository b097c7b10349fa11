"""Slow twins: what an encoding adds to the score of one query and one key, from its paper.

Each is called with the encoding, the vectors of a query at position i and of a key at position j,
both positions and the head.
"""

import itertools
import math

import torch


def alibi(encoding, q, k, i, j, head):
    """Press et al. 2021; heads past a power of two take every other slope of the next power."""
    lower = 2 ** math.floor(math.log2(encoding.n_heads))
    if head < lower:
        return -abs(j - i) * 2 ** (-8 * (head + 1) / lower)
    return -abs(j - i) * 2 ** (-8 * (2 * (head - lower) + 1) / (2 * lower))


def kerple(encoding, q, k, i, j, head):
    r1, r2, distance = encoding.r1[head], encoding.r2[head], abs(j - i)
    kernel = (1 + r2 * distance).log() if encoding.kind == "log" else distance**r2
    return -r1 * kernel / (math.sqrt(encoding.d_head) if encoding.inside_scale else 1)


def fire(encoding, q, k, i, j, head):
    c, threshold = encoding.log_c.exp(), encoding.log_threshold.exp()
    share = (c * abs(j - i) + 1).log() / (c * threshold.clamp(min=i) + 1).log()
    hidden = (encoding.inner.weight[:, 0] * share + encoding.inner.bias).relu()
    return encoding.outer.weight[head] @ hidden


def sandwich(encoding, q, k, i, j, head):
    d = encoding.d_bar
    waves = [math.cos((j - i) / 10000 ** (2 * m / d)) - 1 for m in range(d // 2)]
    return encoding.n_heads / (8 * (head + 1)) * sum(waves)


def t5(encoding, q, k, i, j, head):
    buckets = encoding.n_buckets if encoding.causal else encoding.n_buckets // 2
    exact = buckets // 2
    bucket = max(i - j, 0) if encoding.causal else abs(i - j)
    if bucket >= exact:
        share = math.log(bucket / exact) / math.log(encoding.max_distance / exact)
        bucket = min(exact + math.floor(share * (buckets - exact)), buckets - 1)
    ahead = j > i and not encoding.causal
    return encoding.table[bucket + buckets * ahead, head]


def shaw(encoding, q, k, i, j, head):
    clip = encoding.max_distance
    return q @ encoding.key_table[max(-clip, min(clip, j - i)) + clip] / math.sqrt(encoding.d_head)


def deberta_row(i, j, clip):
    """δ(i, j) of He et al. 2021, equation 3."""
    if i - j <= -clip:
        return 0
    return 2 * clip - 1 if i - j >= clip else i - j + clip


def features(encoding, head):
    return slice(head * encoding.d_head, (head + 1) * encoding.d_head)


def deberta(encoding, q, k, i, j, head):
    to_key = encoding.table[deberta_row(i, j, encoding.max_distance)]
    to_query = encoding.table[deberta_row(j, i, encoding.max_distance)]
    if encoding.released_code:
        to_query = to_key
    key = (encoding.W_kr.weight @ to_key)[features(encoding, head)]
    query = (encoding.W_qr.weight @ to_query)[features(encoding, head)]
    return (q @ key + k @ query) / math.sqrt(3 * encoding.d_head)


def transformer_xl(encoding, q, k, i, j, head):
    d = encoding.d_model
    angles = [(i - j) / 10000 ** (2 * m / d) for m in range(d // 2)]
    waves = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    key = (encoding.W_r.weight @ torch.tensor(waves, dtype=q.dtype))[features(encoding, head)]
    u, v = encoding.u[head], encoding.v[head]
    return (u @ k + (q + v) @ key) / math.sqrt(encoding.d_head)


FORMULAS = {
    "alibi": alibi,
    "kerple": kerple,
    "fire": fire,
    "sandwich": sandwich,
    "t5": t5,
    "shaw": shaw,
    "deberta": deberta,
    "transformer_xl": transformer_xl,
}


def bias_by_formula(name, encoding, q, k, q_pos, k_pos):
    """The bias on one text's queries and keys, q and k (1, heads, seq, d_head), entry by entry."""
    bias = torch.empty(1, encoding.n_heads, len(q_pos), len(k_pos), dtype=torch.float64)
    queries, keys = enumerate(q_pos.tolist()), enumerate(k_pos.tolist())
    for head, (a, i), (b, j) in itertools.product(range(encoding.n_heads), queries, keys):
        bias[0, head, a, b] = FORMULAS[name](encoding, q[0, head, a], k[0, head, b], i, j, head)
    return bias
