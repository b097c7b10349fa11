"""Whether a long training learns its text by heart: the loss on that text and on a held-out one.

    python -m course_experiments.memorising results/memorising

writes results/memorising/memorising.csv, a row a training; about an hour on one core. Stop it
whenever you like: the same command goes on.
"""

import itertools
import sys
from pathlib import Path

from course_experiments.extrapolation import WINDOW_BLOCKS, trained
from course_experiments.growing_table import GrowingTable, Row
from course_utils.measures.trained_models import sliding_loss
from course_utils.models.training import Recipe
from course_utils.texts import data, text

ENCODINGS = ("tents", "steep")
STEPS, SEEDS = (1200, 12_000), (0, 1)
READ, LONGEST = 64, 2048  # bytes read; the bytes judged are those of windows of up to LONGEST


def measure(encoding: str, seed: int, steps: int) -> list[Row]:
    """One row: the losses at 64 in nats a byte, after a training as ``extrapolation`` has it."""
    corpus = data.verified("documentation.txt").read_bytes()
    parts = text.split(text.from_bytes(corpus))
    model, _, _ = trained(None, Recipe(encoding, seed=seed, steps=steps), corpus, bar=False)
    block = parts.held_out.shape[1]
    whole = len(parts.train) // block * block
    blocks = {"learned": parts.train[:whole].reshape(-1, block), "held_out": parts.held_out}
    losses = {
        name: round(sliding_loss(model, text.spread(read, WINDOW_BLOCKS), READ, LONGEST)[0], 5)
        for name, read in blocks.items()
    }
    return [{"encoding": encoding, "seed": seed, "steps": steps, **losses}]


def settings() -> list[Row]:
    """What is trained: encoding, seed and steps of each run."""
    names = ("encoding", "seed", "steps")
    runs = itertools.product(ENCODINGS, SEEDS, STEPS)
    return [dict(zip(names, run, strict=True)) for run in runs]


def main(folder: Path) -> None:
    """Run what the table lacks, and write it after each training."""
    GrowingTable(folder / "memorising.csv").fill(settings(), measure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
