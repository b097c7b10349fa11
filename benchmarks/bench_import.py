"""What ``import course_utils`` costs beyond ``import torch``: fresh processes, in turns.

Goals: at most 0.3 s, and 0.2 s for the encodings alone.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

ROUNDS = 7
TIMED = "import time; s = time.perf_counter(); import {}; print(time.perf_counter() - s)"
IMPORTS = {
    "torch": "torch",
    "torch, course_utils": "torch, course_utils",
    "torch, the encodings": "torch, course_utils.encodings",
    "torch, all but plots and widgets": "torch, course_utils.models, course_utils.measures",
}


def seconds(modules: str) -> float:
    run = [sys.executable, "-c", TIMED.format(modules)]
    return float(subprocess.run(run, capture_output=True, check=True, text=True).stdout)


def main() -> None:
    for modules in IMPORTS.values():  # fill the file cache and write bytecode
        seconds(modules)
    rounds = [{name: seconds(what) for name, what in IMPORTS.items()} for _ in range(ROUNDS)]
    for name in list(IMPORTS)[1:]:
        extra = [seconds[name] - seconds["torch"] for seconds in rounds]
        print(
            f"{name}: {statistics.median(extra):+.3f} s beyond torch "
            f"(from {min(extra):+.3f} to {max(extra):+.3f}, {ROUNDS} rounds)"
        )


if __name__ == "__main__":
    main()
