"""How the open patients are trained and read, and the losses of five such trainings.

    python -m course_lab.clinic.trainings results/patients

writes results/patients/patients.csv, a row a model, seed and way of reading; some minutes on one
core. Here and not among the experiments, which know nothing of the clinic.
"""

import sys
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch.nn import functional as F

from course_lab.clinic.open_patients import CASES, patient, twin, without_position
from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import tasks, text

STEPS, LENGTH, BATCH = 120, 32, 8  # steps of a training, bytes of a text, texts a step
SEEDS = range(5)
BLOCKS = 2  # of held-out text
NO_POSITION = "none"  # the model that shows what position is worth after so few steps
AS_IN_TRAINING = "as in training"
READINGS: dict[str, dict[str, Any]] = {
    AS_IN_TRAINING: {},
    "from position 8,000": {"start": 8000},
    "byte by byte": {"in_pieces": True},
    "128 texts a pass": {"texts": 128},
}


@cache
def _english() -> text.Text:
    return text.split(text.documentation())


def trained(
    name: str, seed: int = 0, *, bar: bool = False, device: torch.device | None = None
) -> TinyTransformer:
    """A patient, by its letter, a twin, by the name of its encoding, or "none", after 120 steps.

    The seed decides the first weights and the order of the text.
    """
    device = device or torch.device("cpu")
    letters = {case.twin: letter for letter, case in CASES.items()}
    if name == NO_POSITION:
        model = without_position(seed)
    else:
        model = twin(letters[name], seed) if name in letters else patient(name, seed)
    model = model.to(device)
    dice = torch.Generator().manual_seed(seed)
    draw = partial(text.draw, _english().train, length=LENGTH, batch=BATCH, generator=dice)
    label = f"{name}, training {seed + 1}"
    fit(model, lambda: tasks.loss(model, draw().to(device)), STEPS, lr=5e-3, name=label, bar=bar)
    return model


@torch.no_grad()
def held_out_loss(
    model: TinyTransformer, *, texts: int = BATCH, start: int = 0, in_pieces: bool = False
) -> float:
    """The mean loss on 510 held-out texts of 32 bytes, nats a byte.

    Args:
        model: reads them.
        texts: read in one pass.
        start: the position of each text's first byte.
        in_pieces: whether to read byte by byte, with a cache.
    """
    held_out = text.pieces(_english().held_out[:BLOCKS], length=LENGTH)
    losses = []
    for tokens, targets in zip(*(ids.split(texts) for ids in held_out), strict=True):
        if in_pieces:
            keys = model.new_cache()
            bytes_ = tokens.split(1, dim=1)
            logits = torch.cat([model(byte, cache=keys) for byte in bytes_], dim=1)
        else:
            logits = model(tokens, torch.arange(LENGTH) + start)
        losses.append(F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none"))
    return float(torch.cat(losses).mean())


def rows(seed: int) -> Iterator[dict[str, Any]]:
    """The losses of all patients, twins and the model without position, read in each way."""
    for name in [*CASES, *dict.fromkeys(case.twin for case in CASES.values()), NO_POSITION]:
        model = trained(name, seed)
        for reading, how in READINGS.items():
            loss = round(held_out_loss(model, **how), 6)
            yield {"model": name, "seed": seed, "reading": reading, "loss": loss}


def main(folder: Path) -> None:
    """Train all and write the table."""
    import pandas as pd

    table = pd.DataFrame([row for seed in SEEDS for row in rows(seed)])
    table["torch"] = torch.__version__
    folder.mkdir(parents=True, exist_ok=True)
    table.to_csv(folder / "patients.csv", index=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
