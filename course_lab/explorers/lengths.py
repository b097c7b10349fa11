"""Trained short, read long: the course's results for two encodings side by side."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from course_lab.explorers.controls import Choice, Control, Slider
from course_lab.explorers.explorer import Explorer
from course_lab.spelling import PRINTED
from course_utils.results import AS_TRAINED, summary
from course_utils.texts import data

if TYPE_CHECKING:
    import pandas as pd

VIEWS = ("loss", "above its own loss at 64", "by position", "log-n, above as trained")
TRAINED = 64  # bytes


def measured(first: str) -> list[str]:
    """Return the encodings in the table of results, with ``first`` before the others."""
    names = data.results("extrapolation")["encoding"].unique().tolist()
    return sorted(names, key=lambda name: name != first)


def _controls() -> dict[str, Control]:
    return {
        "encoding": Choice(tuple(measured("rope")), words=PRINTED),
        "beside": Choice(tuple(measured("alibi")), words=PRINTED),
        "view": Choice(VIEWS),
        "doublings": Slider(1, 5, 5),
    }


def _curves() -> dict[str, Any]:
    """Return for each view and encoding the means over seeds and half of their 95 % intervals.

    The half is None where there is only one seed.
    """
    views: dict[str, Any] = {}
    for view, rows in _rows_of_views().items():
        means = summary(rows, "encoding", "at").reset_index("at")
        views[view] = {
            str(name): {
                "at": curve["at"].tolist(),
                "mean": curve["mean"].round(6).tolist(),
                "margin": [_rounded(margin) for margin in curve["margin"]],
                "seeds": curve["seeds"].tolist(),
            }
            for name, curve in means.groupby(level="encoding", sort=False)
        }
    return {"views": views, "trained": TRAINED}


def _rounded(margin: float) -> float | None:
    return None if math.isnan(margin) else round(margin, 6)


def _rows_of_views() -> dict[str, pd.DataFrame]:
    """Return for each view a row for each run and place ``at``, with what is drawn as ``loss``."""
    losses, positions = data.results("extrapolation"), data.results("extrapolation_positions")
    as_trained = losses[losses["reading"] == AS_TRAINED].assign(at=losses["read"])
    run = ["encoding", "seed"]
    trained_length = as_trained[as_trained["read"] == as_trained["length"]]
    log_n = losses[losses["reading"] == "log-n"].assign(at=losses["read"])
    middle = (positions["first"] + positions["last"] + 1) / 2
    views = (
        as_trained,
        _difference(as_trained, trained_length, run),
        positions.assign(at=middle),
        _difference(log_n, as_trained, [*run, "read"]),
    )
    return dict(zip(VIEWS, views, strict=True))


def _difference(rows: pd.DataFrame, base: pd.DataFrame, on: list[str]) -> pd.DataFrame:
    """Return the rows with the base's loss, where the columns ``on`` are equal, taken off."""
    import pandas as pd

    base_losses = base.set_index(on)["loss"].loc[pd.MultiIndex.from_frame(rows[on])]
    return rows.assign(loss=rows["loss"].to_numpy() - base_losses.to_numpy())


lengths = Explorer(
    "lengths",
    "two encodings, trained at 64 bytes and read at more",
    "Curves of the mean loss over seeds with 95 % intervals, in nats a byte, up to 64 · "
    "2^doublings bytes; or the loss above that at 64, by position, or with log-n scaling.",
    _controls,
    _curves,
)
