"""Measures of attention weights."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

Weights = Float[Tensor, "*lead q_len k_len"]


def entropy(weights: Weights, normalise: bool = False) -> Float[Tensor, "*lead q_len"]:
    """Entropy of each query's attention weights, in nats: 0 for one key, log n for n equal ones.

    A weight of exactly 0, as behind a mask, contributes 0. ``normalise`` divides by the log of
    the number of visible keys (weights above 0), so that 1 means uniform at any length. A row
    that sees one key stays 0. A weight so small that it was rounded to 0 (a score about 100 below
    the largest, in float32) counts as not visible.

    Source: Shannon 1948; −Σ w log w.
    """
    weights = _probabilities(weights)
    nats = torch.special.entr(weights).sum(-1)
    if not normalise:
        return nats
    visible = (weights > 0).sum(-1)
    share = (nats / visible.clamp(min=2).log()).clamp(max=1)  # rounding may exceed 1
    return torch.where(visible > 1, share, torch.zeros_like(nats))


def diagonal_strength(weights: Weights) -> Float[Tensor, "*lead"]:
    """Mean weight that a query gives to the key at its own position; 1/n is no preference."""
    square = validation.square("weights", _probabilities(weights))
    return square.diagonal(dim1=-2, dim2=-1).mean(-1)


def _probabilities(weights: Tensor) -> Tensor:
    weights = validation.floating("weights", weights, "(…, q_len, k_len)")
    total = weights.sum(-1)
    slack = 1e-2 if weights.dtype in (torch.float16, torch.bfloat16) else 1e-4
    if bool((weights < 0).any()) or not torch.allclose(total, torch.ones_like(total), atol=slack):
        raise ValueError(
            "weights must be rows of probabilities that sum to 1, got sums from "
            f"{total.min().item():.4g} to {total.max().item():.4g}, "
            f"smallest weight {weights.min().item():.4g}"
        )
    return weights
