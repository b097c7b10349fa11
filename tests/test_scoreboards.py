"""The scoreboard of lesson 02: codes whose scores are known, and codes that cannot be scored."""

import pytest
import torch
from matplotlib.colors import to_rgba
from matplotlib.patches import Rectangle

from course_lab.scoreboards import (
    NO,
    UNCLEAR,
    UNKNOWN,
    WISHES,
    YES,
    draw_properties,
    draw_scoreboard,
    draw_visits,
    granted,
    scoreboard,
    scoreboard_text,
    scores_of,
)
from course_utils import plots
from course_utils.encodings.functional import sinusoidal_table

NAMES = list(WISHES)
HALF = torch.rand(64, generator=torch.Generator().manual_seed(0))


def hands(p, speeds):
    angles = p[:, None] * speeds
    return torch.cat([angles.sin(), angles.cos()], dim=1)


KNOWN = {  # code → the wishes that it grants, in their order
    "plain": (lambda p: p[:, None], "010000"),
    "share": (lambda p: p[:, None] / len(p), "100000"),
    "slow line": (lambda p: p[:, None] / 5000, "110000"),
    "one-hot": (lambda p: torch.eye(len(p)), "101101"),
    "one-hot of fixed width": (lambda p: torch.eye(512)[p.long()], "101101"),
    "binary": (lambda p: p[:, None] // 2 ** torch.arange(9) % 2, "111000"),
    "one sine": (lambda p: p[:, None].sin(), "110000"),
    "decay": (lambda p: (-p[:, None] / 50).exp(), "110011"),
    "one hand": (lambda p: hands(p, torch.ones(1)), "110101"),
    "one slow hand": (lambda p: hands(p, torch.full((1,), 1e-4)), "110101"),
    "four hands": (lambda p: sinusoidal_table(p, 8), "111101"),
    "sinusoidal": (lambda p: sinusoidal_table(p, 128), "111111"),
    "other speeds": (lambda p: hands(p, HALF), "111111"),
    "shear": (lambda p: torch.stack([p / 256, torch.ones_like(p)], 1), "110001"),
    "slow falls too little": (lambda p: hands(p, torch.full((1,), 1 / 200)), "110101"),
    "too loud": (lambda p: 3 * sinusoidal_table(p, 128), "011111"),
    "too wide": (lambda p: sinusoidal_table(p, 130), "101111"),
    "random rows": (
        lambda p: torch.rand(512, 8, generator=torch.Generator().manual_seed(0))[: len(p)],
        "111000",
    ),
    "constant": (lambda p: torch.ones(len(p), 2), "110101"),
    "wide constant": (lambda p: torch.ones(len(p), 128), "110101"),
    "zeros": (lambda p: torch.zeros(len(p), 2), "110101"),
    "whole numbers": (lambda p: (p[:, None] % 2).long(), "110000"),
}


@pytest.mark.parametrize(("code", "granted"), KNOWN.values(), ids=KNOWN)
def test_a_code_grants_what_it_is_known_to_grant(code, granted):
    scores = scores_of(code)
    assert list(scores) == NAMES
    assert "".join(str(int(score.granted)) for score in scores.values()) == granted


@pytest.mark.parametrize("width", [12, 20, 24, 32, 64, 96])
def test_sinusoids_of_six_hands_and_of_more_grant_all(width):
    scores = scores_of(lambda p: sinusoidal_table(p, width))
    assert all(score.granted for score in scores.values())


def test_scores_say_the_numbers_behind_them():
    shown = {name: score.shown for name, score in scores_of(KNOWN["one-hot"][0]).items()}
    assert shown["small numbers"] == "up to 1"
    assert shown["fixed width"] == "64, then 512"
    assert shown["nearer is more alike"] == "0.00 0.00 0.00"
    assert shown["a shift is one matrix"] == "0 % off"
    assert scores_of(KNOWN["share"][0])["fixed width"].shown == "other numbers"
    quarter = scores_of(lambda p: hands(p, torch.full((1,), torch.pi)))
    assert quarter["nearer is more alike"].shown == "−1.00 1.00 1.00"


BROKEN = {
    "a row of numbers": (lambda p: p, "a tensor of shape (64, width) for 64 positions, got (64,)"),
    "transposed": (lambda p: p[None], "got (1, 64)"),
    "empty": (lambda p: torch.zeros(len(p), 0), "got (64, 0)"),
    "complex": (lambda p: (1j * p[:, None]).exp(), "complex128"),
    "nothing": (lambda p: None, "got NoneType"),
    "nan": (lambda p: p[:, None] / p[:, None], "nan at [0, 0]"),
    "too short": (lambda p: torch.eye(64)[p.long() % 64][:64], "(512, width) for 512 positions"),
    "raises": (lambda p: p.colour, "AttributeError"),
    "table of 100": (lambda p: torch.zeros(100, 2)[p.long()], "IndexError"),
}


@pytest.mark.parametrize(("code", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_code_gets_a_message_and_the_others_their_scores(code, words):
    board = scoreboard({"broken": code, "whole": KNOWN["one hand"][0]})
    assert isinstance(board["broken"], str) and words in board["broken"]
    assert granted(board) == {"broken": 0, "whole": 4}
    text = scoreboard_text(board)
    assert words in text and "whole grants 4 of 6 wishes. It fails told apart, nearer" in text


def test_a_code_of_all_wishes_fails_none():
    board = scoreboard({"best": KNOWN["sinusoidal"][0]})
    assert scoreboard_text(board) == "best grants 6 of 6 wishes."


# Its figure


@pytest.fixture
def board():
    return {"good": {"a": (True, "1.5"), "b": (False, "off")}, "bad": "ValueError: no " + "x " * 90}


@pytest.mark.usefixtures("figures")
def test_the_figure_has_a_mark_and_a_number_a_cell_and_a_sum_a_row(board):
    plots.use_style()
    fig = draw_scoreboard(board, {"a": "at most 2", "b": "none"}, "title")
    ax = fig.axes[0]
    texts = [text.get_text() for text in ax.texts]
    assert texts[:5] == ["✓", "1.5", "✗", "off", "1 of 2"]
    assert texts[5].startswith("ValueError: no x x") and texts[5].endswith(" …")
    colours = [patch.get_facecolor() for patch in ax.patches if isinstance(patch, Rectangle)]
    assert colours == [to_rgba(colour) for colour in (YES, NO)]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a\n(at most 2)", "b\n(none)"]
    assert fig.get_suptitle() == "title"
    assert plots.png(fig).startswith(b"\x89PNG")


@pytest.mark.usefixtures("figures")
def test_a_cell_that_is_not_known_is_grey_without_a_mark_and_counts_as_not_granted():
    columns = {"a": "at most 2", "b": "none"}
    board = {"row": {"a": (True, "1.5"), "b": (None, "not measured")}}
    ax = draw_scoreboard(board, columns).axes[0]
    assert [text.get_text() for text in ax.texts] == ["✓", "1.5", "", "not measured", "1 of 2"]
    assert to_rgba(UNKNOWN) in [patch.get_facecolor() for patch in ax.patches]
    assert "1 of 2" not in [
        text.get_text() for text in draw_scoreboard(board, columns, totals=False).axes[0].texts
    ]


@pytest.mark.usefixtures("figures")
def test_a_cell_that_a_measurement_leaves_open_has_its_own_mark_and_counts_as_not_granted():
    scores: dict[str, tuple[bool | None | str, str]] = {
        "a": (True, "1.5"),
        "b": (UNCLEAR, "+0.3 ± 0.2"),
    }
    ax = draw_scoreboard({"row": scores}, {"a": "at most 2", "b": "at most 0.2"}).axes[0]
    assert [text.get_text() for text in ax.texts] == ["✓", "1.5", "≈", "+0.3 ± 0.2", "1 of 2"]


@pytest.mark.usefixtures("figures")
@pytest.mark.parametrize("empty", ["board", "columns"])
def test_an_empty_board_is_refused(empty):
    given = {"board": {"a": "b"}, "columns": {"a": "b"}} | {empty: {}}
    with pytest.raises(ValueError, match="must not be empty"):
        draw_scoreboard(**given)


@pytest.mark.usefixtures("figures")
def test_a_promise_stands_apart_from_what_is_owed_and_does_not_count():
    ax = draw_properties(
        {"kept": {"a": True, "b": True, "c": False}, "broken": {"a": True, "b": False, "c": True}},
        ["c"],
    ).axes[0]
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["✓", "✓", "✗", "2 of 2", "✓", "✗", "✓", "1 of 2"]
    colours = [patch.get_facecolor() for patch in ax.patches]
    shown = (YES, YES, UNKNOWN, YES, NO, YES)
    assert colours == [to_rgba(colour) for colour in shown]


@pytest.mark.usefixtures("figures")
def test_who_is_found_has_the_colour_of_yes_and_a_sick_one_that_is_cleared_that_of_no():
    visits = {"test": {"A": (True, "found"), "B": (False, "cleared"), "C": (False, "twin too")}}
    ax = draw_visits(visits, {"A": "rope", "B": "rope", "C": "rope"}, "title").axes[0]
    colours = [patch.get_facecolor() for patch in ax.patches if isinstance(patch, Rectangle)]
    assert colours[:2] == [to_rgba(YES), to_rgba(NO)]
    assert [text.get_text() for text in ax.texts] == ["found", "passes", "both fail"]
