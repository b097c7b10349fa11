"""Update .github/colab.txt: `python tools/colab_versions.py pip-freeze.txt`.

The argument is the list of packages that Google Colab publishes. A workflow runs this each week,
and then the lessons. Needs only Python.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

PINS = Path(__file__).resolve().parents[1] / ".github" / "colab.txt"
# torch==2.11.0+cu128, or torch @ https://…/torch-2.11.0%2Bcu128-cp313-….whl
LINE = r"^{name}(?:==|\s*@.*/{name}-)([\w.]+)"


def updated(pins: str, freeze: str) -> str:
    """The pins with the versions of the list; ValueError for a package that is not in it."""

    def pin(match: re.Match[str]) -> str:
        listed = re.search(LINE.format(name=re.escape(match[1])), freeze, re.MULTILINE)
        if not listed:
            raise ValueError(f"{match[1]} is not in the list of Colab's packages")
        return f"{match[1]}=={listed[1]}"

    return re.sub(r"^([\w-]+)==.*$", pin, pins, flags=re.MULTILINE)


def main(arguments: Sequence[str] | None = None, pins: Path = PINS) -> int:
    """The command line; prints each version that changed."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    if len(given) != 1:
        print("usage: python tools/colab_versions.py pip-freeze.txt", file=sys.stderr)
        return 2
    old = pins.read_text(encoding="utf-8")
    try:
        new = updated(old, Path(given[0]).read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for before, after in zip(old.splitlines(), new.splitlines(), strict=True):
        if before != after:
            print(f"{before} is now {after}")
    pins.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
