"""Lint notices a misspelt name, and runs before each commit without fetching anything."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PLANTED = """\
{first}


def halved(values: {kind}) -> {kind}:
    return {name}
"""
SHAPED = {"first": "from jaxtyping import Float\nfrom torch import Tensor",
          "kind": 'Float[Tensor, " seq"]'}  # fmt: skip
PLAIN = {"first": "NOUGHT = 0.0", "kind": "float"}  # mypy would read all of PyTorch for a tensor
TOOLS = {
    "ruff": (["check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), "--ignore", "D"],
             "F821", SHAPED),
    "mypy": (["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", os.devnull],
             "name-defined", PLAIN),
}  # fmt: skip


@pytest.mark.parametrize("tool", TOOLS)
def test_a_misspelt_name_is_noticed_and_a_shape_of_one_name_is_not(tool, tmp_path):
    if not importlib.util.find_spec(tool):
        pytest.skip(f"{tool} comes with make lint")
    options, rule, parts = TOOLS[tool]
    told = {}
    for name in ("values", "vlaues"):
        path = tmp_path / f"planted_{name}.py"
        path.write_text(PLANTED.format(name=name, **parts), encoding="utf-8")
        command = [sys.executable, "-m", tool, *options, str(path)]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
        told[name] = (run.returncode, run.stdout + run.stderr)
    assert told["values"][0] == 0, told["values"][1]
    assert told["vlaues"][0] == 1
    assert rule in told["vlaues"][1] and "vlaues" in told["vlaues"][1]


def test_hooks_fetch_nothing_and_run_targets_of_the_makefile():
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [repo["repo"] for repo in config["repos"]] == ["local"]
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    for hook in hooks:
        command, target = hook["entry"].split()
        assert command == "make" and f"\n{target}:\n" in makefile
