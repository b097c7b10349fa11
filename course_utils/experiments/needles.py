"""Needles for RoPE: how deep in the past may a marked symbol lie and still be found?

Models of the find task, trained on short rows, are asked longer ones by each way to stretch.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

from course_utils import sequence_tasks, validation
from course_utils.experiments import algorithms
from course_utils.experiments.recipe import Recipe, pick
from course_utils.experiments.ways import stretched
from course_utils.sequence_tasks import NOTHING, Examples

WAYS = ("direct", "interpolation", "NTK-aware", "by parts", "YaRN")
TIMES = (1, 2, 4, 8)  # lengths of the rows asked, in trained lengths
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # 0 is next to the question, 1 the start of the row
ASKED = 256


def run(recipe: Recipe, *, bar: bool = True) -> list[dict[str, Any]]:
    """Train a model to find a marked symbol, then hide it at each depth of longer rows.

    Args:
        recipe: of a RoPE model.
        bar: whether to show a progress bar.

    Returns:
        One row a way, length and depth, with the share of symbols named right, 0 to 1.
    """
    device = pick()
    model = algorithms.learn(recipe, "find", device, bar=bar)
    found = []
    for way in WAYS:
        for times in TIMES:
            reader = stretched(model, recipe, way, times)
            for depth in DEPTHS:
                asked = needle(times * recipe.length, depth).to(device)
                right = round(sequence_tasks.accuracy(reader, asked), 4)
                row = {"way": way, "factor": times, "read": times * recipe.length, "depth": depth}
                found.append({**asdict(recipe), **row, "accuracy": right})
    return found


def needle(length: int, depth: float, rows: int = ASKED) -> Examples:
    """Rows of the find task with the marker at one depth: 0 next to the question, 1 at the start.

    Rows of one length differ in the marker's place only, whatever the depth.

    Raises:
        TypeError, ValueError: if ``length`` is below 3 or ``depth`` not from 0 to 1.
    """
    validation.integer("length", length, minimum=3)
    if not 0 <= depth <= 1:
        raise ValueError(f"depth must be from 0 to 1, got {depth}")
    generator = torch.Generator().manual_seed(algorithms.HELD_OUT + length)
    tokens = torch.randint(algorithms.SYMBOLS, (rows, length), generator=generator)
    at = round((1 - depth) * (length - 3))
    tokens[:, at], tokens[:, -1] = algorithms.SYMBOLS, algorithms.SYMBOLS + 1
    targets = torch.full_like(tokens, NOTHING)
    targets[:, -1] = tokens[:, at + 1]
    return Examples(tokens, targets)
