"""What trained models lose where far keys are hidden, or where their offsets are clamped.

    python -m course_experiments.windows results/windows

writes results/windows/windows.csv, a row a model, text and way. Models of the recipe of
``extrapolation.csv``: three seeds of RoPE, two of ALiBi, one of Transformer-XL. Those that are not
shipped are trained. Half an hour on one core.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from course_experiments.growing_table import GrowingTable
from course_utils.models import TinyTransformer, shipped
from course_utils.models.stretching import ClampedRotary
from course_utils.models.training import Recipe, train_on_text
from course_utils.texts import text
from course_utils.texts.tasks import IGNORED_TARGET, Examples

SEEDS = {"rope": 3, "alibi": 2, "transformer_xl": 1}
FIRST, END = 1024, 7169  # of each held-out block: the bytes that extrapolation.csv judges
LENGTHS = (512, 2048)  # the longer one for seed 0, and for all of RoPE
PIECES = (64, 1024)  # that do not overlap, all judged: an unfair reading
WINDOWS = (4, 8, 16, 32, 64, 128, 256)  # keys that stay in sight, the query's own among them
CLIP = 63  # the largest distance in training
FEW = 32  # near keys, and as many far ones, of the way "32 near, 32 far"
FAR = 192  # how far back the nearest of those far ones is
AT_ONCE = 4096  # bytes that a model reads in one pass


def window(back: Tensor, keys: int) -> Tensor:
    """Which of the distances ``back`` stay in sight where the last ``keys`` do."""
    return back < keys


def few_and_far(back: Tensor, keys: int) -> Tensor:
    """The nearest ``keys``, and as many from ``FAR`` on."""
    return (back < keys) | ((back >= FAR) & (back < FAR + keys))


def distances(length: int) -> Tensor:
    """I − j of every query and key, (length, length)."""
    places = torch.arange(length)
    return places[:, None] - places


def examples(block: Tensor, length: int) -> Examples:
    """Sliding windows of one block that judge the bytes of ``extrapolation.csv``."""
    return text.sliding(block[None, :END], length=length, first=FIRST)


@torch.no_grad()
def loss(model: TinyTransformer, given: Examples, visible: Tensor | None = None) -> float:
    """Mean loss of the targets in nats a byte; ``visible`` (seq, seq) says which keys stay."""
    total, count = 0.0, 0
    rows_at_once = max(1, AT_ONCE // given.tokens.shape[1])
    for tokens, targets in zip(*(ids.split(rows_at_once) for ids in given), strict=True):
        mask = None if visible is None else visible.expand(len(tokens), -1, -1)
        wanted = targets != IGNORED_TARGET
        logits = model.head(model.hidden(tokens, attention_mask=mask)[wanted])
        total += float(F.cross_entropy(logits, targets[wanted], reduction="sum"))
        count += int(wanted.sum())
    return total / count


@torch.no_grad()
def weight_from(model: TinyTransformer, given: Examples) -> Tensor:
    """Attention weight on keys at least d back, (heads of all layers, 513), whole reading.

    Means over the judged queries of the windows.
    """
    half = given.tokens.shape[1] // 2
    sums: Tensor | float = 0.0
    for tokens in given.tokens.split(4):
        _, weights = model(tokens, need_weights=True)
        heads = torch.cat(weights, 1)[:, :, half:]  # (texts, layers · heads, half, length)
        back = distances(tokens.shape[1])[half:].clamp(min=0)
        by_distance = torch.zeros(heads.shape[1], tokens.shape[1] + 1)
        flat = heads.sum(0).flatten(1)
        by_distance.index_add_(1, back.flatten(), flat)
        sums = sums + by_distance / (half * len(given.tokens))
    assert isinstance(sums, Tensor)
    return sums.flip(-1).cumsum(-1).flip(-1)


def trained(encoding: str, seed: int) -> TinyTransformer:
    """The shipped model, or one trained now."""
    if encoding in shipped.NAMES and seed in shipped.SEEDS.get(encoding, (0,)):
        return shipped.model(encoding, seed=seed)
    corpus = text.split(text.documentation())
    recipe = Recipe(encoding, seed=seed)
    return train_on_text(recipe, corpus, torch.device("cpu"), bar=False)


def rows(encoding: str, seed: int) -> Iterator[dict[str, Any]]:
    """All rows of one model."""
    model = trained(encoding, seed)
    clamped = model.changed(encoding=ClampedRotary, farthest=CLIP) if encoding == "rope" else None
    for number, block in enumerate(text.split(text.documentation()).held_out):
        about = {"encoding": encoding, "seed": seed, "text": number}

        def row(
            read: int, way: str, keys: int, value: float, about: Any = about, **more: float
        ) -> dict[str, Any]:
            return {**about, "read": read, "way": way, "keys": keys, "loss": round(value, 5)} | {
                name: round(number, 4) for name, number in more.items()
            }

        yield row(64, "whole", 64, loss(model, examples(block, 64)))
        if encoding == "alibi":
            for read in PIECES:
                given = text.pieces(block[None, :END], length=read)
                yield row(read, "pieces", read, loss(model, given))
        for read in LENGTHS if seed == 0 or encoding == "rope" else LENGTHS[:1]:
            given, back = examples(block, read), distances(read)
            yield row(read, "whole", read, loss(model, given))
            beyond = weight_from(model, given) if read == 512 else None
            for keys in WINDOWS if read == 512 else (64,):
                more = {}
                if beyond is not None:
                    more = {
                        "beyond": float(beyond[:, keys].mean()),
                        "beyond_most": float(beyond[:, keys].max()),
                    }
                yield row(read, "window", keys, loss(model, given, window(back, keys)), **more)
            if read == 512:
                visible = few_and_far(back, FEW)
                yield row(read, "near and far", 2 * FEW, loss(model, given, visible))
            if clamped is not None:
                yield row(read, "clamped", read, loss(clamped, given))
                if read == 512:
                    yield row(read, "clamped near and far", 2 * FEW, loss(clamped, given, visible))


def models() -> Iterator[tuple[str, int]]:
    """Encoding and seed of each model, all first seeds first."""
    for seed in range(max(SEEDS.values())):
        yield from ((encoding, seed) for encoding, count in SEEDS.items() if seed < count)


def main(folder: Path, measure: Callable[..., Iterator[dict[str, Any]]] = rows) -> None:
    """Measure the models that the table lacks, and write it after each."""
    table = GrowingTable(folder / "windows.csv")
    table.fill(({"encoding": encoding, "seed": seed} for encoding, seed in models()), measure)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    main(Path(sys.argv[1]))
