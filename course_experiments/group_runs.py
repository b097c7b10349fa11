"""The tables of ``published_groups`` over texts of two kinds.

    python -m course_experiments.group_runs results/groups

writes real_groups.csv and real_shares.csv there. Two texts are documentation, one is source code of
this Python's standard library. It takes an hour on two cores. Stop it whenever you like: the same
command goes on.
"""

import sys
import sysconfig
from pathlib import Path

import pandas as pd

from course_experiments import __main__ as command
from course_experiments.published_groups import (
    LEFT_OUT,
    MEAN_KEY,
    MEAN_KEY_EVERYWHERE,
    SHUFFLED,
    STOPPED,
)
from course_utils.results import AS_TRAINED
from course_utils.texts import data

# A text → its file and the seed, which says where in the file the reading begins.
LIBRARY = Path(sysconfig.get_path("stdlib"))
TEXTS = {
    "documentation 1": (data.CLONE / "documentation.txt", 3),
    "argparse.py": (LIBRARY / "argparse.py", 0),
    "documentation 2": (data.CLONE / "documentation.txt", 6),
}
SLOW = ("pairs 16-19", "pairs 20-23", "pairs 24-27", "pairs 28-31")
# Table, ways, and how many tokens are read in them: what costs most is read no longer than it must.
SWEEPS = (
    ("groups", [AS_TRAINED, *(f"{group} {STOPPED}" for group in SLOW)], 8000),
    ("groups", [f"pair 23 {STOPPED}"], 4096),
    (
        "groups",
        [
            f"{group} {change}"
            for change in (LEFT_OUT, MEAN_KEY, MEAN_KEY_EVERYWHERE)
            for group in SLOW[1:]
        ],
        2048,
    ),
    ("shares", [AS_TRAINED, SHUFFLED], 512),
)


def main(folder: Path, jobs: int = 2) -> int:
    """Run the sweeps; returns the exit status of the first that fails, else 0."""
    tables: dict[str, list[pd.DataFrame]] = {"groups": [], "shares": []}
    for name, ways, read in SWEEPS:
        for text, place in TEXTS.items():
            path, seed = place
            sizes = ["--seeds", str(seed), "--lengths", str(read), "--jobs", str(jobs)]
            words = ["real", "--tables", name, "--corpus", str(path), "--ways", *ways, *sizes]
            if status := command.main([*words, "--folder", str(folder / "runs")]):
                return status
            table = pd.read_csv(folder / "runs" / f"real_{name}.csv")
            table.insert(1, "text", text)
            tables[name].append(table)
            rows = pd.concat(tables[name])
            if name == "groups":  # a longer reading measures the shorter lengths once more
                rows = rows.drop_duplicates(["text", "way", "length"])
            rows.to_csv(folder / f"real_{name}.csv", index=False)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
