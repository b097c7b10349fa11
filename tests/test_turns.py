"""The turn between a table's rows: found where it was planted, and told from ghosts."""

import cmath
import math

import pytest
import torch

from course_lab.explorers import hand_coordinates
from course_lab.position_table import decoys, position_table, with_random_phases
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
    assert torch.allclose(hands.periods, torch.tensor(PERIODS).double(), rtol=1e-6)


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


@pytest.mark.parametrize("seed", range(5))
def test_each_real_hand_foretells_half_a_turn_and_most_ghosts_do_not(seed):
    rows = position_table()[1:].double()
    for name, table in ({"real": rows} | decoys(rows, seed)).items():
        periods, pointing = hand_coordinates(table)
        right = 0
        for period, hand in zip(periods.tolist(), pointing[:, 255:], strict=True):
            ahead = min(round(period / 2), 200)
            foretold = hand[:-ahead] * cmath.exp(2j * math.pi * ahead / period)
            missed = (hand[ahead:] - foretold).abs().square().sum()
            right += bool(missed < 0.2 * (hand[ahead:].abs() ** 2 + foretold.abs() ** 2).sum())
        assert right == 5 if name == "real" else right <= 2, name


def test_random_phases_keep_means_and_what_columns_share():
    rows = position_table()[1:].double()
    shifted = with_random_phases(rows, seed=1)
    assert not torch.allclose(shifted, rows, atol=0.05)
    torch.testing.assert_close(shifted.mean(0), rows.mean(0))
    torch.testing.assert_close(torch.cov(shifted.T), torch.cov(rows.T))
    power = torch.fft.rfft(rows - rows.mean(0), dim=0).abs()
    torch.testing.assert_close(torch.fft.rfft(shifted - rows.mean(0), dim=0).abs(), power)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="count must"):
        measures.main_directions(torch.zeros(3, 2), 0)
