"""Prices on distance: those that lesson 06 draws, what is said of a learner's, a pair replaced."""

import math
import re
from typing import Any

import numpy as np
import pytest
import torch

from course_experiments import drawn_prices, extrapolation, pair_prices
from course_lab import prices
from course_utils import pretrained
from course_utils.encodings import ALiBi, Places, PositionalEncoding, Rotary
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe

STEEP = torch.tensor(drawn_prices.STEEP_SLOPES)
WON = (1.71, 1.715)  # losses at 64 and at 512
STEEP_LOSS = 1.865  # the steep lines' at 64


def drawn(by_distance):
    """A price whose four heads add ``by_distance(distance)``, (4, n)."""

    class Drawn(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return by_distance(offsets.abs().float())

    return Drawn


def model_with(encoding):
    torch.manual_seed(0)
    return TinyTransformer(256, encoding, d_model=64, n_layers=2, n_heads=4)


def score_text(price, losses=WON):
    """What is said of a price in a model that was not trained."""
    encoding = price if isinstance(price, PositionalEncoding) else price(64, 4)
    return prices.scored(price, losses, STEEP_LOSS, model_with(encoding))


def test_tents_without_peaks_are_alibi():
    offsets = torch.arange(-9, 10)
    slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    lines = drawn_prices.Tents(8, 4, peaks=(0, 0, 0, 0), slopes=slopes)
    assert torch.equal(lines.bias_by_offset(offsets), ALiBi(8, 4).bias_by_offset(offsets))


def test_a_tent_is_dearer_by_its_slope_for_each_step_off_its_peak():
    tents = drawn_prices.Tents(8, 2, peaks=(0, 3), slopes=(1.0, 0.5))
    expected = [[-5.0, -3.0, 0.0], [-1.0, 0.0, -1.5]]
    assert tents.bias_by_offset(torch.tensor([-5, -3, 0])).tolist() == expected


def test_windows_show_each_head_its_own_number_of_keys_and_charge_nothing():
    offsets = torch.arange(-20, 1)
    for price, reach in (
        (drawn_prices.Windows(8, 4), [2, 3, 6, 12]),
        (drawn_prices.narrow(8, 4), [3, 3, 3, 3]),
    ):
        bias = price.bias_by_offset(offsets)
        assert (bias == 0).sum(1).tolist() == reach and (bias[:, 0] == -math.inf).all()
    priced = drawn_prices.near_by_head(8, 4).bias_by_offset(offsets)
    assert priced.isfinite().sum(1).tolist() == [2, 3, 6, 12]
    assert torch.equal(priced[:, -2:], ALiBi(8, 4).bias_by_offset(offsets)[:, -2:])


def test_near_is_alibi_without_its_far_keys():
    near = drawn_prices.Near(8, 4).bias_by_offset(torch.arange(-20, 1))
    alibi = ALiBi(8, 4).bias_by_offset(torch.arange(-20, 1))
    assert torch.equal(near[:, -12:], alibi[:, -12:]) and (near[:, :-12] == -math.inf).all()


@pytest.mark.parametrize(
    ("price", "peak"), [(drawn_prices.all_own, 0), (drawn_prices.all_one_back, 1)]
)
def test_the_controls_have_the_slopes_of_the_tents_and_one_peak(price, peak):
    control, tents = price(8, 4), drawn_prices.Tents(8, 4)
    assert control.slopes == tents.slopes and control.peaks == (peak,) * 4


def test_a_fixed_head_looks_at_one_key_and_at_its_own_where_there_is_none():
    weights = drawn_prices.Fixed(8, 4).bias_by_offset(torch.arange(-9, 1)).softmax(-1)
    assert weights.argmax(-1).tolist() == [9, 8, 7, 6]
    assert prices.heads_nailed_down(drawn_prices.Fixed) == 4
    first = drawn_prices.Fixed(8, 4).bias_by_offset(torch.tensor([-1, 0])).softmax(-1)
    assert first.argmax(-1).tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("name", ["peaks", "slopes"])
def test_tents_want_a_number_a_head(name):
    with pytest.raises(ValueError, match=f"{name} must have 2 numbers, one a head, got"):
        drawn_prices.Tents(8, 2, **{"peaks": (0, 1), "slopes": (1, 1), name: (1, 2, 3)})


def test_drawn_prices_are_trained_and_read_as_encodings_are():
    recipes = [
        Recipe(name, length=8, steps=2, batch=2, d_model=16, n_layers=1)
        for name in (drawn_prices.TENTS, drawn_prices.STEEP, "alibi")
    ]
    corpus = bytes(range(256)) * 400
    jobs = extrapolation.price_jobs(recipes, corpus, [8, 16])
    settings = [(key["encoding"], key["n_heads"]) for key, _ in jobs]
    assert settings == [("tents", 4), ("steep", 4), ("alibi", 8)]
    rows = extrapolation.run(recipes[0], corpus, [8, 16], bar=False)["losses"]
    assert all(math.isfinite(row["loss"]) for row in rows)


# ------------------------------------------------------------------- what a learner's price is told


def test_a_price_that_wins_and_lasts_is_told_so():
    text = score_text(drawn_prices.Tents)
    assert "yours 1.710, the steep lines' 1.865 (the same seed), 0.155 below;" in text
    assert "512 bytes: yes" in text and text.endswith("train.")
    assert "You changed 3 of 4 heads." in text
    assert "head 3: likes the key 2 back best" in text


MISTAKES = {
    "steeper lines": (lambda d: -2 * STEEP[:, None] * d, "likes its own byte best"),
    "a reward": (lambda d: STEEP[:, None] * d, "What do they cost"),
    "nothing": (lambda d: torch.zeros(4, len(d)), "What do they cost"),
    "a plateau": (lambda d: -(d.clamp(max=3)).expand(4, -1), "What do they cost"),
    "all alike": (lambda d: -(2 * d).expand(4, -1), "likes its own byte best"),
    "all one back, which wins": (lambda d: -(2 * (d - 1).abs()).expand(4, -1), "does not tell why"),
    "all three back": (
        lambda d: -(2 * (d - 3).abs()).expand(4, -1),
        "No head likes the key 1 back",
    ),
    "not its own key": (
        lambda d: (-2.0 * (d - 2).abs()).masked_fill(d == 0, -math.inf).expand(4, -1),
        "may a head forbid".capitalize(),
    ),
    "divides by 0": (lambda d: (0 / d).expand(4, -1), "nan or inf"),
    "far peaks": (lambda d: -2.0 * (d - 16 * torch.arange(4)[:, None]).abs(), "48 back best"),
    "blunt": (lambda d: -0.5 * (d - torch.arange(4)[:, None]).abs(), "How sharply"),
    "tents with slopes of 1": (
        lambda d: -1.0 * (d - torch.arange(4)[:, None]).abs(),
        "gives its best key 47 % of its weight. How sharply",
    ),
    "the peaks of the tents, steep slopes": (
        lambda d: -STEEP[:, None] * (d - torch.arange(4)[:, None]).abs(),
        "Head 4 gives its best key",
    ),
    "twice the same, which wins": (
        lambda d: -2.0 * (d - torch.tensor([0, 1, 1, 2])[:, None]).abs(),
        "does not tell why",
    ),
    "two own, which wins": (
        lambda d: -2.0 * (d - torch.tensor([0, 0, 1, 1])[:, None]).abs(),
        "does not tell why",
    ),
    "even tops": (
        lambda d: -2.0 * (d - torch.tensor([0, 2, 4, 8])[:, None]).abs(),
        "No head likes the key 1 back",
    ),
    "one top moved": (
        lambda d: -STEEP[:, None] * (d - torch.tensor([0, 1, 0, 0])[:, None]).abs(),
        "likes another key best than its own",
    ),
    "the flat head's top moved": (
        lambda d: -STEEP[:, None] * (d - torch.tensor([0, 0, 0, 1])[:, None]).abs(),
        "likes another key best than its own",
    ),
    "gaps": (
        lambda d: -2.0 * (d - torch.tensor([1, 2, 4, 8])[:, None]).abs(),
        "8 back best, and a nearer",
    ),
    "no visible fault": (
        lambda d: -2.0 * (d - torch.arange(4)[:, None]).abs(),
        "does not tell why",
    ),
    "four keys alike": (
        lambda d: torch.where(d < 4, 0.0, -math.inf).expand(4, -1),
        "likes 4 keys alike",
    ),
    "walls": (
        lambda d: torch.where(d < torch.tensor([1, 2, 4, 8])[:, None], 0.0, -math.inf),
        "Head 4 likes 8 keys alike",
    ),
    "flat": (lambda d: -0.1 * (d - torch.arange(4)[:, None]).abs(), "nearest four keys"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_price_that_does_not_win_gets_the_question_that_helps(name):
    by_distance, question = MISTAKES[name]
    text = score_text(drawn(by_distance), (1.9, 1.95))
    assert "over 0.05 below: no" in text and "512 bytes: no" in text
    assert question.lower() in text.lower() and text.count("?") >= 1


def test_a_price_that_was_not_changed_is_told_so_and_asked_nothing():
    text = score_text(drawn(lambda d: -STEEP[:, None] * d), (1.9, 1.9))
    assert text.endswith("… Not changed yet: these are the steep lines.") and "?" not in text
    unchanged = prices.told_apart(of_offsets(lambda price, offsets: price))
    assert unchanged.startswith("… Not changed yet: this is ALiBi.") and "?" not in unchanged


def test_far_keys_are_asked_about_only_where_a_loss_rises():
    blend = drawn_prices.Tents(64, 4, (0, 1, 2, 3), (1 / 4, 1 / 16, 1 / 64, 1 / 256))
    assert "Of 512 equal keys, head 4 gives" in score_text(blend, (2.1, 2.2))
    level = score_text(blend, (2.1, 2.1))
    assert "64 and more back" not in level and "How sharply should it see that key?" in level


def test_a_sign_slip_and_a_trained_price_are_told_of_their_own():
    class Slip(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return -2.0 * (offsets - torch.arange(4)[:, None]).abs()

    assert "Where is its top?" in prices.question(Slip)
    with pytest.raises(ValueError, match="Where is its top"):
        prices.usable(Slip)

    class RewardsLaterKeys(PositionalEncoding):
        """The steep lines for earlier keys: the mask hides where they rise."""

        def bias_by_offset(self, offsets):
            return STEEP[:, None] * offsets

    assert "likes its own byte best" in prices.question(RewardsLaterKeys)
    trained = drawn_prices.Tents(64, 4)
    trained.peaks = (5.0, 1.0, 2.0, 3.0)
    assert "head 1: likes the key 5 back best" in score_text(trained)


@pytest.mark.parametrize(
    ("peaks", "slopes", "words"),
    [
        ((0, -1, -2, -3), (2, 2, 2, 2), "A peak is at -1, but the key 1 back does not cost least"),
        ((0, 1, 2, 3), (2, -1, 2, 2), "Head 2 has the slope -1."),
        ((0, 1, 2, 3), (2, 2, 2, 0), "Head 4 has the slope 0."),
    ],
)
def test_a_wrong_sign_of_peaks_or_slopes_is_asked_about(peaks, slopes, words):
    tents = drawn_prices.Tents(64, 4, peaks, slopes)
    text = score_text(tents, (1.9, 1.95))
    assert words in text and text.endswith("?")


UNUSABLE = {
    "whole numbers": (lambda d: -2 * (d - torch.arange(4)[:, None]).abs(), "write 2.0"),
    "no axis": (lambda d: -torch.ones(4) * d, "[:, None]"),
    "one row": (lambda d: -2.0 * d, "the same row for all heads"),
    "one row with an axis": (lambda d: -2.0 * d[None], "the same row for all heads"),
    "three rows": (lambda d: -2.0 * d.expand(3, -1), "must be (4, n)"),
}


def test_a_price_that_adds_nothing_is_refused_at_once():
    class Misspelt(PositionalEncoding):
        def bias_by_ofset(self, offsets):
            return -2.0 * offsets.abs().expand(4, -1)

    class WithoutReturn(PositionalEncoding):
        def bias_by_offset(self, offsets):
            -2.0 * offsets.abs().expand(4, -1)

    class OfNumPy(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return -2.0 * np.abs(offsets.numpy())[None].repeat(4, axis=0)

    for wrong, words in (
        (Misspelt, "called bias_by_offset"),
        (WithoutReturn, "return` missing"),
        (OfNumPy, "got ndarray"),
    ):
        with pytest.raises(ValueError, match=words):
            prices.usable(wrong)


def test_a_class_that_opens_another_door_is_refused():
    class Embeds(drawn_prices.Tents):
        def embed(self, x, positions, tokens=None):
            return x + x.roll(-1, 1)

    class Rotates(drawn_prices.Tents):
        def rotate(self, q, k, at):
            return q, k.roll(-1, 2)

    class AddsValues(drawn_prices.Tents):
        def values(self, weights, at):
            return weights @ weights

    for wrong, method in ((Embeds, "embed"), (Rotates, "rotate"), (AddsValues, "values")):
        with pytest.raises(ValueError, match=f"a method {method}, which opens another door"):
            prices.usable(wrong)


def test_numbers_for_fewer_heads_in_one_row_are_refused_at_once():
    class ThreePeaks(PositionalEncoding):
        peaks, slopes = (0, 1, 2), (2.0, 2.0, 2.0, 2.0)

        def bias_by_offset(self, offsets):
            both = torch.tensor([self.peaks, self.slopes], dtype=torch.float)
            return -both[1, :, None] * (offsets.abs() - both[0, :, None]).abs()

    with pytest.raises(ValueError, match="four numbers each, one a head"):
        prices.usable(ThreePeaks)


def test_rows_of_another_number_than_heads_are_refused_with_their_number():
    with pytest.raises(ValueError, match="got 3 rows"):
        prices.usable(drawn(lambda distance: -distance.expand(3, -1)))


@pytest.mark.parametrize(
    ("peaks", "slopes", "words"),
    [
        ((0, -1, -2, -3), (2.0,) * 4, "A peak is at -1"),
        ((0, 1, 2, 3), (2.0, 2.0, -2.0, 2.0), "Head 3 has the slope -2"),
    ],
)
def test_a_slip_of_sign_is_asked_about_before_any_training(peaks, slopes, words):
    class Slip(drawn_prices.Tents):
        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads, peaks, slopes)

    with pytest.raises(ValueError, match=words):
        prices.usable(Slip)


def with_peaks(by_distance):
    """A price with peaks 0, 1, 2, 3: ``by_distance(offsets, peaks, slopes)``."""

    class WithPeaks(PositionalEncoding):
        peaks, slopes = (0, 1, 2, 3), (2, 1, 0.5, 0.25)

        def bias_by_offset(self, offsets):
            peaks, slopes = torch.tensor([self.peaks, self.slopes])[..., None]
            return by_distance(offsets, peaks, slopes)

    return WithPeaks


PEAKS_MISSED = {
    "no second abs": lambda j, peaks, slopes: -slopes * (j.abs() - peaks),
    "the sign of the offsets": lambda j, peaks, slopes: -slopes * (j - peaks).abs(),
    "a bonus for all keys": lambda j, peaks, slopes: -slopes * j.abs() + peaks,
    "the peak off the price": lambda j, peaks, slopes: -(slopes * j.abs() - peaks).abs(),
    "peaks added to distances": lambda j, peaks, slopes: -slopes * (j.abs() + peaks).abs(),
}


@pytest.mark.parametrize("name", PEAKS_MISSED)
def test_a_head_whose_top_is_not_at_its_peak_is_asked_about_before_any_training(name):
    with pytest.raises(ValueError, match=r"Head \d has the peak \d, but adds most at distance"):
        prices.usable(with_peaks(PEAKS_MISSED[name]))


@pytest.mark.parametrize("sign", [-1, 1])
def test_peaks_over_distances_or_added_to_offsets_are_the_same_tents(sign):
    def tents(j, peaks, slopes):
        return -slopes * ((j.abs() if sign < 0 else j) + sign * peaks).abs()

    assert prices.usable(with_peaks(tents))


@pytest.mark.parametrize("signs", [(-1, 1), (1, -1), (-1, -1)])
def test_signed_peaks_or_slopes_that_draw_the_same_tents_are_accepted(signs):
    """Over signed offsets one back is −1; ``slopes`` below 0 may be added."""
    of_peaks, of_slopes = signs

    def signed(j, peaks, slopes):
        steps = (j - peaks).abs() if of_peaks < 0 else (j.abs() - peaks).abs()
        return (slopes if of_slopes < 0 else -slopes) * steps

    price = with_peaks(signed)
    price.peaks = tuple(of_peaks * peak for peak in (0, 1, 2, 3))
    price.slopes = (of_slopes * 2.0,) * 4
    assert prices.usable(price) is price
    expected = prices.price_by_distance(drawn_prices.Tents(64, 4))
    assert torch.equal(prices.price_by_distance(price), expected)
    assert "✓" in score_text(price)


def test_the_steep_lines_are_known_as_unchanged_in_any_form():
    assert prices.unchanged(drawn(lambda d: -STEEP[:, None] * d))
    assert not prices.unchanged(drawn_prices.Tents)


def test_halves_are_peaks_too():
    halves = with_peaks(lambda j, peaks, slopes: -slopes * (j.abs() - peaks).abs())
    halves.peaks = (0.5, 1.5, 2.5, 3.5)
    assert prices.usable(halves) is halves


def test_a_line_moved_up_in_place_of_back_is_asked_about():
    with pytest.raises(ValueError, match="Has the top moved off the own key"):
        prices.usable(drawn(lambda distance: -STEEP[:, None] * (distance - 1)))


def test_peaks_that_are_no_tensor_are_named():
    class OfTuples(PositionalEncoding):
        peaks = (1, 1, 1, 1)

        def bias_by_offset(self, offsets):
            return -2.0 * (offsets.abs() - self.peaks).abs()

    class OneSlope(PositionalEncoding):
        slopes = 2.0

        def bias_by_offset(self, offsets):
            return -torch.tensor(self.slopes)[:, None] * offsets.abs()

    for wrong, words in ((OfTuples, "a tuple is no tensor"), (OneSlope, "four numbers each")):
        with pytest.raises(ValueError, match=words):
            prices.usable(wrong)


# ------------------------------------------------------------------------ a sentence and its mirror


def of_offsets(by_offset):
    class OfOffsets(ALiBi):
        def bias_by_offset(self, offsets):
            return by_offset(super().bias_by_offset(offsets), offsets)

    return OfOffsets


@pytest.mark.parametrize(
    "by_offset",
    [
        lambda price, offsets: price * torch.where(offsets > 0, 2.0, 1.0),
        lambda price, offsets: price - 0.5 * (offsets > 0),
        lambda price, offsets: price + (offsets <= 0),
        lambda price, offsets: torch.where(offsets > 0, price, price + 0.1),
    ],
)
def test_a_price_of_two_sides_tells_a_mirrored_sentence(by_offset):
    assert prices.told_apart(of_offsets(by_offset)).startswith("✓ Told apart.")


@pytest.mark.parametrize(
    "by_offset",
    [
        lambda price, offsets: 2 * price,
        lambda price, offsets: price - 1,
        lambda price, offsets: -price,
        lambda price, offsets: price.masked_fill(offsets == 0, -3.0),
        lambda price, offsets: price - 0.1 * offsets**2,
    ],
)
def test_a_price_of_one_side_does_not(by_offset):
    text = prices.told_apart(of_offsets(by_offset))
    assert text.startswith("… Not yet") and "to the key before" in text and text.endswith("?")


@pytest.mark.parametrize(
    ("by_offset", "words"),
    [
        (lambda price, offsets: price + torch.randn(price.shape), "Does chance belong in it?"),
        (lambda price, offsets: price - 0.1 * torch.arange(len(offsets)), "place in the list?"),
        (
            lambda price, offsets: price * torch.linspace(1, 2, len(offsets)),
            "place in the list?",
        ),
        (
            lambda price, offsets: (
                price * torch.where(torch.arange(len(offsets)) > len(offsets) // 2, 2.0, 1.0)
            ),
            "place in the list?",
        ),
        (lambda price, offsets: 2 * price if (offsets > 0).any() else price, "look at all offsets"),
        (lambda price, offsets: price.masked_fill(offsets <= 0, math.inf), "nan or inf"),
    ],
)
def test_a_price_that_the_offset_alone_does_not_decide_is_asked_about(by_offset, words):
    text = prices.told_apart(of_offsets(by_offset))
    assert text.startswith("… Not yet") and text.endswith("?") and words in text


@pytest.mark.parametrize(
    ("by_offset", "side"),
    [
        (lambda price, offsets: price * offsets.sign(), "before"),
        (lambda price, offsets: -price * offsets.sign(), "after"),
        (lambda price, offsets: -price * torch.where(offsets > 0, 2.0, 1.0), "before"),
        (lambda price, offsets: price + offsets, "after"),
        (lambda price, offsets: price + 0.1 * offsets + 0.3, "after"),
        (lambda price, offsets: price + 1e6 * offsets, "after"),
        (lambda price, offsets: price - 1e6 * offsets, "before"),
        (lambda price, offsets: price.where(offsets <= 0, -5 + 0.01 * offsets), "after"),
        (lambda price, offsets: price.where(offsets <= 0, -1 / offsets), "after"),
        (lambda price, offsets: price.where(offsets <= 0, 2.0 - (offsets - 20).abs()), "after"),
        (lambda price, offsets: price + 2.0 * offsets.clamp(0, 7), "after"),
        (lambda price, offsets: price - (offsets > 0).float() + 500.0 * (offsets > 200), "after"),
        (lambda price, offsets: -0.25 * (offsets + 5).abs().expand(4, -1), "before"),
    ],
)
def test_a_reward_that_grows_with_distance_is_remarked_on(by_offset, side):
    text = prices.told_apart(of_offsets(by_offset))
    assert re.search(rf"adds .* to the key \d+ {side}", text)
    assert text.endswith("Is that a price, or a reward?")
    assert text.startswith("… Not yet.") and "✓" not in text


def test_a_new_method_that_nobody_calls_is_named_where_nothing_changed():
    class Sided(ALiBi):
        def bias_by_offsets(self, offsets):
            return 2 * super().bias_by_offset(offsets)

    class Mine(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return -STEEP[:, None] * offsets.abs()

        def bias_by_distance(self, distance):
            return -2.0 * distance

    class Renamed(PositionalEncoding):
        def bias_of_offset(self, offsets):
            return -2.0 * offsets.abs().expand(4, -1)

    text = prices.told_apart(Sided)
    assert text.startswith("… Not changed yet") and "a new method, bias_by_offsets. Who" in text
    assert "a new method, bias_by_distance. Who" in score_text(Mine, (1.9, 1.9))
    with pytest.raises(ValueError, match="a method bias_of_offset. Is its method called"):
        prices.usable(Renamed)


@pytest.mark.parametrize("elsewhere", [-100.0, -1e4, -math.inf])
def test_four_nailed_heads_are_refused_before_any_training(elsewhere):
    def one_hot(tops):
        return drawn(lambda d: torch.where(d == torch.tensor(tops)[:, None], 0.0, elsewhere))

    with pytest.raises(ValueError, match=r"all its weight on one key\. .*\?"):
        prices.usable(one_hot([0, 1, 2, 3]))
    three = drawn(lambda d: -torch.tensor([2.0, 99, 99, 99])[:, None] * d)
    assert prices.usable(three) is three


ASKED_BEFORE_TRAINING = {
    "a root of a negative": (lambda d: -(d - 3).sqrt().expand(4, -1), "nan or inf. Where do you"),
    "a log of 0": (lambda d: -2.0 * d.log().expand(4, -1), "nan or inf. Where do you"),
    "a division by 0": (lambda d: (2.0 / d).expand(4, -1), "nan or inf. Where do you"),
    "no minus": (
        lambda d: STEEP[:, None] * d,
        "to the one 511 back. Is that a price, or a reward?",
    ),
    "a rise in one head": (
        lambda d: -2.0 * torch.tensor([1.0, 1, 1, -1])[:, None] * d,
        "Head 4 adds 2 to the key 1 back and 1022 to the one 511 back.",
    ),
    "a peak added to the distance": (
        lambda d: -2.0 * (d + torch.arange(4)[:, None]).abs(),
        "At distance 0 head 4 adds −6, and no more at any other.",
    ),
    "a comparison": (lambda d: (d > 3).expand(4, -1), "true or false, not a number of points"),
    "nailed": (lambda d: -99 * d.expand(4, -1), "puts all its weight on one key"),
    "three rows": (lambda d: -d.expand(3, -1), "got 3 rows"),
}


@pytest.mark.parametrize("name", ASKED_BEFORE_TRAINING)
def test_a_price_that_needs_no_training_to_be_asked_about_gets_a_line_and_no_traceback(name):
    by_distance, words = ASKED_BEFORE_TRAINING[name]
    text = prices.refusal(drawn(by_distance))
    assert text.startswith("… Not yet: ") and words in text and "\n" not in text


def test_prices_that_may_be_trained_are_not_refused():
    for by_distance in (
        lambda d: -STEEP[:, None] * d,
        lambda d: torch.where(d < 1 + torch.arange(4)[:, None], 0.0, -math.inf),
        lambda d: torch.zeros(4, len(d)),
        lambda d: -2.0 * (d - 20).abs().expand(4, -1),
        lambda d: -(1 + d).log().expand(4, -1),
    ):
        assert prices.refusal(drawn(by_distance)) == ""
    assert prices.refusal(drawn_prices.Tents) == ""
    assert prices.refusal(type(drawn_prices.all_one_back(128, 4))) == ""


def test_an_error_of_the_learner_s_own_code_is_one_line_with_the_line_in_which_it_came():
    class Sided(ALiBi):
        def bias_by_offset(self, offsets):
            return super().bias_by_offset(offsets) * torch.where(offsets > 0, 2.0)  # type: ignore[call-overload]

    for text in (prices.refusal(Sided), prices.told_apart(Sided)):
        assert text.endswith("what where it is false?")
        assert text.startswith("… Not yet: TypeError: where()") and "\n" not in text
        assert "(in your line `return super().bias_by_offset(offsets) * torch.where(" in text


def test_who_looks_for_the_slopes_is_asked_about_the_price_that_is_there():
    class BySlopes(ALiBi):
        def bias_by_offset(self, offsets):
            return -self.slopes_of_mine[:, None] * offsets  # type: ignore[index]

    text = prices.told_apart(BySlopes)
    assert "AttributeError" in text and text.endswith("hold already?")
    assert not prices.refusal(BySlopes).endswith("hold already?")


@pytest.mark.parametrize(
    ("by_offset", "words"),
    [
        (
            lambda price, offsets: price + 100 * (offsets > 0),
            "0 to a word's own key and 99.75 to the key 1 after",
        ),
        (
            lambda price, offsets: -0.25 * (offsets + 1).abs().expand(4, -1),
            "−0.25 to a word's own key and 0 to the key 1 before",
        ),
        (
            lambda price, offsets: price.masked_fill(offsets >= 0, -1e4),
            "−1e+04 to a word's own key and −0.25 to the key 1 before",
        ),
    ],
)
def test_a_key_that_gets_more_than_a_word_s_own_is_asked_about(by_offset, words):
    text = prices.told_apart(of_offsets(by_offset))
    assert text.startswith("… Not yet.") and words in text and text.endswith("or a reward?")


def test_a_price_that_wins_and_rises_does_not_pass():
    text = score_text(drawn_prices.Tents, (1.70, 1.70))
    assert "up to 512 bytes: yes" in text and "✓" in text
    rises = score_text(drawn_prices.Tents, (1.70, 1.75))
    assert "up to 512 bytes: no" in rises and "✓" not in rises


def test_prices_that_are_no_rewards_are_not_remarked_on():
    for by_offset in (
        lambda price, offsets: price * torch.where(offsets > 0, 2.0, 1.0),
        lambda price, offsets: price * (offsets < 0),
        lambda price, offsets: price + (offsets <= 0),
        lambda price, offsets: price.masked_fill(offsets > 1, -math.inf),
    ):
        text = prices.told_apart(of_offsets(by_offset))
        assert text.startswith("✓") and "reward" not in text and "−0 " not in text


@pytest.mark.parametrize(
    "by_offset",
    [
        lambda price, offsets: price.T,
        lambda price, offsets: price + (1, 2, 3, 4),
        lambda price, offsets: torch.tensor([[1.0], [2.0, 3.0]]),
        lambda price, offsets: price * torch.ones(4),
        lambda price, offsets: torch.tensor(2.0)[:, None] * offsets,
    ],
)
def test_words_of_the_later_exercise_are_not_said(by_offset):
    text = prices.told_apart(of_offsets(by_offset))
    assert text.startswith("… Not yet: ") and not re.search("peak|slope", text)


def test_a_price_that_hides_later_keys_or_is_no_number_is_told_so():
    hides = of_offsets(lambda price, offsets: price.masked_fill(offsets > 0, -math.inf))
    assert "as a causal mask does" in prices.told_apart(hides)
    for past in (-1e4, -math.inf):
        mirrored = of_offsets(lambda p, j, past=past: p.masked_fill(j < 0, past))
        assert "by hiding earlier keys: a word sees its own and" in prices.told_apart(mirrored)
    no_number = of_offsets(lambda price, offsets: price * offsets.sqrt())
    assert "nan" in prices.told_apart(no_number)
    asks_once = of_offsets(lambda price, offsets: price if offsets > 0 else 2 * price)
    assert "Which function of torch chooses for each" in prices.told_apart(asks_once)


def test_a_condition_on_the_axis_of_heads_and_one_that_is_subtracted_are_asked_about():
    def first_axis(price, offsets):
        price[offsets > 0] *= 2
        return price

    def last_axis(price, offsets):
        price[:, offsets > 0] *= 2
        return price

    for wrong, words in (
        (first_axis, "which of its two axes has the offsets, .*[?]"),
        (lambda price, offsets: price - (offsets > 0), "true or false, not a number .*[?]"),
        (lambda price, offsets: price * -(offsets > 0), "true or false, not a number .*[?]"),
        (lambda price, offsets: offsets > 0, "true or false, not a number .*[?]"),
    ):
        text = prices.told_apart(of_offsets(wrong))
        assert text.startswith("… Not yet: ") and re.search(words, text)
        assert not re.search("peak|slope", text)
    assert prices.told_apart(of_offsets(last_axis)).startswith("✓ Told apart.")


@pytest.mark.parametrize("word", ["first", "last"])
def test_a_word_that_sees_no_key_is_asked_about(word):
    def hides(price, offsets):
        return price.masked_fill(offsets >= 0 if word == "first" else offsets <= 0, -math.inf)

    text = prices.told_apart(of_offsets(hides))
    assert text.startswith("… Not yet. In head 1") and text.endswith("?")
    assert f"the {word} word sees no key: its own is hidden, too" in text


def test_hiding_is_said_of_hidden_keys_alone():
    shifted = prices.told_apart(of_offsets(lambda p, j: p * torch.where(j > 0, 2.0, 1.0) - 100))
    assert shifted.startswith("✓ Told apart.") and "hiding" not in shifted


@pytest.mark.parametrize(
    "by_offset",
    [
        lambda price, offsets: torch.where(offsets > 2, 2 * price, price),
        lambda price, offsets: torch.where(offsets > 3, 2 * price, price),
        lambda price, offsets: price.masked_fill(offsets < -40, -math.inf),
    ],
)
def test_a_change_past_three_words_is_not_called_none(by_offset):
    text = prices.told_apart(of_offsets(by_offset))
    assert text.startswith("… Not yet. At offsets −2 to 2") and text.endswith("?")
    assert "Not changed" not in text


def test_heads_that_hardly_leave_their_key_to_the_bytes_are_counted():
    alone = score_text(drawn_prices.Tents(64, 4, slopes=(9.0, 2.0, 2.0, 2.0)))
    assert "1 of 4 heads gives one key over 98 %" in alone
    nailed = score_text(drawn_prices.Tents(64, 4, slopes=(99.0, 2.0, 2.0, 2.0)))
    assert "1 of 4 heads puts all its weight on one key" in nailed
    sharp = "4 of 4 heads give one key over 98 % of the weight"
    assert sharp in score_text(drawn_prices.Tents(64, 4, slopes=(9.0,) * 4))
    assert "heads give one key over" not in score_text(drawn_prices.Tents(64, 4))


def test_a_price_that_forbids_the_own_key_is_asked_about_it_before_any_training():
    def without_own(distance):
        bias = -2.0 * (distance - torch.arange(4)[:, None]).abs()
        return bias.masked_fill(distance == 0, -math.inf)

    assert prices.refusal(drawn(without_own)).endswith("May a head forbid that one?")


def test_a_price_with_numbers_that_train_is_refused():
    class Learned(PositionalEncoding):
        def __init__(self, d_model, n_heads):
            super().__init__(d_model, n_heads)
            self.table = torch.nn.Parameter(-2.0 * (torch.arange(17.0) - 1).abs().expand(4, -1))

        def bias_by_offset(self, offsets):
            return self.table[:, offsets.abs().clamp(max=16)]

    assert "68 numbers that would train" in prices.refusal(Learned)


def test_who_wins_by_a_single_head_is_asked_which_part_of_it_won():
    text = score_text(drawn_prices.one_head_back(64, 4))
    assert "You changed 1 of 4 heads." in text
    assert text.endswith("Train each alone.")


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_price_that_no_model_could_add_is_refused_at_once(name):
    by_distance, words = UNUSABLE[name]

    class Drawn(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return by_distance(offsets.abs())

    with pytest.raises(ValueError, match=re.escape(words)):
        prices.usable(Drawn)
    assert prices.usable(drawn_prices.Tents) is drawn_prices.Tents


@pytest.mark.parametrize("elsewhere", [-1e4, -1e9, -math.inf])
def test_a_price_of_four_heads_nailed_to_a_key_does_not_pass(elsewhere):
    def one_hot(distance):
        return torch.where(distance == torch.arange(4)[:, None], 0.0, elsewhere)

    text = score_text(drawn(one_hot))
    assert "4 of 4 heads put all their weight on one key" in text
    assert "✓" not in text and "No head attends" in text
    assert "loss" not in text and "yes" not in text  # which the lesson asks for later
    choice = "Among how many keys" if elsewhere == -math.inf else "How many points of score"
    assert choice in text
    assert "✓" not in score_text(drawn_prices.Fixed)
    assert prices.heads_nailed_down(drawn_prices.Tents) == 0


@pytest.mark.parametrize("peaks", [(1, 1, 1, 1), (1, 2, 3, 4)])
def test_keys_without_a_choice_do_not_pass_where_the_own_one_is_forbidden(peaks):
    tops = torch.tensor(peaks)[:, None]
    text = score_text(drawn(lambda d: torch.zeros(4, len(d)).masked_fill(d != tops, -math.inf)))
    assert "No head attends" in text and "✓" not in text and "loss" not in text


@pytest.mark.parametrize(("peak", "words"), [(0, "their own key best"), (1, "the key 1 back best")])
def test_heads_with_one_top_are_asked_for_another(peak, words):
    text = score_text(drawn_prices.Tents(64, 4, (peak,) * 4))
    last = text.splitlines()[-1]
    assert words in last and f"head 4 do with its top {peak + 1} back" in last


def test_a_gain_that_falls_short_is_told_in_three_digits():
    text = score_text(drawn_prices.Tents, (1.819, 1.819))
    assert "yours 1.819, the steep lines' 1.865 (the same seed), 0.046 below;" in text
    assert "over 0.05 below: no" in text and "0.035 above" in score_text(
        drawn_prices.Tents, (1.90, 1.90)
    )


def test_a_price_that_wins_with_a_plateau_is_asked_to_single_a_key_out():
    def plateau(distance):
        return -2.0 * (distance - torch.arange(4)[:, None]).clamp(min=0)

    text = score_text(drawn(plateau))
    assert "✓" in text and "Head 4 likes 4 keys alike" in text and text.endswith("?")


def test_the_first_head_that_parts_both_sides_is_named():
    def second_head_alone(price, offsets):
        return price * torch.where(offsets > 0, torch.tensor([1.0, 2, 1, 1])[:, None], 1.0)

    assert "Head 2 adds" in prices.told_apart(of_offsets(second_head_alone))


def test_the_first_distance_at_which_the_sides_differ_is_named():
    def from_two_on(price, offsets):
        return torch.where(offsets > 1, 2 * price, price)

    words = "Head 1 adds −0.5 to the key 2 before, −1 to the key 2 after."
    assert words in prices.told_apart(of_offsets(from_two_on))


def test_a_head_whose_weights_no_byte_moves_does_not_attend():
    steep = model_with(drawn_prices.Tents(64, 4, slopes=(29.0,) * 4))
    text = score_text(steep.encoding)
    assert prices.heads_nailed_down(drawn_prices.Tents(64, 4, slopes=(29.0,) * 4)) == 0
    assert prices.heads_that_attend(steep) == 0 and "✓" not in text and "No head attends" in text
    tents = model_with(drawn_prices.Tents(64, 4))
    assert prices.heads_that_attend(tents) > 0
    assert "✓" in score_text(tents.encoding)


def test_a_price_that_shows_the_next_byte_does_not_pass():
    class LooksAtTheNextKey(PositionalEncoding):
        def bias(self, q, k, at):
            tents = drawn_prices.Tents(64, 4).bias(q, k, at)
            return tents + 50 * k.roll(-1, 2)[..., None, :, 0]

    model = model_with(LooksAtTheNextKey(64, 4))
    text = prices.scored(model.encoding, WON, STEEP_LOSS, model)
    assert prices.reads_ahead(model) and "changes with a later byte" in text and "✓" not in text
    assert not prices.reads_ahead(model_with(drawn_prices.Tents(64, 4)))


def test_a_head_that_attends_is_enough_to_pass():
    def three_nailed(distance):
        sharpness = torch.tensor([2.0, 1e9, 1e9, 1e9])[:, None]
        return -sharpness * (distance - torch.arange(4)[:, None]).abs()

    text = score_text(drawn(three_nailed))
    assert "3 of 4 heads put all their weight on one key" in text
    assert "3 of your heads choose no key by its bytes" in text and text.endswith("?")


def test_a_price_that_wins_but_sees_keys_that_training_lacked_is_asked_about_them():
    slopes = torch.tensor([2.0, 2.0, 2.0, 0.03])[:, None]
    peaks = torch.tensor([0, 1, 2, 16])[:, None]
    text = score_text(drawn(lambda d: -slopes * (d - peaks).abs()))
    assert "✓" in text and "But: Of 512 equal keys, head 4 gives" in text


@pytest.mark.parametrize(("loss", "won"), [(1.82, False), (1.81, True)])
def test_a_price_wins_by_more_than_the_gain_asked_for(loss, won):
    text = score_text(drawn_prices.Tents, (loss, loss))
    assert f"over 0.05 below: {'yes' if won else 'no'}" in text and ("✓" in text) == won


def test_a_price_may_look_at_more_than_the_offset():
    class ByQuery(PositionalEncoding):
        def bias(self, q, k, at):
            return -2.0 * at.offsets.abs() * torch.ones(self.n_heads, 1, 1)

    assert prices.price_by_distance(ByQuery, 8)[0].tolist() == [-2.0 * d for d in range(8)]
    assert prices.price_by_distance(PositionalEncoding, 8).tolist() == [[0.0] * 8] * 4


# ------------------------------------------------------------------------------- a pair of RoPE


def test_a_priced_pair_stands_still_and_charges_by_distance():
    slopes = torch.tensor([-1.0, -2.0])
    encoding = pair_prices.PricedPair(16, 2, slopes=slopes, pair=1)
    at = Places(torch.arange(5))
    q, k = torch.randn(2, 1, 2, 5, 8)
    turned_q, _ = encoding.rotate(q, k, at)
    assert torch.allclose(turned_q[..., 2:4], q[..., 2:4])
    assert not torch.allclose(turned_q[..., 0:2], q[..., 0:2])
    bias = encoding.bias(q, k, at)
    expected = slopes[:, None, None] * (at.q[:, None] - at.k)
    assert torch.allclose(bias[0, ..., 1:], expected[..., 1:])
    assert bias[..., 0].abs().max() == 0  # the first token is free
    paying = pair_prices.PricedPair(16, 2, slopes=slopes, pair=1, first_pays=True)
    assert torch.allclose(paying.bias(q, k, at)[0, :, :, 0], slopes[:, None] * at.q)


def test_an_even_price_is_the_mean_of_a_query_s_prices_but_the_first_token_s():
    slopes, at = torch.tensor([-1.0, -2.0]), Places(torch.arange(6))
    q, k = torch.randn(2, 1, 2, 6, 8)
    even = pair_prices.EvenPrice(16, 2, slopes=slopes, pair=1).bias(q, k, at)
    priced = pair_prices.PricedPair(16, 2, slopes=slopes, pair=1).bias(q, k, at)
    for i in range(1, 6):
        mean = priced[..., i, 1 : i + 1].mean(-1)
        assert torch.allclose(even[..., i, 1 : i + 1], mean[..., None].expand(1, 2, i))
    assert even[..., 0].abs().max() == 0


@pytest.mark.skipif(bool(pretrained.missing()), reason="SmolLM2 is not installed")
def test_each_layer_of_a_published_model_has_its_own_prices():
    model, prices = pretrained.smollm2(), torch.arange(270.0).view(30, 9)
    priced = pair_prices.changed(model, pair_prices.PRICE, prices)
    blocks: Any = priced.blocks
    for block, slopes in zip(blocks, prices, strict=True):
        assert torch.equal(block.attention.encoding.slopes, slopes)
    tokens = model.encode("A price on distance, head for head.")
    free = pair_prices.changed(model, pair_prices.PRICE, 0 * prices)
    still = pair_prices.changed(model, pair_prices.STOPPED, prices)
    with torch.no_grad():
        torch.testing.assert_close(free(tokens), still(tokens), atol=1e-3, rtol=1e-3)
        assert not torch.allclose(priced(tokens), still(tokens), atol=0.1)
        unchanged: Any = model.blocks[0]
        assert unchanged.attention.encoding is model.encoding


def test_the_prices_of_a_published_model_are_the_lines_nearest_to_its_pair():
    lines = pair_prices.slopes_of_pair([0, 1, 2])
    assert lines.shape == (30, 9)
    assert 0.2 < (lines < -0.001).double().mean() < 0.5 and lines.max() < 0.001


def test_rope_without_a_price_is_rope():
    q, k, at = *torch.randn(2, 1, 2, 6, 8), Places(torch.arange(6))
    free = pair_prices.PricedPair(16, 2, slopes=torch.zeros(2), pair=3)
    rope = Rotary(16, 2, layout="interleaved")
    same = [0, 1, 2, 3, 4, 5]  # all but the pair that stands still
    assert torch.allclose(free.rotate(q, k, at)[0][..., same], rope.rotate(q, k, at)[0][..., same])
