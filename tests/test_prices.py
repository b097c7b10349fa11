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
WON = [(1.70, 1.70), (1.72, 1.73)]  # losses at 64 and at 512, of two seeds
STEEP_LOSSES = [1.84, 1.89]


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
    return prices.scored(price, losses, STEEP_LOSSES, [model_with(encoding)])


def test_tents_without_peaks_are_alibi():
    offsets = torch.arange(-9, 10)
    slopes = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]
    lines = drawn_prices.Tents(8, 4, peaks=(0, 0, 0, 0), slopes=slopes)
    assert torch.equal(lines.bias_by_offset(offsets), ALiBi(8, 4).bias_by_offset(offsets))


def test_a_tent_is_dearer_by_its_slope_for_each_step_off_its_peak():
    tents = drawn_prices.Tents(8, 2, peaks=(0, 3), slopes=(1.0, 0.5))
    expected = [[-5.0, -3.0, 0.0], [-1.0, 0.0, -1.5]]
    assert tents.bias_by_offset(torch.tensor([-5, -3, 0])).tolist() == expected


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
    assert "yours 1.71, the steep lines' 1.86 (2 seeds); below by more than 0.08: yes" in text
    assert "in 2 of 2 seeds" in text and text.endswith("train again.")
    assert "head 3: likes the key 2 back best" in text


MISTAKES = {
    "unchanged": (lambda d: -STEEP[:, None] * d, "likes its own byte best"),
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
        lambda d: torch.where(d == torch.arange(1, 5)[:, None], 0, -math.inf),
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
    text = score_text(drawn(by_distance), [(1.9, 1.95), (1.9, 1.9)])
    assert "by more than 0.08: no" in text and "in 1 of 2 seeds" in text
    assert question.lower() in text.lower() and text.count("?") >= 1


def test_far_keys_are_asked_about_only_where_a_loss_rises():
    blend = drawn_prices.Tents(64, 4, (0, 1, 2, 3), (1 / 4, 1 / 16, 1 / 64, 1 / 256))
    assert "Of 512 equal keys, head 4 gives" in score_text(blend, [(2.1, 2.2), (2.1, 2.1)])
    level = score_text(blend, [(2.1, 2.1), (2.1, 2.1)])
    assert "64 and more back" not in level and "How sharply should it see that key?" in level


def test_a_sign_slip_and_a_trained_price_are_told_of_their_own():
    class Slip(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return -2.0 * (offsets - torch.arange(4)[:, None]).abs()

    assert "Where is its top?" in prices.question(Slip)

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
        ((0, -1, -2, -3), (2, 2, 2, 2), "A peak is at -3. The method takes abs()"),
        ((0, 1, 2, 3), (2, -1, 2, 2), "Head 2 has the slope -1."),
        ((0, 1, 2, 3), (2, 2, 2, 0), "Head 4 has the slope 0."),
    ],
)
def test_a_wrong_sign_of_peaks_or_slopes_is_asked_about(peaks, slopes, words):
    tents = drawn_prices.Tents(64, 4, peaks, slopes)
    text = score_text(tents, [(1.9, 1.95), (1.9, 1.9)])
    assert words in text and text.endswith("?")


UNUSABLE = {
    "whole numbers": (lambda d: -2 * (d - torch.arange(4)[:, None]).abs(), "write 2.0"),
    "no axis": (lambda d: -torch.ones(4) * d, "[:, None]"),
    "one row": (lambda d: -2.0 * d, "must be (4, n)"),
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


def test_a_price_that_wins_but_forbids_the_own_key_is_asked_about_it():
    def without_own(distance):
        bias = -2.0 * (distance - torch.arange(4)[:, None]).abs()
        return bias.masked_fill(distance == 0, -math.inf)

    text = score_text(drawn(without_own))
    assert "✓" in text and text.endswith("May a head forbid that one?")


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_price_that_no_model_could_add_is_refused_at_once(name):
    by_distance, words = UNUSABLE[name]

    class Drawn(PositionalEncoding):
        def bias_by_offset(self, offsets):
            return by_distance(offsets.abs())

    with pytest.raises(ValueError, match=re.escape(words)):
        prices.usable(Drawn)
    assert prices.usable(drawn_prices.Tents) is drawn_prices.Tents


@pytest.mark.parametrize("elsewhere", [-1e4, -1e9])
def test_a_price_of_four_heads_nailed_to_a_key_does_not_pass(elsewhere):
    def one_hot(distance):
        return torch.where(distance == torch.arange(4)[:, None], 0.0, elsewhere)

    text = score_text(drawn(one_hot))
    assert "4 of 4 heads put all their weight on one key" in text
    assert "✓" not in text and "No head attends" in text
    assert "loss" not in text and "yes" not in text  # which the lesson asks for later
    assert "✓" not in score_text(drawn_prices.Fixed)
    assert prices.heads_nailed_down(drawn_prices.Tents) == 0


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
    text = prices.scored(model.encoding, WON, STEEP_LOSSES, [model])
    assert prices.reads_ahead(model) and "changes with a later byte" in text and "✓" not in text
    assert not prices.reads_ahead(model_with(drawn_prices.Tents(64, 4)))


def test_a_head_that_attends_is_enough_to_pass():
    def three_nailed(distance):
        sharpness = torch.tensor([2.0, 1e9, 1e9, 1e9])[:, None]
        return -sharpness * (distance - torch.arange(4)[:, None]).abs()

    text = score_text(drawn(three_nailed))
    assert "3 of 4 heads put all their weight on one key" in text and text.endswith("train again.")


def test_a_price_that_wins_but_sees_keys_that_training_lacked_is_asked_about_them():
    slopes = torch.tensor([2.0, 2.0, 2.0, 0.03])[:, None]
    peaks = torch.tensor([0, 1, 2, 16])[:, None]
    text = score_text(drawn(lambda d: -slopes * (d - peaks).abs()))
    assert "✓" in text and "But: Of 512 equal keys, head 4 gives" in text


@pytest.mark.parametrize(("second", "won"), [(1.77, False), (1.76, True)])
def test_the_means_over_the_seeds_decide(second, won):
    text = score_text(drawn_prices.Tents, [(1.80, 1.80), (second, second)])
    assert f"below by more than 0.08: {'yes' if won else 'no'}" in text and ("✓" in text) == won


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
