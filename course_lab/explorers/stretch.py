"""Sixteen hands of a RoPE model, slowed as a reader wishes, and what the model reads then."""

import base64
from functools import cache
from typing import Any

from course_lab.explorers.controls import Choice, Slider, Tick
from course_lab.explorers.explorer import Explorer
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies
from course_utils.models import shipped
from course_utils.models.stretching import BASE, way_to_stretch
from course_utils.texts import data, text

MODEL, TRAINED, WIDTH, FACTOR = "rope", 64, 32, 8
LONG = TRAINED * FACTOR  # bytes
BLOCK, JUDGED = 3, 256  # the held-out block that is read, and how many of its bytes are judged
OWN = "your own"
WAYS = ("direct", "interpolation", "NTK-aware", "step", "Llama 3.1", "YaRN")
# Losses at 64 and 512 bytes, nats a byte, of ways that the picture has; a test reads them anew.
RIVALS = {
    "direct": (1.2805, 3.0626),
    "interpolation": (3.5663, 3.5565),
    "NTK-aware": (1.3602, 2.6730),
    "step": (1.3952, 1.7623),
    "Llama 3.1": (1.5196, 1.8757),
    "YaRN": (1.5023, 1.7327),
}


@cache
def passage() -> list[int]:
    """The bytes that are read: the last 256 of them are judged, at either length."""
    return text.split(text.documentation()).held_out[BLOCK, : LONG + 1].tolist()


def score_factor_of(way: str) -> float:
    """By how much a way multiplies all scores, 1 but for YaRN."""
    scaling = way_to_stretch(way, FACTOR, TRAINED, WIDTH)
    return float(scaled_frequencies(WIDTH, BASE, scaling)[1] ** 2)


def factors_of(way: str) -> list[float]:
    """By how much a way slows each hand, (16,)."""
    plain = rope_frequencies(WIDTH, BASE)
    speeds, _ = scaled_frequencies(WIDTH, BASE, way_to_stretch(way, FACTOR, TRAINED, WIDTH))
    return (plain / speeds).tolist()


def _data() -> dict[str, Any]:
    weights = data.verified(shipped.file_name(MODEL)).read_bytes()
    return {
        "weights": base64.b64encode(weights).decode(),
        "text": passage(),
        "speeds": rope_frequencies(WIDTH, BASE).tolist(),
        "trained": TRAINED,
        "long": LONG,
        "judged": JUDGED,
        "ways": {way: factors_of(way) for way in WAYS},
        "sharpness": {way: score_factor_of(way) for way in WAYS},
        "rivals": RIVALS,
    }


stretch = Explorer(
    "stretch",
    "sixteen hands, each slowed as you wish, and what the model reads then",
    "Bars to draw say by how much each hand of a trained RoPE model is slowed; clocks above, which "
    "angles are new. Right: how much the loss rises at 64 and at 512 bytes, with six known ways.",
    {
        "set": Choice((*WAYS, OWN), label="set all as"),
        "hand": Slider(0, WIDTH // 2 - 1, 5, label="hand"),
        "slowed": Slider(1.0, 8.0, 1.0, step=0.5, label="times slower"),
        "slower": Tick(label="and all slower"),
    },
    _data,
    parts=("model",),
)
