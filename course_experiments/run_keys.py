"""What tells one run of an experiment from another: its key, and the conditions it was done in."""

import hashlib
import json
import platform
from typing import Any

import torch
from torch import nn

from course_experiments import plugins
from course_utils import __version__
from course_utils.devices import pick_device
from course_utils.encodings import maker_of
from course_utils.models.training import Recipe, build, encoding_options, learning_rates

PROTOCOL = 1  # one more when the same recipe would give other results: old ones are done again


def key(experiment: str, recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides a run's result, and so tells whether there is one already."""
    return {"experiment": experiment, **training(recipe), **more, **recipe.columns()}


def training(recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides what a recipe's model has learned, ``more`` being what the recipe lacks."""
    maker = maker_of(recipe.encoding)
    kind = maker if isinstance(maker, type) else type(build(recipe).encoding)
    return {
        "protocol": PROTOCOL,
        "code": plugins.code(recipe.encoding, kind),
        "built_with": json.loads(json.dumps(encoding_options(recipe))),  # lists, as a file has
        **more,
        **recipe.columns(),
    }


def columns(recipe: Recipe, model: nn.Module) -> dict[str, Any]:
    """What a model was trained with, as columns: its recipe, and ``faster`` if any parameter was.

    ``faster`` is text such as "encoding.table=30": the parameter, and the factor on its learning
    rate.
    """
    rates = [f"{name}={factor:g}" for name, factor in learning_rates(model).items()]
    faster = {"faster": ", ".join(rates)} if rates else {}
    return recipe.columns() | faster


def digest(content: Any) -> str:
    """SHA-256 of bytes, or of anything that JSON can hold."""
    if not isinstance(content, bytes):
        content = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def conditions(corpus: bytes, device: torch.device) -> dict[str, Any]:
    """What a run was done with, apart from its recipe: columns of its rows."""
    return {
        "corpus": digest(corpus)[:16],
        "device": device.type,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": __version__,
    }


def pick() -> torch.device:
    """Where a run is done: a GPU if there is one, else one core, as a sweep fills the others."""
    device = pick_device()
    if device.type == "cpu":
        torch.set_num_threads(1)
    return device
