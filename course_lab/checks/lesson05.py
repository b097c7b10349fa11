"""Checks for lesson 05: keys of a cache moved together, and the layout of somebody's RoPE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, numbers
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


def _turn(x: Tensor, by: Tensor, base: float, layout: str = "interleaved") -> Tensor:
    """Turn (…, n, d) by so many positions, (n,)."""
    return apply_rope(x, rope_angles(by, rope_frequencies(x.shape[-1], base)), layout)


def _new(kept: Tensor) -> Tensor:
    return torch.arange(len(kept))


def _closed(keys: Tensor, kept: Tensor, base: float, layout: str = "interleaved") -> Tensor:
    return _turn(keys[..., kept, :], _new(kept) - kept, base, layout)


def _cache(*size: int, base: float = 10_000.0, seed: int = 0) -> Tensor:
    """Random keys, turned at 0, 1, 2 and so on."""
    return _turn(numbers(*size, seed=seed), torch.arange(size[-2]), base)


check_closed = Check(
    "closed",
    _closed,
    cases=[
        (_cache(6, 2), torch.tensor([0, 1, 4, 5]), 10_000.0),
        (_cache(2, 40, 16, seed=1), torch.tensor([0, 1, 2, 3, *range(25, 40)]), 10_000.0),
        (_cache(1, 3, 30, 8, base=500.0, seed=2), torch.tensor([2, 3, 11, 12, 20, 29]), 500.0),
        (_cache(12, 64, seed=3), torch.arange(5, 12), 10_000.0),
        (_cache(2, 5, 4, seed=4), torch.arange(5), 10_000.0),
        (_cache(3, 9, 8, base=100.0, seed=5), torch.tensor([8]), 100.0),
    ],
    mistakes=[
        Mistake(
            "the keys are turned on, away from their new places",
            "A key that stood at 25 shall stand at 4. Must it turn forwards or back?",
            lambda keys, kept, base: _turn(keys[..., kept, :], kept - _new(kept), base),
        ),
        Mistake(
            "keys that had turned already are turned by their new places on top",
            "The key at place 25 has turned by 25 θ. By how much in all, after yours?",
            lambda keys, kept, base: _turn(keys[..., kept, :], _new(kept), base),
        ),
        Mistake(
            "the keys are back where they were before any turn",
            "You undo the old turn. What about the new place?",
            lambda keys, kept, base: _turn(keys[..., kept, :], -kept, base),
        ),
        Mistake(
            "the rows are picked, and each still stands at its old place",
            "Is the key at 25 turned by its place among the kept ones, or by the old one?",
            lambda keys, kept, base: keys[..., kept, :].clone(),
        ),
        Mistake(
            "all keys move by one distance",
            "The first tokens stay where they are, and those after the gap move. By how much does "
            "each?",
            lambda keys, kept, base: _turn(
                keys[..., kept, :], (len(kept) - keys.shape[-2]) * torch.ones_like(kept), base
            ),
        ),
        Mistake(
            "all keys move as the first one does",
            "By how much must the last of the kept keys move?",
            lambda keys, kept, base: _turn(keys[..., kept, :], -kept[:1].expand(len(kept)), base),
        ),
        Mistake(
            "the base is not used",
            "How fast do the pairs turn when the base is 500?",
            lambda keys, kept, base: _closed(keys, kept, 10_000.0),
        ),
        Mistake(
            "features are paired by halves",
            "Which two features form pair 0 in the layout that was asked for?",
            lambda keys, kept, base: _closed(keys, kept, base, "half"),
        ),
        Mistake(
            "the first rows are kept, not those that were asked for",
            "Which rows of the cache does `kept` name?",
            lambda keys, kept, base: _turn(
                keys[..., : len(kept), :], torch.zeros(len(kept), dtype=torch.long), base
            ),
        ),
        Mistake(
            "the rows are turned by other tokens' moves",
            "Key number 4 of the kept ones comes from place 25. Which number says where it goes?",
            lambda keys, kept, base: _turn(keys[..., kept, :], (_new(kept) - kept).flip(0), base),
        ),
    ],
    hints=(
        "A key was turned by its old place times θ. You may turn it once more. By how much in all "
        "should it have turned?",
        "Two turns one after the other are one turn, by the sum of both angles. Turns may be "
        "negative.",
        "Pick the rows `kept` on the last axis but one, then turn row n by n − kept[n] positions.",
    ),
)


Turn = Callable[[Tensor, float], Tensor]


class _Own:
    """Somebody's RoPE: which features are paired is theirs, in any order, and some do not turn.

    Args:
        first, second: the features of each pair.
        speeds: of each pair, radians a position.
        name: what messages call it.
    """

    def __init__(self, first: list[int], second: list[int], speeds: Tensor, name: str) -> None:
        self.first, self.second, self.speeds, self.__name__ = first, second, speeds, name

    def __call__(self, x: Tensor, p: float) -> Tensor:
        """Vectors (…, d), all turned as at place p."""
        cos, sin = (f(p * self.speeds).to(x.dtype) for f in (torch.cos, torch.sin))
        out, a, b = x.clone(), x[..., self.first], x[..., self.second]
        out[..., self.first], out[..., self.second] = a * cos - b * sin, a * sin + b * cos
        return out


def _neighbours(d: int, turned: int | None = None) -> _Own:
    """Pairs of neighbours among the first ``turned`` features; the rest never turn."""
    turned = turned or d
    speeds = rope_frequencies(turned)
    return _Own([*range(0, turned, 2)], [*range(1, turned, 2)], speeds, "neighbours")


def _halves(d: int, back: bool = False) -> _Own:
    speeds = rope_frequencies(d) * (-1 if back else 1)
    return _Own([*range(d // 2)], [*range(d // 2, d)], speeds, "halves")


def _shuffled(d: int, still: int) -> _Own:
    """Any two features are a pair; the slowest ``still`` pairs have speed 0."""
    order = torch.randperm(d, generator=torch.Generator().manual_seed(d)).tolist()
    speeds = rope_frequencies(d, 500_000.0)
    speeds[len(speeds) - still :] = 0
    return _Own(order[::2], order[1::2], speeds, "shuffled")


def _asked(turn: Turn, d: int, p: float) -> Tensor:
    """Row a: by how much feature a alone spreads to the other features at place p."""
    return turn(torch.eye(d), p).abs().fill_diagonal_(0)


def _partners(turn: Turn, d: int) -> Tensor:
    largest, partner = _asked(turn, d, 1.0).max(-1)
    return torch.where(largest > 0, partner, torch.arange(d))


def _above(turn: Turn, d: int, least: float) -> Tensor:
    spread = _asked(turn, d, 1.0)
    return torch.where(spread.amax(-1) > least, spread.argmax(-1), torch.arange(d))


def _half_partners(turn: Turn, d: int) -> Tensor:
    return (torch.arange(d) + d // 2) % d


check_partners = Check(
    "partners",
    _partners,
    cases=[
        (_neighbours(8), 8),
        (_halves(8), 8),
        (_neighbours(2), 2),
        (_halves(64, back=True), 64),
        (_neighbours(16, turned=4), 16),
        (_shuffled(32, still=0), 32),
        (_shuffled(12, still=2), 12),
    ],
    mistakes=[
        Mistake(
            "neighbours are taken for granted",
            "What does `turn` do to a vector that is 1 in feature 0 and 0 elsewhere?",
            lambda turn, d: torch.arange(d) ^ 1,
        ),
        Mistake(
            "halves are taken for granted",
            "What does `turn` do to a vector that is 1 in feature 0 and 0 elsewhere?",
            _half_partners,
        ),
        *(
            Mistake(
                "the slow pairs are taken for still",
                "In one step the slowest pair turns by 0.0001 or less. How much arrives at its "
                "partner, and where does your code draw the line?",
                partial(_above, least=least),
            )
            for least in (0.1, 0.01, 0.001)
        ),
        Mistake(
            "a feature's own number comes out where it still points mostly to itself",
            "After a small turn, which is the largest number in a row: the feature itself, or its "
            "partner? Which of the two is asked for?",
            lambda turn, d: turn(torch.eye(d), 1.0).abs().argmax(-1),
        ),
        Mistake(
            "features that never turn have got feature 0 as a partner",
            "What does argmax say of a row that holds nothing but zeros?",
            lambda turn, d: _asked(turn, d, 1.0).argmax(-1),
        ),
        Mistake(
            "nothing has turned",
            "By how much does anything turn at place 0?",
            lambda turn, d: _above(turn, d, 1e9),
        ),
        Mistake(
            "one direction of each pair is missed",
            "A turn of (1, 0) makes one number positive, a turn of (0, 1) one negative. Do you see "
            "both?",
            lambda turn, d: torch.where(
                (turn(torch.eye(d), 1.0) * (1 - torch.eye(d))).amax(-1) > 0,
                (turn(torch.eye(d), 1.0) * (1 - torch.eye(d))).argmax(-1),
                torch.arange(d),
            ),
        ),
    ],
    hints=(
        "You may give `turn` any vector you like. Which one tells where feature 0 goes?",
        "The rows of torch.eye(d) are vectors with a single 1. After the turn, where else is a row "
        "not 0?",
        "Take turn(torch.eye(d), 1), without signs, set the diagonal to 0, and see where each row "
        "is largest. Rows of zeros belong to features that never turn.",
    ),
)
