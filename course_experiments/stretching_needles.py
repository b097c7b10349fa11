"""Needles for RoPE: how deep in the past may a marked symbol lie and still be found?

Models of the find task, trained on short rows, are asked longer ones by each way to stretch.
"""

from typing import Any

import torch

from course_experiments.run_keys import columns, run_device
from course_experiments.task_lengths import HELD_OUT_SEED, SYMBOLS, learn
from course_experiments.tasks import token_after_marker
from course_utils.models import TinyTransformer
from course_utils.models.stretching import ClampedRotary, stretched
from course_utils.models.training import Recipe
from course_utils.texts import tasks
from course_utils.texts.tasks import Examples

CLAMPED = "clamped"  # offsets beyond the trained ones are read as the farthest of them
WAYS = ("direct", "interpolation", "NTK-aware", "by parts", "YaRN", CLAMPED)
FACTORS = (1, 2, 4, 8)  # of the rows' lengths, in trained lengths
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # 0 is next to the question, 1 the start of the row
ROWS = 256  # of each length and depth


def run(recipe: Recipe, *, bar: bool = True) -> list[dict[str, Any]]:
    """Train a RoPE model to find a marked symbol, then hide it at each depth of longer rows.

    Returns one row a way, length and depth, with the share of symbols named right, 0 to 1.
    """
    device = run_device()
    model = learn(recipe, "find", device, bar=bar)
    results = []
    for way in WAYS:
        for factor in FACTORS:
            reader = _reader(model, way, factor, recipe.length)
            read = factor * recipe.length
            for depth in DEPTHS:
                examples = needle(read, depth).to(device)
                accuracy = round(tasks.accuracy(reader, examples), 4)
                row = {"way": way, "factor": factor, "read": read, "depth": depth}
                results.append({**columns(recipe, model), **row, "accuracy": accuracy})
    return results


def _reader(model: TinyTransformer, way: str, factor: int, trained: int) -> TinyTransformer:
    if way == CLAMPED:
        return model.changed(encoding=ClampedRotary, farthest=trained - 1)
    return stretched(model, way, factor, trained)


def needle(length: int, depth: float, rows: int = ROWS) -> Examples:
    """Rows of the find task with the marker at one depth: 0 next to the question, 1 at the start.

    Rows of one length differ in the marker's place only, whatever the depth.
    """
    if not 0 <= depth <= 1:
        raise ValueError(f"depth must be from 0 to 1, got {depth}")
    generator = torch.Generator().manual_seed(HELD_OUT_SEED + length)
    place = round((1 - depth) * (length - 3))
    return token_after_marker(
        length=length, batch=rows, vocab_size=SYMBOLS, generator=generator, marker=place
    )
