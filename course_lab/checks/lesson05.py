"""Checks for lesson 05: RoPE, keys of a cache moved together, the layout of an unknown RoPE."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies
from course_utils.encodings.rope import Rotary, rotate_pairs


def _turn(x: Tensor, steps: Tensor, base: float, layout: str = "interleaved") -> Tensor:
    """Turn (…, n, d) by so many positions, (n,)."""
    return apply_rope(x, rope_angles(steps, rope_frequencies(x.shape[-1], base)), layout)


def _with_speeds(exponents: Callable[[int], Tensor]) -> Callable[[Tensor, Tensor, float], Tensor]:
    """Return an answer whose pairs have the speeds base ** exponents(d), (d / 2,)."""

    def answer(x: Tensor, positions: Tensor, base: float) -> Tensor:
        return apply_rope(x, rope_angles(positions, base ** exponents(x.shape[-1])))

    return answer


def _with_parts(
    parts: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> Callable[[Tensor, Tensor, float], Tensor]:
    """Return an answer that makes both new features of each pair from a, b, cos and sin."""

    def answer(x: Tensor, positions: Tensor, base: float) -> Tensor:
        angles = rope_angles(positions, rope_frequencies(x.shape[-1], base))
        a, b = x[..., 0::2].double(), x[..., 1::2].double()
        turned = parts(a, b, angles.cos(), angles.sin())
        return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)

    return answer


def _written_out(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turn without the library's functions, which the exercise forbids."""
    d = x.shape[-1]
    angles = positions[:, None] * base ** (-_even(d) / d)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2].double(), x[..., 1::2].double()
    turned = torch.stack([a * cos - b * sin, a * sin + b * cos], dim=-1)
    return turned.flatten(-2).to(x.dtype)


def _overwriting(a: Tensor, b: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    first = a * cos - b * sin
    return first, first * sin + b * cos


def _firsts_before_seconds(x: Tensor, positions: Tensor, base: float) -> Tensor:
    turned = _turn(x, positions, base)
    return torch.cat([turned[..., 0::2], turned[..., 1::2]], dim=-1)


def _angles_of_halves(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Turn neighbours with cos and sin repeated as halves need them."""
    angles = rope_angles(positions, rope_frequencies(x.shape[-1], base)).repeat(1, 2)
    a, b = x[..., 0::2], x[..., 1::2]
    quarter = torch.stack([-b, a], dim=-1).flatten(-2)
    return (x * angles.cos() + quarter * angles.sin()).to(x.dtype)


def _with_angles(
    angles: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, Tensor, float], Tensor]:
    """Return an answer that turns by angles (n, d/2), made from positions and speeds."""

    def answer(x: Tensor, positions: Tensor, base: float) -> Tensor:
        return apply_rope(x, angles(positions[:, None], rope_frequencies(x.shape[-1], base)))

    return answer


def _scaled_angles(positions: Tensor, speeds: Tensor, factor: float) -> Tensor:
    return positions * speeds * factor


def _written_with_quarter(
    angles: Callable[[Tensor, Tensor], Tensor], halves: bool
) -> Callable[[Tensor, Tensor, float], Tensor]:
    """Return x·cos + quarter(x)·sin, with angles (n, d) made from positions and the exponents.

    Args:
        angles: a function of positions, (n, 1), and of base ** (−m/d) at m = 0 … d − 1, (d,).
        halves: whether a quarter turn takes halves of a row for pairs, or neighbours.
    """

    def answer(x: Tensor, positions: Tensor, base: float) -> Tensor:
        d = x.shape[-1]
        exponents = torch.arange(d, dtype=torch.float64) / d
        all_angles = angles(positions[:, None], base**-exponents)
        if halves:
            a, b = x.chunk(2, dim=-1)
            quarter = torch.cat([-b, a], dim=-1)
        else:
            quarter = torch.stack([-x[..., 1::2], x[..., 0::2]], dim=-1).flatten(-2)
        return (x * all_angles.cos() + quarter * all_angles.sin()).to(x.dtype)

    return answer


def _halves_in_neighbours_out(x: Tensor, positions: Tensor, base: float) -> Tensor:
    a, b = x.chunk(2, dim=-1)
    return _turn(torch.stack([a, b], dim=-1).flatten(-2), positions, base)


def _divided_after_the_power(positions: Tensor, speeds: Tensor) -> Tensor:
    """Return positions · base ** (−2m) / d, where ``speeds`` are base ** (−2m/d)."""
    d = 2 * len(speeds)
    return positions * speeds**d / d


def _in_parts(x: Tensor, angles: Tensor) -> Tensor:
    """Turn in PyTorch alone, as a learner writes it."""
    a, b = x[..., 0::2], x[..., 1::2]
    first = a * angles.cos() - b * angles.sin()
    second = a * angles.sin() + b * angles.cos()
    return torch.stack([first, second], dim=-1).flatten(-2)


def _without_a_table(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Multiply positions (n,) by speeds (d/2,), in PyTorch alone: its errors are a learner's."""
    return _in_parts(x, positions * base ** (-_even(x.shape[-1]) / x.shape[-1]))


def _faster_in_float32(x: Tensor, positions: Tensor, base: float) -> Tensor:
    """Forget the minus of the exponent, in float32: large angles lose digits as a learner's do."""
    d = x.shape[-1]
    return _in_parts(x, positions[:, None] * base ** (torch.arange(0, d, 2) / d))


def _one_speed(d: int) -> Tensor:
    return torch.zeros(d // 2, dtype=torch.float64)


def _even(d: int) -> Tensor:
    return torch.arange(0, d, 2, dtype=torch.float64)


check_rope = Check(
    "rope_from_scratch",
    _written_out,
    cases=[
        (randn(5, 2), torch.arange(5), 10_000.0),
        (randn(6, 8, seed=1), torch.arange(6), 10_000.0),
        (randn(2, 4, 12, 16, seed=2), torch.arange(12) + 30, 500.0),
        (randn(3, 7, 64, seed=3), torch.tensor([0, 1, 2, 9, 40, 41, 250]), 100_000.0),
        (randn(1, 4, seed=4), torch.tensor([3]), 100.0),
        (randn(4, 6, seed=5), torch.tensor([3, 1, 0, 2]), 10_000.0),
    ],
    mistakes=[
        Mistake(
            "every pair turns the wrong way round",
            "Where does (1, 0) go after a quarter of a turn: to (0, 1) or to (0, −1)?",
            lambda x, positions, base: _turn(x, -positions, base),
        ),
        Mistake(
            "feature m is paired with m + d/2",
            "Which two features are pair 0 here?",
            lambda x, positions, base: _turn(x, positions, base, "half"),
        ),
        Mistake(
            "the base is not used",
            "How fast do the pairs turn when the base is 100?",
            lambda x, positions, base: _turn(x, positions, 10_000.0),
        ),
        Mistake(
            "the positions are not used",
            "The text may begin at 30, or be out of order. Which rows have position 3?",
            lambda x, positions, base: _turn(x, torch.arange(x.shape[-2]), base),
        ),
        Mistake(
            "the slowest pair is too fast",
            "At d = 4 pair 1 turns by 1/√base a position. What does your code say?",
            _with_speeds(lambda d: -_even(d) / 2 / d),
        ),
        Mistake(
            "the slowest pair is too slow",
            "At d = 4 pair 1 turns by 1/√base a position. What does your code say?",
            _with_speeds(lambda d: -2 * _even(d) / d),
        ),
        Mistake(
            "later pairs turn faster",
            "Is the exponent of the base above or below 0?",
            _with_speeds(lambda d: _even(d) / d),
            _faster_in_float32,
        ),
        Mistake(
            "the last pair is the fastest",
            "By how much does pair 0 turn at position 1? And the last pair?",
            _with_speeds(lambda d: -_even(d).flip(0) / d),
        ),
        Mistake(
            "all pairs turn at one speed",
            "What is θ of pair 0, and what of pair 1?",
            _with_speeds(_one_speed),
        ),
        Mistake(
            "lengths change",
            "Which of the four terms has a minus?",
            _with_parts(lambda a, b, cos, sin: (a * cos + b * sin, a * sin + b * cos)),
        ),
        Mistake(
            "each pair is mirrored, not turned",
            "At position 0 nothing turns. What does your code make of (0, 1) there?",
            _with_parts(lambda a, b, cos, sin: (a * cos + b * sin, a * sin - b * cos)),
        ),
        Mistake(
            "the minus is in the second feature's row, and its terms are exchanged",
            "Where does (1, 0) go in a quarter of a turn: to (0, 1) or to (0, −1)?",
            _with_parts(lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
        ),
        Mistake(
            "a is overwritten before b is made from it",
            "Which a does the second feature need: the one before the turn, or after?",
            _with_parts(_overwriting),
        ),
        Mistake(
            "cos and sin change places",
            "At position 0 nothing turns. What are cos 0 and sin 0?",
            _with_parts(lambda a, b, cos, sin: (a * sin - b * cos, a * cos + b * sin)),
        ),
        Mistake(
            "the pairs are right and come out in another order",
            "Where in the row did pair 0 stand before, and where does it stand now?",
            _firsts_before_seconds,
        ),
        Mistake(
            "the angles are in the order of halves, and the pairs are neighbours",
            "Features 0 and 1 are one pair. Do they get one angle?",
            _angles_of_halves,
        ),
        Mistake(
            "halves of a row are swapped, and the angles are in the order of neighbours",
            "Which two features share an angle in your code, and which two are mixed?",
            _written_with_quarter(
                lambda positions, powers: positions * powers[::2].repeat_interleave(2), halves=True
            ),
        ),
        Mistake(
            "pairs are taken from two halves of a row, and put back as neighbours",
            "From which two features of x do you make pair 0?",
            _halves_in_neighbours_out,
        ),
        Mistake(
            "each feature turns at a speed of its own",
            "Both features of a pair turn by one angle. How many speeds are there at d = 4?",
            *(
                _written_with_quarter(lambda positions, powers: positions * powers, halves)
                for halves in (False, True)
            ),
        ),
        Mistake(
            "the last pair turns at 1/base",
            "At d = 4 pair 1 turns by 1/√base a position. What does your code say?",
            _with_speeds(lambda d: -_even(d) / 2 / (d // 2 - 1)),
        ),
        Mistake(
            "pairs are counted from 1",
            "By how much does pair 0 turn at position 1?",
            _with_speeds(lambda d: -(_even(d) + 2) / d),
        ),
        Mistake(
            "base ** (−2m) is divided by d, not the exponent",
            "Which comes first in Python, ** or /? What is θ of pair 0?",
            _with_angles(_divided_after_the_power),
        ),
        Mistake(
            "the division rounds",
            "What are 2 // 8 and -2 // 8 in Python?",
            _with_speeds(lambda d: -_even(d) // d),
        ),
        Mistake(
            "angles are a row of numbers, not a table of positions by pairs",
            "How many angles do 5 positions and 1 pair make? And 6 positions and 4 pairs?",
            _without_a_table,
        ),
        Mistake(
            "the first row is taken for position 0",
            "The text may begin at 30. By how much does its first row turn?",
            _with_angles(lambda positions, speeds: (positions - positions[0]) * speeds),
        ),
        Mistake(
            "rows are counted on from the first position",
            "Positions may skip, or go down. Where does row 2 stand, if they are 30, 5, 90?",
            _with_angles(
                lambda positions, speeds: (
                    (positions[:1] + torch.arange(len(positions))[:, None]) * speeds
                )
            ),
        ),
        Mistake(
            "every pair turns by 0.3 a position",
            "That was one pair's speed, to try it. What is θ of pair 0 here, and of pair 1?",
            _with_angles(lambda positions, speeds: positions * torch.full_like(speeds, 0.3)),
        ),
        Mistake(
            "positions are added up",
            "Is `positions` where each row stands, or how far it is from the row before?",
            _with_angles(lambda positions, speeds: positions.cumsum(0) * speeds),
        ),
        Mistake(
            "positions are taken from their mean",
            "By how much does the row at position 0 turn?",
            _with_angles(
                lambda positions, speeds: (positions - positions.double().mean()) * speeds
            ),
        ),
        Mistake(
            "angles are rounded to half precision",
            "At position 3,000, by how much does float16 round an angle?",
            _with_angles(lambda positions, speeds: (positions * speeds).half().to(speeds.dtype)),
        ),
        Mistake(
            "each row turns by one position too many",
            "By how much does the row at position 0 turn?",
            _with_angles(lambda positions, speeds: (positions + 1) * speeds),
        ),
        Mistake(
            "pair 0 does not turn by 1 radian a position",
            "The formula for θ is in radians, and so are torch's cos and sin. What else do "
            "you multiply by?",
            _with_angles(partial(_scaled_angles, factor=math.pi / 180)),
            _with_angles(partial(_scaled_angles, factor=180 / math.pi)),
            _with_angles(partial(_scaled_angles, factor=2 * math.pi)),
            _with_angles(partial(_scaled_angles, factor=1 / (2 * math.pi))),
            _with_angles(partial(_scaled_angles, factor=2)),
            _with_angles(partial(_scaled_angles, factor=1 / 2)),
        ),
        Mistake(
            "cos and sin are added to x",
            "RoPE adds nothing. What does a turn do to the row (0, 0)?",
            _with_parts(lambda a, b, cos, sin: (a + cos, b + sin)),
            _with_parts(lambda a, b, cos, sin: (a + sin, b + cos)),
        ),
        Mistake(
            "the two features of a pair never meet",
            "Where does (1, 0) go in a quarter of a turn? What does your code make of it?",
            _with_parts(lambda a, b, cos, sin: (a * sin, b * cos)),
            _with_parts(lambda a, b, cos, sin: (a * cos, b * sin)),
            _with_parts(lambda a, b, cos, sin: (a * cos + a * sin, b * cos + b * sin)),
        ),
        Mistake(
            "nothing has turned",
            "What does the row at position 1 look like after its turn?",
            lambda x, positions, base: x.clone(),
        ),
    ],
    hints=(
        "Begin with the angles: a row for each position, a column for each pair.",
        "x[..., 0::2] has the first feature of each pair, x[..., 1::2] the second. What are both "
        "after the turn?",
        "angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d). Make both new "
        "features, then torch.stack(…, dim=-1).flatten(-2) puts them side by side again.",
    ),
    rules=[Without((apply_rope, rotate_pairs, Rotary.rotate))],
)


BASE = 10_000.0  # of the cache


def _new_positions(kept: Tensor) -> Tensor:
    return torch.arange(len(kept))


def _turned_by(steps: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that picks the kept keys and turns them by so many positions."""
    return lambda keys, kept: _turn(keys[..., kept, :], steps(kept), BASE)


def _closed(keys: Tensor, kept: Tensor, layout: str = "interleaved") -> Tensor:
    return _turn(keys[..., kept, :], _new_positions(kept) - kept, BASE, layout)


def _dropped(keys: Tensor, kept: Tensor) -> int:
    return keys.shape[-2] - len(kept)


def _moved_by_one_distance(keys: Tensor, kept: Tensor) -> Tensor:
    return _turn(keys[..., kept, :], torch.full_like(kept, -_dropped(keys, kept)), BASE)


def _after_first_gap_by(
    distance: Callable[[Tensor, Tensor], int],
) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that moves all keys after the first gap back by one distance."""

    def answer(keys: Tensor, kept: Tensor) -> Tensor:
        moves = torch.where(kept > _new_positions(kept), -distance(keys, kept), 0)
        return _turn(keys[..., kept, :], moves, BASE)

    return answer


def _size_of_first_gap(keys: Tensor, kept: Tensor) -> int:
    missing = kept - _new_positions(kept)
    return int(missing[missing > 0][0]) if missing.any() else 0


def _missing_before_the_last(keys: Tensor, kept: Tensor) -> int:
    return int(kept[-1]) - len(kept) + 1


def _largest_gap(keys: Tensor, kept: Tensor) -> int:
    return int(kept.diff(prepend=torch.tensor([-1])).max()) - 1


def _towards_the_end(keys: Tensor, kept: Tensor) -> Tensor:
    return _turn(keys[..., kept, :], _new_positions(kept) + _dropped(keys, kept) - kept, BASE)


def _first_rows(keys: Tensor, kept: Tensor) -> Tensor:
    return _turn(keys[..., : len(kept), :], torch.zeros_like(kept), BASE)


def _picked_by(pick: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Return an answer that picks rows in some way and turns them by the right moves.

    It uses PyTorch alone, so that its errors are a learner's.
    """
    return lambda keys, kept: _written_out(pick(keys, kept), _new_positions(kept) - kept, BASE)


def _cache(*size: int, seed: int = 0) -> Tensor:
    """Return random keys, turned at positions 0, 1, 2 and so on."""
    return _turn(randn(*size, seed=seed), torch.arange(size[-2]), BASE)


def _four_sinks(keys: Tensor, kept: Tensor) -> Tensor:
    """Keep the first four as they are, and move the others by as many as are missing in all."""
    missing = _missing_before_the_last(keys, kept)
    moves = torch.where(torch.arange(len(kept)) < 4, 0, -missing)
    return _turn(keys[..., kept, :], moves, BASE)


check_closed = Check(
    "closed",
    _closed,
    cases=[
        (_cache(6, 2), torch.tensor([0, 1, 4, 5])),
        (_cache(2, 40, 16, seed=1), torch.tensor([0, 1, 2, 3, *range(25, 40)])),
        (_cache(1, 3, 30, 8, seed=2), torch.tensor([2, 3, 11, 12, 20, 28])),
        (_cache(12, 64, seed=3), torch.tensor([0, 1, 2, 5, 6, 9, 11])),
        (_cache(2, 5, 4, seed=4), torch.arange(5)),
        (_cache(3, 9, 8, seed=5), torch.tensor([8])),
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
            "the keys are turned by their old positions once more",
            "`turned` with p turns forwards by p. How do you undo a turn with it?",
            _turned_by(lambda kept: kept),
        ),
        Mistake(
            "the keys are turned by their old positions once more, and by their new ones",
            "`turned` with p turns forwards by p. How do you undo a turn with it?",
            _turned_by(lambda kept: kept + _new_positions(kept)),
        ),
        Mistake(
            "the first four stay, and all others move by one distance",
            "Are the first tokens always four? And is there always one gap? `kept` says which.",
            _four_sinks,
        ),
        Mistake(
            "the kept rows come out in reversed order",
            "`kept` is ascending. Which row is to stand at 0?",
            lambda keys, kept: _closed(keys, kept).flip(-2),
        ),
        Mistake(
            "each key is turned back by its new position",
            "The key at position 25 has turned by 25 θ. By how much in all, after your turn?",
            _turned_by(lambda kept: -_new_positions(kept)),
        ),
        Mistake(
            "the keys are back where they were before any turn",
            "You undo the old turn. What about the new position?",
            _turned_by(lambda kept: -kept),
        ),
        Mistake(
            "the rows are picked, and each still stands at its old position",
            "Is the key from 25 turned by its position among the kept keys, or by its old one?",
            lambda keys, kept: keys[..., kept, :].clone(),
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
            "all keys after the first gap move by one distance",
            "There may be several gaps. How many tokens are missing before each key?",
            _after_first_gap_by(_dropped),
            _after_first_gap_by(_size_of_first_gap),
            _after_first_gap_by(_missing_before_the_last),
            _after_first_gap_by(_largest_gap),
        ),
        Mistake(
            "each key moves by the gap right before it alone",
            "There may be several gaps. How many tokens are missing before each key, in all?",
            _turned_by(lambda kept: -(kept.diff(prepend=torch.tensor([-1])) - 1)),
        ),
        Mistake(
            "gaps are counted more than once",
            "How many tokens are missing before the second of the kept keys? And before the third?",
            _turned_by(lambda kept: -(kept - _new_positions(kept)).cumsum(0)),
        ),
        Mistake(
            "the first kept key stays where it was",
            "Where is the first of the kept keys to stand?",
            _turned_by(lambda kept: _new_positions(kept) - kept + kept[0]),
        ),
        Mistake(
            "the first rows are kept, not the ones in `kept`",
            "Which rows of the cache does `kept` name?",
            lambda keys, kept: _turn(keys, -torch.arange(keys.shape[-2]), BASE)[
                ..., : len(kept), :
            ],
        ),
        Mistake(
            "the gaps are closed towards the end",
            "Which position is the first of the kept keys to have?",
            _towards_the_end,
        ),
        Mistake(
            "the new positions begin at 1",
            "Where is the first of the kept keys to stand?",
            _turned_by(lambda kept: _new_positions(kept) + 1 - kept),
        ),
        Mistake(
            "the newest rows are kept, not the ones in `kept`",
            "Which rows of the cache does `kept` name? Are they all at the end?",
            _picked_by(lambda keys, kept: keys[..., -len(kept) :, :]),
        ),
        Mistake(
            "the kept rows are never picked",
            "`keys` has n rows, and how many moves are there? Which rows do they belong to?",
            _picked_by(lambda keys, kept: keys),
        ),
        Mistake(
            "rows are picked on a fixed axis, counted from the front",
            "There may be a batch and heads in front, or none. Which axis of (…, n, d) holds "
            "the positions, counted from the end?",
            _picked_by(lambda keys, kept: keys[kept]),
            _picked_by(lambda keys, kept: keys[:, kept]),
            _picked_by(lambda keys, kept: keys[:, :, kept]),
        ),
        Mistake(
            "features are paired by halves",
            "Which two features form pair 0 in the layout of the exercise?",
            lambda keys, kept: _closed(keys, kept, "half"),
        ),
        Mistake(
            "the first rows are kept, not the ones in `kept`",
            "Which rows of the cache does `kept` name?",
            _first_rows,
            _picked_by(lambda keys, kept: keys[..., : len(kept), :]),
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
        "keys[..., kept, :] picks the rows. The one from 25 that is to stand at 4 has turned by 25 "
        "θ and should have turned by 4 θ. How many positions must you turn it by?",
    ),
)


Turn = Callable[[Tensor, float], Tensor]


def _rope(first: list[int], second: list[int], speeds: Tensor, name: str) -> Turn:
    """Return RoPE in a layout of its own: any two features may be a pair, and some need not turn.

    Args:
        first, second: the features of each pair.
        speeds: of each pair, radians a position.
        name: what messages call it.
    """

    def turn(x: Tensor, position: float) -> Tensor:
        x = x.to(torch.promote_types(x.dtype, torch.float32))  # whole numbers can be turned too
        cos = torch.cos(position * speeds).to(x.dtype)
        sin = torch.sin(position * speeds).to(x.dtype)
        a, b = x[..., first], x[..., second]
        out = x.clone()
        out[..., first] = a * cos - b * sin
        out[..., second] = a * sin + b * cos
        return out

    turn.__name__ = name
    return turn


def _neighbours(d: int, turning: int | None = None) -> Turn:
    """Pairs of neighbours among the first ``turning`` features; the others do not turn."""
    turning = turning or d
    first, second = list(range(0, turning, 2)), list(range(1, turning, 2))
    return _rope(first, second, rope_frequencies(turning), "neighbours")


def _halves(d: int, backwards: bool = False) -> Turn:
    """Pairs of a feature in the first half and one in the second."""
    speeds = rope_frequencies(d) * (-1 if backwards else 1)
    return _rope(list(range(d // 2)), list(range(d // 2, d)), speeds, "halves")


def _in_step(d: int) -> Turn:
    """Pairs of halves, of which two each turn at one speed."""
    speeds = rope_frequencies(d // 2).repeat_interleave(2)
    return _rope(list(range(d // 2)), list(range(d // 2, d)), speeds, "halves, two at one speed")


def _shuffled(d: int, still: int) -> Turn:
    """Pairs of any two features; the slowest ``still`` pairs do not turn."""
    order = torch.randperm(d, generator=torch.Generator().manual_seed(d)).tolist()
    speeds = rope_frequencies(d, 500_000.0)
    speeds[len(speeds) - still :] = 0
    return _rope(order[::2], order[1::2], speeds, "shuffled")


def _spread(turn: Turn, d: int, position: float) -> Tensor:
    """Return in row a how far feature a alone spreads to each other feature at this position."""
    return turn(torch.eye(d), position).abs().fill_diagonal_(0)


def _partners(turn: Turn, d: int, least: float = 0.0) -> Tensor:
    """Return each feature's partner; its own number where no more than ``least`` spreads."""
    largest, partner = _spread(turn, d, 1.0).max(-1)
    return torch.where(largest > least, partner, torch.arange(d))


def _one_direction(turn: Turn, d: int, sign: int, without_diagonal: bool) -> Tensor:
    """Take the largest number of each row, or with sign −1 the smallest."""
    turned = sign * turn(torch.eye(d), 1.0)
    if not without_diagonal:
        return turned.argmax(-1)
    largest, partner = turned.fill_diagonal_(0).max(-1)
    return torch.where(largest > 0, partner, torch.arange(d))


def _largest_other(turn: Turn, d: int, own: float) -> Tensor:
    """Take the largest number of each row, its sign counted, after setting the row's own number."""
    return turn(torch.eye(d), 1.0).fill_diagonal_(own).argmax(-1)


def _where_two_have_changed(turn: Turn, d: int) -> Tensor:
    changed = turn(torch.eye(d), 1.0) != torch.eye(d)
    other = changed.clone().fill_diagonal_(False).int().argmax(-1)
    return torch.where(changed.sum(-1) == 2, other, torch.arange(d))


def _second_largest(turn: Turn, d: int, still: bool) -> Tensor:
    largest, features = turn(torch.eye(d), 1.0).abs().topk(2)
    partner = features[:, 1]
    return torch.where(largest[:, 1] > 0, partner, torch.arange(d)) if still else partner


def _by_lengths(turn: Turn, d: int, least: float) -> Tensor:
    """Take two features for a pair if their length is the same before and after."""
    x = randn(d)
    before, after = x.square(), turn(x, 1.0).square()
    change = (before[:, None] + before - after[:, None] - after).abs().fill_diagonal_(torch.inf)
    smallest, partner = change.min(-1)
    return torch.where(smallest < least, partner, torch.arange(d))


def _as_far_as_feature_0(turn: Turn, d: int) -> Tensor:
    features = torch.arange(d)
    distance = int(_spread(turn, d, 1.0)[0].argmax())
    first = features % (2 * distance) < distance if distance else features < 0
    return torch.where(first, features + distance, features - distance)


def _alike_on_the_diagonal(turn: Turn, d: int) -> Tensor:
    """Take the feature whose own number has changed most nearly as much."""
    own = turn(torch.eye(d), 100.0).diagonal()
    gaps = (own[:, None] - own).abs().fill_diagonal_(torch.inf)
    return torch.where(own == 1, torch.arange(d), gaps.argmin(-1))


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
        (_in_step(8), 8),
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
        Mistake(
            "slow pairs are treated as if they stood still",
            "In one step the slowest pair turns by less than 0.00001. How much of it reaches "
            "its partner, and where does your code draw the line?",
            *(partial(_partners, least=least) for least in (0.5, 0.1, 0.01, 0.001, 1e-4, 1e-5)),
        ),
        Mistake(
            "the distance between partners is asked of feature 0 alone",
            "Partners may be any two features. How far apart are the two of another pair?",
            _as_far_as_feature_0,
        ),
        Mistake(
            "a feature's own number comes out where it still points mostly to itself",
            "Which is the largest number in a row after a small turn, or after nearly half a "
            "circle: the feature itself, or its partner? Which of the two is asked for?",
            *(
                lambda turn, d, p=position: turn(torch.eye(d), p).abs().argmax(-1)
                for position in (1.0, 2.0, 10.0, 100.0, 1000.0, 10_000.0)
            ),
        ),
        Mistake(
            "the second largest number of each row is taken",
            "Pair 0 turns by more than an eighth of a circle in a step. Which of its two "
            "numbers is the larger one then?",
            *(partial(_second_largest, still=still) for still in (True, False)),
        ),
        Mistake(
            "lengths are compared in one random vector",
            "Slow pairs change so little that rounding hides it, and features that stand "
            "still keep any length. Which vector would show one feature alone?",
            *(partial(_by_lengths, least=least) for least in (torch.inf, 1e-3, 1e-4, 1e-5, 1e-6)),
        ),
        Mistake(
            "the first feature that differs is taken, and each feature differs from itself",
            "Does a feature's own number change in a turn, too? Which of the two is asked for?",
            lambda turn, d: (turn(torch.eye(d), 1.0) != torch.eye(d)).int().argmax(-1),
        ),
        Mistake(
            "a turn is known by both numbers, and one of them may round to what it was",
            "The cosine of a small angle rounds to 1. In the row of a slow feature, how many "
            "numbers have changed?",
            _where_two_have_changed,
        ),
        Mistake(
            "features that never turn get feature 0 as their partner",
            "What does argmax return for a row that holds nothing but zeros?",
            lambda turn, d: _spread(turn, d, 1.0).argmax(-1),
        ),
        Mistake(
            "two pairs that turn at one speed are mixed up",
            "Partners turn alike, but so may others. Where does feature 0 go when it turns?",
            _alike_on_the_diagonal,
        ),
        Mistake(
            "nothing has turned",
            "By how much does anything turn at position 0?",
            lambda turn, d: torch.arange(d),
        ),
        Mistake(
            "one direction of each pair is missed",
            "Turning (1, 0) makes the other number positive, turning (0, 1) makes it negative. "
            "Do you notice both?",
            *(
                partial(_one_direction, sign=sign, without_diagonal=without_diagonal)
                for sign in (1, -1)
                for without_diagonal in (True, False)
            ),
        ),
        Mistake(
            "the largest number of a row is taken with its sign, and every feature gets a partner",
            "Feature 0 goes to +sin at its partner. Where does the partner go? And what of a "
            "feature that never turns?",
            *(partial(_largest_other, own=own) for own in (0.0, -torch.inf)),
        ),
        Mistake(
            "features that never turn get −1",
            "What does the exercise ask for where a feature never turns?",
            lambda turn, d: torch.where(
                _spread(turn, d, 1.0).amax(-1) > 0, _partners(turn, d), torch.tensor(-1)
            ),
        ),
    ],
    hints=(
        "You may give `turn` any vector you like. Which vector shows where feature 0 goes?",
        "The rows of torch.eye(d) are vectors with a single 1. After the turn, where else is a row "
        "not 0?",
        "Row a of turn(torch.eye(d), 1) is 0 but for a and its partner. The sign does not matter, "
        "nor what stands on the diagonal. What is left in the row of a feature that never turns?",
    ),
)
