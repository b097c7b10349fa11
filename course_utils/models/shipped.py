"""The trained models that the course ships, as weights in ``data``."""

from typing import Any

from course_utils import models, validation
from course_utils.models import saving
from course_utils.texts import data

NAMES = ("none", "sinusoidal", "learned", "rope", "alibi")


def file_name(encoding: str) -> str:
    """Name of the file of an encoding's model."""
    return f"model_{encoding}.safetensors"


def model(name: str, **changes: Any) -> models.TinyTransformer:
    """A language model trained on ``documentation.txt``, in float32 and in evaluation mode.

    ``name`` is one of ``NAMES``, ``changes`` are as for :func:`course_utils.models.from_file`.
    """
    validation.choice("name", name, NAMES)
    return models.from_file(data.verified(file_name(name)), **changes)


def length(name: str) -> int:
    """Bytes of the pieces that a model was trained on."""
    validation.choice("name", name, NAMES)
    return int(saving.about(data.verified(file_name(name)))["notes"]["recipe"]["length"])
