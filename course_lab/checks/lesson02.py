"""Checks for lesson 02: a score that knows before from after, and the time told from a vector."""

from __future__ import annotations

import math
import sys
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.calls import Function, call
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case, Rule, Seen
from course_utils.encodings.functional import shift_matrix, sinusoidal_frequencies, sinusoidal_table

# ★★ Before or after?

SEEN = 100  # positions at which the signs of the scores are looked at


def _quarter_turns(d_model: int) -> Tensor:
    return torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * (d_model // 2))


def _signs(got: Any, d_model: int) -> str:
    """What is wrong with a matrix of scores: the first query and key whose sign is wrong."""
    if not isinstance(got, Tensor):
        return f"expected a torch tensor, got {type(got).__name__}."
    if tuple(got.shape) != (d_model, d_model):
        return f"expected shape {(d_model, d_model)}, got {tuple(got.shape)}."
    if got.is_complex() or not bool(got.isfinite().all()):
        return "the matrix must hold finite real numbers."
    table = sinusoidal_table(torch.arange(SEEN, dtype=torch.float64), d_model)
    scores = table @ got.detach().cpu().double() @ table.T  # query, key
    earlier = torch.ones(SEEN, SEEN).tril(-1).bool()
    enough = 1e-4 * scores.abs().max()  # more than rounding
    wrong = (earlier & (scores <= enough)) | (earlier.T & (scores >= -enough))
    if not bool(wrong.any()):
        return ""
    p, r = (int(i) for i in wrong.nonzero()[0])
    side, sign = ("earlier", "above") if r < p else ("later", "below")
    return (
        f"query {p} and key {r} score {scores[p, r]:.3g}. The key is {side}, so it has to be "
        f"clearly {sign} 0. The sign is wrong for {int(wrong.sum())} of {SEEN * (SEEN - 1)} pairs."
    )


def _halves(d_model: int) -> Tensor:
    block = torch.eye(d_model // 2)
    none = torch.zeros_like(block)
    return torch.cat([torch.cat([none, block], 1), torch.cat([-block, none], 1)])


def _one_turned(d_model: int) -> Tensor:
    found = torch.zeros(d_model, d_model)
    found[0, 1], found[1, 0] = 1.0, -1.0
    return found


check_before_after = Check(
    "before_after",
    _quarter_turns,
    cases=[(64,), (128,), (256,), (66,)],
    judge=_signs,
    mistakes=[
        Mistake(
            "that is the plain dot product, which is even",
            "Which function of an angle changes its sign with the angle?",
            lambda d: torch.eye(d),
        ),
        Mistake(
            "a shift moves the peak, and the far keys on both sides still score above 0",
            "By how much must one hand turn for its cosine to become a sine?",
            lambda d: shift_matrix(1, d),
        ),
        Mistake(
            "this shift moves the peak to the later keys",
            "By how much must one hand turn for its cosine to become a sine?",
            lambda d: shift_matrix(-1, d),
        ),
        Mistake(
            "only the fastest hand makes the turn you want: a shift turns each by another angle",
            "What if all hands turned by the same angle? A shift by some k positions is that not.",
            lambda d: shift_matrix(math.pi / 2, d),
        ),
        Mistake(
            "it is the wrong way round: later keys score above 0",
            "Put in query 1 and key 0. Which of the two hands is ahead, and what is its sine?",
            lambda d: _quarter_turns(d).T,
        ),
        Mistake(
            "these scores depend on p + r, not on p − r",
            "Your blocks reflect. What sign has sin(a − b) for its second term?",
            lambda d: _quarter_turns(d).abs(),
        ),
        Mistake(
            "sines are taken for the first half of the columns, cosines for the second",
            "Which two columns make up hand 0 in this lesson's table?",
            _halves,
        ),
        Mistake(
            "the fastest hand alone changes its mind after half a turn, that is 3 positions",
            "Which hands are still in their first half turn after 99 positions?",
            _one_turned,
        ),
        Mistake(
            "rows and columns of this matrix are dimensions, and you treat them as positions",
            "Which numbers of the vector does entry (0, 1) of W multiply?",
            lambda d: torch.ones(d, d).tril(-1) - torch.ones(d, d).triu(1),
        ),
    ],
    hints=(
        "Look at one hand: which 2 × 2 block gives sin(a − b) from (sin a, cos a), (sin b, cos b)?",
        "sin(a − b) = sin a · cos b − cos a · sin b. And W has such a block for each hand.",
        "The block is [[0, 1], [−1, 0]], a quarter turn. torch.block_diag puts blocks together.",
    ),
)

# ★★★ Tell the time


def _angles(vector: Tensor, base: float) -> tuple[list[float], list[float]]:
    """The angle of each hand as it is seen, and its speed."""
    seen = torch.atan2(vector[0::2].double(), vector[1::2].double())
    return seen.tolist(), sinusoidal_frequencies(len(vector), base).tolist()


def _told(vector: Tensor, base: float) -> int:
    rough = 0.0
    for angle, speed in list(zip(*_angles(vector, base), strict=True))[::-1]:
        turns = round((rough * speed - angle) / (2 * math.pi))
        rough = (angle + 2 * math.pi * turns) / speed
    return round(rough)


def _by_one_hand(vector: Tensor, base: float, pair: int) -> int:
    angles, speeds = _angles(vector, base)
    angle = angles[pair] if pair == -1 else angles[pair] % (2 * math.pi)
    return round(angle / speeds[pair])


def _by_a_mean(vector: Tensor, base: float) -> int:
    angles, speeds = _angles(vector, base)
    read = [a % (2 * math.pi) / s for a, s in zip(angles, speeds, strict=True)]
    return round(sum(read) / len(read))


def _floored(vector: Tensor, base: float) -> int:
    rough = 0.0
    for angle, speed in list(zip(*_angles(vector, base), strict=True))[::-1]:
        rough = (angle % (2 * math.pi) + rough * speed // (2 * math.pi) * 2 * math.pi) / speed
    return round(rough)


def _cut(vector: Tensor, base: float) -> int:
    rough = 0.0
    for angle, speed in list(zip(*_angles(vector, base), strict=True))[::-1]:
        rough = (angle + 2 * math.pi * round((rough * speed - angle) / (2 * math.pi))) / speed
    return int(rough)


def _skipped(vector: Tensor, base: float) -> int:
    """From the slowest hand to the fastest in one step."""
    angles, speeds = _angles(vector, base)
    rough = angles[-1] / speeds[-1]
    return round(angles[0] + 2 * math.pi * round((rough - angles[0]) / (2 * math.pi)))


def _seen(p: int, d_model: int, base: float) -> Case:
    """The vector of a position, each number off by at most 0.1, and the base."""
    generator = torch.Generator().manual_seed(p)
    noise = 0.2 * torch.rand(d_model, generator=generator) - 0.1
    return sinusoidal_table(torch.tensor([p]), d_model, base)[0] + noise, base


@dataclass(frozen=True)
class NoSearch(Rule):
    """No look at all positions: neither in a tensor or an array nor one after the other."""

    case: Case
    numbers: int  # that a tensor may hold
    calls: int  # of Python's and C's functions

    def broken(self, yours: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say by which of the three signs a search was noticed."""
        tensors = Seen(yours, self.case, seconds).tensors
        largest = max((count for _, _, count in tensors), default=0)
        count, memory = 0, 0

        def enter(frame: FrameType, event: str, _: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        def watched(*given: Any) -> Any:
            nonlocal memory
            before, tracing = sys.getprofile(), tracemalloc.is_tracing()
            tracemalloc.start()
            sys.setprofile(enter)
            try:
                return yours(*given)
            finally:
                sys.setprofile(before)
                memory = tracemalloc.get_traced_memory()[1]
                if not tracing:
                    tracemalloc.stop()

        call(watched, self.case, seconds)
        found = ""
        if largest > self.numbers:
            found = f"its largest tensor holds {largest:,} numbers"
        elif count > self.calls:
            found = f"it takes {count:,} calls"
        elif memory > 8 * self.calls:
            found = f"it fills {memory / 1e6:.1f} MB of memory"
        return found and (
            f"the answer is right, but {found}, so it searches among the positions. Which few "
            "numbers does a look at all hands give you?"
        )


check_tell_time = Check(
    "tell_time",
    _told,
    cases=[
        _seen(123_456, 16, 1e6),
        _seen(317, 8, 1e3),
        _seen(2, 2, 6.0),
        _seen(0, 16, 1e6),
        _seen(499_999, 16, 1e6),
        _seen(77, 128, 1e4),
        _seen(4_999, 64, 1e4),
        _seen(86_028, 22, 5e5),
    ],
    rules=[NoSearch(_seen(499_000, 16, 1e6), numbers=4096, calls=20_000)],
    mistakes=[
        Mistake(
            "this is what the slowest hand alone says",
            "It cannot be read exactly. How many positions is 0.1 radians of its turn? Which hand "
            "could mend that?",
            lambda vector, base: _by_one_hand(vector, base, -1),
        ),
        Mistake(
            "this is what the fastest hand alone says",
            "After six or seven positions it comes round again. Who counts its turns?",
            lambda vector, base: _by_one_hand(vector, base, 0),
        ),
        Mistake(
            "this is the mean of what all hands say, each in its first turn",
            "Which of them are still in their first turn?",
            _by_a_mean,
        ),
        Mistake(
            "the turns are rounded down",
            "A rough value just below a full turn, a hand just past it: how many turns is nearest?",
            _floored,
        ),
        Mistake(
            "the last step cuts the fraction off",
            "Your value lies near a whole number, on either side of it. Which one is meant?",
            _cut,
        ),
        Mistake(
            "sine and cosine are exchanged",
            "Position 0 is the row 0, 1, 0, 1, … Which of the two numbers comes first in a pair?",
            lambda vector, base: _told(vector.view(-1, 2).flip(1).flatten(), base),
        ),
        Mistake(
            "the base is always 10000",
            "Where does your function use its argument base?",
            lambda vector, base: _told(vector, 10000.0),
        ),
        Mistake(
            "you go from the slowest hand to the fastest in one step",
            "By how many turns of the fastest hand is the slowest unsure? Who is unsure by less?",
            _skipped,
        ),
    ],
    hints=(
        "torch.atan2(sine, cosine) is a hand's angle. The slowest says roughly where p is. What "
        "can the next faster one add, if you know p roughly?",
        "A hand at angle a has made some number of whole turns before. Your rough p says which.",
        "From the slowest to the fastest: turns = round((rough · θ − a) / 2π), then "
        "rough = (a + 2π · turns) / θ.",
    ),
)
