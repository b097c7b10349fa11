"""What ``real`` measures of a language model: each function returns the rows of one table.

Rows hold what was measured, and what tells them apart within one reading of a text.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_experiments.published_changes import CHANGES, CUT, STRETCHES
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import NoEncoding, Places, Rotary
from course_utils.encodings.layouts import layout_order
from course_utils.encodings.rope import scaled_frequencies
from course_utils.measures import entropy, mean_products, pair_shares
from course_utils.models.stretching import scaling_for
from course_utils.models.transformer import Tokens
from course_utils.pretrained import SmolLM2
from course_utils.pretrained.ablation import RecordingRotary
from course_utils.pretrained.language_model import TOKENS_AT_ONCE
from course_utils.results import AS_TRAINED

BIN = 1024  # tokens that one row of the losses by length covers
QUERIES = 32  # the last ones, whose attention is measured
SHORTEST = 64  # keys at which that begins; then at twice as many, and so on

Row = dict[str, Any]


def positions(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """Its mean loss, in nats a token, with one of the ``CHANGES``."""
    start, change = CHANGES[way]
    if callable(change):
        rope = model.encoding
        options = {} if change is NoEncoding else rope.options
        model = model.with_encoding(change(rope.d_model, rope.n_heads, **options))
    elif change:
        model = model.with_encoding(**change)
    losses = model.loss(tokens, torch.arange(tokens.shape[1], device=tokens.device) + start)
    return [{"loss": round(float(losses.mean()), 5), "judged": losses.numel()}]


def rope_of(model: SmolLM2) -> Rotary:
    """Its encoding; TypeError where it is no RoPE."""
    if not isinstance(model.encoding, Rotary):
        raise TypeError(f"model must turn by RoPE, got the encoding {model.encoding!r}")
    return model.encoding


def pairs(model: SmolLM2, tokens: Tokens, way: str = AS_TRAINED) -> list[Row]:
    """What each pair of features contributes to a head's scores; a row a layer and head.

    The two shares of ``measures.pair_shares``, ``measures.mean_products`` over √d_head, and how
    much attention the first token and the one before the query get, the mean over queries. Only
    features that turn are in a pair: where a model turns a part of each head, shares are of what
    that part brings.
    """
    rope = rope_of(model)
    recording = RecordingRotary(rope.d_model, rope.n_heads, **rope.options)
    recording.recorded = []
    model.with_encoding(recording).loss(tokens)
    n, device = tokens.shape[1], tokens.device
    at = Places(torch.arange(n, device=device))
    theta, _ = scaled_frequencies(rope.n_turned, rope.base, rope.scaling, n, device=device)
    neighbours = layout_order(rope.n_turned, rope.layout, "interleaved")
    rows = []
    for layer, (q, k) in enumerate(recording.recorded):
        turned_q, turned_k = rope.rotate(q[None], k[None], at)
        scores = rope.scale(rope.d_head) * turned_q[0] @ turned_k[0].mT
        q, k = q[..., neighbours], k[..., neighbours]
        later = torch.ones_like(scores, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        means = {
            "first": weights[:, 1:, 0].mean(-1),
            "previous": weights.diagonal(-1, 1, 2).mean(-1),
        }
        products = mean_products(q, k) / rope.d_head**0.5
        position_share, content_share = pair_shares(q, k, theta)
        by_pair = {
            "position": position_share,
            "content": content_share,
            "real": products.real,
            "imaginary": products.imag,
        }
        for head in range(len(q)):
            row: Row = {"layer": layer, "head": head}
            for name, mean in means.items():
                row[name] = round(float(mean[head]), 4)
            for name, values in by_pair.items():
                for m, value in enumerate(values[head].tolist()):
                    row[f"{name}_{m}"] = round(value, 4)
            rows.append(row)
    return rows


@torch.no_grad()
def spread(model: SmolLM2, tokens: Tokens, way: str = AS_TRAINED) -> list[Row]:
    """Attention of the last 32 queries at 64, 128, … keys, their mean; a row a layer and head.

    Entropy in nats, and as a share of the most there can be; the shares of the first token and of
    the nearest 64, the query's own among them.
    """
    cache = model.new_cache()
    rows = []
    read = 0  # tokens in the cache
    n = SHORTEST
    while n <= tokens.shape[1]:
        first = n - QUERIES
        if first > read:
            model.hidden(tokens[:, read:first], cache=cache)
        _, weights_by_layer = model.hidden_and_weights(tokens[:, first:n], cache=cache)
        for layer, weights in enumerate(weights_by_layer):
            by_query = {
                "entropy": entropy(weights),
                "normalised": entropy(weights, normalise=True),
                "first": weights[..., 0],
                "near": weights.tril(first).triu(first - SHORTEST + 1).sum(-1),
            }
            means = {name: values.mean((0, 2)).tolist() for name, values in by_query.items()}
            for head in range(weights.shape[1]):
                row: Row = {"keys": n, "layer": layer, "head": head}
                rows.append(row | {name: round(mean[head], 5) for name, mean in means.items()})
        read, n = n, 2 * n
    return rows


def lengths(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """Mean losses, in nats a token, of each 1,024 tokens, read by one of the ``STRETCHES``."""
    read = tokens.shape[1]
    reader, start, factor = stretched(model, way, read)
    if reader.encoding.static_keys:
        losses = reader.loss(tokens[:, start:])
    else:
        losses = loss_while_growing(reader, tokens)
    rows = []
    for first in range(0, read, BIN):
        last = min(first + BIN, read) - 1
        part = losses[0, max(first - start - 1, 0) : max(last - start, 0)]  # [0] is of token 1
        if len(part):
            row = {"factor": round(factor, 4), "first": first, "last": last}
            rows.append({**row, "loss": round(float(part.mean()), 5)})
    return rows


def stretched(model: SmolLM2, way: str, read: int) -> tuple[SmolLM2, int, float]:
    """The model as it reads so many tokens in a way; the first one that it reads; the factor."""
    name, multiple = STRETCHES[way]
    factor = max(1.0, read / model.context) * multiple
    scaling = scaling_for(model.encoding, name, factor, model.context)
    if scaling is None:
        return model, max(0, read - model.context) if way == CUT else 0, 1.0
    return model.with_encoding(scaling=scaling), 0, scaling.factor


@torch.no_grad()
def loss_while_growing(model: SmolLM2, tokens: Tokens) -> Float[Tensor, "1 seq_less_1"]:
    """As ``model.loss``, for a scaling that depends on the length: on that of the text so far."""
    hidden = read_while_growing(model, tokens[:, :-1], model.new_cache())[0]
    parts = zip(hidden.split(TOKENS_AT_ONCE), tokens[0, 1:].split(TOKENS_AT_ONCE), strict=True)
    losses = [
        F.cross_entropy(model.logits(vectors), targets, reduction="none")
        for vectors, targets in parts
    ]
    return torch.cat(losses)[None]


@torch.no_grad()
def read_while_growing(
    model: SmolLM2, tokens: Tokens, cache: Sequence[KVCache]
) -> Float[Tensor, "1 seq d_model"]:
    """The last vectors of a text, read into an empty cache.

    What fits in the context is read at once, then 1,024 tokens at a time. Where the frequencies
    follow the length, keys that are cached turn anew each time.
    """
    past = max(0, tokens.shape[1] - model.context)
    sizes = [tokens.shape[1] - past, *[BIN] * (past // BIN), past % BIN]
    pieces = tokens.split([size for size in sizes if size], 1)
    return torch.cat([model.hidden(piece, cache=cache) for piece in pieces], 1)
