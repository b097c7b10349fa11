"""Attention over one short sentence: its sharpness, and what a shuffle of the words does to it."""

import math
from typing import Any

import torch

from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer
from course_lab.sentences import CAT_ON_MAT, word_vectors
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings import create
from course_utils.encodings.functional import sinusoidal_table

WORDS = list(CAT_ON_MAT)
D_MODEL, N_HEADS = 32, 2


def playground_attention(encoding: str, causal: bool) -> MultiHeadAttention:
    """Return the small random attention layer of :data:`shuffle`, the same at every call."""
    with isolated_rng(0):
        positional = create(encoding, d_model=D_MODEL, n_heads=N_HEADS)
        return MultiHeadAttention(D_MODEL, N_HEADS, positional, causal=causal)


def _scores_of_cat() -> dict[str, Any]:
    """Return the scores of "cat" with each word."""
    vectors = word_vectors(WORDS, D_MODEL).double()
    return {"words": WORDS, "scores": (vectors @ vectors[1] / math.sqrt(D_MODEL)).tolist()}


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


sharpness = Explorer(
    "sharpness",
    "attention of “cat” over a sentence",
    "A bar for each word: its weight when all scores are multiplied by a factor.",
    {"factor": Slider(0.0, 1.5, 0.3, step=0.05)},
    _scores_of_cat,
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
