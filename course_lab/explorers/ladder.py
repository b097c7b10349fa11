"""The ladder of slopes: heads with straight biases, read out by hand."""

from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer


def _slope(label: str, start: float) -> Slider:
    return Slider(-6.0, 6.0, start, step=0.25, label=label)


ladder = Explorer(
    "ladder",
    "heads with straight biases, and what can be read out of them",
    "Each head adds its slope times the distance to the scores of nine tokens. Least squares sets "
    "a factor for each head. How many answers are right in five tasks; the last query's weights "
    "times these factors, and their sum; and the sums of all queries.",
    {
        "task": Choice(("place 1", "place 0", "place 2", "place 3", "token before")),
        "heads": Slider(1, 4, 2, label="heads used"),
        "first": _slope("slope, head 1", 2.0),
        "second": _slope("slope, head 2", 2.0),
        "third": _slope("slope, head 3", 2.0),
        "fourth": _slope("slope, head 4", 2.0),
        "noise": Choice(("none", "1 in 100,000", "1 in 10,000", "1 in 1,000", "1 in 100")),
    },
)
