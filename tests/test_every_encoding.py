"""What holds for every encoding and option: reading piece by piece, order, causality, batches."""

import copy
import itertools
import math
from typing import Any

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_once, pairwise
from variants import (
    DYNAMIC,
    VARIANTS,
    VOCABULARY,
    Reader,
    attention,
    few_examples,
    label,
    sentence,
    tiny,
    variants,
)

from course_utils import encodings
from course_utils.attention import MultiHeadAttention, blocks
from course_utils.attention.blocks import BLOCK
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Places, PositionalEncoding, create

seeds = st.integers(0, 2**16)

# Reading a text piece by piece


@variants()
@few_examples
@given(seed=seeds, pieces=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_reading_piece_by_piece_with_a_cache_equals_reading_at_once(variant, seed, pieces):
    torch.manual_seed(seed)
    model, ids = tiny(variant), sentence(2, sum(pieces))
    if variant[1].get("beyond") == "interpolate":
        pytest.skip("squeezes by the largest position in sight")
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
        assert gap(torch.cat(parts, dim=1), model(ids)) <= 1e-5
    assert {len(one) for one in cache} == {sum(pieces)}


@variants()
def test_decoding_token_by_token_past_a_block_equals_the_full_pass(variant):
    read, ids = Reader(variant), sentence(1, BLOCK + 5)
    with torch.no_grad():
        cache, outs, row = KVCache(), [], torch.arange(BLOCK + 5)
        for start in [0, *range(BLOCK - 3, BLOCK + 5)]:
            stop = BLOCK - 3 if start == 0 else start + 1
            outs.append(read(ids[:, start:stop], row[start:stop], cache=cache)[0])
        assert gap(torch.cat(outs, dim=1), read(ids)[0]) <= 1e-5


@variants()
def test_a_text_longer_than_a_block_read_in_pieces_equals_the_full_pass(variant):
    if variant[1].get("beyond") == "interpolate":
        pytest.skip("squeezes by the largest position in sight")
    model, ids = tiny(variant, n_layers=1), sentence(1, 300)
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(piece, cache=cache) for piece in ids.split([100, 60, 1, 139], dim=1)]
        assert gap(torch.cat(parts, dim=1), model(ids)) <= 1e-5


@each_once(variant=[*VARIANTS, DYNAMIC], capacity=(None, 9))
def test_inference_mode_reads_with_a_cache_as_any_other(variant, capacity):
    if variant[1].get("beyond") == "interpolate":
        pytest.skip("squeezes by the largest position in sight")
    model, ids = tiny(variant), sentence(2, 9)
    mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    outputs = []
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            cache = model.new_cache(capacity)
            first = model(ids[:, :6], cache=cache, attention_mask=mask)
            outputs.append(torch.cat([first, model(ids[:, 6:], cache=cache)], 1))
    assert gap(*outputs) <= 1e-6


@variants()
def test_weights_of_a_cached_step_are_the_last_row_of_the_full_ones(variant):
    read, ids, row, cache = Reader(variant), sentence(2, 9), torch.arange(9), KVCache()
    read(ids[:, :8], row[:8], cache=cache)
    out, weights = read(ids[:, 8:], row[8:], cache=cache, need_weights=True)
    full, full_weights = read(ids, need_weights=True)
    assert gap(out, full[:, 8:]) <= 1e-5
    assert gap(weights, full_weights[:, :, 8:]) <= 1e-5


def test_dynamic_ntk_turns_cached_keys_anew_so_the_last_step_equals_the_full_pass():
    read, ids, row, cache = Reader(DYNAMIC), sentence(1, 30), torch.arange(30), KVCache()
    steps = [read(ids[:, i : i + 1], row[i : i + 1], cache=cache)[0] for i in range(30)]
    assert gap(steps[-1], read(ids)[0][:, -1:]) <= 1e-5
    # Earlier steps knew of a shorter text only, so their base was another.
    assert gap(steps[15], read(ids)[0][:, 15:16]) > 1e-4
    assert gap(steps[15], read(ids[:, :16])[0][:, -1:]) <= 1e-5


# What may depend on what


@each_once(variant=[*VARIANTS, DYNAMIC], causal=(True, False))
@few_examples
@given(seed=seeds, order=st.permutations(range(9)))
def test_shuffling_tokens_with_their_positions_only_shuffles_the_output(
    variant, causal, seed, order
):
    torch.manual_seed(seed)
    read, ids, row = Reader(variant, causal), sentence(), torch.arange(9)
    order = torch.tensor(order)
    for need_weights in (False, True):
        straight = read(ids, row, need_weights=need_weights)[0]
        shuffled = read(ids[:, order], row[order], need_weights=need_weights)[0]
        assert gap(shuffled, straight[:, order]) <= 1e-5


@variants(DYNAMIC)
@few_examples
@given(seed=seeds, changed=st.integers(1, 8))
def test_a_later_token_never_changes_an_earlier_output(variant, seed, changed):
    torch.manual_seed(seed)
    model, ids = tiny(variant), sentence()
    other = ids.clone()
    other[:, changed:] = (ids[:, changed:] + 3) % VOCABULARY
    assert gap(model(ids)[:, :changed], model(other)[:, :changed]) <= 1e-5
    assert gap(model(ids)[:, changed:], model(other)[:, changed:]) > 1e-4


@each_once(variant=[*VARIANTS, DYNAMIC], causal=(True, False))
def test_sequences_of_a_batch_do_not_see_each_other(variant, causal):
    read, ids = Reader(variant, causal), sentence(3, 9)
    for need_weights in (False, True):
        whole = read(ids, need_weights=need_weights)[0]
        for row in range(3):
            alone = read(ids[row : row + 1], need_weights=need_weights)[0]
            assert gap(whole[row : row + 1], alone) <= 1e-5


@variants(DYNAMIC)
def test_the_encoding_changes_what_attention_says(variant):
    if variant[0] == "none":
        pytest.skip("has nothing to say")
    module = attention(variant).eval()
    plain = MultiHeadAttention(16, 2, causal=True)
    plain.load_state_dict(module.state_dict(), strict=False)
    x, ids = torch.randn(1, 40, 16), sentence(1, 40)
    with torch.no_grad():
        for parameter in module.encoding.parameters():  # as if trained: fresh ones can be tiny
            parameter.add_(torch.randn_like(parameter) / 2)
    with_it = module.attend(module.encoding.embed(x, torch.arange(40), ids))[0]
    assert gap(with_it, plain(x)[0]) > 1e-3


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32])
def test_words_may_come_in_any_dtype_of_integers(dtype):
    for name in ("rope", "complex_order"):
        model, ids = tiny((name, {})), sentence()
        assert torch.equal(model(ids.to(dtype)), model(ids))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16])
def test_positions_in_small_integers_are_refused_because_their_offsets_wrap(dtype):
    with pytest.raises(TypeError, match="positions must hold int64, int32 or floats, got torch"):
        tiny(("rope", {}))(sentence(), torch.arange(9, dtype=dtype))


PRODUCTS_OF_QUERIES = ("shaw", "deberta", "cope")


@variants()
def test_a_bias_keeps_float32_under_autocast(variant):
    """In bfloat16 the bias of FIRE and Transformer-XL would be off by half a percent."""
    module = attention(variant)
    encoding, returned = module.encoding, []
    if "bias" not in encoding.doors or variant[0] in PRODUCTS_OF_QUERIES:
        pytest.skip("has no bias but products of queries, in their dtype")
    door = "bias_by_offset" if encoding.bias_needs_offsets_only else "bias"
    method = getattr(encoding, door)

    def recorded(*arguments):
        returned.append(method(*arguments))
        return returned[-1]

    setattr(encoding, door, recorded)
    x = torch.randn(1, 40, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        module(x)
    q, at = torch.zeros(1, 2, 40, 8), Places(torch.arange(40))
    assert returned[0].dtype == torch.float32
    if door == "bias_by_offset":
        assert torch.equal(returned[0], method(at.diagonal_offsets))
    elif variant[0] != "transformer_xl":
        assert torch.equal(returned[0], method(q, q, at))


# The bias on later keys


class Loud(MultiHeadAttention):
    """Attention whose encoding says something wild of every key after its query."""

    def __init__(self, of, loudness):
        super().__init__(of.d_model, of.n_heads, of.encoding, of.causal)
        self.load_state_dict(of.state_dict())
        encoding = copy.copy(of.encoding)
        kind, door = type(encoding), encoding.bias

        def bias(own, q, k, at):
            found = door(q, k, at)
            noise = torch.where(at.later, loudness * torch.randn(at.q_len, at.k_len), 0.0)
            return noise[None, None] if found is None else found + noise

        opened = property(lambda own: tuple({*kind.doors.fget(own), "bias"}))
        encoding.__class__ = type(kind.__name__, (kind,), {"bias": bias, "doors": opened})
        self.encoding = encoding


@pairwise(variant=[*VARIANTS, DYNAMIC], length=(9, BLOCK + 9), shuffled=(False, True))
def test_under_a_causal_mask_no_bias_on_later_keys_matters(variant, length, shuffled):
    plain = attention(variant).eval()
    loud, x = Loud(plain, 1e4), torch.randn(2, length, 16)
    row = torch.randperm(length) if shuffled else None
    for need_weights in (False, True):
        found = [one.attend(x, row, need_weights)[0] for one in (loud, plain)]
        assert gap(*found) <= 1e-5


class Steps(PositionalEncoding):
    """A bias by offset: a penalty before the query, and any number after it."""

    ahead = 0.0

    def bias_by_offset(self, offsets):
        bias = torch.where(offsets > 0, self.ahead, -offsets.abs().float())
        return bias.expand(self.n_heads, -1)


def check_later_keys_are_hidden(length, positions=None):
    module = MultiHeadAttention(16, 2, steps := Steps(16, 2), causal=True)
    x, found = torch.randn(2, length, 16), []
    for steps.ahead in (0.0, 1e4, -1e4):
        cache = KVCache()
        pieces = (
            []
            if positions is not None
            else [module(piece, cache=cache)[0] for piece in x.split([length - 2, 1, 1], dim=1)]
        )
        found.append(torch.cat([module(x, positions)[0], *pieces], dim=1))
    assert gap(found[1], found[0]) <= 1e-6
    assert gap(found[2], found[0]) <= 1e-6


@pytest.mark.parametrize("length", [6, BLOCK, BLOCK + 1, 3 * BLOCK + 7])
def test_a_bias_by_offset_hides_later_keys_whatever_it_says_of_them(length):
    check_later_keys_are_hidden(length)
    check_later_keys_are_hidden(length, torch.randperm(length))


def test_a_leak_in_a_block_is_found(monkeypatch):
    def leaky(bias, at):  # lets the first later key through
        return bias.masked_fill(at.diagonal_offsets > 1, -torch.inf)

    monkeypatch.setattr(blocks, "mask_later", leaky)
    with pytest.raises(AssertionError):
        check_later_keys_are_hidden(BLOCK + 1)


@pytest.mark.parametrize("length", [6, BLOCK + 1])
def test_a_bias_that_is_taken_for_a_masked_one_is_found(length, monkeypatch):
    monkeypatch.setattr(blocks, "mask_later", lambda bias, at: bias)
    with pytest.raises(AssertionError):
        check_later_keys_are_hidden(length)


def test_a_mask_by_place_in_the_row_is_found_where_positions_are_shuffled(monkeypatch):
    by_place = property(lambda at: torch.ones(at.q_len, at.k_len).triu(1) > 0)
    monkeypatch.setattr(Places, "later", by_place)
    with pytest.raises(AssertionError):
        check_later_keys_are_hidden(BLOCK + 1, torch.randperm(BLOCK + 1))


def row_of(offset, reach):
    return max(-reach, min(reach, offset)) + reach


def t5_entry(e, q, k, i, j, h):
    half = e.n_buckets // 2
    exact, distance = half // 2, abs(j - i)
    if distance >= exact:
        far = math.log(distance / exact) / math.log(e.max_distance / exact) * (half - exact)
        distance = min(exact + int(far), half - 1)
    return e.table[distance + (half if j > i else 0), h]


def deberta_entry(e, q, k, i, j, h):
    def row(i, j):
        return min(max(i - j + e.max_distance, 0), 2 * e.max_distance - 1)

    own = slice(h * e.d_head, (h + 1) * e.d_head)
    here, there = row(i, j), row(i, j) if e.released_code else row(j, i)
    asked, asking = (e.W_kr.weight @ e.table[here])[own], (e.W_qr.weight @ e.table[there])[own]
    return (q @ asked + k @ asking) / (3 * e.d_head) ** 0.5


def transformer_xl_entry(e, q, k, i, j, h):
    angles = [(i - j) / 10000 ** (2 * m / e.d_model) for m in range(e.d_model // 2)]
    waves = [wave(angle) for angle in angles for wave in (math.sin, math.cos)]
    own = slice(h * e.d_head, (h + 1) * e.d_head)
    asked = (e.W_r.weight @ torch.tensor(waves, dtype=q.dtype))[own]
    return (e.u[h] @ k + (q + e.v[h]) @ asked) / e.d_head**0.5


def kerple_entry(e, q, k, i, j, h):
    r1, r2, distance = e.r1[h], e.r2[h], abs(j - i)
    return -r1 * ((1 + r2 * distance).log() if e.kind == "log" else distance**r2)


def fire_entry(e, q, k, i, j, h):
    c, least = e.log_c.exp(), e.log_threshold.exp()
    share = (c * abs(j - i) + 1).log() / (c * least.clamp(min=i) + 1).log()
    return e.outer.weight[h] @ (e.inner.weight[:, 0] * share + e.inner.bias).relu()


def sandwich_entry(e, q, k, i, j, h):
    waves = [math.cos((j - i) / 10000 ** (2 * m / e.d_bar)) - 1 for m in range(e.d_bar // 2)]
    return e.n_heads / (8 * (h + 1)) * sum(waves)


FORMULAS = {
    "alibi": lambda e, q, k, i, j, h: -abs(j - i) * 2 ** (-8 * (h + 1) / e.n_heads),
    "kerple": kerple_entry,
    "fire": fire_entry,
    "sandwich": sandwich_entry,
    "t5": t5_entry,
    "shaw": lambda e, q, k, i, j, h: q @ e.key_table[row_of(j - i, e.max_distance)] / e.d_head**0.5,
    "deberta": deberta_entry,
    "transformer_xl": transformer_xl_entry,
}


def check_bias_is_the_formulas(variant):
    """At earlier and later keys: as a whole, in blocks, and with keys in any order."""
    encoding, length = attention(variant, causal=False).encoding.double(), 23
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
        q, k = torch.randn(2, 1, 2, length, 8, dtype=torch.float64)
        where = "write the bias of one query and key in FORMULAS, in Python's own numbers"
        assert variant[0] in FORMULAS, f"{variant[0]} opens door 3: {where}"
        entry = FORMULAS[variant[0]]
        formula = torch.empty(1, 2, length, length, dtype=torch.float64)
        for h, i, j in itertools.product(range(2), range(length), range(length)):
            formula[0, h, i, j] = entry(encoding, q[0, h, i], k[0, h, j], i, j, h)
        at, order = Places(torch.arange(length)), torch.randperm(length)
        whole = encoding.bias(q, k, at)
        torch.testing.assert_close(whole.expand(1, 2, -1, -1), formula, rtol=0, atol=1e-5)
        exact: dict[str, Any] = {"rtol": 0, "atol": 1e-10}
        shuffled = encoding.bias(q, k[:, :, order], Places(at.q, order))
        torch.testing.assert_close(shuffled, whole[..., order], **exact)
        shuffled = encoding.bias(q[:, :, order], k, Places(order, at.k))
        torch.testing.assert_close(shuffled, whole[:, :, order], **exact)
        for causal in (False, True):
            for rows, block in at.blocks(7, causal):
                bias = encoding.bias(q[:, :, rows], k[:, :, : block.k_len], block)
                expected = whole[:, :, rows, : block.k_len]
                torch.testing.assert_close(bias, expected, **exact)


BOTH_WAYS = [one for one in VARIANTS if "bias" in create(one[0], d_model=16, n_heads=2).doors]
BOTH_WAYS = [one for one in BOTH_WAYS if not create(one[0], d_model=16, n_heads=2).causal]


@pytest.mark.parametrize("variant", BOTH_WAYS, ids=label)
def test_without_a_mask_the_bias_on_later_keys_is_the_formulas(variant):
    check_bias_is_the_formulas(variant)


def mirrored(found, at):
    """What stands at −|offset| of the same query, where there is such a key."""
    places_of = {int(j): place for place, j in enumerate(at.k)}
    columns = [
        [places_of.get(int(i) - abs(int(j) - int(i)), p) for p, j in enumerate(at.k)] for i in at.q
    ]
    return found.gather(-1, torch.tensor(columns).expand(found.shape))


@pytest.mark.parametrize("name", ["t5", "shaw", "deberta", "transformer_xl"])
@pytest.mark.parametrize(
    "spoilt",
    [lambda found, at: found.masked_fill(at.later, 0), mirrored],
    ids=["dropped", "mirrored"],
)
def test_a_bias_on_later_keys_that_is_dropped_or_mirrored_is_found(name, spoilt, monkeypatch):
    kind = type(create(name, d_model=16, n_heads=2))

    def bias(self, q, k, at):
        return spoilt(kind.bias(self, q, k, at), at)

    monkeypatch.setitem(encodings._SCHEMES, name, type("Spoilt", (kind,), {"bias": bias}))
    with pytest.raises(AssertionError):
        check_bias_is_the_formulas((name, {}))


def check_blocks_without_a_mask(variant, monkeypatch):
    read, ids = Reader(variant, causal=False), sentence(1, 40)
    with torch.no_grad():
        for parameter in read.attention.encoding.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
        whole, explicit = read(ids)[0], read(ids, need_weights=True)[0]
        monkeypatch.setattr("course_utils.attention.blocks.BLOCK", 7)
        assert gap(explicit, whole) <= 1e-5
        assert gap(read(ids)[0], whole) <= 1e-5
        order = torch.randperm(40)
        assert gap(read(ids[:, order], order)[0], whole[:, order]) <= 1e-5


@variants(DYNAMIC)
def test_attention_that_looks_both_ways_is_the_same_in_blocks(variant, monkeypatch):
    check_blocks_without_a_mask(variant, monkeypatch)


@pytest.mark.parametrize("spoilt", ["dropped", "hidden"])
def test_blocks_that_lose_the_bias_on_later_keys_are_found(spoilt, monkeypatch):
    real = Places.by_offset
    value = {"dropped": 0.0, "hidden": -torch.inf}[spoilt]

    def spoil(at, function):
        bias = real(at, function)
        return bias if at._parent is at else bias.masked_fill(at.later, value)

    monkeypatch.setattr(Places, "by_offset", spoil)
    with pytest.raises(AssertionError):
        check_blocks_without_a_mask(("alibi", {}), monkeypatch)
