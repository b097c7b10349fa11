"""RoPE models trained on at 512 bytes, and read at 1,024 with the factor that fits these.

    python -m course_experiments.stretching_refitted results/refitted

writes results/refitted/stretching_refitted.csv, for the three shipped models. Training on, and the
bytes that are judged, are those of :mod:`stretching_runs`. Five minutes on one core.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from course_experiments.growing_table import GrowingTable
from course_experiments.stretching_runs import FACTOR, STEPS, judged_part
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import shipped
from course_utils.models.stretching import WAYS, WITHOUT_FACTOR, stretched
from course_utils.models.training import Recipe, fine_tune
from course_utils.texts import text

RECIPE = Recipe("rope")  # of the shipped models
TRAINED = RECIPE.length
TUNED_AT = FACTOR * TRAINED
READ = 2 * TUNED_AT
FITTING = READ / TRAINED  # the factor


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """All rows of one model: first the control, trained on with pieces of the trained length."""
    corpus_text, recipe = text.split(text.documentation()), replace(RECIPE, seed=seed)
    held_out = judged_part(corpus_text, READ)
    pieces = [("direct", TRAINED), *((way, TUNED_AT) for way in WAYS)]
    for way, cut in pieces:
        tuned = stretched(shipped.model("rope", seed=seed), way, FACTOR, TRAINED)
        fine_tune(tuned, recipe, corpus_text, length=TUNED_AT, steps=STEPS, cut=cut, bar=False)
        of_training = 1.0 if way in WITHOUT_FACTOR else float(FACTOR)
        readings = [(n, of_training) for n in (TRAINED, TUNED_AT, READ)]
        readings += [] if way in WITHOUT_FACTOR else [(READ, FITTING)]
        for read, factor in readings:
            reader = stretched(tuned, way, factor, TRAINED)
            loss, judged = sliding_loss(reader, held_out, read, READ)
            row = {"seed": seed, "way": way, "tuned_at": cut, "read": read, "factor": factor}
            yield {**row, "loss": round(loss, 5), "judged": judged}


def main(folder: Path) -> None:
    """Measure the models that the table lacks, and write it after each."""
    table = GrowingTable(folder / "stretching_refitted.csv")
    table.fill(({"seed": seed} for seed in shipped.SEEDS["rope"]), rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
