"""Lesson 02's exercises: right answers in other styles pass, wrong ones get a fitting word."""

import cmath
import math

import numpy as np
import pytest
import torch

from course_lab.checks.lesson02 import check_before_after, check_tell_time
from course_utils.encodings.functional import shift_matrix, sinusoidal_table

TURN = 2 * math.pi


def speeds(vector, base):
    return [base ** (-2 * m / len(vector)) for m in range(len(vector) // 2)]


# Before or after?


def slowest_hand_only(d_model):
    found = torch.zeros(d_model, d_model)
    found[-2, -1], found[-1, -2] = 1, -1
    return found


def entry_by_entry(d_model):
    rows = [[0.0] * d_model for _ in range(d_model)]
    for m in range(0, d_model, 2):
        rows[m][m + 1], rows[m + 1][m] = 5.0, -5.0
    return torch.tensor(rows, dtype=torch.float64)


@pytest.mark.parametrize(
    "answer",
    [
        slowest_hand_only,
        entry_by_entry,
        lambda d: torch.kron(torch.eye(d // 2), torch.tensor([[0.0, 1.0], [-1.0, 0.0]])),
        lambda d: (
            torch.diag(1.0 - torch.arange(d - 1) % 2, 1)
            - torch.diag(1.0 - torch.arange(d - 1) % 2, -1)
        ),
        lambda d: shift_matrix(1e-3, d) - shift_matrix(-1e-3, d) + 1e3 * slowest_hand_only(d),
    ],
)
def test_a_matrix_that_knows_the_side_passes_however_it_is_made(answer):
    assert check_before_after.verdict(answer).kind == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda d: 3 * torch.eye(d), "query 0 and key 1 score"),
        (lambda d: torch.zeros(d, d), "clearly"),
        (lambda d: torch.full((d, d), torch.nan), "finite real"),
        (lambda d: slowest_hand_only(d).T, "The key is later, so it has to be clearly below 0"),
        (lambda d: slowest_hand_only(64), "expected shape (128, 128), got (64, 64)"),
        (lambda d: shift_matrix(5, d), "The sign is wrong for"),
        (lambda d: np.eye(d), "expected a torch tensor"),
        (lambda d: torch.eye(d) * 1j, "finite real"),
        (lambda d: torch.randn(d, d), "gives two answers"),
    ],
)
def test_a_matrix_that_does_not_know_the_side_is_told_so(answer, words):
    verdict = check_before_after.verdict(answer)
    assert verdict.kind == "wrong" and words in verdict.text, verdict.text


# Tell the time


def by_complex_numbers(vector, base):
    place = 0.0
    for speed, sin, cos in reversed(
        list(zip(speeds(vector, base), vector[0::2].tolist(), vector[1::2].tolist(), strict=True))
    ):
        place += cmath.phase(complex(cos, sin) * cmath.exp(-1j * place * speed)) / speed
    return round(place)


def by_recursion(vector, base, m=0):
    theta = base ** (-2 * m / len(vector))
    seen = math.atan2(vector[2 * m], vector[2 * m + 1])
    coarse = by_recursion(vector, base, m + 1) * theta if 2 * m + 2 < len(vector) else 0.0
    found = (seen + TURN * round((coarse - seen) / TURN)) / theta
    return round(found) if m == 0 else found


def in_float32(vector, base):
    m = torch.arange(len(vector) // 2)
    theta = torch.as_tensor(float(base)) ** (-2 * m / len(vector))
    seen = torch.atan2(vector[::2], vector[1::2])
    rough = seen[-1] / theta[-1]
    for i in range(len(m) - 2, -1, -1):
        rough = (seen[i] + TURN * torch.round((rough * theta[i] - seen[i]) / TURN)) / theta[i]
    return int(rough.round())


def nearest_of_few(vector, base):
    """The slower hands give a rough place; the table of a few positions around it the exact one."""
    rough = by_complex_numbers(vector, base)
    near = torch.arange(max(rough - 5, 0), rough + 6)
    return near[(sinusoidal_table(near, len(vector), base) @ vector).argmax()].item()


RIGHT = [by_complex_numbers, by_recursion, in_float32, nearest_of_few]


@pytest.mark.parametrize("answer", RIGHT)
def test_a_clock_that_is_read_passes_however_it_is_read(answer):
    verdict = check_tell_time.verdict(answer)
    assert verdict.kind == "right", verdict.text


def search(vector, base):
    return int(
        (sinusoidal_table(torch.arange(int(base / 2) + 1), len(vector), base) @ vector).argmax()
    )


def search_with_numpy(vector, base):
    row, places = vector.double().numpy(), np.arange(int(base / 2) + 1)
    score = np.zeros(len(places))
    for m, speed in enumerate(speeds(vector, base)):
        score += row[2 * m] * np.sin(places * speed) + row[2 * m + 1] * np.cos(places * speed)
    return int(score.argmax())


def search_by_a_loop(vector, base):
    """Only among those that the slow hands leave: some thousand, one after the other."""
    row, theta = vector.tolist(), speeds(vector, base)
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


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (search, "its largest tensor holds"),
        (search_with_numpy, "MB of memory"),
        (search_by_a_loop, "calls"),
    ],
)
def test_a_search_among_the_positions_breaks_the_rule(answer, words):
    verdict = check_tell_time.verdict(answer)
    assert verdict.kind == "rule" and words in verdict.text, verdict.text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda vector, base: float(by_recursion(vector, base)), "as a float"),
        (lambda vector, base: by_recursion(vector, base) + 1, "expected 123456, got 123457"),
        (lambda vector, base: vector[0], "called with"),
    ],
)
def test_a_wrong_time_is_told_so(answer, words):
    verdict = check_tell_time.verdict(answer)
    assert verdict.kind == "wrong" and words in verdict.text, verdict.text


@pytest.mark.parametrize("width", [2, 8, 16, 22, 64, 128])
def test_every_position_can_be_told_whatever_the_noise(width):
    """So the exercise asks nothing impossible: the corners of the noise, all positions or many."""
    base = {2: 6.0, 8: 1e3, 16: 1e6, 22: 5e5}.get(width, 1e4)
    generator = torch.Generator().manual_seed(width)
    for p in torch.randint(0, int(base / 2), (50,), generator=generator).tolist():
        off = 0.2 * torch.randint(0, 2, (width,), generator=generator) - 0.1
        seen = sinusoidal_table(torch.tensor([p]), width, base)[0] + off
        assert check_tell_time.reference(seen, base) == p
