"""The key of a run, by which its result is found again, and the columns that describe a run."""

import hashlib
import json
import platform
from dataclasses import asdict
from typing import Any

import torch
from torch import nn

from course_experiments import plugins
from course_utils import __version__
from course_utils.devices import pick_device
from course_utils.models.training import Recipe, encoding_class, encoding_options, learning_rates

PROTOCOL = 1  # raised when the same recipe gives other results: stored ones are then done again


def key(experiment: str, recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides the result of a run; ``more`` is what the recipe lacks."""
    return {"experiment": experiment, **training_key(recipe), **more, **recipe_columns(recipe)}


def training_key(recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides the weights of a trained model; ``more`` is what the recipe lacks."""
    options = json.dumps(encoding_options(recipe))
    return {
        "protocol": PROTOCOL,
        "code": plugins.code(recipe.encoding, encoding_class(recipe)),
        "built_with": json.loads(options),  # with lists for tuples, as in the stored key
        **more,
        **recipe_columns(recipe),
    }


def columns(recipe: Recipe, model: nn.Module) -> dict[str, Any]:
    """The columns of how a model was trained: its recipe, and ``faster`` if any parameter was.

    ``faster`` is text such as "encoding.table=30": a parameter, and the factor on its learning
    rate.
    """
    rates = [f"{name}={factor:g}" for name, factor in learning_rates(model).items()]
    faster = {"faster": ", ".join(rates)} if rates else {}
    return recipe_columns(recipe) | faster


def recipe_columns(recipe: Recipe) -> dict[str, Any]:
    """The recipe as columns of a table. ``options`` is text, and left out if there are none."""
    values = asdict(recipe)
    del values["options"]
    if recipe.options:
        pairs = [f"{name}={json.dumps(value)}" for name, value in recipe.options]
        values["options"] = ", ".join(pairs)
    return values


def conditions(corpus: bytes, device: torch.device) -> dict[str, Any]:
    """The columns of what a run was done with, apart from its recipe."""
    return {
        "corpus": digest(corpus)[:16],
        "device": device.type,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": __version__,
    }


def digest(content: Any) -> str:
    """SHA-256 of bytes, or of anything that JSON can hold."""
    if not isinstance(content, bytes):
        content = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def run_device() -> torch.device:
    """The GPU if there is one, else one core of the processor: a sweep fills the others."""
    device = pick_device()
    if device.type == "cpu":
        torch.set_num_threads(1)
    return device
