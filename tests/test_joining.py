"""Joining word and place, as lesson 09's second closer look compares it."""

import pandas as pd
import pytest
import torch

from course_experiments import joining_runs
from course_experiments.joining import OPERATIONS, Joined
from course_utils.texts import data

SIZES = {"d_model": 64, "n_heads": 4, "max_len": 128}


def joined(operation, std=0.5):
    torch.manual_seed(0)
    return Joined(**SIZES, operation=operation, std=std).requires_grad_(False)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("std", [0.02, 0.5, 1.0])
def test_every_operation_changes_words_by_the_size_of_the_table_at_first(operation, std):
    encoding, words = joined(operation, std), torch.randn(8, 128, 64)
    change = encoding.embed(words, torch.arange(128)) - words
    assert float(change.square().mean().sqrt()) == pytest.approx(std, rel=0.1)


@pytest.mark.parametrize("operation", ["product", "bilinear"])
def test_product_and_bilinear_are_linear_in_the_word_and_in_the_place(operation):
    encoding, words, positions = joined(operation), torch.randn(1, 128, 64), torch.arange(128)
    change = encoding.embed(words, positions) - words
    torch.testing.assert_close(encoding.embed(3 * words, positions) - 3 * words, 3 * change)
    encoding.table *= 3
    torch.testing.assert_close(encoding.embed(words, positions) - words, 3 * change)


def test_bilinear_and_its_control_have_equally_many_parameters():
    counts = {
        operation: sum(parameter.numel() for parameter in joined(operation).parameters())
        for operation in OPERATIONS
    }
    assert counts["bilinear"] == counts["projected sum"] == counts["sum"] + 3 * 64**2
    assert counts["sum"] == counts["product"] == 128 * 64


def test_an_unknown_operation_is_refused():
    with pytest.raises(ValueError, match="operation .quotient. is unknown"):
        Joined(**SIZES, operation="quotient")


def test_the_shipped_table_has_every_setting_with_five_seeds():
    table = data.results("joining")
    counts = table.groupby(["operation", "std", "lr"]).size()
    assert len(counts) == len(OPERATIONS) * len(joining_runs.STDS) * 2
    assert set(counts) == {5}


def test_the_command_writes_one_table_of_all_runs(tmp_path, capsys):
    recipe = "--seeds 0 --lr 0.002 --steps 1 --d-model 8 --n-layers 1 --jobs 1"
    assert joining_runs.main(tmp_path, recipe) == 0
    table = pd.read_csv(tmp_path / "joining.csv")
    assert list(table["operation"].unique()) == list(OPERATIONS)
    assert len(table) == len(OPERATIONS) * len(joining_runs.STDS)
    shipped = data.results("joining").columns
    assert list(table.columns) == list(shipped)
