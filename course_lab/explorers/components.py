"""The real trained position table, rebuilt from its principal components."""

import base64
from typing import Any

import torch

from course_lab.explorers.browser import Explorer, Slider
from course_utils.texts import data

KEPT = Slider(1, 40, 3)


def _principal() -> dict[str, Any]:
    """The table from row 1 on: each row along the first components, and the variance they hold."""
    table = data.position_table()[1:].double()
    u, sizes, _ = torch.linalg.svd(table - table.mean(0), full_matrices=False)
    signs = u[99].sign()  # a component's sign is free: positive at position 100 everywhere
    width = int(KEPT.high)
    rows = (u * sizes * signs)[:, :width].contiguous()
    held = sizes.square().cumsum(0) / sizes.square().sum()
    return {
        "scores": base64.b64encode(rows.numpy().astype("<f4").tobytes()).decode(),
        "width": width,
        "components": len(sizes),
        "held": held[:width].tolist(),
    }


components = Explorer(
    "components",
    "a real trained position table, rebuilt from its first components",
    "The cosine of one position with its neighbours, and the last component that is kept.",
    {"position": Slider(1, 511, 100), "kept": KEPT},
    _principal,
)
