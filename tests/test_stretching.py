"""RoPE stretched eight ways: right frequencies, the same bytes, tables that say what was done."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls

from course_experiments import __main__ as command
from course_experiments import (
    stretched_hands,
    stretching_needles,
    stretching_refitted,
    stretching_runs,
    task_lengths,
)
from course_experiments.store import Store
from course_lab import explorers
from course_utils.encodings import NTK, YaRN
from course_utils.encodings.functional import rope_frequencies, scaled_frequencies
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer, shipped, stretching, training
from course_utils.models.training import Recipe, fine_tune
from course_utils.texts import data, tasks, text

CORPUS = bytes(torch.randint(97, 123, (70_000,), generator=torch.Generator()).tolist())
TINY = {"length": 8, "steps": 3, "batch": 16, "d_model": 16, "n_layers": 1, "n_heads": 2}
MADE = Recipe("rope", **TINY)
FINDER = dataclasses.replace(MADE, batch=2)
LENGTHS, STEPS = (8, 16, 64, 128), 2


@pytest.fixture(scope="module")
def known():
    return text.split(text.from_bytes(CORPUS))


@pytest.fixture(scope="module")
def model(known):
    return training.train_on_text(MADE, known, torch.device("cpu"), bar=False)


@pytest.fixture(scope="module")
def tables():
    """What the job of a recipe gives."""
    _, job = stretching_runs.jobs([MADE], CORPUS, LENGTHS, FINDER, STEPS)[0]
    return job()


@pytest.fixture(scope="module")
def losses(tables):
    return pd.DataFrame(tables["losses"])


def speeds(way, factor=8, length=64, d=32):
    return scaled_frequencies(d, 10_000.0, stretching.way_to_stretch(way, factor, length, d), 512)


def test_by_parts_is_yarn_without_its_temperature():
    alone, sharpened = speeds("by parts"), scaled_frequencies(32, 10_000.0, YaRN(8, 64))
    torch.testing.assert_close(alone[0], sharpened[0])
    assert alone[1] == 1 < sharpened[1]


@pytest.mark.parametrize("base", [500.0, 500_000.0])
def test_by_parts_and_step_start_from_the_base_of_the_model(base):
    yarn, plain = YaRN(8, 64), rope_frequencies(32, base)
    by_parts = stretching.way_to_stretch("by parts", 8, 64, 32, base)
    ramped = scaled_frequencies(32, base, by_parts)[0]
    torch.testing.assert_close(ramped, scaled_frequencies(32, base, yarn)[0])
    stepped = scaled_frequencies(32, base, stretching.way_to_stretch("step", 8, 64, 32, base))[0]
    finishes_a_turn = 64 * plain >= 2 * torch.pi
    torch.testing.assert_close(stepped, torch.where(finishes_a_turn, plain, plain / 8))


@pytest.mark.parametrize("way", ["by parts", "step", "YaRN"])
def test_a_model_that_turns_half_of_each_head_can_be_stretched(way):
    half = TinyTransformer(5, "rope", d_model=16, n_layers=1, n_heads=2, fraction=0.5, base=500.0)
    longer = stretching.stretched(half, way, 2, 8)
    assert longer(torch.zeros(1, 9).long()).shape == (1, 9, 5)


def test_dynamic_ntk_is_ntk_where_the_length_fits_the_factor():
    torch.testing.assert_close(speeds("dynamic NTK")[0], speeds("NTK-aware")[0])
    torch.testing.assert_close(speeds("NTK-aware")[0], scaled_frequencies(32, 10_000.0, NTK(8))[0])


def test_a_step_slows_what_does_not_finish_a_turn_and_has_no_temperature():
    plain = rope_frequencies(32)
    slowed, temperature = speeds("step")
    assert temperature == 1
    whole = 64 * plain >= 2 * np.pi
    assert torch.equal(slowed[whole], plain[whole])
    torch.testing.assert_close(slowed[~whole], plain[~whole] / 8)


@pytest.mark.parametrize("way", stretching.WAYS)
def test_with_factor_1_and_a_short_text_no_way_changes_anything(way, model):
    read = stretching.stretched(model, way, 1, MADE.length)
    tokens = torch.randint(256, (2, 8), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(read(tokens), model(tokens), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("factor", [4, 8])
def test_a_model_is_stretched_by_its_way_factor_and_length(factor, model):
    slow = stretching.stretched(model, "interpolation", factor, MADE.length)
    tokens = torch.randint(256, (2, 8), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(slow(tokens), model(tokens, torch.arange(8) / factor))
    longer = stretching.stretched(model, "YaRN", factor, MADE.length, log_n=16)
    assert longer.settings["scaling"] == YaRN(factor, MADE.length)
    assert longer.settings["log_n"] == 16


def test_every_way_is_read_at_every_length_before_and_after(losses):
    made_for = losses[losses.factor.isin([1, stretching_runs.FACTOR])]
    made_for = made_for[(made_for.reading == "as trained") & (made_for.tuned_at != MADE.length)]
    for (way, tuned), rows in made_for.groupby(["way", "tuned"]):
        assert rows["read"].tolist() == list(LENGTHS), (way, tuned)
    assert set(losses.way) == set(stretching.WAYS)
    assert set(losses.tuned) == {0, STEPS}
    assert set(losses[losses.tuned > 0].tuned_at) == {8, 64}
    assert set(losses[losses.tuned == 0].tuned_at) == {0}
    columns = ["way", "factor", "tuned", "tuned_at", "reading", "read"]
    assert not losses.duplicated(columns).any()
    assert losses.judged.nunique() == 1 and np.isfinite(losses.loss).all()


def test_the_factor_that_fits_is_read_at_its_length_only(losses):
    others = losses[~losses.factor.isin([1, stretching_runs.FACTOR])]
    swept = others.way.isin(stretching_runs.SWEPT)
    single = others[~swept]
    assert set(zip(single.factor, single["read"], strict=True)) == {(2, 16), (16, 128)}
    assert not set(others.way) & set(stretching.WITHOUT_FACTOR)


def test_a_swept_way_has_every_multiple_of_the_factor_that_fits(losses):
    untuned = losses[(losses.way == "NTK-aware") & (losses.tuned == 0)]
    pairs = set(zip(untuned.factor, untuned["read"], strict=True))
    for n in LENGTHS[1:]:
        for multiple in (1, *stretching_runs.MULTIPLES):
            assert (n / MADE.length * multiple, n) in pairs, (n, multiple)


def test_log_n_is_read_at_the_length_that_the_factor_is_made_for(losses):
    assert set(losses[losses.reading == "log-n"]["read"]) == {stretching_runs.FACTOR * MADE.length}


def test_one_control_is_trained_on_at_the_trained_length(losses):
    control = losses[losses.tuned_at == MADE.length]
    assert set(control.way) == {"direct"} and control["read"].tolist() == list(LENGTHS)
    tuned = losses[(losses.way == "direct") & (losses.tuned_at == 64)]
    assert (control.loss.to_numpy() != tuned.loss.to_numpy()).all()


def test_the_control_sees_the_same_bytes_in_shorter_pieces(model, known, monkeypatch):
    seen, loss = [], tasks.loss

    def recorded(reader, examples):
        seen.append(examples)
        return loss(reader, examples)

    monkeypatch.setattr(tasks, "loss", recorded)
    for cut in (None, 8):
        on = stretching.stretched(model, "direct", 1, MADE.length)
        fine_tune(on, MADE, known, length=64, steps=2, cut=cut, bar=False)
    whole, pieces = seen[:2], seen[2:]
    for long, short in zip(whole, pieces, strict=True):
        assert long.tokens.shape == (2, 64) and short.tokens.shape == (16, 8)
        for name in ("tokens", "targets"):
            assert torch.equal(getattr(long, name).flatten(), getattr(short, name).flatten())


def test_direct_is_the_model_as_it_was_trained(losses, known, model):
    part = stretching_runs.judged_part(known, LENGTHS[-1])
    row = losses[(losses.way == "direct") & (losses.tuned == 0) & (losses.reading == "as trained")]
    for n, loss in zip(row["read"], row.loss, strict=True):
        assert sliding_loss(model, part, n, LENGTHS[-1])[0] == pytest.approx(loss, abs=1e-4)


def test_fine_tuning_changes_a_copy_and_reads_as_many_bytes_a_step(model, known, monkeypatch):
    seen = []
    draw = text.draw

    def recorded(*args, **kwargs):
        seen.append(draw(*args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(text, "draw", recorded)
    before = model.embedding.weight.clone()
    tuned = stretching.stretched(model, "YaRN", 8, MADE.length)
    fine_tune(tuned, MADE, known, length=64, steps=2, bar=False)
    assert [examples.tokens.shape for examples in seen] == [(2, 64)] * 2
    assert torch.equal(model.embedding.weight, before)
    assert not torch.equal(tuned.embedding.weight, before)


@pytest.mark.thorough
def test_a_job_is_the_run_of_its_recipe_and_can_be_repeated(tables):
    again = stretching_runs.run(MADE, CORPUS, LENGTHS, FINDER, STEPS, bar=False)
    assert [row["loss"] for row in again["losses"]] == [row["loss"] for row in tables["losses"]]
    assert again["needles"] == tables["needles"]


def test_needles_are_asked_at_every_depth_and_length(tables):
    rows = pd.DataFrame(tables["needles"])
    assert len(rows) == len(stretching_needles.WAYS) * 4 * len(stretching_needles.DEPTHS)
    assert sorted(set(rows["read"])) == [8, 16, 32, 64]
    assert rows.accuracy.between(0, 1).all()


@pytest.mark.parametrize("depth", stretching_needles.DEPTHS)
def test_the_answer_stands_after_the_marker_at_its_depth(depth):
    tokens, targets = stretching_needles.needle(32, depth, 5)
    marked = tokens == task_lengths.SYMBOLS
    assert (marked.sum(1) == 1).all()
    at = int(marked[0].nonzero())
    assert torch.equal(targets[:, -1], tokens[:, at + 1])
    assert at == {0.0: 29, 1.0: 0}.get(depth, at)
    assert (targets[:, :-1] < 0).all()


def test_the_command_plans_one_run_a_seed_of_rope_alone():
    given = command.parser().parse_args(["stretching", "--seeds", "3", "4"])
    keys = [key for key, _ in command.jobs(given)]
    assert [(key["encoding"], key["seed"]) for key in keys] == [("rope", 3), ("rope", 4)]
    assert keys[0]["experiment"] == "stretching" and keys[0] != keys[1]


def test_a_result_is_found_again_under_its_key(tmp_path):
    key, _ = stretching_runs.jobs([MADE], CORPUS, LENGTHS, FINDER, STEPS)[0]
    store = Store(tmp_path)
    store.write(key, {"losses": [], "needles": []})
    assert store.load(key) == {"losses": [], "needles": []}


def test_a_pair_that_went_round_has_no_new_angles():
    plain = torch.tensor([1.0, 0.01])
    assert explorers.unseen(plain, plain, 64, 512).tolist() == [False, True]
    assert explorers.unseen(plain, plain / 8, 64, 512).tolist() == [False, False]


WITHOUT_ROPE = TinyTransformer(5, "none", 16, 1)
test_bad_input_names_the_argument_and_what_it_got = bad_calls(
    [
        (lambda: stretching_runs.jobs([Recipe("alibi")], CORPUS), ValueError, "encoding", "alibi"),
        (lambda: stretching_runs.run(Recipe("none"), CORPUS), ValueError, "encoding", "none"),
        (lambda: stretching_runs.jobs([Recipe("rope")], CORPUS, [32]), ValueError, "lengths", "32"),
        (lambda: stretching_runs.run(MADE, b"short", LENGTHS), ValueError, "ids", "got 5"),
        (lambda: stretching.way_to_stretch("yarn", 8, 64, 32), ValueError, "way", "yarn", "YaRN"),
        (lambda: stretching.way_to_stretch("YaRN", 0.0, 64, 32), ValueError, "factor", "0.0"),
        (lambda: stretching.stretched(WITHOUT_ROPE, "YaRN", 2, 8), TypeError, "RoPE", "NoEncoding"),
        (lambda: stretching_needles.needle(2, 0.5), ValueError, "length", "got 2"),
        (lambda: stretching_needles.needle(8, 1.5), ValueError, "depth", "1.5"),
    ]
)


# Clamped, and hand by hand


def test_clamped_attention_is_plain_within_reach_and_sees_all_keys_alike_beyond():
    plain = TinyTransformer(16, "rope", d_model=16, n_layers=1, n_heads=2).eval()
    clamped = plain.changed(encoding=stretching.ClampedRotary, farthest=5)
    tokens = torch.randint(16, (1, 12), generator=torch.Generator().manual_seed(0))
    swapped = tokens[:, [1, 0, *range(2, 12)]]  # 10 and 11 back for the last query
    with torch.no_grad():
        near = [model(tokens[:, :6]) for model in (plain, clamped)]
        last = [model(row)[:, -1] for model in (clamped, plain) for row in (tokens, swapped)]
    torch.testing.assert_close(*near, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(*last[:2], atol=1e-5, rtol=1e-4)
    plain_last, plain_swapped = last[2:]
    assert not torch.allclose(plain_last, plain_swapped, atol=1e-5)


def test_shipped_rows_of_single_hands_are_those_of_the_shipped_models():
    table = data.results("stretching_hands")
    model, blocks = shipped.model("rope", seed=1), text.split(text.documentation()).held_out
    readers = dict(stretched_hands.readers(model, 64))
    assert set(table.way) == set(readers) and set(table.seed) == set(shipped.SEEDS["rope"])
    block = blocks[2:3, : stretched_hands.BYTES]
    for way in ("direct", "pair 5", "clamped 63"):
        loss, judged = sliding_loss(readers[way], block, 512, stretched_hands.LONGEST)
        row = table.query("seed == 1 and text == 2 and read == 512 and way == @way")
        assert row.loss.item() == pytest.approx(loss, abs=2e-3) and row.judged.item() == judged


def test_refitted_rows_are_of_all_ways_and_their_judged_bytes_are_those_of_the_other_table():
    table = data.results("stretching_refitted")
    assert set(table.seed) == set(shipped.SEEDS["rope"])
    assert set(table.way) == set(stretching.WAYS)
    assert set(table.judged) == set(data.results("stretching").judged)
    recipe = stretching_refitted.RECIPE
    assert stretching_refitted.TRAINED == shipped.length("rope") == recipe.length
    has_factor = ~table.way.isin(stretching.WITHOUT_FACTOR)
    assert (table[has_factor].groupby(["seed", "way"]).factor.nunique() == 2).all()
    assert set(table[~has_factor].factor) == {1}


def test_dynamic_ntk_is_ntk_aware_with_the_factor_that_fits():
    """Both were trained on with the same frequencies, and are read with the same."""
    table = data.results("stretching_refitted").query("read == 1024").set_index("seed")
    dynamic = table.query("way == 'dynamic NTK'").loss
    fitted = table.query("way == 'NTK-aware' and factor == 16").loss
    assert dynamic.to_dict() == pytest.approx(fitted.to_dict(), abs=2e-3)
