"""The turn that leads from each row of a table to the next, and the clock hands in it.

    row(p + 1) ≈ row(p) Q + shift,  with Q a rotation

A rotation in 2h dimensions turns h planes that are upright to each other, each at its own speed:
h clock hands. *Every* smooth series has such a turn, a random walk too (Shinn 2023, "Phantom
oscillations in principal component analysis"). Only rows that the turn was not taken from can say
whether it means something: see :func:`missed_share`.

Source of the closest rotation: Kabsch 1976, "A solution for the best rotation to relate two sets of
vectors".
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from course_utils import validation

Rows = Float[Tensor, "rows width"]


class Turn(NamedTuple):
    """``matrix`` (width, width) is a rotation, ``shift`` (width,) is added after it."""

    matrix: Float[Tensor, "width width"]
    shift: Float[Tensor, " width"]

    def onwards(self, rows: Rows, steps: int = 1) -> Rows:
        """The rows that the turn foretells ``steps`` further on."""
        for _ in range(steps):
            rows = rows @ self.matrix + self.shift
        return rows


class Hands(NamedTuple):
    """The planes of a turn, fastest first: ``periods`` in rows for a whole turn, ``planes``.

    A plane (width,) is complex, of length 1: ``rows @ plane`` are numbers a + b i, √½ of the rows'
    coordinates in it, which the turn multiplies by exp(2πi / period).
    """

    periods: Float[Tensor, " hands"]
    planes: Complex[Tensor, "hands width"]


def main_directions(table: Rows, count: int) -> Float[Tensor, "count width"]:
    """The ``count`` directions, upright to each other, in which the rows differ most."""
    validation.matrix("table", table, "(rows, width)")
    validation.integer("count", count, 1)
    return torch.linalg.svd(table - table.mean(0), full_matrices=False)[2][:count]


def turn(rows: Rows) -> Turn:
    """The rotation and shift that lead from each row to the next, by least squares."""
    validation.matrix("rows", rows, "(rows, width)")
    before, after = rows[:-1], rows[1:]
    u, _, v = torch.linalg.svd((before - before.mean(0)).T @ (after - after.mean(0)))
    signs = torch.ones(len(u), dtype=rows.dtype)
    signs[-1] = torch.linalg.det(u @ v).sign()  # a rotation, no mirror
    matrix = (u * signs) @ v
    return Turn(matrix, after.mean(0) - before.mean(0) @ matrix)


def hands(rotation: Turn) -> Hands:
    """The clock hands of a turn of even width."""
    eigenvalues, vectors = torch.linalg.eig(rotation.matrix)
    angles = eigenvalues.angle()
    forward = [n for n in range(len(angles)) if angles[n] > 0]  # one of each conjugate pair
    forward.sort(key=lambda n: float(angles[n]), reverse=True)
    return Hands(2 * math.pi / angles[forward], vectors.T[forward])


def missed_share(rotation: Turn, rows: Rows, steps: int = 1) -> float:
    """What a turn leaves unexplained of the way from each row to the one ``steps`` on.

    Squares of what is missed over squares of the way. 0 is a perfect forecast; 1 is no better than
    to say that nothing moves.
    """
    validation.integer("steps", steps, 1)
    missed = rows[steps:] - rotation.onwards(rows[:-steps], steps)
    return float(missed.square().sum() / (rows[steps:] - rows[:-steps]).square().sum())
