"""The myth ledger: every claim that a lesson settles, out of the executed notebooks.

Each claim is an output of its own with its parts by name, and so is what a real model says of it;
build_notebooks.py writes them to data/claims.csv, a row a claim.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from nbformat import NotebookNode

from course_lab.claims import CLAIM_MIME

COLUMNS = (
    "id", "claim", "scope", "lesson", "verdict", "evidence", "measured", "cell",
    "verdict_there", "measured_there", "model",
)  # fmt: skip


def claims_in(cell: NotebookNode) -> list[NotebookNode]:
    """What an executed cell says of claims, as course_lab.claims emits it."""
    shown = [output.get("data", {}) for output in cell.get("outputs", ())]
    return [data[CLAIM_MIME] for data in shown if CLAIM_MIME in data]


def settled(notebook: NotebookNode, lesson: str) -> list[dict[str, str]]:
    """One row for each claim that an executed notebook settles.

    The last three columns are empty where no real model was asked.

    Raises:
        ValueError: if a real model was asked about a claim that is not settled, or asked twice.
    """
    rows: list[dict[str, str]] = []
    for cell in notebook.cells:
        for told in claims_in(cell):
            if "model" not in told:
                row = {**told, "measured": _measured(told), "lesson": lesson, "cell": cell.id}
                rows.append({column: row.get(column, "") for column in COLUMNS})
                continue
            asked = [row for row in rows if row["id"] == told["id"] and not row["model"]]
            if not asked:
                raise ValueError(
                    f"{told['id']}: {told['model']} is asked before the claim is settled, or second"
                )
            there = {"verdict_there": told["verdict"], "measured_there": _measured(told)}
            asked[-1].update(there, model=told["model"])
    return rows


def _measured(told: NotebookNode) -> str:
    """The numbers behind a verdict, and each case where cases differ, by name as in a file."""
    cases = told["cases"]
    if len(set(cases.values())) < 2:
        return told["measured"]
    each = "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in sorted(cases.items()))
    return f"{told['measured']} {each}"


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
