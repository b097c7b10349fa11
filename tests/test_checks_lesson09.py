"""Lesson 09's exercises: right answers in other styles pass, wrong ones get a fitting word."""

import math

import pytest
import torch

from course_lab.checks.lesson09 import check_round_codes, check_ruler
from course_utils.encodings.functional import sinusoidal_grid, sinusoidal_table

# A ruler made of padding


def one_tap(place, weight=1.0):
    kernel = torch.zeros(3, 3)
    kernel[place] = weight
    return kernel


def slowly(unit):
    """Half of the way to the neighbour's number and one more, at each step."""
    return one_tap((1, 0), 0.5) + one_tap((1, 1), 0.5), unit / 2


@pytest.mark.parametrize(
    "answer",
    [
        lambda unit: (torch.tensor([[0, 0, 0], [1, 0, 0], [0, 0, 0]]).double(), unit),
        lambda unit: [torch.eye(9)[3].view(3, 3), torch.tensor(unit)],
        lambda unit: (one_tap((1, 0)), torch.tensor([unit])),
        slowly,
    ],
)
def test_a_ruler_passes_however_it_is_made(answer):
    assert check_ruler.verdict(answer).kind == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda unit: one_tap((1, 0)), "return kernel, bias"),
        (lambda unit: (one_tap((1, 0))[None, None], unit), "shape (3, 3), got (1, 1, 3, 3)"),
        (lambda unit: ([[0, 0, 0], [1, 0, 0], [0, 0, 0]], unit), "shape (3, 3), got list"),
        (lambda unit: (one_tap((1, 0)), torch.tensor([unit, unit])), "one number for the bias"),
        (lambda unit: (torch.full((3, 3), torch.nan), unit), "ends at nan"),
        (lambda unit: (torch.zeros(3, 3), unit), "row 1, column 2 ends at 1, not at 2"),
        (lambda unit: (one_tap((2, 0)), unit), "row 1, column 6 ends at 5, not at 6"),
        (lambda unit: (-one_tap((1, 0)), unit), "column 2 ends at 0, not at 2"),
        (lambda unit: (torch.rand(3, 3), unit), "gives two answers"),
    ],
)
def test_what_is_no_ruler_is_told_where(answer, words):
    verdict = check_ruler.verdict(answer)
    assert verdict.kind == "wrong" and words in verdict.text, verdict.text


# No cross


def waves(rows, columns, d_model, directions, fastest=1.0, slowest=0.1):
    pairs = d_model // 2
    speeds = torch.logspace(math.log10(fastest), math.log10(slowest), pairs // directions)
    turns = [math.pi * (n + 0.3) / directions for n in range(directions)]
    along = [columns * math.cos(one) - rows * math.sin(one) for one in turns]
    angles = torch.stack([one * speed for one in along for speed in speeds], dim=1)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


def bells(rows, columns, d_model):
    """How near a patch is to each of many points, which lie in and around the page."""
    points = torch.cartesian_prod(torch.linspace(-6, 26, 8), torch.linspace(-6, 26, d_model // 8))
    patches = torch.stack([rows, columns], dim=1).float()
    return (-torch.cdist(patches, points).square() / 32).exp()


@pytest.mark.parametrize(
    "answer",
    [
        lambda r, c, d: waves(r, c, d, 8),
        lambda r, c, d: waves(r, c, d, 16),
        lambda r, c, d: waves(r, c, d, 4, fastest=0.6),
        lambda r, c, d: 7 * waves(r.double(), c.double(), d, 8, slowest=0.3),
        bells,
    ],
)
def test_round_codes_pass_however_they_are_made(answer):
    assert check_round_codes.verdict(answer).kind == "right"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda r, c, d: sinusoidal_grid(r, c, d, 1000.0), "Both are"),
        (lambda r, c, d: sinusoidal_grid(r, c, d).flip(0), "Both are"),
        (lambda r, c, d: sinusoidal_table(r + c, d), "Both are"),
        (lambda r, c, d: waves(r, c, d, 2), "Both are"),
        (lambda r, c, d: torch.ones(len(r), d), "patches 4 apart still have 1.00"),
        (lambda r, c, d: waves(r, c, d, 8, 0.01, 0.001), "patches 4 apart still have"),
        (lambda r, c, d: torch.zeros(len(r), d), "all codes are 0"),
        (lambda r, c, d: waves(r, c, 64, 8), "expected shape (256, 128), got (256, 64)"),
        (lambda r, c, d: waves(r, c, d, 8) * math.nan, "finite real"),
        (lambda r, c, d: waves(r, c, d, 8).numpy(), "expected a torch tensor"),
    ],
)
def test_codes_that_are_not_round_are_told_which_patches_differ(answer, words):
    verdict = check_round_codes.verdict(answer)
    assert verdict.kind in ("wrong", "mistake") and words in verdict.text, verdict.text
