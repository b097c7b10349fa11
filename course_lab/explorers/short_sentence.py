"""Attention over one short sentence: four doors for position, and what a shuffle does to it."""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.sentences import CAT_ON_MAT, word_vectors
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import create
from course_utils.encodings.base import DOORS
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    sinusoidal_table,
)

WORDS = list(CAT_ON_MAT)
CAT = 1  # its place
D_MODEL, N_HEADS = 32, 2


def playground_attention(encoding: str, causal: bool) -> MultiHeadAttention:
    """Return the small random attention layer of :data:`shuffle`, the same at every call."""
    with isolated_rng(0):
        positional = create(encoding, d_model=D_MODEL, n_heads=N_HEADS)
        return MultiHeadAttention(D_MODEL, N_HEADS, positional, causal=causal)


def through_doors(
    embed: float = 0.0, rotate: float = 0.0, bias: float = 0.0, values: float = 0.0
) -> tuple[Float[Tensor, " words"], Float[Tensor, " words"]]:
    """Attention of "cat" over the sentence, with each door open by so much.

    Door 1 adds the sinusoidal rows, door 2 turns by RoPE's angles, door 3 charges for the distance
    as ALiBi does, door 4 adds the offset to all values; each times its number.

    Returns:
        The weights, and the first number of each word's weight × value, both of shape (words,).
    """
    places = torch.arange(len(WORDS), dtype=torch.float64)
    inputs = word_vectors(WORDS, D_MODEL).double() + embed * sinusoidal_table(places, D_MODEL)
    turned = apply_rope(inputs, rope_angles(rotate * places, rope_frequencies(D_MODEL).double()))
    offsets = places - places[CAT]
    weights = (turned @ turned[CAT] / D_MODEL - bias * offsets.abs()).softmax(0)
    return weights, weights * (inputs[:, 0] + values * offsets)


def _word_and_place() -> dict[str, Any]:
    """Return the words, and the vectors and angles with which positions enter."""
    places = torch.arange(len(WORDS), dtype=torch.float64)
    return {
        "words": WORDS,
        "vectors": word_vectors(WORDS, D_MODEL).double().tolist(),
        "table": sinusoidal_table(places, D_MODEL).tolist(),
        "speeds": rope_frequencies(D_MODEL).double().tolist(),
    }


def _score_terms() -> dict[str, Any]:
    """Return the scores of head 0 among words and positions, a (12, 12) matrix.

    The score of two words at two positions is the sum of four of its entries, the four terms of
    (x + p)·A·(x' + p').
    """
    attention = playground_attention("none", causal=False).double()
    d_head = attention.d_head
    words = 2 * word_vectors(WORDS, D_MODEL).double()  # twice as long, for clearer preferences
    positions = sinusoidal_table(torch.arange(len(WORDS), dtype=torch.float64), D_MODEL)
    vectors = torch.cat([words, positions])
    with torch.no_grad():
        q, k = attention.W_q(vectors)[:, :d_head], attention.W_k(vectors)[:, :d_head]
    return {"words": WORDS, "scores": (q @ k.T / math.sqrt(d_head)).tolist()}


doors = Explorer(
    "doors",
    "attention of “cat” over a sentence, through four doors",
    "Two bars for each word: the attention that “cat” gives it, and what it brings to the sum. "
    "With all doors shut the two “the” are alike in both.",
    {
        name: Slider(0.0, 1.0, 0.0, step=0.05, label=f"{number} {name}")
        for number, name in enumerate(DOORS, 1)
    },
    _word_and_place,
)

shuffle = Explorer(
    "shuffle",
    "attention of a shuffled sentence",
    "Three matrices of one head's weights: for the shuffled words, the same put back in order, and "
    "that minus the weights of the sentence as it was. Shuffle 0 leaves the words in place.",
    {
        "shuffle": Slider(0, 24, 3),
        "encoding": Choice(("none", "sinusoidal")),
        "causal": Tick(label="causal mask"),
    },
    _score_terms,
)
