"""Measures of attention weights, of tables of vectors and of square matrices over positions."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

Table = Float[Tensor, "n width"]
Weights = Float[Tensor, "*lead q_len k_len"]


def entropy(weights: Weights, normalise: bool = False) -> Float[Tensor, "*lead q_len"]:
    """Entropy of each query's attention weights, in nats: 0 for one key, log n for n equal ones.

    A weight of exactly 0, as behind a mask, contributes 0. ``normalise`` divides by the log of
    the number of visible keys (weights above 0), so that 1 means uniform at any length. A row
    that sees one key stays 0. A weight so small that it was rounded to 0 (a score about 100 below
    the largest, in float32) counts as not visible.

    Source: Shannon 1948; −Σ w log w.
    """
    weights = probabilities(weights)
    nats = torch.special.entr(weights).sum(-1)
    if not normalise:
        return nats
    visible = (weights > 0).sum(-1)
    share = (nats / visible.clamp(min=2).log()).clamp(max=1)  # rounding may exceed 1
    return torch.where(visible > 1, share, torch.zeros_like(nats))


def probabilities(weights: Weights) -> Weights:
    """The weights as they are; ValueError if they are no rows of probabilities."""
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


def similarity_matrix(table: Table) -> Float[Tensor, "n n"]:
    """Cosine similarity of every pair of rows; a row of zeros has none and is refused."""
    table = validation.matrix("table", table)
    norms = table.norm(dim=1, keepdim=True)
    if bool((norms == 0).any()):
        row = int((norms[:, 0] == 0).nonzero()[0])
        raise ValueError(f"table must have no all-zero row (it has no direction), got row {row}")
    directions = table / norms
    return directions @ directions.T


def toeplitz_error(matrix: Float[Tensor, "*lead n n"]) -> float:
    """How far a matrix is from depending on j − i alone: 0 for a Toeplitz matrix.

    The largest difference between an entry and the mean of its diagonal, over all diagonals
    and leading axes, in the matrix's own units.
    """
    square = validation.square("matrix", matrix).detach()
    n = square.shape[-1]
    diagonals = [square.diagonal(offset, -2, -1) for offset in range(1 - n, n)]
    return max(float((row - row.mean(-1, keepdim=True)).abs().max()) for row in diagonals)
