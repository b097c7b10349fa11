"""Which hands of a RoPE model must be slowed for a long text: one by one, and by the known ways.

And which fail at what distance: some are clamped alone, or slowed only for near or far keys.

    python -m course_experiments.stretched_hands results/hands

writes results/hands/stretching_hands.csv, a row a model, text, way and length, for the three
shipped models. Forty minutes on one core.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from course_experiments.growing_table import GrowingTable
from course_experiments.stretching_needles import CLAMPED
from course_utils.encodings import LongRoPE, Places, Rotary
from course_utils.encodings.base import Bias, Keys, Queries
from course_utils.encodings.functional import apply_rope, rope_angles, rope_frequencies
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer, shipped
from course_utils.models.stretching import ClampedRotary, stretched
from course_utils.texts import text

FACTOR, PAIRS = 8, 16
READ = (64, 512)  # bytes
LONGEST = 1024  # what is judged fits windows of this length
BYTES = 3 * LONGEST // 2 + 1  # of each held-out block
WAYS = ("direct", "interpolation", "NTK-aware", "by parts", "YaRN", "Llama 3.1", "step")
GROUPS = ((3, 4), (5, 6), (5, 7), (0, 4), (1, 4), (5, 15), (8, 15))  # from a pair to a pair
CLAMPED_ALONE = ((0, 4), (5, 5), (5, 15))
# Slowed only for keys nearer or farther than this many positions: hands, from, to.
SLOWED_AT = (
    (0, 0, 0, 4),
    (0, 0, 5, LONGEST),
    (1, 4, 0, 4),
    (1, 4, 5, LONGEST),
    (1, 4, 5, 16),
    (1, 4, 17, LONGEST),
    (0, 4, 0, 8),
    (0, 4, 9, LONGEST),
)


class _ByDistance(Rotary):
    """RoPE whose scores are another score for some pairs at some distances. For earlier keys.

    Args:
        pairs: the first and the last that change.
        distances: positions back, the first and the last at which they change.
        factor: by how much they are slowed there; ``None`` to clamp them at one before.
    """

    examples = ()

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        pairs: tuple[int, int],
        distances: tuple[int, int],
        factor: float | None,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.pairs, self.distances, self.factor = pairs, distances, factor

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Leave both as they are: door 3 makes the scores."""
        return q, k

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """What turns q·k into the changed scores, (batch, heads, q_len, k_len)."""
        theta = rope_frequencies(self.n_turned).to(q.device)
        first, last = self.pairs
        pairs = torch.arange(len(theta), device=q.device)
        features = ((pairs >= first) & (pairs <= last)).repeat_interleave(2).to(q.dtype)

        def scores(queries: Tensor, keys: Tensor, speeds: Tensor) -> Tensor:
            turned = apply_rope(queries, rope_angles(at.q, speeds))
            return turned @ apply_rope(keys, rope_angles(at.k, speeds)).mT

        own = scores(q, k, theta)
        if self.factor is None:
            there = torch.full_like(at.q, self.distances[0] - 1)
            changed = apply_rope(q, rope_angles(there, theta)) @ (k * features).mT
        else:
            changed = scores(q, k * features, theta / self.factor)
        # A masked key keeps whole pairs, so its turned scores are those of these pairs alone.
        changed = changed - scores(q, k * features, theta)
        near, far = self.distances
        meant = (at.offsets <= -near) & (at.offsets >= -far)
        return (own + torch.where(meant, changed, 0.0) - q @ k.mT) * self.scale(self.d_head)


def slowed(model: TinyTransformer, trained: int, factors: list[float]) -> TinyTransformer:
    """The model with each pair slowed by its factor."""
    return model.changed(scaling=LongRoPE(factors, 1.0, trained))


def _by_distance(
    model: TinyTransformer,
    pairs: tuple[int, int],
    distances: tuple[int, int],
    factor: float | None,
) -> TinyTransformer:
    return model.changed(encoding=_ByDistance, pairs=pairs, distances=distances, factor=factor)


def readers(model: TinyTransformer, trained: int) -> Iterator[tuple[str, TinyTransformer]]:
    """Each way's name, and the model that reads so."""
    for way in WAYS:
        yield way, stretched(model, way, FACTOR, trained)
    for first, last in (*((m, m) for m in range(PAIRS)), *GROUPS):
        factors = [float(FACTOR) if first <= m <= last else 1.0 for m in range(PAIRS)]
        yield _pairs(first, last), slowed(model, trained, factors)
    for farthest in (trained - 1, trained // 2 - 1):
        yield f"{CLAMPED} {farthest}", model.changed(encoding=ClampedRotary, farthest=farthest)
    for first, last in CLAMPED_ALONE:
        name = f"{CLAMPED} {trained - 1}, {_pairs(first, last)}"
        yield name, _by_distance(model, (first, last), (trained, BYTES), None)
    for first, last, near, far in SLOWED_AT:
        where = f"{near} to {far} back"
        if near == 0:
            where = f"at most {far} back"
        elif far == LONGEST:
            where = f"at least {near} back"
        reader = _by_distance(model, (first, last), (near, far), FACTOR)
        yield f"{_pairs(first, last)}, {where}", reader


def _pairs(first: int, last: int) -> str:
    return f"pair {first}" if first == last else f"pairs {first}-{last}"


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
    table.fill(({"seed": seed} for seed in shipped.SEEDS["rope"]), rows)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
