"""Functions that lesson 01's exercises are given. They record their inputs or outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lab.checks.calls import call
from course_lab.checks.rules import Case, Rule

Function = Callable[[Tensor], Tensor]


class Recorded:
    """A function of rows that records its inputs."""

    def __init__(self, function: Function) -> None:
        self.function, self.__name__ = function, function.__name__
        self.inputs: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        """Return what the function returns."""
        self.inputs.append(x)
        return self.function(x)


def attend(x: Tensor) -> Tensor:
    """Self-attention without projections: equivariant."""
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(-1) @ x


def attend_with_positions(x: Tensor) -> Tensor:
    """The same with each row's position added to its first feature: not equivariant."""
    positions = torch.zeros_like(x)
    positions[:, 0] = torch.arange(len(x))
    return attend(x + positions)


def double(x: Tensor) -> Tensor:
    """Each row on its own: equivariant without any rounding."""
    return 2 * x


def reverse_rows(x: Tensor) -> Tensor:
    """Not equivariant, though the set of rows stays the same."""
    return x.flip(0)


def roll_rows(x: Tensor) -> Tensor:
    """Equivariant to permutations that roll the rows, and to no others."""
    return x.roll(1, 0)


def double_row_5(x: Tensor) -> Tensor:
    """Not equivariant, which shows in two rows and in no others."""
    return x * torch.where(torch.arange(len(x)) == 5, 2.0, 1.0)[:, None]


def flip_signs(x: Tensor) -> Tensor:
    """Not equivariant, though all norms stay the same."""
    return x * (1.0 - 2.0 * (torch.arange(len(x)) % 2))[:, None]


def mark_last_feature(x: Tensor) -> Tensor:
    """Not equivariant, which shows in the last feature and in no other."""
    return torch.cat([x[:, :-1], x[:, -1:] + torch.arange(len(x))[:, None]], 1)


def nudge(x: Tensor) -> Tensor:
    """Not equivariant by a little, but by far more than rounding."""
    return x + 1e-3 * torch.arange(len(x))[:, None]


def add_first(x: Tensor) -> Tensor:
    """Adds the first number of the first row: all differences have the same sign."""
    return x + x[0, 0]


class CausalAttend:
    """Causal attention, not scaled, over rows whose order only it knows. It records its outputs.

    Args:
        order: the position of each row, (n,).
    """

    __name__ = "attend"

    def __init__(self, order: Tensor) -> None:
        self.order = order
        self.outputs: list[tuple[Tensor, Tensor]] = []  # v and what came of it, for each call

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return (n, m) from queries and keys (n, e) and values (n, m) of n words."""
        n = len(self.order)
        for name, rows in (("q", q), ("k", k), ("v", v)):
            if rows.ndim != 2 or len(rows) != n:
                raise ValueError(f"{name} must be (n, width), n = {n}, got {tuple(rows.shape)}")
        later = self.order[None, :] > self.order[:, None]
        out = (q @ k.T).masked_fill(later, -torch.inf).softmax(-1) @ v
        self.outputs.append((v, out))
        return out


class ComesFromAttend(Rule):
    """The function returns what one call of attend gave for the rows themselves."""

    def broken(self, answer: Callable[..., Tensor], cases: Sequence[Case], seconds: float) -> str:
        """Say so where it does not."""
        for case in cases:
            outcome = call(answer, case, seconds)
            attend, x, _ = outcome.arguments
            from_x = [out for v, out in attend.outputs if torch.equal(v, x)]
            if not any(torch.allclose(out.double(), outcome.answer.double()) for out in from_x):
                return (
                    "no call of attend gave these rows for x. Rows may meet in attend only: which "
                    "q and k make it look at the word before?"
                )
        return ""
