"""Whether the costs of far bands follow one pair of RoPE: its turn is made longer or shorter.

    python -m course_experiments.far_bands_turned results/bands

writes results/bands/far_bands_turned.csv, a row a model, changed pair, text and band, for the three
shipped models with RoPE. Nothing is trained. Ten minutes on a core.

Bands, windows and judged bytes are those of ``course_experiments.far_bands``. Pair 5 is the first
whose whole turn pieces of 64 never showed; pairs 4 and 7 are controls.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from course_experiments.far_bands import BYTES, KEYS, STARTS, loss
from course_experiments.growing_table import GrowingTable
from course_experiments.stretched_hands import PAIRS, slowed
from course_utils.models import shipped
from course_utils.texts import text

SEEDS = (0, 1, 2)
TEXTS = (0, 2, 5)  # of the six held-out ones
CHANGES = ((5, 0.85), (5, 1.15), (4, 0.85), (4, 1.15), (7, 0.85), (7, 1.15))  # pair, turn's length


def rows(seed: int, pair: int, longer: float) -> Iterator[dict[str, Any]]:
    """All rows of one model whose pair takes ``longer`` times as many positions for a turn."""
    factors = [longer if number == pair else 1.0 for number in range(PAIRS)]
    model = slowed(shipped.model("rope", seed=seed), shipped.length("rope"), factors)
    held_out = text.split(text.documentation()).held_out
    for number in TEXTS:
        for start in STARTS:
            if start >= KEYS:
                row = {"seed": seed, "pair": pair, "longer": longer, "text": number, "first": start}
                rounded = round(loss(model, held_out[number], start), 5)
                yield {**row, "loss": rounded, "judged": BYTES}


def main(folder: Path) -> None:
    """Measure the changed models that the table lacks, and write it after each."""
    settings = (
        {"seed": seed, "pair": pair, "longer": longer} for pair, longer in CHANGES for seed in SEEDS
    )
    GrowingTable(folder / "far_bands_turned.csv").fill(settings, rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
