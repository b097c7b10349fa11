"""Checks for lesson 03 and its closer look: a table's clock hands, its gradient, its rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from course_lab.checks.core import Check, Mistake, randn
from course_lab.checks.rules import Without
from course_lab.explorers import hand_coordinates
from course_utils import measures
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
    periods: list[float], length: int, width: int, seed: int, start: float = 0.0
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
    return table


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


def _angles(table: Tensor, count: int) -> Tensor:
    """Return the angles of the turn's eigenvalues, those above 0 descending."""
    angles = torch.linalg.eigvals(turn(_coordinates(table, count)[0]).matrix).angle()
    return angles[angles > 0].sort(descending=True).values


def _hands(table: Tensor, count: int) -> Tensor:
    return 2 * math.pi / _angles(table, count)


def _sines(table: Tensor, count: int) -> Tensor:
    """Return the imaginary parts of the turn's eigenvalues, those above 0 descending."""
    sines = torch.linalg.eigvals(turn(_coordinates(table, count)[0]).matrix).imag
    return sines[sines > 0].sort(descending=True).values.clamp(max=1)


def _tangents(table: Tensor, count: int) -> Tensor:
    """Return the slopes of the turn's eigenvalues in the plane, in the order of their angles."""
    return _angles(table, count).tan()


def _sorted_periods(angles: Tensor) -> Tensor:
    return (2 * math.pi / angles).sort().values


def _angles_of_pairs(table: Tensor, count: int) -> Tensor:
    pairs = _coordinates(table, count)[0].unflatten(1, (count // 2, 2))
    step = torch.atan2(pairs[..., 1], pairs[..., 0]).diff(dim=0)
    step = (step + math.pi) % (2 * math.pi) - math.pi
    return (2 * math.pi / step.mean(0).abs()).sort().values


def _both_of_each_pair(table: Tensor, count: int) -> Tensor:
    return _hands(table, count).repeat_interleave(2)


def _power(table: Tensor) -> Tensor:
    """Return the power at each number of turns in the table, from 1 on."""
    return torch.fft.rfft(table - table.mean(0), dim=0).abs().square().sum(1)[1:]


def _strongest_periods(table: Tensor, count: int) -> Tensor:
    strongest = _power(table).topk(count // 2).indices
    return (len(table) / (1.0 + strongest).double()).sort().values


def _peaks_of_power(table: Tensor, count: int) -> Tensor:
    power = F.pad(_power(table), (1, 1), value=-1.0)
    peak = (power[1:-1] > power[:-2]) & (power[1:-1] > power[2:])
    strongest = torch.where(peak, power[1:-1], -1.0).topk(count // 2).indices
    return (len(table) / (1.0 + strongest).double()).sort().values


def _period_of_each_direction(table: Tensor, count: int) -> Tensor:
    power = torch.fft.rfft(_coordinates(table, count)[0], dim=0).abs()[1:]
    return (len(table) / (1.0 + power.argmax(0)).double()).sort().values


def _without_shift(table: Tensor, count: int) -> Tensor:
    coordinates, _ = _coordinates(table, count)
    step = torch.linalg.lstsq(coordinates[:-1], coordinates[1:]).solution
    angles = torch.linalg.eigvals(step).angle()
    return (2 * math.pi / angles[angles > 1e-9]).sort().values


def _without_centring(table: Tensor, count: int) -> Tensor:
    directions = torch.linalg.svd(table, full_matrices=False)[2][:count]
    angles = torch.linalg.eigvals(turn(table @ directions.T).matrix).angle()
    return (2 * math.pi / angles[angles > 0]).sort().values


def _in_all_columns(table: Tensor, count: int) -> Tensor:
    angles = torch.linalg.eigvals(turn(table).matrix).angle()
    return (2 * math.pi / angles[angles > 0]).sort().values


def _fastest_of_all_columns(table: Tensor, count: int) -> Tensor:
    return _in_all_columns(table, count)[: count // 2]


def _eigenvalues(table: Tensor, count: int) -> Tensor:
    return torch.linalg.eigvals(turn(_coordinates(table, count)[0]).matrix)


def _of_symmetric(table: Tensor, count: int) -> Tensor:
    """Return the eigenvalues that the turn would have were it symmetric, ascending."""
    return torch.linalg.eigvalsh(turn(_coordinates(table, count)[0]).matrix)


def _cosines_of_symmetric(table: Tensor, count: int) -> Tensor:
    return _sorted_periods(_of_symmetric(table, count).clamp(-1, 1).acos())[::2]


def _of_covariance(table: Tensor, count: int) -> Tensor:
    centred = table - table.mean(0)
    return 2 * math.pi / torch.linalg.eigvalsh(centred.T @ centred).flip(0)[:count:2]


def _unwrapped_angles_of_pairs(table: Tensor, count: int) -> Tensor:
    pairs = _coordinates(table, count)[0].unflatten(1, (count // 2, 2))
    angles = torch.atan2(pairs[..., 1], pairs[..., 0])
    return _sorted_periods(angles.diff(dim=0).abs().mean(0))


def _without_shift_or_centring(table: Tensor, count: int) -> Tensor:
    coordinates = table @ main_directions(table, count).T
    step = torch.linalg.lstsq(coordinates[:-1], coordinates[1:]).solution
    angles = torch.linalg.eigvals(step).angle()
    return _sorted_periods(angles[angles > 1e-9])


def _two_rows_on(table: Tensor, count: int) -> Tensor:
    coordinates, _ = _coordinates(table, count)
    before, after = coordinates[:-2], coordinates[2:]
    step = torch.linalg.lstsq(before - before.mean(0), after - after.mean(0)).solution
    angles = torch.linalg.eigvals(step).angle()
    return _sorted_periods(angles[angles > 0])


def _read_in_blocks(table: Tensor, count: int) -> Tensor:
    matrix = turn(_coordinates(table, count)[0]).matrix
    angles = torch.atan2(matrix[::2, 1::2].diagonal(), matrix[::2, ::2].diagonal())
    return _sorted_periods(angles.abs())


def _traces_of_blocks(table: Tensor, count: int) -> Tensor:
    diagonal = turn(_coordinates(table, count)[0]).matrix.diagonal()
    return _sorted_periods(diagonal.unflatten(0, (-1, 2)).mean(1).clamp(-1, 1).acos())


def _one_for_all(table: Tensor, count: int) -> Tensor:
    centred = table - table.mean(0)
    return 2 * math.pi / F.cosine_similarity(centred[1:], centred[:-1]).acos().mean().view(1)


def _half_of(angles: Tensor, count: int) -> Tensor:
    """Return periods of the first half of these angles, the largest first."""
    return 2 * math.pi / angles.sort(descending=True).values[: count // 2]


def _in_first_columns_alone(table: Tensor, count: int) -> Tensor:
    angles = torch.linalg.eigvals(turn(table[:, :count]).matrix).angle()
    return _sorted_periods(angles[angles > 0])


def _by_crossings(table: Tensor, count: int) -> Tensor:
    """Return twice the mean way between two changes of sign, of every second main direction."""
    above = _coordinates(table, count)[0][:, ::2] > 0
    crossings = (above[1:] != above[:-1]).sum(0).clamp(min=1)
    return (2 * (len(table) - 1) / crossings.double()).sort().values


def _by_autocorrelation(table: Tensor, count: int) -> Tensor:
    """Return the shift at which every second main direction is most like itself."""
    coordinates = _coordinates(table, count)[0][:, ::2]
    shifts = range(2, len(table) // 2)
    alike = [F.cosine_similarity(coordinates[n:], coordinates[:-n], dim=0) for n in shifts]
    return (2.0 + torch.stack(alike).argmax(0).double()).sort().values


check_hands = Check(
    "hands",
    _hands,
    cases=[
        (_planted([12.5], 40, 4, seed=0), 2),
        (_planted([300.0, 47.3, 19.1, 6.6], 400, 24, seed=1), 8),
        (_planted([35.0, 2.7], 50, 9, seed=2), 4),
        (_planted([80.0, 25.0, 9.4], 60, 16, seed=3, start=5), 6),
        (_planted([500.0, 150.0, 52.0, 17.0, 5.9], 511, 32, seed=4), 10),
        (_planted([3.0, 17.0, 2.2, 60.0], 120, 16, seed=5), 8),  # eigvals come in another order
    ],
    mistakes=[
        Mistake(
            "these periods divide the length of the table",
            "A hand need not finish its last turn in the table. Can the strongest waves of a "
            "Fourier transform say 47.3 in 400 rows?",
            _strongest_periods,
        ),
        Mistake(
            "these are peaks of a spectrum, and fit a whole number of times into the table",
            "A hand need not finish its last turn in the table. Can a Fourier transform say 47.3 "
            "in 400 rows?",
            _peaks_of_power,
        ),
        Mistake(
            "main directions are taken in pairs, a hand each",
            "Two hands of like size: do the main directions keep them apart?",
            _angles_of_pairs,
        ),
        Mistake(
            "the eigenvalues' imaginary part is taken for the angle",
            "An eigenvalue is cos α + i sin α. Which of its parts is α?",
            lambda table, count: 2 * math.pi / _sines(table, count),
        ),
        Mistake(
            "the eigenvalues' real part is taken for the angle",
            "An eigenvalue is cos α + i sin α. Which of its parts is α?",
            lambda table, count: _sorted_periods(_angles(table, count).cos()),
        ),
        Mistake(
            "an angle above a quarter turn comes out negative, and so does its period",
            "Two numbers in opposite directions have the same sin α / cos α. What tells them "
            "apart?",
            lambda table, count: _sorted_periods(_tangents(table, count).atan()),
        ),
        Mistake(
            "an angle above a quarter turn comes out negative, and its hand comes last",
            "Two numbers in opposite directions have the same sin α / cos α. What tells them "
            "apart?",
            lambda table, count: (
                2 * math.pi / _tangents(table, count).atan().sort(descending=True).values
            ),
        ),
        Mistake(
            "the slope sin α / cos α is taken for the angle",
            "An eigenvalue is cos α + i sin α. Is their quotient α?",
            lambda table, count: _sorted_periods(_tangents(table, count)),
        ),
        Mistake(
            "hands that turn by more than a quarter in one row come out too slow",
            "Which two angles below half a turn have the same sine?",
            lambda table, count: 2 * math.pi / _sines(table, count).asin(),
        ),
        Mistake(
            "the angle is in radians, the whole turn in degrees",
            "In which unit does torch give an angle?",
            lambda table, count: 360 / _angles(table, count),
        ),
        Mistake(
            "there is a period for each direction",
            "How many directions does one hand need?",
            _period_of_each_direction,
        ),
        Mistake(
            "each hand comes twice",
            "A turn by α has two eigenvalues. What do they have in common?",
            _both_of_each_pair,
        ),
        Mistake(
            "these are angles",
            "A hand turns by this much in one row. How many rows does a whole turn take?",
            _angles,
        ),
        Mistake(
            "these are turns in one row",
            "If a hand makes a tenth of a turn in one row, what is its period?",
            lambda table, count: _angles(table, count) / (2 * math.pi),
        ),
        Mistake(
            "the periods are too short by one factor",
            "How many radians are a whole turn?",
            lambda table, count: 1 / _angles(table, count),
        ),
        Mistake(
            "these are half turns",
            "How many radians are a whole turn?",
            lambda table, count: math.pi / _angles(table, count),
        ),
        Mistake(
            "the slowest hand comes first",
            "In which order are the periods asked for?",
            lambda table, count: _hands(table, count).flip(0),
        ),
        Mistake(
            "the periods come in no order",
            "Does anybody promise you that eigenvalues come sorted?",
            lambda table, count: (lambda angles: 2 * math.pi / angles[angles > 0])(
                _eigenvalues(table, count).angle()
            ),
        ),
        Mistake(
            "every period is 2π",
            "A turn leaves lengths alone. What of an eigenvalue does its size say?",
            lambda table, count: 2 * math.pi / _eigenvalues(table, count).abs()[::2],
        ),
        Mistake(
            "these eigenvalues are real",
            "Is a rotation a symmetric matrix? Which function takes those that are not?",
            lambda table, count: _sorted_periods(_of_symmetric(table, count).abs())[: count // 2],
            _cosines_of_symmetric,
        ),
        Mistake(
            "the periods are complex",
            "Which part of your complex number counts radians?",
            lambda table, count: (lambda values: 2 * math.pi / values[values.imag > 0].log())(
                _eigenvalues(table, count)
            ),
        ),
        Mistake(
            "hands are missing",
            "How many directions does one hand need?",
            lambda table, count: _hands(table, count // 2),
        ),
        Mistake(
            "there are ten directions, whatever `count` is",
            "Which of your numbers belongs to the lesson's table, and not to this one?",
            lambda table, count: _hands(table, min(10, table.shape[1])),
        ),
        Mistake(
            "there are too many directions, and of their hands the slowest are left out",
            "`count` is a number of directions. Is it one of hands too?",
            lambda table, count: _hands(table, min(2 * count, table.shape[1]))[: count // 2],
        ),
        Mistake(
            "there are too many directions, and of their hands the fastest are left out",
            "`count` is a number of directions. Is it one of hands too?",
            lambda table, count: _hands(table, min(2 * count, table.shape[1]))[-(count // 2) :],
        ),
        Mistake(
            "the periods are whole numbers",
            "Must a hand be back after a whole number of rows?",
            lambda table, count: _hands(table, count).round(),
        ),
        Mistake(
            "these come from how far the rows spread",
            "Which matrix leads from a row to the next?",
            _of_covariance,
        ),
        Mistake(
            "main directions are taken in pairs, a hand each, and angles jump from π to −π",
            "Two hands of like size: do the main directions keep them apart?",
            _unwrapped_angles_of_pairs,
        ),
        Mistake(
            "the step from row to row has no shift, and the rows are counted from 0",
            "If a hand turns around a centre, how does the matrix learn where that is?",
            _without_shift_or_centring,
        ),
        Mistake(
            "the angle is in degrees, the whole turn in radians",
            "In which unit is your whole turn?",
            lambda table, count: _hands(table, count) * math.pi / 180,
        ),
        Mistake(
            "slow hands come out with short periods",
            "A faster hand has the larger angle. Has it the longer period?",
            lambda table, count: (2 * math.pi * _angles(table, count)).sort().values,
        ),
        Mistake(
            "some hands come twice, and others not at all",
            "In the list of eigenvalues, where does the second of a pair stand?",
            lambda table, count: _sorted_periods(
                _eigenvalues(table, count).angle()[: count // 2].abs()
            ),
        ),
        Mistake(
            "all periods are about half as long as they should be",
            "How many rows lie between your rows before and your rows after?",
            _two_rows_on,
        ),
        Mistake(
            "the turn's matrix is read in blocks of two by two",
            "Which plane does a hand turn in: need two main directions span it?",
            _read_in_blocks,
            _traces_of_blocks,
        ),
        Mistake(
            "the periods are negative",
            "The eigenvalues of a hand are a pair. Which of the two do you keep?",
            lambda table, count: -_hands(table, count),
        ),
        Mistake(
            "there is one period for the whole table",
            "In a step all hands move. How can you look at each alone?",
            _one_for_all,
        ),
        Mistake(
            "the step from row to row has no shift",
            "Where a hand does not finish its turn, its centre is not the mean of the rows. What "
            "does the step need besides a matrix?",
            _without_shift,
        ),
        Mistake(
            "the main directions are those of rows with their mean in them",
            "In which direction are the rows longest, if all have one vector in common?",
            _without_centring,
        ),
        Mistake(
            "the turn is taken in all columns",
            "How many hands can there be in `count` directions?",
            _in_all_columns,
        ),
        Mistake(
            "the turn is taken in all columns, and its fastest hands are kept",
            "Where a table has only noise, does a fit find hands there too? Which directions keep "
            "them out?",
            _fastest_of_all_columns,
        ),
        Mistake(
            "the turn is taken in the first columns",
            "Does a hand of this table move in `count` of its columns alone?",
            _in_first_columns_alone,
        ),
        Mistake(
            "of each pair you keep the angle that goes the long way round",
            "An eigenvalue and its partner turn by α and by −α. As angles from 0 to 2π, which of "
            "the two is the larger, and which is the hand's?",
            lambda table, count: _half_of(
                _eigenvalues(table, count).angle() % (2 * math.pi), count
            ),
        ),
        Mistake(
            "each direction is taken for a hand, and its changes of sign are counted",
            "Several hands move in one main direction. What does its sign say of each?",
            _by_crossings,
        ),
        Mistake(
            "each direction is taken for a hand, and compared with itself later",
            "Several hands move in one main direction. When are they all back at once?",
            _by_autocorrelation,
        ),
        Mistake(
            "rows and directions are exchanged",
            "turn looks for the step from each row to the next. What are the rows of your tensor?",
            lambda table, count: _sorted_periods(
                torch.linalg.eigvals(turn(_coordinates(table, count)[0].T).matrix).angle().abs()
            ),
        ),
        Mistake(
            "the sorted numbers come with their places",
            "sort returns two things. What are they, and which do you need?",
            lambda table, count: 2 * math.pi / _angles(table, count).sort(),  # type: ignore[operator]
            raises=r"return_types\.sort",
        ),
        Mistake(
            "eigvals gets the turn itself",
            "turn returns more than a matrix. Which of its parts turns?",
            lambda table, count: torch.linalg.eigvals(turn(_coordinates(table, count)[0])),
            raises="must be Tensor, not Turn",
        ),
    ],
    hints=(
        "First along the main directions, then the turn that leads from each row to the next.",
        "A rotation of many dimensions has eigenvalues cos α ± i sin α, a pair for each hand: "
        "torch.linalg.eigvals.",
        "Take their angles, keep those above 0, and ask how many rows make 2π. Sort.",
    ),
    tolerance=1e-3,
    rules=[Without((measures.hands, hand_coordinates))],
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
