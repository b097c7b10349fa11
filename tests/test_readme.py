"""What README.md promises: its example runs, its lessons and links exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_python_example_runs_and_prints_the_shapes_it_says(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "torch.Size([2, 10, 128]) torch.Size([2, 4, 10, 10])" in capsys.readouterr().out


def test_the_table_names_every_lesson_there_is_and_no_other():
    listed = re.findall(r"^\| (\d\d) ", README, re.MULTILINE)
    assert listed == [path.name[:2] for path in sorted((ROOT / "lessons").glob("*.py"))]


@pytest.mark.parametrize("target", re.findall(r"\]\((?!http)([^)#]+)\)", README))
def test_a_link_leads_to_a_file(target):
    assert (ROOT / target).is_file()


def test_every_make_command_it_names_exists():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in re.findall(r"(?:^|`)make (\w+)", README, re.MULTILINE):
        assert f"\n{command}:" in makefile, command
