"""What holds for every encoding and option: reading piece by piece, order, causality, batches."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from variants import DYNAMIC, VOCABULARY, Reader, attention, gap, sentence, tiny, variants

from course_utils.attention import BLOCK, MultiHeadAttention
from course_utils.encodings import Places
from course_utils.kv_cache import KVCache

seeds = st.integers(0, 2**16)

# Reading a text piece by piece


@variants()
@settings(max_examples=6)
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


@variants(DYNAMIC)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "full"])
@settings(max_examples=8)
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
@settings(max_examples=8)
@given(seed=seeds, changed=st.integers(1, 8))
def test_a_later_token_never_changes_an_earlier_output(variant, seed, changed):
    torch.manual_seed(seed)
    model, ids = tiny(variant), sentence()
    other = ids.clone()
    other[:, changed:] = (ids[:, changed:] + 3) % VOCABULARY
    assert gap(model(ids)[:, :changed], model(other)[:, :changed]) <= 1e-5
    assert gap(model(ids)[:, changed:], model(other)[:, changed:]) > 1e-4


@variants(DYNAMIC)
@pytest.mark.parametrize("causal", [True, False], ids=["causal", "full"])
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


@variants()
def test_a_bias_keeps_float32_under_autocast(variant):
    """In bfloat16 the bias of FIRE and Transformer-XL would be off by half a percent."""
    module = attention(variant)
    if variant[0] not in ("alibi", "t5", "kerple", "fire", "sandwich", "transformer_xl"):
        pytest.skip("has no bias of float32")
    found = []
    bias = module.encoding.bias

    def recorded(*given):
        found.append(bias(*given))
        return found[-1]

    module.encoding.bias = recorded
    x = torch.randn(1, 40, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        module(x)
    q = torch.zeros(1, 2, 40, 8)
    row = torch.arange(40)
    assert found[0].dtype == torch.float32
    if variant[0] != "transformer_xl":
        assert torch.equal(found[0], bias(q, q, Places(row)))
