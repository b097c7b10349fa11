"""Update .github/colab.txt: `python tools/colab_versions.py pip-freeze.txt`.

The argument is the list of packages that Google Colab publishes. A workflow runs this each week,
and then the lessons. Needs only Python.
"""

import re
import sys
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


def update(freeze: Path, pins: Path = PINS) -> None:
    """Update the file of pins; print each version that changed."""
    old = pins.read_text(encoding="utf-8")
    new = updated(old, freeze.read_text(encoding="utf-8"))
    for before, after in zip(old.splitlines(), new.splitlines(), strict=True):
        if before != after:
            print(f"{before} is now {after}")
    pins.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    update(Path(sys.argv[1]))
