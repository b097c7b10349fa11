"""Checks for lesson 03 and its closer look: a table's clock hands, its forecasts, its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

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
    rules=[Without((_carry_on, _run, _back))],
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


def _ghost(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that turns evenly in the known rows, and backwards after them."""
    hand = _hand(period, length, seed)
    return torch.cat([hand[:known], hand[known:].conj() * hand[known] / hand[known].conj()])


def _passes(hand: Tensor, period: float) -> bool:
    return position_table.largest_miss(hand, period) < 0.2


def _counts(hand: Tensor, period: float, known: int) -> bool:
    return _passes(hand[known:], period) and period <= known


def _within(fits: Callable[[float, int, int], bool]) -> Callable[[Tensor, float, int], bool]:
    """Return an answer by another rule for period, known rows and all rows."""
    return lambda hand, period, known: (
        _passes(hand[known:], period) and fits(period, known, len(hand))
    )


check_counts = Check(
    "counts",
    _counts,
    cases=[
        (_hand(12.6, 120, seed=0, noise=0.1), 12.6, 60),
        (_ghost(30.0, 150, seed=1, known=90), 30.0, 90),
        (_hand(540.0, 511, seed=2, wobble=0.01, every=300.0), 540.0, 255),
        (_hand(360.0, 511, seed=3), 360.0, 255),  # half of its turn is known
        (_hand(147.0, 511, seed=4, noise=0.2), 147.0, 255),  # once round, not twice
        (_hand(80.0, 200, seed=5), 80.0, 60),  # short, but longer than what is known
        (_hand(180.0, 400, seed=6), 180.0, 300),  # longer than the rows that are left
        (torch.cat([_hand(20.0, 360, seed=7), _hand(20.0, 60, seed=8, noise=0.7)]), 20.0, 360),
        (_hand(300.0, 900, seed=9), 300.0, 400),
        (_hand(90.0, 150, seed=10), 90.0, 40),
        (_ghost(200.0, 260, seed=11, known=60), 200.0, 60),
        (_hand(420.0, 600, seed=12), 420.0, 300),
    ],
    mistakes=[
        Mistake(
            "a hand counts that has not come round once in the known rows",
            "Of the smooth table, look at the periods of the hands that pass. What have these "
            "hands never done in the 255 rows that the fit knows?",
            lambda hand, period, known: _passes(hand[known:], period),
        ),
        Mistake(
            "a hand counts that does not pass after the known rows",
            "A hand of a random walk comes round in the known rows, and passes in them. What "
            "becomes of it in the rows that the fit has not seen?",
            lambda hand, period, known: period <= known,
            lambda hand, period, known: _passes(hand[:known], period) and period <= known,
            lambda hand, period, known: _passes(hand[:known], period),
        ),
        Mistake(
            "one of the two is enough",
            "Must a hand pass and have come round, or is one of them enough?",
            lambda hand, period, known: _passes(hand[known:], period) or period <= known,
        ),
        Mistake(
            "the miss is that of all rows, known or not",
            "In the rows that the fit has seen a ghost passes too. Which rows of `hand` has it not "
            "seen?",
            lambda hand, period, known: _passes(hand, period) and period <= known,
            lambda hand, period, known: _passes(hand, period),
        ),
        Mistake(
            "the period is not compared with the known rows",
            "In which rows must the hand have come round, so that the fit could see it?",
            _within(lambda period, known, all_rows: period <= all_rows),
            _within(lambda period, known, all_rows: period <= all_rows - known),
            _within(lambda period, known, all_rows: period / 2 <= all_rows - known),
        ),
        Mistake(
            "half a turn in the known rows is enough",
            "A bend can look like half a turn. When has a hand come back to where it was?",
            _within(lambda period, known, all_rows: period / 2 <= known),
        ),
        Mistake(
            "hands are left out that came round once, but not twice",
            "A hand of the real table turns in 147 rows, and 255 are known. It keeps to its "
            "forecasts. Is it to be lost?",
            _within(lambda period, known, all_rows: 2 * period <= known),
        ),
        Mistake(
            "a number stands where `known` should",
            "Another table is known in 60 rows only, or in 400. Which hands come round in those?",
            _within(lambda period, known, all_rows: period <= 255),
            _within(lambda period, known, all_rows: period <= 200),
            _within(lambda period, known, all_rows: period < 160),
            _within(lambda period, known, all_rows: period <= 100),
            _within(lambda period, known, all_rows: period <= 400),
            lambda hand, period, known: _passes(hand[255:], period) and period <= 255,
            lambda hand, period, known: _passes(hand[255:], period) and period <= known,
        ),
        Mistake(
            "the hands that count are those that have not come round",
            "Which period is the longer: that of a hand that came round in the known rows, or that "
            "of one that did not?",
            _within(lambda period, known, all_rows: period >= known),
        ),
        Mistake(
            "the hands that count are those that miss",
            "Does a hand pass if its worst miss is above 0.2, or below?",
            lambda hand, period, known: not _passes(hand[known:], period) and period <= known,
        ),
        Mistake(
            "this is a miss, not a verdict",
            "From which number on does a hand no longer pass?",
            lambda hand, period, known: position_table.largest_miss(hand[known:], period),
        ),
    ],
    hints=(
        "Print the periods of the hands that pass beside 255, the number of rows that are known.",
        "None of them came round in those rows, so what the fit saw was a bend. Ask for a turn.",
        "The largest miss of hand[known:] is below 0.2, and the period is at most `known`.",
    ),
    rules=[Without((_counts, _passes))],
    seconds=30.0,
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
