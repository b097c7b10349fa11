"""What RoPE's pairs do in every head of a real language model, from the course's results."""

from __future__ import annotations

import base64
from functools import cache
from typing import TYPE_CHECKING, Any

from course_lab.explorers.browser import Explorer, Slider
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

HEADS, PAIRS = 270, 32
UNITS = {"position": 1e4, "content": 1e4, "real": 1e3, "imaginary": 1e3}  # steps in 1


@cache
def xray_table() -> pd.DataFrame:
    """A row a head of SmolLM2, means over texts; those that go by distance most come first.

    ``explained`` is the share of the scores' variance that the distance alone foretells.
    """
    import pandas as pd

    table = data.results("real_pairs")
    means = table.groupby(["layer", "head"]).mean(numeric_only=True)
    explained = means.filter(like="position_").sum(axis=1).rename("explained")
    found = pd.concat([explained, means], axis=1).copy().reset_index()
    return found.sort_values("explained", ascending=False, ignore_index=True)


def _packed() -> dict[str, Any]:
    table, found = xray_table(), {}
    for name, units in UNITS.items():
        rows = table[[f"{name}_{m}" for m in range(PAIRS)]].to_numpy()
        found[name] = base64.b64encode((units * rows).round().astype("<i2").tobytes()).decode()
    whole = {name: table[name].tolist() for name in ("layer", "head")}
    shares = {name: table[name].round(4).tolist() for name in ("explained", "first", "previous")}
    return {**found, **whole, **shares, "units": UNITS}


xray = Explorer(
    "xray",
    "the heads of a real language model, pair by pair",
    "All 270 heads of SmolLM2-135M as rows, their 32 pairs as columns: orange for what distance "
    "alone explains of the scores, blue for the rest. One head's pairs as bars, and the score by "
    "distance of its mean query and mean key, from the pairs that are kept.",
    {
        "place": Slider(0, HEADS - 1, 0, label="head, by place"),
        "first": Slider(0, PAIRS - 1, 0, label="from pair"),
        "last": Slider(0, PAIRS - 1, PAIRS - 1, label="to pair"),
    },
    _packed,
)
