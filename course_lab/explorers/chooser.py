"""Five questions, and the encodings that the answers leave."""

from typing import Any

from course_lab.chooser import BEHIND, QUESTIONS, ROUNDING, TIMES, TOLERATED, TRAINED, facts
from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer

LABELS = {"reads": "it reads", "texts": "texts", "starts": "texts start", "attention": "attention"}


def _facts_as_lists() -> dict[str, Any]:
    """Return a list for each fact, in the order of the encodings: lowest loss first."""
    known = facts().sort_values("loss")
    rises = {}
    for answer, times in TIMES.items():
        rise = known[f"rise_{times}"].tolist()
        rises[answer] = {
            "mean": [round(change.mean, 6) for change in rise],
            "low": [round(change.mean - change.margin, 6) for change in rise],
        }
    return {
        "names": known.index.tolist(),
        "loss": known["loss"].round(6).tolist(),
        "rises": rises,
        "sides": (known["mirror"] > ROUNDING).tolist(),
        "still": (known["shift"] <= ROUNDING).tolist(),
        "plain": known["plain"].tolist(),
        "tolerated": TOLERATED,
        "trained": TRAINED,
    }


chooser = Explorer(
    "chooser",
    "which encodings five answers leave",
    "A row an encoding and a column a question, with a cross where its answer strikes the encoding "
    "out; and the loss of each at the trained length against how much it rises on longer texts, "
    "those that are left in colour.",
    {
        **{name: Choice(QUESTIONS[name], label) for name, label in LABELS.items()},
        BEHIND: Slider(0.01, 1.0, 0.2, ratio=True, label="loss behind"),
    },
    _facts_as_lists,
)
