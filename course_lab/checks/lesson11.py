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
from course_utils.attention.kv_cache import KVCache
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
    "Which two outputs do you compare, and what would have to go wrong for them to differ?",
    lambda layer: True,
)
CLEARS_NONE = Mistake(
    "it clears no layer, not even the healthy ones",
    "Two ways to the same numbers round differently. How close is close enough? And do you compare "
    "the same words of the same text?",
    lambda layer: False,
)

# ★★ One text, one answer


def _alone(layer: MultiHeadAttention) -> bool:
    """Whether each text of a batch comes out as it does alone."""
    x = clinic.words(layer, 3, 12)
    return _same(layer(x)[0], torch.cat([layer(text[None])[0] for text in x]))


def _in_pieces(layer: MultiHeadAttention) -> bool:
    """Whether a text read in pieces, with a cache, comes out as it does whole."""
    x, cache = clinic.words(layer, 1, 12), KVCache()
    parts = [layer(part, cache=cache)[0] for part in x.split(5, dim=1)]
    return _same(layer(x)[0], torch.cat(parts, 1))


def _one_answer(layer: MultiHeadAttention) -> bool:
    return _alone(layer) and _in_pieces(layer)


check_one_answer = Check(
    "one_answer",
    _one_answer,
    cases=_cases("axis", "cache"),
    mistakes=[
        CLEARS_ALL,
        Mistake(
            CLEARS_NONE.name,
            "Two ways to the same numbers round differently: how close is close enough? And is it "
            "the same cache in every call, new for every text?",
            CLEARS_NONE.answer,
        ),
        Mistake(
            "it is the wrong way round: sick ones are called healthy, and healthy ones sick",
            "What should your function return for a healthy layer?",
            lambda layer: not _one_answer(layer),
        ),
        Mistake(
            "one fault is found, and layers that read pieces wrongly are cleared",
            "How does a model read while it writes a text, word by word? What does it keep?",
            _alone,
        ),
        Mistake(
            "one fault is found, and layers that mix up the texts of a batch are cleared",
            "What differs between text 0 of a batch and text 2? Which of them did you look at?",
            _in_pieces,
        ),
        Mistake(
            "it asks for one implementation's numbers, and healthy layers have others",
            "What must hold with any base, layout or table? Compare the layer with itself.",
            lambda layer: _has_weights_of(layer, "sinusoidal", "rope"),
        ),
    ],
    hints=(
        "Compare the layer with itself: the same text, fed to it in another way. Which ways are "
        "there? Two of the six patients fail, each in a different one.",
        "A text may be read alone or among others. And it may be read whole, or in pieces with a "
        "KVCache that is passed to every call.",
        "Feed three texts at once. Feed one of them, not the first, alone and in pieces of 5 words "
        "with one cache; torch.cat the outputs along dimension 1, and compare with torch.allclose.",
    ),
)

# ★★ Near before far


def _falls(
    layer: MultiHeadAttention, query: int, heads: slice = slice(None), same: bool = True
) -> bool:
    """Whether a query's weights fall with distance to both sides, in a text of equal words."""
    weights = _weights(layer, clinic.words(layer, n=24, same=same))[0, heads, query]
    rises_before = (weights[:, : query + 1].diff() >= 0).all()
    falls_after = (weights[:, query:].diff() <= 0).all()
    return bool(rises_before and falls_after)


def _near_first(layer: MultiHeadAttention) -> bool:
    return _falls(layer, 12)


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
            lambda layer: _falls(layer, 12, same=False),
        ),
        Mistake(
            "it is the wrong way round: layers that reward distance are called healthy",
            "For a healthy layer, is the weight of the farthest key the largest or the smallest?",
            lambda layer: not _near_first(layer),
        ),
        Mistake(
            "it looks only at keys before the query",
            "Not every layer has a causal mask. Which query has keys on both sides?",
            lambda layer: _falls(layer, 23),
        ),
        Mistake(
            "it looks at a single head",
            "Each head has a price of its own. What if only one of them has the wrong sign?",
            lambda layer: _falls(layer, 12, slice(0, 1)),
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
        "Then look at the row of one query, from key to key.",
        "weights = layer(x, need_weights=True)[1][0] is (heads, query, key). Take a query in the "
        "middle: up to it each head's weights must rise (diff), after it they must not.",
    ),
)

# ★★★ Anywhere


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
