"""Lesson 07's band of far keys: what is seen, what is judged, and the shipped table."""

import pandas as pd
import pytest
import torch

from course_experiments import far_bands
from course_utils.models import shipped
from course_utils.texts import data, text

END = far_bands.FIRST + far_bands.BYTES


def held_out(number):
    return text.split(text.documentation()).held_out[number]


@pytest.mark.parametrize("start", far_bands.STARTS[1:])
def test_every_judged_query_sees_as_many_keys_as_in_training(start):
    seen = far_bands.visible(start).tril()[-far_bands.JUDGED :]
    assert seen.sum(-1).tolist() == [2 * far_bands.KEYS] * far_bands.JUDGED


def test_a_band_from_0_on_adds_no_key():
    seen = far_bands.visible(0).tril()[-far_bands.JUDGED :]
    assert seen.sum(-1).tolist() == [far_bands.KEYS] * far_bands.JUDGED


def test_each_byte_is_judged_once_and_follows_its_tokens():
    block = held_out(0)
    tokens, targets = far_bands.windows(block)
    assert torch.equal(targets.flatten(), block[far_bands.FIRST + 1 : END + 1])
    assert torch.equal(tokens[:, -far_bands.JUDGED + 1 :], targets[:, :-1])


def test_the_shipped_table_is_of_these_models_and_bands():
    table = data.results("far_bands")
    models = table.groupby(["encoding", "seed"], sort=False)
    expected = [(name, seed) for name, seeds in far_bands.SEEDS.items() for seed in seeds]
    assert set(models.groups) == set(expected)
    for _, rows in models:
        bands = rows.groupby("text")["first"].apply(tuple).to_dict()
        assert bands == dict.fromkeys(range(6), far_bands.STARTS)


def test_the_shipped_numbers_come_out_again():
    table = data.results("far_bands").set_index(["encoding", "seed", "text", "first"])["loss"]
    loss = far_bands.loss(shipped.model("rope", seed=1), held_out(4), 304)
    assert loss == pytest.approx(table["rope", 1, 4, 304], abs=1e-3)


def test_the_command_goes_on_where_the_table_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(far_bands, "SEEDS", {"rope": (0, 1)})
    calls = []

    def measure(encoding, seed):
        calls.append((encoding, seed))
        yield {"encoding": encoding, "seed": seed, "loss": 1.0}

    far_bands.main(tmp_path, measure)
    far_bands.main(tmp_path, measure)
    assert calls == [("rope", 0), ("rope", 1)]
    assert len(pd.read_csv(tmp_path / "far_bands.csv")) == 2
