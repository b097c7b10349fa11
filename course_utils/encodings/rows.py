"""Rows of positions, the queries' and the keys': (seq,) or (batch, seq); what is known of them.

What is not known is False: only rows on a CPU are read, and never while a model is compiled.
"""

import torch
from torch import Tensor

from course_utils import validation


def wide(row: Tensor) -> Tensor:
    """Positions as int64 or at least float32, so that differences neither wrap nor round."""
    floats = row.is_floating_point()
    return row.to(torch.promote_types(row.dtype, torch.float32) if floats else torch.int64)


def in_order(q: Tensor, k: Tensor) -> bool:
    """Whether each query stands after the one before it and after all keys that are no query."""
    if not validation.readable(q) or k.shape[-1] < q.shape[-1]:
        return False
    before = k.shape[-1] - q.shape[-1]
    if not (k is q or torch.equal(k[..., before:], q)) or bool((q.diff() <= 0).any()):
        return False
    return before == 0 or bool((k[..., :before].amax(-1) < q[..., 0]).all())


def count_up(q: Tensor, k: Tensor) -> bool:
    """Whether positions count up by one, and offsets are the same in every row of a batch."""
    if not validation.readable(q) or q.is_floating_point() or k.is_floating_point():
        return False
    steps = bool((q.diff() == 1).all()) and (k is q or bool((k.diff() == 1).all()))
    if not steps or q.ndim == k.ndim == 1:
        return steps
    between = k[..., 0] - q[..., 0]  # (batch), where one of the two has rows
    return bool((between == between.flatten()[0]).all())
