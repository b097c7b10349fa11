"""Checks for lesson 11: tests that tell sick attention layers from healthy ones."""

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

CLOSE = 1e-3  # healthy layers stay below it, sick ones do not


def _cases(*faults: str) -> list[Case]:
    return [(one.layer,) for fault in faults for one in clinic.ward(fault)]


def _clears_all(layer: MultiHeadAttention) -> bool:
    return True


def _clears_none(layer: MultiHeadAttention) -> bool:
    return False


def _weights(layer: MultiHeadAttention, x: Tensor, start: int = 0) -> Tensor:
    weights = layer(x, torch.arange(x.shape[1]) + start, need_weights=True)[1]
    assert weights is not None
    return weights


def _same(one: Tensor, other: Tensor) -> bool:
    return bool((one - other).abs().max() < CLOSE)


def _as_the_library(layer: MultiHeadAttention, *names: str) -> bool:
    """Whether its weights are those that one of the library's encodings would give it."""
    x = clinic.words(layer, n=12)
    for name in names:
        twin = copy.copy(layer)
        twin._modules = dict(layer._modules)
        twin.encoding = create(name, d_model=layer.d_model, n_heads=layer.n_heads, causal=True)
        if (_weights(twin, x) - _weights(layer, x)).abs().max() < 10 * CLOSE:
            return True
    return False


EVERYBODY = Mistake(
    "it clears everybody, the sick ones too",
    "Which two outputs do you compare, and what would have to go wrong for them to differ?",
    _clears_all,
)
NOBODY = Mistake(
    "it clears nobody, not even the healthy ones",
    "Two ways to the same numbers round differently. How close is close enough? And do you compare "
    "the same words of the same text?",
    _clears_none,
)

# ★★ One text, one answer


def _alone(layer: MultiHeadAttention) -> bool:
    """Whether each text of a batch comes out as it does alone."""
    x = clinic.words(layer, 3, 12)
    return _same(layer(x)[0], torch.cat([layer(one[None])[0] for one in x]))


def _in_pieces(layer: MultiHeadAttention) -> bool:
    """Whether a text comes out of a cache as it does whole."""
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
        EVERYBODY,
        Mistake(
            NOBODY.name,
            "Two ways to the same numbers round differently: how close is close enough? And is it "
            "the same cache in every call, new for every text?",
            _clears_none,
        ),
        Mistake(
            "it is the wrong way round: sick ones are called healthy, and healthy ones sick",
            "What should your function return for a healthy layer?",
            lambda layer: not _one_answer(layer),
        ),
        Mistake(
            "one fault is found, and layers that read in pieces wrongly are cleared",
            "How does a model read when it writes a text, word by word? What does it keep?",
            _alone,
        ),
        Mistake(
            "one fault is found, and layers that mix up the texts of a batch are cleared",
            "What differs between text 0 of a batch and text 2? Which of them did you look at?",
            _in_pieces,
        ),
        Mistake(
            "it asks for one implementation's numbers, and healthy layers have others",
            "What does a layer owe you with any base, layout or table? Compare it with itself.",
            lambda layer: _as_the_library(layer, "sinusoidal", "rope"),
        ),
    ],
    hints=(
        "Compare the layer with itself: the same text, fed to it in another way. Which ways are "
        "there? Two of the six patients fail, each in another one.",
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
    """Whether the weights of a query fall with distance, to both sides, and all words are one."""
    seen = _weights(layer, clinic.words(layer, n=24, same=same))[0, heads, query]
    return bool((seen[:, : query + 1].diff() >= 0).all() and (seen[:, query:].diff() <= 0).all())


def _near_first(layer: MultiHeadAttention) -> bool:
    return _falls(layer, 12)


def _bias_below_zero(layer: MultiHeadAttention) -> bool:
    row = torch.arange(12)
    q = k = torch.zeros(1, layer.n_heads, 12, layer.d_head, dtype=layer.W_q.weight.dtype)
    bias = layer.encoding.bias(q, k, Places(row, row))
    return bias is not None and bool((bias <= 0).all())


check_near_first = Check(
    "near_first",
    _near_first,
    cases=_cases("sign"),
    mistakes=[
        EVERYBODY,
        Mistake(
            NOBODY.name,
            "What else than distance decides how much weight a key gets?",
            lambda layer: _falls(layer, 12, same=False),
        ),
        Mistake(
            "it is the wrong way round: layers that reward distance are called healthy",
            "For a healthy layer, is the weight of the farthest key the largest or the smallest?",
            lambda layer: not _near_first(layer),
        ),
        Mistake(
            "it looks at keys before the query only",
            "Not every layer has a causal mask. Which query has keys on both sides?",
            lambda layer: _falls(layer, 23),
        ),
        Mistake(
            "it looks at one head only",
            "Each head has a price of its own. What if one of them alone has the wrong sign?",
            lambda layer: _falls(layer, 12, slice(0, 1)),
        ),
        Mistake(
            "it asks for ALiBi's own numbers, and healthy layers have other slopes",
            "The promise names no slope. What does it say of two keys, a near one and a far one?",
            lambda layer: _as_the_library(layer, "alibi"),
        ),
        Mistake(
            "it asks that the bias itself be below 0",
            "What becomes of the weights if the same number is added to all scores of a query? "
            "Look at the weights.",
            _bias_below_zero,
        ),
    ],
    hints=(
        "Words get in the way: a far word may fit the query well. With which text can they not?",
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
        EVERYBODY,
        NOBODY,
        Mistake(
            "it is the wrong way round: sick ones are called healthy, and healthy ones sick",
            "What should your function return for a healthy layer?",
            lambda layer: not _anywhere(layer),
        ),
        Mistake(
            "the text is moved by a few words: two of three faults are too small to see there",
            "Where is a rounded number far from the exact one: among small numbers or large ones?",
            lambda layer: _moved(layer, 10, close=0.02),
        ),
        Mistake(
            "the text is not moved far enough for one of the faults",
            "Whole numbers up to 256 are exact in bfloat16, up to 2048 in float16. How long a text "
            "is promised?",
            lambda layer: _moved(layer, 200),
        ),
        Mistake(
            "the text is moved far, and not yet to where float16 begins to round",
            "Whole numbers up to 2048 are exact in float16. How long a text is promised?",
            lambda layer: _moved(layer, 1000),
        ),
        Mistake(
            "it asks for one implementation's numbers, and healthy layers have others",
            "The promise names no base, no layout and no slope. Compare the layer with itself.",
            lambda layer: _as_the_library(layer, "rope", "alibi"),
        ),
    ],
    hints=(
        "All three are right near position 0. Relative schemes promise that it does not matter "
        "where a text begins. How do you tell a layer where it does?",
        "layer(x, positions) takes positions of your own, such as torch.arange(16) + start. The "
        "attention weights should stay what they were, to rounding.",
        "Compare the weights for start = 0 with those for a start near the end of what is "
        "promised, with torch.allclose and atol=1e-3. One far start finds all three.",
    ),
)
