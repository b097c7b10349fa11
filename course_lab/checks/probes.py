"""Functions that lesson 01's exercises are given. They record how they are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from course_lab.checks.calls import call
from course_lab.checks.rules import Case, Rule

Function = Callable[[Tensor], Tensor]
AttendFunction = Callable[[Tensor, Tensor, Tensor], Tensor]


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


def keep(x: Tensor) -> Tensor:
    """The rows as they are: equivariant."""
    return x.clone()


class AttendCall(NamedTuple):
    """What one call of attend was given and what it made of it."""

    v: Tensor  # (n, m), rows as they are stored
    weights: Tensor  # (n, n), rows and columns in the order of the text


class CausalAttend:
    """Causal attention, not scaled, over rows whose order only it knows.

    It computes in float64, so that sharp scores lose nothing, and remembers its calls.

    Args:
        order: the position of each row, (n,).
    """

    __name__ = "attend"

    def __init__(self, order: Tensor) -> None:
        self._order = order
        self._calls: list[AttendCall] = []

    def __call__(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Return (n, m) from queries and keys (n, e) and values (n, m) of n words."""
        n = len(self._order)
        for name, rows in (("q", q), ("k", k), ("v", v)):
            if rows.ndim != 2 or len(rows) != n:
                raise ValueError(f"{name} must be (n, width), n = {n}, got {tuple(rows.shape)}")
        if q.shape != k.shape:
            raise ValueError(f"q {tuple(q.shape)} and k {tuple(k.shape)} must be of one width")
        later = self._order[None, :] > self._order[:, None]
        scores = (q.double() @ k.double().T).masked_fill(later, -torch.inf)
        weights = scores.softmax(-1)
        in_text = self._order.argsort()
        self._calls.append(AttendCall(v.detach().clone(), weights[in_text][:, in_text]))
        return (weights @ v.double()).to(v.dtype if v.is_floating_point() else torch.float32)


def twin(attend: CausalAttend, outputs: list[tuple[Tensor, Tensor]]) -> AttendFunction:
    """Return a function that does the same and tells nothing else.

    It appends v and what came of it to ``outputs``, copies of both.
    """
    inner = CausalAttend(attend._order)

    def recorded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = inner(q, k, v)
        outputs.append((v.detach().clone(), out.detach().clone()))
        return out

    recorded.__name__ = "attend"
    return recorded


def last_look(attend: CausalAttend) -> tuple[Tensor, Tensor] | None:
    """Where each word looked most in the last call, and with which weight, both (n,).

    Words and places are in the order of the text. None if there was no call.
    """
    if not attend._calls:
        return None
    weights = attend._calls[-1].weights
    return weights.argmax(1), weights.amax(1)


def counts_unevenly(attend: CausalAttend, start: Tensor) -> bool:
    """Whether ``start`` alone was averaged, and each time by weights that were not even."""
    even = []
    for v, weights in attend._calls:
        if v.shape[1] == 1 and torch.equal(v[:, 0].double(), start.double()):
            share = 1 / torch.arange(1, len(weights) + 1)[:, None]
            even.append(bool(((weights - share).abs() * (weights > 0)).max() < 1e-3))
    return bool(even) and not any(even)


class ComesFromAttend(Rule):
    """The function returns what one call of attend gave for the rows themselves."""

    def broken(self, answer: Callable[..., Tensor], cases: Sequence[Case], seconds: float) -> str:
        """Say so where it does not."""
        for attend, x, start in cases:
            outputs: list[tuple[Tensor, Tensor]] = []
            result = call(answer, (twin(attend, outputs), x, start), seconds).answer
            if isinstance(result, BaseException):
                return (
                    "it needs more of attend than what a call of it returns: "
                    f"{type(result).__name__} {result}."
                )
            from_x = [out for v, out in outputs if torch.equal(v.double(), x.double())]
            if not any(torch.allclose(out.double(), result.double()) for out in from_x):
                return (
                    "no call of attend gave these rows for x. Rows may meet in attend only: which "
                    "q and k make it look at the word before?"
                )
        return ""
