"""Checks for lesson 03 and its closer look: a table's clock hands, its forecasts, its gradient."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from course_lab import position_table
from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without
from course_utils.measures import main_directions, turn
from course_utils.measures.turns import Turn


def _table_gradient(upstream: Tensor, max_len: int) -> Tensor:
    gradient = upstream.new_zeros(max_len, upstream.shape[-1])
    gradient[: upstream.shape[1]] = upstream.sum(0)
    return gradient


def _summed_over_positions(upstream: Tensor, max_len: int) -> Tensor:
    gradient = upstream.new_zeros(max_len, upstream.shape[-1])
    gradient[: upstream.shape[0]] = upstream.sum(1)
    return gradient


check_table_gradient = Check(
    "table_gradient",
    _table_gradient,
    cases=[
        (randn(3, 4, 2), 6),
        (randn(2, 5, 3, seed=1), 5),
        (randn(4, 2, 2, seed=2), 8),
    ],
    mistakes=[
        Mistake(
            "this is the mean over the batch, not the sum",
            "Row 0 was added to every sentence. If a sentence is in the batch twice, does its pull "
            "on row 0 stay the same?",
            lambda upstream, n: _table_gradient(upstream, n) / len(upstream),
        ),
        Mistake(
            "only the first sentence counts",
            "How many sentences of the batch had row 0 added to them?",
            lambda upstream, n: _table_gradient(upstream[:1], n),
        ),
        Mistake(
            "the rows that were not read are missing",
            "The table has max_len rows. How does the loss change when one that was not read "
            "changes?",
            lambda upstream, n: upstream.sum(0),
        ),
        Mistake(
            "the last rows of the table learn, not the first",
            "Which row was added to the first token?",
            lambda upstream, n: _table_gradient(upstream, n).roll(n - upstream.shape[1], 0),
        ),
        Mistake(
            "every row of the table gets the same gradient",
            "Which of the three axes counts sentences, and which counts positions?",
            lambda upstream, n: upstream.sum((0, 1)).expand(n, -1),
        ),
        Mistake(
            "the sum runs over the positions, not over the sentences",
            "upstream is (batch, seq, d_model). Which of its axes counts rows of the table?",
            _summed_over_positions,
        ),
    ],
    hints=(
        "In out = x + table[:seq], which entries of out does one entry of the table reach?",
        "One row reaches the same position of every sentence, so its gradients add up.",
        "Start with zeros of shape (max_len, d_model) and fill the first seq rows.",
    ),
)


def _planted(
    periods: list[float],
    length: int,
    width: int,
    seed: int,
    start: float = 0.0,
    noise: float = 0.0,
) -> Tensor:
    """Return a table of evenly turning hands, each in a plane and of a size of its own."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator, dtype=torch.float64)
    planes = torch.linalg.qr(draw(width, 2 * len(periods)))[0].T
    places = start + torch.arange(length, dtype=torch.float64)
    table = draw(width).expand(length, -1).clone()
    for number, period in enumerate(periods):
        angles = 2 * math.pi * places / period + number
        size = 1 + 0.3 * number
        table += size * angles.cos()[:, None] * planes[2 * number]
        table += size * angles.sin()[:, None] * planes[2 * number + 1]
    return table + noise * draw(length, width)


def _coordinates(table: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return the rows along the main directions, and these directions."""
    directions = main_directions(table, count)
    return (table - table.mean(0)) @ directions.T, directions


def _run(rows: Tensor, n: int, count: int, first: int = -1, backwards: bool = False) -> Tensor:
    """Let the clock run from one of the rows; the rows after it, along the main directions."""
    coordinates, _ = _coordinates(rows, count)
    clock = turn(coordinates.flip(0) if backwards else coordinates)
    later = [coordinates[first][None]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return torch.cat(later)


def _back(rows: Tensor, coordinates: Tensor) -> Tensor:
    return rows.mean(0) + coordinates @ main_directions(rows, coordinates.shape[1])


def _carry_on(rows: Tensor, n: int, count: int) -> Tensor:
    return _back(rows, _run(rows, n, count)[1:])


def _turned_about_the_mean(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    matrix, later = turn(coordinates).matrix, [coordinates[-1:]]
    for _ in range(n):
        later.append(later[-1] @ matrix)
    return _back(rows, torch.cat(later[1:]))


def _carried_in_all_columns(rows: Tensor, n: int, count: int) -> Tensor:
    return _carry_on(rows, n, rows.shape[1])


def _run_uncentred(rows: Tensor, n: int, count: int, part: str) -> Tensor:
    """Let the clock run from the last row with its mean in it; learned from such rows, if "all"."""
    centred, directions = _coordinates(rows, count)
    coordinates = rows @ directions.T
    clock = turn(coordinates if part == "all" else centred)
    later = [coordinates[-1:]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return torch.cat(later[1:])


def _turned_the_other_way(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(later[-1] @ clock.matrix.T + clock.shift)
    return _back(rows, torch.cat(later[1:]))


def _one_step_each(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    return turn(coordinates).onwards(coordinates[-n:])


def _by_any_matrix(rows: Tensor, n: int, count: int, shifted: bool = True) -> Tensor:
    """Let the rows go on by a step that need be no rotation."""
    coordinates, _ = _coordinates(rows, count)
    constant = torch.full((len(rows), 1), float(shifted), dtype=rows.dtype)
    known = torch.cat([coordinates, constant], 1)
    step = torch.linalg.lstsq(known[:-1], coordinates[1:], driver="gelsd").solution
    later = [coordinates[-1:]]
    for _ in range(n):
        later.append(torch.cat([later[-1], constant[:1]], 1) @ step)
    return _back(rows, torch.cat(later[1:]))


def _all_carried_at_once(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    return _back(rows, turn(coordinates).onwards(coordinates[-n:], n))


def _last_rows_part_outside(rows: Tensor, n: int, count: int) -> Tensor:
    """Keep what the last row has outside the main directions."""
    coordinates, directions = _coordinates(rows, count)
    outside = rows[-1] - rows.mean(0) - coordinates[-1] @ directions
    return _carry_on(rows, n, count) + outside


def _straight_on(rows: Tensor, n: int, count: int) -> Tensor:
    return rows[-1] + torch.arange(1, n + 1)[:, None] * (rows[-1] - rows[-2])


def _around(rows: Tensor, n: int, count: int) -> Tensor:
    return rows[torch.arange(n) % len(rows)]


def _by_steps(step: Callable[[Turn, Tensor, int], Tensor]) -> Callable[[Tensor, int, int], Tensor]:
    """Return an answer that goes from row to row by a step of its own, counted from 1."""

    def carry(rows: Tensor, n: int, count: int) -> Tensor:
        coordinates, _ = _coordinates(rows, count)
        clock, later = turn(coordinates), [coordinates[-1:]]
        for number in range(1, n + 1):
            later.append(step(clock, later[-1], number))
        return _back(rows, torch.cat(later[1:]))

    return carry


def _shift_once(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock = turn(coordinates)
    powers = [torch.linalg.matrix_power(clock.matrix, number) for number in range(1, n + 1)]
    return _back(rows, torch.cat([coordinates[-1:] @ power + clock.shift for power in powers]))


def _every_known_row_carried(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    return _back(rows, turn(coordinates).onwards(coordinates, n))


def _from_the_mean(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock, later = turn(coordinates), [torch.zeros_like(coordinates[-1:])]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return _back(rows, torch.cat(later[1:]))


def _in_first_columns(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates = (rows - rows.mean(0))[:, :count]
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    new = rows.mean(0).repeat(n, 1)
    new[:, :count] += torch.cat(later[1:])
    return new


def _mean_step(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    step = coordinates.diff(dim=0).mean(0)
    return _back(rows, coordinates[-1] + torch.arange(1, n + 1)[:, None] * step)


def _without_a_way_between_shapes(rows: Tensor, n: int, count: int) -> Tensor:
    return turn(_coordinates(rows, count)[0]).onwards(rows[-1:], n)


def _less_the_mean_of_all_numbers(rows: Tensor, n: int, count: int) -> Tensor:
    return _along(rows - rows.mean(), n, count) + rows.mean()


def _along(centred: Tensor, n: int, count: int, columns: bool = False) -> Tensor:
    """Let the clock run along the directions of an SVD: its rows, or by mistake its columns."""
    last = torch.linalg.svd(centred, full_matrices=True)[2]
    directions = last[:, :count].T if columns else last[:count]
    coordinates = centred @ directions.T
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return torch.cat(later[1:]) @ directions


def _along_columns(rows: Tensor, n: int, count: int) -> Tensor:
    mean = rows.mean(0)
    return mean + _along(rows - mean, n, count, columns=True)


def _hand_by_hand(rows: Tensor, n: int, count: int) -> Tensor:
    """Turn main directions 0 and 1, 2 and 3 … as if each pair were the plane of one hand."""
    coordinates, _ = _coordinates(rows, count)
    later = []
    for first in range(0, count, 2):
        pair = coordinates[:, first : first + 2]
        clock, places = turn(pair), [pair[-1:]]
        for _ in range(n):
            places.append(clock.onwards(places[-1]))
        later.append(torch.cat(places[1:]))
    return _back(rows, torch.cat(later, dim=1))


def _as_long_as_the_last(clock: Turn, here: Tensor, _: int) -> Tensor:
    new = clock.onwards(here)
    return new * here.norm() / new.norm()


def _other_way_with_its_shift(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    matrix = turn(coordinates).matrix.T
    shift = (coordinates[1:] - coordinates[:-1] @ matrix).mean(0)
    later = [coordinates[-1:]]
    for _ in range(n):
        later.append(later[-1] @ matrix + shift)
    return _back(rows, torch.cat(later[1:]))


check_carry_on = Check(
    "carry_on",
    _carry_on,
    cases=[
        (_planted([12.0], 30, 4, seed=0), 6, 2),
        (_planted([40.0, 9.3], 60, 16, seed=1), 25, 4),
        (_planted([90.0, 31.7, 6.6], 80, 12, seed=2), 60, 6),
        (_planted([7.7], 20, 3, seed=3), 1, 2),
        (_planted([55.0, 13.0, 5.9, 3.2], 100, 24, seed=4, start=17), 120, 8),
        (_planted([6.0, 12.0, 30.0], 60, 10, seed=5), 7, 4),  # the first, weak, is left out
        (_planted([40.0, 9.3], 90, 12, seed=6, noise=0.3), 20, 4),
    ],
    mistakes=[
        Mistake(
            "the turn is taken in more directions than `count`",
            "How many directions does the clock have? Where do the rows stay outside them?",
            _carried_in_all_columns,
        ),
        Mistake(
            "the row that you start from is not centred",
            "The turn was learned from rows less their mean. What does it need to start from?",
            lambda rows, n, count: _back(rows, _run_uncentred(rows, n, count, "start")),
        ),
        Mistake(
            "the turn is taken of rows with their mean in them, and the mean comes in twice",
            "What did you take off the rows before you turned them?",
            lambda rows, n, count: _back(rows, _run_uncentred(rows, n, count, "all")),
        ),
        Mistake(
            "the rows keep only that part of their mean that lies along the main directions",
            "Do the main directions hold what all rows have in common?",
            lambda rows, n, count: (
                _run_uncentred(rows, n, count, "all") @ main_directions(rows, count)
            ),
        ),
        Mistake(
            "each step turns the other way",
            "In the formula, does the row stand left or right of Q?",
            _turned_the_other_way,
        ),
        Mistake(
            "each of the last n known rows takes one step",
            "From which row does your second step start?",
            lambda rows, n, count: _back(rows, _one_step_each(rows, n, count)),
        ),
        Mistake(
            "the last n known rows are carried on, and there are only m of them",
            "What if more rows are asked for than are known?",
            _all_carried_at_once,
        ),
        Mistake(
            "the first of your rows is the last of theirs",
            "The last row that is known is number m − 1. Which is your first?",
            lambda rows, n, count: _back(rows, _run(rows, n, count)[:-1]),
        ),
        Mistake(
            "all your rows are off by the same vector",
            "What did you take off the rows before you turned them?",
            lambda rows, n, count: _carry_on(rows, n, count) - rows.mean(0),
        ),
        Mistake(
            "the hands turn about the mean of the rows",
            "A hand that stands half a turn in the rows: is its centre their mean? What does the "
            "formula have besides Q?",
            _turned_about_the_mean,
        ),
        Mistake(
            "the step is any matrix, not a rotation",
            "After many steps, is a hand as long as it was? Which matrices leave lengths alone?",
            _by_any_matrix,
            partial(_by_any_matrix, shifted=False),
        ),
        Mistake(
            "the last row's part outside the main directions is carried on",
            "Outside the main directions, where do the new rows stay: where the last row was?",
            _last_rows_part_outside,
        ),
        Mistake(
            "only the last of the new rows comes out",
            "You have gone n steps. What became of the rows on the way?",
            lambda rows, n, count: _carry_on(rows, n, count)[-1:],
            lambda rows, n, count: _carry_on(rows, n, count)[-1],
        ),
        Mistake(
            "every new row is the same",
            "What does your second step start from: the last known row, or your first new one?",
            lambda rows, n, count: _carry_on(rows, 1, count).expand(n, -1),
        ),
        Mistake(
            "the clock has only half of its directions",
            "`count` is a number of directions. How many does one hand need?",
            lambda rows, n, count: _carry_on(rows, n, count // 2),
        ),
        Mistake(
            "all your rows are off by one and the same vector",
            "Coordinates are counted from a point. From which row, or from what else?",
            lambda rows, n, count: _carry_on(rows, n, count) - rows.mean(0) + rows[-1],
            lambda rows, n, count: _carry_on(rows, n, count) - rows.mean(0) + rows[0],
        ),
        Mistake(
            "there is an axis too many",
            "Each step has shape (1, count). Do torch.stack and torch.cat join such steps alike?",
            lambda rows, n, count: _carry_on(rows, n, count)[:, None],
        ),
        Mistake(
            "the last of the new rows comes first",
            "Which of your rows follows the last known one?",
            lambda rows, n, count: _carry_on(rows, n, count).flip(0),
        ),
        Mistake(
            "the hands do not set out from where they stand",
            "Where do they point in the last known row?",
            _from_the_mean,
        ),
        Mistake(
            "every new row is the same, n steps on",
            "Do you ask for n steps at once, or keep one tensor that each step overwrites?",
            lambda rows, n, count: _carry_on(rows, n, count)[-1:].expand(n, -1),
        ),
        Mistake(
            "there is a new row for each known one",
            "How many rows are asked for, and which known row do they follow?",
            _every_known_row_carried,
        ),
        Mistake(
            "the shift is turned as well",
            "By the formula, what comes first in a step?",
            _by_steps(lambda clock, here, _: (here + clock.shift) @ clock.matrix),
        ),
        Mistake(
            "each step goes off in a wrong direction after its turn",
            "By the formula, what happens after the turn?",
            _by_steps(lambda clock, here, _: here @ clock.matrix - clock.shift),
        ),
        Mistake(
            "your first row is right, the second is not",
            "Write the formula down for two steps. How often does s come in, and is it turned?",
            _shift_once,
        ),
        Mistake(
            "your steps grow longer and longer",
            "When you make your third row: from where do you go, and how far?",
            _by_steps(lambda clock, here, number: clock.onwards(here, number)),
        ),
        Mistake(
            "your first row is the second of theirs",
            "How many steps is your first row after the last known one?",
            lambda rows, n, count: _carry_on(rows, n + 1, count)[1:],
        ),
        Mistake(
            "the main directions are those of rows with their mean in them",
            "In which direction are the rows longest, if all have one vector in common?",
            _along,
        ),
        Mistake(
            "the rows are taken less one number, the mean of the whole table",
            "The mean of all rows is a row. How many numbers has it?",
            _less_the_mean_of_all_numbers,
        ),
        Mistake(
            "the directions are columns of the SVD's last matrix",
            "What does torch.linalg.svd return last: V, or V transposed? Where is a direction in "
            "it, down or across?",
            _along_columns,
        ),
        Mistake(
            "main directions are taken in pairs, a hand each",
            "Two hands of like size: do the main directions keep them apart?",
            _hand_by_hand,
        ),
        Mistake(
            "every new row is brought to the length of the one before",
            "The rows are counted from their mean. Is the mean the centre of each hand?",
            _by_steps(_as_long_as_the_last),
        ),
        Mistake(
            "each step turns the other way, with a shift of its own",
            "In the formula, does the row stand left or right of Q?",
            _other_way_with_its_shift,
        ),
        Mistake(
            "the shift grows from step to step",
            "By the formula, does the step from row to row know how many came before?",
            _by_steps(lambda clock, here, number: here @ clock.matrix + number * clock.shift),
        ),
        Mistake(
            "every second row is left out",
            "How many rows on does each of your steps go?",
            _by_steps(lambda clock, here, _: clock.onwards(here, 2)),
        ),
        Mistake(
            "onwards gets many steps at once",
            "onwards takes one number of steps. How do you get a row for each step?",
            lambda rows, n, count: _back(
                rows,
                turn(_coordinates(rows, count)[0]).onwards(
                    _coordinates(rows, count)[0][-1:],
                    torch.arange(1, n + 1),  # type: ignore[arg-type]
                ),
            ),
            raises="only integer tensors of a single element|parameter 'steps'",
        ),
        Mistake(
            "the turn is taken in the first columns",
            "Does a hand of this table move in `count` of its columns alone?",
            _in_first_columns,
        ),
        Mistake(
            "the last known row comes out too",
            "Is the last known row one of the n after it?",
            lambda rows, n, count: torch.cat([rows[-1:], _carry_on(rows, n, count)]),
        ),
        Mistake(
            "the last of the new rows is missing",
            "How often must you step for n rows?",
            lambda rows, n, count: _carry_on(rows, n, count)[:-1],
        ),
        Mistake(
            "the mean step is repeated, straight on",
            "After a quarter of a turn, does a hand still move in the same direction?",
            _mean_step,
        ),
        Mistake(
            "two shapes do not fit",
            "A row of the table has D numbers, the turn takes `count`. Where do you go from the "
            "one to the other, and back?",
            _without_a_way_between_shapes,
            raises="shapes cannot be multiplied",
        ),
        Mistake(
            "the last row is repeated: a clamp",
            "Where does each hand point one row after the last?",
            lambda rows, n, count: rows[-1:].expand(n, -1),
        ),
        Mistake(
            "the last step is repeated, straight on",
            "After a quarter of a turn, does a hand still move in the same direction?",
            _straight_on,
        ),
        Mistake(
            "the clock runs backwards",
            "Which comes first in your pairs of rows: the one before, or the one after?",
            lambda rows, n, count: _back(rows, _run(rows, n, count, backwards=True)[1:]),
        ),
        Mistake(
            "the clock starts again at the first row",
            "From which of the known rows do you begin to turn?",
            lambda rows, n, count: _back(rows, _run(rows, n, count, first=0)[1:]),
        ),
        Mistake(
            "the known rows begin again",
            "Do all hands stand as at the start again, after m rows?",
            _around,
        ),
        Mistake(
            "the rows come out along the main directions",
            "A row of the table has D numbers. How do you get back from `count`?",
            lambda rows, n, count: _run(rows, n, count)[1:],
        ),
        Mistake(
            "the known rows come out too",
            "How many rows are asked for?",
            lambda rows, n, count: torch.cat([rows, _carry_on(rows, n, count)]),
        ),
    ],
    hints=(
        "First along the main directions, then the turn, then one step after another, then back.",
        "turn(coordinates) has the step from each row to the next; its onwards(…) takes one.",
        "Start at the last row's coordinates, shape (1, count). After each step keep the result "
        "and go on from it. Then @ axes, and add the mean.",
    ),
    tolerance=1e-5,
)


def _hand(
    period: float,
    length: int,
    seed: int,
    noise: float = 0.0,
    wobble: float = 0.0,
    every: float = 1.0,
) -> Tensor:
    """Return a hand that grows, with noise, and with a wobble (turns) of another period."""
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2, length, generator=generator, dtype=torch.float64)
    places = torch.arange(length, dtype=torch.float64)
    turns = places / period + wobble * (2 * math.pi * places / every).sin()
    sizes = 1 + places / length
    return torch.polar(sizes, 2 * math.pi * turns) + noise * torch.complex(*draw)


def _share(hand: Tensor, forecast: Tensor) -> float:
    """Return a miss: the squares of what is missed, over those of hand and forecast."""
    lengths = hand.abs().square().sum() + forecast.abs().square().sum()
    return float((hand - forecast).abs().square().sum() / lengths)


def _leads(period: float) -> range:
    return range(1, min(round(period / 2), 200) + 1)


def _turned(hand: Tensor, turns: float) -> Tensor:
    return hand * cmath.exp(2j * math.pi * turns)


def _misses(
    hand: Tensor,
    period: float,
    turns: Callable[[int, float], float] = lambda ahead, period: ahead / period,
    share: Callable[[Tensor, Tensor], Any] = _share,
    leads: Callable[[float], Iterable[int]] = _leads,
) -> list[Any]:
    """Return the miss of each lead, by another angle, another share or in other leads."""
    return [
        share(hand[ahead:], _turned(hand[:-ahead], turns(ahead, period)))
        for ahead in leads(period)
        if ahead < len(hand)
    ]


def _largest(**other: Any) -> Callable[[Tensor, float], Any]:
    return lambda hand, period: max(_misses(hand, period, **other))


def _worst_miss(hand: Tensor, period: float) -> float:
    return max(_misses(hand, period))


def _squares(values: Tensor) -> Tensor:
    return values.abs().square()


def _complex_share(hand: Tensor, forecast: Tensor) -> Tensor:
    return (hand - forecast).square().sum() / (hand.square().sum() + forecast.square().sum())


def _around_the_end(hand: Tensor, period: float) -> float:
    return max(_share(hand, _turned(hand.roll(ahead), ahead / period)) for ahead in _leads(period))


def _all_from_the_first_row(hand: Tensor, period: float) -> float:
    turns = torch.arange(len(hand)) / period
    return _share(hand, hand[0] * torch.polar(torch.ones_like(turns), 2 * math.pi * turns))


def _not_shifted(hand: Tensor, period: float) -> float:
    return max(_share(hand, _turned(hand, ahead / period)) for ahead in _leads(period))


def _shifted_twice(hand: Tensor, period: float) -> float:
    shares = [
        _share(hand[2 * ahead :], _turned(hand[: -2 * ahead], ahead / period))
        for ahead in _leads(period)
        if 2 * ahead < len(hand)
    ]
    return max(shares)


check_worst_miss = Check(
    "worst_miss",
    _worst_miss,
    cases=[
        (_hand(12.6, 40, seed=0, noise=0.1), 12.6),
        (_hand(10.0, 60, seed=1), 12.2),  # the hand is faster than its period says
        (_hand(24.0, 90, seed=2, wobble=0.08, every=12.0), 24.0),  # worst at a quarter of a turn
        (_hand(520.0, 215, seed=3, wobble=0.1, every=700.0), 520.0),  # 200 rows, not 260
        (_hand(4.4, 20, seed=4, noise=0.5), 3.6),  # two rows ahead at most
        (_hand(-30.0, 100, seed=5, noise=0.3), 30.0),  # it turns backwards
        (_hand(7.0, 30, seed=6, noise=2.0), 50.6),
    ],
    mistakes=[
        Mistake(
            "the forecast turns backwards",
            "A hand multiplies by exp(2πi / T) from row to row. Which row is the earlier one: that "
            "which you turn, or that which you compare?",
            _largest(turns=lambda ahead, period: -ahead / period),
        ),
        Mistake(
            "the forecast does not turn",
            "By which angle does a hand of this period turn in so many rows?",
            _largest(turns=lambda ahead, period: 0.0),
        ),
        Mistake(
            "the forecast turns one row, however far ahead it looks",
            "By which angle does the hand turn in two rows?",
            _largest(turns=lambda ahead, period: 1 / period),
        ),
        Mistake(
            "the angle is in turns, not in radians",
            "How many radians are a whole turn?",
            _largest(turns=lambda ahead, period: ahead / period / (2 * math.pi)),
        ),
        Mistake(
            "the angle is half of what it should be",
            "How many radians are a whole turn?",
            _largest(turns=lambda ahead, period: ahead / period / 2),
        ),
        Mistake(
            "the period is taken for a speed",
            "Does a hand of a longer period turn farther in one row?",
            _largest(turns=lambda ahead, period: ahead * period),
            _largest(turns=lambda ahead, period: ahead * period / (2 * math.pi)),
        ),
        Mistake(
            "the hand is turned, but compared with itself in the same row",
            "Which rows have a forecast that was made so many rows before?",
            _not_shifted,
        ),
        Mistake(
            "rows are compared that lie twice as far apart",
            "You drop rows at one end of the hand, and rows at the other. How far apart are two "
            "that meet?",
            _shifted_twice,
        ),
        Mistake(
            "the first rows are compared with forecasts made in the last ones",
            "Which rows has nobody foretold? roll does not leave them out.",
            _around_the_end,
        ),
        Mistake(
            "all forecasts are made in the first row",
            "The formula makes a forecast in each row p. From how many rows is yours?",
            _all_from_the_first_row,
        ),
        Mistake(
            "only the farthest forecast counts",
            "Can a hand be lost after a quarter of a turn, and right again after half a turn?",
            lambda hand, period: _misses(hand, period)[-1],
        ),
        Mistake(
            "only the nearest forecast counts",
            "How far ahead must the forecasts hold?",
            lambda hand, period: _misses(hand, period)[0],
        ),
        Mistake(
            "this is the mean of the misses",
            "Which of them is asked for?",
            lambda hand, period: sum(_misses(hand, period)) / len(_misses(hand, period)),
        ),
        Mistake(
            "this is the smallest of the misses",
            "Which of them is asked for?",
            lambda hand, period: min(_misses(hand, period)),
        ),
        Mistake(
            "this is the sum of the misses",
            "Which of them is asked for?",
            lambda hand, period: sum(_misses(hand, period)),
        ),
        Mistake(
            "the farthest forecast is missing",
            "Does range stop at its last number, or before it?",
            _largest(leads=lambda period: list(_leads(period))[:-1] or [1]),
            lambda hand, period: max(_misses(hand, period)[:-1], default=0.0),
        ),
        Mistake(
            "the forecasts go up to a whole turn",
            "How far ahead must the forecasts hold?",
            _largest(leads=lambda period: range(1, min(round(period), 200) + 1)),
        ),
        Mistake(
            "slow hands are foretold more than 200 rows ahead",
            "Of 256 rows, how many are left to judge a forecast 250 rows ahead?",
            _largest(leads=lambda period: range(1, round(period / 2) + 1)),
        ),
        Mistake(
            "the squares of what is missed are compared with the hand's alone",
            "By the formula, of what two things do squares stand below the line?",
            _largest(
                share=lambda hand, forecast: float(
                    _squares(hand - forecast).sum() / _squares(hand).sum()
                )
            ),
            _largest(
                share=lambda hand, forecast: float(
                    _squares(hand - forecast).sum() / _squares(forecast).sum()
                )
            ),
        ),
        Mistake(
            "there are no squares",
            "What does the formula do to each length before it adds them up?",
            _largest(
                share=lambda hand, forecast: float(
                    (hand - forecast).abs().sum() / (hand.abs() + forecast.abs()).sum()
                )
            ),
        ),
        Mistake(
            "a root is taken",
            "The formula divides squares. Does it take a root of the quotient?",
            _largest(share=lambda hand, forecast: _share(hand, forecast) ** 0.5),
        ),
        Mistake(
            "each row is divided on its own",
            "By the formula, what comes first: the sums, or the division?",
            _largest(
                share=lambda hand, forecast: float(
                    (_squares(hand - forecast) / (_squares(hand) + _squares(forecast))).mean()
                )
            ),
        ),
        Mistake(
            "lengths are compared, and directions are lost",
            "Two hands as long as each other point in opposite directions. Is their difference 0? "
            "When do you take lengths?",
            _largest(
                share=lambda hand, forecast: float(
                    (hand.abs() - forecast.abs()).square().sum()
                    / (_squares(hand) + _squares(forecast)).sum()
                )
            ),
        ),
        Mistake(
            "only the real part is compared",
            "A hand points in a plane. How many numbers does that take?",
            _largest(share=lambda hand, forecast: _share(hand.real, forecast.real)),
        ),
        Mistake(
            "the square of a complex number is complex",
            "Which is the squared length of a + bi: (a + bi)², or a² + b²?",
            _largest(share=_complex_share),
            _largest(share=lambda hand, forecast: _complex_share(hand, forecast).item()),
            raises="complex|Complex",
        ),
        Mistake(
            "a complex number is made real, and its imaginary part is not 0",
            "Which is the squared length of a + bi: (a + bi)², or a² + b²?",
            _largest(share=lambda hand, forecast: float(_complex_share(hand, forecast))),
            raises="without overflow",
        ),
        Mistake(
            "the squares are those of complex numbers, not of lengths",
            "Which is the squared length of a + bi: (a + bi)², or a² + b²?",
            _largest(share=lambda hand, forecast: float(_complex_share(hand, forecast).real)),
            _largest(share=lambda hand, forecast: float(_complex_share(hand, forecast).abs())),
        ),
        Mistake(
            "every hand is made as long as every other",
            "Does the formula divide by lengths before it takes the difference?",
            _largest(
                share=lambda hand, forecast: _share(hand / hand.abs(), forecast / forecast.abs())
            ),
        ),
        Mistake(
            "there is a miss for each number of rows",
            "Which of them is asked for?",
            lambda hand, period: _misses(hand, period),
            lambda hand, period: torch.tensor(_misses(hand, period)),
        ),
        Mistake(
            "this is a verdict",
            "Whether the hand passes can be told from one number. Which?",
            lambda hand, period: _worst_miss(hand, period) < 0.2,
        ),
    ],
    hints=(
        "First one miss: which rows are compared with which, if a forecast looks 3 rows ahead?",
        "hand[ahead:] are the rows foretold, hand[:-ahead] those in which forecasts are made.",
        "The latter times cmath.exp(2j * math.pi * ahead / period) are the forecasts. Divide as in "
        "the formula, and take the largest for ahead = 1 … min(round(period / 2), 200).",
    ),
    rules=[Without((position_table.miss, position_table.largest_miss))],
    seconds=30.0,  # row by row, in tensors of one number, it takes some
)


def _rows_unless(
    is_untrained: Callable[[Tensor, Tensor, int], bool],
) -> Callable[[Tensor, Tensor, int], Tensor]:
    """Return an answer that raises ValueError where the condition holds."""

    def rows(table: Tensor, positions: Tensor, n_trained: int) -> Tensor:
        if is_untrained(table, positions, n_trained):
            raise ValueError(f"positions must be below {n_trained}, the number of trained rows")
        return table[positions]

    return rows


_table = randn(8, 3)

check_safe_rows = Check(
    "safe_rows",
    _rows_unless(lambda table, positions, n: bool((positions >= n).any())),
    cases=[
        (_table, torch.arange(4), 4),
        (_table, torch.arange(5), 4),
        (_table, torch.tensor([2, 6]), 5),
        (_table, torch.tensor([7, 0, 1]), 6),
        (_table, torch.tensor([3, 3, 3, 3, 3, 3]), 5),
    ],
    mistakes=[
        Mistake(
            "untrained rows are read without an error",
            "The table is as long as the test needs. Does that mean that its rows were trained?",
            _rows_unless(lambda table, positions, n: bool((positions >= len(table)).any())),
        ),
        Mistake(
            "one untrained row slips through",
            "With 4 trained rows, what is the number of the last of them?",
            _rows_unless(lambda table, positions, n: bool((positions > n).any())),
        ),
        Mistake(
            "the last trained row is refused",
            "With 4 trained rows, is position 3 allowed?",
            _rows_unless(lambda table, positions, n: bool((positions >= n - 1).any())),
        ),
        Mistake(
            "the number of positions is compared, not the positions",
            "A single token can stand at position 7. How long is the tensor of its positions?",
            _rows_unless(lambda table, positions, n: len(positions) > n),
        ),
        Mistake(
            "only the last position is looked at",
            "Positions need not be in order. Which of them decides?",
            _rows_unless(lambda table, positions, n: bool(positions[-1] >= n)),
        ),
        Mistake(
            "positions past the trained rows are clamped silently",
            "Will people who read your test results learn that these tokens shared one row?",
            lambda table, positions, n: table[positions.clamp(max=n - 1)],
        ),
    ],
    hints=(
        "There are two lengths here: how many rows exist, and how many ever received a gradient.",
        "Which positions are dangerous? Look at the positions, not at how many there are.",
        "If any position is at least n_trained, raise ValueError. Else return table[positions].",
    ),
)
