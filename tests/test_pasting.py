"""No exercise of a lesson of the second edition is solved by pasting what its lesson prints."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from notebook_source import edition, find_lessons, is_closer, lesson_name

ROOT = Path(__file__).resolve().parents[1]
SECOND = [path for path in find_lessons(ROOT) if edition(path) >= 2 and not is_closer(path)]


def pasted(lesson):
    """What ``tools/pasting.py`` finds, in a process of its own: it runs the whole lesson."""
    command = [sys.executable, str(ROOT / "tools" / "pasting.py"), lesson_name(lesson)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1) and done.stdout, done.stderr
    (found,) = json.loads(done.stdout).values()
    return found["exercises"]


@pytest.mark.parametrize("lesson", SECOND, ids=lesson_name)
def test_nothing_that_a_lesson_prints_or_imports_solves_its_exercises(lesson):
    for name, found in pasted(lesson).items():
        assert found["right"] == [], f"{name} is solved by\n{found['right'][0]}"
        assert found["tried"] > 100, name
