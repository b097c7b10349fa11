"""Checks for lesson 11: tests that tell faulty attention layers from right ones.

The lesson calls them sick and healthy, see :mod:`course_lab.clinic`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import torch
from torch import Tensor

from course_lab import clinic
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case
from course_lab.clinic.faulty_encodings import Faulty, Shortcut
from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Places, PositionalEncoding, create
from course_utils.encodings.base import Keys, Queries

CLOSE = 1e-3  # differences: those of healthy layers stay below it, those of sick ones do not


def _ward(fault: str) -> list[clinic.Patient]:
    """A ward whose encodings no longer tell what was meant: only what they do may be judged."""
    patients = clinic.ward(fault)
    for patient in patients:
        patient.layer.encoding.__dict__["meant"] = None  # hides the method of the class
    return patients


def _cases(*faults: str) -> list[Case]:
    return [(patient.layer,) for fault in faults for patient in _ward(fault)]


def _weights(layer: MultiHeadAttention, x: Tensor, start: int = 0) -> Tensor:
    weights = layer(x, torch.arange(x.shape[1]) + start, need_weights=True)[1]
    assert weights is not None
    return weights


def _same(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() < CLOSE)


def _has_weights_of(layer: MultiHeadAttention, *names: str) -> bool:
    """Whether its attention weights are those that one of these encodings would give it."""
    x = clinic.words(layer, n=12)
    for name in names:
        twin = copy.copy(layer)
        twin._modules = dict(layer._modules)
        twin.encoding = create(name, d_model=layer.d_model, n_heads=layer.n_heads, causal=True)
        if (_weights(twin, x) - _weights(layer, x)).abs().max() < 10 * CLOSE:
            return True
    return False


CLEARS_ALL = Mistake(
    "it clears all layers, the sick ones too",
    "Which numbers do you compare, and what would have to go wrong for them to differ?",
    lambda layer, *start: True,
)
CLEARS_NONE = Mistake(
    "it clears no layer, not even the healthy ones",
    "Two ways to the same numbers round differently. How close is close enough? And do you compare "
    "the same words of the same text, with no others beside or before them?",
    lambda layer, *start: False,
)

# ★★ Near before far


def _row(layer: MultiHeadAttention, query: int = 12, same: bool = True) -> Tensor:
    """A query's weights by head and key, in a text of 24 words that are all the same."""
    return _weights(layer, clinic.words(layer, n=24, same=same))[0, :, query]


def _falls(row: Tensor, query: int = 12) -> bool:
    """Whether weights fall with each step away from the query; hidden keys, of weight 0, may not.

    ``row`` is (heads, keys), or (keys,).
    """
    rises_before = (row[..., : query + 1].diff() > 0).all()
    later = row[..., query:]
    falls_after = (later.diff() < 0).all() or (later[..., 1:] == 0).all()
    return bool(rises_before and falls_after)


def _near_first(layer: MultiHeadAttention) -> bool:
    return _falls(_row(layer))


def _or_equal(layer: MultiHeadAttention) -> bool:
    row = _row(layer)
    return bool((row[:, :13].diff() >= 0).all() and (row[:, 12:].diff() <= 0).all())


def _mean_falls_before(layer: MultiHeadAttention) -> bool:
    return bool((_row(layer).mean(0)[:13].diff() > 0).all())


def _falls_by_offset(layer: MultiHeadAttention) -> bool:
    steps = layer.encoding.bias_by_offset(torch.arange(-12, 13)).diff()  # type: ignore[union-attr]
    return bool((steps[:, :12] > 0).all() and (steps[:, 12:] < 0).all())


def _falls_by_much(layer: MultiHeadAttention) -> bool:
    row = _row(layer)
    falls_after = (row[:, 12:].diff() < -CLOSE).all() or not row[:, 13:].any()
    return bool((row[:, :13].diff() > CLOSE).all() and falls_after)


def _rises_by_offset(layer: MultiHeadAttention) -> bool:
    prices = layer.encoding.bias_by_offset(torch.arange(-12, 1))
    return bool((prices.diff() > 0).all())  # type: ignore[union-attr]


def _without_a_mask(layer: MultiHeadAttention) -> bool:
    row = _row(layer)
    return bool((row[:, :13].diff() > 0).all() and (row[:, 12:].diff() < 0).all())


def _beats_neighbours(layer: MultiHeadAttention) -> bool:
    row = _row(layer)
    return bool((row[:, 12] >= row[:, 11]).all() and (row[:, 12] >= row[:, 13]).all())


def _bias_below_zero(layer: MultiHeadAttention) -> bool:
    positions = torch.arange(12)
    q = k = torch.zeros(1, layer.n_heads, 12, layer.d_head, dtype=layer.W_q.weight.dtype)
    bias = layer.encoding.bias(q, k, Places(positions, positions))
    return bias is not None and bool((bias <= 0).all())


check_near_first = Check(
    "near_first",
    _near_first,
    cases=_cases("sign"),
    mistakes=[
        CLEARS_ALL,
        Mistake(
            CLEARS_NONE.name,
            "What besides distance decides how much weight a key gets?",
            lambda layer: _falls(_row(layer, same=False)),
        ),
        Mistake(
            "it is the wrong way round: layers that reward distance are called healthy",
            "For a healthy layer, is the weight of the farthest key the largest or the smallest?",
            lambda layer: not _near_first(layer),
        ),
        Mistake(
            "it clears no layer with a causal mask",
            "What weight do keys after the query get there, and must it fall?",
            _without_a_mask,
        ),
        Mistake(
            "it clears layers in which some step away costs nothing",
            "The promise says that each step lowers the score. Is as much as before less?",
            _or_equal,
        ),
        Mistake(
            "it compares the query's own place with one or two others",
            "May the price rise at first and fall later, or stop? Look at each step, from key to "
            "key.",
            _beats_neighbours,
        ),
        Mistake(
            "it compares the query's own place with one or two others",
            "May the price rise at first and fall later, or stop? Look at each step, from key to "
            "key, on both sides.",
            lambda layer: bool((_row(layer)[:, 12] > _row(layer)[:, 11]).all()),
        ),
        Mistake(
            "it asks only whether the nearest key wins",
            "May the price stop after one step, or turn on the way? Look at each step, from key to "
            "key.",
            lambda layer: bool((_row(layer).argmax(-1) == 12).all()),
        ),
        Mistake(
            "it asks only whether the nearest key beats the farthest",
            "May the price turn on the way, or stop? And may a layer without a mask be wrong on "
            "one side only? Look at each step.",
            lambda layer: bool((_row(layer)[:, 12] > _row(layer)[:, 0]).all()),
        ),
        Mistake(
            "it looks only at keys before the query",
            "Not every layer has a causal mask. Which query has keys on both sides?",
            lambda layer: _falls(_row(layer, 23), 23),
        ),
        Mistake(
            "it looks at a single head",
            "Each head has a price of its own. What if only one of them has the wrong sign?",
            lambda layer: _falls(_row(layer)[:1]),
        ),
        Mistake(
            "it looks at the mean of the heads",
            "Each head has a price of its own. Can others hide one that has the wrong sign?",
            lambda layer: _falls(_row(layer).mean(0)),
        ),
        Mistake(
            "it looks at the mean of the heads",
            "Each head has a price of its own. Can others hide one that has the wrong sign? And "
            "does every layer hide the keys after the query?",
            _mean_falls_before,
        ),
        Mistake(
            "it asks the encoding for a number by offset, which not every encoding has",
            "A price may come in by another method. What do all layers return that shows it?",
            _rises_by_offset,
            _falls_by_offset,
        ),
        Mistake(
            "it asks that each step takes away much",
            "How much weight is left for the farthest key? How large can its last step be?",
            _falls_by_much,
        ),
        Mistake(
            "it asks for ALiBi's own numbers, and healthy layers have other slopes",
            "The promise names no slope. What does it say about a near key and a far one?",
            lambda layer: _has_weights_of(layer, "alibi"),
        ),
        Mistake(
            "it requires the bias itself to be below 0",
            "What happens to the weights if the same number is added to all scores of a query? "
            "Look at the weights.",
            _bias_below_zero,
        ),
    ],
    hints=(
        "Words get in the way: a far word may fit the query well. In which text can they not?",
        "If all words are the same, only positions are left. clinic.words has an option for it. "
        "Then look at the row of one query, from key to key. Keys that a mask hides have weight 0.",
        "weights = layer(x, need_weights=True)[1][0] is (heads, query, key). Take a query in the "
        "middle: up to it each head's weights must rise (diff > 0), after it they must fall, or "
        "all be 0.",
    ),
)

# ★★ Anywhere


def _anywhere(layer: MultiHeadAttention, start: int) -> bool:
    return _same(*_near_and_far(layer, start))


@lru_cache(maxsize=256)
def _near_and_far(
    layer: MultiHeadAttention, start: int, n: int = 16, same: bool = False
) -> tuple[Tensor, Tensor]:
    """The weights of a text at 0 and at start, (1, heads, n, n)."""
    x = clinic.words(layer, n=n, same=same)
    return _weights(layer, x), _weights(layer, x, start)


def _of_zeros(layer: MultiHeadAttention, start: int) -> bool:
    x = torch.zeros_like(clinic.words(layer, n=16))
    return _same(_weights(layer, x), _weights(layer, x, start))


def _apart(layer: MultiHeadAttention, start: int) -> Tensor:
    """How far each weight is off at start, (1, heads, 16, 16)."""
    near, far = _near_and_far(layer, start)
    return (near - far).abs()


def _what_it_says(answer: Any, *case: Any) -> Any:
    """The answer; in place of a number, or of many, one that stands for all such answers.

    Which number does not matter: what to ask is the same.
    """
    tensor = torch.as_tensor(answer) if isinstance(answer, (Tensor, float)) else None
    if tensor is None or (tensor.numel() == 1 and tensor.dtype == torch.bool):
        return answer
    if tensor.isnan().any():
        return answer
    return torch.full((min(tensor.numel(), 2),), 2.0)


def _part_moved(layer: MultiHeadAttention, start: int, part: slice) -> bool:
    """Whether the weights stay if only some of the words stand further on."""
    far = torch.arange(16)
    far[part] += start
    return _same_at(layer, torch.arange(16), far)


def _next(layer: MultiHeadAttention, start: int) -> Tensor:
    """The weights of the same text one position further on."""
    return _weights(layer, clinic.words(layer, n=16), start + 1)


def _same_at(layer: MultiHeadAttention, near: Tensor, far: Tensor) -> bool:
    """Whether 16 words have the same weights at these positions and at those."""
    x = clinic.words(layer, n=16)
    return _same(*(layer(x, positions, need_weights=True)[1] for positions in (near, far)))


def _far(layer: MultiHeadAttention, start: int) -> Tensor:
    return _near_and_far(layer, start)[1]


def _at_parts(layer: MultiHeadAttention, start: int, parts: tuple[int, ...]) -> bool:
    """Whether a text may begin at start, and at these parts of it."""
    return all(_anywhere(layer, start // part) for part in (1, *parts))


def _mean_below(
    layer: MultiHeadAttention, start: int, power: int = 1, below: float = CLOSE
) -> bool:
    return bool((_apart(layer, start) ** power).mean() < below)


def _begins_at(
    layer: MultiHeadAttention, start: int, begin: Callable[[int], int] = lambda start: start
) -> bool:
    """Whether a text has the same weights at 0 and where it begins, an own idea of start."""
    return _anywhere(layer, begin(start))


def _after_a_filled_cache(layer: MultiHeadAttention, start: int) -> bool:
    """Whether a text has the same weights alone and where a cache has ``start`` words before it."""
    n_before = min(start, 64)  # more would take long, and change no answer
    cache = KVCache()
    layer(clinic.words(layer, n=n_before, seed=1), cache=cache)
    x = clinic.words(layer, n=16)
    after = layer(x, cache=cache, need_weights=True)[1]
    assert after is not None
    return _same(_weights(layer, x), after[..., -16:])


def _beside_another(layer: MultiHeadAttention, start: int, its_words: bool) -> bool:
    """Whether a layer's weights at start are those of another layer at 0, on its words or not."""
    other = clinic.layer(create("rope", d_model=64, n_heads=4))
    x = clinic.words(other, n=16)
    return _same(_weights(other, x), _weights(layer, x, start) if its_words else _far(layer, start))


def _even_along_diagonals(layer: MultiHeadAttention, start: int) -> bool:
    far = _far(layer, start)
    return all(
        bool((diagonal := far.diagonal(offset, 2, 3)).amax() - diagonal.amin() < CLOSE)
        for offset in range(-15, 1)
    )


def _same_further_on(layer: MultiHeadAttention, start: int, steps: tuple[int, ...]) -> bool:
    x = clinic.words(layer, n=16)
    far = _weights(layer, x, start)
    return all(_same(far, _weights(layer, x, start + step)) for step in steps)


def _of_n_words(layer: MultiHeadAttention, start: int, n: int = 16) -> bool:
    return _same(*_near_and_far(layer, start, n=n))


def _means_by_offset(layer: MultiHeadAttention, start: int) -> bool:
    near, far = _near_and_far(layer, start)
    return all(
        _same(near.diagonal(offset, 2, 3).mean(-1), far.diagonal(offset, 2, 3).mean(-1))
        for offset in range(-15, 16)
    )


def _share_stays(layer: MultiHeadAttention, start: int, share: float = 0.99) -> bool:
    return bool((_apart(layer, start) < CLOSE).double().mean() > share)


def _words_moved(layer: MultiHeadAttention, start: int, how: str = "roll") -> bool:
    x = clinic.words(layer, n=16)
    other = x.roll(start, 1) if how == "roll" else x + start
    return _same(_weights(layer, x), _weights(layer, other))


def _asserted(layer: MultiHeadAttention, start: int, message: str = "") -> bool:
    assert _anywhere(layer, start), message
    return True


def _asks_the_encoding(layer: MultiHeadAttention, start: int, what: str = "offsets_only") -> bool:
    kind = type(layer.encoding)
    return {
        "offsets_only": layer.encoding.offsets_only,
        "class": not isinstance(layer.encoding, Faulty),
        "rounding": not hasattr(layer.encoding, "rounding"),
        "module": "faulty" not in kind.__module__,
    }[what]


def _largest_step(layer: MultiHeadAttention, start: int, sign: int) -> bool:
    """Whether no weight falls by much at start, or with sign −1 none rises."""
    near, far = _near_and_far(layer, start)
    return bool((sign * (near - far)).max() < CLOSE)


def _of_part(layer: MultiHeadAttention, start: int, part: tuple[Any, ...]) -> bool:
    """Whether some of the weights, such as those of one head, stay what they were."""
    return _same(*(weights[part] for weights in _near_and_far(layer, start)))


def _entropy(weights: Tensor) -> Tensor:
    """The entropy of each query's weights, in nats, (1, heads, queries)."""
    return -(weights * weights.clamp(min=1e-30).log()).sum(-1)


def _divergence(layer: MultiHeadAttention, start: int) -> Tensor:
    """Kullback and Leibler's divergence of each query's weights, in nats, (1, heads, 16)."""
    near, far = (weights.clamp(min=1e-30) for weights in _near_and_far(layer, start))
    return (near * (near / far).log()).sum(-1)


def _beside_a_thousand(layer: MultiHeadAttention, start: int, more: bool) -> bool:
    """Whether a text has the same weights at 1000 and at start, or as much further on."""
    x = clinic.words(layer, n=16)
    return _same(_weights(layer, x, 1000), _weights(layer, x, start + 1000 * more))


def _after_other_words(layer: MultiHeadAttention, start: int) -> bool:
    """Whether a text has the same weights alone and after others, shared out among its own keys."""
    n_before = min(start, 64)  # more would take long, and change no answer
    x = clinic.words(layer, n=16)
    both = torch.cat([clinic.words(layer, n=n_before, seed=1), x], dim=1)
    own = _weights(layer, both)[..., -16:, -16:]
    return _same(_weights(layer, x), own / own.sum(-1, keepdim=True))


def _outputs_agree(
    layer: MultiHeadAttention, start: int, close: float = CLOSE, texts: int = 1, n: int = 16
) -> bool:
    x, positions = clinic.words(layer, texts, n), torch.arange(n)
    near, far = layer(x, positions)[0], layer(x, positions + start)[0]
    return _same(near, far) if close else torch.allclose(near, far)


def _same_winners(layer: MultiHeadAttention, start: int) -> bool:
    near, far = _near_and_far(layer, start)
    return torch.equal(near.argmax(-1), far.argmax(-1))


def _same_ranks(layer: MultiHeadAttention, start: int) -> bool:
    near, far = _near_and_far(layer, start)
    return torch.equal(near.argsort(stable=True), far.argsort(stable=True))


def _same_earlier_keys(layer: MultiHeadAttention, start: int) -> bool:
    near, far = _near_and_far(layer, start)
    return _same(near.tril(), far.tril())


def _same_outputs_and_means(layer: MultiHeadAttention, start: int) -> bool:
    near, far = _near_and_far(layer, start)
    return _same(near.mean(1), far.mean(1)) and _outputs_agree(layer, start)


class _Bump(PositionalEncoding):
    """A reward for keys at some positions, and for no others; for some queries only."""

    def __init__(
        self,
        first: int,
        last: int,
        first_query: int = 0,
        last_query: int = 8191,
        reward: float = 2.0,
        by_head: tuple[float, ...] = (1, 1, 1, 1),
        every: int = 1,
    ) -> None:
        super().__init__(16 * len(by_head), len(by_head))
        self.first, self.last, self.every = first, last, every
        self.reward, self.by_head = reward, by_head
        self.first_query, self.last_query = first_query, last_query

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return reward for keys from first to last where the query is in its range, else 0.

        ``by_head`` multiplies it in each head.
        """
        keys, queries = at.k[..., None, None, :], at.q[..., None, :, None]
        is_rewarded = (
            (keys >= self.first) & (keys <= self.last) & ((keys - self.first) % self.every == 0)
        )
        asks = (queries >= self.first_query) & (queries <= self.last_query)
        rewards = self.reward * torch.tensor(self.by_head, dtype=q.dtype)
        return rewards[:, None, None] * (is_rewarded & asks).to(q.dtype)


class _FarFirst(PositionalEncoding):
    """A price of distance that changes its sign at position 4096.

    Where words do not matter, a query's weights are then the same numbers at other keys.
    """

    def __init__(self) -> None:
        super().__init__(64, 4)

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return −|j − i| / 8 before position 4096, its opposite from there on."""
        sign = torch.where(at.q < 4096, -1.0, 1.0).to(q.dtype)
        return sign[..., None, :, None] * at.offsets.abs().to(q.dtype) / 8


class _Faint(PositionalEncoding):
    """A price that leaves every second key next to nothing, and far away a little less.

    Where words do not matter, these weights are e⁻¹² of the others, and change by a tenth: that is
    far less than 0.001, so it is healthy.
    """

    def __init__(self) -> None:
        super().__init__(64, 4)

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return −12 at odd offsets, 1 % more for queries from position 4096 on; else 0."""
        factor = torch.where(at.q < 4096, 1.0, 1.01)[..., None, :, None]
        return (-12.0 * (at.offsets % 2) * factor).to(q.dtype)


class _Swing(PositionalEncoding):
    """A far key that one query likes a little more and the next one a little less.

    Summed over queries, its weights hardly change.
    """

    def __init__(self) -> None:
        super().__init__(64, 4)

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return 0.04 for query 8012 and −0.04 for 8013 at key 8005, else 0."""
        keys, queries = at.k[..., None, None, :], at.q[..., None, :, None]
        signs = (queries == 8012).to(q.dtype) - (queries == 8013).to(q.dtype)
        return torch.full((4, 1, 1), 0.04, dtype=q.dtype) * signs * (keys == 8005)


def _anywhere_cases() -> list[Case]:
    """Each layer near the end of the promised range, and some where little is rounded yet."""
    wards = {fault: _ward(fault) for fault in ("layouts", "angles", "shortcut")}
    cases: list[Case] = [(p.layer, 8000) for patients in wards.values() for p in patients]
    nearer = [
        ("m · j rounded to bfloat16", 100),
        ("m · j rounded to float16", 1000),
        ("angles rounded to bfloat16", 500),
        ("the shortcut m · j, exact", 40),
        ("RoPE, base 500", 1),
        ("angles rounded to bfloat16", 8),
        ("m · j rounded to bfloat16", 256),
        ("angles rounded to float16", 128),
        ("angles rounded to float16, in three heads", 128),
        ("m · j rounded to bfloat16, in two heads", 256),
    ]
    by_name = {p.what: p.layer for patients in wards.values() for p in patients}
    cases += [(by_name[what], start) for what, start in nearer]
    # One head of many, which a mean hides; the first head; an output of zeros; no position at all;
    # a price so steep that the first key gets nothing where keys begin to be rounded.
    one_of_many = Shortcut(128, 16, rounding=torch.bfloat16, faulty_heads=1)
    the_first = Shortcut(64, 4, rounding=torch.bfloat16, faulty_heads=-1)
    silent = clinic.layer(Shortcut(64, 4, rounding=torch.bfloat16), seed=64)
    silent.W_o.weight.zero_()
    steep = Shortcut(64, 4, rounding=torch.bfloat16, steeper=512.0)
    # The same weights at other keys; a fault at the first place alone, halfway alone, and in the
    # first rows alone.
    mirrored = clinic.layer(_FarFirst(), seed=67)
    mirrored.W_q.weight.zero_()
    halfway = clinic.layer(_Bump(3000, 4005), seed=69)
    # One key gets a little more, or less: the others of its row lose, or win, next to nothing.
    a_little_more, a_little_less = (
        clinic.layer(_Bump(8004, 8004, first_query=8005, reward=least), seed=71)
        for least in (0.02, -0.02)
    )
    # The same, of late queries and keys that are no neighbours; of one weight a head; of two heads,
    # one up and one down, so that their sum stays.
    late = clinic.layer(_Bump(8010, 8010, first_query=8012, reward=0.03), seed=72)
    one_weight = clinic.layer(
        _Bump(8005, 8005, first_query=8012, last_query=8012, reward=0.05), seed=73
    )
    up_and_down = clinic.layer(
        _Bump(8004, 8004, first_query=8005, reward=0.05, by_head=(0, 1, -1, 0)), seed=74
    )
    # A single weight by much, which a mean hides; half of all by a little, which it does not.
    single = clinic.layer(
        _Bump(8005, 8005, 8012, last_query=8012, reward=0.3, by_head=(0, 0, 0, 1)), seed=80
    )
    half = clinic.layer(_Bump(8000, 8190, every=2, reward=0.038), seed=81)
    # A single row of one head of 16; heads up and down, in a layer without an output.
    one_row = clinic.layer(
        _Bump(8005, 8005, 8012, last_query=8012, reward=0.03, by_head=(1, *15 * (0,))), seed=82
    )
    silent_up_and_down = clinic.layer(
        _Bump(8004, 8004, first_query=8005, reward=0.05, by_head=(1, 1, -1, -1)), seed=83
    )
    silent_up_and_down.W_o.weight.zero_()
    # A later key, in a layer without a mask: earlier keys lose next to nothing.
    later = clinic.layer(_Bump(8012, 8012, last_query=8008, reward=0.05), seed=84, causal=False)
    for layer in (
        *(a_little_more, a_little_less, late, one_weight, up_and_down, single, half),
        *(one_row, silent_up_and_down, later),
    ):
        layer.W_q.weight.zero_()
    faint = clinic.layer(_Faint(), seed=86)
    faint.W_q.weight.zero_()
    swing = clinic.layer(_Swing(), seed=87)
    swing.W_q.weight.zero_()
    # Healthy: 16 equal weights, 0.0625, and far away one of them 0.000006 more or less. Rounded to
    # three digits they differ.
    halved = clinic.layer(_Bump(8000, 8000, reward=1e-4, by_head=(1, -1, 1, -1)), seed=88)
    halved.W_q.weight.zero_()
    # The key that gets most anyway.
    winner = clinic.layer(_Bump(8000, 8000, 8001, last_query=8001, reward=0.3), seed=85)
    more = (
        (late, 8000),
        (one_weight, 8000),
        (up_and_down, 8000),
        (single, 8000),
        (half, 8000),
        (one_row, 8000),
        (silent_up_and_down, 8000),
        (later, 8000),
        (winner, 8000),
        # The last head alone; the first word's place, the last one's, and those just outside the
        # text; all places between two texts.
        (clinic.layer(_Bump(8003, 8003, by_head=(0, 0, 0, 1)), seed=75), 8000),
        (clinic.layer(_Bump(8000, 8000), seed=76), 8000),
        (clinic.layer(_Bump(8015, 8015), seed=77), 8000),
        (clinic.layer(_Bump(8016, 8190), seed=78), 8000),
        (clinic.layer(_Bump(17, 7999, every=2), seed=79), 8000),
        (a_little_more, 8000),
        (a_little_less, 8000),
        (mirrored, 8000),
        (clinic.layer(_Bump(0, 0), seed=68), 8000),
        (halfway, 8000),
        (halfway, 4000),
        (clinic.layer(_Bump(8001, 8001, last_query=8006), seed=70), 8000),
        (clinic.layer(steep, seed=66), 250),
        (clinic.layer(one_of_many, seed=61), 4000),
        (clinic.layer(the_first, seed=63), 8000),
        (silent, 8000),
        (clinic.layer(create("none", d_model=64, n_heads=4), seed=65, causal=False), 8000),
        (faint, 8000),
        (swing, 8000),
        (halved, 8000),
    )
    for number, (layer, _) in enumerate(more, start=len(by_name) + 1):
        layer.__name__ = f"layer {number}"  # type: ignore[assignment]
        layer.encoding.meant = None  # type: ignore[assignment]
    return cases + list(more)


check_anywhere = Check(
    "anywhere",
    _anywhere,
    cases=_anywhere_cases(),
    effect=_what_it_says,
    mistakes_keep_cases=True,
    mistakes=[
        CLEARS_ALL,
        CLEARS_NONE,
        Mistake(
            "it is the wrong way round: True where the weights changed",
            "What should your function return where a text may begin at that start?",
            lambda layer, start: not _anywhere(layer, start),
        ),
        Mistake(
            "it gets None where it wants numbers",
            "A layer returns None in place of weights unless it is asked for them: by which "
            "argument? And what does bias_by_offset return where an encoding has no such method?",
            lambda layer, start: _same(*(layer(clinic.words(layer))[1] for _ in range(2))),
            raises="NoneType",
        ),
        Mistake(
            "it compares pairs",
            "A layer returns its output and its weights. Which of the two is the promise about?",
            lambda layer, start: torch.allclose(*[layer(clinic.words(layer))] * 2),
            raises="not tuple|'tuple'|is ambiguous",
        ),
        Mistake(
            "it returns a difference, not True or False",
            "How large may the largest difference be in a healthy layer, as the text says? Is "
            "yours below it?",
            lambda layer, start: float(_apart(layer, start).max()),
        ),
        Mistake(
            "it has not a position for each word",
            "A layer takes a tensor of positions, and torch.arange(n) holds n of them. How many "
            "words has your text, and which positions have they at start?",
            lambda layer, start: layer(clinic.words(layer, n=16), torch.arange(start))[1] is None,
            lambda layer, start: layer(clinic.words(layer, n=16), start)[1] is None,
            lambda layer, start: layer(clinic.words(layer, n=16), start=start)[1] is None,
            raises="positions must (have one entry for each|be a tensor)|parameter 'positions'"
            "|keyword argument 'start'",
        ),
        Mistake(
            "it returns a truth for each weight",
            "What is asked for is one True or False about all weights. When is it True?",
            lambda layer, start: _apart(layer, start) < CLOSE,
        ),
        Mistake(
            "it compares with the weights of another layer",
            "Whose weights are those at 0? Does your function compute both, of the layer that "
            "it gets?",
            *(partial(_beside_another, its_words=its_words) for its_words in (False, True)),
        ),
        Mistake(
            "it fills a cache, so that other words stand before the text",
            "May words before a text change what its words look at? The promise is about the same "
            "16 words, and nothing else. Which argument of a layer says where they stand?",
            _after_a_filled_cache,
        ),
        Mistake(
            "it asks that all pairs of one offset have the same weight",
            "Different words stand there. What is to be the same at 0 and at start?",
            _even_along_diagonals,
        ),
        Mistake(
            "its words fit some layers and not others",
            "Each layer has a width and a dtype of its own. clinic.words makes words that fit: "
            "with which arguments, for 16 words?",
            lambda layer, start: layer(torch.zeros(1, 16, 8))[1] is None,
            raises="x must have shape|dtype|x must be torch",
        ),
        Mistake(
            "it says the same whatever the start is",
            "Does your function use its argument start?",
            lambda layer, start: _anywhere(layer, 8000),
        ),
        Mistake(
            "it tries other starts too",
            "A layer may be right at the start that you get and wrong elsewhere. Which one is "
            "asked about?",
            lambda layer, start: _anywhere(layer, start) and _anywhere(layer, 8000),
            *(partial(_at_parts, parts=parts) for parts in ((2,), (2, 4), (3,))),
        ),
        Mistake(
            "its second text does not begin at start",
            "Where does the first word of your second text stand? And which number is asked for?",
            partial(_begins_at, begin=lambda start: start + 1),
            partial(_begins_at, begin=lambda start: start - 1),
            partial(_begins_at, begin=lambda start: start // 2),
            partial(_begins_at, begin=lambda start: start * 16),
            partial(_begins_at, begin=lambda start: -start),
            partial(_begins_at, begin=lambda start: min(start, 4096)),
            partial(_begins_at, begin=lambda start: start % 4096),
        ),
        Mistake(
            "it moves the words, and not their positions",
            "The same words are to stand elsewhere. Which argument of a layer says where?",
            *(partial(_words_moved, how=how) for how in ("roll", "add")),
        ),
        Mistake(
            "it raises an error where it should return False",
            "What is asked for is True or False. What does an assertion do if it fails?",
            partial(_asserted, message=""),
            partial(_asserted, message="Tensor-likes are not close!"),
            raises="^$|not close|not equal",
        ),
        Mistake(
            "it asks the encoding what it is",
            "A class does not know its faults. What does the layer do at start?",
            partial(_asks_the_encoding, what="offsets_only"),
            partial(_asks_the_encoding, what="class"),
            partial(_asks_the_encoding, what="module"),
            partial(_asks_the_encoding, what="rounding"),
        ),
        Mistake(
            "its positions end before they begin",
            "torch.arange(a, b) goes from a to b − 1. Where do the first and the last of 16 words "
            "stand, in a text that begins at start?",
            lambda layer, start: bool(torch.arange(start + 16, 16).any()),
            raises="upper bound and lower bound",
        ),
        Mistake(
            "it looks at one row of one head",
            "The promise is about all weights. Which heads and queries do you leave out?",
            partial(_of_part, part=(slice(None), 0, -1)),
        ),
        Mistake(
            "it compares one number for each row",
            "Could a row's weights change and that number stay?",
            lambda layer, start: _same(*map(_entropy, _near_and_far(layer, start))),
        ),
        Mistake(
            "its tolerance is too coarse: small differences of a sick layer get through",
            "By how much do healthy layers differ, and by how much sick ones, as the text says?",
            lambda layer, start: bool(_apart(layer, start).norm() < 10 * CLOSE),
        ),
        Mistake(
            "its first text does not begin at 0",
            "What does the exercise compare start with? May the first place be the odd one out?",
            lambda layer, start: _same(_weights(layer, clinic.words(layer), 1), _far(layer, start)),
        ),
        Mistake(
            "it takes a mean, and most weights hardly differ",
            "If a single weight is wrong, what does a mean say?",
            *(
                partial(_mean_below, power=power, below=below)
                for power, below in ((1, CLOSE), (2, CLOSE), (2, 1e-6), (1, 1e-4), (1, 1e-5))
            ),
            _means_by_offset,
            lambda layer, start: _same(*(w.mean(2) for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "the sign of a difference decides",
            "A weight may grow, or shrink. Which of the two does your function notice?",
            *(partial(_largest_step, sign=sign) for sign in (1, -1)),
        ),
        Mistake(
            "it takes the median of all differences, and most weights hardly differ",
            "If a single weight is wrong, what does a median say?",
            lambda layer, start: bool(_apart(layer, start).median() < CLOSE),
        ),
        Mistake(
            "two far starts are compared with each other",
            "Where numbers are rounded, neighbours may be rounded to the same one. Which start is "
            "surely right?",
            lambda layer, start: _same(_near_and_far(layer, start)[1], _next(layer, start)),
        ),
        Mistake(
            "far starts are compared with each other",
            "Where numbers are rounded, neighbours may be rounded to the same one. Which start "
            "is surely right?",
            *(
                partial(_same_further_on, steps=steps)
                for steps in ((2,), (1, 2), (1, 2, 4), (1, 2, 3), (100,))
            ),
        ),
        Mistake(
            "it measures each difference by the weight's own size",
            "How large may a difference be, as the text says, also of a weight near 0? What does "
            "torch.allclose allow there if you do not say?",
            lambda layer, start: torch.allclose(*_near_and_far(layer, start), rtol=CLOSE),
        ),
        Mistake(
            "all words are sent to one place",
            "A text that begins at start goes on from there. Where does its second word stand?",
            lambda layer, start: _same_at(layer, torch.arange(16), torch.full((16,), start)),
            lambda layer, start: _same_at(
                layer, torch.zeros(16, dtype=torch.int64), torch.full((16,), start)
            ),
        ),
        Mistake(
            "it moves some of the words and leaves the others",
            "A text begins elsewhere. How far from each other are its words then, and how far "
            "before?",
            partial(_part_moved, part=slice(8, None)),
        ),
        Mistake(
            "the words are spread out, not moved",
            "How far from each other are two neighbours at 0, and how far in your second text?",
            lambda layer, start: _same_at(layer, torch.arange(16), torch.arange(16) * start),
        ),
        Mistake(
            "it blames a healthy layer for rounding",
            "The same numbers by another way are never quite the same. By how much may they "
            "differ? What does torch.allclose allow if you do not say?",
            lambda layer, start: torch.allclose(*_near_and_far(layer, start)),
        ),
        Mistake(
            "it blames a healthy layer for rounding",
            "The same numbers by another way are never quite the same. By how much may they "
            "differ?",
            lambda layer, start: torch.equal(*_near_and_far(layer, start)),
        ),
        Mistake(
            "it reads a longer text than the exercise asks for",
            "How far beyond start does your last word stand, and how far does the exercise's?",
            *(partial(_of_n_words, n=n) for n in (200, 17, 20, 64)),
        ),
        Mistake(
            "its text says one word again and again",
            "If all keys are the same but for their place, which faults leave the weights as they "
            "were?",
            lambda layer, start: _same(*_near_and_far(layer, start, same=True)),
        ),
        Mistake(
            "its text says nothing: all its words are zeros",
            "Queries and keys of a zero are zeros. Which faults leave the weights as they were? "
            "clinic.words makes words that differ.",
            _of_zeros,
        ),
        Mistake(
            "it begins its second text at one place, whatever the start is",
            "Does your function use its argument start?",
            lambda layer, start: _anywhere(layer, 1),
        ),
        Mistake(
            "it asks for one implementation's numbers, and healthy layers have others",
            "The promise names no base, no layout and no slope. Compare the layer with itself.",
            lambda layer, start: _has_weights_of(layer, "rope", "alibi"),
        ),
        Mistake(
            "its tolerance is too coarse: small differences of a sick layer get through",
            "By how much do healthy layers differ, and by how much sick ones, as the text says?",
            lambda layer, start: bool(_apart(layer, start).max() < 10 * CLOSE),
            lambda layer, start: bool(_apart(layer, start).max() < 100 * CLOSE),
            lambda layer, start: bool(_apart(layer, start).max() < 5 * CLOSE),
            lambda layer, start: torch.allclose(*_near_and_far(layer, start), rtol=0.1, atol=CLOSE),
            lambda layer, start: bool(_divergence(layer, start).max() < CLOSE),
        ),
        Mistake(
            "it compares only the sizes of weights, not whose they are",
            "Which key gets the largest weight? Could the same numbers stand at other keys?",
            lambda layer, start: _same(*(w.sort(-1).values for w in _near_and_far(layer, start))),
            lambda layer, start: _same(*(w.amax(-1) for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "it is content with one head that keeps the promise",
            "Each head has speeds and slopes of its own. How many of them have promised?",
            lambda layer, start: bool((_apart(layer, start).amax((0, 2, 3)) < CLOSE).any()),
        ),
        Mistake(
            "it looks at what each word gives itself",
            "The promise is about all weights. At which offsets do you look?",
            lambda layer, start: _same(*(w.diagonal(0, 2, 3) for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "it looks at one offset alone",
            "The promise is about all weights. At which offsets do you look?",
            lambda layer, start: _same(
                *(w.diagonal(-1, 2, 3) for w in _near_and_far(layer, start))
            ),
        ),
        Mistake(
            "it is content if most weights stay",
            "The promise is about all weights. How many may a sick layer change?",
            *(partial(_share_stays, share=share) for share in (0.99, 0.95, 0.9)),
        ),
        Mistake(
            "it asks only which key gets most",
            "May the others' weights change while the winner stays?",
            _same_winners,
        ),
        Mistake(
            "it asks only in which order the keys are",
            "May weights change while their order stays?",
            _same_ranks,
        ),
        Mistake(
            "it looks at earlier keys only",
            "In a layer without a mask, which keys get weight besides?",
            _same_earlier_keys,
        ),
        Mistake(
            "it compares outputs, and the mean of the heads",
            "Two heads may err in opposite ways, and an output may be zero. Of which numbers is "
            "the promise?",
            _same_outputs_and_means,
        ),
        Mistake(
            "it looks at a single head",
            "Each head has speeds and slopes of its own. What if only one of them is rounded?",
            lambda layer, start: _same(*(w[:, 0] for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "it looks at a single head",
            "Each head has speeds and slopes of its own. What if only another one is rounded?",
            *(partial(_of_part, part=(slice(None), head)) for head in (-1, 1, 2)),
        ),
        Mistake(
            "it leaves heads out",
            "Each head has speeds and slopes of its own. What if only one that you leave out "
            "is wrong?",
            *(
                partial(_of_part, part=(slice(None), heads))
                for heads in (slice(-1), slice(3), slice(2), slice(1, None), slice(2, None))
            ),
        ),
        Mistake(
            "it looks at the mean of the heads",
            "Each head has speeds and slopes of its own. Can many hide one that is rounded?",
            lambda layer, start: _same(*(w.mean(1) for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "it looks at the sum of the heads",
            "Each head has speeds and slopes of its own. What if one gives more and one less?",
            lambda layer, start: _same(*(w.sum(1) for w in _near_and_far(layer, start))),
        ),
        Mistake(
            "it leaves words out",
            "Of 16 queries and keys, which do you compare? And how far beyond start does the "
            "last one stand?",
            *(partial(_of_n_words, n=n) for n in (2, 4, 6, 8, 12, 15)),
        ),
        Mistake(
            "it looks at a single query, or at the mean of all",
            "The promise is about all weights. What does one row, or their mean, leave out?",
            *(partial(_of_part, part=(..., query, slice(None))) for query in (-1, 4, 8, 12)),
        ),
        Mistake(
            "it leaves words out",
            "Of 16 queries and keys, which do you compare? And how far beyond start does the "
            "last one stand?",
            partial(_of_part, part=(..., slice(6), slice(None))),
            partial(_of_part, part=(..., slice(8), slice(None))),
            partial(_of_part, part=(..., slice(8, None), slice(None))),
            partial(_of_part, part=(..., slice(8))),
            partial(_of_part, part=(..., slice(8, None))),
        ),
        Mistake(
            "it looks at a single key",
            "The promise is about all weights. Which columns of them do you leave out?",
            *(partial(_of_part, part=(..., key)) for key in (0, 8)),
        ),
        Mistake(
            "it compares outputs, and the promise is about weights",
            "A fresh layer may begin with an output matrix of zeros. What would your test say?",
            _outputs_agree,
        ),
        Mistake(
            "it compares outputs, and the promise is about weights",
            "Which of the two that a layer returns do you compare? And by how much may healthy "
            "ones differ?",
            partial(_outputs_agree, close=0),
        ),
        Mistake(
            "it is the lesson's test moved: outputs, of other texts than 16 words",
            "one_answer compares outputs. Which of the two that a layer returns is this "
            "promise about, and of how many words?",
            *(partial(_outputs_agree, texts=texts, n=12) for texts in (1, 3)),
        ),
        Mistake(
            "far starts are compared with each other",
            "Where numbers are rounded, neighbours may be rounded to the same one. Which start "
            "is surely right?",
            partial(_same_further_on, steps=(16,)),
            partial(_beside_a_thousand, more=True),
            partial(_beside_a_thousand, more=False),
        ),
        Mistake(
            "other words stand before the text",
            "May words before a text change what its words look at? The promise is about the same "
            "16 words, and nothing else. Which argument of a layer says where they stand?",
            _after_other_words,
        ),
        Mistake(
            "weights are rounded and then have to be equal, or many small differences are summed",
            "0.0625 and 0.0626: what are they to three digits? By how much may two weights differ, "
            "and by how much 1,024 of them together?",
            lambda layer, start: torch.equal(
                *(w.round(decimals=3) for w in _near_and_far(layer, start))
            ),
            lambda layer, start: bool(_apart(layer, start).sum() < CLOSE),
        ),
        Mistake(
            "it compares sums over queries",
            "One query may give a key more and the next one less. What does a sum over both say?",
            lambda layer, start: _same(*(w.sum(2) for w in _near_and_far(layer, start))),
        ),
    ],
    hints=(
        "All these layers are right near position 0. They promise that it does not matter where a "
        "text begins. How do you tell a layer where it begins?",
        "layer(x, positions) takes any whole numbers as positions. The attention weights of the "
        "same words should stay what they were, up to rounding.",
        "Compare the weights for torch.arange(16) with those for torch.arange(16) + start, all "
        "heads and all queries, by torch.allclose with atol=1e-3.",
    ),
    seconds=6.0,
    if_slow="Do you read start + 16 words? The words may stay 16; it is their positions that move.",
)
