"""The package's types serve strict checkers: all that the engineers' page imports is exported."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")
IMPORTS = sorted(set(re.findall(r"^from course_utils.*", PAGE, re.MULTILINE)))
USE = """\
from course_utils.encodings import YaRN
scaling: YaRN = YaRN(factor=4.0, original_len=2048)
print(scaling.factor)
"""
# As outside of this repository: errors in the package itself are not the reader's. PyTorch is left
# out, as mypy would read all of it.
SETTINGS = """\
[mypy]
strict = True
[mypy-course_utils.*]
follow_imports = silent
[mypy-torch.*,jaxtyping.*,einops.*,numpy.*,safetensors.*]
follow_imports = skip
"""


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy comes with make lint")
def test_mypy_strict_accepts_all_that_the_page_imports_and_nothing_that_is_not_exported(tmp_path):
    private = (
        "from course_utils.encodings import validation  # which encodings import for themselves"
    )
    lines = [*USE.splitlines(), *IMPORTS, private]
    (tmp_path / "use.py").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "mypy.ini").write_text(SETTINGS, encoding="utf-8")
    options = ["--config-file", "mypy.ini", "--cache-dir", os.devnull, "use.py"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *options],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    *errors, summary = run.stdout.splitlines()
    assert summary.startswith("Found 1 error"), run.stdout + run.stderr
    assert errors[0].startswith(f"use.py:{len(lines)}: ")
    assert 'does not explicitly export attribute "validation"' in errors[0]
