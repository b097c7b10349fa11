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


def in_directions(directions, speeds):
    """Codes of waves in these directions (radians); cosine and sine stand side by side."""

    def codes(rows, columns, d_model):
        along = rows[:, None] * directions.sin() + columns[:, None] * directions.cos()
        angles = (along[:, :, None] * speeds(d_model // 2 // len(directions))).flatten(1)
        return torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(1)

    return codes


def base_100(count):
    return 100.0 ** (-torch.arange(count) / count)


EIGHTHS = torch.arange(8) * math.pi / 8


def cosines_only(rows, columns, d_model):
    along = rows[:, None] * EIGHTHS.sin() + columns[:, None] * EIGHTHS.cos()
    return (along[:, :, None] * base_100(d_model // 8)).flatten(1).cos()


def each_with_each(rows, columns, d_model):
    """Each number of the row's code times each of the column's."""
    of_row = sinusoidal_table(rows, 8, 100.0)[:, :, None]
    return (of_row * sinusoidal_table(columns, d_model // 8, 100.0)[:, None]).flatten(1)


def from_distances_on_this_page(rows, columns, d_model):
    """Codes whose dot products are bells of the distances of the patches that were given."""
    places = torch.stack([rows, columns], dim=1).double()
    values, vectors = torch.linalg.eigh((-torch.cdist(places, places).square() / 32).exp())
    codes = (vectors * values.clamp(min=0).sqrt())[:, -d_model:]
    return torch.cat([codes, codes.new_zeros(len(rows), d_model - codes.shape[1])], dim=1)


def looked_up(tokens):
    """All gates open, and a liking of the count that the second comma happens to have."""
    second = [n for n, token in enumerate(tokens) if token == ","][-2]
    return torch.full((len(tokens),), 10.0), 12.0 * torch.eye(400)[len(tokens) - second]


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
            lambda r, c, d: waves(r, c, d, d // 2, fastest=0.3),  # one slow speed
            lambda r, c, d: waves(r, c, d, 4, fastest=0.6),
            lambda r, c, d: 7 * waves(r.double(), c.double(), d, 8, slowest=0.3),
            bells,
            in_directions(EIGHTHS, base_100),
        ],
        check_comma_head: [
            lambda tokens: comma_head(tokens, 7.0, -7.0),
            lambda tokens: comma_head(tokens, 9, -9, rows=4),
            lambda tokens: list(comma_head(tokens, 4.0, -12.0, liking=30.0, rows=100)),
            lambda tokens: tuple(part.double() for part in comma_head(tokens, 50.0, -50.0)),
            lambda tokens: comma_head(tokens, 9.0, -9.0, rows=len(tokens)),
            lambda tokens: comma_head(tokens, 9.0, -9.0, rows=tokens.count(",") + 2),
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
            (lambda unit: (-single_tap((1, 0)), unit), "column 2 ends at 0, not at 2"),
            (lambda unit: (torch.rand(3, 3), unit), "gives two different answers"),
            (lambda unit: (torch.ones(3, 3), unit), "What do the weights of a pixel add up to"),
            (
                lambda unit: (single_tap((1, 0)) + single_tap((1, 2)), unit),
                "What do the weights of a pixel add up to",
            ),
            (lambda unit: (single_tap((1, 0)), 1 / unit), "In the first column"),
            (lambda unit: (single_tap((1, 0)), 2 * unit), "In the first column"),
            (
                lambda unit: (0.99 * single_tap((1, 1)) + 0.01 * single_tap((1, 0)), 0.01 * unit),
                "in pass 1, and in pass 500",
            ),
            (lambda unit: (-single_tap((1, 0)), unit), "What does the second make of"),
        ],
        check_round_codes: [
            (lambda r, c, d: sinusoidal_grid(r, c, d, 1000.0), "this is the cross"),
            (lambda r, c, d: sinusoidal_grid(r, c, d, 50.0).flip(0), "this is the cross"),
            (lambda r, c, d: sinusoidal_table(r + c, d), "apart, at 135° and at 45°"),
            (lambda r, c, d: waves(r, c, d, 2), "In which directions"),
            (in_directions(2 * EIGHTHS, base_100), "In which directions do your waves run"),
            (in_directions(EIGHTHS.rad2deg(), base_100), "In which directions do your waves run"),
            (in_directions(EIGHTHS / 2, base_100), "In which directions do your waves run"),
            (in_directions(EIGHTHS[:6], base_100), "there is room for 64"),
            (
                lambda r, c, d: sinusoidal_table(r, d, 100.0) + sinusoidal_table(c, d, 100.0),
                "the codes differ in length",
            ),
            (
                lambda r, c, d: sinusoidal_table(r, d, 100.0) * sinusoidal_table(c, d, 100.0),
                "the codes differ in length",
            ),
            (cosines_only, "Which two columns give a wave one length"),
            (each_with_each, "For which curve f does f(a) · f(b)"),
            (
                lambda r, c, d: sinusoidal_table(r * c, d, 100.0),
                "so it matters where the two stand",
            ),
            (lambda r, c, d: torch.ones(len(r), d), "patches 4 apart still have 1.00"),
            (lambda r, c, d: waves(r, c, d, 8, 0.01, 0.001), "patches 4 apart still have"),
            (lambda r, c, d: waves(r, c, d, d // 2, 0.6), "A wave comes round again"),
            (lambda r, c, d: waves(r, c, d, 16), "Which speeds does each of your directions"),
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
            (lambda tokens: comma_head(tokens, 9.0, -math.inf), "they are dot products"),
            (lambda tokens: comma_head(tokens, 9.0, -3.0), "each up to 0.0474"),
            (lambda tokens: comma_head(tokens, 5.0, -5.0), "add 1.36 to the count"),
            (lambda tokens: comma_head(tokens, 2.0, -2.0), "A comma's gate is open by 0.881"),
            (lambda tokens: comma_head(tokens, 0.0, -20.0), "the sigmoid make of 0?"),
            (lambda tokens: comma_head(tokens, 1.0, -10.0), "open by 0.731"),
            (lambda tokens: comma_head(tokens, 0.99, 0.01), "Scores from 0 to 1 look like gates"),
            (lambda tokens: comma_head(tokens, 9.0, -9.0, liking=2.0), "The count is right"),
            (lambda tokens: comma_head(tokens, 9.0, -9.0, rows=3), "goes to “,”, 5 back"),
            (lambda tokens: comma_head(tokens, 9.0, -9.0, row=0), "gets 0.33 of the weight"),
        ],
    },
)

test_exploits_break_a_rule = wrong_answers(
    "rule",
    {
        check_round_codes: [(from_distances_on_this_page, "when half of the page is missing")],
        check_comma_head: [(looked_up, "the liking changes from text to text")],
    },
)
test_mistakes_in_other_words = wrong_answers(
    "mistake",
    {
        check_ruler: [
            (lambda unit: (single_tap((1, 0), 0.5) + single_tap((1, 1), 0.5), unit), "two units"),
            (lambda unit: (single_tap((0, 0)), unit), "up and to the left"),
            (lambda unit: (single_tap((2, 0)), unit), "zeros come in from below"),
            (lambda unit: (single_tap((2, 1)), unit), "counts rows, from below"),
            (lambda unit: (single_tap((1, 0)) - single_tap((1, 2)), unit), "right neighbour"),
            (lambda unit: (torch.eye(3)[0].expand(3, 3), unit), "three pixels on the left"),
        ],
        check_round_codes: [
            (in_directions(EIGHTHS[::4], base_100), "this is the cross"),
            (
                lambda r, c, d: sinusoidal_grid(r, c, d, 100.0).flip(1),
                "this is the cross",
            ),
        ],
    },
)


def test_a_page_is_drawn_of_any_codes_and_of_none_where_there_are_none():
    rows, columns = torch.arange(6) // 3, torch.arange(6) % 3
    page = dots_with(lambda r, c, d: 5 * waves(r, c, d, 8), rows, columns, 4)
    assert page is not None and page.shape == (6,) and page[4] == page.max() == 1
    for answer in (lambda r, c, d: None, lambda r, c, d: r / 0, lambda r, c, d: torch.zeros(2, 2)):
        assert dots_with(answer, rows, columns, 4) is None
