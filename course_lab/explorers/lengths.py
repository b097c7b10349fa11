"""Trained short, read long: the course's results for two encodings side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from course_lab.explorers.browser import Choice, Control, Explorer, Slider
from course_utils.results import AS_TRAINED, summary
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

VIEWS = ("loss", "above its own loss at 64", "by position", "log-n, above as trained")
TRAINED = 64  # bytes


def measured(first: str) -> list[str]:
    """The encodings that the table has, this one before the others."""
    names = data.results("extrapolation")["encoding"].unique().tolist()
    return sorted(names, key=lambda name: name != first)


def _controls() -> dict[str, Control]:
    return {
        "encoding": Choice(tuple(measured("rope"))),
        "beside": Choice(tuple(measured("alibi"))),
        "view": Choice(VIEWS),
        "doublings": Slider(1, 5, 5),
    }


def _curves() -> dict[str, Any]:
    """View → encoding → its means over seeds, and half of their 95 % intervals (None: one seed)."""
    found: dict[str, Any] = {}
    for view, rows in _views().items():
        means = summary(rows, "encoding", "at").reset_index("at")
        found[view] = {
            str(name): {
                "at": curve["at"].tolist(),
                "mean": [round(mean, 6) for mean in curve["mean"]],
                "margin": [None if math.isnan(one) else round(one, 6) for one in curve["margin"]],
                "seeds": curve["seeds"].tolist(),
            }
            for name, curve in means.groupby(level="encoding", sort=False)
        }
    return {"views": found, "trained": TRAINED}


def _views() -> dict[str, pd.DataFrame]:
    """For each view its rows, one a run and place ``at``, with what is drawn as ``loss``."""
    losses, positions = data.results("extrapolation"), data.results("extrapolation_positions")
    as_trained = losses[losses["reading"] == AS_TRAINED].assign(at=losses["read"])
    runs = ["encoding", "seed"]
    own = as_trained[as_trained["read"] == as_trained["length"]].set_index(runs)["loss"]
    log_n = losses[losses["reading"] == "log-n"].assign(at=losses["read"])
    plain = as_trained.set_index([*runs, "read"])["loss"]
    middle = (positions["first"] + positions["last"] + 1) / 2
    rows = (
        as_trained,
        _less(as_trained, own, runs),
        positions.assign(at=middle),
        _less(log_n, plain, [*runs, "read"]),
    )
    return dict(zip(VIEWS, rows, strict=True))


def _less(rows: pd.DataFrame, base: pd.Series[float], on: list[str]) -> pd.DataFrame:
    """The rows with their loss less that of the base for the same ``on``."""
    import pandas as pd

    same = base.loc[pd.MultiIndex.from_frame(rows[on])]
    return rows.assign(loss=rows["loss"].to_numpy() - same.to_numpy())


lengths = Explorer(
    "lengths",
    "two encodings, trained at 64 bytes and read at more",
    "Curves of the mean loss over seeds with 95 % intervals, in nats a byte, up to 64 · "
    "2^doublings bytes; or the loss above that at 64, by position, or with log-n scaling.",
    _controls,
    _curves,
)
