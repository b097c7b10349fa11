"""Jobs that train and then measure. Their weights are kept, so that measuring anew trains nothing.

Weights travel between processes as bytes, since only one process writes files.
"""

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from safetensors.torch import load, save
from torch import nn

from course_utils.models import saving
from course_utils.models.training import Recipe, build

Weights = bytes

NOTES = "about"  # their name in the header
HEADER_BYTES = 2**14  # of a file beside its weights, at most


@dataclass(frozen=True)
class TrainingJob:
    """A job of a sweep whose weights are kept."""

    weights_key: Mapping[str, Any]  # all that decides the weights
    weights_bytes: int
    # Trains, unless weights are passed, and measures; returns the result and the weights.
    measure: Callable[[Weights | None], tuple[dict[str, Any], Weights]]

    def __call__(self) -> dict[str, Any]:
        """Train and measure; the weights are dropped."""
        result, _ = self.measure(None)
        return result


def packed(model: nn.Module, notes: Mapping[str, Any]) -> Weights:
    """The content of a safetensors file with a model's weights, and notes that JSON can hold."""
    tensors = {name: value.cpu().contiguous() for name, value in saving.weights(model).items()}
    return save(tensors, {NOTES: json.dumps(dict(notes))})


def unpack(weights: Weights, model: nn.Module) -> dict[str, Any]:
    """Fill a model of the same kind with what :func:`packed` returned; returns the notes."""
    saving.fill(model, load(weights), "kept weights")
    header_length = int.from_bytes(weights[:8], "little")
    header = json.loads(weights[8 : 8 + header_length])
    return json.loads(header["__metadata__"][NOTES])


def weights_bytes(recipe: Recipe, **changes: Any) -> int:
    """About how many bytes a recipe's weights take, its model changed as in ``training.build``."""
    return _weights_bytes(replace(recipe, seed=0), tuple(changes.items()))


@functools.cache
def _weights_bytes(recipe: Recipe, changes: tuple[tuple[str, Any], ...]) -> int:
    tensors = saving.weights(build(recipe, **dict(changes))).values()
    return HEADER_BYTES + sum(tensor.numel() * tensor.element_size() for tensor in tensors)
