"""Trained models small enough to ship: weights in float16, and the recipe."""

from contextlib import suppress
from pathlib import Path

import torch

from course_utils.models import saving, shipped
from course_utils.models.training import Recipe, train_on_text
from course_utils.texts import text


def make(recipe: Recipe, known: text.Text, folder: Path, device: torch.device) -> tuple[Path, bool]:
    """Train the recipe's model and save it, unless its file is there; says whether it was trained.

    A file from another recipe is made anew. If the training is stopped, nothing is written.
    """
    path = folder / shipped.file_name(recipe.encoding)
    wanted = recipe.columns()
    with suppress(OSError):  # there is none, or it is damaged
        if saving.about(path)["notes"].get("recipe") == wanted:
            return path, False
    train_on_text(recipe, known, device).save(path, torch.float16, recipe=wanted)
    return path, True
