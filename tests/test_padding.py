"""Batches of unequal texts: each gets what it gets alone, in one pass and step by step."""

import functools

import pytest
import torch
from pairwise import each_once, pairwise
from variants import CAUSAL_ONLY, DYNAMIC, SAME_AT_ANY_LENGTH, VARIANTS, VOCABULARY, attention

from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import FixedCache, KVCache, places_of
from course_utils.encodings import NAMES, Places, PositionalEncoding, create
from course_utils.models import TinyTransformer

LENGTHS, STEPS = (3, 9, 1, 6), 10
WIDTH = max(LENGTHS)
SIZES = {"d_model": 16, "n_layers": 2, "n_heads": 2}
tolerance = 1e-5


@functools.cache
def model_of(name, options=(), causal=True):
    torch.manual_seed(0)
    model = TinyTransformer(VOCABULARY, name, max_len=400, causal=causal, **SIZES, **dict(options))
    for parameter in model.parameters():  # so that tables that start at 0.02 weigh something
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


@functools.cache
def texts(more=0):
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(VOCABULARY, (1, n + more + STEPS), generator=generator) for n in LENGTHS]


def padded(more=0, side="left"):
    """The texts' beginnings as one batch, (4, WIDTH + more), and which tokens are no padding."""
    tokens = torch.full((len(LENGTHS), WIDTH + more), 7)
    seen = torch.zeros_like(tokens, dtype=torch.bool)
    for row, (text, n) in enumerate(zip(texts(more), LENGTHS, strict=True)):
        words = slice(-(n + more), None) if side == "left" else slice(0, n + more)
        tokens[row, words], seen[row, words] = text[0, : n + more], True
    return tokens, seen


TOKENS, SEEN = padded()


def gap(batch, seen, alone):
    """The largest difference of a batch from each text alone, padding apart."""
    gaps = []
    for row, mask, text in zip(batch, seen, alone, strict=True):
        words = row[mask]
        gaps.append((words - text[0, : len(words)]).abs().max())
    return float(torch.stack(gaps).max())


def read_alone(model):
    return [model(text[:, :n]) for text, n in zip(texts(), LENGTHS, strict=True)]


def shape_of(cache):
    assert cache.keys is not None
    return cache.keys.shape


def logits(out):
    return out[0] if isinstance(out, tuple) else out


@each_once(variant=[*VARIANTS, DYNAMIC], need_weights=(False, True))
@torch.no_grad()
def test_a_left_padded_batch_gets_what_each_text_gets_alone(variant, need_weights):
    model = model_of(variant[0], tuple(variant[1].items()))
    out = model(TOKENS, attention_mask=SEEN, need_weights=need_weights)
    assert logits(out).isfinite().all()
    assert gap(logits(out), SEEN, read_alone(model)) <= tolerance


@each_once(
    variant=SAME_AT_ANY_LENGTH,
    need_weights=(False, True),
    side=("left", "right"),
    capacity=(None, WIDTH + STEPS),
)
@torch.no_grad()
def test_ten_cached_steps_after_padding_get_what_each_text_gets_alone(
    variant, need_weights, side, capacity
):
    model = model_of(variant[0], tuple(variant[1].items()))
    tokens, seen = padded(side=side)
    alone, cache = [model(text) for text in texts()], model.new_cache(capacity)
    model(tokens, cache=cache, attention_mask=seen)
    for step in range(STEPS):
        places = [n + step for n in LENGTHS]
        new = torch.cat([text[:, at : at + 1] for text, at in zip(texts(), places, strict=True)])
        # What was hidden stays hidden, whether it is said again or not.
        again = torch.cat([seen, seen.new_ones(4, step + 1)], 1) if step % 2 else None
        mask = again if capacity is None else None
        out = model(new, cache=cache, need_weights=need_weights, attention_mask=mask)
        for row, at in enumerate(places):
            assert (logits(out)[row, 0] - alone[row][0, at]).abs().max() <= tolerance


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_long_padded_texts_are_right_in_blocks_too(name):
    model, more = model_of(name), 140
    tokens, seen = padded(more)
    alone = [model(text) for text in texts(more)]
    assert gap(model(tokens, attention_mask=seen), seen, alone) <= 2 * tolerance


@each_once(variant=[*VARIANTS, DYNAMIC], side=("left", "right"))
@torch.no_grad()
def test_positions_may_be_given_for_each_text(variant, side):
    """As other libraries hand them over: padding has any position, here 1."""
    model = model_of(variant[0], tuple(variant[1].items()))
    tokens, seen = padded(side=side)
    rows = (seen.cumsum(-1) - 1).masked_fill(~seen, 1)
    out = model(tokens, rows, attention_mask=seen)
    assert gap(out, seen, read_alone(model)) <= tolerance


@pytest.mark.parametrize("name", ["learned", "rope", "alibi"])
@torch.no_grad()
def test_a_padded_batch_may_be_read_piece_by_piece(name):
    """The first piece holds nothing but padding of the shorter texts."""
    model = model_of(name)
    cache = model.new_cache()
    pieces = [
        model(TOKENS[:, first:end], cache=cache, attention_mask=SEEN[:, :end])
        for first, end in ((0, 4), (4, WIDTH))
    ]
    assert gap(torch.cat(pieces, dim=1), SEEN, read_alone(model)) <= tolerance


@pytest.mark.parametrize("capacity", [None, WIDTH + 1], ids=["growing", "fixed"])
@torch.no_grad()
def test_positions_count_on_from_words_whatever_padding_has(capacity):
    model = model_of("learned")
    cache = model.new_cache(capacity)
    rows = (SEEN.cumsum(-1) - 1).masked_fill(~SEEN, 50)
    model(TOKENS, rows, attention_mask=SEEN, cache=cache)
    new = torch.cat([text[:, n : n + 1] for text, n in zip(texts(), LENGTHS, strict=True)])
    out = model(new, cache=cache)[:, 0]
    alone = [model(text)[0, n] for text, n in zip(texts(), LENGTHS, strict=True)]
    assert (out - torch.stack(alone)).abs().max() <= tolerance


@each_once(name=[name for name in NAMES if name not in CAUSAL_ONLY], side=("left", "right"))
@torch.no_grad()
def test_an_encoder_does_not_see_padding_either(name, side):
    model = model_of(name, causal=False)
    tokens, seen = padded(side=side)
    assert gap(model(tokens, attention_mask=seen), seen, read_alone(model)) <= tolerance


@torch.no_grad()
def test_without_a_mask_padding_changes_the_logits():
    model = model_of("rope")
    assert gap(model(TOKENS), SEEN, read_alone(model)) > 0.01


@torch.no_grad()
def test_gaps_inside_a_text_count_for_nothing():
    tokens, seen = texts()[1][:, :9], torch.ones(1, 9, dtype=torch.bool)
    seen[0, [0, 3, 4, 7]] = False
    for name in ("learned", "rope", "alibi", "cope"):
        out = model_of(name)(tokens, attention_mask=seen)[:, seen[0]]
        assert (out - model_of(name)(tokens[:, seen[0]])).abs().max() <= tolerance


@pairwise(name=NAMES, n=(6, 200), need_weights=(False, True))
def test_a_text_of_padding_alone_gives_no_nan_nor_do_its_gradients(name, need_weights, n):
    model = model_of(name)
    tokens, seen = torch.zeros(2, n, dtype=torch.long), torch.ones(2, n, dtype=torch.bool)
    seen[0] = False
    seen[1, : n // 2] = False
    out = model(tokens, attention_mask=seen, need_weights=need_weights)
    assert logits(out).isfinite().all()
    grads = torch.autograd.grad(
        logits(out)[1, -1].sum(), list(model.parameters()), allow_unused=True
    )
    assert all(grad.isfinite().all() for grad in grads if grad is not None)
    if need_weights:
        for weights in out[1]:
            assert (weights[0] == 0).all()
            assert (weights[1, :, :, : n // 2] == 0).all()


class Leaning(PositionalEncoding):
    """A bias by offset, and something added to what is summed."""

    def bias(self, q, k, at):
        return at.by_offset(lambda offsets: offsets.float()[None] / 10)

    def values(self, weights, at):
        return weights.sum(-1, keepdim=True).expand(-1, -1, -1, self.d_head)


@torch.no_grad()
def test_blocks_of_padding_give_no_nan_where_a_bias_hides_later_keys():
    layer = MultiHeadAttention(16, 2, Leaning(16, 2), causal=True)
    x, seen = torch.randn(1, 200, 16), torch.ones(1, 200, dtype=torch.bool)
    seen[0, :150] = False
    out = layer(x, attention_mask=seen)[0]
    assert (out[:, :150] == 0).all()
    assert (out[:, 150:] - layer(x[:, 150:])[0]).abs().max() <= tolerance


@torch.no_grad()
def test_a_mask_that_hides_nothing_changes_nothing():
    tokens = texts()[1]
    for name in NAMES:
        model, seen = model_of(name), torch.ones_like(tokens, dtype=torch.bool)
        assert torch.equal(model(tokens), model(tokens, attention_mask=seen))


@torch.no_grad()
def test_queries_that_see_nothing_but_padding_are_counted_by_no_log_n():
    layer = MultiHeadAttention(16, 2, causal=True, log_n=2)
    x, seen = torch.randn(1, 5, 16), torch.tensor([[False, False, True, True, True]])
    out = layer(x, attention_mask=seen)[0]
    assert (out[:, 2:] - layer(x[:, 2:])[0]).abs().max() <= tolerance
    assert (out[:, :2] == 0).all()


def test_after_padding_a_mask_has_to_cover_the_cache_too_and_the_batch_stays_the_same():
    model = model_of("rope")
    cache = model.new_cache()
    model(TOKENS, cache=cache, attention_mask=SEEN)
    with pytest.raises(ValueError, match=r"9 of the cache and 1 new.*got \(4, 1\)"):
        model(TOKENS[:, :1], cache=cache, attention_mask=SEEN[:, :1])
    with pytest.raises(ValueError, match="cache must be used with the same batch size, 4, got 1"):
        model(TOKENS[:1, :1], cache=cache)


@pytest.mark.parametrize("capacity", [None, 40], ids=["growing", "fixed"])
@torch.no_grad()
def test_rows_of_a_cache_can_be_chosen_and_doubled(capacity):
    model = model_of("alibi")
    cache = model.new_cache(capacity)
    model(TOKENS, cache=cache, attention_mask=SEEN)
    chosen = [1, 3, 3]
    for block_cache in cache:
        block_cache.select(chosen)
    new = torch.tensor([[2], [2], [5]])
    out = model(new, cache=cache)[:, 0]
    for row, which in enumerate(chosen):
        alone = torch.cat([texts()[which][:, : LENGTHS[which]], new[row, None]], dim=1)
        assert (out[row] - model(alone)[0, -1]).abs().max() <= tolerance


@pytest.mark.usefixtures("plain_arguments")
@pytest.mark.parametrize("rows", [[], [4], [-1], torch.tensor([0.5]), torch.tensor(1)])
def test_rows_that_are_not_there_are_named(rows):
    cache = KVCache()
    with pytest.raises(ValueError, match=r"rows.*empty"):
        cache.select(rows)
    attention(("none", {}))(torch.randn(4, 3, 16), cache=cache)
    with pytest.raises(ValueError, match="rows"):
        cache.select(rows)
    assert shape_of(cache)[0] == 4


@pytest.mark.parametrize("capacity", [None, 8], ids=["growing", "fixed"])
@pytest.mark.parametrize("name", ["rope", "alibi", "none", "cope"])
@torch.no_grad()
def test_a_cache_may_keep_the_last_tokens_only(capacity, name):
    """As in a sliding window: what is forgotten is not seen, and positions count on."""
    layer = attention((name, {}))
    x, n = torch.randn(2, 8, 16), 3
    cache = KVCache() if capacity is None else FixedCache(capacity)
    for at in range(8):
        out = layer(x[:, at : at + 1], cache=cache)[0]
        cache.keep_last(n - 1)
        assert len(cache) == min(at + 1, n - 1)
        first = max(0, at - n + 1)
        row = torch.arange(first, at + 1)
        expected = layer(x[:, first : at + 1], row)[0][:, -1:]
        assert (out - expected).abs().max() <= tolerance


@pytest.mark.parametrize("capacity", [None, 9], ids=["growing", "fixed"])
@pytest.mark.parametrize("name", ["rope", "alibi", "none", "t5"])
@torch.no_grad()
def test_a_cache_may_keep_the_first_tokens_beside_the_last(capacity, name):
    """Each stays at its position, as in the same tokens read at once."""
    layer = attention((name, {}))
    x, first, last = torch.randn(2, 9, 16), 2, 3
    cache = KVCache() if capacity is None else FixedCache(capacity)
    for at in range(9):
        out = layer(x[:, at : at + 1], cache=cache)[0]
        row = torch.arange(at + 1)
        row = row[(row < first) | (row >= at - last)]
        expected = layer(x[:, row], row)[0][:, -1:]
        assert (out - expected).abs().max() <= tolerance
        cache.keep_last(last, first=first)
        assert len(cache) == min(at + 1, first + last)


@torch.no_grad()
def test_a_cache_of_fixed_capacity_refuses_what_it_has_no_room_for_and_stays_as_it_was():
    layer, cache = attention(("rope", {})), FixedCache(4)
    x = torch.randn(1, 5, 16)
    with pytest.raises(ValueError, match=r"room for 0 \+ 5 tokens, got 4"):
        layer(x, cache=cache)
    layer(x[:, :3], cache=cache)
    with pytest.raises(ValueError, match=r"room for 3 \+ 2 tokens, got 4"):
        layer(x[:, 3:], cache=cache)
    assert len(cache) == 3
    assert (layer(x[:, 3:4], cache=cache)[0] - layer(x[:, :4])[0][:, -1:]).abs().max() <= tolerance
    other = FixedCache(4)
    layer(x[:, :1], cache=other)
    with pytest.raises(ValueError, match=r"attention_mask.*first tokens"):
        layer(x[:, 4:], cache=other, attention_mask=torch.ones(1, 2) > 0)


@torch.no_grad()
def test_the_tensors_of_a_fixed_cache_stay_where_they_are():
    layer, cache = attention(("rope", {})), FixedCache(6)
    x = torch.randn(2, 6, 16)
    layer(x[:, :2], cache=cache)
    held = (id(cache.keys), id(cache.values), shape_of(cache))
    for at in range(2, 6):
        layer(x[:, at : at + 1], cache=cache)
    assert held == (id(cache.keys), id(cache.values), shape_of(cache))


@torch.no_grad()
def test_keys_that_turn_by_themselves_turn_once(monkeypatch):
    """RoPE turns the new key alone; under dynamic NTK all keys turn again at every step."""
    from course_utils.encodings import rope

    lengths = []
    real = rope.rotate_pairs

    def counted(x, *given):
        lengths.append(x.shape[2])
        return real(x, *given)

    monkeypatch.setattr(rope, "rotate_pairs", counted)
    for variant, expected in ((("rope", {}), [1, 1]), (DYNAMIC, [1, 6])):
        layer, cache = attention(variant), KVCache()
        layer(torch.randn(1, 5, 16), cache=cache)
        lengths.clear()
        layer(torch.randn(1, 1, 16), cache=cache)
        assert lengths == expected


@pairwise(variant=VARIANTS, n=(7, 150), need_weights=(False, True))
@torch.no_grad()
def test_grouped_queries_are_queries_whose_keys_and_values_are_repeated(variant, need_weights, n):
    name, options = variant
    width, heads, groups = 32, 4, 2
    encoding = create(name, d_model=width, n_heads=heads, causal=True, **options)
    few = MultiHeadAttention(width, heads, encoding, causal=True, n_kv_heads=groups)
    many = MultiHeadAttention(width, heads, encoding, causal=True)
    for name in ("W_k", "W_v"):
        rows = getattr(few, name).weight.unflatten(0, (groups, -1)).repeat_interleave(2, 0)
        getattr(many, name).weight.copy_(rows.flatten(0, 1))
    for name in ("W_q", "W_o"):
        getattr(many, name).weight.copy_(getattr(few, name).weight)
    x = torch.randn(2, n, width)
    tokens = torch.zeros(2, n, dtype=torch.long)
    out, weights = few(x, need_weights=need_weights, tokens=tokens)
    expected, expected_weights = many(x, need_weights=need_weights, tokens=tokens)
    assert (out - expected).abs().max() <= tolerance
    if need_weights:
        assert (weights - expected_weights).abs().max() <= tolerance
    cache = KVCache()
    steps = [
        few(part, cache=cache, tokens=tokens[:, : part.shape[1]])[0] for part in x.split(n - 1, 1)
    ]
    assert (torch.cat(steps, 1) - expected).abs().max() <= tolerance
    assert shape_of(cache)[1] == groups


def test_hooks_see_every_attention_and_its_weights():
    model, met = model_of("rope"), []
    handles = [
        block.attention.register_forward_hook(lambda module, given, out: met.append(out[1].shape))
        for block in model.blocks
    ]
    model(texts()[1], need_weights=True)
    for handle in handles:
        handle.remove()
    n = texts()[1].shape[1]
    assert met == [(1, 2, n, n)] * 2


def test_a_hook_may_change_what_attention_gives():
    model = model_of("rope")
    handle = model.blocks[0].attention.register_forward_hook(lambda *given: (given[2][0] * 0, None))
    without = model(texts()[1])
    handle.remove()
    assert (without - model(texts()[1])).abs().max() > 0.01


@pytest.mark.parametrize("rows", [(2, 3), (3, 5)])
def test_places_refuse_a_mask_that_fits_no_keys(rows):
    with pytest.raises(ValueError, match="visible"):
        Places(torch.arange(4).expand(2, 4), visible=torch.ones(rows, dtype=torch.bool))


def test_places_know_their_padding():
    seen = torch.tensor([[False, True, True], [True, True, False]])
    at = Places(torch.arange(3), visible=seen)
    assert at.embedding_positions.tolist() == [[0, 1, 2], [0, 1, 0]]
    assert at.length.tolist() == [[3], [2]]
    assert at.padding is not None
    assert torch.equal(at.padding[:, 0, 0], ~seen)
    assert Places(torch.arange(3.0), visible=seen).whole().visible is seen
    for text, mask in enumerate(seen):
        for i, row in enumerate(at.hidden[text, 0]):
            assert row.tolist() == [j > i or not mask[j] for j in range(3)]


@pytest.mark.parametrize("capacity", [None, 9], ids=["growing", "fixed"])
def test_padding_on_the_left_leaves_positions_consecutive(capacity):
    """So a bias by offset is looked up once for each offset, as without padding."""
    cache = KVCache() if capacity is None else FixedCache(capacity)
    tokens, seen = padded()
    at = places_of(tokens, None, cache, seen)
    assert at.consecutive
    assert at.ascending
    tokens, seen = padded(side="right")
    assert not places_of(tokens, attention_mask=seen).consecutive
