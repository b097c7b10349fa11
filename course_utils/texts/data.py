"""The files that the course ships in its folder ``data``, each checked before it is read.

``data/README.md`` says where each comes from, ``data/sha256.txt`` what its bytes must be.
"""

import hashlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

from course_utils import validation

if TYPE_CHECKING:
    import pandas as pd

CHECKSUMS = "sha256.txt"
BESIDE = Path(__file__).resolve().parents[2]  # where the package course_utils stands
CLONE = BESIDE / "data"
INSTALLED = BESIDE / "course_data"  # by the wheel that `make colab` builds


def folder() -> Path:
    """The folder with the course's data; FileNotFoundError where there is none."""
    for place in (CLONE, INSTALLED):
        if (place / CHECKSUMS).is_file():
            return place
    raise FileNotFoundError(
        f"the course's data folder is missing: there is no {CHECKSUMS} in {CLONE}; the data come "
        "with a clone of the course's repository or the wheel that make colab builds there, not "
        "with the wheel that has course_utils alone"
    )


def checksums() -> dict[str, str]:
    """SHA-256 of every data file by name, from ``data/sha256.txt``; OSError if that is damaged."""
    path = folder() / CHECKSUMS
    listing = path.read_text(encoding="utf-8", errors="replace")
    if not re.fullmatch(r"([0-9a-f]{64}  \S+\n)+", listing):
        raise OSError(f"data file {path} is damaged: it lists no checksums; {how_to_restore(path)}")
    return {line[66:]: line[:64] for line in listing.splitlines()}


def verified(name: str) -> Path:
    """The path of a data file whose bytes are the ones that were shipped; else OSError."""
    listed = checksums()
    path = folder() / validation.choice("name", name, listed)
    if not path.is_file():
        raise FileNotFoundError(f"data file {path} is missing; {how_to_restore(path)}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != listed[name]:
        raise OSError(
            f"data file {path} is damaged: its SHA-256 is {digest}, it was shipped with "
            f"{listed[name]}; {how_to_restore(path)}"
        )
    return path


def how_to_restore(path: Path) -> str:
    """The remedy that an error about a data file names."""
    if path.parent == INSTALLED:
        return "install the course's wheel again, with pip's option --force-reinstall"
    return f'restore it with: git -C "{path.parents[1]}" checkout data/{path.name}'


def results(name: str) -> "pd.DataFrame":
    """A table of results that the course ships, such as ``"extrapolation"``: one row a measurement.

    ``data/README.md`` says what its columns are and which command makes it.
    """
    try:
        import pandas as pd
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("data.results needs pandas: pip install pandas") from error
    return pd.read_csv(verified(f"{name}.csv"))
