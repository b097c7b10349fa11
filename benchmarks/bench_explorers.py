"""How long each explorer takes from a slider's new value to the new picture, in milliseconds.

Every control of every explorer of the lessons is moved through its range. Goal: a median of at
most 100 ms on two cores.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from course_utils import plots, widgets

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))
from lesson_explorers import find_explorers  # noqa: E402

MOVES = 20  # of each control


def values(control):
    """Values to move a control through, from its range or its choices."""
    if hasattr(control, "options"):
        return [control.options[i % len(control.options)] for i in range(MOVES)]
    if not hasattr(control, "min"):
        return [bool(i % 2) for i in range(MOVES)]
    low, high = control.min, control.max
    if hasattr(control, "base"):
        return [control.base ** (low + (high - low) * i / MOVES) for i in range(MOVES)]
    kind = type(control.value)
    return [kind(low + (high - low) * i / MOVES) for i in range(MOVES)]


def milliseconds(control, value, image):
    """Time of one move, None if it changed no picture."""
    before, start = image.value, time.perf_counter()
    control.value = value
    spent = 1000 * (time.perf_counter() - start)
    return spent if image.value is not before else None


def main() -> None:
    plots.use_style()
    print(f"{'explorer':20} {'moves':>5} {'median':>7} {'90 %':>7} {'largest':>8}   ms")
    for explorer in find_explorers():
        box = widgets.explorer(explorer.draw, **explorer.arguments)
        *controls, image, _ = box.children
        found = []
        for control in controls:
            start = control.value
            found += [milliseconds(control, value, image) for value in values(control)]
            control.value = start
        times = sorted(spent for spent in found if spent is not None)
        nine = times[int(0.9 * len(times))]
        middle = statistics.median(times)
        print(f"{explorer!s:20} {len(times):5} {middle:7.0f} {nine:7.0f} {times[-1]:8.0f}")


if __name__ == "__main__":
    main()
