"""Functions of rows that lesson 01's exercises are given; they note what they got, or gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from course_lab.checks.calls import call
from course_lab.checks.rules import Case, Rule

Function = Callable[[Tensor], Tensor]


class Noted:
    """A function of rows that notes what it was given."""

    def __init__(self, function: Function) -> None:
        self.function, self.__name__ = function, function.__name__
        self.seen: list[Tensor] = []

    def __call__(self, x: Tensor) -> Tensor:
        """What the function returns."""
        self.seen.append(x)
        return self.function(x)


def attend(x: Tensor) -> Tensor:
    """Self-attention without projections: equivariant."""
    return (x @ x.T / x.shape[-1] ** 0.5).softmax(-1) @ x


def attend_with_positions(x: Tensor) -> Tensor:
    """The same with the place added to the first feature: not equivariant."""
    place = torch.zeros_like(x)
    place[:, 0] = torch.arange(len(x))
    return attend(x + place)


def double(x: Tensor) -> Tensor:
    """Each row on its own: equivariant without any rounding."""
    return 2 * x


def reverse_rows(x: Tensor) -> Tensor:
    """Not equivariant, though the set of rows stays the same."""
    return x.flip(0)


def roll_rows(x: Tensor) -> Tensor:
    """Keeps to those permutations that roll the rows, and to no others."""
    return x.roll(1, 0)


def double_row_5(x: Tensor) -> Tensor:
    """Not equivariant, which two rows show and all others do not."""
    return x * torch.where(torch.arange(len(x)) == 5, 2.0, 1.0)[:, None]


def flip_signs(x: Tensor) -> Tensor:
    """Not equivariant, though all norms are what they were."""
    return x * (1.0 - 2.0 * (torch.arange(len(x)) % 2))[:, None]


def mark_last_feature(x: Tensor) -> Tensor:
    """Not equivariant, which the last feature shows and no other."""
    return torch.cat([x[:, :-1], x[:, -1:] + torch.arange(len(x))[:, None]], 1)


def nudge(x: Tensor) -> Tensor:
    """Not equivariant, by little, but by far more than rounding."""
    return x + 1e-3 * torch.arange(len(x))[:, None]


def add_first(x: Tensor) -> Tensor:
    """Adds the first number of the first row: all differences have one sign."""
    return x + x[0, 0]


class CausalAttend:
    """Causal attention, not scaled, over rows in an order that it knows; keeps v and output."""

    __name__ = "attend"

    def __init__(self, order: Tensor) -> None:
        self.order = order  # (n,), the place of each row
        self.gave: list[tuple[Tensor, Tensor]] = []

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Rows of width e, e and m for each of n words → (n, m)."""
        for name, rows in (("q", q), ("k", k), ("v", v)):
            if rows.ndim != 2 or len(rows) != len(self.order):
                shape = tuple(rows.shape)
                raise ValueError(f"{name} must be (n, width), n = {len(self.order)}, got {shape}")
        later = self.order[None, :] > self.order[:, None]
        out = (q @ k.T).masked_fill(later, -torch.inf).softmax(-1) @ v
        self.gave.append((v, out))
        return out


class OutOfAttend(Rule):
    """What the function returns is what one call of attend gave for the rows themselves."""

    def broken(self, yours: Callable[..., Tensor], cases: Sequence[Case], seconds: float) -> str:
        """Say so where it is not."""
        for case in cases:
            done = call(yours, case, seconds)
            attend, x, _ = done.given
            rows = [out for v, out in attend.gave if v.shape == x.shape and torch.equal(v, x)]
            if not any(torch.allclose(one.double(), done.answer.double()) for one in rows):
                return (
                    "the rows are right, but no call of attend gave them for x. Rows may meet in "
                    "attend only: which q and k make it look at the word before?"
                )
        return ""
