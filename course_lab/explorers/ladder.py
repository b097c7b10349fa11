"""The ladder of slopes: heads with straight biases, read out by hand, beside trained models."""

from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer
from course_utils.texts import data

TASKS = {  # the explorer's names, and those of the table of results
    "token before": "the token before",
    "place 0": "place 0",
    "place 1": "place 1",
    "place 3": "place 3",
}


def trained() -> dict[str, dict[str, list[float]]]:
    """Return by task the share of right answers of T5's bias, one layer, one number a seed."""
    rows = data.results("place_tasks").query("encoding == 't5' and layers == 1 and steps == 1500")
    shares = {name: rows.loc[rows["task"] == task, "accuracy"] for name, task in TASKS.items()}
    return {"trained": {name: column.tolist() for name, column in shares.items()}}


def _slope(label: str, start: float) -> Slider:
    return Slider(-6.0, 6.0, start, step=0.25, label=label)


ladder = Explorer(
    "ladder",
    "heads with straight biases, and what can be read out of them",
    "Each head adds its slope times the distance to the scores of nine tokens. The weights of each "
    "head; their best sum, by least squares; and how many answers are right in four tasks.",
    {
        "task": Choice(("place 1", "place 0", "place 3", "token before")),
        "noise": Choice(("none", "1 in 100,000", "1 in 10,000", "1 in 1,000", "1 in 100")),
        "heads": Slider(1, 4, 2, label="heads used"),
        "first": _slope("slope, head 1", 2.0),
        "second": _slope("slope, head 2", 2.0),
        "third": _slope("slope, head 3", 0.0),
        "fourth": _slope("slope, head 4", 0.0),
    },
    trained,
)
