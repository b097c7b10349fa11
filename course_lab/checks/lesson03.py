"""Checks for lesson 03 and its closer look: a table's clock hands, its forecasts, its gradient."""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Callable
from functools import cache, partial

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


def _turned_the_other_way(rows: Tensor, n: int, count: int, shifted: bool = True) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(later[-1] @ clock.matrix.T + shifted * clock.shift)
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


def _of_255(mean: bool, axes: bool, fit: bool) -> Callable[[Tensor, int, int], Tensor]:
    """Return an answer that takes its mean, its directions or its turn of 255 rows, not of all."""

    def carry(rows: Tensor, n: int, count: int) -> Tensor:
        known = rows[:255]
        centre = (known if mean else rows).mean(0)
        directions = main_directions(known if axes else rows, count)
        coordinates = (rows - centre) @ directions.T
        clock, later = turn(coordinates[:255] if fit else coordinates), [coordinates[-1:]]
        for _ in range(n):
            later.append(clock.onwards(later[-1]))
        return centre + torch.cat(later[1:]) @ directions

    return carry


def _less_a_mean_of_each_row(back: str) -> Callable[[Tensor, int, int], Tensor]:
    """Return an answer that takes the mean over columns, and goes back by a mean of some kind."""

    def carry(rows: Tensor, n: int, count: int) -> Tensor:
        centred, directions = rows - rows.mean(1, keepdim=True), main_directions(rows, count)
        coordinates = centred @ directions.T
        clock, later = turn(coordinates), [coordinates[-1:]]
        for _ in range(n):
            later.append(clock.onwards(later[-1]))
        means = {"last": rows[-1].mean(), "all": rows.mean(), "right": rows.mean(0)}
        return torch.cat(later[1:]) @ directions + means.get(back, torch.zeros(()))

    return carry


def _shift_once(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock = turn(coordinates)
    powers = [torch.linalg.matrix_power(clock.matrix, number) for number in range(1, n + 1)]
    return _back(rows, torch.cat([coordinates[-1:] @ power + clock.shift for power in powers]))


def _shift_times_steps(rows: Tensor, n: int, count: int) -> Tensor:
    coordinates, _ = _coordinates(rows, count)
    clock = turn(coordinates)
    steps = range(1, n + 1)
    powers = [torch.linalg.matrix_power(clock.matrix, number) for number in steps]
    later = [
        coordinates[-1:] @ power + number * clock.shift
        for number, power in zip(steps, powers, strict=True)
    ]
    return _back(rows, torch.cat(later))


def _along_uncentred_directions(rows: Tensor, n: int, count: int) -> Tensor:
    directions = torch.linalg.svd(rows, full_matrices=False)[2][:count]
    coordinates = (rows - rows.mean(0)) @ directions.T
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return rows.mean(0) + torch.cat(later[1:]) @ directions


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


def _centred_by_one_number(rows: Tensor, n: int, count: int) -> Tensor:
    """Take the mean of the whole table off before the turn, and add it at the end."""
    directions = main_directions(rows, count)
    coordinates = (rows - rows.mean()) @ directions.T
    clock, later = turn(coordinates), [coordinates[-1:]]
    for _ in range(n):
        later.append(clock.onwards(later[-1]))
    return rows.mean() + torch.cat(later[1:]) @ directions


def _fitted_to_some(rows_of_fit: slice) -> Callable[[Tensor, int, int], Tensor]:
    """Return an answer whose turn leaves out some of the known rows."""

    def carry(rows: Tensor, n: int, count: int) -> Tensor:
        coordinates, _ = _coordinates(rows, count)
        clock, later = turn(coordinates[rows_of_fit]), [coordinates[-1:]]
        for _ in range(n):
            later.append(clock.onwards(later[-1]))
        return _back(rows, torch.cat(later[1:]))

    return carry


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


@cache
def _notebooks() -> tuple[Tensor, Tensor]:
    """Return `known` and `coordinates` of the notebook."""
    rows = position_table.position_table()[1:].double()
    known = rows[:255]
    return known, (rows - known.mean(0)) @ main_directions(known, 10).T


def _in_the_notebooks_rows() -> list[Callable[[Tensor, int, int], Tensor]]:
    """Return answers that go on in its rows: from row 255, from row 511, in `count` directions."""

    def all_of_it(rows: Tensor, n: int, count: int, start: int = 254) -> Tensor:
        known, coordinates = _notebooks()
        clock, later = turn(coordinates[:255]), [coordinates[start][None]]
        for _ in range(n):
            later.append(clock.onwards(later[-1]))
        return _back(known, torch.cat(later[1:]))

    return [
        all_of_it,
        partial(all_of_it, start=-1),
        lambda rows, n, count: _carry_on(_notebooks()[0], n, count),
    ]


def _by_the_notebooks_clock(rows: Tensor, n: int, count: int) -> Tensor:
    return turn(_notebooks()[1][:255]).onwards(_coordinates(rows, count)[0][-1:])


def _along_the_notebooks_directions(rows: Tensor, n: int, count: int) -> Tensor:
    known = _notebooks()[0]
    coordinates = (rows - known.mean(0)) @ main_directions(known, count).T
    return known.mean(0) + turn(coordinates).onwards(coordinates[-1:]) @ main_directions(
        known, count
    )


def _along_given_directions(rows: Tensor, n: int, count: int) -> Tensor:
    return _notebooks()[1][-1:] @ main_directions(rows, count)


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
        (_planted([70.0, 11.0], 300, 10, seed=7, noise=0.3), 20, 4),
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
            partial(_turned_the_other_way, shifted=False),
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
            "What did you take off the rows before you turned them? (After `rows -= …`, what "
            "does `rows` hold?)",
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
            "only the first 255 rows are used, as in the notebook",
            "Another table may be longer. From which of its rows does the turn come, and after "
            "which row do the new ones begin?",
            lambda rows, n, count: _carry_on(rows[:255], n, count),
            *[
                _of_255(mean, axes, fit)
                for mean, axes, fit in itertools.product((True, False), repeat=3)
                if mean or axes or fit
            ],
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
            _shift_times_steps,
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
            _along_uncentred_directions,
        ),
        Mistake(
            "the rows are taken less one number, the mean of the whole table",
            "The mean of all rows is a row. How many numbers has it?",
            _less_the_mean_of_all_numbers,
            _centred_by_one_number,
        ),
        Mistake(
            "each row is taken less a number of its own, its mean",
            "Which axis of `rows` must the mean run along, so that one row is left?",
            *map(_less_a_mean_of_each_row, ("last", "all", "right", "none")),
        ),
        Mistake(
            "the numbers are rounded to float32 on the way",
            "In which dtype do the rows come? What becomes of a small error in many steps?",
            lambda rows, n, count: _carry_on(rows.float(), n, count),
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
            "it goes on in the notebook's rows, not in those given",
            "Does your function use `one_turn`, `coordinates` or `known`? Which rows are those?",
            *_in_the_notebooks_rows(),
        ),
        Mistake(
            "it takes the notebook's clock or coordinates, not those of the rows given",
            "Does your function use `one_turn` or `coordinates`? Of which rows, and of how many "
            "directions?",
            _by_the_notebooks_clock,
            _along_given_directions,
            _along_the_notebooks_directions,
            raises=r"and 10x10\)|\(\d+x10 and|tensor b \(384\)|\(\d+x384 and|and 384x",
        ),
        Mistake(
            "two shapes do not fit",
            "A row of the table has D numbers, the turn takes `count`. Where do you go from the "
            "one to the other, and back? And how many numbers has the mean of all rows?",
            _without_a_way_between_shapes,
            lambda rows, n, count: _carry_on(rows - rows.mean(1), n, count),
            raises="shapes cannot be multiplied|must match the size",
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
            "the turn is not fitted to all known rows",
            "From which of the known rows to which has the turn to lead?",
            *map(_fitted_to_some, (slice(None, -1), slice(1, None))),
        ),
        Mistake(
            "the clock starts again at the first row",
            "From which of the known rows do you begin to turn?",
            lambda rows, n, count: _back(rows, _run(rows, n, count, first=0)[1:]),
        ),
        Mistake(
            "known rows are given once more",
            "Do all hands stand as they stood there, after n rows?",
            _around,
            lambda rows, n, count: rows[torch.arange(-n, 0) % len(rows)],
            lambda rows, n, count: rows[-n:],
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
    tolerance=1e-4,
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


def _stopped(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that turns evenly in the known rows, and stands still after them."""
    hand = _hand(period, length, seed)
    return torch.cat([hand[:known], hand[known].expand(length - known)])


def _settled(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that turns unevenly in the known rows, and evenly after them."""
    hand = _hand(period, length, seed)
    uneven = _hand(period, known, seed, wobble=0.2, every=2.3 * period)
    return torch.cat([uneven, hand[known:] * uneven[-1] / hand[known - 1]])


def _stands_first(period: float, length: int, seed: int, known: int, turned: float) -> Tensor:
    """Return a hand that has made part of a turn when the known rows end, and stood still before.

    Fast or not, it comes round evenly after them.
    """
    still = known - round(turned * period)
    hand = _hand(period, length - still, seed)
    return torch.cat([hand[:1].expand(still), hand])


def _begun_at(angle: float, hand: Tensor) -> Tensor:
    """Return a hand that begins at angle 0, turned to begin at this one."""
    return hand * cmath.exp(1j * angle)


def _trembles_first(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that trembles about the angle π in the known rows, and then turns."""
    generator = torch.Generator().manual_seed(seed)
    angles = math.pi + 0.2 * torch.randn(known, generator=generator, dtype=torch.float64)
    return torch.cat([torch.polar(torch.ones_like(angles), angles), _hand(period, length, seed)])


def _with_a_leap(hand: Tensor, row: int) -> Tensor:
    """Return the hand with one arrow 30 times as long, and turned round."""
    leap = torch.ones(len(hand))
    leap[row] = -30
    return hand * leap


def _swings_first(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that swings from −20° to 100° and back in the known rows, and then turns."""
    places = torch.arange(known, dtype=torch.float64)
    degrees = 40 + 60 * (2 * math.pi * places / known).sin()
    swing = torch.polar(torch.ones_like(degrees), degrees * math.pi / 180)
    return torch.cat([swing, _hand(period, length - known, seed)])


def _grows_first(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand that turns evenly, and grows fourfold in the known rows."""
    sizes = torch.cat([torch.linspace(0.25, 1, known), torch.ones(length - known)])
    return _hand(period, length, seed) * sizes


def _slows_first(period: float, length: int, seed: int, known: int, laps: float) -> Tensor:
    """Return a hand that turns fast while it is short, and slower as it grows in the known rows."""
    part = torch.linspace(0, 1, known, dtype=torch.float64)
    first = torch.polar(0.2 + 0.8 * part, 2 * math.pi * laps * part.sqrt())
    hand = _hand(period, length - known, seed)
    return torch.cat([first, hand * first[-1] / hand[0]])


def _off_centre(period: float, length: int, seed: int, known: int) -> Tensor:
    """Return a hand whose tip runs in small circles beside its centre, and comes round later."""
    hand = _hand(period, length, seed)
    return torch.cat([1 + 0.2 * hand[:known], hand[known:]])


def _passes(hand: Tensor, period: float) -> bool:
    return position_table.largest_miss(hand, period) < 0.2


def _mean_miss(hand: Tensor, period: float) -> float:
    farthest = min(round(period / 2), 200)
    misses = [position_table.miss(hand, period, ahead) for ahead in range(1, farthest + 1)]
    return sum(misses) / len(misses)


def _miss_at(hand: Tensor, period: float, part: float) -> float:
    """Return the miss at one part of a turn alone."""
    return position_table.miss(hand, period, max(1, min(round(part * period), 200)))


def _turns(hand: Tensor) -> float:
    """How often it has come round: its signed steps added up."""
    return abs((hand[1:] / hand[:-1]).angle().sum().item()) / (2 * math.pi)


Answer = Callable[[Tensor, float, int], bool]


def _believable(hand: Tensor, period: float, known: int) -> bool:
    return _passes(hand[known:], period) and _turns(hand[:known]) >= 1


def _both_ways(judged: Callable[[Tensor, float, int], bool]) -> list[Answer]:
    """Return two answers with a test of their own: hands come round by steps, and by period."""
    return [
        lambda hand, period, known: judged(hand, period, known) and _turns(hand[:known]) >= 1,
        lambda hand, period, known: judged(hand, period, known) and period <= known,
    ]


def _below(bar: float) -> list[Answer]:
    """Return answers with another bar for the worst miss."""
    return _both_ways(
        lambda hand, period, known: position_table.largest_miss(hand[known:], period) < bar
    )


def _tested_from(shift: int) -> list[Answer]:
    """Return answers that take the test so many rows after the first unseen one."""
    return _both_ways(lambda hand, period, known: _passes(hand[known + shift :], period))


def _travels(hand: Tensor) -> bool:
    """Whether the sizes of all its turns, row to row, add up to a whole one."""
    return (hand[1:] / hand[:-1]).angle().abs().sum().item() >= 2 * math.pi


def _wanders(hand: Tensor) -> bool:
    """Whether its tip's way is as long as a whole turn's."""
    return hand.diff().abs().sum().item() >= 2 * math.pi * hand.abs().mean().item()


def _leaps(angles: Tensor) -> bool:
    """Whether differences of angles add up to a turn: by a jump from π to −π, often."""
    return angles.diff().abs().sum().item() >= 2 * math.pi


def _spans(least: float) -> Answer:
    """Return an answer that asks how far the known angles, from −π to π, lie apart."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        angles = hand[:known].angle()
        return _passes(hand[known:], period) and bool(angles.max() - angles.min() > least)

    return answer


def _is_centred(near: float) -> Answer:
    """Return an answer that asks whether the known arrows' mean is short beside their length."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        centred = hand[:known].mean().abs() < near * hand[:known].abs().mean()
        return _passes(hand[known:], period) and bool(centred)

    return answer


def _is_even(most: float) -> Answer:
    """Return an answer that asks whether the known arrows' lengths spread little."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        lengths = hand[:known].abs()
        return _passes(hand[known:], period) and bool(lengths.std() < most * lengths.mean())

    return answer


def _comes_from_within(hand: Tensor, period: float, known: int) -> bool:
    return _passes(hand[known:], period) and bool(hand[0].abs() < hand[:known].abs().mean())


def _is_rough(least: float) -> Answer:
    """Return an answer that asks whether known steps differ much from the steps before them."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        steps = hand[:known].diff()
        rough = steps.diff().abs().mean() > least * steps.abs().mean()
        return _passes(hand[known:], period) and bool(rough)

    return answer


def _passes_a_whole_turn_ahead(hand: Tensor, period: float, known: int) -> bool:
    later = hand[known:]
    ahead = min(round(period), len(later) - 1)
    return _passes(later, period) and position_table.miss(later, period, ahead) < 0.2


def _passes_below(bar: float) -> Answer:
    """Return an answer that asks nothing of the known rows, and less of a miss after them."""
    return lambda hand, period, known: position_table.largest_miss(hand[known:], period) < bar


def _never_steps_back(hand: Tensor) -> bool:
    """Whether each step has the same sense."""
    steps = (hand[1:] / hand[:-1]).angle()
    return bool((steps > 0).all() or (steps < 0).all())


def _visits(sectors: int) -> Answer:
    """Return an answer that asks whether the hand has pointed into each of these sectors."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        places = (hand[:known].angle() * sectors / (2 * math.pi)).floor().int() % sectors
        return _passes(hand[known:], period) and len(places.unique()) == sectors

    return answer


def _takes_both_signs(hand: Tensor, period: float, known: int) -> bool:
    return _passes(hand[known:], period) and _on_all_sides(hand[:known])


def _changes_sign_twice(hand: Tensor, period: float, known: int) -> bool:
    changes = (hand[:known].real.sign().diff() != 0).sum().item()
    return _passes(hand[known:], period) and changes >= 2


def _is_back_after_a_period(hand: Tensor, period: float, known: int) -> bool:
    ahead = round(period)
    is_back = ahead < known and position_table.miss(hand[:known], period, ahead) < 0.2
    return is_back and _passes(hand[known:], period)


def _has_the_laps_of_its_period(near: float) -> Answer:
    """Return an answer that asks for as many turns in the known rows as the period says."""
    return lambda hand, period, known: (
        _passes(hand[known:], period) and abs(_turns(hand[:known]) - known / period) < near
    )


def _crosses(times: int, upwards: bool) -> Answer:
    """Return an answer that counts how often the known arrows cross the positive real axis."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        upper = hand[:known].imag > 0
        crossings = (upper[1:] != upper[:-1]) & (hand[1:known].real > 0)
        if upwards:
            crossings &= upper[1:]
        return _passes(hand[known:], period) and int(crossings.sum()) >= times

    return answer


def _sweeps(size: Callable[[Tensor], Tensor]) -> Answer:
    """Return an answer that asks whether the area swept is that of a circle of some radius²."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        area = 0.5 * (hand[: known - 1].conj() * hand[1:known]).imag.sum()
        enough = area >= math.pi * size(hand[:known].abs().square())
        return _passes(hand[known:], period) and bool(enough)

    return answer


def _is_as_fast(share: float, within: bool, middle: Callable[[Tensor], Tensor]) -> Answer:
    """Return an answer that asks for a share of the period's speed; with ``within``, more."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        speed = middle((hand[1:known] / hand[: known - 1]).angle()).item()
        fast = speed >= share * 2 * math.pi / period
        return _passes(hand[known:], period) and fast and (period <= known or not within)

    return answer


def _short_and(moved: Callable[[Tensor], bool]) -> Answer:
    """Return an answer that asks for a short period, and for some movement in the known rows."""
    return lambda hand, period, known: (
        _passes(hand[known:], period) and period <= known and moved(hand[:known])
    )


def _on_all_sides(hand: Tensor) -> bool:
    parts = torch.view_as_real(hand.resolve_conj())
    return bool(((parts.amin(0) < 0) & (parts.amax(0) > 0)).all())


def _ends_at_its_start(near: float) -> list[Answer]:
    """Return answers that ask whether the last known arrow is near the first, by tip or angle."""

    def by_tip(hand: Tensor, period: float, known: int) -> bool:
        away = (hand[known - 1] - hand[0]).abs() / hand[0].abs()
        return _passes(hand[known:], period) and bool(away < near)

    def by_angle(hand: Tensor, period: float, known: int) -> bool:
        away = (hand[known - 1] / hand[0]).angle().abs()
        return _passes(hand[known:], period) and bool(away < near)

    return [by_tip, by_angle]


def _meets_its_first_angle(near: float, after: int | None) -> Answer:
    """Return an answer that asks for a known arrow that points as the first did."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        first_asked = known // 2 if after is None else after
        away = (hand[first_asked:known] / hand[0]).angle().abs()
        return _passes(hand[known:], period) and bool((away < near).any())

    return answer


def _is_where_it_was(near: float) -> Answer:
    """Return an answer that asks whether the arrow one period after the first is near it."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        after = round(period)
        is_known = after < known
        is_back = is_known and bool((hand[after] - hand[0]).abs() < near * hand[0].abs())
        return is_back and _passes(hand[known:], period)

    return answer


def _keeps_its_length(most: float, spread: Callable[[Tensor], Tensor]) -> Answer:
    """Return an answer that asks whether a spread of the known arrows' lengths is small."""
    return lambda hand, period, known: (
        _passes(hand[known:], period) and bool(spread(hand[:known].abs()) < most)
    )


def _jumps(times: int) -> Answer:
    """Return an answer that counts how often the known angles jump between π and −π."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        jumps = int((hand[:known].angle().diff().abs() > math.pi).sum())
        return _passes(hand[known:], period) and jumps >= times

    return answer


def _returns(near: float) -> Answer:
    """Return an answer that asks whether the hand leaves its first point and comes back to it."""

    def answer(hand: Tensor, period: float, known: int) -> bool:
        away = (hand[:known] - hand[0]).abs() / hand[0].abs()
        back = away[int(away.argmax()) :]
        return _passes(hand[known:], period) and bool((back < near).any())

    return answer


def _meets_its_start(near: float, after: int | None) -> Answer:
    """Return an answer that asks for a known arrow, so many rows on or half a turn, at the first.

    The first is that of row 0.
    """

    def answer(hand: Tensor, period: float, known: int) -> bool:
        first_asked = round(period / 2) if after is None else after
        away = (hand[first_asked:known] - hand[0]).abs() / hand[0].abs()
        return _passes(hand[known:], period) and bool((away < near).any())

    return answer


def _within(fits: Callable[[float, int, int], bool]) -> Answer:
    """Return an answer by a rule for period, known rows and all rows."""
    return lambda hand, period, known: (
        _passes(hand[known:], period) and fits(period, known, len(hand))
    )


def _by_steps_of(enough: Callable[[Tensor, int], bool]) -> Answer:
    """Return an answer by a rule for all rows of the hand and the number of known ones."""
    return lambda hand, period, known: _passes(hand[known:], period) and enough(hand, known)


check_believable = Check(
    "believable",
    _believable,
    cases=[
        (_hand(12.6, 120, seed=0, noise=0.1), 12.6, 60),
        (_ghost(30.0, 150, seed=1, known=90), 30.0, 90),
        (_hand(540.0, 511, seed=2, wobble=0.01, every=300.0), 540.0, 255),
        (_hand(360.0, 511, seed=3), 360.0, 255),  # half of its turn is known
        (_hand(147.0, 511, seed=4, noise=0.2), 147.0, 255),  # once round, not twice
        (_hand(80.0, 200, seed=5), 80.0, 60),  # short, but longer than what is known
        (_hand(180.0, 400, seed=6), 180.0, 300),  # longer than the rows that are left
        (torch.cat([_hand(20.0, 360, seed=7), _hand(20.0, 60, seed=8, noise=0.7)]), 20.0, 360),
        (_hand(260.0, 900, seed=9), 260.0, 400),
        (_hand(90.0, 150, seed=10), 90.0, 40),
        (_ghost(200.0, 260, seed=11, known=60), 200.0, 60),
        (_hand(420.0, 600, seed=12), 420.0, 300),
        (_hand(50.0 / 1.19, 400, seed=13), 50.0, 200),  # worst miss 0.17: passes
        (_hand(50.0 / 1.22, 400, seed=14), 50.0, 200),  # 0.23: does not
        (_hand(50.0 / 1.34, 400, seed=17), 50.0, 200),  # 0.5, but 0.2 on average
        (_stopped(40.0, 300, seed=18, known=150), 40.0, 150),
        (_hand(129.0, 420, seed=15), 129.0, 200),  # round, and half a turn more
        (_hand(180.0, 420, seed=31), 180.0, 200),  # round, and a tenth more
        (_hand(199.6, 420, seed=32), 199.6, 200),  # round with the first unseen row only
        (_hand(210.0, 405, seed=16), 210.0, 200),  # nearly round
        (_hand(204.0, 405, seed=24), 204.0, 200),  # 0.98 of a turn
        (_settled(40.0, 300, seed=19, known=160), 40.0, 160),  # believable all the same
        (_hand(535.0, 511, seed=20, noise=0.1), 535.0, 255),  # trembles, and does not come round
        (_hand(300.0, 400, seed=21), 300.0, 120),  # its angle stays below π in the known rows
        (_stands_first(40.0, 300, seed=22, known=150, turned=0.0), 40.0, 150),
        (_stands_first(60.0, 400, seed=23, known=200, turned=0.6), 60.0, 200),
        (_swings_first(60.0, 400, seed=28, known=200), 60.0, 200),
        (_off_centre(60.0, 400, seed=27, known=200), 60.0, 200),
        (_trembles_first(60.0, 200, seed=29, known=200), 60.0, 200),
        (_slows_first(96.0, 500, seed=34, known=200, laps=1.2), 96.0, 200),
        (_grows_first(240.0, 500, seed=33, known=200), 240.0, 200),  # 0.8 of a turn
        (_begun_at(-3.05, _hand(206.0, 420, seed=35)), 206.0, 200),  # 0.97, and not past π
        (_stands_first(190.0, 420, seed=36, known=200, turned=0.6), 190.0, 200),
        (_begun_at(-2.8, _hand(125.0, 420, seed=30)), 125.0, 200),  # 1.6 turns, past π once
        (_with_a_leap(_hand(90.0, 400, seed=25), row=199), 90.0, 200),  # in the last known row
        (_with_a_leap(_hand(90.0, 400, seed=26), row=200), 90.0, 200),  # in the first unseen one
    ],
    mistakes=[
        Mistake(
            "a hand is believed, as in the smooth table, whose known rows show too little",
            "Take a hand of the smooth table that passes, and follow it along its known rows. What "
            "do they show of it, and what not?",
            lambda hand, period, known: _passes(hand[known:], period),
        ),
        Mistake(
            "the period is what the fit says, not what the hand did",
            "A hand stands still in all known rows, and turns evenly after them. Its period is "
            "short. What of that would you see in the known rows?",
            _within(lambda period, known, all_rows: period <= known),
        ),
        Mistake(
            "the known rows are put to the lesson's test",
            "The fit bends to the known rows, so hands of the smooth table pass there too. Must a "
            "hand turn evenly there? What must those rows show of it?",
            lambda hand, period, known: (
                _passes(hand[:known], period) and _passes(hand[known:], period)
            ),
            *_both_ways(
                lambda hand, period, known: (
                    _passes(hand[:known], period) and _passes(hand[known:], period)
                )
            ),
        ),
        Mistake(
            "the hand must be back after one period in the known rows",
            "Must a hand turn evenly there, or only come round? And one that stands still: is it "
            "back after one period?",
            _is_back_after_a_period,
            *map(_is_where_it_was, (0.1, 0.2, 0.3, 0.5)),
        ),
        Mistake(
            "the hand must come near its first point again in the known rows",
            "A hand's arrow may grow while it turns, and one that stands still never leaves its "
            "first point. How could you ask for a whole turn by its angle alone?",
            *[_returns(near) for near in (0.1, 0.2, 0.3, 0.5)],
            *[
                _meets_its_start(near, after)
                for near in (0.1, 0.2, 0.3)
                for after in (1, 5, 10, 20, None)
            ],
            *[answer for near in (0.1, 0.2, 0.3, 0.5) for answer in _ends_at_its_start(near)],
            *[
                _meets_its_first_angle(near, after)
                for near in (0.2, 0.3)
                for after in (5, 10, 20, None)
            ],
        ),
        Mistake(
            "degrees are compared with radians",
            "In which unit are your steps, and in which is your whole turn?",
            _by_steps_of(lambda hand, known: 360 * _turns(hand[:known]) >= 2 * math.pi),
        ),
        Mistake(
            "steps back and forth are added up",
            "A hand that trembles makes many steps, ahead and back. Has it come round?",
            _by_steps_of(lambda hand, known: _travels(hand[:known])),
            _by_steps_of(lambda hand, known: _wanders(hand[:known])),
        ),
        Mistake(
            "crossings of one axis are counted",
            "A hand that trembles about an axis crosses it many times. One that begins just past "
            "it, and comes round once: how often has it crossed it?",
            *[_crosses(times, upwards) for times in (1, 2) for upwards in (True, False)],
        ),
        Mistake(
            "the area that the arrow sweeps stands for its turn",
            "A hand's arrow may grow while it turns. Of two hands that come round once, does the "
            "longer one turn more?",
            _sweeps(lambda squares: squares.mean()),
            _sweeps(lambda squares: squares.max()),
            _sweeps(lambda squares: squares.min()),
            _sweeps(lambda squares: squares[0]),
            _sweeps(lambda squares: squares.sqrt().mean().square()),
        ),
        Mistake(
            "a short period, and part of a turn, stand for a whole one",
            "A hand stands still for long, and then makes more than half of a turn, fast. Has it "
            "come round in the known rows?",
            _short_and(_on_all_sides),
            *[
                _short_and(lambda hand, laps=laps: _turns(hand) >= laps)  # type: ignore[misc]
                for laps in (0.1, 0.25, 0.5)
            ],
        ),
        Mistake(
            "jumps of the angle are counted as turns",
            "A hand trembles about the angle π, and its angle jumps at many steps. Another comes "
            "round from −160°, and half a turn on: how often does its angle jump?",
            *map(_jumps, (1, 2)),
        ),
        Mistake(
            "angles are subtracted across their jump from π to −π",
            "An angle lies between −π and π. What is the difference of two where a hand passes π?",
            _by_steps_of(lambda hand, known: _leaps(hand[:known].angle())),
        ),
        Mistake(
            "one small step back rules a hand out",
            "The hands of the real table tremble. Has one that steps back not come round?",
            _by_steps_of(lambda hand, known: _never_steps_back(hand[:known])),
            *_both_ways(
                lambda hand, period, known: (
                    _passes(hand[known:], period) and _never_steps_back(hand[:known])
                )
            ),
        ),
        Mistake(
            "a fast hand leaps over some of your sectors",
            "A hand turns once in 12 rows. How many sectors can it meet in one turn?",
            *map(_visits, (32, 36)),
        ),
        Mistake(
            "no hand is believed",
            "Which hands of the real table should you still believe? (If you compare angles: "
            "in which unit, and between which two numbers does an angle lie?)",
            lambda hand, period, known: False,
        ),
        Mistake(
            "every hand is believed",
            "Which hands of the smooth table should you no longer believe?",
            lambda hand, period, known: True,
        ),
        Mistake(
            "the demand is on the test after the known rows, not on the known rows",
            "A period of at most 400 lets 200 rows reach half a turn: that mends the test. What do "
            "you ask of the known rows?",
            _within(lambda period, known, all_rows: period <= 400),
        ),
        Mistake(
            "a hand is believed that does not pass after the known rows",
            "A hand of a random walk comes round in the known rows, and passes in them. What "
            "becomes of it in the rows that the fit has not seen?",
            *_both_ways(lambda hand, period, known: True),
            *_both_ways(lambda hand, period, known: _passes(hand[:known], period)),
            lambda hand, period, known: _passes(hand[:known], period),
        ),
        Mistake(
            "one of the two is enough",
            "Must a hand pass and have met your demand, or is one of them enough?",
            lambda hand, period, known: _passes(hand[known:], period) or _turns(hand[:known]) >= 1,
            lambda hand, period, known: _passes(hand[known:], period) or period <= known,
        ),
        Mistake(
            "the miss is that of all rows, known or not",
            "In the rows that the fit has seen a ghost passes too. Which rows of `hand` has it not "
            "seen?",
            *_both_ways(lambda hand, period, known: _passes(hand, period)),
            lambda hand, period, known: _passes(hand, period),
        ),
        Mistake(
            "turns are counted about the mean of the known rows",
            "An arrow starts at 0, the point that the turn leaves alone. Must a tip that runs in "
            "small circles beside it go round it?",
            _by_steps_of(lambda hand, known: _turns(hand[:known] - hand[:known].mean()) >= 1),
        ),
        Mistake(
            "the test begins before the first unseen row, or after it",
            "The fit has seen rows 0 to `known` − 1 of `hand`. At which row does your test begin?",
            *[answer for shift in (-10, -5, -1, 1, 5, 10) for answer in _tested_from(shift)],
        ),
        Mistake(
            "a hand passes or fails by another bar than the lesson's",
            "Below which worst miss does a hand pass in this lesson?",
            *[
                answer
                for bar in (0.02, 0.05, 0.1, 0.15, 0.25, 0.3, 0.4, 0.5)
                for answer in _below(bar)
            ],
        ),
        Mistake(
            "the miss is not the worst one",
            "A forecast can be good a few rows ahead, or after a whole turn. Which of the misses "
            "up to half a turn has to be below 0.2?",
            *_both_ways(lambda hand, period, known: _mean_miss(hand[known:], period) < 0.2),
            *_both_ways(lambda hand, period, known: _miss_at(hand[known:], period, 0.25) < 0.2),
            *_both_ways(lambda hand, period, known: _miss_at(hand[known:], period, 0.5) < 0.2),
            *_both_ways(lambda hand, period, known: _miss_at(hand[known:], period, 1.0) < 0.2),
        ),
        Mistake(
            "turns are counted in rows that the fit has not seen",
            "Your demand is on what the fit could see. In which rows is that?",
            _by_steps_of(lambda hand, known: _turns(hand) >= 1),
            _by_steps_of(lambda hand, known: _turns(hand[known:]) >= 1),
            lambda hand, period, known: _passes(hand[:known], period) and _turns(hand[known:]) >= 1,
            _within(lambda period, known, all_rows: period <= all_rows),
            _within(lambda period, known, all_rows: period <= all_rows - known),
            _within(lambda period, known, all_rows: period / 2 <= all_rows - known),
            _within(lambda period, known, all_rows: period <= all_rows / 2),
        ),
        Mistake(
            "part of a turn in the known rows is enough",
            "A hand that has been on every side need not be back where it was.",
            *map(_visits, (3, 4, 6, 8, 12, 24)),
            _takes_both_signs,
            _changes_sign_twice,
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 0.5),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 0.75),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 0.9),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 0.95),
            _within(lambda period, known, all_rows: period / 2 <= known),
            _within(lambda period, known, all_rows: 0.75 * period <= known),
            _within(lambda period, known, all_rows: 0.9 * period <= known),
            _within(lambda period, known, all_rows: 0.95 * period <= known),
        ),
        Mistake(
            "the turn is closed by a row that the fit has not seen",
            "The fit has seen rows 0 to `known` − 1. How many steps lie between them?",
            *[
                _by_steps_of(lambda hand, known, more=more: _turns(hand[: known + more]) >= 1)  # type: ignore[misc]
                for more in (1, 2)
            ],
        ),
        Mistake(
            "more than one turn is asked for",
            "What of a hand that came round once, and a little more? How often must a hand come "
            "round to show its period?",
            *[
                _by_steps_of(lambda hand, known, laps=laps: _turns(hand[:known]) >= laps)  # type: ignore[misc]
                for laps in (1.2, 1.25, 1.5)
            ],
            *[
                _within(lambda period, known, all_rows, laps=laps: laps * period <= known)  # type: ignore[misc]
                for laps in (1.2, 1.25, 1.5)
            ],
        ),
        Mistake(
            "hands are left out that came round once, but not twice",
            "What of a hand that came round once and a half? How often must a hand come round to "
            "show its period?",
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 1.6),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 1.75),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 2),
            _by_steps_of(lambda hand, known: _turns(hand[:known]) >= 3),
            _within(lambda period, known, all_rows: 2 * period <= known),
        ),
        Mistake(
            "a number stands where `known` should",
            "Another table is known in 60 rows only, or in 400. Which hands come round in those?",
            _within(lambda period, known, all_rows: period <= 255),
            _within(lambda period, known, all_rows: period <= 200),
            _within(lambda period, known, all_rows: period < 160),
            _within(lambda period, known, all_rows: period <= 100),
            _by_steps_of(lambda hand, known: _turns(hand[:255]) >= 1),
            lambda hand, period, known: _passes(hand[255:], period) and _turns(hand[:255]) >= 1,
            lambda hand, period, known: _passes(hand[255:], period) and period <= 255,
            *_both_ways(lambda hand, period, known: _passes(hand[255:], period)),
        ),
        Mistake(
            "the hands that are believed are those that have not come round",
            "Which hand shows the fit more: one that came round in the known rows, or one that did "
            "not?",
            _by_steps_of(lambda hand, known: _turns(hand[:known]) < 1),
            _within(lambda period, known, all_rows: period >= known),
        ),
        Mistake(
            "the hands that are believed are those that miss",
            "Does a hand pass if its worst miss is above 0.2, or below?",
            *_both_ways(lambda hand, period, known: not _passes(hand[known:], period)),
        ),
        Mistake(
            "the mean of the known arrows is asked to be near 0",
            "An arrow may grow while it turns, and turn once and a half. Where is its mean then?",
            *map(_is_centred, (0.1, 0.2, 0.5)),
        ),
        Mistake(
            "the lengths of the known arrows are judged, not how they turn",
            "A hand that stands still has arrows of one length, and a curve that runs straight "
            "outwards has longer and longer ones. Does either show a turn?",
            *map(_is_even, (0.1, 0.2, 0.3, 0.5)),
            *[
                _keeps_its_length(most, spread)
                for most in (0.2, 0.5, 1.0)
                for spread in (
                    torch.std,
                    lambda lengths: lengths.std() / lengths.mean(),
                    lambda lengths: (lengths.max() - lengths.min()) / lengths.mean(),
                    lambda lengths: lengths.max() / lengths.min() - 1,
                )
            ],
            _comes_from_within,
        ),
        Mistake(
            "how rough the known path is decides, not where it leads",
            "A slow curve with noise is rough, and a hand that turns evenly is smooth. Where does "
            "each of them get to?",
            *map(_is_rough, (0.1, 0.2, 0.5, 1.0)),
        ),
        Mistake(
            "how far the known angles lie apart decides",
            "A hand that swings across π, back and forth, has angles near π and near −π. Has it "
            "turned?",
            *[_spans(share * 2 * math.pi) for share in (0.8, 0.9, 0.95, 0.98, 0.987, 0.99)],
        ),
        Mistake(
            "the known rows are asked to keep the period",
            "Must a hand turn evenly there, or only come round? And must it be the period that "
            "shows it?",
            *map(_has_the_laps_of_its_period, (0.05, 0.1, 0.2, 0.25, 0.5)),
            *[
                _is_as_fast(share, within, middle)
                for share in (0.5, 0.8, 0.9, 0.95)
                for within in (True, False)
                for middle in (torch.mean, torch.median)
            ],
        ),
        Mistake(
            "the test is only made harder",
            "A slow curve can be forecast very well. Follow one along its known rows: what do they "
            "not show?",
            *map(_passes_below, (0.02, 0.05, 0.1, 0.15)),
            _passes_a_whole_turn_ahead,
        ),
        Mistake(
            "this is a miss, not a verdict",
            "From which number on does a hand no longer pass?",
            lambda hand, period, known: position_table.largest_miss(hand[known:], period),
        ),
    ],
    hints=(
        "A bend is not yet a turn. Follow a passing hand of the smooth table along its known rows, "
        "and one of the real table. Which comes back to where it was?",
        "No hand of the smooth table that passes came round: the fit saw a bend. How far has a "
        "hand turned in the known rows? `steps`, in *One turn*, has each step's angle.",
        "The largest miss of hand[known:] is below 0.2, and the angles of hand[1:known] / "
        "hand[: known - 1] add up to 2π or more.",
    ),
    rules=[Without((_believable, _passes, _turns))],
    mistakes_keep_cases=True,
    mistakes_exactly=True,
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
