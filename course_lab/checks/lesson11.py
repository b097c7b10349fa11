"""Checks for lesson 11: tests that tell faulty attention layers from right ones.

The lesson calls them sick and healthy, see :mod:`course_lab.clinic`.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from course_lab import clinic
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case
from course_utils.attention import MultiHeadAttention
from course_utils.encodings import Places, create

CLOSE = 1e-3  # differences: those of healthy layers stay below it, those of sick ones do not


def _cases(*faults: str) -> list[Case]:
    return [(patient.layer,) for fault in faults for patient in clinic.ward(fault)]


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
    lambda layer: True,
)
CLEARS_NONE = Mistake(
    "it clears no layer, not even the healthy ones",
    "Two ways to the same numbers round differently. How close is close enough? And do you compare "
    "the same words of the same text?",
    lambda layer: False,
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
            "it asks only which key gets most",
            "The nearest key may win while all others cost the same. Look at each step.",
            lambda layer: bool((_row(layer).argmax(-1) == 12).all()),
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


def _anywhere(layer: MultiHeadAttention) -> bool:
    return _moved(layer, 8000)


def _moved(layer: MultiHeadAttention, start: int, close: float = CLOSE) -> bool:
    x = clinic.words(layer, n=16)
    return bool((_weights(layer, x) - _weights(layer, x, start)).abs().max() < close)


check_anywhere = Check(
    "anywhere",
    _anywhere,
    cases=_cases("layouts", "angles", "shortcut"),
    mistakes=[
        CLEARS_ALL,
        CLEARS_NONE,
        Mistake(
            "it is the wrong way round: sick ones are called healthy, and healthy ones sick",
            "What should your function return for a healthy layer?",
            lambda layer: not _anywhere(layer),
        ),
        Mistake(
            "the text is moved by a few words, where two of the three faults are too small to see",
            "Among which numbers is a rounded one far from the exact one: small or large ones?",
            lambda layer: _moved(layer, 10, close=0.02),
        ),
        Mistake(
            "the text is not moved far enough for one of the faults",
            "Whole numbers up to 256 are exact in bfloat16, up to 2048 in float16. How long may a "
            "text be?",
            lambda layer: _moved(layer, 200),
        ),
        Mistake(
            "the text is moved far, but not to where float16 begins to round",
            "Whole numbers up to 2048 are exact in float16. How long may a text be?",
            lambda layer: _moved(layer, 1000),
        ),
        Mistake(
            "it asks for one implementation's numbers, and healthy layers have others",
            "The promise names no base, no layout and no slope. Compare the layer with itself.",
            lambda layer: _has_weights_of(layer, "rope", "alibi"),
        ),
    ],
    hints=(
        "All three are right near position 0. Relative schemes promise that it does not matter "
        "where a text begins. How do you tell a layer where it begins?",
        "layer(x, positions) takes any positions, such as torch.arange(16) + start. The attention "
        "weights should stay what they were, up to rounding.",
        "Compare the weights for start = 0 with those for a start near the end of the promised "
        "range, with torch.allclose and atol=1e-3. A single far start finds all three.",
    ),
)
