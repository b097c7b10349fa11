"""The long experiments: fair between encodings, repeatable, and what their tables say is so."""

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from bad_calls import bad_calls
from hypothesis import given
from hypothesis import strategies as st
from pairwise import some
from safetensors.torch import load_file
from scipy import stats

from course_experiments import (
    checkpoints,
    extrapolation,
    figure,
    kept_weights,
    run_keys,
    stretching_runs,
    task_lengths,
)
from course_experiments.__main__ import EXPERIMENTS
from course_experiments.plugins import import_encoding
from course_utils import plots, results
from course_utils.encodings import NAMES, maker_of
from course_utils.encodings.functional import t5_bucket
from course_utils.encodings.learned import Learned
from course_utils.encodings.shaw import Shaw
from course_utils.encodings.t5 import T5
from course_utils.measures import trained_models
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import Block, TinyTransformer, from_file, saving, shipped, training
from course_utils.models.training import Recipe
from course_utils.texts import data, text

CPU = torch.device("cpu")
CORPUS = bytes(torch.randint(97, 123, (70_000,), generator=torch.Generator()).tolist())
TINY = {"length": 8, "steps": 3, "batch": 2, "d_model": 16, "n_layers": 1, "n_heads": 2}
LENGTHS = (4, 8, 32)


def tiny(encoding="rope", **changes):
    return Recipe(encoding, **TINY | changes)


def losses(recipe):
    """The losses of a short run, by reading and length."""
    rows = extrapolation.run(recipe, CORPUS, LENGTHS, bar=False)["losses"]
    return {(row["reading"], row["read"]): row["loss"] for row in rows}


@pytest.fixture
def known():
    return text.split(text.from_bytes(CORPUS))


A_FEW = some("encoding", NAMES, quick=("none", "learned", "rope", "t5", "floater"))


@A_FEW
def test_every_encoding_can_be_trained_short_and_read_long(encoding):
    tables = extrapolation.run(tiny(encoding), CORPUS, LENGTHS, bar=False)
    assert all(np.isfinite(row["loss"]) and row["loss"] < 9 for row in tables["losses"])
    lengths = [row["read"] for row in tables["losses"] if row["reading"] == "as trained"]
    assert lengths == list(LENGTHS)


def test_a_run_can_be_repeated_and_another_seed_is_another_run():
    first, again, other = (losses(tiny(seed=seed)) for seed in (0, 0, 1))
    assert first == again
    assert all(first[case] != other[case] for case in first)


def test_all_encodings_learn_from_the_same_pieces_in_the_same_order(known, monkeypatch):
    seen: dict[str, list] = {}
    draw = text.draw

    def recorded(*args, **kwargs):
        examples = draw(*args, **kwargs)
        seen.setdefault(encoding, []).append(examples.tokens)
        return examples

    monkeypatch.setattr(text, "draw", recorded)
    for encoding in ("none", "learned", "t5"):  # drawn under the name of each
        training.train_on_text(tiny(encoding), known, CPU, bar=False)
    assert torch.equal(torch.stack(seen["none"]), torch.stack(seen["learned"]))
    assert torch.equal(torch.stack(seen["none"]), torch.stack(seen["t5"]))
    assert not torch.equal(seen["none"][0], seen["none"][1])


def test_each_seed_has_its_own_weights():
    first, other = (training.build(tiny(seed=seed)).embedding.weight for seed in (0, 1))
    assert not torch.equal(first, other)


def test_each_reading_is_read_by_its_own_model():
    by_reading = losses(tiny("learned"))
    longest = [by_reading[reading, 32] for reading in ("as trained", "log-n", "interpolated")]
    assert len(set(longest)) == 3


def test_t5s_numbers_move_faster_than_the_learning_rate_allows(known):
    recipe = tiny("t5", steps=40)
    model = training.train_on_text(recipe, known, CPU, bar=False)
    before = training.build(recipe).state_dict()["encoding.table"]
    moved = (model.state_dict()["encoding.table"] - before).abs().max()
    assert moved > 2 * recipe.lr * recipe.steps


def assert_same_weights(model, other):
    torch.testing.assert_close(model.state_dict(), other.state_dict(), rtol=0, atol=0)


def heir(parent, **attributes):
    """A class with another name and other attributes."""
    return type("Renamed", (parent,), attributes)


def test_an_encoding_learns_as_fast_whoever_makes_it(known, scheme):
    scheme("renamed", lambda *sizes, **more: T5(*sizes))
    model = training.train_on_text(tiny("renamed", steps=20), known, CPU, bar=False)
    assert training.learning_rates(model) == {"encoding.table": 30.0}


@pytest.mark.parametrize("maker", [T5, heir(T5), partial(T5)])
def test_the_courses_t5_is_trained_alike_under_another_name(maker, known, scheme):
    scheme("renamed", maker)
    recipes = [tiny(name, steps=20) for name in ("t5", "renamed")]
    assert training.encoding_options(recipes[0]) == training.encoding_options(recipes[1])
    models = [training.train_on_text(recipe, known, CPU, bar=False) for recipe in recipes]
    assert training.learning_rates(models[1]) == {"encoding.table": 30.0}
    assert_same_weights(*models)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_has_the_fair_options_of_a_course_encoding_whatever_its_name(name, scheme):
    scheme("renamed", heir(maker_of(name)))
    keys = [run_keys.key("any", tiny(encoding)) for encoding in (name, "renamed")]
    assert keys[0]["built_with"] == keys[1]["built_with"]


def test_a_learned_table_under_another_name_is_interpolated_too(scheme):
    scheme("renamed", heir(Learned))
    model = training.build(tiny("renamed"))
    assert "interpolated" in extrapolation.readings(tiny("renamed"), model)


def test_a_class_that_names_its_own_learning_rates_is_obeyed(known, scheme):
    scheme("slow", heir(T5, learning_rates={"table": 1.0}))
    recipes = [tiny(name, steps=20) for name in ("t5", "slow")]
    models = [training.train_on_text(recipe, known, CPU, bar=False) for recipe in recipes]
    assert training.learning_rates(models[1]) == {"encoding.table": 1.0}
    start = training.build(tiny("t5")).state_dict()["encoding.table"]
    moved = [(model.state_dict()["encoding.table"] - start).abs().max() for model in models]
    assert moved[1] < moved[0] / 10


def test_every_layer_of_an_encoding_with_one_a_layer_learns_at_its_rate(scheme):
    scheme("quick", heir(Shaw, learning_rates={"key_table": 5.0}))
    rates = training.learning_rates(training.build(tiny("quick", n_layers=2)))
    assert len(rates) == 2 and set(rates.values()) == {5.0}


def test_rows_say_which_parameters_learned_faster():
    rows = extrapolation.run(tiny("t5"), CORPUS, LENGTHS, bar=False)
    assert {row["faster"] for row in rows["losses"] + rows["positions"]} == {"encoding.table=30"}
    assert "faster" not in extrapolation.run(tiny(), CORPUS, LENGTHS, bar=False)["losses"][0]


def test_fair_options_that_a_maker_does_not_take_or_has_settled_are_left_out(scheme):
    class Narrow(T5):
        def __init__(self, d_model, n_heads, max_distance=9):
            super().__init__(d_model, n_heads, 4, max_distance)

    scheme("narrow", Narrow)
    scheme("settled", partial(T5, n_buckets=6))
    assert training.encoding_options(tiny("narrow")) == {"max_distance": 4}
    assert training.build(tiny("settled")).encoding.n_buckets == 6


def test_a_learning_rate_for_a_parameter_that_is_not_there_is_named(scheme):
    scheme("misspelt", heir(T5, learning_rates={"tabel": 2.0}))
    with pytest.raises(ValueError, match="learning_rates of Renamed.*did you mean 'table'"):
        training.learning_rates(training.build(tiny("misspelt")))


def test_a_run_that_diverged_is_not_left_out_of_a_mean():
    rows = pd.DataFrame({"encoding": ["a"] * 3, "seed": range(3), "loss": [1.0, 2.0, np.nan]})
    row = results.summary(rows, "encoding").loc["a"]
    assert np.isnan(row["mean"]) and row["seeds"] == 3


def test_models_built_at_once_in_threads_are_those_built_one_by_one():
    recipes = [tiny(seed=seed % 3, d_model=64) for seed in range(12)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(training.build, recipes))
    for model, alone in zip(together, map(training.build, recipes), strict=True):
        assert_same_weights(model, alone)


def test_building_leaves_the_callers_random_numbers_alone():
    before = torch.get_rng_state()
    training.build(tiny())
    assert torch.equal(torch.get_rng_state(), before)


@given(st.integers(4, 512))
def test_t5s_last_bucket_takes_a_quarter_of_the_trained_distances_or_more(length):
    chosen = T5.fair_options(length)
    buckets = t5_bucket(-torch.arange(10 * length), **chosen, bidirectional=False)
    assert int(buckets.max()) == chosen["n_buckets"] - 1
    assert int((buckets[:length] == buckets.max()).sum()) >= length / 4


@pytest.mark.parametrize("encoding", ["learned", "multiplicative"])
def test_every_row_of_a_learned_table_is_trained(encoding):
    model = training.build(tiny(encoding))
    tokens = torch.randint(256, (2, 8))
    model(tokens).square().mean().backward()
    table = dict(model.encoding.named_parameters())["table"]
    assert table.shape[0] == 8
    assert table.grad is not None and bool((table.grad.abs().sum(1) > 0).all())


def test_the_loss_of_a_length_is_that_of_each_judged_byte_read_alone():
    model = training.build(tiny()).eval()
    block = text.from_bytes(CORPUS)[None, :101]
    loss, judged = sliding_loss(model, block, 8, 32)
    alone = []
    for place in range(16, 96):  # half of 32, to the end of the last window of 32
        start = place - place % 4 - 4
        with torch.no_grad():
            logits = model(block[:, start : place + 1])[0, -1]
        alone.append(float(-logits.log_softmax(-1)[block[0, place + 1]]))
    assert judged == len(alone)
    assert loss == pytest.approx(np.mean(alone), abs=1e-5)


@given(st.integers(65, 400))
def test_the_same_bytes_are_judged_at_every_length(size):
    judged = []

    def remember(model, examples):
        judged.append(sorted(examples.targets[examples.targets >= 0].tolist()))
        return torch.zeros_like(examples.targets, dtype=torch.float32)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trained_models, "losses", remember)
        for n in (2, 8, 16, 64):
            sliding_loss(training.build(tiny()), torch.arange(size)[None], n, 64)
    assert judged[0] and all(targets == judged[0] for targets in judged)
    assert len(set(judged[0])) == len(judged[0])


def test_log_n_and_interpolation_are_read_from_the_same_trained_weights():
    model = training.build(tiny("learned"))
    table = dict(model.encoding.named_parameters())["table"]
    with torch.no_grad():
        table.add_(1)  # as if trained
    readers = extrapolation.readings(tiny("learned"), model)
    assert set(readers) == {"as trained", "log-n", "interpolated"}
    for reader in readers.values():
        assert torch.equal(reader.encoding.state_dict()["table"], table)
    first = readers["log-n"].blocks[0]
    assert isinstance(first, Block) and first.attention.log_n == 8
    assert readers["interpolated"].encoding.beyond == "interpolate"


def test_the_rows_by_position_average_to_the_loss_of_whole_pieces(known):
    rows = extrapolation.run(tiny(), CORPUS, (4, 256), bar=False)["positions"]
    bounds = [(row["first"], row["last"]) for row in rows]
    assert bounds == [(0, 63), (64, 127), (128, 191), (192, 255)]
    model = training.train_on_text(tiny(), known, CPU, bar=False)
    blocks = text.spread(known.held_out, extrapolation.POSITION_BLOCKS)
    whole = trained_models.losses(model, text.pieces(blocks, length=256)).mean()
    assert np.mean([row["loss"] for row in rows]) == pytest.approx(float(whole), abs=1e-4)


@pytest.mark.parametrize("task", task_lengths.TASKS)
def test_a_task_is_asked_at_one_to_eight_times_the_trained_length(task):
    rows = task_lengths.run(tiny(length=16, steps=2), task, bar=False)["accuracies"]
    assert [row["read"] for row in rows] == [16, 32, 64, 128]
    assert all(0 <= row["accuracy"] <= 1 for row in rows)


@pytest.mark.thorough
def test_a_task_that_needs_no_position_is_learned_and_solved_at_any_length():
    recipe = tiny("alibi", length=16, steps=300, batch=32, d_model=64, n_layers=2, lr=5e-3)
    rows = task_lengths.run(recipe, "find", bar=False)["accuracies"]
    assert rows[0]["accuracy"] > 0.6  # by chance 1 in 16
    assert rows[1]["accuracy"] > 0.4


def test_no_training_row_is_longer_than_the_trained_length(monkeypatch):
    seen = []
    forward = TinyTransformer.forward

    def recorded(model, tokens, *args, **kwargs):
        if model.training:
            seen.append(tokens.shape[1])
        return forward(model, tokens, *args, **kwargs)

    monkeypatch.setattr(TinyTransformer, "forward", recorded)
    task_lengths.run(tiny(length=16, steps=60), "copy", bar=False)
    assert (min(seen), max(seen)) == (6, 16)


@pytest.mark.parametrize("encoding", shipped.NAMES)
def test_a_checkpoint_in_float16_reads_as_the_model_that_was_saved(encoding, known, tmp_path):
    path, new = checkpoints.make(tiny(encoding), known, tmp_path, CPU)
    assert new
    assert {tensor.dtype for tensor in load_file(path).values()} == {torch.float16}
    saved, recipe = from_file(path), Recipe(**saving.about(path)["notes"]["recipe"])
    assert recipe == tiny(encoding)
    model = training.train_on_text(recipe, known, CPU, bar=False)
    tokens = torch.randint(256, (2, 8), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        torch.testing.assert_close(saved(tokens), model(tokens), atol=2e-2, rtol=1e-2)


def test_a_checkpoint_is_made_once_and_again_for_another_recipe(known, tmp_path):
    assert checkpoints.make(tiny(), known, tmp_path, CPU)[1]
    assert not checkpoints.make(tiny(), known, tmp_path, CPU)[1]
    assert checkpoints.make(tiny(steps=4), known, tmp_path, CPU)[1]
    (tmp_path / "model_rope.safetensors").write_bytes(b"damaged")
    assert checkpoints.make(tiny(steps=4), known, tmp_path, CPU)[1]


def test_fire_is_started_at_a_quarter_of_its_length_and_its_rows_say_so():
    ((plain_key, plain),) = extrapolation.jobs([tiny("fire")], CORPUS, LENGTHS)
    ((early_key, early),) = extrapolation.fire_jobs([tiny("fire")], CORPUS, LENGTHS)
    assert plain_key != early_key
    late_rows, early_rows = plain()["losses"], early()["losses"]
    assert {row["original_len"] for row in early_rows} == {2}
    assert "original_len" not in late_rows[0]
    same = [a["loss"] == b["loss"] for a, b in zip(late_rows, early_rows, strict=True)]
    assert not all(same)


def test_options_are_given_to_the_encoding_before_the_usual_ones():
    assert training.build(tiny("cope", options={"n_positions": 3})).encoding.n_positions == 3
    assert training.build(tiny("cope")).encoding.n_positions == 8
    usual = training.build(tiny("t5")).encoding.options
    both = tiny("t5", options={"n_buckets": 4})
    assert training.build(both).encoding.options == usual | {"n_buckets": 4, "max_distance": 4}


def test_options_are_hashable_readable_and_part_of_the_key():
    plain, given = tiny("kerple"), tiny("kerple", options={"kind": "power", "inside_scale": True})
    assert given == tiny("kerple", options=(("inside_scale", True), ("kind", "power")))
    assert len({plain, given}) == 2
    assert run_keys.recipe_columns(given)["options"] == 'inside_scale=true, kind="power"'
    assert "options" not in run_keys.recipe_columns(plain)
    first, second = (run_keys.key("any", recipe) for recipe in (plain, given))
    assert first != second and json.loads(json.dumps(second)) == second
    assert second["built_with"] == {"inside_scale": True, "kind": "power"}


def test_a_key_knows_the_code_of_the_encodings_classes_but_not_of_all():
    modules = run_keys.key("any", tiny("xpos"))["code"]
    assert list(modules) == ["course_utils.encodings.rope", "course_utils.encodings.xpos"]
    assert run_keys.key("any", tiny("none"))["code"] == {}


def test_the_code_of_what_a_function_makes_counts_too(tmp_path, monkeypatch, scheme):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kin.py").write_text("class Mixin:\n    factor = 1\n")
    (tmp_path / "made.py").write_text(
        "from functools import partial\nfrom course_utils.encodings import ALiBi\n"
        "from kin import Mixin\nclass Own(Mixin, ALiBi): ...\n"
        "def make(d_model, n_heads):\n    return Own(d_model, n_heads)\n"
        "half = partial(make)\nsame = partial(ALiBi)\n"
    )
    import_encoding("made:same")
    assert list(run_keys.key("any", tiny("made:same"))["code"])[1:] == ["made"]
    for name in ("made:make", "made:half", "made:Own"):
        import_encoding(name)
        code = run_keys.key("any", tiny(name))["code"]
        assert {"course_utils.encodings.alibi", "kin", "made"} == set(code)


@given(st.sampled_from(shipped.NAMES))
def test_weights_that_were_packed_are_those_of_the_model(encoding):
    model, other = (training.build(tiny(encoding, n_layers=2, seed=seed)) for seed in (0, 1))
    content = kept_weights.packed(model, {"seconds": 1.5})
    assert kept_weights.unpack(content, other) == {"seconds": 1.5}
    assert_same_weights(model, other)
    assert len(content) <= kept_weights.weights_bytes(tiny(encoding, n_layers=2))
    with pytest.raises(ValueError, match="kept weights"):
        kept_weights.unpack(content, training.build(tiny("t5", n_layers=1)))


@A_FEW
def test_what_is_read_from_kept_weights_is_what_the_trained_model_read(encoding):
    of = {"recipe": tiny(encoding), "corpus": CORPUS, "lengths": LENGTHS, "bar": False}
    first, weights = extrapolation.measured(None, **of)
    again, same = extrapolation.measured(weights, **of)
    assert again == first and same is weights


@pytest.fixture
def drawn(monkeypatch):
    """The axes that curves were drawn into."""
    axes: list = []
    seed_curves = plots.seed_curves

    def recorded(ax, *args, **kwargs):
        axes.append(ax)
        seed_curves(ax, *args, **kwargs)

    monkeypatch.setattr(plots, "seed_curves", recorded)
    return axes


def drawn_rows(name):
    """The shipped rows of an experiment that its figure shows, once drawn."""
    rows, experiment = data.results(name.replace("-", "_")), EXPERIMENTS[name]
    if "reading" in rows:
        rows = rows[rows["reading"] == results.AS_TRAINED]
    png = figure.draw(rows, experiment.column, experiment.unit, experiment.across)
    assert png.startswith(b"\x89PNG")
    return rows


@pytest.mark.parametrize(
    ("name", "panels", "lines"),
    [("extrapolation", 1, 17), ("tasks", 3, 51), ("learning-rates", 1, 17), ("stretching", 2, 17)],
)
def test_a_figure_has_a_line_an_encoding_or_way_whatever_the_tables_columns(
    name, panels, lines, drawn
):
    drawn_rows(name)
    assert len(drawn) == panels and sum(len(ax.containers) for ax in drawn) == lines


def test_a_figure_shows_the_means_of_its_table(drawn):
    rows = drawn_rows("stretching")
    curves = {bars.get_label(): bars.lines[0] for bars in drawn[1].containers}
    control = rows[(rows["way"] == "direct") & (rows["tuned_at"] == 64)]
    means = control.groupby("read")["loss"].mean()
    assert list(curves["direct, tuned at 64"].get_ydata()) == pytest.approx(list(means))


def test_a_figure_of_runs_that_diverged_is_drawn_all_the_same():
    rows = pd.DataFrame({"encoding": "a", "seed": [0, 0], "length": 8, "read": [8, 16]})
    for losses in ([np.nan, np.nan], [1.0, np.inf], [2.0, 2.0]):
        assert figure.draw(rows.assign(loss=losses), "loss", "nats", "read")


def test_a_summary_has_the_mean_its_standard_error_and_half_of_its_interval():
    rows = pd.DataFrame(
        {"encoding": list("aaabb"), "seed": [0, 1, 2, 0, 1], "loss": [1.0, 2.0, 4.0, 5.0, 5.0]}
    )
    means = results.summary(rows, "encoding")
    assert means.loc["a", "mean"] == pytest.approx(7 / 3)
    assert means.loc["a", "error"] == pytest.approx(np.std([1, 2, 4], ddof=1) / 3**0.5)
    low, high = stats.t.interval(0.95, 2, *list(means.loc["a"])[:2])
    assert means.loc["a", "margin"] == pytest.approx((high - low) / 2, rel=1e-5)
    assert list(means.loc["b"]) == [5.0, 0.0, 0.0, 2]
    ends = results.interval(rows[rows["encoding"] == "a"]["loss"])
    assert ends == pytest.approx((low, high), rel=1e-5)


def test_a_summary_refuses_to_average_different_things():
    rows = pd.DataFrame({"encoding": ["a", "a"], "length": [1, 2], "seed": [0, 0], "loss": [1, 2]})
    with pytest.raises(ValueError, match="tell the rows of a seed apart"):
        results.summary(rows, "encoding")


def test_a_table_of_text_shows_the_interval_where_there_is_one():
    rows = pd.DataFrame(
        {"encoding": list("aab"), "length": [1, 1, 1], "seed": [0, 1, 0], "loss": [1.0, 2.0, 3.0]}
    )
    lines = results.as_text(results.summary(rows, "encoding", "length"), "length")
    assert "1.500 ± 6.353" in lines and "3.000\n" in lines + "\n"


test_bad_input_names_the_argument_and_what_it_got = bad_calls(
    [
        (lambda: Recipe("rop"), ValueError, "encoding", "rop", "did you mean 'rope'"),
        (lambda: Recipe("rope", seed=-1), ValueError, "seed", "got -1"),
        (lambda: Recipe("rope", seed=2**32), ValueError, "seed", "4294967296"),
        (lambda: Recipe("rope", steps=0), ValueError, "steps", "got 0"),
        (lambda: Recipe("rope", length=1), ValueError, "length", "got 1"),
        (lambda: Recipe("rope", lr=0.0), ValueError, "lr", "0.0"),
        (lambda: Recipe("rope", batch=2.0), TypeError, "batch", "2.0"),  # type: ignore[arg-type]
        (lambda: Recipe("rope", options={"bas": 1}), ValueError, "option", "mean 'base'"),
        (lambda: Recipe("rope", options={"base": {}}), TypeError, "base", "dict {}"),
        (lambda: Recipe("rope", options={"base": np.nan}), ValueError, "base", "nan"),
        (lambda: Recipe("rope", options=3), TypeError, "options", "int 3"),
        (lambda: import_encoding("no:Name"), ImportError, "encoding", "No module named 'no'"),
        (lambda: import_encoding("math:sine"), ValueError, "encoding", "mean 'sin'"),
        (
            lambda: stretching_runs.jobs([Recipe("rope", options={"base": 9})], CORPUS),
            ValueError,
            "options",
            "base",
        ),
        (lambda: task_lengths.run(tiny(), "sort"), ValueError, "task", "sort", "copy"),
        (lambda: task_lengths.run(tiny(length=5), "copy"), ValueError, "length", "got 5"),
        (lambda: extrapolation.check(b"short"), ValueError, "ids", "got 5"),
        (lambda: extrapolation.check(b""), ValueError, "content", "none"),
        (lambda: extrapolation.check("text"), TypeError, "content", "str"),  # type: ignore[arg-type]
        (lambda: extrapolation.check(CORPUS, [48]), ValueError, "lengths", "got 48"),
        (lambda: extrapolation.check(CORPUS, [32, 16]), ValueError, "lengths", "got 16"),
        (lambda: extrapolation.check(CORPUS, []), ValueError, "lengths", "none"),
        (lambda: extrapolation.check(CORPUS, [8192]), ValueError, "blocks", "8192"),
    ]
)
