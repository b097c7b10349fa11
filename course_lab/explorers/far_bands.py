"""A band of far keys, moved by the reader, and what it costs trained models."""

from __future__ import annotations

import math
from typing import Any

from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer
from course_utils.encodings.functional import rope_frequencies
from course_utils.texts import data

KEYS, TRAINED = 32, 64  # keys of a band; bytes of a piece in training
D_HEAD, PAIR = 32, 5  # of the models; the first pair that makes no whole turn within a piece
MODELS = {  # as the table has them
    "RoPE, seed 0": ("rope", 0),
    "RoPE, seed 1": ("rope", 1),
    "RoPE, seed 2": ("rope", 2),
    "Transformer-XL": ("transformer_xl", 0),
    "ALiBi": ("alibi", 0),
    "no encoding": ("none", 0),
}


def unseen(end: int) -> list[list[float]]:
    """Where, up to ``end`` back, the pair stands at angles that no two bytes of a piece have."""
    turn = 2 * math.pi / rope_frequencies(D_HEAD)[PAIR].item()  # positions
    turns = range(math.ceil((end - TRAINED) / turn))
    return [[n * turn + TRAINED, min((n + 1) * turn, end)] for n in turns]


def _data() -> dict[str, Any]:
    """The losses of each model by text and by where the band begins, that of training first."""
    table = data.results("far_bands").query("first >= @KEYS")
    losses = {}
    for name, (encoding, seed) in MODELS.items():
        rows = table[(table["encoding"] == encoding) & (table["seed"] == seed)]
        by_text = rows.pivot(index="text", columns="first", values="loss")
        losses[name] = by_text.to_numpy().tolist()
    firsts = sorted(table["first"].unique().tolist())
    return {
        "losses": losses,
        "firsts": firsts,
        "keys": KEYS,
        "trained": TRAINED,
        "pair": PAIR,
        "unseen": unseen(firsts[-1] + KEYS),
    }


far_bands = Explorer(
    "far_bands",
    "32 near keys and a band of 32 far ones, moved away",
    "Find RoPE's dearest band. The nearest 32 keys and a band are seen, all others hidden. Above "
    "where the band begins, what it costs a model trained at 64 bytes, in each of six texts: its "
    "loss less that with the keys 32 to 63 back. A band counts as tried when it is let go, and "
    "leaves its mean; a box shows all, another where pair 5, which turns once in 112 positions, "
    "stands at angles that training never showed.",
    {
        "first": Slider(32, 416, 96, step=16, label="band begins"),
        "model": Choice(tuple(MODELS)),
        "whole": Tick(label="all bands"),
        "turn": Tick(label="new angles of pair 5"),
    },
    _data,
)
