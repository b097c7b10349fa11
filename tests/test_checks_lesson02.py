"""Lesson 02's exercises: answers in other styles, and wrong ones that get a fitting word."""

import cmath
import math

import numpy as np
import pytest
import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson02 import check_before_after, check_tell_time
from course_utils.encodings.functional import shift_matrix, sinusoidal_table

TURN = 2 * math.pi


def speeds_of(vector, base):
    return [base ** (-2 * m / len(vector)) for m in range(len(vector) // 2)]


# Before or after? Right answers


def slowest_hand_only(d_model):
    W = torch.zeros(d_model, d_model)
    W[-2, -1] = 1
    W[-1, -2] = -1
    return W


def entry_by_entry(d_model):
    rows = [[0.0] * d_model for _ in range(d_model)]
    for m in range(0, d_model, 2):
        rows[m][m + 1], rows[m + 1][m] = 5.0, -5.0
    return torch.tensor(rows, dtype=torch.float64)


def by_kronecker_product(d_model):
    return torch.kron(torch.eye(d_model // 2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]]))


def by_diagonals(d_model):
    every_other = 1.0 - torch.arange(d_model - 1) % 2
    return torch.diag(every_other, 1) - torch.diag(every_other, -1)


def by_small_shifts(d_model):
    shifts = shift_matrix(1e-3, d_model) - shift_matrix(-1e-3, d_model)
    return shifts + 1e3 * slowest_hand_only(d_model)


# Tell the time. Right answers


def by_complex_numbers(vector, base):
    position = 0.0
    hands = zip(speeds_of(vector, base), vector[0::2].tolist(), vector[1::2].tolist(), strict=True)
    for speed, sin, cos in reversed(list(hands)):
        position += cmath.phase(complex(cos, sin) * cmath.exp(-1j * position * speed)) / speed
    return round(position)


def by_recursion(vector, base, m=0):
    theta = base ** (-2 * m / len(vector))
    angle = math.atan2(vector[2 * m], vector[2 * m + 1])
    coarse = by_recursion(vector, base, m + 1) * theta if 2 * m + 2 < len(vector) else 0.0
    position = (angle + TURN * round((coarse - angle) / TURN)) / theta
    return round(position) if m == 0 else position


def in_float32(vector, base):
    m = torch.arange(len(vector) // 2)
    theta = torch.as_tensor(float(base)) ** (-2 * m / len(vector))
    angles = torch.atan2(vector[::2], vector[1::2])
    rough = angles[-1] / theta[-1]
    for i in range(len(m) - 2, -1, -1):
        turns = torch.round((rough * theta[i] - angles[i]) / TURN)
        rough = (angles[i] + TURN * turns) / theta[i]
    return int(rough.round())


def nearest_of_few(vector, base):
    """The slower hands give a rough position; a few rows of the table the exact one."""
    rough = by_complex_numbers(vector, base)
    near = torch.arange(max(rough - 5, 0), rough + 6)
    return near[(sinusoidal_table(near, len(vector), base) @ vector).argmax()].item()


test_right_answers_pass = right_answers(
    {
        check_before_after: [
            slowest_hand_only,
            entry_by_entry,
            by_kronecker_product,
            by_diagonals,
            by_small_shifts,
        ],
        check_tell_time: [by_complex_numbers, by_recursion, in_float32, nearest_of_few],
    }
)
test_wrong_answers_get_a_fitting_word = wrong_answers(
    "wrong",
    {
        check_before_after: [
            (lambda d: 3 * torch.eye(d), "query 0 and key 1 score"),
            (lambda d: torch.zeros(d, d), "clearly"),
            (lambda d: torch.full((d, d), torch.nan), "finite real"),
            (
                lambda d: slowest_hand_only(d).T,
                "The key is later, so it has to be clearly below 0",
            ),
            (lambda d: slowest_hand_only(64), "expected shape (128, 128), got (64, 64)"),
            (lambda d: shift_matrix(5, d), "The sign is wrong for"),
            (lambda d: np.eye(d), "expected a torch tensor"),
            (lambda d: torch.eye(d) * 1j, "finite real"),
            (lambda d: torch.randn(d, d), "gives two different answers"),
        ],
        check_tell_time: [
            (lambda vector, base: float(by_recursion(vector, base)), "as a float"),
            (
                lambda vector, base: by_recursion(vector, base) + 1,
                "expected 123456, got 123457",
            ),
            (lambda vector, base: vector[0], "called with"),
        ],
    },
)


# Tell the time. A search breaks the rule


def search(vector, base):
    positions = torch.arange(int(base / 2) + 1)
    return int((sinusoidal_table(positions, len(vector), base) @ vector).argmax())


def search_with_numpy(vector, base):
    row, positions = vector.double().numpy(), np.arange(int(base / 2) + 1)
    scores = np.zeros(len(positions))
    for m, speed in enumerate(speeds_of(vector, base)):
        scores += row[2 * m] * np.sin(positions * speed)
        scores += row[2 * m + 1] * np.cos(positions * speed)
    return int(scores.argmax())


def search_by_a_loop(vector, base):
    """Only among those that the slow hands leave: some thousand, one after the other."""
    row, theta = vector.tolist(), speeds_of(vector, base)
    middle = by_recursion(vector, base, max(0, len(theta) - 3)) if len(theta) > 3 else 0
    reach = 0.15 / theta[-3] if len(theta) > 3 else base / 2
    low, high = middle - reach, middle + reach
    best = (-math.inf, 0)
    for p in range(max(0, math.floor(low)), math.ceil(high) + 1):
        score = 0.0
        for m, speed in enumerate(theta):
            score += row[2 * m] * math.sin(p * speed) + row[2 * m + 1] * math.cos(p * speed)
        best = max(best, (score, p))
    return best[1]


test_a_search_among_the_positions_breaks_the_rule = wrong_answers(
    "rule",
    {
        check_tell_time: [
            (search, "its largest tensor holds"),
            (search_with_numpy, "MB of memory"),
            (search_by_a_loop, "calls"),
        ]
    },
)


@pytest.mark.parametrize("width", [2, 8, 16, 22, 64, 128])
def test_every_position_can_be_told_whatever_the_noise(width):
    """So the exercise asks nothing impossible: the corners of the noise, all positions or many."""
    base = {2: 6.0, 8: 1e3, 16: 1e6, 22: 5e5}.get(width, 1e4)
    generator = torch.Generator().manual_seed(width)
    for p in torch.randint(0, int(base / 2), (50,), generator=generator).tolist():
        noise = 0.2 * torch.randint(0, 2, (width,), generator=generator) - 0.1
        vector = sinusoidal_table(torch.tensor([p]), width, base)[0] + noise
        assert check_tell_time.reference(vector, base) == p
