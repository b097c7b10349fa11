"""The real trained position table, rebuilt from its principal components."""

import base64
from typing import Any

import torch

from course_lab.explorers.controls import Slider
from course_lab.explorers.explorer import Explorer
from course_lab.position_table import position_table

KEPT = Slider(1, 40, 3)


def _principal_components() -> dict[str, Any]:
    """Return rows 1 and on of the table along the first components, and their variance."""
    table = position_table()[1:].double()
    u, singular_values, _ = torch.linalg.svd(table - table.mean(0), full_matrices=False)
    signs = u[99].sign()  # a component's sign is free: positive at position 100 everywhere
    width = int(KEPT.high)
    scores = (u * singular_values * signs)[:, :width].contiguous()
    variance = singular_values.square()
    return {
        "scores": base64.b64encode(scores.numpy().astype("<f4").tobytes()).decode(),
        "width": width,
        "components": len(singular_values),
        "held": (variance.cumsum(0) / variance.sum())[:width].tolist(),
    }


components = Explorer(
    "components",
    "a real trained position table, rebuilt from its first components",
    "The cosine of one position with its neighbours, and the last component that is kept.",
    {"position": Slider(1, 511, 100), "kept": KEPT},
    _principal_components,
)
