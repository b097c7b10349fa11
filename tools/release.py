"""Give the course its repository's address: `make release REPO=owner/name`.

Nothing in the course names a repository before its owner has one: whoever registered the name could
run code on every reader's computer. So this first asks the repository for this version's tag, which
has to be the same commit as here. Then it writes the address into pyproject.toml, and from there
into README.md, CITATION.cff and the notebooks. It executes no cell.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import build_notebooks
from notebook_outputs import written
from notebook_source import (
    ADDRESS,
    BuildError,
    Target,
    find_lessons,
    inputs,
    read_notebook,
    read_project,
)
from side_files import side_files

ROOT = Path(__file__).resolve().parents[1]
URLS = re.compile(r"(?m)^\[project\.urls\]\n(?:Repository = .*\n)?")


def git(root: Path, *arguments: str) -> str:
    """What git prints; BuildError with its own words where it fails."""
    environment = os.environ | {"GIT_TERMINAL_PROMPT": "0"}  # to ask for no password
    done = subprocess.run(
        ["git", *arguments], cwd=root, env=environment, capture_output=True, encoding="utf-8"
    )
    if done.returncode:
        raise BuildError(f"git {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
    return done.stdout


def check_tag(root: Path, address: str, tag: str) -> None:
    """BuildError unless the repository has the tag, at the same commit as this clone."""
    if not git(root, "tag", "--list", tag):
        raise BuildError(f"this clone has no tag {tag}, which is its version: git tag {tag}")
    here = git(root, "rev-parse", f"{tag}^{{commit}}").strip()
    listed = git(root, "ls-remote", address, f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}")
    if not listed:
        raise BuildError(f"{address} has no tag {tag}; push it first: git push {address} {tag}")
    there = listed.splitlines()[-1].split()[0]  # of an annotated tag, the commit comes last
    if there != here:
        raise BuildError(f"{address} has a tag {tag} of another commit: {there}, here it is {here}")


def write_address(root: Path, address: str) -> None:
    """Put the address into pyproject.toml."""
    path = root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    if not URLS.search(text):
        raise BuildError("pyproject.toml has no line [project.urls]")
    entry = f'[project.urls]\nRepository = "{address}"\n'
    build_notebooks.replace(path, URLS.sub(lambda _: entry, text, count=1).encode())


def renew(target: Target) -> None:
    """Write the notebook's sources anew and keep its outputs."""
    notebook = read_notebook(target.path)
    if notebook is None:
        raise BuildError(f"{target.name} cannot be read: make notebooks")
    sources = {cell.id: cell.source for cell in inputs(target).cells}
    for cell in notebook.cells:
        cell.source = sources[cell.id]
    build_notebooks.replace(target.path, written(notebook))


def release(root: Path, slug: str) -> None:
    """Check the repository OWNER/NAME, then write its address wherever it stands."""
    address = f"https://github.com/{slug}"
    if not ADDRESS.fullmatch(address):
        raise BuildError(f"REPO is {slug!r}; it has to be owner/name, as GitHub writes it")
    if problems := build_notebooks.check(root):
        raise BuildError(f"the notebooks are not what the lessons give: {problems[0]}")
    check_tag(root, address, read_project(root).tag)
    write_address(root, address)
    project = read_project(root)
    targets = build_notebooks.targets_of(project, find_lessons(root))
    for target in targets:
        renew(target)
    for path, content in side_files(project, targets).items():
        build_notebooks.replace(path, content)


def main(arguments: list[str]) -> int:
    """The command line; the exit status is 0 if the address was written."""
    if len(arguments) != 1:
        print("make release REPO=owner/name", file=sys.stderr)
        return 2
    try:
        release(ROOT, arguments[0])
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    print("The address is written. Look at `git diff`, then commit it.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
