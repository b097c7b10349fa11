"""What groups of RoPE's pairs do in a published model: two tables of ``published_model``.

``groups``: its loss by length where a group of pairs, in all heads and layers, is

- ``still``: it no longer turns;
- ``left out`` of q·k: its queries are 0;
- ``mean key``: its keys are alike but the first token's, which keeps its own; they still turn;
- ``mean key everywhere``: the first token's is like the others too.

``shares``: what each pair brings to the scores, and the same with pairs dealt out anew by chance.
"""

import functools
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from course_experiments.published_tables import Row, rope_of
from course_utils.encodings.rope import scaled_frequencies
from course_utils.measures import pair_shares
from course_utils.models.transformer import Tokens
from course_utils.pretrained import SmolLM2
from course_utils.pretrained.ablation import (
    LeftOutPairs,
    MeanKeyPairs,
    StoppedPairs,
    mean_keys,
    recorded,
)
from course_utils.results import AS_TRAINED
from course_utils.texts import data

READ = (512, 2048, 4096, 8000)  # tokens, whose last ones are judged
JUDGED = 512  # tokens
OTHER_TEXT = 2048  # tokens, of whose keys the mean is taken
# The first and the last pair of each group.
GROUPS = {
    "pairs 0-7": (0, 7),
    "pairs 8-15": (8, 15),
    **{f"pairs {m}-{m + 3}": (m, m + 3) for m in range(16, 32, 4)},
    "pair 23": (23, 23),
}
STOPPED, LEFT_OUT = "still", "left out"
MEAN_KEY, MEAN_KEY_EVERYWHERE = "mean key", "mean key everywhere"
CHANGES = (STOPPED, LEFT_OUT, MEAN_KEY, MEAN_KEY_EVERYWHERE)
# A way → its group and what is done to it.
GROUP_WAYS = {f"{group} {change}": (group, change) for change in CHANGES for group in GROUPS}
SHUFFLED = "pairs shuffled"


@torch.no_grad()
def groups(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """Mean losses, in nats a token, of the 512 tokens before each of four lengths.

    A causal model reads a text's beginning alike whatever follows it, so one reading has them all.
    """
    hidden = _changed(model, way).hidden(tokens)[0]
    rows = []
    for length in READ:
        first = max(1, length - JUDGED)  # the text's first token is not foretold
        if length <= len(hidden):
            logits = model.logits(hidden[first - 1 : length - 1])
            loss = F.cross_entropy(logits, tokens[0, first:length])
            rows.append({"length": length, "loss": round(float(loss), 5), "judged": length - first})
    return rows


def _changed(model: SmolLM2, way: str) -> SmolLM2:
    if way == AS_TRAINED:
        return model
    rope = rope_of(model)
    group, change = GROUP_WAYS[way]
    first, last = GROUPS[group]
    if change == STOPPED:
        return model.with_encoding(scaling=StoppedPairs(first, last))
    sizes = rope.d_model, rope.n_heads, rope.base
    if change == LEFT_OUT:
        return model.with_encoding(LeftOutPairs(*sizes, first=first, last=last))
    keep_first = change == MEAN_KEY
    alike = MeanKeyPairs(
        *sizes, mean_keys=_keys_elsewhere(model), first=first, last=last, keep_first=keep_first
    )
    return model.with_encoding(alike)


@functools.cache
def _keys_elsewhere(model: SmolLM2) -> Float[Tensor, "layers n_heads d_head"]:
    """Mean keys over the beginning of the documentation, where no text begins that is judged."""
    documentation = data.verified("documentation.txt").read_text(encoding="utf-8")
    return mean_keys(model, model.encode(documentation)[:, :OTHER_TEXT])


def shares(model: SmolLM2, tokens: Tokens, way: str) -> list[Row]:
    """The two shares of ``measures.pair_shares``, means over all heads; a row a pair.

    Where pairs are shuffled, ``pair`` tells the speed, and its features are another pair's in each
    head: what a speed keeps then, it brings by itself.
    """
    rope = rope_of(model)
    theta, _ = scaled_frequencies(rope.n_turned, rope.base, rope.scaling, device=tokens.device)
    generator = torch.Generator().manual_seed(0)
    means = []
    for q, k in recorded(model, tokens):
        if way == SHUFFLED:
            orders = [torch.randperm(len(theta), generator=generator) for _ in q]
            q, k = _reordered(q, orders), _reordered(k, orders)
        means.append(torch.stack(pair_shares(q, k, theta)).mean(1))  # (2, pairs)
    position, content = torch.stack(means).mean(0).tolist()
    return [
        {"pair": m, "position": round(position[m], 5), "content": round(content[m], 5)}
        for m in range(len(theta))
    ]


def _reordered(
    x: Float[Tensor, "heads seq d_head"], orders: Sequence[Tensor]
) -> Float[Tensor, "heads seq d_head"]:
    """Each head's pairs of neighbours in its order."""
    pairs = x.unflatten(-1, (-1, 2))
    heads = [head[:, order] for head, order in zip(pairs, orders, strict=True)]
    return torch.stack(heads).flatten(-2)
