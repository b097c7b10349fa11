"""tools/release.py: it asks a repository for this version's tag, then writes its address."""

import subprocess
from pathlib import Path

import build_notebooks
import pytest
import release
import side_files
from notebook_source import BuildError, Project, read_project
from tiny_course import UNPUBLISHED, both, course, place

ADDRESS = "https://github.com/someone/tiny"
CITATION = "title: Tiny\nversion: 1.2.3\nlicense: MIT\n"


def git(folder: Path, *arguments: str) -> None:
    """Run git with a name of its own."""
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A tiny course without an address, built."""
    root = course(tmp_path_factory.mktemp("tiny"))
    place(root, "pyproject.toml", UNPUBLISHED)
    place(root, "CITATION.cff", CITATION)
    assert build_notebooks.build(root)
    return root


@pytest.fixture
def clone(built, tmp_path, monkeypatch):
    """A clone of it, with its tag; git finds the repository on this machine, as yet empty."""
    repository = tmp_path / "repository.git"
    git(tmp_path, "init", "-q", "--bare", str(repository))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{repository.as_uri()}.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", ADDRESS)
    root = tmp_path / "clone"
    git(tmp_path, "init", "-q", str(root))
    for path in built.rglob("*.*"):
        if path.is_file():
            place(root, path.relative_to(built).as_posix(), "").write_bytes(path.read_bytes())
    git(root, "add", "-A")
    commit(root)
    git(root, "tag", "v1.2.3")
    return root


def state(root: Path) -> dict[str, bytes]:
    """The files besides git's own."""
    paths = [path for path in root.rglob("*.*") if path.is_file() and ".git" not in path.parts]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    "tag", [["v1.2.3"], ["-a", "-m", "first", "v1.2.3"]], ids=["lightweight", "annotated"]
)
def test_the_address_is_written_wherever_it_stands_and_no_cell_runs(clone, tag):
    git(clone, "tag", "--force", *tag)
    git(clone, "push", "-q", ADDRESS, "v1.2.3")
    outputs = [[cell.get("outputs") for cell in cells.values()] for cells in both(clone)]
    before = state(clone)
    release.release(clone, "someone/tiny")
    assert read_project(clone).address == ADDRESS
    assert build_notebooks.check(clone) == []
    learners, solutions = both(clone)
    for cells in (learners, solutions):
        assert "/github/someone/tiny/blob/v1.2.3/" in cells["l01-c001"].source
        assert f"{ADDRESS}/releases/download/v1.2.3/order_matters" in cells["l01-setup"].source
    assert [[cell.get("outputs") for cell in cells.values()] for cells in both(clone)] == outputs
    after = state(clone)
    written = {name for name in after if after[name] != before.get(name)}
    notebooks = {"notebooks/01_tiny.ipynb", "notebooks/solutions/01_tiny.ipynb"}
    assert written == {"pyproject.toml", "README.md", "CITATION.cff", *notebooks}
    release.release(clone, "someone/tiny")
    assert state(clone) == after


def refused(clone: Path, message: str, slug: str = "someone/tiny") -> None:
    """Assert that the release stops with the message and has written nothing."""
    before = state(clone)
    with pytest.raises(BuildError, match=message):
        release.release(clone, slug)
    assert state(clone) == before


def test_a_repository_without_the_tag_is_refused(clone):
    refused(clone, f"{ADDRESS} has no tag v1.2.3; push it first: git push {ADDRESS} v1.2.3")
    git(clone, "push", "-q", ADDRESS, "HEAD:main")
    refused(clone, "has no tag v1.2.3")


def test_a_clone_without_the_tag_is_refused(clone):
    git(clone, "push", "-q", ADDRESS, "v1.2.3")
    git(clone, "tag", "-d", "v1.2.3")
    refused(clone, "this clone has no tag v1.2.3, which is its version: git tag v1.2.3")


def test_a_tag_of_another_commit_is_refused_so_that_nobody_elses_repository_is_named(clone):
    git(clone, "push", "-q", ADDRESS, "v1.2.3")
    commit(clone)
    git(clone, "tag", "--force", "v1.2.3")
    refused(clone, f"{ADDRESS} has a tag v1.2.3 of another commit: [0-9a-f]{{40}}, here it is ")


def test_a_repository_that_cannot_be_reached_is_refused_with_gits_own_words(clone, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.{(clone / 'gone').as_uri()}.insteadOf")
    refused(clone, "git ls-remote https://github.com/someone/tiny failed: .*gone")


@pytest.mark.parametrize("slug", ["", "someone", "someone/tiny.git", ADDRESS, "a/b/c", "a b/c"])
def test_what_is_no_owner_and_name_is_refused(clone, slug):
    refused(clone, "it has to be owner/name, as GitHub writes it", slug)


def test_notebooks_that_are_not_the_lessons_are_refused(clone):
    place(clone, "lessons/01_tiny.py", "# %% [markdown]\n# # Another\n")
    refused(clone, "the notebooks are not what the lessons give: 01_tiny: notebooks/")


@pytest.mark.parametrize("arguments", [[], ["a/b", "c/d"]])
def test_the_command_line_says_how_it_is_used(arguments, capsys):
    assert release.main(arguments) == 2
    assert capsys.readouterr().err == "make release REPO=owner/name\n"


def test_the_citation_has_the_address_while_there_is_one():
    published = Project(Path(), ADDRESS, "1.2.3")
    cited = side_files.citation(CITATION, published)
    assert cited == CITATION.replace("version", f'repository-code: "{ADDRESS}"\nversion')
    assert side_files.citation(cited, published) == cited
    assert side_files.citation(cited, Project(Path(), "", "1.2.3")) == CITATION
