"""Measures of tables of vectors and of square matrices over positions."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

Table = Float[Tensor, "n width"]


def similarity_matrix(table: Table) -> Float[Tensor, "n n"]:
    """Cosine similarity of every pair of rows; a row of zeros has none and is refused."""
    table = validation.matrix("table", table)
    norms = table.norm(dim=1, keepdim=True)
    if bool((norms == 0).any()):
        row = int((norms[:, 0] == 0).nonzero()[0])
        raise ValueError(
            f"table must have no all-zero row (it has no direction), got one: row {row}"
        )
    directions = table / norms
    return directions @ directions.T


def similarity_by_offset(matrix: Float[Tensor, "n n"]) -> Float[Tensor, " n"]:
    """Mean of the matrix along each diagonal 0, 1, …, n − 1 above the main one."""
    square = validation.square("matrix", matrix)
    return torch.stack([square.diagonal(k, -2, -1).mean() for k in range(square.shape[-1])])


def toeplitz_error(matrix: Float[Tensor, "*lead n n"]) -> float:
    """How far a matrix is from depending on j − i alone: 0 for a Toeplitz matrix.

    The largest difference between an entry and the mean of its diagonal, over all diagonals
    and leading axes, in the matrix's own units.
    """
    square = validation.square("matrix", matrix).detach()
    n = square.shape[-1]
    largest = 0.0
    for offset in range(1 - n, n):
        diagonal = square.diagonal(offset, -2, -1)
        deviation = (diagonal - diagonal.mean(-1, keepdim=True)).abs().max()
        largest = max(largest, float(deviation))
    return largest
