"""Measures of tables of vectors and of square matrices over positions."""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
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
    diagonals = (square.diagonal(k, -2, -1) for k in range(1 - n, n))
    return max(float((d - d.mean(-1, keepdim=True)).abs().max()) for d in diagonals)


class NearestPair(NamedTuple):
    """The two rows of a table that are closest, and their Euclidean distance."""

    distance: float
    first: int
    second: int


def nearest_pair(table: Table, chunk: int = 256) -> NearestPair:
    """The two closest rows of a table: what a collision of two positions would look like.

    Compares all pairs, ``chunk`` rows at a time, so memory grows with n · chunk.
    """
    table = validation.matrix("table", table)
    validation.integer("number of rows in table", len(table), minimum=2)
    validation.integer("chunk", chunk)
    rows = table.detach().cpu().double()  # float64: the subtraction below cancels digits
    squares = rows.square().sum(1)
    best = NearestPair(math.inf, 0, 0)
    for start in range(0, len(rows), chunk):
        some, rest = rows[start : start + chunk], rows[start:]  # earlier rows had their turn
        partial = torch.addmm(squares[start:], some, rest.T, alpha=-2)  # + |row|² is the distance²
        partial.fill_diagonal_(math.inf)  # a row's distance to itself does not count
        value, place = (partial.min(1).values + squares[start : start + chunk]).min(0)
        if value < best.distance**2:
            pair = start + int(place), start + int(partial[int(place)].argmin())
            best = NearestPair(max(float(value), 0.0) ** 0.5, *sorted(pair))
    return best


def linear_probe(
    features: Float[Tensor, "n width"], targets: Float[Tensor, " n"], train: Bool[Tensor, " n"]
) -> Float[Tensor, " n"]:
    """Fit targets as a linear function of features on some rows; return predictions for all.

    Least squares with an intercept and a tiny ridge (1e-6 of the mean square feature). ``train``
    is True for the rows to fit on: judge the probe on the others.
    """
    features = validation.matrix("features", features)
    validation.finite("targets", validation.floating("targets", targets, "(n,)", ndim=1))
    validation.tensor("train", train, "(n,), bool", ndim=1)
    if not len(features) == len(targets) == len(train):
        raise ValueError(
            "features, targets and train must have one row each per example, got "
            f"{len(features)}, {len(targets)} and {len(train)}"
        )
    if train.dtype != torch.bool or not bool(train.any()):
        raise ValueError(f"train must be a bool mask with at least one True, got {train}")
    wide = features.detach().cpu().double()
    wide = torch.cat([wide, torch.ones_like(wide[:, :1])], dim=1)  # intercept
    fit, goal = wide[train.cpu()], targets.detach().cpu().double()[train.cpu()]
    gram = fit.T @ fit
    ridge = 1e-6 * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype)
    weights = torch.linalg.solve(gram + ridge, fit.T @ goal)
    return (wide @ weights).to(features)
