"""Checks for lesson 02: a score that tells before from after, the position of a noisy vector."""

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
from course_lab.checks.rules import Case, Observation, Rule
from course_utils.encodings.functional import shift_matrix, sinusoidal_frequencies, sinusoidal_table

# ★★ Before or after?

POSITIONS = 100  # at which the signs of the scores are judged


def _quarter_turns(d_model: int) -> Tensor:
    return torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * (d_model // 2))


def _judge_signs(W: Any, d_model: int) -> str:
    """Name the first query and key whose score has the wrong sign under a matrix W."""
    if not isinstance(W, Tensor):
        return f"expected a torch tensor, got {type(W).__name__}."
    if tuple(W.shape) != (d_model, d_model):
        return f"expected shape {(d_model, d_model)}, got {tuple(W.shape)}."
    if W.is_complex() or not bool(W.isfinite().all()):
        return "the matrix must hold finite real numbers."
    table = sinusoidal_table(torch.arange(POSITIONS, dtype=torch.float64), d_model)
    scores = table @ W.detach().cpu().double() @ table.T  # (query, key)
    is_earlier = torch.ones(POSITIONS, POSITIONS).tril(-1).bool()
    clear = 1e-4 * scores.abs().max()  # more than rounding
    wrong = (is_earlier & (scores <= clear)) | (is_earlier.T & (scores >= -clear))
    if not bool(wrong.any()):
        return ""
    query, key = wrong.nonzero()[0].tolist()
    side, sign = ("earlier", "above") if key < query else ("later", "below")
    return (
        f"query {query} and key {key} score {scores[query, key]:.3g}. The key is {side}, so it has "
        f"to be clearly {sign} 0. The sign is wrong for {int(wrong.sum())} of "
        f"{POSITIONS * (POSITIONS - 1)} pairs."
    )


def _pairs_by_halves(d_model: int) -> Tensor:
    block = torch.eye(d_model // 2)
    zeros = torch.zeros_like(block)
    return torch.cat([torch.cat([zeros, block], 1), torch.cat([-block, zeros], 1)])


def _fastest_hand_only(d_model: int) -> Tensor:
    W = torch.zeros(d_model, d_model)
    W[0, 1] = 1.0
    W[1, 0] = -1.0
    return W


check_before_after = Check(
    "before_after",
    _quarter_turns,
    cases=[(64,), (128,), (256,), (66,)],
    judge=_judge_signs,
    mistakes=[
        Mistake(
            "this is the plain dot product, which is even",
            "Which function of an angle changes its sign with the angle?",
            lambda d: torch.eye(d),
        ),
        Mistake(
            "a shift moves the peak, and distant keys on both sides still score above 0",
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
            "What if all hands turned by the same angle? No shift by k positions does that.",
            lambda d: shift_matrix(math.pi / 2, d),
        ),
        Mistake(
            "it is the wrong way round: later keys score above 0",
            "Put in query 1 and key 0. Which of the two hands is ahead, and what is its sine?",
            lambda d: _quarter_turns(d).T,
        ),
        Mistake(
            "these scores depend on p + r, not on p − r",
            "Your blocks reflect. What is the sign of the second term of sin(a − b)?",
            lambda d: _quarter_turns(d).abs(),
        ),
        Mistake(
            "sines are taken for the first half of the columns, cosines for the second",
            "Which two columns make up hand 0 in this lesson's table?",
            _pairs_by_halves,
        ),
        Mistake(
            "the fastest hand alone changes sides after half a turn, that is 3 positions",
            "Which hands are still in their first half turn after 99 positions?",
            _fastest_hand_only,
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


def _hands(vector: Tensor, base: float) -> list[tuple[float, float]]:
    """Return the measured angle and the speed of each hand, fastest first."""
    angles = torch.atan2(vector[0::2].double(), vector[1::2].double())
    speeds = sinusoidal_frequencies(len(vector), base)
    return list(zip(angles.tolist(), speeds.tolist(), strict=True))


def _tell_time(vector: Tensor, base: float) -> int:
    return round(_refined(vector, base))


def _refined(vector: Tensor, base: float) -> float:
    """Return the position, refined from the slowest hand to the fastest, as a fraction."""
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return position


def _slowest_hand_only(vector: Tensor, base: float) -> int:
    angle, speed = _hands(vector, base)[-1]
    return round(angle / speed)


def _first_turn(angle: float, speed: float) -> float:
    """Return what a hand says in its first turn."""
    return angle % (2 * math.pi) / speed


def _fastest_hand(vector: Tensor, base: float) -> int:
    return round(_first_turn(*_hands(vector, base)[0]))


def _mean_of_hands(vector: Tensor, base: float) -> int:
    hands = _hands(vector, base)
    return round(sum(_first_turn(angle, speed) for angle, speed in hands) / len(hands))


def _turns_rounded_down(vector: Tensor, base: float) -> int:
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)):
        turns = position * speed // (2 * math.pi)
        position = (angle % (2 * math.pi) + 2 * math.pi * turns) / speed
    return round(position)


def _from_slowest_to_fastest(vector: Tensor, base: float) -> int:
    hands = _hands(vector, base)
    slowest_angle, slowest_speed = hands[-1]
    fastest_angle, _ = hands[0]
    turns = round((slowest_angle / slowest_speed - fastest_angle) / (2 * math.pi))
    return round(fastest_angle + 2 * math.pi * turns)


def _with_noise(position: int, d_model: int, base: float) -> Case:
    """Return the vector of a position, each number off by at most 0.1, and the base."""
    generator = torch.Generator().manual_seed(position)
    noise = 0.2 * torch.rand(d_model, generator=generator) - 0.1
    return sinusoidal_table(torch.tensor([position]), d_model, base)[0] + noise, base


@dataclass(frozen=True)
class NoSearch(Rule):
    """No look at all positions: neither in a tensor or an array nor one after the other.

    Attributes:
        case: the arguments of the call that is observed.
        numbers: how many a tensor may hold.
        calls: how many of Python's and C's functions may be called.
    """

    case: Case
    numbers: int
    calls: int

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say by which of three signs a search was noticed."""
        tensors = Observation(answer, self.case, seconds).tensors
        largest = max((tensor.memory for tensor in tensors), default=0)
        calls, memory = self._cost(answer, seconds)
        if largest > self.numbers:
            sign = f"its largest tensor holds {largest:,} numbers"
        elif calls > self.calls:
            sign = f"it takes {calls:,} calls"
        elif memory > 8 * self.calls:
            sign = f"it fills {memory / 1e6:.1f} MB of memory"
        else:
            return ""
        return (
            f"{sign}, so it searches among the positions. Which few numbers does a look at all "
            "hands give you?"
        )

    def _cost(self, answer: Function, seconds: float) -> tuple[int, int]:
        """Return how many functions the answer calls, and how many bytes Python allocates."""
        calls, memory = 0, 0

        def on_call(frame: FrameType, event: str, _: Any) -> None:
            nonlocal calls
            calls += event in ("call", "c_call")

        def observed(*arguments: Any) -> Any:
            nonlocal memory
            profiler, was_tracing = sys.getprofile(), tracemalloc.is_tracing()
            tracemalloc.start()
            sys.setprofile(on_call)
            try:
                return answer(*arguments)
            finally:
                sys.setprofile(profiler)
                memory = tracemalloc.get_traced_memory()[1]
                if not was_tracing:
                    tracemalloc.stop()

        call(observed, self.case, seconds)
        return calls, memory


check_tell_time = Check(
    "tell_time",
    _tell_time,
    cases=[
        _with_noise(123_456, 16, 1e6),
        _with_noise(317, 8, 1e3),
        _with_noise(2, 2, 6.0),
        _with_noise(0, 16, 1e6),
        _with_noise(499_999, 16, 1e6),
        _with_noise(77, 128, 1e4),
        _with_noise(4_999, 64, 1e4),
        _with_noise(86_028, 22, 5e5),
    ],
    rules=[NoSearch(_with_noise(499_000, 16, 1e6), numbers=4096, calls=20_000)],
    mistakes=[
        Mistake(
            "this is what the slowest hand alone says",
            "It cannot be read exactly. How many positions is 0.1 radians of its turn? Which hand "
            "could correct that?",
            _slowest_hand_only,
        ),
        Mistake(
            "this is what the fastest hand alone says",
            "After six or seven positions it comes round again. Which hand counts its turns?",
            _fastest_hand,
        ),
        Mistake(
            "this is the mean of what all hands say, each in its first turn",
            "Which of them are still in their first turn?",
            _mean_of_hands,
        ),
        Mistake(
            "the turns are rounded down",
            "A rough value just below a full turn, a hand just past it: how many turns is nearest?",
            _turns_rounded_down,
        ),
        Mistake(
            "the last step cuts the fraction off",
            "Your value lies near a whole number, on either side of it. Which one is meant?",
            lambda vector, base: int(_refined(vector, base)),
        ),
        Mistake(
            "sine and cosine are exchanged",
            "Position 0 is the row 0, 1, 0, 1, … Which of the two numbers comes first in a pair?",
            lambda vector, base: _tell_time(vector.view(-1, 2).flip(1).flatten(), base),
        ),
        Mistake(
            "the base is always 10000",
            "Where does your function use its argument base?",
            lambda vector, base: _tell_time(vector, 10000.0),
        ),
        Mistake(
            "you go from the slowest hand to the fastest in one step",
            "How many turns of the fastest hand lie within the error of the slowest? Which hand "
            "has a smaller error?",
            _from_slowest_to_fastest,
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
