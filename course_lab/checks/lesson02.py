"""Checks for lesson 02: a head that looks back, the position of a noisy vector.

And for its closer look: a score that tells before from after.
"""

from __future__ import annotations

import math
import sys
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.calls import Function, call
from course_lab.checks.compare import distinct_texts, no_tensor
from course_lab.checks.core import Check, Mistake
from course_lab.checks.rules import Case, Observation, Rule, Without
from course_utils.encodings.functional import shift_matrix, sinusoidal_frequencies, sinusoidal_table

# ★★ A head that looks back

BASE = 10000.0
TOKENS = 64  # positions in a row at which a head's scores are judged
FAR = 5000  # the first position of a second such row
DISTANT = 10_000  # the first of queries that are judged with keys at 0, 1, …
Matrices = tuple[Tensor, Tensor]  # W_q and W_k


def _blocks(angles: Tensor) -> Tensor:
    """Return a block for each hand, which turns it on by its angle; (d_model / 2, 2, 2)."""
    cos, sin = angles.cos(), angles.sin()
    return torch.stack([cos, sin, -sin, cos], dim=1).view(-1, 2, 2)


def _turns(k: float, d_model: int, exponent: float = 2.0, first: int = 0) -> Tensor:
    """Return a block for each hand, which turns it on by k positions; (d_model / 2, 2, 2)."""
    m = torch.arange(d_model // 2) + first
    return _blocks(k * BASE ** (-exponent * m / d_model))


def _looking_back(k: int, gain: float, d_model: int) -> Matrices:
    return gain * torch.eye(d_model), torch.block_diag(*_turns(k, d_model))


def _no_matrices(matrices: Any, d_model: int) -> str:
    """Say why an answer is not two matrices of a head; "" if it is."""
    if not isinstance(matrices, (tuple, list)) or len(matrices) != 2:
        return f"expected two tensors, W_q and W_k, got {type(matrices).__name__}."
    for name, W in zip(("W_q", "W_k"), matrices, strict=True):
        if isinstance(W, (int, float)):
            return f"{name} is the number {W:g}. Which matrix multiplies each vector by it?"
        if text := no_tensor(W):
            return f"{name}: {text}"
        if tuple(W.shape) != (d_model, d_model):
            return f"{name}: expected shape {(d_model, d_model)}, got {tuple(W.shape)}."
        if W.is_complex() or not bool(W.isfinite().all()):
            return f"{name} must hold finite real numbers. How large is the angle of each hand?"
    return ""


def _scores(matrices: Any, k: int, gain: float, d_model: int, first: int = 0) -> Any:
    """Return the scores of a head of these matrices; the answer itself if it is not matrices."""
    if _no_matrices(matrices, d_model):
        return matrices
    table = sinusoidal_table(torch.arange(TOKENS, dtype=torch.float64) + first, d_model)
    queries, keys = (table @ W.detach().cpu().double().T for W in matrices)
    return queries @ keys.T / d_model**0.5


def _near_and_late_scores(matrices: Any, k: int, gain: float, d_model: int) -> Any:
    """Return scores in both rows of positions; the answer itself if it is not matrices."""
    if _no_matrices(matrices, d_model):
        return matrices
    return torch.stack([_scores(matrices, k, gain, d_model, first) for first in (0, FAR)])


def _judge_head(matrices: Any, k: int, gain: float, d_model: int) -> str:
    """Say at which key a head of these matrices looks, where its scores are wrong."""
    if problem := _no_matrices(matrices, d_model):
        return problem
    scores = _scores(matrices, k, gain, d_model)
    offsets = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS) - k  # i − j − k
    expected = gain * (offsets[..., None] * sinusoidal_frequencies(d_model)).cos().sum(-1)
    expected /= d_model**0.5
    allowed = 1e-3 * expected.max()
    if bool(((scores - expected).abs() <= allowed).all()):
        far = _scores(matrices, k, gain, d_model, first=FAR)
        if bool(((far - expected).abs() <= allowed).all()):
            return _judge_far_apart(matrices, k, gain, d_model)
        return (
            f"all scores are right at positions 0 to {TOKENS - 1}, but not from {FAR:,} on. Is "
            "your block the same whatever p?"
        )
    query = TOKENS // 2
    key = int(scores[query].argmax())
    if key != query - k:
        return (
            f"query {query} has its largest score at key {key}. It has to look {k} back, at key "
            f"{query - k}."
        )
    i, j = divmod(int((scores - expected).abs().argmax()), TOKENS)
    actual_text, expected_text = distinct_texts(
        scores[i, j].item(), expected[i, j].item(), (3, 6, 17)
    )
    return (
        f"query {query} has its largest score at the right key, {key}. But the score of query {i} "
        f"with key {j} is {actual_text}, and has to be {expected_text}."
    )


def _judge_far_apart(matrices: Matrices, k: int, gain: float, d_model: int) -> str:
    """Say where scores of distant keys are wrong, by which even the slowest hand is judged."""
    positions = torch.arange(TOKENS, dtype=torch.float64)
    keys, queries = (sinusoidal_table(positions + first, d_model) for first in (0, DISTANT))
    W_q, W_k = (W.detach().cpu().double() for W in matrices)
    exact = torch.block_diag(*_blocks(k * sinusoidal_frequencies(d_model)))
    scores = (queries @ W_q.T) @ (keys @ W_k.T).T / d_model**0.5
    expected = gain * queries @ (keys @ exact.T).T / d_model**0.5
    errors = (scores - expected).abs()
    if bool((errors <= 1e-5 * gain * d_model**0.5 / 2).all()):  # of the largest possible score
        return ""
    i, j = divmod(int(errors.argmax()), TOKENS)
    texts = distinct_texts(scores[i, j].item(), expected[i, j].item(), (3, 6, 17))
    return (
        f"scores at positions 0 to {TOKENS - 1} are right, to a thousandth. But query "
        f"{i + DISTANT:,} scores {texts[0]} with key {j}, and has to score {texts[1]}. Which hands "
        "count at such a distance, and by how much does your matrix move them on?"
    )


def _with_blocks(blocks: Tensor, gain: float) -> Matrices:
    """Return matrices of a head whose keys go through these blocks."""
    W_k = torch.block_diag(*blocks)
    return gain * torch.eye(len(W_k)), W_k


def _only_hand_0(k: int, gain: float, d_model: int) -> Matrices:
    blocks = torch.eye(2).repeat(d_model // 2, 1, 1)
    blocks[0] = _turns(k, d_model)[0]
    return _with_blocks(blocks, gain)


def _hands_standing_still(k: int, gain: float, d_model: int, hands: slice) -> Matrices:
    blocks = _turns(k, d_model)
    blocks[hands] = torch.eye(2)
    return _with_blocks(blocks, gain)


def _reflected(k: int, gain: float, d_model: int, upper: float = 1.0) -> Matrices:
    """Return blocks with cosines of two signs on the diagonal, the first that of ``upper``."""
    cos, sin = _turns(k, d_model)[:, 0].unbind(1)
    blocks = torch.stack([upper * cos, sin, sin, -upper * cos], dim=1)
    return _with_blocks(blocks.view(-1, 2, 2), gain)


def _later_hands_faster(k: int, gain: float, d_model: int, dtype: torch.dtype) -> Matrices:
    """Return blocks of k/θ. The angles are large: in another dtype they are other angles."""
    angles = k / sinusoidal_frequencies(d_model)
    return _with_blocks(_blocks(angles.to(dtype)).float(), gain)


def _one_sign_lost(k: int, gain: float, d_model: int, lost: float = 1.0) -> Matrices:
    """Return blocks whose sines have the same sign, that of ``lost``."""
    blocks = _turns(k, d_model)
    blocks[:, 0, 1] *= lost
    blocks[:, 1, 0] *= -lost
    return _with_blocks(blocks, gain)


def _cosines_and_sines_exchanged(
    k: int, gain: float, d_model: int, upper: float = 1.0, lower: float = 1.0
) -> Matrices:
    """Return blocks with sines on the diagonal, and cosines beside it with these signs."""
    cos, sin = _turns(k, d_model)[:, 0].unbind(1)
    blocks = torch.stack([sin, upper * cos, lower * cos, -upper * lower * sin], dim=1)
    return _with_blocks(blocks.view(-1, 2, 2), gain)


def _exponent_rounded_down(k: int, gain: float, d_model: int) -> Matrices:
    angles = torch.tensor([k * BASE ** (-2 * m // d_model) for m in range(d_model // 2)])
    return _with_blocks(_blocks(angles), gain)


def _speeds_end_at_the_base(k: int, gain: float, d_model: int) -> Matrices:
    m = torch.arange(d_model // 2)
    return _with_blocks(_blocks(k * BASE ** (-m / (d_model // 2 - 1))), gain)


def _in_degrees(k: int, gain: float, d_model: int) -> Matrices:
    m = torch.arange(d_model // 2)
    return _with_blocks(_blocks((k * BASE ** (-2 * m / d_model)).deg2rad()), gain)


def _k_times_one_step(k: int, gain: float, d_model: int) -> Matrices:
    return _with_blocks(k * _turns(1, d_model), gain)


def _both_sides_move(k: int, gain: float, d_model: int) -> Matrices:
    """Queries move back by k, and keys on by k; the other way round if k is negative."""
    return gain * torch.block_diag(*_turns(-k, d_model)), torch.block_diag(*_turns(k, d_model))


def _gain_added(k: int, gain: float, d_model: int) -> Matrices:
    return gain + torch.eye(d_model), torch.block_diag(*_turns(k, d_model))


def _as_halves(k: int, gain: float, d_model: int) -> Matrices:
    cos, sin = (torch.diag(_turns(k, d_model)[:, 0, column]) for column in range(2))
    W_k = torch.cat([torch.cat([cos, sin], dim=1), torch.cat([-sin, cos], dim=1)])
    return gain * torch.eye(d_model), W_k


check_looking_back = Check(
    "looking_back",
    _looking_back,
    cases=[(3, 10.0, 128), (1, 1.0, 64), (16, 4.0, 128), (0, 2.0, 66), (7, 0.5, 256)],
    judge=_judge_head,
    effect=_near_and_late_scores,
    mistakes=[
        Mistake(
            "the best key is k ahead of the query: one side moves the wrong way",
            "Which matrix comes first in your answer? Which way must queries go, which way keys? "
            "Apply your block to position 0, (0, 1): is the hand at position k or at −k now?",
            lambda k, gain, d: _with_blocks(_turns(-k, d), gain),
        ),
        Mistake(
            "each query looks at its own position: both sides move alike, or neither does",
            "Which differences of positions does a dot product see, when both have moved by k?",
            lambda k, gain, d: _looking_back(0, gain, d),
        ),
        Mistake(
            "the gain is missing",
            "Which of the two matrices multiplies all scores?",
            lambda k, gain, d: _looking_back(k, 1.0, d),
        ),
        Mistake(
            "the gain is in both matrices",
            "A score is a product of both. By what are the scores multiplied now?",
            lambda k, gain, d: (gain * torch.eye(d), gain * _looking_back(k, 1.0, d)[1]),
        ),
        Mistake(
            "√gain stands in one of the matrices alone",
            "A score is a product of both. By what are the scores multiplied now?",
            lambda k, gain, d: _looking_back(k, gain**0.5, d),
        ),
        Mistake(
            "your matrices divide the scores by √D too",
            "Who divides by √D: your matrices or the head?",
            lambda k, gain, d: _looking_back(k, gain / d**0.5, d),
            lambda k, gain, d: _looking_back(k, gain / d, d),
        ),
        Mistake(
            "the scores are not divided by √D: your matrices undo what the head does",
            "Which √D does the formula above have, and who divides by it?",
            lambda k, gain, d: _looking_back(k, gain * d**0.5, d),
        ),
        Mistake(
            "the exponent is +2m/D, so that later hands are faster",
            "How far does the last hand turn in one step, by the formula and by your code?",
            lambda k, gain, d: _with_blocks(_turns(k, d, exponent=-2.0), gain),
            *(
                partial(_later_hands_faster, dtype=dtype)
                for dtype in (torch.float32, torch.float64)
            ),
        ),
        Mistake(
            "all hands turn by the same angle",
            "How far does hand m turn in k positions?",
            lambda k, gain, d: _with_blocks(_turns(k, d)[:1].expand(d // 2, 2, 2), gain),
        ),
        Mistake(
            "hand 0 alone moves on",
            "What becomes of the other hands in k positions?",
            _only_hand_0,
        ),
        Mistake(
            "some hands stand still",
            "How many hands has a row of width D, and which of them does your loop reach?",
            *(
                partial(_hands_standing_still, hands=hands)
                for hands in (slice(-1, None), slice(-2, None), slice(0, 1))
            ),
            lambda k, gain, d: _hands_standing_still(k, gain, d, slice(d // 4, None)),
        ),
        Mistake(
            "the blocks stand in the wrong order",
            "Which two columns of the table belong to the fastest hand? Where is its block?",
            lambda k, gain, d: _with_blocks(_turns(k, d).flip(0), gain),
        ),
        Mistake(
            "the exponent is −m/D",
            "Which hand has speed 1/100 at base 10000, by the formula and by your code?",
            lambda k, gain, d: _with_blocks(_turns(k, d, exponent=1.0), gain),
        ),
        Mistake(
            "these blocks stretch the hands: one of the two sines has the wrong sign",
            "How long is (1, 1) after your block, and (1, −1)?",
            *(partial(_one_sign_lost, lost=sign) for sign in (1.0, -1.0)),
        ),
        Mistake(
            "these blocks reflect the hands: one of the two cosines has the wrong sign",
            "At k = 0 nothing may move. What is your block then?",
            *(partial(_reflected, upper=sign) for sign in (1.0, -1.0)),
        ),
        Mistake(
            "cosines and sines have changed places in the blocks",
            "At k = 0 nothing may move. What is your block then?",
            *(
                partial(_cosines_and_sines_exchanged, upper=upper, lower=lower)
                for upper in (1.0, -1.0)
                for lower in (1.0, -1.0)
            ),
        ),
        Mistake(
            "the shift is by 1, whatever k",
            "Where does your block use k?",
            lambda k, gain, d: _looking_back(1, gain, d),
        ),
        Mistake(
            "the best key is 2k away: queries and keys both move by k, and in opposite ways",
            "How far apart do the two moves bring a query and a key, together?",
            _both_sides_move,
            lambda k, gain, d: _both_sides_move(-k, gain, d),
        ),
        Mistake(
            "the block of one step is multiplied by k",
            "How long is a hand after that? Which part of the block has to grow with k?",
            _k_times_one_step,
        ),
        Mistake(
            "m runs from 1 to D/2",
            "What is the speed of hand 0, by the formula and by your code?",
            lambda k, gain, d: _with_blocks(_turns(k, d, first=1), gain),
        ),
        Mistake(
            "the exponent is −m/(D/2 − 1), as in some code",
            "What is the speed of the last hand, by the formula and by your code?",
            _speeds_end_at_the_base,
        ),
        Mistake(
            "the angles are taken for degrees",
            "In which unit does the formula give an angle, and in which does your cosine take it?",
            _in_degrees,
        ),
        Mistake(
            "the exponent is −4m/D: your m goes up by 2 already",
            "Which m has the last hand, by the formula and by your code?",
            lambda k, gain, d: _with_blocks(_turns(k, d, exponent=4.0), gain),
        ),
        Mistake(
            "the exponent is rounded to a whole number: // is no /",
            "What are -2 * 1 / 128 and -2 * 1 // 128 in Python?",
            _exponent_rounded_down,
        ),
        Mistake(
            "the gain is added to a matrix",
            "What should W_q do with the row of a query, and what does it do at gain 1?",
            _gain_added,
        ),
        Mistake(
            "sines are taken for the first half of the columns, cosines for the second",
            "Which two columns make up hand 0 in this lesson's table?",
            _as_halves,
        ),
        Mistake(
            "rows and columns of these matrices are columns of the table, and you moved them",
            "Which numbers of the vector does entry (0, 1) of W_k multiply?",
            lambda k, gain, d: (gain * torch.eye(d), torch.eye(d).roll(k, 0)),
            lambda k, gain, d: (gain * torch.eye(d), torch.eye(d).roll(-k, 0)),
        ),
    ],
    hints=(
        "Leave the queries as they are, times the gain, and move each key k positions on. By which "
        "angle does hand m go on, and what are its two numbers then?",
        "sin(a + b) = sin a · cos b + cos a · sin b. cos(a + b) = cos a · cos b − sin a · sin b. "
        "With a = pθ, what stands before sin pθ and before cos pθ in each?",
        "Those four numbers are a hand's block: the first formula gives its upper row, the second "
        "its lower one. Try it with k = 1 and one hand: (0, 1) has to become (sin θ, cos θ).",
    ),
    rules=[Without((shift_matrix, _looking_back))],
)

# ★★ Before or after?

POSITIONS = 100  # at which the signs of the scores are judged
ENTRIES = 2  # of the matrix, that may differ from 0


def _one_hand(m: int, d_model: int) -> Tensor:
    """Return the matrix whose score is the sine of the angle between hand m of query and key."""
    W = torch.zeros(d_model, d_model)
    W[2 * m, 2 * m + 1] = 1.0
    W[2 * m + 1, 2 * m] = -1.0
    return W


def _slowest_hand(d_model: int) -> Tensor:
    return _one_hand(d_model // 2 - 1, d_model)


def _quarter_turns(d_model: int) -> Tensor:
    return torch.block_diag(*[torch.tensor([[0.0, 1.0], [-1.0, 0.0]])] * (d_model // 2))


def _judge_signs(W: Any, d_model: int) -> str:
    """Name the first query and key whose score has the wrong sign under a matrix W."""
    if text := no_tensor(W):
        return text
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
        count = int(W.count_nonzero())
        if count <= ENTRIES:
            return ""
        return f"all signs are right, but {count} entries are not 0. {ENTRIES} are enough."
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
    return _one_hand(0, d_model)


check_before_after = Check(
    "before_after",
    _slowest_hand,
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
            "the signs are right, with all hands at work",
            "Which hands would do alone? One of them is enough.",
            _quarter_turns,
        ),
        Mistake(
            "it is the wrong way round: later keys score above 0",
            "Put in query 1 and key 0. Which of the two hands is ahead, and what is its sine?",
            lambda d: _quarter_turns(d).T,
            lambda d: _slowest_hand(d).T,
        ),
        Mistake(
            "these scores depend on p + r, not on p − r",
            "Your blocks reflect. What does query 5 score with key 5, and what should it?",
            lambda d: _quarter_turns(d).abs(),
        ),
        Mistake(
            "this score depends on p + r, not on p − r",
            "Your block reflects. What does query 5 score with key 5, and what should it?",
            lambda d: _slowest_hand(d).abs(),
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
        "Look at one hand. Which function of its angle p·θ − r·θ changes its sign with the angle, "
        "and which 2 × 2 block gives it?",
        "sin(a − b) = sin a · cos b − cos a · sin b. Which hand makes less than half a turn in 99 "
        "positions, at every width?",
        "The block is [[0, 1], [−1, 0]], a quarter turn, at the last two rows and columns.",
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


def _by_angles(
    angles: Tensor, vector: Tensor, base: float, exponent: float = 2.0, slowest_turns: float = 0.0
) -> int:
    """Return the position by the right steps from angles, speeds or a start that may be wrong."""
    m = torch.arange(len(angles), dtype=torch.float64)
    speeds = (base ** (-exponent * m / len(vector))).tolist()
    position = (angles[-1].item() + 2 * math.pi * slowest_turns) / speeds[-1]
    for angle, speed in reversed(list(zip(angles.tolist(), speeds, strict=True))[:-1]):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


def _by_arcsine(vector: Tensor, base: float) -> int:
    return _by_angles(vector[0::2].double().asin(), vector, base)


def _by_bounded_arcsine(vector: Tensor, base: float) -> int:
    return _by_angles(vector[0::2].double().clamp(-1, 1).asin(), vector, base)


def _by_arccosine(vector: Tensor, base: float) -> int:
    return _by_angles(vector[1::2].double().acos(), vector, base)


def _by_bounded_arccosine(vector: Tensor, base: float) -> int:
    return _by_angles(vector[1::2].double().clamp(-1, 1).acos(), vector, base)


def _by_arctangent(vector: Tensor, base: float) -> int:
    return _by_angles((vector[0::2].double() / vector[1::2].double()).atan(), vector, base)


def _half_the_exponent(vector: Tensor, base: float) -> int:
    angles = torch.atan2(vector[0::2].double(), vector[1::2].double())
    return _by_angles(angles, vector, base, exponent=1.0)


def _slowest_angle_in_a_whole_turn(vector: Tensor, base: float) -> int:
    angles = torch.atan2(vector[0::2].double(), vector[1::2].double())
    return _by_angles(angles, vector, base, slowest_turns=float(angles[-1] < 0))


Whole = Callable[[float], int]  # makes a number whole


def _slowest_hand_only(vector: Tensor, base: float, whole: Whole = round) -> int:
    angle, speed = _hands(vector, base)[-1]
    return whole(angle / speed)


def _first_turn(angle: float, speed: float) -> float:
    """Return what a hand says in its first turn."""
    return angle % (2 * math.pi) / speed


def _fastest_hand(vector: Tensor, base: float) -> int:
    return round(_first_turn(*_hands(vector, base)[0]))


def _fastest_angle(vector: Tensor, base: float, whole: Whole = round) -> int:
    return whole(_hands(vector, base)[0][0])


def _mean_of_hands(vector: Tensor, base: float) -> int:
    hands = _hands(vector, base)
    return round(sum(_first_turn(angle, speed) for angle, speed in hands) / len(hands))


def _mean_of_angles(vector: Tensor, base: float) -> int:
    hands = _hands(vector, base)
    return round(sum(angle / speed for angle, speed in hands) / len(hands))


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


def _with_worst_noise(position: int, d_model: int, base: float) -> Case:
    """Return the vector of a position, with noise that turns hands 0, 1, 4, 5, … on, others back.

    Each hand is off by at least 0.1 radians, so that none can be left out.
    """
    sin, cos = sinusoidal_table(torch.tensor([position]), d_model, base)[0].view(-1, 2).unbind(1)
    way = torch.tensor([0.1, 0.1, -0.1, -0.1]).repeat(d_model)[: d_model // 2]
    noisy = torch.stack([sin + way * cos.sign(), cos - way * sin.sign()], dim=1)
    return noisy.flatten(), base


def _from_fastest_to_slowest(vector: Tensor, base: float) -> int:
    position = 0.0
    for angle, speed in _hands(vector, base):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


def _by_halves(vector: Tensor, base: float) -> int:
    half = len(vector) // 2
    angles = torch.atan2(vector[:half].double(), vector[half:].double())
    return _by_angles(angles, vector, base)


def _refined_by(
    vector: Tensor,
    base: float,
    turns_of: Callable[[float, float], float],
    position_of: Callable[[float, float], float] = lambda angle, turns: angle + 2 * math.pi * turns,
) -> int:
    """Return the position from slow to fast hands, with turns and steps that may be wrong.

    Args:
        vector: the noisy row.
        base: of its speeds.
        turns_of: whole turns of a hand, from its rough angle and the measured one.
        position_of: the refined angle, from the measured one and the turns.
    """
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)):
        position = position_of(angle, turns_of(position * speed, angle)) / speed
    return round(position)


def _from_the_slowest(
    vector: Tensor, base: float, turns_of: Callable[[float, float], float]
) -> int:
    """Return the position like ``_refined_by``, but with the slowest hand taken as it is."""
    hands = _hands(vector, base)
    position = hands[-1][0] / hands[-1][1]
    for angle, speed in reversed(hands[:-1]):
        turns = turns_of(position * speed, angle)
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


def _own_turns_rounded_down(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: rough // (2 * math.pi))


def _own_turns_rounded_down_later(vector: Tensor, base: float) -> int:
    return _from_the_slowest(vector, base, lambda rough, angle: rough // (2 * math.pi))


def _difference_rounded_down(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: (rough - angle) // (2 * math.pi))


def _difference_rounded_down_later(vector: Tensor, base: float) -> int:
    return _from_the_slowest(vector, base, lambda rough, angle: (rough - angle) // (2 * math.pi))


def _difference_rounded_up(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: -((angle - rough) // (2 * math.pi)))


def _difference_rounded_up_later(vector: Tensor, base: float) -> int:
    return _from_the_slowest(vector, base, lambda rough, angle: -((angle - rough) // (2 * math.pi)))


def _turns_the_wrong_way(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: round((angle - rough) / (2 * math.pi)))


def _two_angles(vector: Tensor, base: float) -> int:
    return _refined_by(
        vector,
        base,
        lambda rough, angle: round((rough - angle) / (2 * math.pi)),
        lambda angle, turns: angle % (2 * math.pi) + 2 * math.pi * turns,
    )


def _m_from_1(vector: Tensor, base: float) -> int:
    slower = base ** (2 / len(vector))
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)):
        turns = round((position * speed / slower - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) * slower / speed
    return round(position)


def _mean_of_refined(vector: Tensor, base: float) -> int:
    position, positions = 0.0, []
    for angle, speed in reversed(_hands(vector, base)):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
        positions.append(position)
    return round(sum(positions) / len(positions))


def _half_rough_half_new(vector: Tensor, base: float) -> int:
    hands = _hands(vector, base)
    position = hands[-1][0] / hands[-1][1]
    for angle, speed in reversed(hands[:-1]):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (position + (angle + 2 * math.pi * turns) / speed) / 2
    return round(position)


def _without_own_angle(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: round(rough / (2 * math.pi)))


def _angle_from_0_and_own_turns(vector: Tensor, base: float) -> int:
    return _refined_by(
        vector,
        base,
        lambda rough, angle: round(rough / (2 * math.pi)),
        lambda angle, turns: angle % (2 * math.pi) + 2 * math.pi * turns,
    )


def _own_turns_cut_off(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: int(rough / (2 * math.pi)))


def _difference_cut_off(vector: Tensor, base: float) -> int:
    return _refined_by(vector, base, lambda rough, angle: int((rough - angle) / (2 * math.pi)))


def _turns_not_in_radians(vector: Tensor, base: float) -> int:
    return _refined_by(
        vector,
        base,
        lambda rough, angle: round((rough - angle) / (2 * math.pi)),
        lambda angle, turns: angle + turns,
    )


def _mean_of_slow_hands(vector: Tensor, base: float, share: float = 0.5) -> int:
    hands = _hands(vector, base)
    slow = hands[-max(1, round(share * len(hands))) :]
    return round(sum(angle / speed for angle, speed in slow) / len(slow))


def _every_other_hand(vector: Tensor, base: float) -> int:
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)[::2]):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


def _without_the_slowest(vector: Tensor, base: float) -> int:
    position = 0.0
    for angle, speed in reversed(_hands(vector, base)[:-1]):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


def _without_the_fastest(vector: Tensor, base: float) -> int:
    position = 0.0
    hands = _hands(vector, base)
    for angle, speed in reversed(hands[1:] or hands):
        turns = round((position * speed - angle) / (2 * math.pi))
        position = (angle + 2 * math.pi * turns) / speed
    return round(position)


@dataclass(frozen=True)
class NoSearch(Rule):
    """No look at all positions: neither in a tensor or an array nor one after the other.

    Attributes:
        case: the arguments of the call that is observed.
        numbers: how many a tensor may hold.
        in_all: how many all tensors together may hold.
        calls: how many of Python's and C's functions may be called.
        lines: how many lines of the learner's notebook may run.
        memory: how many bytes Python and NumPy may fill.
    """

    case: Case
    numbers: int
    in_all: int
    calls: int
    lines: int
    memory: int

    def broken(self, answer: Function, cases: Sequence[Case], seconds: float) -> str:
        """Say by which of five signs a search was noticed."""
        observation = Observation(answer, self.case, seconds)
        sizes = [tensor.memory for tensor in observation.tensors]
        largest, in_all = max(sizes, default=0), sum(sizes)
        lines = observation.lines.total()
        calls, memory = self._cost(answer, seconds)
        if largest > self.numbers:
            sign = f"its largest tensor holds {largest:,} numbers"
        elif in_all > self.in_all:
            sign = f"its tensors hold {in_all:,} numbers in all"
        elif calls > self.calls:
            sign = f"it takes {calls:,} calls"
        elif lines > self.lines:
            sign = f"it runs {lines:,} lines"
        elif memory > self.memory:
            sign = f"it fills {memory / 1e6:.1f} MB of memory"
        else:
            return ""
        return (
            f"{sign}, so it counts or tries one by one. Which few numbers does a look at all "
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
        _with_noise(400_001, 16, 1e6),  # hand 0 makes the difference
        _with_noise(77, 128, 1e4),
        _with_noise(4_999, 64, 1e4),
        _with_noise(86_028, 22, 5e5),
        _with_worst_noise(234_567, 16, 1e6),
    ],
    rules=[
        NoSearch(
            _with_noise(499_000, 16, 1e6),
            numbers=4096,
            in_all=100_000,
            calls=2_000,
            lines=1_500,
            memory=64_000,
        ),
        Without((_tell_time,)),
    ],
    mistakes=[
        Mistake(
            "this is what the slowest hand alone says",
            "It cannot be read exactly. How many positions is 0.1 radians of its turn? Which hand "
            "could correct that?",
            _slowest_hand_only,
            partial(_slowest_hand_only, whole=int),
        ),
        Mistake(
            "this is what the fastest hand alone says",
            "After six or seven positions it comes round again. Which hand counts its turns?",
            _fastest_hand,
            *(partial(_fastest_angle, whole=whole) for whole in (round, int)),
        ),
        Mistake(
            "this is the mean of what all hands say, each in its first turn",
            "Which of them are still in their first turn?",
            _mean_of_hands,
            _mean_of_angles,
        ),
        Mistake(
            "you go from the fastest hand to the slowest",
            "Which hand says roughly where p is, and which one can only be trusted once you know?",
            _from_fastest_to_slowest,
        ),
        Mistake(
            "the slowest hand is left out",
            "Where does your rough position come from before the first hand of your loop?",
            _without_the_slowest,
        ),
        Mistake(
            "the position stays at 0",
            "A hand makes whole turns. If fractions of a turn are counted too, what is left for "
            "its angle to say?",
            lambda vector, base: 0,
        ),
        Mistake(
            "the fastest hand is left out",
            "Which hand has the smallest error in positions? Does your loop reach it?",
            _without_the_fastest,
        ),
        Mistake(
            "sines are taken from the first half of the vector, cosines from the second",
            "Which two numbers make up hand 0 in this lesson's table?",
            _by_halves,
        ),
        Mistake(
            "the speeds have the exponent +2m/D",
            "Which hand is the slowest, by the formula and by your code?",
            lambda vector, base: _by_angles(
                torch.atan2(vector[0::2].double(), vector[1::2].double()), vector, base, -2.0
            ),
        ),
        Mistake(
            "the turns are rounded down",
            "A rough value just below a full turn, a hand just past it: how many turns is nearest?",
            _turns_rounded_down,
        ),
        Mistake(
            "turns are counted from the rough value alone",
            "A hand has turned 2.6 times, by the rough value, and stands at −0.4 turns (or at 0.6, "
            "counted from 0). Which number of whole turns goes with that angle?",
            _without_own_angle,
            _angle_from_0_and_own_turns,
            _own_turns_cut_off,
            _own_turns_rounded_down,
            _own_turns_rounded_down_later,
        ),
        Mistake(
            "the fraction of a turn is cut off",
            "Rough value and angle differ by 2.9 turns. How many whole turns is that, with noise?",
            _difference_cut_off,
            _difference_rounded_down,
            _difference_rounded_down_later,
        ),
        Mistake(
            "the turns are rounded up",
            "Rough value and angle differ by 2.1 turns. How many whole turns is that, with noise?",
            _difference_rounded_up,
            _difference_rounded_up_later,
        ),
        Mistake(
            "turns are counted the wrong way round",
            "The rough value is 20 radians, the angle 1. How many turns lead from 1 to near 20?",
            _turns_the_wrong_way,
        ),
        Mistake(
            "an angle between −π and π gives the turns, and one between 0 and 2π is added to them",
            "An angle of −1: how large is the sum of angle and turns, and how large was it meant?",
            _two_angles,
        ),
        Mistake(
            "rough and refined values are averaged",
            "How far off is a rough value, and how far the one refined from it?",
            _mean_of_refined,
            _half_rough_half_new,
        ),
        Mistake(
            "the speeds start at m = 1",
            "What is the speed of hand 0, by the formula and by your code?",
            _m_from_1,
        ),
        Mistake(
            "turns are added to an angle as if they were radians",
            "By how many radians does a hand go on in one turn?",
            _turns_not_in_radians,
        ),
        Mistake(
            "this is the mean of what the slow hands say, each in its first turn",
            "By how many positions is each of them off, at 0.1 radians? Which hands are "
            "more exact, and what do they need to know?",
            *(partial(_mean_of_slow_hands, share=share) for share in (0.5, 0.25)),
        ),
        Mistake(
            "every other hand is left out",
            "By what factor do the speeds of your hands fall from one to the next? Is the error of "
            "the slower one then less than half a turn of the faster?",
            _every_other_hand,
        ),
        Mistake(
            "the speeds have the exponent −4m/D",
            "How long is the list of angles, and how long the vector?",
            lambda vector, base: _by_angles(
                torch.atan2(vector[0::2].double(), vector[1::2].double()), vector, base, 4.0
            ),
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
        Mistake(
            "an angle comes from the sine alone",
            "The hand passes each sine twice a turn. Which other number tells the two apart? "
            "(And with noise a sine may be above 1.)",
            _by_arcsine,
            _by_bounded_arcsine,
        ),
        Mistake(
            "an angle comes from the cosine alone",
            "The hand passes each cosine twice a turn. Which other number tells the two apart? "
            "(And with noise a cosine may be above 1.)",
            _by_arccosine,
            _by_bounded_arccosine,
        ),
        Mistake(
            "an angle comes from sine / cosine alone",
            "Half a turn on, both have changed their signs. What has their quotient done?",
            _by_arctangent,
        ),
        Mistake(
            "the speeds have the exponent −m/D",
            "Which speed has the slowest hand of a vector of 16 numbers, by the formula?",
            _half_the_exponent,
        ),
        Mistake(
            "the slowest hand's angle is taken between 0 and 2π",
            "Just after position 0, noise may push this hand a little below 0. Where is it then?",
            _slowest_angle_in_a_whole_turn,
        ),
    ],
    hints=(
        "The slowest hand says roughly where p is. What can the next faster one add, if you know p "
        "roughly?",
        "A hand at angle a has made some number of whole turns before. Your rough p says which.",
        "By your rough p, this hand has turned by rough · θ in all. By its own angle it is a, plus "
        "whole turns of 2π. Take the turns that bring the two nearest: that is a better rough · θ.",
    ),
)


# ★ Its axes: which axis of its input a module counts along

WORD_WIDTH = 8


def _row_of_tokens(x: Tensor) -> Tensor:
    return sinusoidal_table(torch.arange(x.shape[1]), WORD_WIDTH).to(x)  # (seq, 8)


def _row_of_texts(x: Tensor) -> Tensor:
    return sinusoidal_table(torch.arange(x.shape[0]), WORD_WIDTH).to(x)[:, None]  # (batch, 1, 8)


# Modules by number, since a name would tell. True where places in the text count, and they alone.
_MODULES: list[tuple[Function, bool]] = [
    (lambda x: x + _row_of_tokens(x), True),
    (lambda x: x + _row_of_texts(x), False),
    (lambda x: x * (2 + _row_of_tokens(x)), True),
    (lambda x: x * (2 + _row_of_texts(x)), False),
    (lambda x: x + _row_of_tokens(x) + _row_of_texts(x), False),
    (lambda x: x + 1, False),
    (lambda x: x, False),
    (lambda x: x + 0.1 * torch.arange(x.shape[1])[:, None] * torch.eye(WORD_WIDTH)[0], True),
    (lambda x: x * (2 + _row_of_tokens(x)) * (2 + _row_of_texts(x)), False),
    (lambda x: x + _row_of_tokens(x)[[0, 0, *range(1, x.shape[1] - 1)]], True),  # a mark in front
]


def _numbered_modules() -> list[Case]:
    cases = []
    for number, (module, _) in enumerate(_MODULES, start=1):
        module.__name__ = f"module {number}"
        cases.append((module,))
    return cases


def _knows_its_axes(module: Function) -> bool:
    return _agree(module(torch.ones(4, 5, WORD_WIDTH)))


def _agree(out: Tensor) -> bool:
    same_texts = torch.allclose(out[1:], out[:-1])
    return same_texts and not torch.allclose(out[:, 1:], out[:, :-1])


def _same_texts(module: Function) -> bool:
    out = module(torch.ones(4, 5, WORD_WIDTH))
    return torch.allclose(out[1:], out[:-1])


check_knows_its_axes = Check(
    "knows_its_axes",
    _knows_its_axes,
    cases=_numbered_modules(),
    mistakes=[
        Mistake(
            "it is the wrong way round: True where texts differ and tokens do not",
            "What should two equal texts of a batch get, and what two equal words of a text?",
            lambda module: not _knows_its_axes(module),
        ),
        Mistake(
            "it asks only whether tokens differ",
            "A module may count along both axes, which one text alone cannot show. What should two "
            "equal texts get?",
            lambda module: not torch.equal(*module(torch.ones(4, 5, WORD_WIDTH))[0, 1:3]),
        ),
        Mistake(
            "it asks only whether equal texts get the same",
            "A module without any position passes too. What should two equal words of a text get?",
            lambda module: torch.allclose(*module(torch.ones(2, 5, WORD_WIDTH))),
        ),
        Mistake(
            "words of zeros hide a factor",
            "What is 0 times a position? Which words show it whether a module adds or multiplies?",
            lambda module: _agree(module(torch.zeros(4, 5, WORD_WIDTH))),
        ),
        Mistake(
            "the words themselves differ, so the texts differ whatever the module does",
            "Take one word everywhere. What can then differ?",
            lambda module: _agree(module(torch.randn(4, 5, WORD_WIDTH))),
        ),
        Mistake(
            "it compares the first two tokens only",
            "Some code gives a mark and the first word one place. Do all neighbours have to "
            "differ, or some?",
            lambda module: (
                _same_texts(module)
                and not torch.allclose(*module(torch.ones(4, 5, WORD_WIDTH))[0, :2])
            ),
        ),
        Mistake(
            "it expects the library's sinusoids",
            "A table may be learned, and a module may multiply. Compare the module with itself.",
            lambda module: torch.allclose(
                module(torch.ones(4, 5, WORD_WIDTH)),
                1 + _row_of_tokens(torch.ones(4, 5, WORD_WIDTH)).expand(4, -1, -1),
            ),
        ),
    ],
    hints=(
        "Give the module words that are all the same. Whatever differs then is position's doing.",
        "Compare texts of the batch with each other, and words of a text with each other.",
        "With out = module(torch.ones(4, 5, 8)): out[1:] and out[:-1] must agree, out[:, 1:] and "
        "out[:, :-1] must not.",
    ),
)
