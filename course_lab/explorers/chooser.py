"""Five questions, and which encodings the answers leave."""

from typing import Any

from course_lab import choosing
from course_lab.explorers.browser import Choice, Explorer, Slider

LABELS = {"reads": "it reads", "texts": "texts", "starts": "texts start", "attention": "attention"}


def _known() -> dict[str, Any]:
    """A list for each fact, in the order of the names: those with the lowest loss first."""
    known = choosing.facts().sort_values("loss")
    rises = {
        answer: {
            "mean": [round(rise.mean, 6) for rise in known[f"rise_{times}"]],
            "low": [round(rise.mean - rise.margin, 6) for rise in known[f"rise_{times}"]],
        }
        for answer, times in choosing.TIMES.items()
    }
    return {
        "names": known.index.tolist(),
        "loss": known["loss"].round(6).tolist(),
        "rises": rises,
        "sides": (known["mirror"] > choosing.ROUNDING).tolist(),
        "still": (known["shift"] <= choosing.ROUNDING).tolist(),
        "plain": known["plain"].tolist(),
        "tolerated": choosing.TOLERATED,
        "trained": choosing.TRAINED,
    }


chooser = Explorer(
    "chooser",
    "which encodings five answers leave",
    "A row an encoding and a column a question, with a cross where its answer strikes the encoding "
    "out; and the loss of each at the trained length against how much it rises on longer texts, "
    "those that are left in colour.",
    {
        **{name: Choice(choosing.QUESTIONS[name], label) for name, label in LABELS.items()},
        choosing.BEHIND: Slider(0.01, 1.0, 0.2, ratio=True, label="loss behind"),
    },
    _known,
)
