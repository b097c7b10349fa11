"""The ledger of myths: every claim that a lesson settles, read from the executed notebooks.

Each claim, and what a published model says about it, is a structured output of a cell;
build_notebooks.py writes them to data/claims.csv, one row per claim.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from nbformat import NotebookNode

from course_lab.claims import CLAIM_MIME

COLUMNS = (
    "id",
    "claim",
    "scope",
    "lesson",
    "verdict",
    "evidence",
    "measured",
    "cell",
    "verdict_there",
    "measured_there",
    "model",
)


def claims_in(cell: NotebookNode) -> list[NotebookNode]:
    """The claims in a cell's outputs, as course_lab.claims emits them."""
    shown = [output.get("data", {}) for output in cell.get("outputs", ())]
    return [data[CLAIM_MIME] for data in shown if CLAIM_MIME in data]


def settled(notebook: NotebookNode, lesson: str) -> list[dict[str, str]]:
    """One row for each claim that an executed notebook settles.

    The last three columns are empty where no published model was tried.

    Raises:
        ValueError: if a published model was tried before the claim was settled, or twice.
    """
    rows: list[dict[str, str]] = []
    for cell in notebook.cells:
        for claim in claims_in(cell):
            if "model" not in claim:
                row = {**claim, "measured": _measured(claim), "lesson": lesson, "cell": cell.id}
                rows.append({column: row.get(column, "") for column in COLUMNS})
                continue
            settled_before = [row for row in rows if row["id"] == claim["id"] and not row["model"]]
            if not settled_before:
                raise ValueError(
                    f"{claim['id']}: {claim['model']} comes before the verdict, or twice"
                )
            settled_before[-1].update(
                verdict_there=claim["verdict"],
                measured_there=_measured(claim),
                model=claim["model"],
            )
    return rows


def _measured(claim: NotebookNode) -> str:
    """The numbers behind a verdict, and the cases by name where they differ."""
    cases = claim["cases"]
    if len(set(cases.values())) < 2:
        return claim["measured"]
    answers = "; ".join(f"{name}: {'yes' if ok else 'no'}" for name, ok in sorted(cases.items()))
    return f"{claim['measured']} {answers}"


def table(rows: Iterable[dict[str, str]]) -> bytes:
    """The rows as a CSV file, in the order of their ids.

    Raises:
        ValueError: if two lessons settle the same claim.
    """
    ordered = pd.DataFrame(rows, columns=COLUMNS).sort_values("id")
    repeated = ordered["id"][ordered["id"].duplicated()].unique()
    if len(repeated):
        raise ValueError(f"settled by two lessons: {', '.join(repeated)}")
    return ordered.to_csv(index=False, lineterminator="\n").encode()
