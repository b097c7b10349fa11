"""Trained models small enough to ship: weights in float16, and the recipe."""

from contextlib import suppress
from pathlib import Path

import torch

from course_experiments.run_keys import recipe_columns
from course_utils.models import saving, shipped
from course_utils.models.training import Recipe, train_on_text
from course_utils.texts import text


def make(
    recipe: Recipe, corpus_text: text.Text, folder: Path, device: torch.device
) -> tuple[Path, bool]:
    """Train the recipe's model and save it, unless its file is there; returns path, and if trained.

    A file of another recipe, or a damaged one, is replaced. If the training is stopped, nothing is
    written.
    """
    path = folder / shipped.file_name(recipe.encoding, recipe.seed)
    columns = recipe_columns(recipe)
    with suppress(OSError):  # the file is missing or damaged
        if saving.about(path)["notes"].get("recipe") == columns:
            return path, False
    model = train_on_text(recipe, corpus_text, device)
    model.save(path, torch.float16, recipe=columns)
    return path, True
