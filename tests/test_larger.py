"""The larger experiments: what is judged, what is hidden, what is learned from."""

import dataclasses
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_experiments import __main__ as command
from course_experiments import both_ways, extrapolation, larger_runs
from course_experiments.__main__ import EXPERIMENTS
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe
from course_utils.results import AS_TRAINED
from course_utils.texts import data, text
from course_utils.texts.tasks import IGNORED_TARGET

CORPUS = bytes(torch.randint(97, 123, (70_000,), generator=torch.Generator()).tolist())
BLOCKS = text.split(text.from_bytes(CORPUS)).held_out
TINY = Recipe("rope", length=8, steps=3, batch=2, d_model=16, n_layers=1, n_heads=2)


@pytest.fixture(scope="module")
def source():
    return larger_runs.standard_library()


@pytest.mark.parametrize("encoding", both_ways.ENCODINGS)
def test_every_encoding_can_be_trained_both_ways_and_read_long(encoding):
    rows = both_ways.run(
        dataclasses.replace(TINY, encoding=encoding), CORPUS, (4, 8, 32), bar=False
    )
    assert [row["read"] for row in rows["losses"]] == [4, 8, 32]
    assert all(np.isfinite(row["loss"]) and row["loss"] < 9 for row in rows["losses"])
    assert len({row["judged"] for row in rows["losses"]}) == 1


def test_models_that_look_both_ways_learn_at_a_rate_of_their_own_if_no_other_is_asked_for():
    words = ["both-ways", "--encodings", "t5", "--seeds", "0"]
    (usual,) = command.recipes(command.parser().parse_args(words))
    (other,) = command.recipes(command.parser().parse_args([*words, "--lr", "0.1"]))
    assert (usual.lr, other.lr) == (1e-3, 0.1)


def test_a_model_that_looks_both_ways_uses_what_stands_after_a_hidden_byte():
    known = text.split(text.from_bytes(CORPUS))
    model = both_ways.learn(TINY, known, torch.device("cpu"), bar=False)
    tokens = torch.tensor([[97, both_ways.MASK, 98, 99]])
    changed = tokens.clone()
    changed[0, 3] = 120
    assert not torch.equal(model(tokens)[0, 1], model(changed)[0, 1])


@given(st.sampled_from([4, 8, 16, 32, 64]), st.sampled_from([64, 128]))
def test_the_same_bytes_are_asked_at_every_length_and_each_has_text_on_both_sides(length, longest):
    numbered = torch.arange(BLOCKS.numel()).view_as(BLOCKS)  # each byte its own id
    short = both_ways.windows(numbered, length, longest)
    whole = both_ways.windows(numbered, longest, longest)
    bytes_asked = [
        Counter(examples.targets[examples.targets != IGNORED_TARGET].tolist())
        for examples in (short, whole)
    ]
    assert bytes_asked[0] == bytes_asked[1] and max(bytes_asked[0].values()) == 1
    places = (short.targets != IGNORED_TARGET).nonzero()[:, 1]
    assert places.min() >= length // 4 and places.max() < length - length // 4


def test_what_is_asked_is_hidden_and_nothing_else_of_a_window_is_new():
    numbered = torch.arange(BLOCKS.numel()).view_as(BLOCKS) + 1000
    tokens, targets = both_ways.windows(numbered, 16, 64)
    assert (tokens[targets != IGNORED_TARGET] == both_ways.MASK).all()
    shown = tokens != both_ways.MASK
    steps = tokens.diff(dim=1)[shown[:, 1:] & shown[:, :-1]]
    assert (steps == 1).all()  # pieces of the text, in order
    share = 1 - shown.float().mean()
    assert 0.1 < share < 0.2


def test_one_byte_at_least_of_each_row_is_hidden():
    rows = torch.zeros(500, 2, dtype=torch.long)
    hidden = both_ways.hide(rows, torch.Generator().manual_seed(0)).targets != IGNORED_TARGET
    assert hidden.any(1).all() and not hidden.all()


def test_what_is_read_from_kept_weights_is_what_the_trained_model_read():
    first, weights = both_ways.measured(None, TINY, CORPUS, (4, 8), bar=False)
    again, _ = both_ways.measured(weights, TINY, CORPUS, (4, 8), bar=False)
    assert again == first


def test_no_line_of_the_held_out_source_code_that_says_something_is_learned(source):
    train, held_out = text.split(text.from_bytes(source))
    learned = set(bytes(train.tolist()).splitlines())
    assert held_out.shape == (larger_runs.HELD_OUT_BLOCKS, text.BLOCK)
    for block in held_out:
        lines = bytes(block.tolist()).splitlines()[1:-1]
        long_lines = [line.strip() for line in lines if len(line.strip()) > 50]
        assert sum(line in learned for line in long_lines) <= 0.1 * len(long_lines)


def test_the_source_code_is_the_same_each_time_and_no_file_comes_twice(source):
    assert larger_runs.standard_library() == source
    assert len(source) == larger_runs.HELD_OUT_BLOCKS * text.EVERY * text.BLOCK
    text.from_bytes(source)


def test_the_larger_sizes_are_longer_pieces_more_steps_and_another_text(monkeypatch):
    monkeypatch.setattr(larger_runs, "standard_library", lambda: CORPUS[::-1])
    recipes = [
        dataclasses.replace(TINY, encoding=name, seed=seed, batch=8)
        for seed in (0, 1, 2)
        for name in ("sinusoidal", "rope")
    ]
    keys = [key for key, _ in larger_runs.jobs(recipes, CORPUS, (8, 16))]
    counts = Counter((key["length"], key["batch"], key["steps"]) for key in keys)
    assert counts == {(8, 8, 3): 6, (32, 2, 3): 6, (8, 8, 30): 2}
    assert len({key["corpus"] for key in keys}) == 2
    plain = extrapolation.jobs(recipes[:1], CORPUS[::-1], (8, 16))[0][0]
    assert keys[0] == plain  # a run of one experiment is that of the other


def test_the_shipped_table_has_every_run_at_every_length_on_the_same_bytes():
    rows, usual = data.results("larger"), data.results("extrapolation").iloc[0]
    rows = rows[rows["reading"] == AS_TRAINED]
    assert set(rows["judged"]) == {usual["judged"]}
    parts = {
        "longer": rows[rows["length"] == larger_runs.LENGTH_FACTOR * usual["length"]],
        "more steps": rows[rows["steps"] == larger_runs.STEPS_FACTOR * usual["steps"]],
        "another text": rows[rows["corpus"] != usual["corpus"]],
    }
    assert sum(map(len, parts.values())) == len(rows)
    for name, part in parts.items():
        steps = name == "more steps"
        seeds = range(larger_runs.MOST_SEEDS if steps else 3)
        names = set(larger_runs.ENCODINGS) - ({"sinusoidal"} if steps else set())
        expected = {(*run, n) for run in product(names, seeds) for n in extrapolation.LENGTHS}
        runs = list(part[["encoding", "seed", "read"]].itertuples(index=False, name=None))
        assert len(runs) == len(expected) and set(runs) == expected, name


def test_the_command_knows_them():
    assert {"larger", "both-ways"} <= set(EXPERIMENTS)
    model = TinyTransformer(**{"encoding": "rope", **both_ways.CHANGES})
    assert model.vocab_size == both_ways.MASK + 1
