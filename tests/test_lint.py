"""Lint notices a misspelt name; pre-commit runs it and downloads nothing."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pairwise import some

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = str(ROOT / "pyproject.toml")
SHAPED = """\
from jaxtyping import Float
from torch import Tensor


def halved(values: Float[Tensor, " seq"]) -> Float[Tensor, " seq"]:
    return {}
"""
PLAIN = (
    "def halved(values: float) -> float:\n    return {}\n"  # mypy would read PyTorch for a tensor
)
# Each tool with its options, the rule that names the mistake and a function to make it in.
TOOLS = {
    "ruff": (["check", "--no-cache", "--config", SETTINGS, "--ignore", "D"], "F821", SHAPED),
    "mypy": (["--config-file", SETTINGS, "--cache-dir", os.devnull], "name-defined", PLAIN),
}


@some("tool", list(TOOLS), quick=["ruff"])
def test_a_misspelt_name_is_noticed_and_a_shape_of_one_name_is_not(tool, tmp_path):
    if not importlib.util.find_spec(tool):
        pytest.skip(f"{tool} comes with make lint")
    options, rule, function = TOOLS[tool]
    runs = {}
    for name in ("values", "vlaues"):
        path = tmp_path / f"planted_{name}.py"
        path.write_text(function.format(name), encoding="utf-8")
        command = [sys.executable, "-m", tool, *options, str(path)]
        runs[name] = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert runs["values"].returncode == 0, runs["values"].stdout
    assert runs["vlaues"].returncode == 1
    assert rule in runs["vlaues"].stdout and "vlaues" in runs["vlaues"].stdout


def test_hooks_fetch_nothing_and_run_targets_of_the_makefile():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    for hook in hooks:
        command, target = hook["entry"].split()
        assert command == "make" and f"\n{target}:\n" in makefile
