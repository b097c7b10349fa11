"""The turn between a table's rows: found where it was planted, and told from ghosts."""

import cmath
import math

import pytest
import torch

from course_lab.explorers import hand_coordinates
from course_lab.position_table import decoys, planted_clock, position_table
from course_utils import measures

PERIODS = [300.0, 47.3, 19.1, 6.6]


def planted(length: int = 400, width: int = 24) -> torch.Tensor:
    """Evenly turning hands, each in a plane of its own, around a common vector."""
    generator = torch.Generator().manual_seed(0)
    numbers = torch.randn(width, width, generator=generator, dtype=torch.float64)
    planes = torch.linalg.qr(numbers)[0]
    angles = 2 * math.pi * torch.arange(length).double()[:, None] / torch.tensor(PERIODS)
    hands = torch.cat([angles.cos(), angles.sin()], 1)  # (length, 8)
    return 3 + hands @ planes[: 2 * len(PERIODS)]


def coordinates(table: torch.Tensor, count: int) -> torch.Tensor:
    return (table - table.mean(0)) @ measures.main_directions(table, count).T


def test_main_directions_are_upright_to_each_other_and_hold_a_planted_table():
    table = planted()
    axes = measures.main_directions(table, 8)
    assert torch.allclose(axes @ axes.T, torch.eye(8).double())
    assert torch.allclose(table.mean(0) + coordinates(table, 8) @ axes, table)


def test_a_turn_is_a_rotation_and_foretells_planted_rows():
    rows = coordinates(planted(), 8)
    turn = measures.turn(rows)
    assert torch.allclose(turn.matrix @ turn.matrix.T, torch.eye(8).double())
    assert torch.linalg.det(turn.matrix) > 0
    assert torch.allclose(turn.onwards(rows[:-5], 5), rows[5:])
    assert measures.missed_share(turn, rows, 5) < 1e-12


def test_planted_hands_are_found():
    hands = measures.hands(measures.turn(coordinates(planted(), 8)))
    assert torch.allclose(hands.periods, torch.tensor(PERIODS[::-1]).double(), rtol=1e-6)


def test_each_hand_turns_by_its_angle_around_its_centre():
    periods, pointing = hand_coordinates(planted(), learned=200, directions=8)
    step = torch.polar(torch.ones_like(periods), 2 * math.pi / periods)
    assert torch.allclose(pointing[:, 1:], pointing[:, :-1] * step[:, None])
    assert torch.allclose(pointing.abs(), torch.ones(4, 400).double())


def test_to_foretell_no_move_misses_all():
    rows = torch.randn(20, 4, generator=torch.Generator().manual_seed(0))
    still = measures.turns.Turn(torch.eye(4), torch.zeros(4))
    assert measures.missed_share(still, rows, 3) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_only_the_real_tables_first_half_foretells_its_second(seed):
    rows = position_table()[1:].double()
    for name, table in ({"real": rows} | decoys(rows, seed)).items():
        known = table[:255]
        inside = (table - known.mean(0)) @ measures.main_directions(known, 10).T
        missed = measures.missed_share(measures.turn(inside[:255]), inside[255:])
        assert (missed < 0.02) == (name == "real") and (missed > 0.3) == (name != "real"), name


def passing(table: torch.Tensor, known: int = 255) -> list[int]:
    """The hands that miss less than 0.2 at each step up to half a turn, as lesson 03 asks."""
    periods, pointing = hand_coordinates(table, known)
    numbers = []
    for number, (period, hand) in enumerate(
        zip(periods.tolist(), pointing[:, known:], strict=True)
    ):
        shares = []
        for ahead in range(1, min(round(period / 2), 200) + 1):
            foretold = hand[:-ahead] * cmath.exp(2j * math.pi * ahead / period)
            missed = (hand[ahead:] - foretold).abs().square().sum()
            shares.append(missed / (hand[ahead:].abs() ** 2 + foretold.abs() ** 2).sum())
        if max(shares) < 0.2:
            numbers.append(number)
    return numbers


@pytest.mark.parametrize("seed", range(3))
def test_planted_clocks_pass_and_decoys_do_not(seed):
    rows = position_table()[1:].double()
    clock = planted_clock(rows, seed)
    assert passing(clock) == [0, 1, 2, 3, 4]
    for name, table in (decoys(rows, seed) | decoys(clock, seed)).items():
        assert len(passing(table)) <= 2, name


def test_three_real_hands_pass_both_ways_learned_from_200_to_300_rows():
    rows = position_table()[1:].double()
    for known in (200, 255, 300):
        assert passing(rows, known)[:3] == passing(rows.flip(0), known)[:3] == [0, 1, 2]


def test_waves_out_of_step_keep_the_power_of_each_main_direction():
    rows = position_table()[1:].double()
    axes = measures.main_directions(rows, 10)
    shifted = decoys(rows, seed=1)["waves out of step"] @ axes.T
    power = torch.fft.rfft((rows - rows.mean(0)) @ axes.T, dim=0).abs()
    torch.testing.assert_close(torch.fft.rfft(shifted, dim=0).abs()[:-1], power[:-1])


def test_a_planted_clock_has_the_speeds_of_the_tables_hands():
    rows = position_table()[1:].double()
    real, clock = (
        measures.hands(measures.turn(coordinates(table, 10))).periods
        for table in (rows, planted_clock(rows))
    )
    assert torch.allclose(clock, real, rtol=0.05)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="count must"):
        measures.main_directions(torch.zeros(3, 2), 0)
