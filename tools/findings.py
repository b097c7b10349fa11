"""Rows of ``data`` that several tables start from."""

from __future__ import annotations

import pandas as pd

from course_utils import results
from course_utils.texts import data


def as_trained(table: str) -> pd.DataFrame:
    """The rows of a shipped table in which a model reads as it was trained."""
    rows = data.results(table)
    return rows[rows["reading"] == results.AS_TRAINED] if "reading" in rows else rows
