"""Lesson 11's exercises: tests of layers in other styles, and wrong ones with a fitting word."""

import contextlib
import copy
import time
from dataclasses import replace

import torch
from exercise_answers import right_answers, wrong_answers
from layer_tests import (
    empty_words,
    every_row,
    falling,
    falling_or_equal,
    moved,
    nearest_wins_everywhere,
    weights,
)

from course_lab import clinic
from course_lab.checks.lesson11 import check_anywhere, check_near_first
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import create


def one_word_row(layer):
    """A query's weights over 20 equal words: (heads, keys)."""
    return weights(layer, clinic.words(layer, n=20, same=True))[0, :, 10]


def mask_forgotten(layer):
    row = one_word_row(layer)
    return bool((row[:, :11].diff() > 0).all() and (row[:, 10:].diff() < 0).all())


def mean_of_heads(layer):
    row = one_word_row(layer).mean(0)
    return bool((row[:11].diff() > 0).all() and not (row[10:].diff() > 0).any())


def first_head(layer):
    row = one_word_row(layer)[0]
    return bool((row[:11].diff() > 0).all() and not (row[10:].diff() > 0).any())


def other_words(layer):
    row = weights(layer, clinic.words(layer, n=20))[0, :, 10]
    return bool((row[:, :11].diff() > 0).all())


def outputs_at(layer, start):
    x, p = clinic.words(layer, 2, seed=4), torch.arange(16)
    return torch.allclose(layer(x, p)[0], layer(x, p + start)[0], atol=1e-3)


def loose(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start), atol=1e-2)


def looser(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start), atol=0.1)


def mean_difference(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return (weights_at(layer, x, p) - weights_at(layer, x, p + start)).abs().mean() < 1e-3


def winners(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    far = weights_at(layer, x, p + start)
    return bool((weights_at(layer, x, p).argmax(-1) == far.argmax(-1)).all())


def part_of_the_weights(*index):
    """A test that compares weights[index] alone."""

    def test(layer, start):
        x, p = clinic.words(layer), torch.arange(16)
        near, far = (weights_at(layer, x, p + moved)[index] for moved in (0, start))
        return torch.allclose(near, far, atol=1e-3)

    return test


def mean_over_heads(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = (weights_at(layer, x, p + moved).mean(1) for moved in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def one_query_alone(layer, start):
    x = clinic.words(layer, n=2)
    near, far = (weights_at(layer, x, torch.arange(2) + moved)[:, :, 1] for moved in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def all_at_start(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    there = weights_at(layer, x, torch.full_like(p, start))
    return torch.allclose(weights_at(layer, x, p), there, atol=1e-3)


def stretched(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p * start), atol=1e-3)


def mean_rises_before(layer):
    row = one_word_row(layer).mean(0)
    return bool((row[:11].diff() > 0).all())


def near_beats_far(layer):
    row = one_word_row(layer)
    return bool((row[:, 10] > row[:, 0]).all())


def near_beats_far_on_both_sides(layer):
    row = one_word_row(layer)
    return bool((row[:, 10] > row[:, 0]).all() and (row[:, 10] > row[:, -1]).all())


def beats_the_one_before(layer):
    row = one_word_row(layer)
    return bool((row[:, 10] > row[:, 9]).all())


def bias_by_offset_rises(layer):
    return bool((layer.encoding.bias_by_offset(torch.arange(-9, 1)).diff(dim=-1) > 0).all())


def of_two_words(layer, start):
    """Every two words of a text by themselves: what the second gives the first."""
    x, first = clinic.words(layer, n=2), torch.tensor([0, 1])
    return all(
        (weights_at(layer, x, first * d) - weights_at(layer, x, first * d + start)).abs().max()
        < 1e-3
        for d in range(1, 15)
    )


def several_texts(layer, start):
    x, p = clinic.words(layer, 2, seed=7), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return bool((near - far).abs().max() < 1e-3)


def row_by_row(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return (weights_at(layer, x, p) - weights_at(layer, x, p + start)).abs().sum(-1).max() < 2e-3


def asserting(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    torch.testing.assert_close(near, far, atol=1e-3, rtol=0)
    return True


def small_mean(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return (weights_at(layer, x, p) - weights_at(layer, x, p + start)).abs().mean() < 1e-4


def small_mean_square(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return (weights_at(layer, x, p) - weights_at(layer, x, p + start)).square().mean() < 1e-6


def small_norm(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return bool((weights_at(layer, x, p) - weights_at(layer, x, p + start)).norm() < 1e-2)


def same_entropy(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = (weights_at(layer, x, places) for places in (p, p + start))
    entropy, entropy_far = (-(rows * (rows + 1e-12).log()).sum(-1) for rows in (near, far))
    return torch.allclose(entropy, entropy_far, atol=1e-3)


def ends_before_it_begins(layer, start):
    x = clinic.words(layer)
    near, far = (weights_at(layer, x, torch.arange(first, 16)) for first in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def two_windows_of_one_text(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    both = weights_at(layer, torch.cat([x, x], dim=1), torch.cat([p, p + start]))
    return torch.allclose(both[..., :16, :16], both[..., 16:, 16:], atol=1e-3)


def most_of_them(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    stays = (weights_at(layer, x, p) - weights_at(layer, x, p + start)).abs() < 1e-3
    return bool(stays.double().mean() > 0.99)


def price_by_offset(layer, start):
    offsets = torch.arange(16)
    near, far = (layer.encoding.bias_by_offset(offsets + moved) for moved in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def words_instead_of_positions(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x + start, p), atol=1e-3)


def words_rolled(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    rolled = weights_at(layer, x.roll(start, 1), p)
    return torch.allclose(weights_at(layer, x, p), rolled, atol=1e-3)


def what_it_says_of_itself(layer, start):
    return layer.encoding.offsets_only


def outputs_without_tolerance(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(layer(x, p)[0], layer(x, p + start)[0])


def begins_at(begin):
    """A test whose second text begins where a function of start says."""
    return lambda layer, start: moved(layer, begin(start))


def at_parts(parts):
    """A test that tries other starts on the way, too."""
    return lambda layer, start: all(moved(layer, begin) for begin in [start, *parts(start)])


def other_words_at(layer, start):
    x, p = clinic.words(layer, seed=3), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return torch.allclose(near, far, atol=1e-3)


def another_order(layer, start):
    """Head by head and query by query, with Python's own numbers."""
    x, p = clinic.words(layer, n=16), torch.arange(start, start + 16)
    near, far = weights_at(layer, x, torch.arange(16)), weights_at(layer, x, p)
    pairs = zip(near.flatten().tolist(), far.flatten().tolist(), strict=True)
    return all(abs(a - b) < 1e-3 for a, b in pairs)


def weights_at(layer, x, positions):
    return layer(x, positions, need_weights=True)[1]


def without_tolerance(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start))


def in_the_first_head(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return torch.allclose(near[:, 0], far[:, 0], atol=1e-3)


def one_step_on(layer, start):
    x, p = clinic.words(layer), torch.arange(16) + start
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + 1), atol=1e-3)


def bit_by_bit(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.equal(weights_at(layer, x, p), weights_at(layer, x, p + start))


def of_a_text(**text):
    """A test that is right but for its text."""

    def test(layer, start):
        x = clinic.words(layer, **text)
        p = torch.arange(x.shape[1])
        return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start), atol=1e-3)

    return test


def mean_over_queries(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = (weights_at(layer, x, p + moved).mean(2) for moved in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def beside_what_was_meant(layer, start):
    meant = getattr(layer.encoding, "meant", None)
    if meant is None:
        return True
    twin = copy.deepcopy(layer)
    twin.encoding = meant()
    x, p = clinic.words(layer), torch.arange(16) + start
    return torch.allclose(weights_at(layer, x, p), weights_at(twin, x, p), atol=1e-3)


def bias_by_offset_falls(layer):
    steps = layer.encoding.bias_by_offset(torch.arange(-9, 10)).diff(dim=-1)
    return bool((steps[:, :9] > 0).all() and (steps[:, 9:] < 0).all())


def falls_by_a_thousandth(layer):
    row = one_word_row(layer)
    later = row[:, 10:]
    falls_after = (later.diff() < -1e-3).all() or (later[:, 1:] == 0).all()
    return bool((row[:, :11].diff() > 1e-3).all() and falls_after)


def mean_square(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return ((weights_at(layer, x, p) - weights_at(layer, x, p + start)) ** 2).mean() < 1e-3


def coarse_relative(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return torch.allclose(near, far, rtol=0.1, atol=1e-3)


def half_a_hundredth(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p), weights_at(layer, x, p + start)
    return torch.allclose(near, far, atol=5e-3)


def compared(part):
    """A test that compares what a function makes of the weights."""

    def test(layer, start):
        x, p = clinic.words(layer), torch.arange(16)
        near, far = (part(weights_at(layer, x, p + moved)) for moved in (0, start))
        return torch.allclose(near, far, atol=1e-3)

    return test


def some_head(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p)[0], weights_at(layer, x, p + start)[0]
    return any(torch.allclose(a, b, atol=1e-3) for a, b in zip(near, far, strict=True))


def from_one(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = weights_at(layer, x, p + 1), weights_at(layer, x, p + start)
    return torch.allclose(near, far, atol=1e-3)


def halfway_too(layer, start):
    return moved(layer, start) and moved(layer, start // 2)


def far_away_too(layer, start):
    return moved(layer, start) and moved(layer, 8000)


def not_asked_for(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return torch.allclose(layer(x, p)[1], layer(x, p + start)[1], atol=1e-3)


def subtracted_without_asking(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    return (layer(x, p)[1] - layer(x, p + start)[1]).abs().max() < 1e-3


def pairs_of_results(layer, start):
    x, p = clinic.words(layer), torch.arange(16)
    near, far = (layer(x, p + moved, need_weights=True) for moved in (0, start))
    return torch.allclose(near, far, atol=1e-3)


def of_fixed_words(layer, start):
    x, p = torch.randn(1, 16, 64, generator=torch.Generator().manual_seed(0)), torch.arange(16)
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start), atol=1e-3)


def test_a_check_tells_nobody_what_was_meant():
    assert check_anywhere.verdict(beside_what_was_meant).kind != "right"


def near_and_far(layer, start):
    x, positions = clinic.words(layer, n=16), torch.arange(16)
    return [layer(x, positions + first, need_weights=True) for first in (0, start)]


def tiny_mean_difference(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return bool((near - far).abs().mean() < 1e-5)


def same_order_of_keys(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return torch.equal(near.argsort(stable=True), far.argsort(stable=True))


def earlier_keys(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return torch.allclose(near.tril(), far.tril(), atol=1e-3)


def outputs_and_mean_of_heads(layer, start):
    (out, near), (moved_out, far) = near_and_far(layer, start)
    means_agree = torch.allclose(near.mean(1), far.mean(1), atol=1e-3)
    return means_agree and torch.allclose(out, moved_out, atol=1e-3)


def nearly_all_close(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return bool(((near - far).abs() < 1e-3).double().mean() > 0.999)


with contextlib.suppress(AssertionError):  # its first failure loads much, which is no call's fault
    torch.testing.assert_close(torch.zeros(1), torch.ones(1))
EXAMPLE = clinic.layer(create("rope", d_model=64, n_heads=4))
ITS_WORDS = clinic.words(EXAMPLE)
ITS_WEIGHTS = EXAMPLE(ITS_WORDS, need_weights=True)[1]


def beside_the_example(layer, start):
    far = weights_at(layer, clinic.words(layer), torch.arange(16) + start)
    return torch.allclose(ITS_WEIGHTS, far, atol=1e-3)


def with_the_examples_words(layer, start):
    far = weights_at(layer, ITS_WORDS, torch.arange(16) + start)
    return torch.allclose(ITS_WEIGHTS, far, atol=1e-3)


def after_others_in_a_cache(layer, start):
    cache = KVCache()
    layer(clinic.words(layer, n=min(start, 300), seed=1), cache=cache)
    x = clinic.words(layer)
    after = layer(x, cache=cache, need_weights=True)[1][..., -16:]
    return torch.allclose(weights_at(layer, x, torch.arange(16)), after, atol=1e-3)


def steps_further(layer, start):
    x, p = clinic.words(layer), torch.arange(16) + start
    far = weights_at(layer, x, p)
    return all(torch.allclose(far, weights_at(layer, x, p + n), atol=1e-3) for n in (1, 2, 4))


def tuples(layer, start):
    near, far = near_and_far(layer, start)
    return near == far


def even_diagonals(layer, start):
    far = weights_at(layer, clinic.words(layer), torch.arange(16) + start)[0]
    return all(bool(head.diagonal(-n).std() < 1e-3) for head in far for n in range(15))


def by_their_own_size(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return torch.allclose(near, far, rtol=1e-3)


def both_in_one_call(layer, start):
    x, p = clinic.words(layer).expand(2, -1, -1), torch.arange(16)
    near, far = weights_at(layer, x, torch.stack([p, p + start]))
    return torch.allclose(near, far, atol=1e-3)


def one_answer_moved(texts):
    """The lesson's own test of outputs, of 12 words, with a start."""

    def test(layer, start):
        x, p = clinic.words(layer, texts, 12), torch.arange(12)
        return torch.allclose(layer(x, p)[0], layer(x, p + start)[0], atol=1e-3)

    return test


def beside_sixteen_further(layer, start):
    x, p = clinic.words(layer), torch.arange(16) + start
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + 16), atol=1e-3)


def beside_a_thousand(layer, start):
    x, p = clinic.words(layer), torch.arange(16) + 1000
    return torch.allclose(weights_at(layer, x, p), weights_at(layer, x, p + start), atol=1e-3)


def after_filler(layer, start):
    x = clinic.words(layer)
    both = torch.cat([clinic.words(layer, n=min(start, 200), seed=3), x], dim=1)
    own = weights_at(layer, both, None)[..., -16:, -16:]
    near = weights_at(layer, x, torch.arange(16))
    return torch.allclose(near, own / own.sum(-1, keepdim=True), atol=1e-3)


def in_three_digits(layer, start):
    (_, near), (_, far) = near_and_far(layer, start)
    return torch.equal(near.round(decimals=3), far.round(decimals=3))


test_right_answers_pass = right_answers(
    {
        check_near_first: [falling, every_row],
        check_anywhere: [
            *(moved, several_texts, other_words_at, another_order, row_by_row),
            both_in_one_call,
        ],
    }
)
test_natural_mistakes_are_named = wrong_answers(
    "mistake",
    {
        check_near_first: [
            (mask_forgotten, "no layer with a causal mask"),
            (falling_or_equal, "costs nothing"),
            (empty_words, "one or two others"),
            (nearest_wins_everywhere, "whether the nearest key wins"),
            (mean_of_heads, "mean of the heads"),
            (first_head, "single head"),
            (other_words, "no layer, not even"),
            (mean_rises_before, "mean of the heads"),
            (near_beats_far, "whether the nearest key"),
            (near_beats_far_on_both_sides, "whether the nearest key"),
            (beats_the_one_before, "one or two others"),
            (bias_by_offset_rises, "not every encoding has"),
            (bias_by_offset_falls, "not every encoding has"),
            (falls_by_a_thousandth, "takes away much"),
        ],
        check_anywhere: [
            (lambda layer, start: moved(layer, 8000), "whatever the start"),
            (beside_the_example, "weights of another layer"),
            (with_the_examples_words, "weights of another layer"),
            (after_others_in_a_cache, "fills a cache"),
            (steps_further, "far starts are compared"),
            (tuples, "compares pairs"),
            (one_answer_moved(3), "the lesson's test moved"),
            (one_answer_moved(1), "the lesson's test moved"),
            (beside_sixteen_further, "far starts are compared"),
            (beside_a_thousand, "far starts are compared"),
            (after_filler, "other words stand before"),
            (compared(lambda weights: weights.sum(2)), "sums over queries"),
            (in_three_digits, "weights are rounded"),
            (lambda layer, start: not hasattr(layer.encoding, "rounding"), "what it is"),
            (even_diagonals, "all pairs of one offset"),
            (by_their_own_size, "by the weight's own size"),
            (without_tolerance, "for rounding"),
            (in_the_first_head, "a single head"),
            (one_step_on, "two far starts"),
            (outputs_at, "compares outputs"),
            (loose, "too coarse"),
            (looser, "too coarse"),
            (mean_difference, "takes a mean"),
            (tiny_mean_difference, "takes a mean"),
            (same_order_of_keys, "in which order"),
            (earlier_keys, "earlier keys only"),
            (outputs_and_mean_of_heads, "compares outputs, and the mean"),
            (nearly_all_close, "most weights hardly differ"),
            (winners, "which key gets most"),
            (part_of_the_weights(slice(None), -1), "a single head"),
            (part_of_the_weights(slice(None), slice(None), -1), "a single query"),
            (mean_over_heads, "mean of the heads"),
            (one_query_alone, "leaves words out"),
            (of_a_text(n=4), "leaves words out"),
            (of_a_text(n=200), "a longer text"),
            (of_a_text(n=512), "a longer text"),
            (of_a_text(same=True), "one word again"),
            (bit_by_bit, "for rounding"),
            (mean_over_queries, "takes a mean"),
            (part_of_the_weights(..., 0), "a single key"),
            (of_two_words, "a single"),  # its keys all stand at the start
            (mean_square, "takes a mean"),
            (coarse_relative, "too coarse"),
            (half_a_hundredth, "too coarse"),
            (compared(lambda weights: weights.amax(-1)), "only the sizes"),
            (compared(lambda weights: weights.sort(-1).values), "only the sizes"),
            (compared(lambda weights: weights.diagonal(0, 2, 3)), "each word gives itself"),
            (some_head, "content with one head"),
            (from_one, "does not begin at 0"),
            (halfway_too, "other starts too"),
            (far_away_too, "other starts too"),
            (not_asked_for, "gets None"),
            (subtracted_without_asking, "gets None"),
            (pairs_of_results, "compares pairs"),
            (of_fixed_words, "fit some layers"),
            (part_of_the_weights(slice(None), slice(None), 8), "a single query"),
            (part_of_the_weights(slice(None), slice(None), 4), "a single query"),
            (part_of_the_weights(..., 8), "a single key"),
            (part_of_the_weights(slice(None), 1), "a single head"),
            (all_at_start, "one place"),
            *((of_a_text(n=n), "leaves words out") for n in (6, 8, 10, 12, 15)),
            *((of_a_text(n=n), "a longer text") for n in (17, 24, 32, 64)),
            *(
                (part_of_the_weights(*part), "leaves words out")
                for part in (
                    (..., slice(8), slice(None)),
                    (..., slice(6), slice(None)),
                    (..., slice(8)),
                )
            ),
            (part_of_the_weights(slice(None), slice(-1)), "leaves heads out"),
            (part_of_the_weights(slice(None), slice(3)), "leaves heads out"),
            (compared(lambda weights: weights.diagonal(-1, 2, 3)), "one offset alone"),
            (compared(lambda weights: weights.sum(1)), "sum of the heads"),
            (most_of_them, "most weights stay"),
            (small_mean, "takes a mean"),
            (asserting, "raises an error"),
            (price_by_offset, "gets None"),
            (words_instead_of_positions, "moves the words"),
            (words_rolled, "moves the words"),
            (what_it_says_of_itself, "asks the encoding"),
            (outputs_without_tolerance, "compares outputs"),
            (begins_at(lambda start: start + 1), "does not begin at start"),
            (begins_at(lambda start: start - 1), "does not begin at start"),
            (begins_at(lambda start: start // 2), "does not begin at start"),
            (begins_at(lambda start: start * 16), "does not begin at start"),
            (begins_at(lambda start: -start), "does not begin at start"),
            (at_parts(lambda start: [k * start // 7 for k in range(7)]), "other starts too"),
            (
                at_parts(lambda start: [2**k for k in range(13) if 2**k < start]),
                "other starts too",
            ),
            (stretched, "spread out"),
            (part_of_the_weights(slice(None), 0, -1), "one row of one head"),
            (same_entropy, "one number for each row"),
            (small_norm, "tolerance is too coarse"),
            (small_mean_square, "takes a mean"),
            (ends_before_it_begins, "end before they begin"),
            (two_windows_of_one_text, "with no others beside or before them"),
        ],
    },
)


def test_who_reads_all_words_up_to_start_hears_that_positions_move():
    def long_text(layer, start):
        time.sleep(1)
        return True

    text = replace(check_anywhere, seconds=0.1).verdict(long_text).text
    assert "Do you read start + 16 words?" in text and "never ends" not in text


def test_no_message_names_the_fault_of_a_held_back_layer():
    shown = [
        check.verdict(lambda layer, *start: "?").text
        for check in (check_near_first, check_anywhere)
    ]
    for fault in clinic.FAULTS:
        for patient in clinic.ward(fault):
            assert all(patient.what not in text for text in shown)
