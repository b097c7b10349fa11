"""Lesson 09's exercises: answers in other styles, and wrong ones that get a fitting word."""

import math

import torch
from exercise_answers import right_answers, wrong_answers

from course_lab.checks.lesson09 import (
    check_comma_head,
    check_round_codes,
    check_ruler,
    dots_with,
)
from course_utils.encodings.functional import sinusoidal_grid, sinusoidal_table


def single_tap(place, weight=1.0):
    kernel = torch.zeros(3, 3)
    kernel[place] = weight
    return kernel


def slowly(unit):
    """Half of the way to the neighbour's number and one more, at each step."""
    return single_tap((1, 0), 0.5) + single_tap((1, 1), 0.5), unit / 2


def waves(rows, columns, d_model, directions, fastest=1.0, slowest=0.1):
    pairs = d_model // 2
    speeds = torch.logspace(math.log10(fastest), math.log10(slowest), pairs // directions)
    angles = []
    for n in range(directions):
        direction = math.pi * (n + 0.3) / directions
        along = columns * math.cos(direction) - rows * math.sin(direction)
        angles += [along * speed for speed in speeds]
    stacked = torch.stack(angles, dim=1)
    return torch.stack([stacked.sin(), stacked.cos()], dim=-1).flatten(1)


def bells(rows, columns, d_model):
    """How near a patch is to each of many points, which lie in and around the page."""
    points = torch.cartesian_prod(torch.linspace(-6, 26, 8), torch.linspace(-6, 26, d_model // 8))
    patches = torch.stack([rows, columns], dim=1).float()
    return (-torch.cdist(patches, points).square() / 32).exp()


def comma_head(tokens, commas, others, row=2, liking=12.0, rows=8):
    """A score for commas and another for all else; one row of the table is liked."""
    scores = [commas if token == "," else others for token in tokens]
    return torch.tensor(scores), liking * torch.eye(rows)[row]


test_right_answers_pass = right_answers(
    {
        check_ruler: [
            lambda unit: (torch.tensor([[0, 0, 0], [1, 0, 0], [0, 0, 0]]).double(), unit),
            lambda unit: [torch.eye(9)[3].view(3, 3), torch.tensor(unit)],
            lambda unit: (single_tap((1, 0)), torch.tensor([unit])),
            slowly,
        ],
        check_round_codes: [
            lambda r, c, d: waves(r, c, d, 8),
            lambda r, c, d: waves(r, c, d, 16),
            lambda r, c, d: waves(r, c, d, 4, fastest=0.6),
            lambda r, c, d: 7 * waves(r.double(), c.double(), d, 8, slowest=0.3),
            bells,
        ],
        check_comma_head: [
            lambda tokens: comma_head(tokens, 7.0, -7.0),
            lambda tokens: comma_head(tokens, 9, -9, rows=4),
            lambda tokens: list(comma_head(tokens, 4.0, -12.0, liking=30.0, rows=100)),
            lambda tokens: tuple(part.double() for part in comma_head(tokens, 50.0, -50.0)),
        ],
    }
)
test_wrong_answers_get_a_fitting_word = wrong_answers(
    "wrong",
    {
        check_ruler: [
            (lambda unit: single_tap((1, 0)), "return kernel, bias"),
            (lambda unit: (single_tap((1, 0))[None, None], unit), "(3, 3), got (1, 1, 3, 3)"),
            (lambda unit: ([[0, 0, 0], [1, 0, 0], [0, 0, 0]], unit), "shape (3, 3), got list"),
            (
                lambda unit: (single_tap((1, 0)), torch.tensor([unit, unit])),
                "one number for the bias",
            ),
            (lambda unit: (torch.full((3, 3), torch.nan), unit), "ends at nan"),
            (lambda unit: (torch.zeros(3, 3), unit), "row 1, column 2 ends at 1, not at 2"),
            (lambda unit: (single_tap((2, 0)), unit), "row 1, column 6 ends at 5, not at 6"),
            (lambda unit: (-single_tap((1, 0)), unit), "column 2 ends at 0, not at 2"),
            (lambda unit: (torch.rand(3, 3), unit), "gives two different answers"),
        ],
        check_round_codes: [
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
        check_comma_head: [
            (lambda tokens: comma_head(tokens, 9.0, -9.0)[0], "return scores, liking"),
            (lambda tokens: ([1.0] * len(tokens), torch.zeros(8)), "scores to be a tensor"),
            (lambda tokens: (torch.zeros(3), torch.zeros(8)), "scores"),
            (lambda tokens: (torch.zeros(len(tokens)), torch.zeros(1)), "at least 2 liking"),
            (lambda tokens: comma_head(tokens, math.inf, -9.0), "finite numbers"),
            (lambda tokens: (torch.arange(len(tokens)) / 9, torch.zeros(8)), "from place to place"),
            (lambda tokens: comma_head(tokens, 9.0, -3.0), "by up to 0.0474"),
            (lambda tokens: comma_head(tokens, 2.0, -2.0), "gates of commas are open by 0.881"),
            (lambda tokens: comma_head(tokens, 9.0, -9.0, rows=3), "goes to “,”, 5 back"),
            (lambda tokens: comma_head(tokens, 9.0, -9.0, row=0), "gets 0.33 of the weight"),
        ],
    },
)


def test_a_page_is_drawn_of_any_codes_and_of_none_where_there_are_none():
    rows, columns = torch.arange(6) // 3, torch.arange(6) % 3
    page = dots_with(lambda r, c, d: 5 * waves(r, c, d, 8), rows, columns, 4)
    assert page is not None and page.shape == (6,) and page[4] == page.max() == 1
    for answer in (lambda r, c, d: None, lambda r, c, d: r / 0, lambda r, c, d: torch.zeros(2, 2)):
        assert dots_with(answer, rows, columns, 4) is None
