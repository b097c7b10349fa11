"""The claims of all lessons, from ``data/claims.csv``."""

import csv

from course_utils.texts import data


def read_claims() -> list[dict[str, str]]:
    """The rows of ``claims.csv``; OSError if it is missing or damaged.

    Each build of the lessons makes it anew, so no checksum of it is shipped: what can be seen is
    that it was cut, or that it is something else.
    """
    path = data.folder() / "claims.csv"
    if not path.is_file():
        raise FileNotFoundError(f"data file {path} is missing; {data.how_to_restore(path)}")
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or "verdict" not in rows[0] or any(None in {*row, *row.values()} for row in rows):
        raise OSError(
            f"data file {path} is damaged: it has no whole rows; {data.how_to_restore(path)}"
        )
    return rows
