"""Checks for lesson 05: keys of a cache moved together, and the layout of an unknown RoPE."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies


def _turn(x: Tensor, steps: Tensor, base: float, layout: str = "interleaved") -> Tensor:
    """Turn (…, n, d) by so many positions, (n,)."""
    return apply_rope(x, rope_angles(steps, rope_frequencies(x.shape[-1], base)), layout)


def _new_positions(kept: Tensor) -> Tensor:
    return torch.arange(len(kept))


def _turned_by(steps: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor, float], Tensor]:
    """Return an answer that picks the kept keys and turns them by so many positions."""
    return lambda keys, kept, base: _turn(keys[..., kept, :], steps(kept), base)


def _closed(keys: Tensor, kept: Tensor, base: float, layout: str = "interleaved") -> Tensor:
    return _turn(keys[..., kept, :], _new_positions(kept) - kept, base, layout)


def _moved_by_one_distance(keys: Tensor, kept: Tensor, base: float) -> Tensor:
    dropped = keys.shape[-2] - len(kept)
    return _turn(keys[..., kept, :], torch.full_like(kept, -dropped), base)


def _first_rows(keys: Tensor, kept: Tensor, base: float) -> Tensor:
    return _turn(keys[..., : len(kept), :], torch.zeros_like(kept), base)


def _cache(*size: int, base: float = 10_000.0, seed: int = 0) -> Tensor:
    """Return random keys, turned at positions 0, 1, 2 and so on."""
    return _turn(randn(*size, seed=seed), torch.arange(size[-2]), base)


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
            "the keys are turned further, away from their new positions",
            "A key that stood at 25 is to stand at 4. Must it turn forwards or back?",
            _turned_by(lambda kept: kept - _new_positions(kept)),
        ),
        Mistake(
            "keys that had turned already are turned by their new positions on top",
            "The key at position 25 has turned by 25 θ. By how much in all, after your turn?",
            _turned_by(_new_positions),
        ),
        Mistake(
            "the keys are back where they were before any turn",
            "You undo the old turn. What about the new position?",
            _turned_by(lambda kept: -kept),
        ),
        Mistake(
            "the rows are picked, and each still stands at its old position",
            "Is the key from 25 turned by its position among the kept keys, or by its old one?",
            lambda keys, kept, base: keys[..., kept, :].clone(),
        ),
        Mistake(
            "all keys move by one distance",
            "The first tokens stay where they are, and those after the gap move. By how much does "
            "each of them?",
            _moved_by_one_distance,
        ),
        Mistake(
            "all keys move as the first one does",
            "By how much must the last of the kept keys move?",
            _turned_by(lambda kept: -kept[:1].expand(len(kept))),
        ),
        Mistake(
            "the base is not used",
            "How fast do the pairs turn when the base is 500?",
            lambda keys, kept, base: _closed(keys, kept, 10_000.0),
        ),
        Mistake(
            "features are paired by halves",
            "Which two features form pair 0 in the layout of the exercise?",
            lambda keys, kept, base: _closed(keys, kept, base, "half"),
        ),
        Mistake(
            "the first rows are kept, not the ones in `kept`",
            "Which rows of the cache does `kept` name?",
            _first_rows,
        ),
        Mistake(
            "the rows are turned by other tokens' moves",
            "Key number 4 of the kept ones comes from position 25. Where does it go?",
            _turned_by(lambda kept: (_new_positions(kept) - kept).flip(0)),
        ),
    ],
    hints=(
        "A key was turned by its old position times θ. You may turn it once more. By how much "
        "should it have turned in all?",
        "Two turns one after the other are a single turn, by the sum of both angles. Turns may be "
        "negative.",
        "Pick the rows `kept` on the last axis but one, then turn row n by n − kept[n] positions.",
    ),
)


Turn = Callable[[Tensor, float], Tensor]


class _Rope:
    """RoPE in a layout of its own: any two features may be a pair, and some need not turn.

    Args:
        first, second: the features of each pair.
        speeds: of each pair, radians a position.
        name: what messages call it.
    """

    def __init__(self, first: list[int], second: list[int], speeds: Tensor, name: str) -> None:
        self.first, self.second, self.speeds, self.__name__ = first, second, speeds, name

    def __call__(self, x: Tensor, position: float) -> Tensor:
        """Return vectors (…, d), all turned as at this position."""
        cos = torch.cos(position * self.speeds).to(x.dtype)
        sin = torch.sin(position * self.speeds).to(x.dtype)
        a, b = x[..., self.first], x[..., self.second]
        out = x.clone()
        out[..., self.first] = a * cos - b * sin
        out[..., self.second] = a * sin + b * cos
        return out


def _neighbours(d: int, turning: int | None = None) -> _Rope:
    """Pairs of neighbours among the first ``turning`` features; the others do not turn."""
    turning = turning or d
    first, second = list(range(0, turning, 2)), list(range(1, turning, 2))
    return _Rope(first, second, rope_frequencies(turning), "neighbours")


def _halves(d: int, backwards: bool = False) -> _Rope:
    """Pairs of a feature in the first half and one in the second."""
    speeds = rope_frequencies(d) * (-1 if backwards else 1)
    return _Rope(list(range(d // 2)), list(range(d // 2, d)), speeds, "halves")


def _shuffled(d: int, still: int) -> _Rope:
    """Pairs of any two features; the slowest ``still`` pairs do not turn."""
    order = torch.randperm(d, generator=torch.Generator().manual_seed(d)).tolist()
    speeds = rope_frequencies(d, 500_000.0)
    speeds[len(speeds) - still :] = 0
    return _Rope(order[::2], order[1::2], speeds, "shuffled")


def _spread(turn: Turn, d: int, position: float) -> Tensor:
    """Return in row a how far feature a alone spreads to each other feature at this position."""
    return turn(torch.eye(d), position).abs().fill_diagonal_(0)


def _partners(turn: Turn, d: int, least: float = 0.0) -> Tensor:
    """Return each feature's partner; its own number where no more than ``least`` spreads."""
    largest, partner = _spread(turn, d, 1.0).max(-1)
    return torch.where(largest > least, partner, torch.arange(d))


def _one_direction(turn: Turn, d: int) -> Tensor:
    largest, partner = turn(torch.eye(d), 1.0).fill_diagonal_(0).max(-1)
    return torch.where(largest > 0, partner, torch.arange(d))


check_partners = Check(
    "partners",
    _partners,
    cases=[
        (_neighbours(8), 8),
        (_halves(8), 8),
        (_neighbours(2), 2),
        (_halves(64, backwards=True), 64),
        (_neighbours(16, turning=4), 16),
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
            lambda turn, d: (torch.arange(d) + d // 2) % d,
        ),
        *(
            Mistake(
                "slow pairs are treated as if they stood still",
                "In one step the slowest pair turns by 0.0001 or less. How much of it reaches its "
                "partner, and where does your code draw the line?",
                partial(_partners, least=least),
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
            "features that never turn get feature 0 as their partner",
            "What does argmax return for a row that holds nothing but zeros?",
            lambda turn, d: _spread(turn, d, 1.0).argmax(-1),
        ),
        Mistake(
            "nothing has turned",
            "By how much does anything turn at position 0?",
            lambda turn, d: torch.arange(d),
        ),
        Mistake(
            "one direction of each pair is missed",
            "Turning (1, 0) makes the other number positive, turning (0, 1) makes it negative. Do "
            "you notice both?",
            _one_direction,
        ),
    ],
    hints=(
        "You may give `turn` any vector you like. Which vector shows where feature 0 goes?",
        "The rows of torch.eye(d) are vectors with a single 1. After the turn, where else is a row "
        "not 0?",
        "Take turn(torch.eye(d), 1), without signs, set the diagonal to 0, and see where each row "
        "is largest. Rows of zeros belong to features that never turn.",
    ),
)
