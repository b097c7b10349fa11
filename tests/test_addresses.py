"""No file names a repository that could be anybody's, who could run code on readers' machines."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from notebook_source import read_project

ROOT = Path(__file__).resolve().parents[1]
OURS = read_project(ROOT).slug  # empty while the course has no address
HOSTS = re.compile(
    r"(?:github\.com|githubusercontent\.com|gitlab\.com|codeberg\.org|bitbucket\.org"
    r"|huggingface\.co(?!/docs/)(?:/datasets|/spaces)?|(?<!\w)hf\.co"
    r"|colab\.research\.google\.com/github|nbviewer\.org/github|mybinder\.org/v2/gh)"
    r"[/:]([\w.-]+/[\w.-]+)"
)
PAGES = re.compile(r"(?<![\w-])([\w-]+\.(?:github|gitlab)\.io/[\w-]*)")
GENERATED = re.compile(r"<!-- (\w+):start -->.*?<!-- \1:end -->", re.DOTALL)
CITED = {
    "bigscience-workshop/Megatron-DeepSpeed": "a pull request that lesson 11 cites",
    "Dao-AILab/flash-attention": "an issue that lesson 10 cites",
    "EleutherAI/gpt-neox": "an issue that lesson 11 cites",
    "googlecolab/backend-info": "Colab's list of versions, which a workflow reads each week",
    "huggingface/transformers": "T5's code, in lesson 10's closer look; issues in lesson 11",
    "jquesnelle/yarn": "an issue that lesson 08 cites",
    "jzhang38/TinyLlama": "an issue that lesson 11 cites",
    "Lightning-AI/pytorch-lightning": "an issue that lesson 11 cites",
    "meta-pytorch/attention-gym": "a pull request that lesson 11 cites",
}
STAND_INS = {"OWNER/REPO", "someone/tiny"}  # in tools' messages and tests
PLANTED = "order-matters" + "/course"  # in two parts, so that this file does not name it


def repositories(text: str) -> set[str]:
    """The repositories whose addresses stand in a text, as OWNER/NAME."""
    hosted = {name.rstrip(".").removesuffix(".git") for name in HOSTS.findall(text)}
    return hosted | set(PAGES.findall(text))


def strangers(name: str, text: str, ours: str) -> set[str]:
    """The repositories that a file must not name.

    Ours may stand in pyproject.toml and in what the build writes from there.
    """
    known = {*CITED, *STAND_INS}
    written = ""
    if name in ("pyproject.toml", "CITATION.cff") or name.startswith("notebooks/"):
        written, text = text, ""
    elif name == "README.md":
        written = "\n".join(block[0] for block in GENERATED.finditer(text))
        text = GENERATED.sub("", text)
    return (repositories(text) - known) | (repositories(written) - known - {ours})


def tracked() -> Iterator[tuple[str, str]]:
    """Every file of the repository: its path, and its content as text."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    if listed.returncode:
        pytest.skip("not in a clone")
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if path.is_file():
            yield name, path.read_text(encoding="utf-8", errors="replace")


def test_every_address_of_a_repository_is_ours_or_a_citation():
    cited: set[str] = set()
    for name, text in tracked():
        if named := repositories(text):
            assert not strangers(name, text, OURS), f"{name} names a repository"
            cited |= named
    assert set(CITED) <= cited, "CITED has a repository that no file cites any more"


FROM_AN_INDEX = re.compile(
    r"pip install[^\n]*[\s'\"]order[-_]matters(?![\w.+-]*\.whl)(?![^\n]* @ )"
)


def test_no_file_sends_pip_to_an_index_for_the_course_where_the_name_is_anybodys():
    for command in ("pip install order-matters", "pip install -q 'order-matters[plots]'"):
        assert FROM_AN_INDEX.search(command)
    for name, text in tracked():
        if name != "tests/test_addresses.py":
            assert not FROM_AN_INDEX.search(text), name


@pytest.mark.parametrize(
    "start",
    [
        "git clone https://github.com/",
        "pip install git+https://github.com/",
        "git@github.com:",
        "https://raw.githubusercontent.com/",
        "https://colab.research.google.com/github/",
        "https://mybinder.org/v2/gh/",
        "https://gitlab.com/",
        "https://codeberg.org/",
        "https://huggingface.co/",
        "https://huggingface.co/datasets/",
    ],
)
@pytest.mark.parametrize("end", ["", ".", ".git", "/blob/v0.1.0/notebooks/00_start_here.ipynb"])
def test_a_planted_address_is_noticed_in_every_file(start, end):
    text = f"See {start}{PLANTED}{end}"
    block = f"<!-- badges:start -->{text}<!-- badges:end -->"
    for name in ("docs/library.md", "notebooks/00_start_here.ipynb", "pyproject.toml"):
        assert strangers(name, text, "someone/course") == {PLANTED}
    assert strangers("README.md", block, "someone/course") == {PLANTED}


def test_a_planted_page_of_a_site_is_noticed():
    page = PLANTED.replace("/", ".github.io/")
    assert strangers("docs/library.md", f"The site: https://{page}/index.html", "") == {page}


def test_our_own_address_stands_only_in_its_place_and_in_what_is_made_from_it():
    text = f"https://github.com/{PLANTED}/issues"
    for name in ("pyproject.toml", "CITATION.cff", "notebooks/closer/05_in_practice.ipynb"):
        assert strangers(name, text, PLANTED) == set()
    for name in ("docs/library.md", "course_lab/explorers.py", "Makefile"):
        assert strangers(name, text, PLANTED) == {PLANTED}
    block = f"<!-- badges:start -->\n{text}\n<!-- badges:end -->\n"
    assert strangers("README.md", block, PLANTED) == set()
    assert strangers("README.md", block + text, PLANTED) == {PLANTED}
