"""Checks for lesson 08: the ramp of a rope_scaling line, scores whose offsets are clamped.

Of its closer look: NTK's factor, a cache under dynamic NTK, factors of the learner's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from course_lab.checks.compare import TOLERANCE, difference
from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without
from course_utils.encodings import (
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Scaling,
    YaRN,
)
from course_utils.encodings import scaling as scalings
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
)
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.models.stretching import ClampedRotary
from course_utils.texts import text


def _turns_of(theta: Tensor, trained: float) -> Tensor:
    """Return how many turns each hand makes in training, (pairs,)."""
    return trained * theta / (2 * math.pi)


def _mixed(theta: Tensor, factor: float, kept: Tensor) -> Tensor:
    return kept * theta + (1 - kept) * theta / factor


def _ramp_of_turns(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    share = (_turns_of(theta, trained) - low) / (high - low)
    return _mixed(theta, factor, share.clamp(0, 1))


def _not_clamped(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _mixed(theta, factor, (_turns_of(theta, trained) - low) / (high - low))


def _fast_slowed(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    share = (_turns_of(theta, trained) - low) / (high - low)
    return _mixed(theta, factor, 1 - share.clamp(0, 1))


def _sped_up(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _ramp_of_turns(theta, 1 / factor, low, high, trained)


def _radians(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, 2 * math.pi * trained)


def _even_in_wavelength(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    positions = 2 * math.pi / theta
    share = (trained / low - positions) / (trained / low - trained / high)
    return _mixed(theta, factor, share.clamp(0, 1))


def _even_in_logarithm(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    share = (_turns_of(theta, trained) / low).log() / math.log(high / low)
    return _mixed(theta, factor, share.clamp(0, 1))


def _even_in_pairs(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    turns = _turns_of(theta, trained)
    between = ((turns > low) & (turns < high)).nonzero().flatten()
    kept = (turns >= high).to(theta.dtype)
    steps = torch.arange(len(between), 0, -1, dtype=theta.dtype) / (len(between) + 1)
    return _mixed(theta, factor, kept.index_copy(0, between, steps))


def _without_between(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return torch.where(_turns_of(theta, trained) > high, theta, theta / factor)


def _slowed_below_low(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return torch.where(_turns_of(theta, trained) < low, theta / factor, theta)


def _periods_mixed(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    kept = ((_turns_of(theta, trained) - low) / (high - low)).clamp(0, 1)
    return 1 / (kept / theta + (1 - kept) * factor / theta)


def _shares(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, trained) / theta


def _numbers_of_the_line(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(theta, 8.0, 1.0, 4.0, 8192)


def _bounds_of_the_line(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(theta, factor, 1.0, 4.0, trained)


def _factor_of_the_line(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(theta, 8.0, low, high, trained)


def _length_of_the_line(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, 8192)


def _geometric(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    kept = ((_turns_of(theta, trained) - low) / (high - low)).clamp(0, 1)
    return theta * factor ** (kept - 1)


def _half_and_half(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    turns = _turns_of(theta, trained)
    return _mixed(theta, factor, ((turns > low).to(theta.dtype) + (turns > high)) / 2)


def _even_in_pairs_with_both_ends(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    turns = _turns_of(theta, trained)
    between = ((turns > low) & (turns < high)).nonzero().flatten()
    kept = (turns >= high).to(theta.dtype)
    steps = torch.linspace(1, 0, len(between), dtype=theta.dtype)
    return _mixed(theta, factor, kept.index_copy(0, between, steps))


def _from_no_turn(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _mixed(theta, factor, (_turns_of(theta, trained) / high).clamp(0, 1))


def _over_high(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _mixed(theta, factor, ((_turns_of(theta, trained) - low) / high).clamp(0, 1))


def _half_turns(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, 2 * trained)


def _share_kept(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return ((_turns_of(theta, trained) - low) / (high - low)).clamp(0, 1)


def _divisors(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return theta / _ramp_of_turns(theta, factor, low, high, trained)


def _of_the_long_text(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, factor * trained)


def _smooth(share: Tensor) -> Tensor:
    return share * share * (3 - 2 * share)


def _shared(
    share: Callable[[Tensor, float, float], Tensor], *, cut: bool = True
) -> Callable[..., Tensor]:
    """Return the ramp whose share kept is this function of a hand's turns, ``low`` and ``high``."""

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        kept = share(_turns_of(theta, trained), low, high)
        return _mixed(theta, factor, kept.clamp(0, 1) if cut else kept)

    return ramp


def _counted(turns: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
    """Return the ramp over another count of turns, from speeds and trained length."""

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        return _mixed(theta, factor, ((turns(theta, trained) - low) / (high - low)).clamp(0, 1))

    return ramp


def _between(middle: Callable[..., Tensor], *, swapped: bool = False) -> Callable[..., Tensor]:
    """Return an answer with the text's speeds outside the two bounds, and ``middle`` between."""

    def speeds(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        turns = _turns_of(theta, trained)
        slow, fast = (theta, theta / factor) if swapped else (theta / factor, theta)
        mixed = middle(theta, factor, low, high, trained)
        return torch.where(turns > high, fast, torch.where(turns < low, slow, mixed))

    return speeds


def _ntk_speeds(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    pairs = torch.arange(len(theta), dtype=theta.dtype)
    return theta * factor ** (-pairs / max(1, len(theta) - 1))


def _kept_part_alone(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _share_kept(theta, factor, low, high, trained) * theta


def _slow_part_whole(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _kept_part_alone(theta, factor, low, high, trained) + theta / factor


def _speed_cut_off(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _not_clamped(theta, factor, low, high, trained).clamp(0, 1)


def _slow_hands_left(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    turns = _turns_of(theta, trained)
    mixed = _ramp_of_turns(theta, factor, low, high, trained)
    return torch.where((turns > low) & (turns < high), mixed, theta)


def _slow_part_taken_off(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    kept = _share_kept(theta, factor, low, high, trained)
    return kept * theta + (1 - kept) * theta * (1 - 1 / factor)


def _at_the_slowed_speed(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    share = (_turns_of(theta / factor, trained) - low) / (high - low)
    return _mixed(theta, factor, share.clamp(0, 1))


def _from_hand_to_hand_between(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    turns = _turns_of(theta, trained)
    between = turns[(turns >= low) & (turns <= high)]
    if len(between) < 2:
        return _ramp_of_turns(theta, factor, low, high, trained)
    share = (turns - between.min()) / (between.max() - between.min())
    return _mixed(theta, factor, share.clamp(0, 1))


def _slow_part_without_theta(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    kept = _share_kept(theta, factor, low, high, trained)
    return kept * theta + (1 - kept) / factor


def _slow_speed_and_share_of_it(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return (1 + _share_kept(theta, factor, low, high, trained)) * theta / factor


def _straight_from_first_to_last(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return torch.linspace(float(theta[0]), float(theta[-1]) / factor, len(theta), dtype=theta.dtype)


def _straight_between(with_ends: bool) -> Callable[..., Tensor]:
    """Return an answer whose speeds between the bounds run evenly from hand to hand."""

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        turns = _turns_of(theta, trained)
        between = ((turns >= low) & (turns <= high)).nonzero().flatten()
        speeds = torch.where(turns > high, theta, theta / factor)
        if len(between):
            first, last = theta[between[0]], theta[between[-1]] / factor
            steps = torch.linspace(0, 1, len(between) + 2 * (not with_ends), dtype=theta.dtype)
            steps = steps if with_ends else steps[1:-1]
            speeds = speeds.index_copy(0, between, first + steps * (last - first))
        return speeds

    return ramp


def _turns_of_so_many_radians(turn: float) -> Callable[..., Tensor]:
    return _counted(lambda theta, trained: trained * theta / turn)


def _divided_between(divisor: Callable[[Tensor, float], Tensor]) -> Callable[..., Tensor]:
    """Return old speeds over a function of the share kept and ``factor``, between the bounds."""

    def speeds(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        return theta / divisor(_share_kept(theta, factor, low, high, trained), factor)

    return _between(speeds)


def _trained_at_64(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
    return _ramp_of_turns(theta, factor, low, high, 64)


def _slowed_by(divisor: Callable[[float, float], float]) -> Callable[..., Tensor]:
    """Return the ramp that slows by another number, a function of ``factor`` and ``trained``."""

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        return _ramp_of_turns(theta, divisor(factor, trained), low, high, trained)

    return ramp


def _even_in_index(
    bounds: Callable[[Tensor, float, float], tuple[float, float]],
) -> Callable[..., Tensor]:
    """Return the ramp that falls evenly with m from 1 to 0, between these two indices.

    ``bounds`` gets the turns, ``low`` and ``high``.
    """

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        first, last = bounds(_turns_of(theta, trained), low, high)
        m = torch.arange(len(theta), dtype=theta.dtype)
        share = (last - m) / max(last - first, 0.001)
        return _mixed(theta, factor, share.clamp(0, 1))

    return ramp


def _from_first_between(turns: Tensor, low: float, high: float) -> tuple[float, float]:
    return float((turns > high).sum()), float((turns >= low).sum())


def _from_last_kept(turns: Tensor, low: float, high: float) -> tuple[float, float]:
    return float((turns > high).sum()) - 1, float((turns >= low).sum()) - 1


def _over_all_hands(turns: Tensor, low: float, high: float) -> tuple[float, float]:
    return 0.0, float(len(turns) - 1)


def _speeds_from_outside(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(
        rope_frequencies(2 * len(theta)).to(theta.dtype), factor, low, high, trained
    )


def _speeds_of_another_base(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _ramp_of_turns(
        rope_frequencies(2 * len(theta), 500_000.0).to(theta.dtype), factor, low, high, trained
    )


def _if_of_all_hands(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return theta if _turns_of(theta, trained) > high else theta / factor


def _straight_over_turns(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    turns = _turns_of(theta, trained)
    a_turn = 2 * math.pi / trained  # the speed of a hand that makes one turn
    slow, fast = low * a_turn / factor, high * a_turn
    between = slow + (fast - slow) * (turns - low) / (high - low)
    return torch.where(turns > high, theta, torch.where(turns < low, theta / factor, between))


# The turns that the lesson's cells count: width and base of a head, trained length.
_OUTSIDE = ((32, 10_000.0, 64), (128, 500_000.0, 8192))


def _turns_from_outside(width: int, base: float, length: int) -> Callable[..., Tensor]:
    """Return the ramp over a count of turns made before, of one number of hands."""
    turns = _turns_of(rope_frequencies(width, base), length)

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        return _mixed(theta, factor, ((turns - low) / (high - low)).clamp(0, 1))

    return ramp


def _turns_from_outside_by_hand(width: int, base: float, length: int) -> Callable[..., Tensor]:
    """Return the same, hand after hand: `turns[m]`."""
    turns = _turns_of(rope_frequencies(width, base), length)

    def ramp(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        chosen = torch.stack([turns[m] for m in range(len(theta))])
        return _mixed(theta, factor, ((chosen - low) / (high - low)).clamp(0, 1))

    return ramp


def _share_of_all_hands(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    turns = _turns_of(theta, trained)
    return _mixed(theta, factor, (turns - turns.min()) / (turns.max() - turns.min()))


def _share_as_divisor(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    share = (_turns_of(theta, trained) - low) / (high - low)
    return theta * share.clamp(1 / factor, 1)


def _from_no_turn_between(
    theta: Tensor, factor: float, low: float, high: float, trained: float
) -> Tensor:
    return _mixed(theta, factor, _turns_of(theta, trained) / high)


def _shared_speed(
    share: Callable[[Tensor, float, float, float], Tensor],
) -> Callable[..., Tensor]:
    """Return the old speeds times a function of turns, ``factor``, ``low`` and ``high``."""

    def speeds(theta: Tensor, factor: float, low: float, high: float, trained: float) -> Tensor:
        return theta * share(_turns_of(theta, trained), factor, low, high)

    return speeds


def _no_tensor(answer: Any) -> str:
    """What to ask about a list, a tuple or an array in place of one tensor; "" of others."""
    if isinstance(answer, np.ndarray):
        return (
            "your function returns an array of NumPy, and a tensor is expected. At which of your "
            "steps do you leave torch, and which function of torch leads back?"
        )
    if isinstance(answer, tuple | list):
        return (
            f"your function returns {type(answer).__name__}, and one tensor is expected. Does "
            "each of your steps work on all rows at once? Or which function of torch makes a "
            "tensor of what you have?"
        )
    return ""


def _judge_ramp(
    speeds: Any, theta: Tensor, factor: float, low: float, high: float, trained: float
) -> str:
    """Say which hands get a wrong speed: those above, below or between the bounds."""
    if question := _no_tensor(speeds):
        return question
    right = _ramp_of_turns(theta, factor, low, high, trained)
    problem = difference(speeds, right)
    if not problem or not isinstance(speeds, Tensor):
        return problem
    if speeds.shape != theta.shape:
        return f"{problem} How many new speeds does each hand get with yours?"
    error = ((speeds - right) / right).abs().nan_to_num(nan=math.inf)
    turns = _turns_of(theta, trained)
    for group, where, question in (
        (turns > high, f"more than {high:g}", "Does it keep its speed?"),
        (turns < low, f"fewer than {low:g}", "By how much is it to be slowed?"),
        (
            (turns >= low) & (turns <= high),
            f"between {low:g} and {high:g}; outside these bounds yours are right",
            "Which share is kept there, and which two speeds are mixed? And in yours?",
        ),
    ):
        worst = float((error * group).nan_to_num(nan=0.0).max())
        if worst > TOLERANCE:
            m = int((group & (error >= worst / 2)).int().argmax())  # where it is plain to see
            digits = 3 if error[m] > 0.01 else 6  # what tells the two apart
            return (
                f"hand {m} makes {turns[m]:.3g} turns, {where}. Expected "
                f"{right[m]:.{digits + 1}g}, {right[m] / theta[m]:.{digits}g} of its old speed, "
                f"got {speeds[m]:.{digits + 1}g}, {speeds[m] / theta[m]:.{digits}g} of it. "
                f"{question}"
            )
    return problem


check_ramp = Check(
    "ramp_from_scratch",
    _ramp_of_turns,
    cases=[
        (rope_frequencies(128, 500_000.0), 8.0, 1.0, 4.0, 8192),
        (rope_frequencies(32), 8.0, 1.0, 4.0, 64),
        (rope_frequencies(64).float(), 4.0, 2.0, 32.0, 2048),
        (rope_frequencies(16, 100.0), 2.0, 0.5, 3.0, 100),
        (torch.tensor([1.0, 0.25]), 16.0, 1.0, 4.0, 64),
        # So fast that a count of turns upside down, or without `trained`, slows some hands only.
        (torch.tensor([40.0, 8.0, 1.0, 0.25]), 4.0, 1.0, 4.0, 8),
    ],
    mistakes=[
        Mistake(
            "the fast hands are slowed, and the slow ones keep their speed",
            "Which hands may not be slowed, those with more than `high` turns or the others?",
            _fast_slowed,
        ),
        Mistake(
            "the share is not held between 0 and 1",
            "What is your share of a hand that makes 100 turns, and of one that makes none?",
            _not_clamped,
        ),
        Mistake(
            "hands turn faster, not slower",
            "A hand that is slowed by 8: what becomes of its speed?",
            _sped_up,
        ),
        Mistake(
            "radians are taken for turns",
            "By which angle has a hand gone round once?",
            _radians,
        ),
        Mistake(
            "the speed itself runs straight from the slowed one at `low` to the old one at `high`; "
            "or, which is the same, the share rises evenly with the length of a turn",
            "Halfway between `low` and `high` turns, what is the share to be, and what is yours?",
            _even_in_wavelength,
            _straight_over_turns,
        ),
        Mistake(
            "turns of other hands come into it, as if from outside the function",
            "Whose turns does your line use? `theta` comes with another number of hands each time.",
            *(_turns_from_outside(width, base, at) for width, base, at in _OUTSIDE),
            raises="The size of tensor a",
        ),
        Mistake(
            "turns of other hands come into it, as if from outside the function",
            "Whose turns does your line use? `theta` comes with another number of hands each time.",
            *(_turns_from_outside_by_hand(width, base, at) for width, base, at in _OUTSIDE),
        ),
        Mistake(
            "the share rises evenly with the logarithm of the turns",
            "Halfway between `low` and `high` turns, what is the share?",
            _even_in_logarithm,
        ),
        Mistake(
            "the share rises evenly from hand to hand",
            "Do the hands between stand at even distances in turns?",
            _even_in_pairs,
        ),
        Mistake(
            "hands between the two bounds are slowed wholly",
            "What of a hand with two turns, if `low` is 1 and `high` is 4?",
            _without_between,
        ),
        Mistake(
            "hands between the two bounds keep their speed",
            "What of a hand with two turns, if `low` is 1 and `high` is 4?",
            _slowed_below_low,
        ),
        Mistake(
            "lengths of a turn are mixed, not speeds",
            "At a share of one half, is the new speed the mean of the two speeds?",
            _periods_mixed,
        ),
        Mistake(
            "between the bounds a hand gets its share of the old speed, and nothing else",
            "A share of the old speed is kept. What becomes of the rest?",
            _between(_kept_part_alone),
        ),
        Mistake(
            "the slow part of the mixture is no speed",
            "A hand has less than `low` turns. By what is its own speed to be divided?",
            _slow_part_without_theta,
            _between(_slow_part_without_theta),
        ),
        Mistake(
            "the share falls evenly with the hand's number",
            "By what does the text let the share rise, by the hand or by its turns?",
            _even_in_index(_from_first_between),
            _even_in_index(_from_last_kept),
            _even_in_index(_over_all_hands),
        ),
        Mistake(
            "slow hands are slowed by another number than `factor`",
            "A hand has less than `low` turns, and `factor` is 8. How fast is it to be?",
            _slowed_by(lambda factor, trained: trained),
            _slowed_by(lambda factor, trained: factor**0.5),
            _slowed_by(lambda factor, trained: factor**2),
            _slowed_by(lambda factor, trained: 2 * factor),
            _slowed_by(lambda factor, trained: factor + 1),
            _slowed_by(lambda factor, trained: factor - 1),
        ),
        Mistake(
            "the slow part of the mixture is divided by another number than `factor`",
            "Just above `low` turns your speed should join that of the slow hands. What is it "
            "there?",
            _between(_slowed_by(lambda factor, trained: factor**2)),
            _between(_slowed_by(lambda factor, trained: 2 * factor)),
            _between(_slowed_by(lambda factor, trained: factor**0.5)),
        ),
        Mistake(
            "the share rises by 1 a turn, however far apart the bounds are",
            "At which number of turns does your share reach 1?",
            _shared(lambda turns, low, high: turns - low),
            _between(_shared(lambda turns, low, high: turns - low, cut=False)),
        ),
        Mistake(
            "turns are held between the bounds, and their distance is missing",
            "Put a hand with exactly `high` turns in. What is its share?",
            _shared(lambda turns, low, high: turns.clamp(low, high) - low, cut=False),
        ),
        Mistake(
            "turns are held between the bounds, and divided by `high`",
            "Put a hand with exactly `low` turns in. What is its share?",
            _shared(lambda turns, low, high: turns.clamp(low, high) / high, cut=False),
        ),
        Mistake(
            "every hand gets the slowed speed, and a share of the slowed speed on top",
            "A hand has more than `high` turns. Is its new speed still the old one?",
            _slow_speed_and_share_of_it,
            _between(_slow_speed_and_share_of_it),
        ),
        Mistake(
            "the speeds run evenly from one hand to another",
            "Do the turns of neighbouring hands differ by the same amount, or by the same "
            "ratio? And by what does the text let the share rise?",
            _straight_from_first_to_last,
            _straight_between(with_ends=True),
            _straight_between(with_ends=False),
        ),
        Mistake(
            "the mixture is halved",
            "The weights of the two speeds are the share and the rest, which add up to 1. By "
            "what do you divide then?",
            lambda *case: _ramp_of_turns(*case) / 2,
            _between(lambda *case: _ramp_of_turns(*case) / 2),
        ),
        Mistake(
            "the share is taken of the slowed speed",
            "Which of the two speeds is kept, and by which share?",
            lambda *case: _kept_part_alone(*case) / case[1],
            _between(lambda *case: _kept_part_alone(*case) / case[1]),
        ),
        Mistake(
            "the trained length of the small model, 64, is built in",
            "Which of your numbers should come from the arguments?",
            _trained_at_64,
        ),
        Mistake(
            "this is the new speed as a share of the old one",
            "What does the exercise ask for, and what is still missing?",
            _shares,
        ),
        Mistake(
            "the numbers of Llama 3.1's line are built in",
            "Which of your numbers should come from the arguments?",
            _numbers_of_the_line,
        ),
        *(
            Mistake(
                f"{what} of Llama 3.1's line {verb} built in",
                "Which of your numbers should come from the arguments?",
                answer,
            )
            for what, verb, answer in (
                ("the bounds, 1 and 4,", "are", _bounds_of_the_line),
                ("the factor, 8,", "is", _factor_of_the_line),
                ("the trained length, 8192,", "is", _length_of_the_line),
            )
        ),
        Mistake(
            "speeds are mixed by multiplying: half the share is not halfway between",
            "Where the share is one half, is your new speed the mean of the two speeds?",
            _geometric,
        ),
        Mistake(
            "hands between the two bounds all get the same mixture",
            "Is the share of a hand with 1.1 turns that of one with 3.9?",
            _half_and_half,
        ),
        Mistake(
            "the share goes evenly from hand to hand, down to 0 at the last one between",
            "By what does the text let the share rise, by the hand or by its turns?",
            _even_in_pairs_with_both_ends,
        ),
        Mistake(
            "the share begins at no turn",
            "At `low` turns, which share does the text ask for, and which one is yours?",
            _from_no_turn,
        ),
        Mistake(
            "the share does not reach 1 at `high` turns",
            "Put a hand with exactly `high` turns in. What is its share?",
            _over_high,
        ),
        Mistake(
            "half turns are counted",
            "By which angle has a hand gone round once?",
            _half_turns,
        ),
        Mistake(
            "this is the share kept",
            "What does the exercise ask for, and what is still missing?",
            _share_kept,
        ),
        Mistake(
            "these are factors by which hands are slowed",
            "What does the exercise ask for: a speed, or what to divide it by?",
            _divisors,
        ),
        Mistake(
            "turns are counted within the long text",
            "Which length did a hand have to show its angles in?",
            _of_the_long_text,
        ),
        Mistake(
            "no hand is slowed: this is *direct*",
            "By your count, if you have one: how many turns did the slowest hand make in training?",
            lambda theta, *_: theta.clone(),
        ),
        Mistake(
            "all hands are slowed: this is interpolation",
            "By your count, if you have one: how many turns did the fastest hand make in training?",
            lambda theta, factor, *_: theta / factor,
        ),
        Mistake(
            "this is NTK-aware scaling, which counts hands and not turns",
            "Which of your arguments never come into it?",
            _ntk_speeds,
        ),
        Mistake(
            "π multiplies your count of turns",
            "In which order does Python work out a / 2 * b?",
            _counted(lambda theta, trained: trained * theta / 2 * math.pi),
        ),
        Mistake(
            "turns are multiplied by 2π",
            "A hand moves by one radian a position. How many turns is that in 64 positions?",
            _counted(lambda theta, trained: 2 * math.pi * trained * theta),
        ),
        Mistake(
            "your count of turns is upside down",
            "Does a faster hand make more turns with your formula, or fewer?",
            _counted(lambda theta, trained: 2 * math.pi / (trained * theta)),
            _counted(lambda theta, trained: trained / (2 * math.pi * theta)),
            _counted(lambda theta, trained: trained / theta),
            _counted(lambda theta, trained: 2 * math.pi * trained / theta),
        ),
        Mistake(
            "`trained` does not come into your count of turns",
            "How many turns does a hand of one radian a position make in 64 positions, and in 128?",
            _counted(lambda theta, trained: theta / (2 * math.pi)),
            _counted(lambda theta, trained: theta),
            _counted(lambda theta, trained: 2 * math.pi / theta),
        ),
        Mistake(
            "2π is rounded",
            "What is 2π in your code? Python's `math` has π with all its digits.",
            *map(_turns_of_so_many_radians, (6.28, 6.3, 6.0, 44 / 7)),
        ),
        Mistake(
            "turns, held between the bounds, are taken for the share",
            "A share runs from 0 to 1. Which numbers can yours be?",
            _shared(lambda turns, low, high: turns.clamp(low, high), cut=False),
        ),
        Mistake(
            "turns are taken for the share",
            "Put a hand with exactly `low` turns in, and one with `high`. What are their shares?",
            _shared(lambda turns, low, high: turns),
        ),
        Mistake(
            "between the bounds the old speed is divided, not mixed with the slowed one",
            "Where the share is one half, is your new speed the mean of the two speeds?",
            _divided_between(lambda kept, factor: factor * (1 - kept)),
            _divided_between(lambda kept, factor: (factor * (1 - kept)).clamp(min=1)),
            _divided_between(lambda kept, factor: factor * kept),
            _divided_between(lambda kept, factor: (factor * kept).clamp(min=1)),
            _divided_between(lambda kept, factor: 1 + factor * (1 - kept)),
            _divided_between(lambda kept, factor: factor - kept),
        ),
        Mistake(
            "hands between the bounds get no speed",
            "Which hands does neither of your two conditions reach, and what stands there?",
            _between(lambda theta, *_: torch.zeros_like(theta)),
        ),
        Mistake(
            "a turn has 360 of another unit",
            "In which unit is `theta`: what does a hand with speed 1 do from byte to byte?",
            _counted(lambda theta, trained: trained * theta / 360),
        ),
        Mistake(
            "turns are counted over another length",
            "Print your count for a hand of one radian a position, trained at 64. Is it "
            "L θ / 2π, here 64 / 2π?",
            _counted(lambda theta, trained: _turns_of(theta, trained - 1)),
            _counted(lambda theta, trained: _turns_of(theta, trained + 1)),
            _counted(lambda theta, trained: _turns_of(theta, trained / 2)),
        ),
        Mistake(
            "only whole turns count",
            "Two hands make 2.1 and 2.9 turns. Is their share the same?",
            _counted(lambda theta, trained: _turns_of(theta, trained).floor()),
            _counted(lambda theta, trained: _turns_of(theta, trained).ceil()),
        ),
        Mistake(
            "the bounds are turned into radians, the turns are not",
            "In which unit do `low` and `high` come, and in which is what you compare with them?",
            _shared(
                lambda turns, low, high: (turns - 2 * math.pi * low) / (2 * math.pi * (high - low))
            ),
        ),
        Mistake(
            "the share grows above 1",
            "What is your share of a hand that makes 100 turns?",
            _shared(
                lambda turns, low, high: ((turns - low) / (high - low)).clamp(min=0), cut=False
            ),
        ),
        Mistake(
            "the share falls below 0",
            "What is your share of a hand that makes next to no turn?",
            _shared(
                lambda turns, low, high: ((turns - low) / (high - low)).clamp(max=1), cut=False
            ),
        ),
        Mistake(
            "the new speed is held between 0 and 1, not the share",
            "What is your share of a hand that makes 100 turns, and of one that makes none?",
            _speed_cut_off,
        ),
        Mistake(
            "the part that is not kept gets no speed at all",
            "A hand has less than `low` turns. Which speed does yours give it?",
            _kept_part_alone,
        ),
        Mistake(
            "every hand gets the slowed speed in full, and its kept part on top",
            "A hand has more than `high` turns. Is its new speed still the old one?",
            _slow_part_whole,
        ),
        Mistake(
            "the order of your subtraction and division is not the one you mean",
            "Which share does your line give to a hand with exactly `low` turns, and with "
            "exactly `high`?",
            _shared(lambda turns, low, high: (turns - low) / high - low),
            _shared(lambda turns, low, high: turns - low / (high - low)),
            _shared(lambda turns, low, high: turns - low / high - low),
        ),
        Mistake(
            "the share does not begin at `low` turns",
            "Put a hand with exactly `low` turns in. What is its share?",
            _shared(lambda turns, low, high: turns / (high - low)),
            _shared(lambda turns, low, high: turns.clamp(low, high) / (high - low), cut=False),
            _between(_from_no_turn_between),
        ),
        Mistake(
            "the old speed is multiplied by the share, which is held above 1/`factor`",
            "Halfway between `low` and `high`, is your speed halfway between the two speeds?",
            _share_as_divisor,
        ),
        Mistake(
            "the old speed is multiplied by a share that begins at no turn",
            "At `low` turns, is your speed the slowed one?",
            _shared_speed(lambda turns, factor, low, high: (turns / high).clamp(1 / factor, 1)),
            _shared_speed(lambda turns, factor, low, high: (turns / high).clamp(0, 1)),
            _shared_speed(lambda turns, factor, low, high: turns.clamp(low, high) / high),
        ),
        Mistake(
            "the share runs from the slowest of all hands to the fastest",
            "At how many turns does the text let the share begin and end?",
            _share_of_all_hands,
        ),
        Mistake(
            "one question is put to all hands at once, by `if`, `min` or `max`",
            "Some hands make more than `high` turns and some fewer. Which function of torch "
            "chooses for each hand, and which method holds each between two bounds?",
            _if_of_all_hands,
            raises="Boolean value of Tensor",
        ),
        Mistake(
            "the share rises, but not evenly",
            "A quarter of the way from `low` to `high`: what is your share there?",
            _shared(lambda turns, low, high: _smooth(((turns - low) / (high - low)).clamp(0, 1))),
            _shared(lambda turns, low, high: ((turns - low) / (high - low)).clamp(0, 1) ** 2),
            _shared(lambda turns, low, high: ((turns - low) / (high - low)).clamp(0, 1).sqrt()),
        ),
        Mistake(
            "there is a step in the middle of the ramp",
            "Two hands stand a little below and a little above the middle of the bounds. How far "
            "apart are their shares?",
            _shared(lambda turns, low, high: (turns >= (low + high) / 2).to(turns.dtype)),
        ),
        Mistake(
            "this is the step: a hand keeps its speed from one turn on",
            "Which of your arguments never come into it?",
            _shared(lambda turns, low, high: (turns >= 1).to(turns.dtype)),
        ),
        Mistake(
            "between the bounds the share falls where it should rise",
            "A hand has just less than `high` turns. Is your speed near the old one or the slowed?",
            _between(_fast_slowed),
        ),
        Mistake(
            "the ramp is right, but the two sides of it are exchanged",
            "A hand makes 100 turns. Which speed does yours give it?",
            _between(_ramp_of_turns, swapped=True),
        ),
        Mistake(
            "between the bounds the speed is shrunk by the turns, not mixed",
            "A hand has just more than `low` turns. Is your speed near the slowed one?",
            _between(
                lambda theta, factor, low, high, trained: theta * _turns_of(theta, trained) / high
            ),
        ),
        Mistake(
            "the speeds come from outside the function",
            "Which of your arguments never come into it?",
            _speeds_from_outside,
            _speeds_of_another_base,
        ),
        Mistake(
            "hands with less than `low` turns keep their speed",
            "Which hands meet new angles on a longer text, and what does the text do with them?",
            _slow_hands_left,
        ),
        Mistake(
            "turns are counted at the slowed speed",
            "With which speed did a hand turn in training?",
            _at_the_slowed_speed,
        ),
        Mistake(
            "turns are rounded",
            "Two hands make 1.6 and 2.4 turns. Is their share the same?",
            _counted(lambda theta, trained: _turns_of(theta, trained).round()),
        ),
        Mistake(
            "the slow part loses 1/`factor` of its speed, and should be left with that",
            "A hand has less than `low` turns, and `factor` is 8. How fast is it to be?",
            _slow_part_taken_off,
        ),
        Mistake(
            "one of the two bounds, or their distance, is built in",
            "Which of your numbers should come from the arguments?",
            _shared(lambda turns, low, high: (turns - 1) / (high - 1)),
            _shared(lambda turns, low, high: (turns - 1) / (high - low)),
            _shared(lambda turns, low, high: (turns - low) / (4 - low)),
            _shared(lambda turns, low, high: (turns - low) / 3),
        ),
        Mistake(
            "the share runs from the slowest hand between the bounds to the fastest",
            "At how many turns does the text let the share begin and end?",
            _from_hand_to_hand_between,
        ),
        Mistake(
            "the share is a sigmoid",
            "At exactly `low` turns and at exactly `high`, what is your share?",
            _shared(lambda turns, low, high: ((turns - low) / (high - low)).sigmoid(), cut=False),
            _shared(lambda turns, low, high: (turns - (low + high) / 2).sigmoid(), cut=False),
            _shared(
                lambda turns, low, high: ((turns - (low + high) / 2) / (high - low)).sigmoid(),
                cut=False,
            ),
        ),
        Mistake(
            "the hands stand in reverse order",
            "Is your first hand the fastest, as in `theta`?",
            lambda *case: _ramp_of_turns(*case).flip(0),
        ),
        Mistake(
            "these are lengths of a turn, not speeds",
            "What does the exercise ask for: positions a turn, or radians a position?",
            lambda *case: 2 * math.pi / _ramp_of_turns(*case),
            lambda *case: 1 / _ramp_of_turns(*case),
        ),
    ],
    judge=_judge_ramp,
    hints=(
        "Begin with the number of turns of each hand within `trained` positions, one line. Print "
        "it for theta of 16 hands and 64.",
        "The share kept is 0 at `low` turns, 1 at `high`, and a straight line between. What does "
        "that line give outside, and which method of a tensor cuts it off there?",
        "Name the share kept, one number a hand. Two speeds are mixed, `theta` and "
        "`theta / factor`. What are their weights if the first is the share, and they add up to 1?",
    ),
    rules=[
        Without(
            (
                Llama3.frequencies,
                YaRN.frequencies,
                scalings._ramp_over_turns,
                scalings._blend,
                _ramp_of_turns,
            )
        )
    ],
)


def _at(x: Tensor, positions: Tensor) -> Tensor:
    """Turn (n, d) at these positions."""
    return apply_rope(x, rope_angles(positions, rope_frequencies(x.shape[-1])))


def _pieced(q: Tensor, k: Tensor, farthest: int, far: Tensor) -> Tensor:
    """RoPE's scores up to ``farthest`` back, and ``far`` (n, n), unscaled, beyond."""
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    back = positions[:, None] - positions
    return torch.where(back > farthest, far, near) / q.shape[-1] ** 0.5


def _clamped_scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, _at(q, torch.full((len(q),), farthest)) @ k.T)


def _clamped_positions(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q)).clamp(max=farthest)
    return _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5


def _not_clamped_scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, len(q), q @ k.T)


def _other_side(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, q @ _at(k, torch.full((len(q),), farthest)).T)


def _far_at_no_distance(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, q @ k.T)


def _hidden(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, torch.full((len(q), len(q)), -math.inf))


def _zeros(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, torch.zeros(len(q), len(q)))


def _one_too_near(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, _at(q, torch.full((len(q),), farthest - 1)) @ k.T)


def _one_too_far(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, _at(q, torch.full((len(q),), farthest + 1)) @ k.T)


def _unscaled(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _clamped_scores(q, k, farthest) * q.shape[-1] ** 0.5


def _far_half_scaled(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    scale = q.shape[-1] ** 0.5
    return _pieced(q, k, farthest, _at(q, torch.full((len(q),), farthest)) @ k.T * scale)


def _all_far(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _at(q, torch.full((len(q),), farthest)) @ k.T / q.shape[-1] ** 0.5


def _squeezed_by(factor: float, q: Tensor, k: Tensor) -> Tensor:
    positions = torch.arange(len(q)) * factor
    return _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5


def _squeezed(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _squeezed_by(min(1.0, farthest / max(1, len(q) - 1)), q, k)


def _turned_twice(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    query = _at(_at(q, positions), torch.full((len(q),), farthest))
    return _pieced(q, k, farthest, query @ _at(k, positions).T)


def _copied(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    there = (positions - farthest).clamp(min=0)
    return _pieced(q, k, farthest, near.gather(1, there[:, None]).expand_as(near))


def _far_keys_still_turned(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    far = _at(q, torch.full((len(q),), farthest)) @ _at(k, torch.arange(len(k))).T
    return _pieced(q, k, farthest, far)


def _only_far_keys_unturned(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _pieced(q, k, farthest, _at(q, torch.arange(len(q))) @ k.T)


def _far_keys_at_farthest(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    far = _at(q, torch.arange(len(q))) @ _at(k, torch.full((len(k),), farthest)).T
    return _pieced(q, k, farthest, far)


def _keys_moved_to_the_last_query(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    moved = positions.clamp(min=len(q) - 1 - farthest)
    return _at(q, positions) @ _at(k, moved).T / q.shape[-1] ** 0.5


def _scores_held(
    both_sides: bool, before: float, after: float
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return RoPE's own scores, their values held at ``farthest``.

    They are held at d to the power ``before`` times their scale, and then divided by d to
    ``after``.
    """

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        plain = _not_clamped_scores(q, k, farthest) * q.shape[-1] ** before
        return plain.clamp(-farthest if both_sides else None, farthest) / q.shape[-1] ** after

    return scores


def _of_one_length(power: float) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return the right scores of q and k that were normalised, times d to this power."""
    return lambda q, k, farthest: (
        _clamped_scores(normalize(q, dim=-1), normalize(k, dim=-1), farthest) * q.shape[-1] ** power
    )


def _where(
    is_far: Callable[[Tensor, int], Tensor], *, near: Callable[..., Tensor] | None = None
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return an answer with right far scores, at ``is_far`` of the steps back; perhaps other near.

    ``near`` gets q and k and returns scores that are not scaled.
    """

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        plain = near(q, k) if near else _at(q, positions) @ _at(k, positions).T
        far = _at(q, torch.full((len(q),), farthest)) @ k.T
        back = positions[:, None] - positions
        return torch.where(is_far(back, farthest), far, plain) / q.shape[-1] ** 0.5

    return scores


def _placed(
    queries: Callable[[Tensor, int], Tensor], keys: Callable[[Tensor, int], Tensor]
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return RoPE's scores with queries and keys at other positions, near and far alike."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        turned = _at(q, queries(positions, farthest)), _at(k, keys(positions, farthest))
        return turned[0] @ turned[1].T / q.shape[-1] ** 0.5

    return scores


def _far_placed(
    queries: Callable[[Tensor, int], Tensor], keys: Callable[[Tensor, int], Tensor]
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return right near scores, and far ones with queries and keys at these positions."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        far = _at(q, queries(positions, farthest)) @ _at(k, keys(positions, farthest)).T
        return _pieced(q, k, farthest, far)

    return scores


def _own(positions: Tensor, _: int) -> Tensor:
    return positions


def _held(positions: Tensor, farthest: int) -> Tensor:
    return positions.clamp(max=farthest)


def _at_distances(
    seeming: Callable[[Tensor, int], Tensor],
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return right near scores, and far ones as if keys stood ``seeming`` of the steps back."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        n = len(q)
        positions = torch.arange(n)
        seems = seeming(positions[:, None] - positions, farthest)
        queries = torch.stack([_at(q, seems[:, j]) for j in range(n)], 1)  # (n, n, d)
        return _pieced(q, k, farthest, (queries * k).sum(-1))

    return scores


def _grouped(positions: Tensor, farthest: int) -> Tensor:
    return positions // farthest


def _scaled_by(
    factor: Callable[[Tensor], float],
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return the right scores times another factor of q, (n, d)."""
    return lambda q, k, farthest: _clamped_scores(q, k, farthest) * factor(q)


def _far_scaled_by(power: float) -> Callable[[Tensor, Tensor, int], Tensor]:
    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        far = _at(q, torch.full((len(q),), farthest)) @ k.T
        return _pieced(q, k, farthest, far * q.shape[-1] ** power)

    return scores


def _only_far_scaled(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _far_scaled_by(-0.5)(q, k, farthest) * q.shape[-1] ** 0.5


def _hidden_by(low: float) -> Callable[[Tensor, Tensor, int], Tensor]:
    return lambda q, k, farthest: _pieced(q, k, farthest, torch.full((len(q), len(q)), low))


def _hidden_after(low: float) -> Callable[[Tensor, Tensor, int], Tensor]:
    return lambda q, k, farthest: _hidden(q, k, farthest).clamp(min=low)


def _one_row(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    return _pieced(q, k, farthest, near[min(farthest, len(q) - 1)].expand_as(near))


def _one_column(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    return _pieced(q, k, farthest, near[:, [min(farthest, len(q) - 1)]].expand_as(near))


def _near_by_one(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    far = _at(q, torch.full((len(q),), farthest - 1)) @ k.T
    return _pieced(q, k, farthest - 1, far)


def _plain(q: Tensor, k: Tensor) -> Tensor:
    return q @ k.T


def _weights(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    hidden = torch.ones(len(q), len(q), dtype=torch.bool).triu(1)
    return _clamped_scores(q, k, farthest).masked_fill(hidden, -math.inf).softmax(-1)


def _one_position(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    raise ValueError("positions must be one for each row, got a single one")


def _position_for_each_pair(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    n, d = q.shape
    raise ValueError(f"angles must have one row for each of q's, got {(n, n, d // 2)}")


def _not_transposed(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    return _at(q, positions) @ _at(k, positions)


def _if_of_all_keys(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q)).expand(2, -1)  # so that one token is refused as well
    return _all_far(q, k, farthest) if positions > farthest else _plain(q, k)


def _mean_of_all_keys(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    return _pieced(q, k, farthest, near.mean(1, keepdim=True).expand_as(near))


def _mean_at_farthest(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    return _pieced(q, k, farthest, near.diagonal(-min(farthest, len(q))).mean().expand_as(near))


def _smaller_score(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5
    return torch.minimum(near, _all_far(q, k, farthest))


def _larger_score(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5
    return torch.maximum(near, _all_far(q, k, farthest))


def _sum_of_two(
    is_near: Callable[[Tensor, int], Tensor], is_far: Callable[[Tensor, int], Tensor]
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return right near and far scores, each times its own mask, added."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        back = positions[:, None] - positions
        near = _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5
        far = _all_far(q, k, farthest)
        return is_near(back, farthest) * near + is_far(back, farthest) * far

    return scores


def _copied_down_the_column(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T
    there = (positions + farthest).clamp(max=len(q) - 1)
    return _pieced(q, k, farthest, near.gather(0, there[None, :]).expand_as(near))


def _one_score(query: Callable[[int, int], int]) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return an answer whose far scores are all that of one query, of n and farthest, at key 0."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        near = _at(q, positions) @ _at(k, positions).T
        there = min(query(len(q), farthest), len(q) - 1)
        return _pieced(q, k, farthest, near[there, 0].expand_as(near))

    return scores


def _near_at_clamped_positions(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q)).clamp(max=farthest)
    near = _at(q, positions) @ _at(k, positions).T
    far = _at(q, torch.full((len(q),), farthest)) @ k.T
    back = torch.arange(len(q))[:, None] - torch.arange(len(q))
    return torch.where(back > farthest, far, near) / q.shape[-1] ** 0.5


def _products_turned(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    back = (positions[:, None] - positions).clamp(max=farthest)
    products = q[:, None] * k  # (n, n, d)
    rows = [_at(row, there).sum(-1) for row, there in zip(products, back, strict=True)]
    return torch.stack(rows) / q.shape[-1] ** 0.5


def _plain_far_times(
    factor: Callable[[Tensor, int], Tensor],
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return right near scores, and RoPE's own far ones times a function of the steps back."""

    def scores(q: Tensor, k: Tensor, farthest: int) -> Tensor:
        positions = torch.arange(len(q))
        plain = _at(q, positions) @ _at(k, positions).T
        back = (positions[:, None] - positions).clamp(min=1)
        return _pieced(q, k, farthest, plain * factor(back, farthest))

    return scores


def _scaled_for(width: int) -> Callable[[Tensor, Tensor, int], Tensor]:
    return _scaled_by(lambda q: (q.shape[-1] / width) ** 0.5)


def _clamped_at(number: int) -> Callable[[Tensor, Tensor, int], Tensor]:
    return lambda q, k, _: _clamped_scores(q, k, number)


def _in_halves(x: Tensor) -> Tensor:
    """The features in the order in which RoPE's turns pair the two halves of a head, (n, d)."""
    return x.view(len(x), 2, -1).transpose(1, 2).reshape(x.shape)


def _halves_turned(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    return _clamped_scores(_in_halves(q), _in_halves(k), farthest)


def _late_queries_far(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5
    return torch.where((positions > farthest)[:, None], _all_far(q, k, farthest), near)


def _late_keys_far(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    near = _at(q, positions) @ _at(k, positions).T / q.shape[-1] ** 0.5
    return torch.where(positions > farthest, _all_far(q, k, farthest), near)


def _keys_kept_away(q: Tensor, k: Tensor, farthest: int) -> Tensor:
    positions = torch.arange(len(q))
    queries = _at(q, positions)
    rows = [
        query @ _at(k, positions.clamp(max=max(0, i - farthest))).T
        for i, query in enumerate(queries)
    ]
    return torch.stack(rows) / q.shape[-1] ** 0.5


def _turned_by_each_distance(q: Tensor, k: Tensor, farthest: int, sign: int) -> Tensor:
    positions = torch.arange(len(q))
    seems = sign * (positions[:, None] - positions).clamp(max=farthest)
    queries = torch.stack([_at(q, seems[:, j]) for j in range(len(q))], 1)  # (n, n, d)
    return (queries * k).sum(-1) / q.shape[-1] ** 0.5


def _seen(scores: Any, *_: Any) -> Any:
    """The scores of keys that are not ahead, the others 0; what is no matrix stays."""
    return scores.tril() if isinstance(scores, Tensor) and scores.ndim == 2 else scores


def _constant_ratio(scores: Tensor, right: Tensor) -> float | None:
    """By which factor all of several scores are off; ``None`` if there is no one such factor."""
    if len(right) < 4 or not bool(scores.isfinite().all()):
        return None
    ratio = float((scores * right).sum() / (right * right).sum())
    is_constant = bool(((scores - ratio * right).abs() <= TOLERANCE * right.abs().max()).all())
    return ratio if is_constant and abs(ratio) > 0.001 and abs(ratio - 1) > TOLERANCE else None


def _telling(ratio: float) -> str:
    """A ratio with as many digits as tell it from 1."""
    digits = next((n for n in range(3, 9) if float(f"{ratio:.{n}g}") != 1), 9)
    return f"{ratio:.{digits}g}"


_MASKED = -1e4  # a lower score is a hidden one


def _question_of_shape(scores: Tensor, q: Tensor) -> str:
    """What to ask about scores that are no matrix of n by n."""
    n, d = q.shape
    if scores.shape == (n, n, d):
        return (
            "A score is one number for a query and a key. Over which of your axes do you still "
            "have to sum?"
        )
    if scores.shape == (n, d):
        return (
            "Asked for is one number for each query and key, before softmax and values. What are "
            "the d numbers in a row of yours?"
        )
    return "How many scores does each query get with yours, and how many keys are there?"


def _judge_clamped(scores: Any, q: Tensor, k: Tensor, farthest: int) -> str:
    """Say whether near or far scores are wrong, and of which query and key."""
    if question := _no_tensor(scores):
        return question
    right = _clamped_scores(q, k, farthest)
    problem = difference(_seen(scores), _seen(right))
    if not problem or not isinstance(scores, Tensor):
        return problem
    if scores.shape != right.shape:
        return f"{problem} {_question_of_shape(scores, q)}"
    positions = torch.arange(len(q))
    back = positions[:, None] - positions
    off = ~((scores - right).abs() <= TOLERANCE * right.abs().max())
    for group, which in ((back >= 0, ""), (back > farthest, "far "), (back <= farthest, "near ")):
        group = group & (back >= 0)
        share = _constant_ratio(scores[group], right[group])
        if share is not None and not bool((off & (back >= 0) & ~group).any()):
            return (
                f"all your {which}scores are {_telling(share)} times the right ones, so every turn "
                "is right. By what do you divide or multiply?"
            )
    near = (back >= 0) & (back <= farthest)
    at_the_edge = not bool((off & near & (back < farthest)).any())
    masked = near & ((scores == 0) | (scores < _MASKED) | scores.isnan())
    for group, question in (
        (
            masked & ~(near & (back == farthest) if at_the_edge else torch.zeros_like(near)),
            "A query may see this key. Which keys does a mask of yours reach, and what should it "
            "leave: those that are not ahead, the query's own among them?",
        ),
        (
            near,
            "All nearer ones are right. How often does the key exactly `farthest` back count, and "
            "which of your conditions holds for it?"
            if at_the_edge
            else "It is RoPE's own score. How far do you turn each, and what else is done to it?",
        ),
        (
            back > farthest,
            "The near scores are right. By how much do your turns of this query and key differ, "
            "and do you give that score as it is?",
        ),
    ):
        if bool((off & group).any()):
            i, j = (off & group).nonzero()[0].tolist()
            return (
                f"query {i} and key {j}, {i - j} back: expected {right[i, j]:.4g}, got "
                f"{scores[i, j]:.4g}. {question}"
            )
    return problem


check_clamped_scores = Check(
    "clamped_scores",
    _clamped_scores,
    cases=[
        (randn(12, 8, seed=11), randn(12, 8, seed=12), 4),
        (randn(20, 16, seed=13), randn(20, 16, seed=14), 7),
        (randn(6, 8, seed=15), randn(6, 8, seed=16), 1),
        (randn(5, 4, seed=17), randn(5, 4, seed=18), 9),
        (randn(1, 4, seed=19), randn(1, 4, seed=20), 3),
    ],
    mistakes=[
        Mistake(
            "positions are clamped, not distances",
            "With your positions, how far apart do the last two tokens of a long text stand?",
            _clamped_positions,
        ),
        Mistake(
            "no key that a query may see is clamped",
            "Take the last query and the first key. What does your code do with this pair, and "
            "does `farthest` come into it?",
            _not_clamped_scores,
        ),
        Mistake(
            "far keys are turned ahead of the query, not back",
            "Turn the key on, and it stands after the query. Which of the two has to turn?",
            _other_side,
        ),
        Mistake(
            "far keys stand at the query's own place",
            "With neither turned, how far apart do they seem?",
            _far_at_no_distance,
        ),
        Mistake(
            "far keys are hidden",
            "This is just cutting. A far key is to be seen, as if it stood nearer.",
            _hidden,
        ),
        Mistake(
            "far keys have the score 0",
            "A score of 0 is a score. Which one would the key have at `farthest`?",
            _zeros,
        ),
        Mistake(
            "far keys stand one step too near",
            "Compare a key exactly `farthest` back with one beyond. What differs?",
            _one_too_near,
        ),
        Mistake(
            "far keys stand one step too far",
            "Compare a key exactly `farthest` back with one beyond. What differs?",
            _one_too_far,
        ),
        Mistake("the scores are not scaled", "By what does RoPE's score get divided?", _unscaled),
        Mistake(
            "only the near scores are scaled",
            "Do both kinds of scores get the same factor?",
            _far_half_scaled,
        ),
        Mistake(
            "all keys stand at `farthest`, the near ones too",
            "What of a key two steps back?",
            _all_far,
        ),
        Mistake(
            "all distances are squeezed: this is interpolation",
            "A near key should stay where it is. Does the one before?",
            _squeezed,
            lambda q, k, farthest: _squeezed_by(farthest / len(q), q, k),
        ),
        Mistake(
            "far keys repeat the score of another key, the one that stands `farthest` back",
            "Whose content should a far score show, and which of its parts alone is moved?",
            _copied,
        ),
        Mistake(
            "the far query is turned by `farthest`, and far keys by their own positions",
            "By which offset do your far query and key differ? Does the key's place still count?",
            _far_keys_still_turned,
        ),
        Mistake(
            "the far query is turned by its own position, and far keys not at all",
            "By which offset do your far query and key differ? Does the query's place still count?",
            _only_far_keys_unturned,
        ),
        Mistake(
            "far keys stand at position `farthest`, or at most there, not `farthest` back",
            "By which offset do your far query and key differ? Does the query's place still count?",
            _far_keys_at_farthest,
            _far_placed(_own, _held),
        ),
        Mistake(
            "far keys are moved up for the last query only",
            "With your keys, how far back does the first one seem to a query in the middle?",
            _keys_moved_to_the_last_query,
        ),
        Mistake(
            "the far query is turned on from where it stands",
            "By which offset do your far query and key differ, seen from each other?",
            _turned_twice,
        ),
        Mistake(
            "near and far are exchanged",
            "A key stands one step back. From which of your two matrices does it get its score?",
            _where(lambda back, farthest: back <= farthest),
        ),
        Mistake(
            "one distance too many counts as near",
            "Which key is the first that your condition calls far, and which one does the text?",
            _where(lambda back, farthest: back > farthest + 1),
        ),
        Mistake(
            "one distance too many counts as far",
            "Which key is the first that your condition calls far, and which one does the text?",
            _where(lambda back, farthest: back >= farthest - 1),
        ),
        Mistake(
            "far begins at `farthest`, and far keys stand one step nearer",
            "A key stands exactly `farthest` back. How far back is it with yours?",
            _near_by_one,
        ),
        Mistake(
            "far scores repeat the column of another key",
            "Whose content should a far score show, and which of its parts alone is moved?",
            _one_column,
        ),
        Mistake(
            "score values are held at `farthest`, not distances",
            "What is `farthest` a number of, and what is a score?",
            *(
                _scores_held(both_sides, *powers)
                for both_sides in (False, True)
                for powers in ((0, 0), (0.5, 0.5), (0.5, 0))
            ),
        ),
        Mistake(
            "queries and keys are brought to one length first",
            "Two keys point the same way, and one is twice as long. Does RoPE give them one score?",
            *(_of_one_length(power) for power in (0.0, 0.5, 1.0)),
        ),
        Mistake(
            "far keys keep RoPE's own score, only larger or smaller",
            "A key moves nearer. Is its new score the old one times a number, or is it turned?",
            _plain_far_times(lambda back, farthest: farthest / back),
            _plain_far_times(lambda back, farthest: back / farthest),
            _plain_far_times(lambda back, farthest: 1 / back),
            _plain_far_times(lambda back, farthest: (farthest / back).sqrt()),
        ),
        Mistake(
            "`farthest` is built in as a number",
            "Which of your numbers should come from the arguments?",
            *map(_clamped_at, (1, 2, 3, 4, 7, 8)),
        ),
        Mistake(
            "the number of features is built in",
            "Heads come in several widths. Where does d stand in q's shape?",
            *map(_scaled_for, (4, 8, 16, 32, 64, 128)),
        ),
        Mistake(
            "only the first key is clamped",
            "How many keys stand more than `farthest` back from the last query? Which of them does "
            "your condition reach?",
            _where(lambda back, farthest: (back > farthest) & (torch.arange(back.shape[1]) == 0)),
        ),
        Mistake(
            "only the last query's far keys are clamped",
            "Which queries have keys more than `farthest` back? Which does your condition reach?",
            _where(
                lambda back, farthest: (
                    (back > farthest) & (torch.arange(len(back)) == len(back) - 1)[:, None]
                )
            ),
        ),
        Mistake(
            "other features are paired: the first half of a head with the second",
            "Which two features does `turned` turn together, and which does yours?",
            _halves_turned,
        ),
        Mistake(
            "the scores are divided by the root of the number of pairs",
            "Is d in the scale the number of features or of pairs?",
            _scaled_by(lambda q: 2**0.5),
        ),
        Mistake(
            "in the near scores only one of the two is turned",
            "Two tokens stand one step apart, at the start of the text or at its end. Is their "
            "near score the same with yours?",
            *(
                _where(lambda back, farthest: back > farthest, near=near)
                for near in (
                    lambda q, k: _at(q, torch.arange(len(q))) @ k.T,
                    lambda q, k: q @ _at(k, torch.arange(len(k))).T,
                )
            ),
        ),
        Mistake(
            "in the near scores the offset has the wrong sign",
            "A query stands later than its key. Which of the two has turned further in yours?",
            *(
                _where(lambda back, farthest: back > farthest, near=near)
                for near in (
                    lambda q, k: _at(q, -torch.arange(len(q))) @ _at(k, -torch.arange(len(k))).T,
                )
            ),
        ),
        Mistake(
            "the far key is turned twice, by its own position and by `farthest`",
            "By which offset do your far query and key differ? Does the key's place still count?",
            _far_placed(_own, lambda positions, farthest: positions + farthest),
            _far_placed(
                lambda positions, farthest: torch.zeros_like(positions),
                lambda positions, farthest: positions + farthest,
            ),
        ),
        Mistake(
            "beyond `farthest` distances still grow, only more slowly",
            "Two keys stand beyond `farthest`, one farther than the other. Do they seem "
            "equally far with yours?",
            _at_distances(lambda back, farthest: farthest + (back - farthest) // 2),
            _at_distances(lambda back, farthest: farthest + (back - farthest) / 2),
            _at_distances(lambda back, farthest: farthest + (back - farthest) / 8),
            _at_distances(lambda back, farthest: farthest + (back - farthest).clamp(min=0).log1p()),
            _at_distances(
                lambda back, farthest: farthest * (1 + (back / farthest).clamp(min=1).log())
            ),
        ),
        Mistake(
            "beyond `farthest` distances begin anew",
            "With yours, how far back does a key seem that is twice `farthest` back?",
            _at_distances(lambda back, farthest: back % farthest),
            _at_distances(lambda back, farthest: back % (farthest + 1)),
        ),
        Mistake(
            "the scores are divided once too often",
            "By what does RoPE's score get divided, and how often do you do it?",
            _scaled_by(lambda q: q.shape[-1] ** -0.5),
            _scaled_by(lambda q: 1 / q.shape[-1]),
        ),
        Mistake(
            "the scores are multiplied where they should be divided",
            "Should scores of wider heads grow?",
            _scaled_by(lambda q: q.shape[-1]),
        ),
        Mistake(
            "the scale follows the length of the text",
            "Two texts of different length begin alike. Should the same two tokens differ in "
            "their score?",
            _scaled_by(lambda q: (q.shape[-1] / len(q)) ** 0.5),
        ),
        Mistake(
            "only the far scores are scaled",
            "Do both kinds of scores get the same factor?",
            _only_far_scaled,
        ),
        Mistake(
            "the far scores are scaled twice",
            "Do both kinds of scores get the same factor?",
            _far_scaled_by(-0.5),
        ),
        Mistake(
            "queries stand at `farthest` at most, keys where they are",
            "With yours, how far apart are the last query and the key of the same token?",
            _placed(_held, _own),
        ),
        Mistake(
            "keys stand at `farthest` at most, queries where they are",
            "With yours, how far apart are the last query and the key of the same token?",
            _placed(_own, _held),
        ),
        Mistake(
            "keys are moved, the near ones too",
            "With yours, how far apart are a query and the key of the same token?",
            _placed(_own, lambda positions, farthest: positions.clamp(min=farthest)),
            _placed(_own, lambda positions, farthest: (positions - farthest).clamp(min=0)),
            _placed(_own, lambda positions, farthest: positions - farthest),
        ),
        Mistake(
            "positions begin anew after `farthest`",
            "Two neighbours stand on the two sides of such a beginning. How far apart do they "
            "seem?",
            *(
                _placed(again, again)
                for again in (
                    lambda positions, farthest: positions % farthest,
                    lambda positions, farthest: positions % (farthest + 1),
                )
            ),
        ),
        Mistake(
            "far positions are divided: this is the grouping of Self-Extend",
            "Do all far keys stand equally far from a query with yours?",
            _far_placed(_grouped, _grouped),
            _far_placed(
                lambda positions, farthest: _grouped(positions, farthest) + farthest,
                _grouped,
            ),
        ),
        Mistake(
            "both are turned, the far query one way and the far key the other",
            "By how much do the turns of your far query and key differ?",
            _far_placed(
                lambda positions, farthest: torch.full_like(positions, farthest),
                lambda positions, farthest: torch.full_like(positions, -farthest),
            ),
        ),
        Mistake(
            "far keys stand back by the query's own position and `farthest` together",
            "By which offset do your far query and key differ? Does the query's place still count?",
            _far_placed(_own, lambda positions, farthest: torch.full_like(positions, -farthest)),
        ),
        Mistake(
            "all far keys stand at one place in the text",
            "How far back is that place for the last query, and for one in the middle?",
            _far_placed(
                _own,
                lambda positions, farthest: torch.full_like(
                    positions, len(positions) - 1 - farthest
                ),
            ),
            _far_placed(
                _own,
                lambda positions, farthest: torch.full_like(positions, len(positions) - farthest),
            ),
        ),
        Mistake(
            "far keys are moved back, each from where it stands",
            "By which offset do your far query and key differ? Does the key's place still count?",
            _far_placed(_own, lambda positions, farthest: (positions - farthest).clamp(min=0)),
        ),
        Mistake(
            "far scores repeat the row of another query",
            "Whose question should a far score hold, and which of its parts alone is moved?",
            _one_row,
        ),
        Mistake(
            "far keys are hidden",
            "This is just cutting. A far key is to be seen, as if it stood nearer.",
            *(
                answer
                for low in (-1e9, -1e4, float(torch.finfo(torch.float32).min))
                for answer in (_hidden_by(low), _hidden_after(low))
            ),
        ),
        Mistake(
            "query and key have changed places",
            "Whose row is it in the scores, the query's or the key's?",
            lambda q, k, farthest: _clamped_scores(k, q, farthest),
        ),
        Mistake(
            "the scores lie on their side",
            "Whose row is it in the scores, the query's or the key's?",
            lambda q, k, farthest: _clamped_scores(q, k, farthest).T,
        ),
        Mistake(
            "near scores know no positions",
            "Two keys of the same content stand one and two steps back. What makes their scores "
            "differ?",
            _where(lambda back, farthest: back > farthest, near=_plain),
        ),
        Mistake(
            "no score knows a position",
            "Two keys of the same content stand one and two steps back. What makes their scores "
            "differ?",
            lambda q, k, farthest: q @ k.T / q.shape[-1] ** 0.5,
        ),
        Mistake(
            "these are weights",
            "Which step of attention have you taken that the text does not ask for?",
            _weights,
            lambda q, k, farthest: _clamped_scores(q, k, farthest).softmax(-1),
            lambda q, k, farthest: _seen(_clamped_scores(q, k, farthest)).softmax(-1),
        ),
        Mistake(
            "one position is given for all rows",
            "How many positions does `turned` want for n rows?",
            _one_position,
            raises=r"angles must .*got \(1, \d+\)|parameter '(angles|positions)'|positions must",
        ),
        Mistake(
            "a position is given for each pair of query and key",
            "`turned` wants one for each row. Which turn of a query is the same for all far keys?",
            _position_for_each_pair,
            raises=r"angles must .*got \(\d+, \d+, \d+\)",
        ),
        Mistake(
            "two matrices of rows are multiplied, and no feature meets its like",
            "A score sums over the d features of a query and a key. Which of your two matrices "
            "has to lie on its side?",
            _not_transposed,
            raises="shapes cannot be multiplied|size mismatch|inconsistent tensor size",
        ),
        Mistake(
            "one question is put to all queries and keys at once, by `if`, `min` or `max`",
            "Some keys are near and some far. Which function of torch chooses for each?",
            _if_of_all_keys,
            raises="Boolean value of Tensor",
        ),
        Mistake(
            "the far scores of several keys are made one, their mean",
            "Whose content should a far score show, and which of its parts alone is moved?",
            _mean_of_all_keys,
            _mean_at_farthest,
        ),
        *(
            Mistake(
                f"the {which} of two scores is taken",
                "What decides between near and far: the scores, or how far back a key stands?",
                answer,
            )
            for which, answer in (("smaller", _smaller_score), ("larger", _larger_score))
        ),
        Mistake(
            "the key exactly `farthest` back gets both scores, added",
            "How often does the key exactly `farthest` back count?",
            _sum_of_two(
                lambda back, farthest: back <= farthest, lambda back, farthest: back >= farthest
            ),
        ),
        Mistake(
            "the key exactly `farthest` back gets no score",
            "How often does the key exactly `farthest` back count?",
            _sum_of_two(
                lambda back, farthest: back < farthest, lambda back, farthest: back > farthest
            ),
        ),
        Mistake(
            "far scores repeat the score of another query, the one `farthest` after the key",
            "Whose question should a far score hold, and which of its parts alone is moved?",
            _copied_down_the_column,
        ),
        Mistake(
            "all far scores are one number",
            "Two far keys differ in content. Should their scores be the same?",
            _one_score(lambda n, farthest: farthest),
            _one_score(lambda n, farthest: n - 1),
        ),
        Mistake(
            "in the far scores positions are clamped, not distances",
            "With your far positions, how far back does the first key seem, and how far the next?",
            _far_placed(_held, _held),
        ),
        Mistake(
            "near scores come from clamped positions",
            "Two neighbours stand late in the text. How far apart are they with your positions?",
            _near_at_clamped_positions,
        ),
        Mistake(
            "products of query and key are turned",
            "RoPE turns a vector before it meets another. Which vector do you turn?",
            _products_turned,
        ),
        Mistake(
            "the place of one of the two decides what is far",
            "A query and its own key stand late in the text. How far apart are they, and what "
            "does your condition call them?",
            _late_queries_far,
            _late_keys_far,
        ),
        Mistake(
            "queries stand at `farthest` at least and keys at `farthest` at most",
            "With yours, how far apart are the first query and the key of the same token?",
            _placed(
                lambda positions, farthest: positions.clamp(min=farthest),
                lambda positions, farthest: positions.clamp(max=farthest),
            ),
        ),
        Mistake(
            "each query has keys no nearer than `farthest` back",
            "With yours, how far back does the key just before a query seem?",
            _keys_kept_away,
        ),
        Mistake(
            "the offset has the wrong sign",
            "A query stands later than its key. Which of the two has turned further in yours?",
            lambda q, k, farthest: _turned_by_each_distance(q, k, farthest, -1),
        ),
    ],
    hints=(
        "A score under RoPE knows the difference of two turns only. Which two turns give exactly "
        "`farthest`, for every query and every key?",
        "Make two matrices of scores, one for near keys and one for far ones, and choose between "
        "them with torch.where.",
        "For the far matrix give every query one and the same turn, and every key one and the "
        "same, two turns that differ by `farthest`. Steps back are positions[:, None] − positions.",
    ),
    rules=[Without((_clamped_scores, ClampedRotary.bias))],
    judge=_judge_clamped,
    effect=_seen,
)


def _first_unfinished(d: int, base: float, trained: float, angle: float = 2 * math.pi) -> int:
    """Return the first pair that does not turn by ``angle`` in training; d/2 if all do."""
    for m in range(d // 2):
        if trained * base ** (-2 * m / d) < angle:
            return m
    return d // 2


def _factor_of_pair(m: float, d: int, trained: int, target: int) -> float:
    """Return the factor that slows pair m by target/trained."""
    return (target / trained) ** ((d - 2) / (2 * m))


def _ntk_factor(d: int, base: float, trained: int, target: int) -> float:
    m = _first_unfinished(d, base, trained)
    return 1.0 if m == d // 2 else _factor_of_pair(m, d, trained, target)


def _always_slowed(d: int, base: float, trained: int, target: int) -> float:
    return _factor_of_pair(_first_unfinished(d, base, trained), d, trained, target)


def _one_pair_too_early(d: int, base: float, trained: int, target: int) -> float:
    return _factor_of_pair(_first_unfinished(d, base, trained) - 1, d, trained, target)


def _exponent_of_theta(d: int, base: float, trained: int, target: int) -> float:
    return _always_slowed(d, base, trained, target) ** (d / (d - 2))


def _inverted_power(d: int, base: float, trained: int, target: int) -> float:
    return (target / trained) ** (2 * _first_unfinished(d, base, trained) / (d - 2))


def _between_two_pairs(d: int, base: float, trained: int, target: int) -> float:
    m = d / 2 * math.log(trained / (2 * math.pi), base)
    return _factor_of_pair(m, d, trained, target)


def _radians_for_turns(d: int, base: float, trained: int, target: int) -> float:
    m = _first_unfinished(d, base, trained, angle=1.0)
    return _factor_of_pair(m, d, trained, target)


def _scaled_base(d: int, base: float, trained: int, target: int) -> float:
    return base * _ntk_factor(d, base, trained, target) ** (d / (d - 2))


check_ntk_factor = Check(
    "ntk_factor",
    _ntk_factor,
    cases=[
        (128, 10_000.0, 4096, 32_768),
        (32, 10_000.0, 64, 512),
        (64, 500_000.0, 8192, 131_072),
        (16, 100.0, 64, 160),
        (32, 10_000.0, 64, 64),
        (8, 10.0, 100, 400),
    ],
    mistakes=[
        Mistake(
            "this is the factor of the slowest pair",
            "Of the pairs that must be slowed by the extension, which is slowed least?",
            lambda d, base, trained, target: target / trained,
        ),
        Mistake(
            "the pair you take has finished a turn in training",
            "It has seen all angles. Which is the fastest that has not?",
            _one_pair_too_early,
        ),
        Mistake(
            "the exponent is that of b^(−2m/d)",
            "A factor of s makes the base b · s^(d/(d−2)). What is the power of s in θ then?",
            _exponent_of_theta,
        ),
        Mistake(
            "the power is the wrong way round",
            "You know by how much the pair is to be slowed, and look for the factor. Which is s?",
            _inverted_power,
        ),
        Mistake(
            "the edge lies between two pairs",
            "Pairs have whole numbers. Which is the first that makes no whole turn?",
            _between_two_pairs,
        ),
        Mistake(
            "a radian is taken for a turn",
            "By which angle has a hand turned that has seen every direction?",
            _radians_for_turns,
        ),
        Mistake(
            "a pair is slowed although all have finished a turn",
            "Where no pair meets a new angle, which factor is enough?",
            _always_slowed,
        ),
        Mistake(
            "this is the base, not the factor",
            "Which argument does NTK(…) take?",
            _scaled_base,
        ),
    ],
    hints=(
        "Print which pairs finish a turn within the trained length. Only the others can meet new "
        "angles. By how much must each of them be slowed at least?",
        "All of them by target/trained. A factor of s slows pair m by s^(2m/(d−2)), slow pairs "
        "more. So one pair decides.",
        "It is the first m with trained · θ_m < 2π. Solve s^(2m/(d−2)) = target/trained for s. If "
        "there is no such m, the factor is 1.",
    ),
)


def _turned(
    x: Tensor, positions: Tensor, base: float, scaling: Scaling | None, length: float
) -> Tensor:
    """Turn (seq, d) at these positions, under the frequencies for a text of this length."""
    frequencies, _ = scaled_frequencies(x.shape[-1], base, scaling, length)
    return apply_rope(x, rope_angles(positions, frequencies))


def _scores(query: Tensor, keys: Tensor) -> Tensor:
    """Return the scores of a turned query, (1, d), with turned keys, (seq, d)."""
    return keys @ query[0] / query.shape[-1] ** 0.5


def _cached_scores(
    q: Tensor, keys: Tensor, trained: int, base: float, *, uncounted: int = 0, ahead: int = 0
) -> Tensor:
    """Return the right scores, or those with tokens uncounted or the query too far ahead."""
    scaling, positions = DynamicNTK(1.0, trained), torch.arange(len(keys))
    length = len(keys) - uncounted
    query = _turned(q[None], positions[-1:] + ahead, base, scaling, length)
    return _scores(query, _turned(keys, positions, base, scaling, length))


def _each_key_at_its_moment(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    scaling, positions = DynamicNTK(1.0, trained), torch.arange(len(keys))
    cached = [
        _turned(keys[p : p + 1], positions[p : p + 1], base, scaling, p + 1.0)
        for p in range(len(keys))
    ]
    query = _turned(q[None], positions[-1:], base, scaling, len(keys))
    return _scores(query, torch.cat(cached))


def _with_scalings(
    q: Tensor, keys: Tensor, base: float, of_query: Scaling | None, of_keys: Scaling | None
) -> Tensor:
    positions, length = torch.arange(len(keys)), len(keys)
    query = _turned(q[None], positions[-1:], base, of_query, length)
    return _scores(query, _turned(keys, positions, base, of_keys, length))


def _interpolated(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    scaling = Linear(max(len(keys) / trained, 1))
    return _with_scalings(q, keys, base, scaling, scaling)


def _keys_unscaled(q: Tensor, keys: Tensor, trained: int, base: float) -> Tensor:
    return _with_scalings(q, keys, base, DynamicNTK(1.0, trained), None)


check_cached_scores = Check(
    "cached_scores",
    _cached_scores,
    cases=[
        (randn(8, seed=1), randn(24, 8, seed=2), 8, 100.0),
        (randn(16, seed=3), randn(40, 16, seed=4), 10, 10000.0),
        (randn(8, seed=5), randn(6, 8, seed=6), 12, 100.0),
    ],
    mistakes=[
        Mistake(
            "every key keeps the base of its own moment",
            "An early and a late key were turned under two bases. What does their offset to the "
            "query still say?",
            _each_key_at_its_moment,
        ),
        Mistake(
            "the query has the new base, the keys the old one",
            "Put query and key at the same position and turn both. Do the turns cancel?",
            _keys_unscaled,
        ),
        Mistake(
            "the base has not grown",
            "There are more keys than the trained length. What does dynamic NTK do then?",
            lambda q, keys, trained, base: _with_scalings(q, keys, base, None, None),
        ),
        Mistake(
            "the new token is not counted",
            "With positions 0 … n − 1, how many are in use?",
            lambda q, keys, trained, base: _cached_scores(q, keys, trained, base, uncounted=1),
        ),
        Mistake(
            "the query stands one position too far",
            "The query is the newest token, and its own key is the last. Which position is that?",
            lambda q, keys, trained, base: _cached_scores(q, keys, trained, base, ahead=1),
        ),
        Mistake(
            "positions are interpolated",
            "Dynamic NTK leaves the fastest pair alone. Are neighbours still a whole step apart "
            "with yours?",
            _interpolated,
        ),
    ],
    hints=(
        "How many positions are in use when the query comes? Under which frequencies must both "
        "sides of a dot product have been turned?",
        "What can a cache store so that it stays right when the base changes?",
        "Get frequencies once, for length n, with DynamicNTK(1.0, trained); turn all keys and the "
        "query with them.",
    ),
)


# Nats above a shipped model's loss as it was trained, at its own 64 bytes, by its seed: at 64 and
# at 512 bytes. At 512 the step has 0.49 with both.
MOST = {0: (0.15, 0.45), 1: (0.15, 0.485)}
_BASE = 10_000.0


@cache
def _losses(factors: tuple[float, ...] | None, seed: int) -> tuple[float, float]:
    """Return a shipped model's loss at 64 and 512 bytes, on text that the lesson never shows."""
    trained = shipped.length("rope")
    scaling = None if factors is None else LongRoPE(list(factors), 1.0, trained)
    model = shipped.model("rope", seed=seed, scaling=scaling)
    passages = text.split(text.documentation()).held_out[[1, 3, 4], :1025]
    at_64, _ = sliding_loss(model, passages, 64, 512)
    at_512, _ = sliding_loss(model, passages, 512, 512)
    return at_64, at_512


def _turns(d: int, trained: int) -> Tensor:
    """Return how many turns each pair makes in training, (d/2,)."""
    return (trained * rope_frequencies(d, _BASE) / (2 * math.pi)).float()


_TURNS_OF_SHIPPED_MODEL = _turns(32, 64)


def _judge_factors(factors: Any, turns: Tensor, s: float) -> str:
    """Say what is wrong with factors, (d/2,), for a context that grows s times.

    Those for the shipped model are judged by its losses, others by what must hold for any head.
    """
    if not isinstance(factors, Tensor) or factors.shape != turns.shape:
        kind = f"shape {tuple(factors.shape)}" if isinstance(factors, Tensor) else repr(factors)
        return f"expected a tensor with a factor for each of {len(turns)} pairs, got {kind:.80}."
    factors = factors.detach().float()
    if not bool((factors.isfinite() & (factors > 0)).all()):
        low, high = factors.min(), factors.max()
        return f"factors are above 0 and finite; yours run from {low} to {high}."
    if torch.equal(turns, _TURNS_OF_SHIPPED_MODEL):
        return _judge_by_losses(factors)
    if bool((factors[turns >= 32] > 1.05).any()):
        return "pairs that make more than 32 turns are slowed: neighbours come closer together."
    if bool((factors[turns < 1 / s] < 0.95 * s).any()):
        return f"pairs that make less than 1/{s:g} of a turn meet new angles: slow them by {s:g}."
    return ""


def _judge_by_losses(factors: Tensor) -> str:
    for seed, (most_at_64, most_at_512) in MOST.items():
        unchanged, _ = _losses(None, seed)
        at_64, at_512 = _losses(tuple(factors.tolist()), seed)
        if at_64 - unchanged > most_at_64 or at_512 - unchanged > most_at_512:
            return (
                f"the shipped model of seed {seed} loses {at_64 - unchanged:.2f} nats at 64 bytes "
                f"and {at_512 - unchanged:.2f} at 512. At most {most_at_64} and {most_at_512} are "
                "allowed."
            )
    return ""


def _ramp(turns: Tensor, s: float) -> Tensor:
    """Return factors with a ramp in the logarithm of the turns, from 0.5 to 5.7."""
    share_kept = ((turns / 0.5).log() / math.log(5.7 / 0.5)).clamp(0, 1)
    return 1 / (share_kept + (1 - share_kept) / s)


def _step(turns: Tensor, s: float) -> Tensor:
    return torch.where(turns >= 1, 1.0, s)


check_factors = Check(
    "factors",
    _ramp,
    cases=[(_TURNS_OF_SHIPPED_MODEL, 8.0), (_turns(128, 4096), 8.0), (_turns(128, 2048), 32.0)],
    mistakes=[
        Mistake(
            "all pairs are slowed: this is interpolation",
            "What becomes of the loss at 64 bytes if the fast pairs are slowed too?",
            lambda turns, s: torch.full_like(turns, s),
        ),
        Mistake(
            "no pair is slowed",
            "Which angles do the slow pairs reach at 512 bytes?",
            lambda turns, s: torch.ones_like(turns),
        ),
        Mistake(
            "the wrong pairs are slowed",
            "One pair makes 10 turns in training, another 0.01. Which needs to be slowed?",
            lambda turns, s: torch.where(turns >= 1, s, 1.0),
        ),
        Mistake(
            "these are the new speeds, not the factors by which pairs are slowed",
            "With a factor of 8 a pair turns 8 times as slowly. Which of your factors are above 1?",
            lambda turns, s: 1 / _step(turns, s),
        ),
        Mistake(
            "this is the larger base of NTK-aware scaling",
            "Which pairs between fast and slow does it slow too little?",
            lambda turns, s: s ** (torch.arange(len(turns)) / (len(turns) - 1)),
        ),
        Mistake(
            "pairs are counted, and their turns are ignored",
            "How many pairs finish a turn here, and how many in a head of 64 pairs?",
            lambda turns, s: torch.where(torch.arange(len(turns)) < 3, 1.0, s),
        ),
        Mistake(
            "this is the step",
            "It is good at 64 bytes and a little too high at 512. Where it jumps, could a pair be "
            "slowed by something between 1 and s?",
            _step,
        ),
        Mistake(
            "the factors grow evenly from pair to pair",
            "Of the pairs that finished a turn, how many do you slow by more than 2?",
            lambda turns, s: torch.linspace(1.0, s, len(turns)),
        ),
    ],
    hints=(
        "At the two ends there is no choice. Print the turns: which three or four pairs are left?",
        "Change one pair at a time with both_losses. What does the pair that makes 1.02 turns "
        "like, and the next one, with 0.57?",
        "Between 1 and s, a ramp: from 1 for pairs with 5.7 turns to s for those with half a turn, "
        "in the logarithm of the turns. Or the step, but with 0.57 turns slowed by 6, not by 8.",
    ),
    judge=_judge_factors,
)
