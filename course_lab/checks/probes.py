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
        self.inputs.append(x.clone())  # a caller may write into x afterwards
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


def exchanged(n: int, first: int, second: int) -> Tensor:
    """Return the permutation of n rows that exchanges two of them."""
    perm = torch.arange(n)
    perm[first], perm[second] = second, first
    return perm


def double_row_2(x: Tensor) -> Tensor:
    """Not equivariant, which an exchange of rows 2 and 4 shows in these two only."""
    return x * torch.where(torch.arange(len(x)) == 2, 2.0, 1.0)[:, None]


def double_row_3(x: Tensor) -> Tensor:
    """Not equivariant, which an exchange of rows 1 and 3 shows in these two only."""
    return x * torch.where(torch.arange(len(x)) == 3, 2.0, 1.0)[:, None]


def add_row_1_to(place: float) -> Function:
    """Not equivariant, which an exchange of rows 1 and 2 shows in one number, the second of a row.

    The row is the first one for place 0, the middle one for 0.5 and the last one for 1.
    """

    def add_row_1(x: Tensor) -> Tensor:
        y = x.clone()
        y[round(place * (len(x) - 1)), 1] += x[1, 0]
        return y

    return add_row_1


def mark_first_feature(x: Tensor) -> Tensor:
    """Not equivariant, which shows in the first feature and in no other."""
    return torch.cat([x[:, :1] + torch.arange(len(x))[:, None], x[:, 1:]], 1)


def roll_features(x: Tensor) -> Tensor:
    """Not equivariant, though each row keeps its numbers: their sum, the largest, the length."""
    return torch.stack([row.roll(place) for place, row in enumerate(x)])


def flip_by_ends(x: Tensor) -> Tensor:
    """Not equivariant, though all products of two rows stay the same."""
    return x if x[0, 0] < x[-1, 0] else -x


def sort_rows(x: Tensor) -> Tensor:
    """Invariant, so not equivariant: the rows in the order of their first numbers."""
    return x[x[:, 0].argsort()]


def count_rows(x: Tensor) -> Tensor:
    """Not equivariant: each row becomes its place, whatever it was. Once more changes nothing."""
    return torch.arange(float(len(x)))[:, None].expand_as(x).clone()


def keep(x: Tensor) -> Tensor:
    """The rows as they are: equivariant."""
    return x.clone()


def leave_rounding(x: Tensor) -> Tensor:
    """Equivariant but for rounding: in each row, what a sum of all rows in float32 is off by."""
    total = torch.zeros_like(x[0])
    for row in x:  # in the order of the rows, so that another order rounds otherwise
        total = total + row
    return (total.double() - x.double().sum(0)).to(x.dtype).expand_as(x).clone()


class AttendCall(NamedTuple):
    """What one call of attend was given and what it made of it."""

    q: Tensor  # (n, e), rows as they are stored, as are those of k and v
    k: Tensor  # (n, e)
    v: Tensor  # (n, m)
    scores: Tensor  # (n, n), of hidden keys too, rows and columns in the order of the text
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
        scores = q.double() @ k.double().T
        weights = scores.masked_fill(later, -torch.inf).softmax(-1)
        in_text = self._order.argsort()
        stored = (rows.detach().clone() for rows in (q, k, v))
        squares = (square[in_text][:, in_text].detach() for square in (scores, weights))
        self._calls.append(AttendCall(*stored, *squares))
        return (weights @ v.double()).to(v.dtype if v.is_floating_point() else torch.float32)


class CallAndOutput(NamedTuple):
    """What one call of attend was given and what it returned, rows as they are stored."""

    q: Tensor  # (n, e)
    k: Tensor  # (n, e)
    v: Tensor  # (n, m)
    out: Tensor  # (n, m)


def twin(order: Tensor, calls: list[CallAndOutput]) -> AttendFunction:
    """Return causal attention over rows in this order, which tells nothing else.

    It appends copies of what it was given and returned to ``calls``.
    """
    inner = CausalAttend(order)

    def recorded(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        out = inner(q, k, v)
        calls.append(CallAndOutput(*(rows.detach().clone() for rows in (q, k, v, out))))
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
    for attend_call in attend._calls:
        v, weights = attend_call.v, attend_call.weights
        if v.shape[1] == 1 and torch.equal(v[:, 0].double(), start.double()):
            share = 1 / torch.arange(1, len(weights) + 1)[:, None]
            even.append(bool(((weights - share).abs() * (weights > 0)).max() < 1e-3))
    return bool(even) and not any(even)


def last_call(attend: CausalAttend) -> AttendCall | None:
    """The last call, or None if there was none."""
    return attend._calls[-1] if attend._calls else None


def scale_of_places(attend: CausalAttend) -> Tensor | None:
    """The numbers that keys have for their places in the last call, (n,), up to a line.

    Where a score is −(f(j) − t(i))² or f(j)·t(i), two queries' scores differ by a multiple of f.
    None if there are fewer than three words, or no call.
    """
    attend_call = last_call(attend)
    if attend_call is None or len(attend_call.scores) < 3:
        return None
    return attend_call.scores[2] - attend_call.scores[1]


def columns_of(v: Tensor, x: Tensor) -> int | None:
    """The first column of x in v, which may hold other columns too; None if x is not in it."""
    width = x.shape[1]
    for column in range(v.shape[1] - width + 1):
        if torch.equal(v[:, column : column + width].double(), x.double()):
            return column
    return None


class ComesFromAttend(Rule):
    """The function returns what one call of attend gave for the rows themselves."""

    def broken(self, answer: Callable[..., Tensor], cases: Sequence[Case], seconds: float) -> str:
        """Say so where it does not."""
        for attend, x, start in cases:
            calls: list[CallAndOutput] = []
            result = call(answer, (twin(attend._order, calls), x, start), seconds).answer
            if isinstance(result, BaseException):
                return (
                    "it needs more of attend than what a call of it returns: "
                    f"{type(result).__name__} {result}."
                )
            first_columns = [(columns_of(recorded.v, x), recorded.out) for recorded in calls]
            width = x.shape[1]
            from_x = [out[:, c : c + width] for c, out in first_columns if c is not None]
            if not any(torch.allclose(out.double(), result.double()) for out in from_x):
                return (
                    "no call of attend gave these rows for x. Rows may meet in attend only: which "
                    "q and k make it look at the word before?"
                )
        return ""


class AsksByItsOwnRow(Rule):
    """What a word asks and is asked by must not depend on where other words are stored.

    The function is called again with two words exchanged in storage. The queries and keys of all
    others stay. Texts of fewer than five words are left out.
    """

    def broken(self, answer: Callable[..., Tensor], cases: Sequence[Case], seconds: float) -> str:
        """Say so where they change."""
        for attend, x, start in cases:
            if len(x) < 5:
                continue
            in_text = attend._order.argsort()
            swap = exchanged(len(x), int(in_text[1]), int(in_text[3]))
            stays = swap == torch.arange(len(x))
            before: list[CallAndOutput] = []
            after: list[CallAndOutput] = []
            call(answer, (twin(attend._order, before), x, start), seconds)
            call(answer, (twin(attend._order[swap], after), x[swap], start[swap]), seconds)
            for first, second in zip(before, after, strict=False):
                same_queries = _alike(first.q[stays], second.q[stays])
                if not (same_queries and _alike(first.k[stays], second.k[stays])):
                    return (
                        "where two words change places in storage, others ask for something else. "
                        "Were rows sorted or compared outside attend? Make a word's q and k from "
                        "its own row alone."
                    )
        return ""


def _alike(rows: Tensor, others: Tensor) -> bool:
    """Whether they are the same up to the rounding of sums in another order."""
    same_shape = rows.shape == others.shape
    return same_shape and torch.allclose(
        rows.double(), others.double(), rtol=1e-3, atol=1e-3, equal_nan=True
    )
