"""Log-n attention: no encoding, but a factor on the logits that grows with the keys seen.

Source: Su Jianlin 2021, kexue.fm/archives/8823.
"""

import math
from typing import overload

import torch
from torch import Tensor

from course_utils import validation
from course_utils.encodings.positions import Places


@overload
def log_n_factor(n: Tensor, original_len: int) -> Tensor: ...


@overload
def log_n_factor(n: float, original_len: int) -> float: ...


def log_n_factor(n: Tensor | float, original_len: int) -> Tensor | float:
    """The factor log n / log L on the logits of a query that sees n keys.

    It keeps the entropy of attention weights from growing with length: more keys, sharper scores.
    Below L it is less than 1, and 0 for n = 1; whoever wants no change below L clamps it to 1.
    The result is a float for a number; for a tensor one of its shape, float32 (float64 if n is).

    Args:
        n: number of keys seen, at least 1; one number, or a tensor of any shape.
        original_len: length L trained at, at least 2.
    """
    length = validation.integer("original_len", original_len, minimum=2)
    if not isinstance(n, Tensor):
        if validation.number("n", n) < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return math.log(n) / math.log(length)
    counts = validation.real("n", n)
    if validation.readable(counts):
        validation.finite("n", counts)
        if bool((counts < 1).any()):
            raise ValueError(f"n must be at least 1, got {float(counts.min())}")
    return counts.log() / math.log(length)


def log_n_of(at: Places, original_len: int, causal: bool, dtype: torch.dtype) -> Tensor:
    """The factor for each query, (…, q_len, 1), never below 1: what attention multiplies by."""
    precise = torch.promote_types(dtype, torch.float32)
    hidden = at.hidden if causal else at.padding
    if hidden is None:
        n = torch.full((at.q_len, 1), at.k_len, device=at.q.device, dtype=precise)
    else:
        n = (~hidden).sum(-1, keepdim=True).clamp(min=1).to(precise)  # 0 for padding alone
    return log_n_factor(n, original_len).clamp(min=1)
