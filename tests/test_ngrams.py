"""Tables of counts are distributions, and a cache holds the bytes just before, no others."""

import math

import pytest
import torch
from bad_calls import bad_calls

from course_lab.ngrams import NGrams


def letters(count, kinds=8):
    return torch.randint(97, 97 + kinds, (count,))


def cached(known, block, cache, *, first, weight=0.5, order=2):
    return NGrams(known, order).loss(block, order, first=first, cache=cache, weight=weight)


@pytest.mark.parametrize("context", [[97, 98], [104, 97], [50, 50]])  # the last was never seen
def test_shares_sum_to_one_with_and_without_a_cache(context):
    known = letters(500)
    counts = NGrams(known, 2)
    blocks = [torch.tensor([[*context, byte]]) for byte in range(256)]
    assert sum(math.exp(-counts.loss(block, 2)) for block in blocks) == pytest.approx(1.0)
    shares = [math.exp(-counts.loss(block, 2, cache=2)) for block in blocks]
    assert sum(shares) == pytest.approx(1.0)


def test_a_table_that_looks_far_enough_knows_a_repeated_word():
    word = torch.tensor([*b"aab"]).repeat(400)
    counts = NGrams(word, 2)
    order_0, order_1, order_2 = (counts.loss(word[None, :300], last) for last in range(3))
    assert order_0 == pytest.approx(math.log(3) - 2 / 3 * math.log(2), abs=0.02)  # a, a, b
    assert order_1 == pytest.approx(2 / 3 * math.log(2), abs=0.02)  # after a comes either
    assert order_2 < 0.02


def test_letters_by_chance_cannot_be_known_better_by_looking():
    counts, judged = NGrams(letters(20_000, 4), 2), letters(5000, 4)[None]
    assert counts.loss(judged, 0) == pytest.approx(math.log(4), abs=0.01)
    assert counts.loss(judged, 2) == pytest.approx(math.log(4), abs=0.02)


def test_a_lower_order_is_a_table_of_that_order():
    known, judged = letters(3000), letters(400)[None]
    assert NGrams(known, 3).loss(judged, 1) == NGrams(known, 1).loss(judged, 1)


def test_no_cache_and_no_weight_leave_the_tables_alone():
    known, block = letters(500), letters(60)[None]
    plain = NGrams(known, 2).loss(block, 2)
    assert cached(known, block, 0, first=2) == pytest.approx(plain)
    assert cached(known, block, 30, first=2, weight=0.0) == pytest.approx(plain)


def test_the_cache_knows_exactly_the_bytes_before():
    known, block = letters(500), letters(80, 3)[None]
    judged, cache, weight = 79, 20, 0.3  # one byte, so that its share can be told
    before = block[0, judged - cache : judged]
    tables, recent = NGrams(known, 0), NGrams(before, 0)
    byte = torch.stack([block[0, judged]])[None]
    expected = (1 - weight) * math.exp(-tables.loss(byte, 0)) + weight * math.exp(
        -recent.loss(byte, 0)
    )
    loss = cached(known, block, cache, first=judged, weight=weight, order=0)
    assert math.exp(-loss) == pytest.approx(expected)


def test_a_repetition_pays_once_the_cache_reaches_it():
    word = letters(50)
    block = torch.cat([word, word])[None]
    short, long = (cached(letters(500), block, cache, first=60) for cache in (10, 60))
    assert long < short - 0.4


FEW, ASKED = torch.arange(9), torch.zeros(1, 4, dtype=torch.long)

test_bad_arguments = bad_calls(
    [
        (lambda: NGrams(FEW, -1), ValueError, "order", "got -1"),
        (lambda: NGrams(FEW, 2).loss(ASKED, 3), ValueError, "order", "got 3"),
        (lambda: NGrams(FEW, 2).loss(ASKED, -1), ValueError, "order", "got -1"),
        (lambda: NGrams(FEW, 4).loss(ASKED, 4), ValueError, "first", "got 4"),
        (lambda: cached(FEW, ASKED, -1, first=0), ValueError, "cache", "got -1"),
        (lambda: cached(FEW, ASKED, 1, first=4), ValueError, "first", "got 4"),
        (lambda: cached(FEW, ASKED, 1, first=1, weight=1.0), ValueError, "weight", "got 1.0"),
    ]
)


def test_a_decoy_is_counted_in_place_of_the_bytes_before():
    known, block = letters(500), letters(80, 3)[None]
    counts = NGrams(known, 2)
    alike = counts.loss(block, 2, decoy=block[0], weight=0.5)
    other = counts.loss(block, 2, decoy=block[0] + 10, weight=0.5)
    assert alike < counts.loss(block, 2) < other


def test_beside_a_cache_a_decoy_stands_for_the_bytes_further_back():
    known, block = letters(500), letters(80, 3)[None]
    counts, block = NGrams(known, 0), block[:, :61]
    whole = counts.loss(block, 0, first=60, cache=60)
    parts = counts.loss(block, 0, first=60, cache=20, decoy=block[0, :40])
    assert parts == pytest.approx(whole)
    assert counts.loss(block, 0, first=60, cache=20, decoy=block[0, :40] + 10) != whole
