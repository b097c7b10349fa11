"""What a price on distance, drawn by a learner, makes four heads look at, and how it trains."""

import copy
import math
from collections.abc import Sequence
from statistics import fmean

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils.encodings import Places, PositionalEncoding
from course_utils.models import TinyTransformer

TRAINED = 64  # bytes of a text in training
READ = 512  # bytes of the longest text that is read
GAIN, RISE = 0.08, 0.02  # nats a byte: what a price has to win, and may lose up to ``READ``
FAR_SHARE = 0.05  # of a head's weight, on keys that no training text had
BLUNT = 0.5  # a head's largest weight, of equal scores, below which it does not single out a key
FORBIDS_ITS_OWN = "The first byte of a text sees its own key alone. May a head forbid that one?"
TIE = 1e-6  # a difference of two weights that is none
OUT_OF_REACH = 30.0  # points of score that no query and key make up for
MOVED = 0.01  # of a weight, by other bytes: a head that moves none so far does not attend
PRINTABLE = (32, 127)  # bytes of texts made up to see what a model does with other ones

Price = type[PositionalEncoding] | PositionalEncoding  # or one that was trained


def usable(price: type[PositionalEncoding]) -> type[PositionalEncoding]:
    """The price; raises ValueError if a model could not add it to its scores.

    This is for answers of whole numbers and of another shape, which fail late and deep inside, and
    for those that add nothing or do something else, which do not fail.
    """
    encoding = price(64, 4).requires_grad_(False)
    others = [door for door in encoding.doors if door != "bias"]
    if others:
        raise ValueError(
            f"this class has a method {others[0]}, which opens another door. Which door does a "
            "price on distance open, and which methods does it need for that?"
        )
    if not encoding.bias_needs_offsets_only:
        if price.bias is PositionalEncoding.bias:
            raise ValueError(
                "this class adds nothing to the scores. Is its method called bias_by_offset?"
            )
        return price
    offsets = torch.arange(-6, 1)
    try:
        bias = encoding.bias_by_offset(offsets)
    except ValueError as error:
        if "expected sequence" not in str(error):
            raise
        raise ValueError(
            f"peaks and slopes must have four numbers each, one a head: {error}"
        ) from error
    except RuntimeError as error:
        if "must match" not in str(error):
            raise
        raise ValueError(
            f"shapes do not fit: {error}. distance is (n,), and numbers of four heads are (4,): "
            "write numbers[:, None] * distance"
        ) from error
    if bias is None:
        raise ValueError("bias_by_offset returns None. Is a `return` missing?")
    if not isinstance(bias, Tensor):
        kind = type(bias).__name__
        raise ValueError(f"a price must be a torch tensor, got {kind}: write torch in place of np")
    if not bias.is_floating_point():
        raise ValueError(f"a price must be of floats, got {bias.dtype}: write 2.0 in place of 2")
    if bias.shape != (4, len(offsets)):
        raise ValueError(f"of n offsets a price must be (4, n), got {(*bias.shape,)} of n = 7")
    return price


def _instance(price: Price) -> PositionalEncoding:
    encoding = price(64, 4) if isinstance(price, type) else copy.deepcopy(price).cpu()
    return encoding.requires_grad_(False)


def _top_is_later(price: Price) -> bool:
    """Whether a head's top is at a key that the mask hides, and not ever farther on."""
    encoding = _instance(price)
    if not encoding.bias_needs_offsets_only:
        return False
    bias = encoding.bias_by_offset(torch.arange(-TRAINED, TRAINED + 1))
    if bias is None:
        return False
    seen, hidden = bias[:, : TRAINED + 1], bias[:, TRAINED + 1 :]
    ends = hidden.argmax(-1) < TRAINED - 1
    return bool((ends & (hidden.amax(-1) > seen.amax(-1))).any())


def price_by_distance(price: Price, keys: int = READ) -> Float[Tensor, "heads keys"]:
    """What four heads of width 16 add to equal scores, nearest key first.

    The query is the last of so many positions.
    """
    encoding = _instance(price)
    q, k = torch.zeros(1, 4, 1, 16), torch.zeros(1, 4, keys, 16)
    bias = encoding.bias(q, k, Places(torch.tensor([keys - 1]), torch.arange(keys)))
    if bias is None:
        return torch.zeros(4, keys)
    return bias.expand(1, 4, 1, keys)[0, :, 0].flip(-1)


def _not_finite(bias: Float[Tensor, "heads keys"]) -> str:
    """A question about a price that is no number, or endless for the own key, or ""."""
    if bias.isnan().any() or (bias == math.inf).any():
        return "Some numbers are no finite price: nan or inf. Where do you divide, or take a root?"
    if (bias[:, 0] == -math.inf).any():
        return FORBIDS_ITS_OWN
    return ""


def _weight_far_away(weights: Float[Tensor, "heads keys"]) -> str:
    """A question about the head with most weight on keys that no training text had, or ""."""
    far = weights[:, TRAINED:].sum(-1)
    if not far.max() > FAR_SHARE:
        return ""
    return (
        f"Of {weights.shape[-1]} equal keys, head {int(far.argmax()) + 1} gives "
        f"{100 * far.max():.0f} % of its weight to those {TRAINED} and more back. What do they "
        "cost, and was any text in training so long?"
    )


def _slip_of_sign(price: Price) -> str:
    """A question about peaks or slopes with the wrong sign, or ""."""
    encoding = _instance(price)
    peaks, slopes = (
        torch.as_tensor(getattr(encoding, name, ()), dtype=torch.float).flatten()
        for name in ("peaks", "slopes")
    )
    if (peaks < 0).any():
        return (
            f"A peak is at {peaks.min():g}. The method takes abs() of the offsets, so a tent is "
            "drawn over distances. Which distance has the key one back?"
        )
    if (slopes <= 0).any():
        head = int((slopes <= 0).nonzero()[0]) + 1
        return (
            f"Head {head} has the slope {slopes[head - 1]:g}. What does a step away from its peak "
            "cost then: does it fall, or rise?"
        )
    return ""


def question(price: Price, all_level: bool = False) -> str:
    """A question about a price that will not do, or "" where its shape tells of no trouble.

    Where the loss of every trained model is ``all_level`` up to long texts, far keys did no harm.
    """
    bias = price_by_distance(price)
    slip = _not_finite(bias) or _slip_of_sign(price)
    if slip:
        return slip
    weights = bias.softmax(-1)
    far = "" if all_level else _weight_far_away(weights)
    if far:
        return far
    if _top_is_later(price):
        return (
            "A head likes a key best that is later than the query, and hidden. Earlier keys have "
            "offsets −1, −2, … Where is its top?"
        )
    best = weights.argmax(-1)
    alike = (weights > weights.amax(-1, keepdim=True) - TIE).sum(-1)
    if (alike > 1).any():
        head = int(alike.argmax())
        return (
            f"Head {head + 1} likes {int(alike[head])} keys alike. Which one of them should it "
            "single out?"
        )
    if (best == 0).all() and (bias[:, 0] > bias[:, 1]).all():
        return "Every head likes its own byte best. Which other bytes would you want to see?"
    if (weights.argmax(-1) >= 16).any():
        farthest = int(weights.argmax(-1).max())
        return f"A head likes the key {farthest} back best. How much does that byte tell?"
    if (weights[:, :4].sum(-1) < 0.5).all():
        return (
            "No head gives half of its weight to the nearest four keys. Which ones foretell a byte?"
        )
    if (best == 0).sum() == len(best) - 1:
        return (
            f"Only head {int(best.argmax()) + 1} likes another key best than its own: the key "
            f"{int(best.max())} back. What if more heads did?"
        )
    blunt = int(weights.amax(-1).argmin())
    if weights[blunt].max() < BLUNT:
        return (
            f"Head {blunt + 1} gives its best key {100 * weights[blunt].max():.0f} % of its "
            "weight. How sharply should it see that key?"
        )
    if (best != 1).all():
        return (
            "No head likes the key 1 back best. What does that byte tell of the next one that the "
            "own byte does not?"
        )
    if best.max() >= len(best):
        return (
            f"A head likes the key {int(best.max())} back best, and a nearer one is no head's "
            "best. Which of the two tells more about the next byte?"
        )
    return ""


def heads_nailed_down(price: Price) -> int:
    """How many heads put all their weight on one key, whatever queries and keys are."""
    first, second = price_by_distance(price).topk(2, dim=-1).values.T
    return int((first - second > OUT_OF_REACH).sum())


def _texts(model: TinyTransformer, texts: int) -> Tensor:
    """Texts of random bytes, as long as those in training, (texts, positions)."""
    drawn = torch.randint(*PRINTABLE, (texts, TRAINED), generator=torch.Generator().manual_seed(0))
    return drawn.to(model.embedding.weight.device)


def heads_that_attend(model: TinyTransformer) -> int:
    """How many heads of all layers have a weight that moves by more than 0.01 with the bytes.

    Asked of the later queries, before which every key that a price may want exists.
    """
    with torch.no_grad():
        _, by_layer = model(_texts(model, 8), need_weights=True)
    weights = torch.stack(by_layer)  # (layers, texts, heads, queries, keys)
    moved = (weights.amax(1) - weights.amin(1))[..., TRAINED // 2 :, :]
    return int((moved.flatten(2).amax(-1) > MOVED).sum())


def reads_ahead(model: TinyTransformer) -> bool:
    """Whether what a causal model says at a byte changes with a later one."""
    text, other = _texts(model, 2)
    half = TRAINED // 2
    other = torch.cat([text[:half], other[half:]])
    with torch.no_grad():
        there, elsewhere = model(torch.stack([text, other]))[:, :half]
    return bool((there - elsewhere).abs().max() > MOVED)


def scored(
    price: Price,
    losses: Sequence[tuple[float, float]],
    steep: Sequence[float],
    models: Sequence[TinyTransformer],
) -> str:
    """What the heads look at, how it trained, and a question where it falls short.

    A price does not pass if in a trained model no head attends, or a query sees a later byte.

    Args:
        price: the class, or an encoding of it that was trained.
        losses: of each seed, at 64 and at 512 bytes, in nats a byte.
        steep: of the steep lines at 64 bytes, a seed each; the means are compared.
        models: of each seed, the trained model.
    """
    weights = price_by_distance(price).softmax(-1)
    lines = []
    for head, row in enumerate(weights, 1):
        if row.isnan().any():
            continue
        keys = int((row.cumsum(-1) < 0.95).sum()) + 1
        best = int(row.argmax())
        where = "its own key" if best == 0 else f"the key {best} back"
        alike = int((row > row.max() - TIE).sum())
        likes = f"likes {where} best" if alike == 1 else f"likes {alike} keys alike"
        lines.append(
            f"head {head}: {likes}; 95 % of the weight within {keys} "
            f"{'key' if keys == 1 else 'keys'}"
        )
    nailed = heads_nailed_down(price)
    if nailed:
        lines.append(
            f"{nailed} of {len(weights)} heads put all their weight on one key, whatever the "
            "bytes: there q · k does nothing."
        )
    if any(reads_ahead(model) for model in models):
        lines.append(
            "… Not yet. What the model says at a byte changes with a later byte. By which way does "
            "a query see what it is to foretell?"
        )
        return "\n".join(lines)
    finite = not _not_finite(price_by_distance(price))
    if finite and not all(map(heads_that_attend, models)):
        lines.append(  # without the losses: a later question of the lesson asks for them
            "… Not yet. No head attends: other bytes move no weight. How many points of score "
            "apart may two keys be, for q · k to decide between them?"
        )
        return "\n".join(lines)
    mean, yardstick = fmean(near for near, _ in losses), fmean(steep)
    won = mean < yardstick - GAIN
    level = [far < near + RISE for near, far in losses]
    lines.append(
        f"loss at {TRAINED}, means: yours {mean:.2f}, the steep lines' {yardstick:.2f} "
        f"({len(steep)} seeds); below by more than {GAIN}: {'yes' if won else 'no'}"
    )
    lines.append(
        f"rise of less than {RISE} up to {READ} bytes: in {sum(level)} of {len(level)} seeds"
    )
    if won and all(level):
        lines.append("✓ Your price beats the steep lines, and lasts.")
        far = _weight_far_away(weights)
        if (price_by_distance(price)[:, 0] == -math.inf).any():
            lines.append(f"But: {FORBIDS_ITS_OWN}")
        elif far:
            lines.append(f"But: {far}")
        else:
            lines.append(
                "Which of your heads earns most? Give it its steep line back, and train again."
            )
    else:
        reason = question(price, all(level)) or (
            "The shape alone does not tell why. Change one head at a time: which change helps?"
        )
        lines.append(f"… Not yet. {reason}")
    return "\n".join(lines)
