"""Numbers of the course that the site's first page tells, computed from ``data``."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from course_lab.recorded_claims import read_claims
from course_utils import results
from course_utils.texts import data


def as_trained(table: str) -> pd.DataFrame:
    """The rows of a shipped table in which a model reads as it was trained."""
    rows = data.results(table)
    return rows[rows["reading"] == results.AS_TRAINED] if "reading" in rows else rows


def rises_by_encoding(length: int = 2048) -> dict[str, results.Change]:
    """By encoding, the loss at this length less that at 64 bytes, in nats a byte."""
    trained = as_trained("extrapolation")
    return {
        name: results.change(
            trained, {"encoding": name, "read": 64}, {"encoding": name, "read": length}
        )
        for name in trained["encoding"].unique()
    }


def cost_of_slow_pairs() -> pd.Series[float]:
    """By length of the text in tokens, what stopping pairs 24 to 27 costs SmolLM2, in nats."""
    changed = data.results("real_groups").groupby(["way", "length"])["loss"].mean()
    rise = changed["pairs 24-27 still"] - changed[results.AS_TRAINED]
    return rise.round(2) + 0.0  # no -0.00


def verdicts() -> Counter[str]:
    """How many claims came out how."""
    return Counter(claim["verdict"] for claim in read_claims())
