"""Trained models small enough to ship: float16 weights and the recipe that made them, in one file.

The files are safetensors: reading one never runs code from it.
"""

import dataclasses
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from course_utils import data, text
from course_utils.experiments.recipe import Recipe, build, on_text
from course_utils.models import TinyTransformer

NAMES = ("none", "sinusoidal", "learned", "rope", "alibi")


def file_name(encoding: str) -> str:
    """Name of an encoding's file, in ``data`` and in the folder that the command writes to."""
    return f"model_{encoding}.safetensors"


def save(model: TinyTransformer, recipe: Recipe, path: Path) -> None:
    """Write a model, rounded to float16, and its recipe; whole, or OSError says why not."""
    weights = {  # the output layer shares the embedding's matrix: kept once
        name: value.detach().cpu().half().contiguous()
        for name, value in model.state_dict().items()
        if name != "head.weight"
    }
    partial = path.with_name(path.name + ".partial")
    save_file(weights, partial, {"recipe": json.dumps(dataclasses.asdict(recipe), sort_keys=True)})
    os.replace(partial, path)


def load(path: Path, **changes: Any) -> tuple[TinyTransformer, Recipe]:
    """A model that :func:`save` wrote, in float32 and in evaluation mode, and its recipe.

    ``changes`` are arguments of TinyTransformer to set differently, such as ``scaling`` or
    ``log_n``; the weights must fit. OSError tells of a file that is missing or no such file.
    """
    try:
        with safe_open(path, "pt") as file:
            recipe = Recipe(**json.loads((file.metadata() or {})["recipe"]))
            weights = {name: file.get_tensor(name).float() for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise OSError(f"{path} is no model of this course: {error}") from error
    model = build(recipe, **changes)
    weights["head.weight"] = weights["embedding.weight"]
    model.load_state_dict(weights)
    return model.eval(), recipe


def shipped(encoding: str, **changes: Any) -> TinyTransformer:
    """One of the models that the course ships, trained at 64 bytes on ``documentation.txt``.

    ``encoding`` is one of ``NAMES``, ``changes`` are as for :func:`load`.
    """
    return load(data.verified(file_name(encoding)), **changes)[0]


def make(recipe: Recipe, known: text.Text, folder: Path, device: torch.device) -> tuple[Path, bool]:
    """Train the recipe's model and save it, unless its file is there; says whether it was trained.

    A file from another recipe is made anew. If the training is stopped, nothing is written.
    """
    path = folder / file_name(recipe.encoding)
    with suppress(OSError):  # there is none, or it is damaged
        if load(path)[1] == recipe:
            return path, False
    save(on_text(recipe, known, device), recipe, path)
    return path, True
