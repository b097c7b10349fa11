"""The head of the first page's toy computes what course_utils computes, and says what it sees."""

import json
import subprocess
from pathlib import Path

import pytest
import torch
from explorer_modules import node

from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    sinusoidal_table,
)

MODULE = Path(__file__).resolve().parents[1] / "site" / "static" / "first_screen.js"
SENTENCE = ["the", "dog", "bit", "the", "man"]
SLOPE = 0.5
RUN = """
import { changes, read, ENCODINGS } from "./first_screen.mjs";
const ASKING = 2;
const words = JSON.parse(process.argv[2]), order = JSON.parse(process.argv[3]);
process.stdout.write(JSON.stringify(ENCODINGS.map((name) =>
  ({ name, ...read(words, name), ...changes(words, order, name, ASKING) }))));
"""


@pytest.fixture(scope="module")
def heads(tmp_path_factory):
    """By encoding, what the head computes, and what it notices of another order."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "first_screen.mjs").write_text(MODULE.read_text("utf-8"), encoding="utf-8")
    (folder / "main.mjs").write_text(RUN, encoding="utf-8")
    arguments = [json.dumps(SENTENCE), json.dumps([4, 1, 2, 0, 3])]
    done = subprocess.run(
        [node(), "main.mjs", *arguments], cwd=folder, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return {head["name"]: head for head in json.loads(done.stdout)}


def expected(head, name):
    """Weights and outputs by the reference's formulas, in double precision."""
    plain, W_q, W_k, W_v = (
        torch.tensor(head[key], dtype=torch.float64) for key in ("vectors", "W_q", "W_k", "W_v")
    )
    q, k, v = plain @ W_q, plain @ W_k, plain @ W_v
    positions = torch.arange(len(plain))
    if name == "RoPE":
        angles = rope_angles(positions, rope_frequencies(16).double())
        q, k = apply_rope(q, angles), apply_rope(k, angles)
    scores = q @ k.T / 4
    if name == "ALiBi":
        scores -= SLOPE * (positions[:, None] - positions).abs()
    weights = scores.softmax(-1)
    return weights, weights @ v


@pytest.mark.parametrize("name", ["no positions", "sinusoidal", "RoPE", "ALiBi"])
def test_weights_and_rows_are_those_of_the_reference(heads, name):
    weights, outputs = expected(heads[name], name)
    assert torch.allclose(torch.tensor(heads[name]["weights"]).double(), weights, atol=1e-6)
    assert torch.allclose(torch.tensor(heads[name]["outputs"]).double(), outputs, atol=1e-5)


def test_sinusoids_are_added_to_the_words(heads):
    added = torch.tensor(heads["sinusoidal"]["vectors"]) - torch.tensor(
        heads["no positions"]["vectors"]
    )
    assert torch.allclose(added, sinusoidal_table(torch.arange(len(SENTENCE)), 16), atol=1e-6)


def test_without_positions_no_weight_changes_and_with_any_encoding_some_do(heads):
    assert heads["no positions"]["changed"] == 0
    for name in ("sinusoidal", "RoPE", "ALiBi"):
        largest = heads[name]["largest"]
        assert largest["from"] == 2, "of the arcs in sight"
        assert heads[name]["changed"] > 0 and abs(largest["after"] - largest["before"]) > 0.01
        assert heads[name]["weights"][largest["from"]][largest["to"]] == largest["before"]
