"""Jobs that learn and then measure: what was learned is kept, and measured anew without training.

Weights travel as bytes, so that one process alone has to write them.
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


@dataclass(frozen=True)
class Learner:
    """A job for a sweep. Called without weights, it trains first and returns those, too."""

    training: Mapping[str, Any]  # the key of the weights: all that decides them
    size: int  # of the weights, in bytes
    job: Callable[[Weights | None], tuple[dict[str, Any], Weights]]

    def __call__(self) -> dict[str, Any]:
        """The result of a run that keeps nothing."""
        return self.job(None)[0]


def packed(model: nn.Module, about: Mapping[str, Any]) -> Weights:
    """A model's weights and what is to be known of them, as a safetensors file has them."""
    kept = {name: value.cpu().contiguous() for name, value in saving.weights(model).items()}
    return save(kept, {"about": json.dumps(dict(about))})


def unpack(weights: Weights, model: nn.Module) -> dict[str, Any]:
    """Put what :func:`packed` made into a model of the same kind; returns what is known of it."""
    saving.fill(model, load(weights), "kept weights")
    header = int.from_bytes(weights[:8], "little")
    return json.loads(json.loads(weights[8 : 8 + header])["__metadata__"]["about"])


def size_of(recipe: Recipe, **changes: Any) -> int:
    """About how many bytes a recipe's weights take, its model changed as in ``recipe.build``."""
    return _size(replace(recipe, seed=0), tuple(changes.items()))


@functools.cache
def _size(recipe: Recipe, changes: tuple[tuple[str, Any], ...]) -> int:
    every = saving.weights(build(recipe, **dict(changes))).values()
    return 2**14 + sum(one.numel() * one.element_size() for one in every)
