"""The trained models that the course ships, as weights in ``data``."""

from typing import Any

from course_utils import models, validation
from course_utils.models import saving
from course_utils.texts import data

NAMES = ("none", "sinusoidal", "learned", "rope", "alibi")
SEEDS = {"rope": (0, 1, 2)}  # of the others seed 0 alone


def file_name(encoding: str, seed: int = 0) -> str:
    """Name of the file of an encoding's model."""
    return f"model_{encoding}.safetensors" if seed == 0 else f"model_{encoding}_{seed}.safetensors"


def model(name: str, *, seed: int = 0, **changes: Any) -> models.TinyTransformer:
    """A language model trained on ``documentation.txt``, in float32 and in evaluation mode.

    ``name`` is one of ``NAMES``, ``seed`` one of ``SEEDS``, ``changes`` are as for
    :func:`course_utils.models.from_file`.
    """
    validation.choice("name", name, NAMES)
    seeds = SEEDS.get(name, (0,))
    if seed not in seeds:
        raise ValueError(f"seed must be one of {seeds} for {name}, got {seed!r}")
    return models.from_file(data.verified(file_name(name, seed)), **changes)


def length(name: str) -> int:
    """Bytes of the pieces that a model was trained on."""
    validation.choice("name", name, NAMES)
    return int(saving.about(data.verified(file_name(name)))["notes"]["recipe"]["length"])
