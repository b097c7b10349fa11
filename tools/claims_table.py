"""The myth ledger: every claim that a lesson settles, out of the executed notebooks.

Each claim is an output of its own with its parts by name; build_notebooks.py writes them to
data/claims.csv.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from nbformat import NotebookNode

from course_utils.claims import CLAIM_MIME

COLUMNS = ("id", "claim", "scope", "lesson", "verdict", "evidence", "measured", "cell")


def claims_in(cell: NotebookNode) -> list[NotebookNode]:
    """What an executed cell says of claims, as course_utils.claims emits it."""
    shown = [output.get("data", {}) for output in cell.get("outputs", ())]
    return [data[CLAIM_MIME] for data in shown if CLAIM_MIME in data]


def settled(notebook: NotebookNode, lesson: str) -> Iterator[dict[str, str]]:
    """One row for each claim that an executed notebook settles."""
    for cell in notebook.cells:
        for told in claims_in(cell):
            row = {**told, "lesson": lesson, "cell": cell.id}
            cases = told["cases"]
            if len(set(cases.values())) > 1:
                each = "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in cases.items())
                row["measured"] = f"{told['measured']} {each}"
            yield {column: row[column] for column in COLUMNS}


def table(rows: Iterable[dict[str, str]]) -> bytes:
    """The rows as a CSV file, in the order of their ids.

    Raises:
        ValueError: if two lessons settle the same claim.
    """
    ordered = sorted(rows, key=lambda row: row["id"])
    keys = [row["id"] for row in ordered]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise ValueError(f"settled by two lessons: {', '.join(twice)}")
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(ordered)
    return text.getvalue().encode()
