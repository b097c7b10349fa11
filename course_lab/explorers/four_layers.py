"""Lesson 11's four layers without a name, and what each changes in a text that is read anew."""

import base64
from itertools import product
from typing import Any

import torch

from course_lab import clinic
from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer

N_WORDS = 16
START = Slider(0, 400, 0, step=10)
ROUNDING = 1e-6  # a change of at most this much is one class, the same on every computer
STEPS = 1000  # a decade


def _data() -> dict[str, Any]:
    """By how much each word's output changes: logarithms, as base64 of 16-bit integers.

    In the order of layers, starts, at once or in pieces, alone or among others, and words.
    """
    layers = {name: patient.layer for name, patient in clinic.unnamed_layers().items()}
    ways = list(product(layers.values(), START.values(), (False, True), (False, True)))
    changes = [clinic.changes(layer, int(start), *ticks) for layer, start, *ticks in ways]
    logs = torch.stack(changes).clamp(min=ROUNDING).log10()
    packed = (STEPS * logs).round().numpy().astype("<i2").tobytes()
    return {
        "logs": base64.b64encode(packed).decode(),
        "steps": STEPS,
        "layers": list(layers),
        "starts": START.values(),
        "words": N_WORDS,
        "piece": clinic.PIECE,
        "allowed": clinic.ALLOWED,
        "rounding": ROUNDING,
    }


four_layers = Explorer(
    "four_layers",
    "four layers that promise one output, and a text of 16 words",
    "Read the text from another start, in pieces, or as the last of three texts. A dot for each "
    "word says by how much its output differs from the one it has alone, at once and from "
    "position 0; more than 0.001 breaks the promise. Bars below are the texts as they are read. "
    "Starts come in tens: the start from which a layer breaks its word follows from the position "
    "of the first word that changes.",
    {
        "layer": Choice(("P", "Q", "R", "S")),
        "start": START,
        "in_pieces": Tick(),
        "among_others": Tick(),
    },
    _data,
)
