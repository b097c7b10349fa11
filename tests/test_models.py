"""TinyTransformer: what comes out, what it may see, and which encoding each layer gets."""

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from course_utils.encodings import Places, PositionalEncoding, create
from course_utils.models import TinyTransformer, from_file

VOCABULARY = 11


def tiny(encoding="sinusoidal", **options):
    options = {"d_model": 16, "n_layers": 2, "n_heads": 2, "max_len": 32} | options
    return TinyTransformer(VOCABULARY, encoding, **options).eval()


def tokens(batch=2, seq=6):
    return torch.randint(VOCABULARY, (batch, seq))


class Counting(PositionalEncoding):
    """Notes each time door 1 is passed, with what came through."""

    def __init__(self, d_model, n_heads, log):
        super().__init__(d_model, n_heads)
        self.log = log

    def embed(self, x, positions, tokens=None):
        self.log.append((self, x.detach().clone(), positions, tokens))
        return x + 1


@pytest.fixture
def counting(scheme):
    """Makes create() know "counting"; called with class attributes, returns the log."""

    def register(**attributes):
        log: list[tuple] = []
        kind = type("Counting", (Counting,), attributes)
        scheme("counting", lambda d_model, n_heads: kind(d_model, n_heads, log))
        return log

    return register


# test_every_encoding.py goes through all of them.
every_name = pytest.mark.parametrize("name", ["none", "sinusoidal", "rope", "shaw"])


@every_name
@given(batch=st.integers(1, 3), seq=st.integers(1, 12))
def test_there_is_one_logit_for_each_word_at_each_place(name, batch, seq):
    assert tiny(name)(tokens(batch, seq)).shape == (batch, seq, VOCABULARY)


def test_without_a_causal_mask_a_later_token_does_change_earlier_logits():
    model, ids = tiny(causal=False), tokens(1, 8)
    other = ids.clone()
    other[:, -1] = (ids[:, -1] + 3) % VOCABULARY
    assert gap(model(ids)[:, 0], model(other)[:, 0]) > 1e-4


@every_name
def test_no_positions_means_counting_from_zero(name):
    model, ids = tiny(name), tokens()
    assert gap(model(ids), model(ids, torch.arange(6))) <= 1e-5


def test_positions_reach_the_encoding():
    model, ids = tiny("sinusoidal"), tokens()
    assert gap(model(ids), model(ids, torch.arange(6) + 9)) > 1e-3


def test_positions_reach_the_causal_mask_of_every_layer():
    model, ids = tiny("none", n_layers=3), tokens(1, 6)
    order = torch.randperm(6)
    shuffled = model(ids[:, order], torch.arange(6)[order])
    assert gap(shuffled, model(ids)[:, order]) <= 1e-5


def test_a_bag_of_words_is_all_that_a_full_model_without_encoding_sees():
    model, ids = tiny("none", causal=False), tokens(1, 6)
    order = torch.randperm(6)
    assert gap(model(ids[:, order]), model(ids)[:, order]) <= 1e-5
    assert gap(tiny("sinusoidal", causal=False)(ids.flip(1)), model(ids).flip(1)) > 1e-3


@pytest.mark.parametrize("causal", [False, True])
def test_a_block_agrees_with_torchs_own_layer(causal):
    ours = tiny("none", causal=causal).blocks[0]
    theirs = nn.TransformerEncoderLayer(
        16, 2, 64, dropout=0, activation="gelu", batch_first=True, norm_first=True
    )
    attention = ours.attention
    with torch.no_grad():
        inward = torch.cat([attention.W_q.weight, attention.W_k.weight, attention.W_v.weight])
        theirs.self_attn.in_proj_weight.copy_(inward)
        theirs.self_attn.out_proj.weight.copy_(attention.W_o.weight)
        for theirs_part, ours_part in (
            (theirs.norm1, ours.attention_norm),
            (theirs.norm2, ours.mlp_norm),
            (theirs.linear1, ours.mlp[0]),
            (theirs.linear2, ours.mlp[2]),
        ):
            theirs_part.load_state_dict(ours_part.state_dict())
    x = torch.randn(2, 6, 16)
    mask = torch.ones(6, 6, dtype=torch.bool).triu(1) if causal else None
    assert gap(ours(x, Places(torch.arange(6)))[0], theirs(x, src_mask=mask)) <= 1e-5


def test_embeddings_are_about_as_large_as_a_sinusoidal_encoding():
    model = TinyTransformer(1000, d_model=64, n_layers=1)
    scaled = model.embedding.weight.detach() * 64**0.5
    assert float(scaled.std()) == pytest.approx(1, abs=0.02)


def test_the_first_layer_gets_scaled_embeddings_and_the_positions(counting):
    log = counting()
    model, ids, row = tiny("counting"), tokens(), torch.arange(6) + 4
    model(ids, row)
    assert len(log) == 1
    _, x, positions, seen = log[0]
    assert gap(x, model.embedding(ids) * 16**0.5) <= 1e-6
    assert torch.equal(positions, row)
    assert torch.equal(seen, ids)


@pytest.mark.parametrize(("shared", "count"), [(True, 1), (False, 2)])
def test_a_class_is_made_once_or_once_a_layer_with_its_options(shared, count):
    arguments: list[tuple] = []

    class Own(PositionalEncoding):
        def __init__(self, d_model, n_heads, causal, vocab_size, width=3):
            super().__init__(d_model, n_heads)
            self.vocab_size, self.width = vocab_size, width
            arguments.append((d_model, n_heads, causal, vocab_size, width))

    Own.shared = shared
    model = tiny(Own, width=5)
    assert arguments == [(16, 2, True, VOCABULARY, 5)] * count
    identities = {id(block.attention.encoding) for block in model.blocks}
    assert len(identities) == count and id(model.encoding) in identities


def test_the_encoding_of_a_model_cannot_be_exchanged_behind_attentions_back():
    model, ids = tiny("none"), tokens()
    before = model(ids)
    with pytest.raises(AttributeError, match=r"encoding is set .* changed\(encoding=…\)"):
        model.encoding = create("alibi", d_model=16, n_heads=2)
    assert torch.equal(model(ids), before)
    for block in model.blocks:
        block.attention.encoding = create("alibi", d_model=16, n_heads=2)
    assert gap(model(ids), before) > 1e-4


def test_what_is_no_maker_of_encodings_is_told(plain_arguments):
    with pytest.raises(TypeError, match=r"encoding must be .* takes \(d_model, n_heads\)"):
        tiny(lambda: None)
    with pytest.raises(TypeError, match="must be a PositionalEncoding, got NoneType"):
        tiny(lambda d_model, n_heads: None)
    with pytest.raises(ValueError, match=r"option of .* 'widht' is unknown"):
        tiny(Counting, widht=3)


@pytest.mark.parametrize("shared", [True, False])
def test_door_one_is_passed_at_every_layer_if_the_encoding_says_so(counting, shared):
    log = counting(every_layer=True, shared=shared)
    model = tiny("counting", n_layers=3)
    model(tokens())
    encodings = [block.attention.encoding for block in model.blocks]
    assert [encoding for encoding, *_ in log] == encodings


def test_door_one_is_passed_once_otherwise(counting):
    log = counting(every_layer=False, shared=False)
    tiny("counting", n_layers=3)(tokens())
    assert len(log) == 1


def test_options_reach_the_encoding():
    assert tiny("sinusoidal", base=50.0).encoding.base == 50


def test_the_output_layer_shares_the_embeddings_matrix_and_sees_hidden():
    model = tiny()
    assert model.head.weight is model.embedding.weight
    ids = tokens()
    hidden = model.hidden(ids)
    assert gap(model.head(hidden), hidden @ model.embedding.weight.T) <= 1e-6
    assert torch.equal(model.head(hidden), model(ids))


def test_the_same_seed_gives_the_same_model():
    models = []
    for _ in range(2):
        torch.manual_seed(3)
        models.append(tiny())
    ids = tokens()
    assert torch.equal(models[0](ids), models[1](ids))


def test_a_model_learns_a_short_pattern_by_heart_in_sixty_steps():
    model = tiny(n_layers=1).train()
    ids = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5]])
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(60):
        loss = F.cross_entropy(model(ids[:, :-1])[0], ids[0, 1:])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert torch.equal(model(ids[:, :-1]).argmax(-1), ids[:, 1:])


# Reading piece by piece


def test_a_new_cache_is_empty_and_grows_with_the_text():
    model = tiny("none")
    cache = model.new_cache()
    assert [len(layer) for layer in cache] == [0, 0]
    model(tokens(2, 4), cache=cache)
    model(tokens(2, 1), cache=cache)
    assert [len(layer) for layer in cache] == [5, 5]


def test_positions_go_on_where_the_cache_ends():
    model, ids, cache = tiny("sinusoidal"), tokens(1, 7), None
    cache = model.new_cache()
    model(ids[:, :3], torch.tensor([4, 5, 9]), cache=cache)
    last = model(ids[:, 3:], cache=cache)
    at_once = model(ids, torch.tensor([4, 5, 9, 10, 11, 12, 13]))
    assert gap(last, at_once[:, 3:]) <= 1e-5


def test_a_call_that_fails_leaves_the_cache_as_it_was():
    model, ids = tiny("none"), tokens(2, 4)
    cache = model.new_cache()
    model(ids, cache=cache)
    with pytest.raises(ValueError, match="cache"):
        model(tokens(3, 1), cache=cache)
    assert [len(layer) for layer in cache] == [4, 4]
    step = tokens(2, 1)
    assert gap(model(step, cache=cache), model(torch.cat([ids, step], 1))[:, -1:]) <= 1e-5


def test_caches_that_are_out_of_step_are_refused():
    model = tiny("none")
    cache = model.new_cache()
    model(tokens(1, 4), cache=cache)
    with pytest.raises(ValueError, match=r"cache must have read the same tokens in every block"):
        model(tokens(1, 1), cache=[cache[0], model.new_cache()[0]])


def test_the_words_of_a_model_reach_an_encoding_that_counts_them():
    assert tiny("complex_order").encoding.frequencies.shape == (VOCABULARY, 8)


def test_log_n_reaches_every_layer():
    assert {block.attention.log_n for block in tiny("none", log_n=8).blocks} == {8}


# Dropout after door 1


def entering(model, ids):
    """What enters the first block."""
    seen = []
    hook = model.blocks[0].register_forward_pre_hook(lambda block, inputs: seen.append(inputs[0]))
    model(ids)
    hook.remove()
    return seen[0].detach()


@every_name
def test_embedding_dropout_changes_nothing_in_evaluation(name):
    model, ids = tiny(name), tokens()
    assert torch.equal(model(ids), model.changed(embedding_dropout=0.5)(ids))


@every_name
def test_without_embedding_dropout_training_is_bitwise_as_evaluation_and_draws_nothing(name):
    model, ids = tiny(name), tokens()
    expected, generator = model(ids), torch.get_rng_state()
    assert torch.equal(model.train()(ids), expected)
    assert torch.equal(torch.get_rng_state(), generator)


def test_embedding_dropout_keeps_the_sum_of_word_and_position_on_average():
    torch.manual_seed(0)
    model, ids = tiny(embedding_dropout=0.25), tokens(1, 4)
    whole = entering(model.eval(), ids)
    draws = torch.cat([entering(model.train(), ids) for _ in range(4000)])
    dropped = draws == 0
    assert abs(dropped.float().mean() - 0.25) < 0.01
    assert torch.allclose(draws[~dropped], (whole / 0.75).expand_as(draws)[~dropped])
    assert gap(draws.mean(0, keepdim=True), whole) < 0.2  # 8 standard errors of an entry of 2


def test_embedding_dropout_is_saved_among_the_settings(tmp_path):
    tiny(embedding_dropout=0.1).save(tmp_path / "model.safetensors")
    again = from_file(tmp_path / "model.safetensors")
    assert again.settings["embedding_dropout"] == again.embedding_dropout == 0.1
