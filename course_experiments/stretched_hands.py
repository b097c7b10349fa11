"""Which hands of a RoPE model must be slowed for a long text: one by one, and by the known ways.

    python -m course_experiments.stretched_hands results/hands

writes results/hands/stretching_hands.csv, a row a model, text, way and length, for the three
shipped models. Half an hour on one core.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_experiments.growing_table import GrowingTable
from course_experiments.stretching_needles import CLAMPED
from course_utils.encodings import LongRoPE
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer, shipped
from course_utils.models.stretching import ClampedRotary, stretched
from course_utils.texts import text

FACTOR, PAIRS = 8, 16
READ = (64, 512)  # bytes
LONGEST = 1024  # what is judged fits windows of this length
BYTES = 3 * LONGEST // 2 + 1  # of each held-out block
WAYS = ("direct", "interpolation", "NTK-aware", "by parts", "YaRN", "Llama 3.1", "step")
GROUPS = ((3, 4), (5, 6), (5, 7), (0, 4), (5, 15), (8, 15))  # from a pair to a pair


def slowed(model: TinyTransformer, trained: int, factors: list[float]) -> TinyTransformer:
    """The model with each pair slowed by its factor."""
    return model.changed(scaling=LongRoPE(factors, 1.0, trained))


def readers(model: TinyTransformer, trained: int) -> Iterator[tuple[str, TinyTransformer]]:
    """Each way's name, and the model that reads so."""
    for way in WAYS:
        yield way, stretched(model, way, FACTOR, trained)
    for first, last in (*((m, m) for m in range(PAIRS)), *GROUPS):
        name = f"pair {first}" if first == last else f"pairs {first}-{last}"
        factors = [float(FACTOR) if first <= m <= last else 1.0 for m in range(PAIRS)]
        yield name, slowed(model, trained, factors)
    for farthest in (trained - 1, trained // 2 - 1):
        yield f"{CLAMPED} {farthest}", model.changed(encoding=ClampedRotary, farthest=farthest)


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """All rows of one model."""
    model, trained = shipped.model("rope", seed=seed), shipped.length("rope")
    texts = text.split(text.documentation()).held_out[:, :BYTES]
    for way, reader in readers(model, trained):
        for number, block in enumerate(texts):
            for read in READ:
                loss, judged = sliding_loss(reader, block[None], read, LONGEST)
                row = {"seed": seed, "text": number, "way": way, "read": read}
                yield {**row, "loss": round(loss, 5), "judged": judged}


def main(folder: Path) -> None:
    """Measure the models that the table lacks, and write it after each."""
    table = GrowingTable(folder / "stretching_hands.csv")
    for seed in shipped.SEEDS["rope"]:
        if not table.has(seed=seed):
            table.add(rows(seed))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
