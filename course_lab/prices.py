"""What a price on distance, drawn by a learner, makes four heads look at, and how it trains."""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.encodings import Places, PositionalEncoding

TRAINED = 64  # bytes of a text in training
READ = 512  # bytes of the longest text that is read
GAIN, RISE = 0.03, 0.02  # nats a byte: what a price has to win, and may lose up to ``READ``
FAR_SHARE = 0.05  # of a head's weight, on keys that no training text had

Price = type[PositionalEncoding]


def price_by_distance(price: Price, keys: int = READ) -> Float[Tensor, "heads keys"]:
    """What four heads of width 16 add to equal scores, nearest key first.

    The query is the last of so many positions.
    """
    encoding = price(64, 4).requires_grad_(False)
    q, k = torch.zeros(1, 4, 1, 16), torch.zeros(1, 4, keys, 16)
    bias = encoding.bias(q, k, Places(torch.tensor([keys - 1]), torch.arange(keys)))
    if bias is None:
        return torch.zeros(4, keys)
    return bias.expand(1, 4, 1, keys)[0, :, 0].flip(-1)


def question(price: Price) -> str:
    """A question about a price that will not do, or "" where its shape tells of no trouble."""
    bias = price_by_distance(price)
    own = bias[:, 0]
    if bias.isnan().any() or (bias == math.inf).any():
        return "Some numbers are no finite price: nan or inf. Where do you divide, or take a root?"
    if (own == -math.inf).any():
        return "The first byte of a text sees its own key alone. May a head forbid that one?"
    weights = bias.softmax(-1)
    far = weights[:, TRAINED:].sum(-1)
    head = int(far.argmax()) + 1
    if far.max() > FAR_SHARE:
        return (
            f"Of {READ} equal keys, head {head} gives {100 * far.max():.0f} % of its weight to "
            f"those {TRAINED} and more back. What do they cost, and was any text in training so "
            "long?"
        )
    if all(torch.allclose(weights[0], row, atol=1e-3) for row in weights[1:]):
        return "All four heads look at the same keys. What could each do that no other does?"
    if (weights.argmax(-1) >= 16).any():
        farthest = int(weights.argmax(-1).max())
        return f"A head likes the key {farthest} back best. How much does that byte tell?"
    if (weights[:, :4].sum(-1) < 0.5).all():
        return (
            "No head gives half of its weight to the nearest four keys. Which ones foretell a byte?"
        )
    return ""


def scored(price: Price, losses: Sequence[tuple[float, float]], steep: Sequence[float]) -> str:
    """What the heads look at, how it trained, and a question where it falls short.

    Args:
        price: the class that was trained.
        losses: of each seed, at 64 and at 512 bytes, in nats a byte.
        steep: of each seed, that of the steep lines at 64.
    """
    weights = price_by_distance(price).softmax(-1)
    lines = []
    for head, row in enumerate(weights, 1):
        if row.isnan().any():
            continue
        keys = int((row.cumsum(-1) < 0.95).sum()) + 1
        best = int(row.argmax())
        where = "its own key" if best == 0 else f"the key {best} back"
        lines.append(
            f"head {head}: likes {where} best; 95 % of the weight within {keys} "
            f"{'key' if keys == 1 else 'keys'}"
        )
    won = [near < other - GAIN for (near, _), other in zip(losses, steep, strict=True)]
    level = [far < near + RISE for near, far in losses]
    lines.append(
        f"below the steep lines by more than {GAIN}: in {sum(won)} of {len(won)} seeds; "
        f"no rise of {RISE} up to {READ} bytes: in {sum(level)} of {len(level)}"
    )
    if all(won) and all(level):
        lines.append("✓ Your price beats the steep lines, and lasts.")
    else:
        reason = question(price) or (
            "Every head likes its own byte best. Which other bytes would you want to see?"
            if (weights.argmax(-1) == 0).all()
            else "Two heads may look at nearly the same. How sharply does each see its key?"
        )
        lines.append(f"… Not yet. {reason}")
    return "\n".join(lines)
