"""Lesson 07's two suspects: keys that are hidden, and distances that are clamped."""

import pandas as pd
import pytest
import torch

from course_experiments import windows
from course_utils.encodings import Places
from course_utils.models import shipped
from course_utils.models.stretching import ClampedRotary
from course_utils.texts import data, text


@pytest.fixture(scope="module")
def rope():
    return shipped.model("rope")


def test_all_far_keys_score_as_if_they_stood_at_the_clip(rope):
    encoding = ClampedRotary(32, 1, farthest=windows.CLIP)
    q, k = torch.randn(2, 1, 1, 100, 32, generator=torch.Generator().manual_seed(1))
    same_keys = k[:, :, :1].expand_as(k)
    at = Places(torch.arange(100))
    scores = (q @ same_keys.mT) * 32**-0.5 + encoding.bias(q, same_keys, at)
    last = scores[0, 0, -1]
    torch.testing.assert_close(last[: 100 - windows.CLIP], last[:1].expand(100 - windows.CLIP))
    assert (last[100 - windows.CLIP] - last[0]).abs() > 1e-4


def test_a_window_as_wide_as_the_text_hides_nothing(rope):
    given = windows.examples(text.split(text.documentation()).held_out[0][:1400], 64)
    back = windows.distances(64)
    whole = windows.loss(rope, given)
    assert windows.loss(rope, given, windows.window(back, 64)) == pytest.approx(whole, abs=1e-4)
    assert windows.loss(rope, given, windows.window(back, 2)) > whole + 0.05


def test_weight_from_distance_0_is_all_of_it(rope):
    given = windows.examples(text.split(text.documentation()).held_out[0][:1200], 64)
    beyond = windows.weight_from(rope, given)
    torch.testing.assert_close(beyond[:, 0], torch.ones(16), atol=1e-4, rtol=0)
    assert (beyond.diff(dim=-1) <= 1e-6).all()


def test_near_and_far_leaves_as_many_keys_as_training_had():
    visible = windows.few_and_far(windows.distances(512), windows.FEW).tril()
    assert visible[256:].sum(-1).tolist() == [2 * windows.FEW] * 256


def test_the_shipped_table_is_of_these_models_and_ways():
    table = data.results("windows")
    shipped_models = set(table[["encoding", "seed"]].itertuples(index=False, name=None))
    assert shipped_models == set(windows.models())
    for (encoding, seed), rows in table.groupby(["encoding", "seed"]):
        assert seed in range(windows.SEEDS[str(encoding)])
        assert sorted(rows["text"].unique()) == list(range(6))
        at_512 = rows[(rows["read"] == 512) & (rows["way"] == "window")]
        assert sorted(at_512["keys"].unique()) == list(windows.WINDOWS)
        assert ("clamped" in set(rows["way"])) == (encoding == "rope")


def test_the_command_goes_on_where_the_table_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(windows, "models", lambda: iter([("rope", 0), ("alibi", 0)]))
    calls = []

    def measure(encoding, seed):
        calls.append(encoding)
        yield {"encoding": encoding, "seed": seed, "loss": 1.0}

    windows.main(tmp_path, measure)
    windows.main(tmp_path, measure)
    assert calls == ["rope", "alibi"]
    assert len(pd.read_csv(tmp_path / "windows.csv")) == 2
