"""Five questions, and the encodings that the answers leave."""

import math
from itertools import product
from typing import Any

from course_lab.chooser import (
    ALLOWED,
    BEHIND,
    QUESTIONS,
    ROUNDING,
    STEEP,
    TABLES,
    TIMES,
    TOLERATED,
    TRAINED,
    behind_best,
    facts,
    remaining,
    steep,
)
from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer
from course_lab.spelling import printed
from course_utils.results import Change

BEHIND_SLIDER = Slider(0.01, 1.0, 0.1, ratio=True, label=f"{BEHIND} (nats)")


def _facts_as_lists() -> dict[str, Any]:
    """Return a list for each fact, in the order of the encodings: lowest loss first."""
    order = facts().sort_values("loss").index
    known = facts().loc[order]
    return {
        "names": order.tolist(),
        "printed": [printed(name) for name in order],
        "losses": {reads: _losses(reads, order.tolist()) for reads in TABLES},
        "times": TIMES,
        "trained": TRAINED,
        "still": (known["shift"] <= ROUNDING).tolist(),
        "adds": {reads: facts(reads).loc[order, "adds"].tolist() for reads in TABLES},
        "allowed": ALLOWED,
        "tolerated": TOLERATED,
        "lenient": {name: answers[0] for name, answers in QUESTIONS.items()}
        | {BEHIND: BEHIND_SLIDER.high},
        "tops": tops(),
        "drawn": {"name": printed(STEEP), "at": _drawn()},
    }


def _drawn() -> dict[str, Any]:
    """Return the losses of the encoding that this course drew, for texts so many times as long.

    ``behind`` is, for each encoding that comes out first by some answers, by how much the loss is
    above that encoding's: the mean, and the lower end of the interval.
    """
    lists: dict[str, Any] = {}
    for case in _cases():
        known = steep(BEHIND_SLIDER.high, **case)
        if known is None:
            continue
        of_length = lists.setdefault(
            str(TIMES[case["texts"]]),
            {
                "loss": _rounded(known.loss),
                "rise": _rounded(_lower_end(known.rise)),
                "mean_rise": _rounded(known.rise.mean),
                "behind": {},
            },
        )
        if known.behind is not None:
            (first, *_) = remaining(BEHIND_SLIDER.high, **case)
            of_length["behind"][first] = _rounded(_lower_end(known.behind))
    return lists


def tops() -> list[str]:
    """Return the encodings that come out first by some answers, in alphabetical order.

    The fifth question changes no first place: the first is never behind.
    """
    return sorted({name for case in _cases() for name in remaining(BEHIND_SLIDER.high, **case)[:1]})


def _cases() -> list[dict[str, str]]:
    """Return all answers to the first four questions."""
    return [dict(zip(QUESTIONS, case, strict=True)) for case in product(*QUESTIONS.values())]


def _losses(reads: str, order: list[str]) -> dict[str, Any]:
    """Return the losses by times the trained length; None where nothing was measured.

    ``behind`` is, for each encoding that comes out first by some answers, by how much the others'
    losses are above its own. ``behind`` and ``rise`` are the lower ends of their intervals.
    """
    known = facts(reads).loc[order]
    lists: dict[str, Any] = {"measured": known["measured"].tolist()}
    for times in sorted(set(TIMES.values())):
        rises = known[f"rise_{times}"]
        lists[str(times)] = {
            "loss": [_rounded(loss) for loss in known[f"loss_{times}"]],
            "rise": [_rounded(_lower_end(rise)) for rise in rises],
            "mean_rise": [_rounded(rise.mean) if _is_measured(rise) else None for rise in rises],
            "behind": {},
        }
    for case in _cases():
        first = remaining(BEHIND_SLIDER.high, **case)[:1]
        if case["reads"] == reads and first:
            gaps = behind_best(**case)[order]
            of_length = lists[str(TIMES[case["texts"]])]["behind"]
            of_length[first[0]] = [_rounded(_lower_end(gap)) for gap in gaps]
    return lists


def _is_measured(difference: Any) -> bool:
    return isinstance(difference, Change)


def _lower_end(difference: Any) -> float | None:
    return difference.mean - difference.margin if _is_measured(difference) else None


def _rounded(number: float | None) -> float | None:
    return None if number is None or math.isnan(number) else round(number, 6)


chooser = Explorer(
    "chooser",
    "which encodings five answers leave",
    "A row an encoding and a column a question, with a cross where its answer strikes the encoding "
    "out, those that are left on top, with how far they are behind the first, and those that were "
    "not trained so at the end, with a dash; apart from them one that this course drew; and the "
    "loss of each at the length that is read, against how much it rises on longer texts.",
    {
        **{name: Choice(answers, name) for name, answers in QUESTIONS.items()},
        BEHIND: BEHIND_SLIDER,
    },
    _facts_as_lists,
)
