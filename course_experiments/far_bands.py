"""What a band of far keys costs a trained model, by how far back it stands.

    python -m course_experiments.far_bands results/bands

writes results/bands/far_bands.csv, a row a model, text and band: the shipped models with RoPE, with
ALiBi and without an encoding, and one with Transformer-XL, which is trained. Ten minutes on a core.

Each query sees its last 32 keys and 32 further ones, so that it never has more keys than in
training. Only queries before which the whole band stands are judged, and at every distance the same
ones: a window of 512 bytes judges its last 64.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_experiments.growing_table import GrowingTable
from course_experiments.windows import distances, trained
from course_utils.models import TinyTransformer
from course_utils.texts import text

SEEDS = {"rope": (0, 1, 2), "transformer_xl": (0,), "alibi": (0,), "none": (0,)}
KEYS = 32  # near ones, and as many in the band
WINDOW, JUDGED = 512, 64  # bytes
FIRST, BYTES = 1024, 512  # of each held-out block: the first byte judged, and how many
# Where the band begins, in positions back. At 0 it adds no key, at 32 it is what training had.
STARTS = (0, *range(KEYS, WINDOW - JUDGED - KEYS + 1, 16))
AT_ONCE = 8  # windows that a model reads in one pass


def visible(start: int) -> Tensor:
    """Which keys a query sees, (WINDOW, WINDOW): the nearest, and a band from ``start`` back on."""
    back = distances(WINDOW)
    return (back < KEYS) | ((back >= start) & (back < start + KEYS))


def windows(block: Tensor) -> tuple[Tensor, Tensor]:
    """Tokens (windows, WINDOW) and the targets of the last, (windows, JUDGED)."""
    rows = block[FIRST - WINDOW + JUDGED : FIRST + BYTES + 1].unfold(0, WINDOW + 1, JUDGED)
    return rows[:, :-1], rows[:, 1 + WINDOW - JUDGED :]


@torch.no_grad()
def loss(model: TinyTransformer, block: Tensor, start: int) -> float:
    """Mean loss of the judged bytes of a block, nats a byte."""
    seen, total = visible(start), 0.0
    tokens, targets = windows(block)
    for given, wanted in zip(tokens.split(AT_ONCE), targets.split(AT_ONCE), strict=True):
        hidden = model.hidden(given, attention_mask=seen.expand(len(given), -1, -1))
        logits = model.head(hidden[:, -JUDGED:]).flatten(0, 1)
        total += float(F.cross_entropy(logits, wanted.flatten(), reduction="sum"))
    return total / targets.numel()


def rows(encoding: str, seed: int) -> Iterator[dict[str, Any]]:
    """All rows of one model."""
    model = trained(encoding, seed)
    for number, block in enumerate(text.split(text.documentation()).held_out):
        for start in STARTS:
            row = {"encoding": encoding, "seed": seed, "text": number, "first": start}
            yield {**row, "loss": round(loss(model, block, start), 5), "judged": BYTES}


def main(folder: Path, measure: Callable[..., Iterator[dict[str, Any]]] = rows) -> None:
    """Measure the models that the table lacks, and write it after each."""
    table = GrowingTable(folder / "far_bands.csv")
    models = [(encoding, seed) for encoding, seeds in SEEDS.items() for seed in seeds]
    table.fill(({"encoding": encoding, "seed": seed} for encoding, seed in models), measure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
