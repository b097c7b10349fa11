"""What holds for every encoding and option: reading piece by piece, order, causality, batches."""

import copy
from typing import Any

import pytest
import torch
from bias_formulas import FORMULAS, bias_by_formula
from closeness import gap
from hypothesis import example, given
from hypothesis import strategies as st
from pairwise import each_once, pairwise
from variants import (
    DYNAMIC,
    SAME_AT_ANY_LENGTH,
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


@pytest.mark.parametrize("variant", SAME_AT_ANY_LENGTH, ids=label)
@few_examples
@example(seed=0, pieces=[100, 60, 1, 139])  # past a block
@given(seed=seeds, pieces=st.lists(st.integers(1, 6), min_size=1, max_size=6))
def test_reading_piece_by_piece_with_a_cache_equals_reading_at_once(variant, seed, pieces):
    torch.manual_seed(seed)
    model, ids = tiny(variant), sentence(2, sum(pieces))
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
        assert gap(torch.cat(parts, dim=1), model(ids)) <= 1e-5
    assert {len(layer) for layer in cache} == {sum(pieces)}


@variants()
def test_decoding_token_by_token_past_a_block_equals_the_full_pass(variant):
    read, ids = Reader(variant), sentence(1, BLOCK + 5)
    with torch.no_grad():
        cache, outs, row = KVCache(), [], torch.arange(BLOCK + 5)
        for start in [0, *range(BLOCK - 3, BLOCK + 5)]:
            stop = BLOCK - 3 if start == 0 else start + 1
            outs.append(read(ids[:, start:stop], row[start:stop], cache=cache)[0])
        assert gap(torch.cat(outs, dim=1), read(ids)[0]) <= 1e-5


@each_once(variant=[*SAME_AT_ANY_LENGTH, DYNAMIC], capacity=(None, 9))
def test_inference_mode_reads_with_a_cache_as_any_other(variant, capacity):
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

        def bias(self, q, k, at):
            quiet = door(q, k, at)
            noise = torch.where(at.later, loudness * torch.randn(at.q_len, at.k_len), 0.0)
            return noise[None, None] if quiet is None else quiet + noise

        opened = property(lambda self: tuple({*kind.doors.fget(self), "bias"}))
        encoding.__class__ = type(kind.__name__, (kind,), {"bias": bias, "doors": opened})
        self.encoding = encoding


@pairwise(variant=[*VARIANTS, DYNAMIC], length=(9, BLOCK + 9), shuffled=(False, True))
def test_under_a_causal_mask_no_bias_on_later_keys_matters(variant, length, shuffled):
    plain = attention(variant).eval()
    loud, x = Loud(plain, 1e4), torch.randn(2, length, 16)
    row = torch.randperm(length) if shuffled else None
    for need_weights in (False, True):
        outputs = [module.attend(x, row, need_weights)[0] for module in (loud, plain)]
        assert gap(*outputs) <= 1e-5


class Steps(PositionalEncoding):
    """A bias by offset: a penalty before the query, and any number after it."""

    ahead = 0.0

    def bias_by_offset(self, offsets):
        bias = torch.where(offsets > 0, self.ahead, -offsets.abs().float())
        return bias.expand(self.n_heads, -1)


def check_later_keys_are_hidden(length, positions=None):
    module = MultiHeadAttention(16, 2, steps := Steps(16, 2), causal=True)
    x, outputs = torch.randn(2, length, 16), []
    for steps.ahead in (0.0, 1e4, -1e4):
        cache = KVCache()
        pieces = (
            []
            if positions is not None
            else [module(piece, cache=cache)[0] for piece in x.split([length - 2, 1, 1], dim=1)]
        )
        outputs.append(torch.cat([module(x, positions)[0], *pieces], dim=1))
    assert gap(outputs[1], outputs[0]) <= 1e-6
    assert gap(outputs[2], outputs[0]) <= 1e-6


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
def test_a_bias_that_is_not_masked_is_found(length, monkeypatch):
    monkeypatch.setattr(blocks, "mask_later", lambda bias, at: bias)
    with pytest.raises(AssertionError):
        check_later_keys_are_hidden(length)


def test_a_mask_by_place_in_the_row_is_found_where_positions_are_shuffled(monkeypatch):
    by_place = property(lambda at: torch.ones(at.q_len, at.k_len).triu(1) > 0)
    monkeypatch.setattr(Places, "later", by_place)
    with pytest.raises(AssertionError):
        check_later_keys_are_hidden(BLOCK + 1, torch.randperm(BLOCK + 1))


def check_bias_is_the_formulas(variant):
    """At earlier and later keys: as a whole, in blocks, and with keys in any order."""
    encoding, length = attention(variant, causal=False).encoding.double(), 23
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.add_(torch.randn_like(parameter) / 3)
        q, k = torch.randn(2, 1, 2, length, 8, dtype=torch.float64)
        where = "write the bias of one query and key in tests/bias_formulas.py"
        assert variant[0] in FORMULAS, f"{variant[0]} opens door 3: {where}"
        at, order = Places(torch.arange(length)), torch.randperm(length)
        formula = bias_by_formula(variant[0], encoding, q, k, at.q, at.k)
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


def has_a_bias_both_ways(variant):
    encoding = create(variant[0], d_model=16, n_heads=2)
    return "bias" in encoding.doors and not encoding.causal


BOTH_WAYS = [variant for variant in VARIANTS if has_a_bias_both_ways(variant)]


@pytest.mark.parametrize("variant", BOTH_WAYS, ids=label)
def test_without_a_mask_the_bias_on_later_keys_is_the_formulas(variant):
    check_bias_is_the_formulas(variant)


def mirrored(bias, at):
    """What stands at −|offset| of the same query, where there is such a key."""
    places_of = {int(j): place for place, j in enumerate(at.k)}
    columns = [
        [places_of.get(int(i) - abs(int(j) - int(i)), p) for p, j in enumerate(at.k)] for i in at.q
    ]
    return bias.gather(-1, torch.tensor(columns).expand(bias.shape))


@pytest.mark.parametrize("name", ["t5", "shaw", "deberta", "transformer_xl"])
@pytest.mark.parametrize(
    "spoilt",
    [lambda bias, at: bias.masked_fill(at.later, 0), mirrored],
    ids=["dropped", "mirrored"],
)
def test_a_bias_on_later_keys_that_is_dropped_or_mirrored_is_found(name, spoilt, monkeypatch):
    kind = type(create(name, d_model=16, n_heads=2))

    def bias(self, q, k, at):
        return spoilt(kind.bias(self, q, k, at), at)

    monkeypatch.setitem(encodings._SCHEMES, name, type("Spoilt", (kind,), {"bias": bias}))
    with pytest.raises(AssertionError):
        check_bias_is_the_formulas((name, {}))


def check_blocks(variant, causal, monkeypatch):
    read, ids = Reader(variant, causal), sentence(1, 40)
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
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "full"])
def test_attention_is_the_same_in_blocks(variant, causal, monkeypatch):
    check_blocks(variant, causal, monkeypatch)


@pytest.mark.parametrize("spoilt", ["dropped", "hidden"])
def test_blocks_that_lose_the_bias_on_later_keys_are_found(spoilt, monkeypatch):
    real = Places.by_offset
    value = {"dropped": 0.0, "hidden": -torch.inf}[spoilt]

    def spoil(at, function):
        bias = real(at, function)
        return bias if at._parent is at else bias.masked_fill(at.later, value)

    monkeypatch.setattr(Places, "by_offset", spoil)
    with pytest.raises(AssertionError):
        check_blocks(("alibi", {}), False, monkeypatch)
