"""Trained models small enough to ship, see ``course_utils.shipped``: float16 weights and recipe."""

from contextlib import suppress
from pathlib import Path

import torch

from course_utils import saving, shipped, text
from course_utils.experiments.recipe import Recipe, on_text


def make(recipe: Recipe, known: text.Text, folder: Path, device: torch.device) -> tuple[Path, bool]:
    """Train the recipe's model and save it, unless its file is there; says whether it was trained.

    A file from another recipe is made anew. If the training is stopped, nothing is written.
    """
    path = folder / shipped.file_name(recipe.encoding)
    wanted = recipe.columns()
    with suppress(OSError):  # there is none, or it is damaged
        if saving.about(path)["notes"].get("recipe") == wanted:
            return path, False
    on_text(recipe, known, device).save(path, torch.float16, recipe=wanted)
    return path, True
