"""What RoPE's pairs do in every head of a real language model, from the course's results."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

HEADS, PAIRS = 270, 32
BY_PLACE = "by place"
# What a head is known for, and its layer and head.
KNOWN = (
    "charges by distance: 19.2",
    "rests on the first token: 18.8",
    "looks one token back: 16.0",
)
# How many integer steps stand for 1 in the packed columns.
STEPS = {"position": 1e4, "content": 1e4, "real": 1e3, "imaginary": 1e3}


@cache
def xray_table() -> pd.DataFrame:
    """Return a row for each head of SmolLM2, means over texts.

    ``explained`` is the share of the scores' variance that the distance alone predicts. Rows are
    in descending order of it.
    """
    import pandas as pd

    means = data.results("real_pairs").groupby(["layer", "head"]).mean(numeric_only=True)
    explained = means.filter(like="position_").sum(axis=1).rename("explained")
    table = pd.concat([explained, means], axis=1).copy().reset_index()
    return table.sort_values("explained", ascending=False, ignore_index=True)


def _packed() -> dict[str, Any]:
    """Return the table's columns, those of pairs as base64 of little-endian 16-bit integers."""
    table = xray_table()
    columns: dict[str, Any] = {name: table[name].tolist() for name in ("layer", "head")}
    for name in ("explained", "first", "previous"):
        columns[name] = table[name].round(4).tolist()
    for name, steps in STEPS.items():
        values = steps * table[[f"{name}_{m}" for m in range(PAIRS)]].to_numpy()
        columns[name] = base64.b64encode(values.round().astype("<i2").tobytes()).decode()
    return columns | {"steps": STEPS, "by_place": BY_PLACE}


xray = Explorer(
    "xray",
    "the heads of a real language model, pair by pair",
    "All 270 heads of SmolLM2-135M as rows, their 32 pairs as columns: orange for what distance "
    "alone explains of the scores, blue for the rest. One head's pairs as bars, and the score by "
    "distance of its mean query and mean key, from the pairs that are kept.",
    {
        "known": Choice((BY_PLACE, *KNOWN), label="head"),
        "place": Slider(0, HEADS - 1, 0, label="its place"),
        "first": Slider(0, PAIRS - 1, 0, label="from pair"),
        "last": Slider(0, PAIRS - 1, PAIRS - 1, label="to pair"),
    },
    _packed,
)
