"""The experiment on a published model: what it changes, what it measures, that a row can be remade.

Most of it on a stand-in, two layers of SmolLM2's shape with random weights, in a context of 96.
"""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls
from pairwise import some

from course_experiments import (
    published_groups,
    published_model,
    published_needles,
    published_tables,
)
from course_experiments.__main__ import main
from course_experiments.published_changes import CHANGES, CUT, STRETCHES, Rounded
from course_utils import measures
from course_utils.attention.kv_cache import places_of
from course_utils.encodings import NTK, NoEncoding, YaRN
from course_utils.encodings.functional import (
    convert_layout,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
)
from course_utils.encodings.rope import Rotary
from course_utils.measures import entropy
from course_utils.models.stretching import WAYS, scaling_for, way_to_stretch
from course_utils.pretrained import SmolLM2, language_model, missing
from course_utils.pretrained.ablation import (
    LeftOutPairs,
    MeanKeyPairs,
    StoppedPairs,
    mean_keys,
    recorded,
)
from course_utils.results import AS_TRAINED
from course_utils.texts import data

CORPUS = bytes(torch.randint(97, 123, (1000,), generator=torch.Generator()).tolist())
WIDE, NARROW, MLP, VOCAB, CONTEXT, BIN = 576, 192, 32, 128, 96, 16
ROUNDED = Rounded(WIDE, 9, language_model.BASE)  # turns by the model's own base


@functools.cache
def random_weights(layers):
    shapes = {"attention.W_q": (WIDE, WIDE), "attention.W_k": (NARROW, WIDE)}
    shapes |= {"attention.W_v": (NARROW, WIDE), "attention.W_o": (WIDE, WIDE)}
    shapes |= {"gate": (MLP, WIDE), "up": (MLP, WIDE), "down": (WIDE, MLP)}
    generator = torch.Generator().manual_seed(1)
    weights = {"embedding.weight": 0.2 * torch.randn(VOCAB, WIDE, generator=generator)}
    for layer in range(layers):
        for name, shape in shapes.items():
            weight = 0.06 * torch.randn(shape, generator=generator)
            weights[f"blocks.{layer}.{name}.weight"] = weight
        for name in ("attention_norm", "mlp_norm"):
            weights[f"blocks.{layer}.{name}.weight"] = torch.ones(WIDE)
    weights["norm.weight"] = torch.ones(WIDE)
    return weights


def stand_in(layers=2):
    """A model of SmolLM2's widths and few layers; whoever asks for it patches N_LAYERS."""
    reader = SimpleNamespace(encode=lambda text: SimpleNamespace(ids=list(text.encode())))
    return SmolLM2(Rotary(WIDE, 9, language_model.BASE), random_weights(layers), reader)


@pytest.fixture
def small(monkeypatch):
    """Sizes for stand-ins, and a context and rows by length that are as small."""
    monkeypatch.setattr(language_model, "VOCAB_SIZE", VOCAB)
    monkeypatch.setattr(language_model, "D_MLP", MLP)
    monkeypatch.setattr(language_model, "N_LAYERS", 2)
    monkeypatch.setattr(SmolLM2, "context", CONTEXT)
    monkeypatch.setattr(published_tables, "BIN", BIN)


@pytest.fixture
def model(small):
    return stand_in()


@pytest.fixture
def used(model, monkeypatch):
    """The experiment reads the stand-in; a list of what it has read."""
    read = []

    def counted():
        read.append(1)
        return model

    monkeypatch.setattr(published_model, "language_model", counted)
    published_model._tokens.cache_clear()
    yield read
    published_model._tokens.cache_clear()


@pytest.fixture
def tokens():
    return torch.randint(VOCAB, (1, 200), generator=torch.Generator().manual_seed(2))


def loss(model, tokens, way):
    (row,) = published_tables.positions(model, tokens, way)
    assert row["judged"] == tokens.shape[1] - 1
    return row["loss"]


def test_a_text_that_is_moved_has_the_loss_that_it_had_and_every_other_change_another(
    model, tokens
):
    plain = loss(model, tokens, AS_TRAINED)
    assert plain == pytest.approx(float(model.loss(tokens).mean()), abs=1e-5)
    assert loss(model, tokens, "moved by 5000") == pytest.approx(plain, abs=1e-4)
    slow = {f"pairs {m}-{m + 3} still" for m in (20, 24, 28)} | {"slow half still"}
    for way in set(CHANGES) - {AS_TRAINED, "moved by 5000"} - slow:
        assert abs(loss(model, tokens, way) - plain) > 1e-3, way


@pytest.mark.parametrize(
    ("way", "change", "positions"),
    [
        ("no position", {"encoding": NoEncoding(WIDE, 9)}, None),
        ("no position", {"scaling": StoppedPairs(0, 31)}, None),
        ("wrong layout", {"encoding": Rotary(WIDE, 9, 1e5, "half")}, None),
        ("base 10000", {"encoding": Rotary(WIDE, 9, 1e4)}, None),
        ("positions / 4", {}, torch.arange(200) / 4),
        ("moved by 5000, rounded", {"encoding": ROUNDED}, torch.arange(200) + 5000),
    ],
)
def test_a_change_is_what_its_name_says(way, change, positions, model, tokens):
    changed = model.with_encoding(**change) if change else model
    expected = float(changed.loss(tokens, positions).mean())
    assert loss(model, tokens, way) == pytest.approx(expected, abs=2e-5)


def test_pairs_that_are_still_have_no_frequency_and_the_others_theirs():
    plain = rope_frequencies(64, 1e5)
    off = {}
    for way, (_, change) in CHANGES.items():
        if way.endswith("still"):
            assert isinstance(change, dict)
            changed, _ = change["scaling"].frequencies(plain, 1e5)
            off[way] = {m for m in range(32) if changed[m] != plain[m]}
    assert [*off.values()][:8] == [{*range(m, m + 4)} for m in range(0, 32, 4)]
    assert off["fast half still"] == {*range(16)}
    assert off["slow half still"] == {*range(16, 32)}
    changed, factor = StoppedPairs(4, 7).frequencies(plain, 1e5)
    assert bool((changed[4:8] == 0).all()) and factor == 1.0


def test_rounded_positions_turn_by_rounded_angles_and_hide_what_they_hid(model, tokens):
    rounded = model.with_encoding(ROUNDED)
    moved = torch.arange(200) + 5000
    q = torch.randn(1, 9, 200, 64)
    at = places_of(tokens, moved, None, None)
    turned, keys = rounded.encoding.rotate(q, q, at)
    coarse = rope_angles((moved / 32).round() * 32, rope_frequencies(64, language_model.BASE))
    by_hand = torch.view_as_complex(q.unflatten(-1, (-1, 2))) * torch.polar(
        torch.ones_like(coarse), coarse
    )
    torch.testing.assert_close(turned, torch.view_as_real(by_hand).flatten(-2).float())
    assert torch.equal(turned, keys)
    other = torch.cat([tokens[:, :-1], (tokens[:, -1:] + 1) % VOCAB], 1)
    before, after = (rounded.loss(ids, moved) for ids in (tokens, other))
    assert torch.equal(before[:, :-1], after[:, :-1])  # a later token changes nothing before it
    assert float((before - model.loss(tokens, moved)).abs().max()) > 0.01


def test_pairs_that_are_left_out_bring_nothing_to_the_scores_and_the_others_what_they_did(model):
    q, k = torch.randn(1, 9, 20, 64), torch.randn(1, 9, 20, 64)
    without = LeftOutPairs(WIDE, 9, language_model.BASE, first=4, last=31)
    at = places_of(torch.zeros(1, 20, dtype=torch.long), None, None, None)
    turned = [encoding.rotate(q, k, at) for encoding in (without, model.encoding)]
    left_out, plain = (queries * keys for queries, keys in turned)
    torch.testing.assert_close(left_out[..., :8], plain[..., :8])
    assert not left_out[..., 8:].any()
    with pytest.raises(ValueError, match="layout 'half'"):
        LeftOutPairs(WIDE, 9, language_model.BASE, layout="half", first=4, last=31)


def mean_keyed(model, tokens, **options):
    keys = mean_keys(model, tokens)
    return MeanKeyPairs(WIDE, 9, language_model.BASE, mean_keys=keys, **options)


@pytest.mark.parametrize("keep_first", [True, False])
def test_keys_are_the_mean_before_they_turn_in_these_pairs_and_their_own_in_the_others(
    keep_first, model, tokens
):
    alike = mean_keyed(model, tokens, first=4, last=31, keep_first=keep_first)
    ids = tokens.flip(1)[:, :20]
    at = places_of(ids, None, None, None)
    for layer, (_, keys) in enumerate(recorded(model, tokens)):
        q, k = torch.randn(1, 9, 20, 64), torch.randn(1, 3, 20, 64)
        queries, turned = alike.rotate(q, k, at)
        expected = k.clone()
        mean = keys[::3, 1:].mean(1)[:, None, 8:]
        expected[:, :, int(keep_first) :, 8:] = mean
        torch.testing.assert_close(turned, model.encoding.rotate(q, expected, at)[1])
        torch.testing.assert_close(queries, model.encoding.rotate(q, k, at)[0])
        assert alike.passes == layer + 1


def test_queries_and_keys_are_recorded_layer_by_layer_as_the_heads_see_them(model, tokens):
    layers = recorded(model, tokens)
    x = model.blocks[0].attention_norm(model.embedding(tokens))[0]
    k = model.blocks[0].attention.W_k(x).reshape(200, 3, 64)
    torch.testing.assert_close(layers[0][1], k.transpose(0, 1).repeat_interleave(3, 0))
    assert len(layers) == 2 and layers[1][0].shape == (9, 200, 64)


@pytest.fixture
def short(monkeypatch):
    """Lengths for a text of 200 tokens."""
    monkeypatch.setattr(published_groups, "READ", (40, 100, 200, 300))
    monkeypatch.setattr(published_groups, "JUDGED", 40)


def test_losses_by_length_are_those_of_the_last_tokens_before_each(model, tokens, short):
    rows = published_groups.groups(model, tokens, "pairs 16-19 still")
    losses = model.with_encoding(scaling=StoppedPairs(16, 19)).loss(tokens)[0]
    assert [(row["length"], row["judged"]) for row in rows] == [(40, 39), (100, 40), (200, 40)]
    for row in rows:
        last = losses[: row["length"] - 1][-row["judged"] :]
        assert row["loss"] == pytest.approx(float(last.mean()), abs=2e-5)


def test_every_way_to_change_a_group_gives_another_loss(model, tokens, short, monkeypatch):
    monkeypatch.setattr(published_groups, "_keys_elsewhere", lambda model: mean_keys(model, tokens))
    group = "pairs 0-7"
    ways = [AS_TRAINED, *(f"{group} {change}" for change in published_groups.CHANGES)]
    losses = {published_groups.groups(model, tokens, way)[-1]["loss"] for way in ways}
    assert len(losses) == len(ways)


def test_shares_of_pairs_add_up_and_shuffling_moves_what_each_brings(model, tokens):
    plain = pd.DataFrame(published_groups.shares(model, tokens, AS_TRAINED))
    dealt = pd.DataFrame(published_groups.shares(model, tokens, published_groups.SHUFFLED))
    for rows in (plain, dealt):
        assert list(rows["pair"]) == [*range(32)]
        assert rows[["position", "content"]].to_numpy().sum() == pytest.approx(1, abs=1e-3)
    table = pd.DataFrame(published_tables.pairs(model, tokens))
    of_heads = table.filter(regex="^position_").mean().to_numpy()
    np.testing.assert_allclose(plain["position"], of_heads, atol=1e-3)
    assert not np.allclose(plain["content"], dealt["content"], atol=1e-4)


def test_pairs_dealt_out_keep_their_two_features_together():
    x = torch.arange(2 * 3 * 8.0).reshape(2, 3, 8)
    dealt = published_groups._reordered(x, [torch.tensor([3, 0, 1, 2]), torch.arange(4)])
    assert dealt[0, 0].tolist() == [6, 7, 0, 1, 2, 3, 4, 5]
    assert torch.equal(dealt[1], x[1])


def test_the_shipped_losses_by_length_have_every_text_in_every_way():
    rows = data.results("real_groups")
    assert not rows.duplicated(["text", "way", "length"]).any()
    assert rows["length"].isin(published_groups.READ).all()
    assert {AS_TRAINED, "pairs 20-23 still"} <= {*rows["way"]}
    counts = rows.groupby(["way", "length"])["text"].nunique()
    assert (counts == counts.groupby("length").transform("max")).all()


def test_the_shares_and_products_of_pairs_are_those_of_the_queries_and_keys_of_each_head(
    model, tokens
):
    rows = pd.DataFrame(published_tables.pairs(model, tokens))
    assert list(rows[["layer", "head"]].itertuples(index=False, name=None)) == [
        (layer, head) for layer in (0, 1) for head in range(9)
    ]
    seen = {}
    for number, layer in enumerate(model.blocks):
        layer.attention.register_forward_pre_hook(
            lambda attention, given, number=number: seen.update({number: (attention, given[0])})
        )
    with torch.no_grad():
        _, weights = model(tokens, need_weights=True)
    theta = rope_frequencies(64, language_model.BASE)
    for number, row in enumerate(rows.to_dict("records")):
        attention, x = seen[number // 9]
        q = attention.W_q(x)[0].reshape(200, 9, 64)[:, number % 9]
        k = attention.W_k(x)[0].reshape(200, 3, 64)[:, number % 9 // 3]
        shares = measures.pair_shares(q[None], k[None], theta)
        for name, share in zip(("position", "content"), shares, strict=True):
            measured = [row[f"{name}_{m}"] for m in range(32)]
            assert measured == pytest.approx(share[0].numpy(), abs=1e-4)
        product = torch.complex(q[1:, ::2], q[1:, 1::2]).mean(0) / 8
        product = product * torch.complex(k[1:, ::2], -k[1:, 1::2]).mean(0)
        for name, part in (("real", product.real), ("imaginary", product.imag)):
            measured = [row[f"{name}_{m}"] for m in range(32)]
            assert measured == pytest.approx(part.numpy(), abs=1e-4)
        seen_by = weights[number // 9][0, number % 9]
        assert row["first"] == pytest.approx(float(seen_by[1:, 0].mean()), abs=1e-4)
        assert row["previous"] == pytest.approx(float(seen_by.diagonal(-1).mean()), abs=1e-4)


def test_pairs_are_the_same_in_another_layout(model, tokens):
    weights = dict(model.state_dict())
    for name, heads in (("W_q", 9), ("W_k", 3)):
        for layer in (0, 1):
            key = f"blocks.{layer}.attention.{name}.weight"
            weights[key] = convert_layout(weights[key], heads, "interleaved", "half", d_head=64)
    in_halves = SmolLM2(
        Rotary(WIDE, 9, language_model.BASE, layout="half"), weights, model.tokenizer
    )
    rows = pd.DataFrame(published_tables.pairs(model, tokens))
    pd.testing.assert_frame_equal(
        pd.DataFrame(published_tables.pairs(in_halves, tokens)), rows, atol=2e-4
    )


def test_pairs_of_a_model_that_turns_a_part_of_each_head_are_those_that_turn(model, tokens):
    half = model.with_encoding(fraction=0.5)
    rows = pd.DataFrame(published_tables.pairs(half, tokens))
    assert list(rows.filter(regex="^real_")) == [f"real_{m}" for m in range(16)]
    shares = rows.filter(regex="^(position|content)_").sum(axis=1)
    np.testing.assert_allclose(shares, 1.0, atol=2e-3)
    with torch.no_grad():
        _, weights = half(tokens, need_weights=True)
    expected = torch.cat([layer[0, :, 1:, 0].mean(1) for layer in weights])
    np.testing.assert_allclose(rows["first"], expected, atol=1e-4)


@pytest.mark.parametrize("way", [name for name in WAYS if name != "direct"])
def test_a_published_model_is_stretched_by_its_own_base_and_by_the_pairs_that_turn(way, model):
    partly = model.with_encoding(base=500_000.0, fraction=0.5)
    scaling = scaling_for(partly.encoding, way, 2, CONTEXT)
    theta = scaled_frequencies(32, 500_000.0, scaling, 2 * CONTEXT)[0]
    expected = {
        "by parts": scaled_frequencies(32, 500_000.0, YaRN(2, CONTEXT))[0],
        "dynamic NTK": scaled_frequencies(32, 500_000.0, NTK(2))[0],
    }
    if way in expected:
        torch.testing.assert_close(theta, expected[way])
    assert partly.with_encoding(scaling=scaling)(torch.zeros(1, 9).long()).shape == (1, 9, VOCAB)
    with pytest.raises(TypeError, match=r"encoding must be RoPE.*NoEncoding"):
        scaling_for(NoEncoding(WIDE, 9), way, 2, CONTEXT)


class Untied(SmolLM2):
    """A model whose output layer is not its embedding."""

    def logits(self, hidden):
        return 3 * super().logits(hidden)


def test_an_output_layer_of_its_own_is_used_in_every_loss(small, tokens):
    tied = stand_in()
    model = Untied(tied.encoding, tied.state_dict(), tied.tokenizer)
    logits = model(tokens)[0, :-1].double()
    expected = torch.nn.functional.cross_entropy(logits, tokens[0, 1:], reduction="none")
    for losses in (model.loss(tokens), published_tables.loss_while_growing(model, tokens)):
        torch.testing.assert_close(losses[0].double(), expected, atol=1e-4, rtol=1e-4)
    assert (expected - tied.loss(tokens)[0]).abs().max() > 0.1


def test_the_spread_of_attention_is_that_of_a_text_read_at_once(model, tokens):
    rows = pd.DataFrame(published_tables.spread(model, tokens))
    assert rows["keys"].unique().tolist() == [64, 128]
    assert len(rows) == 2 * 2 * 9
    for n in (64, 128):
        with torch.no_grad():
            _, weights = model(tokens[:, :n], need_weights=True)
        for layer, head in ((0, 0), (1, 8)):
            last = weights[layer][0, head, n - 32 :]
            near = [last[i, n - 32 + i - 63 : n - 32 + i + 1].sum() for i in range(32)]
            row = rows[(rows["keys"] == n) & (rows["layer"] == layer) & (rows["head"] == head)]
            expected = {
                "entropy": entropy(last).mean(),
                "normalised": entropy(last, normalise=True).mean(),
                "first": last[:, 0].mean(),
                "near": torch.stack(near).mean() if n > 64 else torch.ones(()),
            }
            for name, value in expected.items():
                assert row[name].item() == pytest.approx(float(value), abs=2e-5), name


@pytest.mark.parametrize("way", sorted(set(STRETCHES) - {CUT, "dynamic NTK"}))
def test_rows_by_length_are_the_losses_of_the_way_they_name(way, model, tokens):
    read = 2 * CONTEXT
    rows = published_tables.lengths(model, tokens[:, :read], way)
    assert [(row["first"], row["last"]) for row in rows] == [
        (first, first + BIN - 1) for first in range(0, read, BIN)
    ]
    factor = {"direct": 1.0, "NTK-aware, wider": 2.6667}.get(way, 2.0)
    assert {row["factor"] for row in rows} == {factor}
    scaling = way_to_stretch(
        STRETCHES[way][0], 2 * STRETCHES[way][1], CONTEXT, 64, language_model.BASE
    )
    reader = model.with_encoding(scaling=scaling) if scaling else model
    losses = reader.loss(tokens[:, :read])[0]
    assert rows[0]["loss"] == pytest.approx(float(losses[: BIN - 1].mean()), abs=2e-5)
    for number in (1, len(rows) - 1):
        part = losses[number * BIN - 1 : (number + 1) * BIN - 1]
        assert rows[number]["loss"] == pytest.approx(float(part.mean()), abs=2e-5)
    if way != "direct":
        direct = published_tables.lengths(model, tokens[:, :read], "direct")
        assert rows[-1]["loss"] != direct[-1]["loss"]


def test_what_is_cut_off_is_not_read(model, tokens):
    rows = published_tables.lengths(model, tokens[:, :180], CUT)
    alone = model.loss(tokens[:, 180 - CONTEXT : 180])
    assert (rows[0]["first"], rows[-1]["last"]) == (80, 179)  # the text begins at token 84
    counts = [min(row["last"], 179) - max(row["first"], 85) + 1 for row in rows]  # judged tokens
    assert sum(counts) == CONTEXT - 1
    mean = np.average([row["loss"] for row in rows], weights=counts)
    assert mean == pytest.approx(float(alone.mean()), abs=2e-5)


def test_dynamic_ntk_turns_by_the_length_so_far(small, tokens, monkeypatch):
    """With one layer a key does not depend on the base, so each piece is a text of its own."""
    monkeypatch.setattr(language_model, "N_LAYERS", 1)
    model = stand_in(layers=1)
    read = 150
    rows = published_tables.lengths(model, tokens[:, :read], "dynamic NTK")
    direct = published_tables.lengths(model, tokens[:, :read], "direct")
    assert rows[:5] == direct[:5]  # all but a factor
    scaling = way_to_stretch("dynamic NTK", 1, CONTEXT, 64)
    reader = model.with_encoding(scaling=scaling)
    losses = published_tables.loss_while_growing(reader, tokens[:, :read])
    assert losses.shape == (1, read - 1)
    start = CONTEXT
    while start < read - 1:
        stop = min(start + BIN, read - 1)
        at_once = model.with_encoding(scaling=NTK(stop / CONTEXT)).loss(tokens[:, : stop + 1])
        torch.testing.assert_close(losses[:, start:stop], at_once[:, start:], atol=1e-4, rtol=1e-4)
        start = stop


def test_each_row_has_a_key_of_its_own_and_can_be_asked_for_alone():
    every = published_model.jobs(CORPUS)
    assert len({str(sorted(key.items())) for key, _ in every}) == len(every)
    for key, job in every:
        chosen = {"tables": [key["table"]], "ways": [key["way"]]}
        chosen |= {"seeds": [key["seed"]], "lengths": [key["read"]]}
        ((again, same),) = published_model.jobs(CORPUS, **chosen)
        assert isinstance(job, functools.partial) and isinstance(same, functools.partial)
        assert again == key and same.args == job.args
    runs = {(key["table"], key["read"], key["seed"]) for key, _ in every}
    assert runs == {
        (name, read, seed)
        for name, table in published_model.TABLES.items()
        for read, seeds in table.seeds.items()
        for seed in seeds
    }
    other = published_model.jobs(CORPUS + b".")[0][0]
    assert other != every[0][0]


@pytest.mark.thorough
def test_the_command_writes_a_table_each_and_does_nothing_twice(used, tmp_path, capsys):
    words = ["real", "--jobs", "1", "--folder", str(tmp_path), "--lengths", "512"]
    corpus = tmp_path / "mine.txt"
    corpus.write_bytes(CORPUS)
    words += ["--corpus", str(corpus), "--seeds", "0", "2"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "nats a token" in out and "wrong layout" in out and "±" in out
    tables = {name: pd.read_csv(tmp_path / f"real_{name}.csv") for name in published_model.TABLES}
    assert tables["positions"].groupby("way").size().to_dict() == dict.fromkeys(CHANGES, 2)
    for name, each in (("lengths", 2 * 512 // BIN), ("needles", 2 * 16)):
        expected = dict.fromkeys(STRETCHES, each)
        if name == "lengths":
            expected[CUT] = 2 * CONTEXT // BIN
        assert tables[name].groupby("way").size().to_dict() == expected
    assert [len(tables[name]) for name in ("pairs", "entropy")] == [36, 4 * 36]
    for rows in tables.values():
        assert rows["start"].unique().tolist() == [0, 250]  # of 1000 tokens
        assert set(rows["corpus"]) == {published_model.digest(CORPUS)[:16]}
        assert {"torch", "device", "course", "python"} <= {*rows}
    used.clear()
    assert main(words) == 0
    assert not used
    one_row = [*words, "--tables", "positions", "--ways", "base 10000", "--seeds", "2"]
    assert main([*one_row, "--folder", str(tmp_path / "again")]) == 0
    (again,) = pd.read_csv(tmp_path / "again" / "real_positions.csv").to_dict("records")
    rows = tables["positions"]
    assert [again] == rows[(rows["way"] == "base 10000") & (rows["seed"] == 2)].to_dict("records")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", "5"], "steps must be left out for real, got 5"),
        (["--plot"], "plot must be left out for real"),
        (["--ways", "interpolate"], "did you mean 'interpolation'"),
        (["--tables", "length"], "did you mean 'lengths'"),
        (["--tables", "pairs", "--ways", "YaRN"], "ways must be of the tables ['pairs']"),
        (["--tables", "pairs", "--seeds", "7", "--lengths", "128"], "lengths must be at most 125"),
    ],
)
def test_the_command_says_what_is_wrong(options, message, used, tmp_path, capsys):
    (tmp_path / "mine.txt").write_bytes(CORPUS)
    words = ["real", "--jobs", "1", "--folder", str(tmp_path), "--corpus"]
    assert main([*words, str(tmp_path / "mine.txt"), *options]) == 1
    assert message in capsys.readouterr().err


def test_options_of_real_are_refused_elsewhere(tmp_path, capsys):
    assert main(["tasks", "--ways", "YaRN", "--folder", str(tmp_path)]) == 1
    assert "ways must be left out for tasks" in capsys.readouterr().err


jobs = functools.partial(published_model.jobs, CORPUS)
test_bad_input_names_the_argument_and_what_it_got = bad_calls(
    [
        (lambda: jobs(seeds=[8]), ValueError, "seeds", "got 8"),
        (lambda: jobs(seeds=[-1]), ValueError, "seed", "got -1"),
        (lambda: jobs(["pairs"], lengths=[63]), ValueError, "lengths", "got 63"),
        (lambda: jobs(lengths=[511]), ValueError, "lengths", "at least 512", "got 511"),
        (lambda: jobs(ways=["direkt"]), ValueError, "ways", "mean 'direct'"),
        (lambda: jobs(tables=["pair"]), ValueError, "tables", "mean 'pairs'"),
    ]
)


@pytest.mark.thorough
@pytest.mark.skipif(bool(missing()), reason="the published model is not installed")
def test_a_shipped_row_is_made_again():
    rows = data.results("real_positions")
    shipped_rows = rows[(rows["way"] == AS_TRAINED) & (rows["seed"] == 3)].to_dict("records")
    corpus = data.verified("documentation.txt").read_bytes()
    ((_, job),) = published_model.jobs(corpus, ["positions"], [AS_TRAINED], [3])
    torch.set_num_threads(2)
    (row,) = job()["positions"]
    published_model.language_model.cache_clear()
    assert [row["start"], row["judged"]] == [shipped_rows[0]["start"], shipped_rows[0]["judged"]]
    assert row["loss"] == pytest.approx(shipped_rows[0]["loss"], abs=2e-3)
    assert math.isfinite(row["loss"])


def test_every_usual_row_is_shipped():
    corpus = data.verified("documentation.txt").read_bytes()
    for name, table in published_model.TABLES.items():
        rows = data.results(f"real_{name}")
        present = set(rows[["way", "seed", "read"]].itertuples(index=False, name=None))
        usual = {
            (key["way"], key["seed"], key["read"])
            for key, _ in published_model.jobs(corpus, [name])
        }
        assert usual <= present and {way for way, *_ in present} <= {*table.ways}
        assert rows.select_dtypes("number").notna().all(axis=None)
        assert set(rows["corpus"]) == {published_model.digest(corpus)[:16]}


# ------------------------------------------------------------------- numbers that a text has told


LONG = 960  # tokens of a text with room for eight sentences of 37 to 39 letters


@pytest.fixture
def story():
    return torch.randint(97, 123, (1, LONG), generator=torch.Generator().manual_seed(5))


def known(model, tokens, way="direct"):
    return pd.DataFrame(published_needles.haystack(model, tokens, way))


def test_eight_of_sixteen_cities_have_a_number_in_the_text_and_all_are_asked_for(model, story):
    rows = known(model, story)
    assert sorted(rows["city"]) == sorted(published_needles.CITIES)
    assert rows["place"].tolist() == [30 + 120 * i for i in range(8)] + [-1] * 8
    assert rows["right"].between(0, 4).all()


def test_a_question_has_the_loss_that_it_has_after_the_whole_text(model, story, monkeypatch):
    read, hidden = [], SmolLM2.hidden

    def recorded(self, ids, *more, **options):
        read.append(ids)
        return hidden(self, ids, *more, **options)

    monkeypatch.setattr(SmolLM2, "hidden", recorded)
    rows = known(model, story)
    whole_text, *questions = (bytes(ids[0].tolist()).decode() for ids in read)
    for question, row in zip(questions, rows.itertuples(), strict=True):
        assert row.city in question
        assert (row.city in whole_text) == (row.place >= 0)
        if row.place >= 0:  # the question has three digits; the fourth is only foretold
            sentence = whole_text[row.place :].split(".")[0]
            assert sentence[:-1] == question
            whole = torch.cat([read[0], model.encode(sentence)], 1)
            assert row.loss == pytest.approx(float(model.loss(whole)[0, -4:].mean()), abs=1e-4)


def test_what_is_cut_off_cannot_be_known(model, story):
    other = story.clone()
    other[:, : LONG - CONTEXT - 40] = story[:, : LONG - CONTEXT - 40].flip(1)  # of equal sum
    cut, whole = ((known(model, story, way), known(model, other, way)) for way in (CUT, "direct"))
    pd.testing.assert_frame_equal(*cut)
    assert not whole[0]["loss"].equals(whole[1]["loss"])


@some("way", sorted(set(STRETCHES) - {"direct", CUT}), quick=("dynamic NTK", "YaRN"))
def test_the_ways_to_stretch_change_what_is_known(way, model, story):
    assert not known(model, story, way)["loss"].equals(known(model, story)["loss"])


def test_the_encoding_of_a_published_model_cannot_be_exchanged_behind_attentions_back(model):
    with pytest.raises(AttributeError, match=r"encoding is set .* with_encoding\(…\)"):
        model.encoding = NoEncoding(WIDE, 9)
    assert isinstance(model.encoding, Rotary)
    assert isinstance(model.with_encoding(NoEncoding(WIDE, 9)).encoding, NoEncoding)
