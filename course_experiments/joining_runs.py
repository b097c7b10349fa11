"""Train every way of joining word and place from every start, and write one table of the losses.

    python -m course_experiments.joining_runs results/joining

writes results/joining/joining.csv. Stop it whenever you like: the same command goes on.
"""

import itertools
import sys
from pathlib import Path

import pandas as pd

from course_experiments import __main__ as command
from course_experiments.joining import OPERATIONS

STDS = (0.02, 0.5, 1.0)  # of a fresh table
RECIPE = "--seeds 0 1 2 3 4 --lr 0.002 0.004 --steps 600 --d-model 64 --n-layers 2"


def main(folder: Path, recipe: str = RECIPE) -> int:
    """Run the sweeps; returns the exit status of the first that fails, else 0."""
    tables = []
    for operation, std in itertools.product(OPERATIONS, STDS):
        encoding = ["--encodings", "course_experiments.joining:Joined"]
        options = ["--option", f"operation={operation}", "--option", f"std={std}"]
        words = ["learning-rates", *encoding, *options, *recipe.split(), "--folder", str(folder)]
        if status := command.main(words):
            return status
        table = pd.read_csv(folder / "learning_rates.csv").drop(columns=["encoding", "options"])
        table.insert(0, "operation", operation)
        table.insert(1, "std", std)
        tables.append(table)
    pd.concat(tables).to_csv(folder / "joining.csv", index=False)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
