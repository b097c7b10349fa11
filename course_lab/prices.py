"""What a price on distance, drawn by a learner, makes four heads look at, and how it trains."""

import copy
import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_lab.checks.calls import failing_line
from course_utils.encodings import ALiBi, Places, PositionalEncoding
from course_utils.models import TinyTransformer

TRAINED = 64  # bytes of a text in training
READ = 512  # bytes of the longest text that is read
GAIN, RISE = 0.05, 0.02  # nats a byte: what a price has to win, and may lose up to ``READ``
FAR_SHARE = 0.05  # of a head's weight, on keys that no training text had
STUB = (2.0, 1.0, 0.5, 0.25)  # slopes of the steep lines, with which a learner begins
BLUNT = 0.5  # a head's largest weight, of equal scores, below which it does not single out a key
FORBIDS_ITS_OWN = "The first byte of a text sees its own key alone. May a head forbid that one?"
TOP_IS_LATER = (
    "A head likes a key best that is later than the query, and hidden. Earlier keys have offsets "
    "−1, −2, … Where is its top?"
)
NO_NUMBER = "nan or inf. Where do you divide, or take a log or root?"
OF_A_COMPARISON = (
    "a comparison of offsets is true or false, not a number of points. What should a key cost "
    "where it is true? Which function of torch chooses for each offset?"
)
CHOOSES = (
    "Each of n offsets needs a number, chosen by a condition. Which function of torch takes a "
    "condition, what stands where it is true, and what where it is false?"
)
SHARP = 0.98  # of equal scores: above it a head hardly leaves its key to queries and keys
TIE = 1e-6  # a difference of two weights that is none
SAME_OUTPUT = 1e-5  # a difference of two outputs below which they are the same
OUT_OF_REACH = 30.0  # points of score that no query and key make up for
MOVED = 0.01  # of a weight, by other bytes: a head that moves none so far does not attend
PRINTABLE = (32, 127)  # bytes of texts made up to see what a model does with other ones

Price = type[PositionalEncoding] | PositionalEncoding  # or one that was trained


class Unusable(ValueError):
    """What is asked about a price that no model should be trained with."""


def usable(price: type[PositionalEncoding], drawn: bool = True) -> type[PositionalEncoding]:
    """The price; raises Unusable if a model could not add it to its scores.

    This is for answers of whole numbers and of another shape, which fail late and deep inside, and
    for those that add nothing or do something else, which do not fail. A price that is ``drawn``
    has peaks and slopes, which are asked about; of others the text names neither.
    """
    numbers = "peaks and slopes" if drawn else "numbers of heads"
    encoding = price(64, 4).requires_grad_(False)
    others = [door for door in encoding.doors if door != "bias"]
    if others:
        raise Unusable(
            f"this class has a method {others[0]}, which opens another door. Which door does a "
            "price on distance open, and which methods does it need for that?"
        )
    if not encoding.bias_needs_offsets_only:
        if price.bias is PositionalEncoding.bias:
            names = _new_methods(price)
            has = f" It has a method {names[0]}." if names else ""
            raise Unusable(
                f"this class adds nothing to the scores.{has} Is its method called bias_by_offset?"
            )
        return price
    if drawn and (weights := sum(parameter.numel() for parameter in encoding.parameters())):
        raise Unusable(
            f"this price has {weights} numbers that would train. A drawn price stays as it is. "
            "Which encoding of lesson 04 learns a number for each offset?"
        )
    offsets = torch.arange(-6, 1)
    try:
        bias = encoding.bias_by_offset(offsets)
    except ValueError as error:
        if "expected sequence" not in str(error):
            raise
        raise Unusable(f"{numbers} must have four numbers each, one a head: {error}") from error
    except RuntimeError as error:
        if "is ambiguous" in str(error):
            raise Unusable(
                "`if` asks for one answer, and there is one for each of n offsets. Which function "
                "of torch chooses for each?"
            ) from error
        if "bool tensor" in str(error):
            raise Unusable(OF_A_COMPARISON) from error
        if "must match" not in str(error):
            raise
        raise Unusable(
            f"shapes do not fit: {error}. distance is (n,), and numbers of four heads are (4,): "
            "write numbers[:, None] * distance"
        ) from error
    except IndexError as error:
        if "shape of the mask" in str(error):
            raise Unusable(
                f"a condition on n offsets picks among n, but {error}. A price is (heads, n): "
                "which of its two axes has the offsets, and what stands before it in the brackets?"
            ) from error
        if "too many indices" not in str(error):
            raise
        raise Unusable(f"{numbers} must have four numbers each: {error}") from error
    except TypeError as error:
        if "tuple" not in str(error) and "list" not in str(error):
            raise
        raise Unusable(
            f"a tuple is no tensor: {error}. Make one of your numbers"
            f"{', as of the slopes' if drawn else ''}"
        ) from error
    if bias is None:
        raise Unusable("bias_by_offset returns None. Is a `return` missing?")
    if not isinstance(bias, Tensor):
        kind = type(bias).__name__
        raise Unusable(f"a price must be a torch tensor, got {kind}: write torch in place of np")
    if bias.dtype == torch.bool:
        raise Unusable(OF_A_COMPARISON)
    if not bias.is_floating_point():
        raise Unusable(f"a price must be of floats, got {bias.dtype}: write 2.0 in place of 2")
    if bias.shape in ((len(offsets),), (1, len(offsets))):
        raise Unusable(
            "this is the same row for all heads. A price is (4, n): how does a number of each head "
            "meet each of n offsets?"
        )
    if bias.ndim == 2 and len(bias) != 4:
        raise Unusable(
            f"a price must be (4, n), a row for each head, got {len(bias)} rows. How many "
            f"{'peaks and slopes' if drawn else 'heads'} are there?"
        )
    if bias.shape != (4, len(offsets)):
        raise Unusable(f"of n offsets a price must be (4, n), got {(*bias.shape,)} of n = 7")
    if drawn and (slip := _no_number(price_by_distance(encoding)) or _slip(encoding)):
        raise Unusable(slip)
    if drawn and _top_is_later(encoding):
        raise Unusable(TOP_IS_LATER)
    if drawn and heads_nailed_down(encoding) == len(bias):
        raise Unusable(f"each head puts all its weight on one key. {_why_none_attends(encoding)}")
    if drawn and (price_by_distance(encoding)[:, 0] == -math.inf).any():
        raise Unusable(FORBIDS_ITS_OWN)
    return price


def refusal(price: type[PositionalEncoding]) -> str:
    """What to print of a price that ``usable`` refuses, or ""."""
    try:
        usable(price)
    except Unusable as error:
        return f"… Not yet: {error}"
    except Exception as error:  # of the learner's own code
        return _own_error(price, error)
    return ""


def _own_error(price: type[PositionalEncoding], error: Exception) -> str:
    """The learner's error in one line, with the line of code in which it came."""
    words = (str(error).splitlines() or [""])[0]
    line = failing_line(price.bias_by_offset, error)
    text = f"… Not yet: {type(error).__name__}: {words}{line}"
    if "only integer tensors" in words or "where()" in words:
        text += f" {CHOOSES}"
    return text


def _new_methods(price: Price) -> list[str]:
    """The names of methods that the class has, and those it inherits from do not."""
    kind = price if isinstance(price, type) else type(price)
    inherited = {name for parent in kind.mro()[1:] for name in vars(parent)}
    return [name for name, value in vars(kind).items() if callable(value) and name not in inherited]


def _not_changed(price: Price, still: str) -> str:
    """That the price is ``still`` the old one, and a question about a method that is new."""
    text = f"… Not changed yet: {still}."
    if names := _new_methods(price):
        text += f" Your class has a new method, {names[0]}. Who calls a method of that name?"
    return text


def _why_none_attends(price: Price) -> str:
    """A question about a price in which no head chooses."""
    if (price_by_distance(price).isfinite().sum(-1) <= 1).all():
        return "Among how many keys may a head choose?"
    return "How many points of score apart may two keys be, for q · k to decide between them?"


def told_apart(price: type[PositionalEncoding]) -> str:
    """Whether an unmasked model tells a sentence of three words from its mirror by this price.

    Where it does not, what the price adds to both neighbours of a word, and a question; or the
    question of ``usable``.
    """
    try:
        encoding = usable(price, drawn=False)(32, 4)
    except Unusable as error:
        return f"… Not yet: {error}"
    except Exception as error:  # of the learner's own code
        text = _own_error(price, error)
        if isinstance(error, AttributeError):
            text += " What does super().bias_by_offset(offsets) hold already?"
        return text
    offsets = torch.tensor([-2, -1, 0, 1, 2])
    bias = encoding.bias_by_offset(offsets.clone())
    if bias is None or bias.isnan().any() or (bias == math.inf).any():
        return f"… Not yet. Some numbers are {NO_NUMBER}"
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        model = TinyTransformer(4, encoding, d_model=32, n_layers=2, n_heads=4, causal=False)
        words, mirrored = (model.hidden(torch.tensor([ids]))[0] for ids in ([0, 1, 2], [2, 1, 0]))
    if slip := _no_price_by_offset(encoding, offsets, bias):
        return f"… Not yet. {slip}"
    gap = (words - mirrored.flip(0)).abs().max()
    if gap.isnan():
        return "… Not yet. The output is nan: a word sees no key. Which keys may be forbidden?"
    added = _both_sides(bias)
    no_key = (bias[:, 2:] == -math.inf).all(-1) | (bias[:, :3] == -math.inf).all(-1)
    if no_key.any():
        head = int(no_key.int().argmax())
        word = "first" if (bias[head, 2:] == -math.inf).all() else "last"
        return (
            f"… Not yet. In head {head + 1} the {word} word sees no key: its own is hidden, too. "
            "Which keys may be forbidden, so that each word has one left?"
        )
    alibi = ALiBi(32, 4)
    if torch.equal(bias, alibi.bias_by_offset(offsets)):
        wide = torch.arange(-2 * TRAINED, 2 * TRAINED + 1)
        farther = encoding.bias_by_offset(wide.clone())
        if farther is not None and torch.equal(farther, alibi.bias_by_offset(wide)):
            return f"{_not_changed(price, 'this is ALiBi')} {added}"
        return (
            "… Not yet. At offsets −2 to 2, all that three words have, this is still ALiBi. "
            f"{added} From which offset on must the sides differ?"
        )
    if gap < SAME_OUTPUT:
        return (
            f"… Not yet: each word comes out the same in the mirrored sentence. {added} "
            "Can a word tell its two neighbours apart by these numbers?"
        )
    if reward := _reward(encoding):
        return f"… Not yet. The sides differ, and each word comes out another way. {reward}"
    hidden = (bias <= bias.amax(-1, keepdim=True) - OUT_OF_REACH).all(0)
    if hidden[3:].all():
        return f"✓ Told apart, by hiding later keys, as a causal mask does. {added}"
    if hidden[:2].all():
        return f"✓ Told apart, by hiding earlier keys: a word sees its own and later ones. {added}"
    return f"✓ Told apart. {added}"


def _both_sides(bias: Float[Tensor, "heads 5"]) -> str:
    """What the first head that parts two sides adds to both, else what head 1 adds to neighbours.

    The columns are for offsets −2 to 2.
    """
    for steps in (1, 2):
        parted = (bias[:, 2 - steps] - bias[:, 2 + steps]).abs() > TIE
        if parted.any():
            break
    else:
        steps = 1
    head = int(parted.int().argmax()) if parted.any() else 0
    before, after = (_as_text(bias[head, at]) for at in (2 - steps, 2 + steps))
    key = "key" if steps == 1 else f"key {steps}"
    return f"Head {head + 1} adds {before} to the {key} before, {after} to the {key} after."


def _as_text(number: Tensor) -> str:
    """The number, with a minus sign of its own; 0 has none."""
    return f"{float(number) + 0.0:.4g}".replace("-", "−")


def _no_price_by_offset(
    encoding: PositionalEncoding, offsets: Tensor, bias: Float[Tensor, "heads n"]
) -> str:
    """A question about a price that other things than the offset decide, or ""."""
    again = encoding.bias_by_offset(offsets.clone())
    if again is None or not torch.equal(bias, again):
        return (
            "Asked twice for the same offsets, the price is not the same. Does chance belong in it?"
        )
    order = torch.tensor([3, 0, 4, 1, 2])
    moved = encoding.bias_by_offset(offsets[order])
    if moved is None or not torch.allclose(bias[:, order], moved, atol=TIE):
        return (
            "The same offsets in another order get other prices. With a cache the list begins "
            "elsewhere: is your price one by offset, or by place in the list?"
        )
    alone = [encoding.bias_by_offset(offset[None].clone()) for offset in offsets]
    if any(
        price is None or not torch.allclose(price[:, 0], bias[:, column], atol=TIE)
        for column, price in enumerate(alone)
    ):
        return (
            "An offset gets one price among others, and another alone. Does a condition of yours "
            "look at all offsets at once?"
        )
    return ""


def _reward(encoding: PositionalEncoding) -> str:
    """A question about a head that adds more to a far key than to a nearer one, or ""."""
    distances = torch.arange(READ + 1)
    for side, sign in (("before", -1), ("after", 1)):
        bias = encoding.bias_by_offset(sign * distances)
        if bias is None:
            return ""
        lowest = bias.cummin(-1)
        rise = (bias - lowest.values).nan_to_num(0.0)  # both −inf: hidden keys are no reward
        if (rise > TIE).any():
            head = int((rise > TIE).any(-1).nonzero()[0])
            far = int(rise[head].argmax())
            near = int(lowest.indices[head, far])
            nearer = f"the key {near} {side}" if near else "a word's own key"
            return (
                f"But head {head + 1} adds {_as_text(bias[head, near])} to {nearer} and "
                f"{_as_text(bias[head, far])} to the key {far} {side}. Is that a price, or a "
                "reward?"
            )
    return ""


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


def _no_number(bias: Float[Tensor, "heads keys"]) -> str:
    """A question about a price that is nan, or pays without end, or ""."""
    if bias.isnan().any() or (bias == math.inf).any():
        return f"Some numbers are no finite price: {NO_NUMBER}"
    return ""


def _slip(price: Price) -> str:
    """A question about a sign, a peak that is missed, or a price that rises far away, or ""."""
    return _slip_of_sign(price) or _slip_of_peak(price) or _rises_far_away(price)


def _rises_far_away(price: Price) -> str:
    """A question about a head that adds most to the farthest key of all, or ""."""
    bias = price_by_distance(price)
    far = bias[:, -1]
    rises = (far >= bias.amax(-1) - TIE) & (far > bias[:, :TRAINED].amax(-1) + TIE)
    if not rises.any():
        return ""
    head = int(rises.int().argmax())
    return (
        f"Head {head + 1} adds {_as_text(bias[head, 1])} to the key 1 back and "
        f"{_as_text(far[head])} to the one {READ - 1} back. Is that a price, or a reward?"
    )


def _not_finite(bias: Float[Tensor, "heads keys"]) -> str:
    """A question about a price that is no number, or endless for the own key, or ""."""
    if slip := _no_number(bias):
        return slip
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


def unchanged(price: Price) -> bool:
    """Whether the price is that of the steep lines, which the exercise begins with."""
    return not _heads_changed(price)


def _heads_changed(price: Price) -> int:
    """How many heads have another price than the steep lines."""
    bias = price_by_distance(price)
    steep = -torch.tensor(STUB)[:, None] * torch.arange(bias.shape[-1])
    return int((~torch.isclose(bias.float(), steep, atol=TIE)).any(-1).sum())


def _slip_of_sign(price: Price) -> str:
    """A question about peaks or slopes whose sign draws another price than a tent, or ""."""
    encoding = _instance(price)
    bias = price_by_distance(encoding)
    peaks, slopes = (
        torch.as_tensor(getattr(encoding, name, ()), dtype=torch.float).flatten()
        for name in ("peaks", "slopes")
    )
    tops = peaks.abs().round().long().clamp(max=READ - 1)  # in keys back, of either sign
    if len(tops) != len(bias):
        tops = torch.zeros(len(bias), dtype=torch.long)
    at_top = bias.gather(-1, tops[:, None])[:, 0]
    for head in range(min(len(peaks), len(bias))):
        if peaks[head] < 0 and at_top[head] < bias[head].max() - TIE:
            return (
                f"A peak is at {peaks[head]:g}, but the key {int(tops[head])} back does not cost "
                f"least in head {head + 1}. It has the offset −{int(tops[head])} and the distance "
                f"{int(tops[head])}. From which of the two does your method take the peak?"
            )
    for head in range(min(len(slopes), len(bias))):
        if slopes[head] <= 0 and not at_top[head] > bias[head, -1] + TIE:
            return (
                f"Head {head + 1} has the slope {slopes[head]:g}. What does a step away from its "
                "peak cost then: does it fall, or rise?"
            )
    return ""


def _slip_of_peak(price: Price) -> str:
    """A question about heads that do not add most at their peak, or ""."""
    encoding = _instance(price)
    bias = price_by_distance(encoding)
    if not bias.isfinite().all():
        return ""
    peaks = torch.as_tensor(getattr(encoding, "peaks", ()), dtype=torch.float).flatten()
    heads = range(len(bias)) if len(peaks) == len(bias) else ()
    for head in heads:
        wanted, top = round(abs(float(peaks[head]))), int(bias[head].argmax())
        if wanted < READ and bias[head, wanted] < bias[head, top] - TIE:
            side = "nearer" if top < wanted else "farther away"
            return (
                f"Head {head + 1} has the peak {peaks[head]:g}, but adds most at distance {top}: "
                f"{bias[head, top]:g}, and {bias[head, wanted]:g} at its peak. What should a key "
                f"cost that is {side} than the peak? (Offsets of earlier keys are −1, −2, …)"
            )
    head = int(bias[:, 0].abs().argmax())
    moved = bias[head, 0] > TIE or (bias[head, 0] < -TIE and not _top_is_later(price))
    if moved and (bias.argmax(-1) == 0).all():
        return (
            f"At distance 0 head {head + 1} adds {_as_text(bias[head, 0])}, and no more at any "
            "other. A softmax drops what all keys share. Has the top moved off the own key?"
        )
    return ""


def question(price: Price, lasts: bool = False) -> str:
    """A question about a price that will not do, or "" where its shape tells of no trouble.

    Where the trained model ``lasts`` up to long texts, far keys did no harm.
    """
    bias = price_by_distance(price)
    slip = _not_finite(bias) or _slip_of_sign(price) or _slip_of_peak(price)
    if slip:
        return slip
    weights = bias.softmax(-1)
    far = "" if lasts else _weight_far_away(weights)
    if far:
        return far
    if _top_is_later(price):
        return TOP_IS_LATER
    best = weights.argmax(-1)
    alike = (weights > weights.amax(-1, keepdim=True) - TIE).sum(-1)
    if (alike > 1).any():
        head = int(alike.argmax())
        return (
            f"Head {head + 1} likes {int(alike[head])} keys alike. Which one of them should it "
            "single out?"
        )
    if (best == 0).all() and (bias[:, 0] > bias[:, 1]).all():
        return (
            "Every head likes its own byte best. What does a layer know of that byte without "
            "attention?"
        )
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
    losses: tuple[float, float],
    steep: float,
    model: TinyTransformer | None,
) -> str:
    """What the heads look at, how it trained, and a question where it falls short.

    A price does not pass if in a trained model no head attends, or a query sees a later byte.

    Args:
        price: the class, or an encoding of it that was trained.
        losses: at 64 and at 512 bytes, in nats a byte.
        steep: of the steep lines at 64 bytes, from the same seed.
        model: that was trained; None if the losses are those of the steep lines.
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
            f"{nailed} of {len(weights)} heads "
            f"{'puts all its' if nailed == 1 else 'put all their'} weight on one key, whatever the "
            "bytes: there q · k does nothing."
        )
    sharp = (weights.amax(-1) > SHARP).sum().item() - nailed
    if sharp > 0:
        lines.append(
            f"{sharp} of {len(weights)} heads {'gives' if sharp == 1 else 'give'} one key over "
            f"{100 * SHARP:.0f} % of the weight if scores are equal: there q · k decides little."
        )
    if model is not None and reads_ahead(model):
        lines.append(
            "… Not yet. What the model says at a byte changes with a later byte. By which way does "
            "a query see what it is to foretell?"
        )
        return "\n".join(lines)
    bias = price_by_distance(price)
    numbers = not (bias.isnan().any() or (bias == math.inf).any())
    if numbers and model is not None and not heads_that_attend(model):
        # without the losses: a later question of the lesson asks for them
        why = _why_none_attends(price)
        lines.append(f"… Not yet. No head attends: other bytes move no weight. {why}")
        return "\n".join(lines)
    near, far = losses
    won, lasts = near < steep - GAIN, far < near + RISE
    apart = f"{abs(steep - near):.3f} {'below' if near < steep else 'above'}"
    lines.append(
        f"loss at {TRAINED}: yours {near:.3f}, the steep lines' {steep:.3f} (the same seed), "
        f"{apart}; over {GAIN} below: {'yes' if won else 'no'}"
    )
    lines.append(f"rise of less than {RISE} up to {READ} bytes: {'yes' if lasts else 'no'}")
    if won and lasts:
        lines.append(
            "✓ Your price beats the steep lines, and lasts. You changed "
            f"{_heads_changed(price)} of {len(weights)} heads."
        )
        looks_far = _weight_far_away(weights)
        tops = weights.argmax(-1)
        as_high = (weights > weights.amax(-1, keepdim=True) - TIE).sum(-1)
        if looks_far:
            lines.append(f"But: {looks_far}")
        elif (as_high > 1).any():
            head = int(as_high.argmax())
            lines.append(
                f"Head {head + 1} likes {int(as_high[head])} keys alike. Let it like one of them "
                "best, and train again: does the loss fall?"
            )
        elif nailed:
            lines.append(
                f"{nailed} of your heads {'chooses' if nailed == 1 else 'choose'} no key by its "
                "bytes, and the loss is low all the same. What does that say of this loss?"
            )
        elif (tops == tops[0]).all():
            lines.append(
                f"All heads like {'their own key' if tops[0] == 0 else f'the key {tops[0]} back'} "
                f"best. What would head {len(tops)} do with its top {tops[0] + 1} back? Train "
                "again."
            )
        elif _heads_changed(price) > 1:
            lines.append("Can you win as much with fewer heads changed? Put some back, and train.")
        else:
            lines.append("Which part of the change won: its peak, or its slope? Train each alone.")
    elif unchanged(price):
        lines.append(_not_changed(price, "these are the steep lines"))
    else:
        reason = question(price, lasts) or (
            "The shape alone does not tell why. Change one head at a time: which change helps?"
        )
        lines.append(f"… Not yet. {reason}")
    return "\n".join(lines)
