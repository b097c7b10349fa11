"""The ladder of slopes: heads with straight biases, read out by hand."""

from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer


def _slope(label: str, start: float) -> Slider:
    return Slider(0.0, 6.0, start, step=0.25, label=label)


ladder = Explorer(
    "ladder",
    "heads with straight biases, and what can be read out of them",
    "Each head adds its slope times the distance to the scores of nine tokens. Least squares sets "
    "a factor for each head; with two heads you can set them by hand. How many answers are right "
    "at four places; each head's weights times its factor, and what they add up to.",
    {
        "task": Choice(("place 1", "place 0", "place 2", "place 3")),
        "heads": Slider(1, 4, 2, label="heads used"),
        "first": _slope("slope, head 1", 2.0),
        "second": _slope("slope, head 2", 0.5),
        "factors": Choice(("least squares", "by hand")),
        "head_1_factor": Slider(-3.0, 3.0, 1.0, step=0.05, label="head 1's factor (head 2's is 1)"),
        "third": _slope("slope, head 3", 0.5),
        "fourth": _slope("slope, head 4", 5.0),
    },
)
