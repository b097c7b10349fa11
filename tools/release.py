"""Check the version of a release and print its notes: `python tools/release.py --tag v1.2.3`.

Four files state the version. The workflow of a tag checks that all agree with the tag, and takes
its notes, `--notes`, from the changelog's newest entry. Needs only Python.
"""

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGELOG = "CHANGELOG.md"
PLACES = {  # file → the line that has the version
    "pyproject.toml": r'^version = "(.*)"$',
    "course_utils/__init__.py": r'^__version__ = "(.*)"$',
    "CITATION.cff": r"^version: (.*)$",
    CHANGELOG: r"^## (\d.*)$",  # the newest that has a number
}
ENTRY = re.compile(r"^## (.*)\n((?:(?!## ).*\n?)*)", re.MULTILINE)


def versions(root: Path) -> dict[str, str]:
    """The version in each file; "none" where there is none."""
    by_file = {}
    for name, line in PLACES.items():
        match = re.search(line, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        by_file[name] = match[1] if match else "none"
    return by_file


def newest(root: Path) -> tuple[str, str]:
    """Heading and text of the changelog's newest entry."""
    match = ENTRY.search((root / CHANGELOG).read_text(encoding="utf-8"))
    return (match[1], match[2].strip()) if match else ("", "")


def problems(root: Path, tag: str | None = None) -> list[str]:
    """Where the files disagree with each other or with the tag."""
    by_file = versions(root)
    version = by_file["pyproject.toml"]
    lines = [
        f"{name} has version {other}, pyproject.toml {version}"
        for name, other in by_file.items()
        if other != version
    ]
    if tag is not None and tag != f"v{version}":
        lines.append(f"the tag is {tag!r}; version {version} needs 'v{version}'")
    if tag is not None and newest(root)[0] != version:
        lines.append(f"{CHANGELOG} begins with {newest(root)[0]!r} instead of {version}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 0 if all agree."""
    parser = argparse.ArgumentParser(description="Compare the versions in the files.")
    parser.add_argument("--tag", help="of the release, as v1.2.3")
    parser.add_argument("--notes", action="store_true", help="print the changelog's first entry")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    if options.notes:
        print(newest(options.root)[1])
        return 0
    lines = problems(options.root, options.tag)
    for line in lines:
        print(line, file=sys.stderr)
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
