"""Five questions, and the encodings that the answers leave."""

from itertools import product
from typing import Any

import pandas as pd

from course_lab.chooser import (
    ALLOWED,
    BEHIND,
    QUESTIONS,
    ROUNDING,
    TABLES,
    TIMES,
    TOLERATED,
    facts,
    remaining,
)
from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer

BEHIND_SLIDER = Slider(0.01, 1.0, 0.1, ratio=True, label="loss behind")
LABELS = {"reads": "it reads", "texts": "texts", "starts": "texts start", "attention": "attention"}


def _facts_as_lists() -> dict[str, Any]:
    """Return a list for each fact, in the order of the encodings: lowest loss first."""
    order = facts().sort_values("loss").index
    known = facts().loc[order]
    return {
        "names": order.tolist(),
        "losses": {reads: _losses(facts(reads).loc[order]) for reads in TABLES},
        "times": TIMES,
        "still": (known["shift"] <= ROUNDING).tolist(),
        "adds": {reads: facts(reads).loc[order, "adds"].tolist() for reads in TABLES},
        "allowed": ALLOWED,
        "tolerated": TOLERATED,
        "lenient": {name: answers[0] for name, answers in QUESTIONS.items()}
        | {BEHIND: BEHIND_SLIDER.high},
        "tops": tops(),
    }


def tops() -> list[str]:
    """Return the encodings that come out first by some answers, in alphabetical order.

    The fifth question has its most lenient answer: a stricter one brings up nobody else.
    """
    cases = (dict(zip(QUESTIONS, case, strict=True)) for case in product(*QUESTIONS.values()))
    return sorted({name for case in cases for name in remaining(BEHIND_SLIDER.high, **case)[:1]})


def _losses(known: pd.DataFrame) -> dict[str, Any]:
    """Return the losses by times the trained length; None where nothing was measured.

    ``behind`` and ``rise`` are the lower ends of their intervals.
    """
    lists: dict[str, Any] = {"measured": known["measured"].tolist()}
    for times in sorted(set(TIMES.values())):
        rows = known[[f"loss_{times}", f"behind_{times}", f"rise_{times}"]]
        numbers = [
            (loss, behind.mean - behind.margin, rise.mean - rise.margin, rise.mean)
            if measured
            else (None,) * 4
            for measured, (loss, behind, rise) in zip(
                known["measured"], rows.itertuples(index=False), strict=True
            )
        ]
        names = ("loss", "behind", "rise", "mean_rise")
        lists[str(times)] = {
            name: [None if number is None else round(number, 6) for number in column]
            for name, column in zip(names, zip(*numbers, strict=True), strict=True)
        }
    return lists


chooser = Explorer(
    "chooser",
    "which encodings five answers leave",
    "A row an encoding and a column a question, with a cross where its answer strikes the encoding "
    "out, or with “not measured”, and those that are left on top; and how far each is behind the "
    "lowest loss at the length that is read, against how much its loss rises on longer texts.",
    {
        **{name: Choice(QUESTIONS[name], label) for name, label in LABELS.items()},
        BEHIND: BEHIND_SLIDER,
    },
    _facts_as_lists,
)
