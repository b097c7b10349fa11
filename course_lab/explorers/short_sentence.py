"""Attention over one short sentence: four doors for position, and words that you move."""

import math
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lab.explorers.controls import Slider, Text, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.sentences import BUFFALO, CAT_ON_MAT, word_vectors
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings.base import DOORS
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    sinusoidal_table,
)

WORDS = list(CAT_ON_MAT)
CAT, NEAR, FAR = 1, 0, 4  # the places of "cat" and of both "the"
DRAWINGS = 20  # of the random words, in the explorer
D_MODEL = 32
WIDTH, MOST_WORDS = 16, 9  # of the sentence whose words move; its JavaScript cuts longer ones


def sentence_attention(causal: bool = False) -> MultiHeadAttention:
    """Return the small random attention layer of :data:`sentence`, the same at every call."""
    with isolated_rng(0):
        return MultiHeadAttention(WIDTH, 1, causal=causal)


def drawings(count: int) -> Float[Tensor, "drawing words d_model"]:
    """Return random words for the sentence, the first those of :func:`word_vectors`.

    Both "the" are one vector in each drawing. Numbers have three decimals.
    """
    generator = torch.Generator().manual_seed(2)
    drawn = torch.randn(count, len(WORDS), D_MODEL, generator=generator)
    drawn[:, FAR] = drawn[:, NEAR]
    drawn[0] = word_vectors(WORDS, D_MODEL)
    return drawn.double().round(decimals=3)


def through_doors(
    words: Float[Tensor, "... words d_model"],
    asks: int = CAT,
    /,
    embed: float = 0.0,
    rotate: float = 0.0,
    bias: float = 0.0,
    values: float = 0.0,
) -> tuple[Float[Tensor, "... words"], Float[Tensor, "... words"]]:
    """Attention of the word at place ``asks`` over sentences, with each door open by so much.

    Door 1 adds the sinusoidal rows, door 2 turns by RoPE's angles, door 3 charges for the distance
    as ALiBi does, door 4 adds the offset to all values; each times its number.

    Returns:
        The weights, and the first number of what each word adds to the sum, both of shape
        (..., words).
    """
    places = torch.arange(words.shape[-2], dtype=torch.float64)
    inputs = words.double() + embed * sinusoidal_table(places, D_MODEL)
    turned = apply_rope(inputs, rope_angles(rotate * places, rope_frequencies(D_MODEL).double()))
    offsets = places - places[asks]
    scores = (turned @ turned[..., asks, :, None])[..., 0] / D_MODEL
    weights = (scores - bias * offsets.abs()).softmax(-1)
    return weights, weights * (inputs[..., 0] + values * offsets)


def _word_and_place() -> dict[str, Any]:
    """Return the words, their drawings, and the vectors and angles with which positions enter."""
    places = torch.arange(len(WORDS), dtype=torch.float64)
    return {
        "words": WORDS,
        "drawings": drawings(DRAWINGS).tolist(),
        "table": sinusoidal_table(places, D_MODEL).tolist(),
        "speeds": rope_frequencies(D_MODEL).double().tolist(),
    }


def _matrices(scale: float) -> dict[str, Any]:
    """Return what scores two words, what makes a word's value, and a vector for each place.

    ``scale`` is that of the words' vectors: the larger, the clearer are preferences.
    """
    attention = sentence_attention().double()
    with torch.no_grad():
        scores = attention.W_k.weight.T @ attention.W_q.weight / math.sqrt(WIDTH)
        outputs = attention.W_o.weight @ attention.W_v.weight
    places = torch.arange(MOST_WORDS, dtype=torch.float64)
    table = sinusoidal_table(places, WIDTH)
    parts = {"scores": scores, "outputs": outputs, "table": table}
    return {"scale": scale} | {name: part.tolist() for name, part in parts.items()}


doors = Explorer(
    "doors",
    "attention of “cat” over a sentence, through four doors",
    "Two bars for each word: the attention that “cat” gives it, and what it adds to the sum. With "
    "all doors shut the two “the” are alike in both. A dot for each of 20 draws of the random "
    "words says how many times as much the nearer “the” gets as the farther.",
    {
        name: Slider(0.0, 1.0, 0.0, step=0.05, label=f"{number} {name}")
        for number, name in enumerate(DOORS, 1)
    }
    | {"drawing": Slider(0, DRAWINGS - 1, 0, label="draw of the random words")},
    _word_and_place,
)

sentence = Explorer(
    "sentence",
    "attention over a sentence whose words you move",
    "The words as buttons to drag; the weights of one head with random matrices, as a square; its "
    "output as a row of 16 numbers for each word, and the mean of the rows. The sentence says how "
    "many rows differ from what they were as typed, and how far.",
    {
        "text": Text("John loves Mary more than Anna does", longest=80, label="sentence"),
        "places": Tick(label="tell places"),
    },
    partial(_matrices, 2.0),
)

masked_sentence = Explorer(
    "sentence",
    "attention behind a causal mask, over a sentence whose words you move",
    "The words as buttons to drag; for each place a bar of the weights that one head with random "
    "matrices gives, added up by word; its output as a row of 16 numbers for each word, and the "
    "mean of the rows. The sentence names the places whose rows are the same.",
    {
        "text": Text(" ".join(BUFFALO), longest=80, label="sentence"),
        "mask": Tick(True, label="causal mask"),
        "layers": Slider(1, 2, 1),
    },
    partial(_matrices, 1.0),
)
