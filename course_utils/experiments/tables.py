"""The runs of a sweep gathered into CSV files, and means over seeds with their 95 % intervals."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from course_utils.experiments.compare import margin
from course_utils.experiments.store import Key, Store


def write_tables(keys: Sequence[Key], store: Store, stem: Path) -> dict[str, Path]:
    """Write each table of the runs as a CSV file, runs in the order of their keys.

    Args:
        keys: of the runs.
        store: where they are.
        stem: path of the files without their end; the first table goes to ``<stem>.csv``, any
            other to ``<stem>_<table>.csv``.

    Returns:
        Path by table.

    Raises:
        ValueError: if a run is missing or damaged.
        OSError: if a file cannot be written.
    """
    tables: dict[str, list[dict[str, object]]] = {}
    for key in keys:
        result = store.load(key)
        if result is None:
            raise ValueError(f"the run {store.path(key).name} is not there")
        for table, rows in result.items():
            tables.setdefault(table, []).extend(rows)
    written = {}
    for table, rows in tables.items():
        end = ".csv" if table == next(iter(tables)) else f"_{table}.csv"
        path = stem.with_name(stem.name + end)
        partial = path.with_name(path.name + ".partial")
        try:
            pd.DataFrame(rows).to_csv(partial, index=False, lineterminator="\n")
            os.replace(partial, path)
        finally:
            partial.unlink(missing_ok=True)
        written[table] = path
    return written


def summary(rows: pd.DataFrame, *by: str, of: str = "loss") -> pd.DataFrame:
    """Mean over seeds and its 95 % interval, in the unit of the values, for each value of ``by``.

    The standard error is the standard deviation over seeds (with n − 1) over √n; the margin, half
    of the interval, is that times Student's t. Both are NaN for one seed. A value that is NaN, as
    of a run that diverged, makes its mean NaN.

    Args:
        rows: of a table.
        *by: columns that tell the rows apart, such as ``"encoding", "length"``.
        of: the column to average.

    Returns:
        Columns ``mean``, ``error``, ``margin`` and ``seeds``, indexed by the columns ``by``.

    Raises:
        ValueError: if these columns do not tell the rows of one seed apart, so that a mean would
            mix different things.
    """
    if rows.duplicated([*by, "seed"]).any():
        raise ValueError(f"by must tell the rows of a seed apart, got {', '.join(by)}")
    groups = rows.groupby([*by], sort=False)[of]
    mean, error = (groups.agg(how, skipna=False) for how in ("mean", "sem"))
    seeds = groups.size()
    margins = [margin(*pair) for pair in zip(error, seeds, strict=True)]
    return pd.DataFrame({"mean": mean, "error": error, "margin": margins, "seeds": seeds})


def as_text(found: pd.DataFrame, across: str) -> str:
    """A summary as text, one of its ``by`` columns across: mean ± half of its 95 % interval."""
    spread = found["margin"].map(" ± {:.3f}".format).where(found["margin"].notna(), "")
    cells = found["mean"].map("{:.3f}".format) + spread
    return cells.unstack(across, sort=False).to_string()
