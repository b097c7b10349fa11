"""Train short, test long: one language model per encoding and seed, read far past its length.

Protocol. A model is trained on pieces of ``Recipe.length`` bytes. It then reads the held-out text
in windows of n bytes that advance by n/2, and the second half of each window is judged. So for
every n the same bytes are judged, and each has between n/2 and n bytes of context.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch

from course_experiments.run_keys import columns, conditions, digest, key, pick, training
from course_experiments.saved_models import Learner, Weights, packed, size_of, unpack
from course_experiments.sweep import Job
from course_utils import validation
from course_utils.encodings.learned import Table
from course_utils.measures import trained_models
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, build, train_on_text
from course_utils.results import AS_TRAINED
from course_utils.texts import text

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
BIN = 64  # positions that one row of the losses by position covers
WINDOW_BLOCKS, POSITION_BLOCKS = 3, 6  # held-out blocks that are read: bounds the time

Row = dict[str, Any]


def jobs(
    recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS, **changes: Any
) -> list[Job]:
    """What a sweep over these recipes has to do, each with the key of its result; see :func:`run`.

    Raises at once what is wrong with the lengths or the text.
    """
    recipes = list(recipes)
    check(corpus, lengths, length=max((one.length for one in recipes), default=2))
    learned_from = {"corpus": digest(corpus), **changes}
    found: list[Job] = []
    for one in recipes:
        job = partial(measured, recipe=one, corpus=corpus, lengths=lengths, bar=False, **changes)
        learner = Learner(training(one, **learned_from), size_of(one, **changes), job)
        found.append((key("extrapolation", one, **learned_from, lengths=[*lengths]), learner))
    return found


def fire_jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    """FIRE with L₀ started at a quarter of the trained length, as its authors start it.

    They train at 2048 and start at 512 (Li et al. 2023, arXiv 2310.04418). Queries beyond L₀ are
    what teaches the model to interpolate, and a start at the full length leaves none.
    """
    found = []
    for recipe in recipes:
        start = dict(recipe.options).get("original_len", max(1, recipe.length // 4))
        found += jobs([recipe], corpus, lengths, original_len=start)
    return found


def run(
    recipe: Recipe,
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    *,
    bar: bool = True,
    **changes: Any,
) -> dict[str, list[Row]]:
    """Train one model and read the held-out text at every length.

    :func:`~course_utils.texts.text.split` says what is held out. ``lengths`` are windows in bytes,
    ascending powers of two, ``changes`` as for ``recipe.build``; each of these is a column.

    Returns:
        Rows of two tables: ``losses``, one a length and way of reading, and ``positions``, one
        for each 64 positions of the longest windows. Losses are in nats a byte.
    """
    return measured(None, recipe, corpus, lengths, bar=bar, **changes)[0]


def measured(
    weights: Weights | None,
    recipe: Recipe,
    corpus: bytes,
    lengths: Sequence[int],
    *,
    bar: bool,
    **changes: Any,
) -> tuple[dict[str, list[Row]], Weights]:
    """What :func:`run` returns, and the weights: those given, of the same training, or new ones."""
    check(corpus, lengths)
    device = pick()
    known = text.split(text.from_bytes(corpus))
    if weights is None:
        started = time.perf_counter()
        model = train_on_text(recipe, known, device, bar=bar, **changes)
        seconds = time.perf_counter() - started
        made: Row = {
            "parameters": sum(p.numel() for p in model.parameters()),
            "train_seconds": round(seconds, 1),
            "bytes_per_second": round(recipe.steps * recipe.batch * recipe.length / seconds),
            **conditions(corpus, device),
        }
        weights = packed(model, made)
    else:
        model = build(recipe, **changes).to(device).eval()
        made = unpack(weights, model)
    about: Row = {**columns(recipe, model), **changes}
    held_out = known.held_out.to(device)
    in_windows, in_pieces = (text.spread(held_out, n) for n in (WINDOW_BLOCKS, POSITION_BLOCKS))
    losses = [
        {**about, "reading": reading, "read": n, "loss": round(loss, 5), "judged": judged, **made}
        for reading, reader in readings(recipe, model).items()
        for n in lengths
        if reading == AS_TRAINED or n > recipe.length  # elsewhere they are the same
        for loss, judged in [sliding_loss(reader, in_windows, n, max(lengths))]
    ]
    positions = by_position(about, model, in_pieces, max(lengths))
    return {"losses": losses, "positions": positions}, weights


def readings(recipe: Recipe, model: TinyTransformer) -> dict[str, TinyTransformer]:
    """A trained model as it is, and with what may help on long texts."""
    ways: dict[str, dict[str, Any]] = {"log-n": {"log_n": recipe.length}}
    if isinstance(model.encoding, Table) and "beyond" in model.encoding.options:
        ways["interpolated"] = {"beyond": "interpolate"}
    return {AS_TRAINED: model} | {name: model.changed(**way) for name, way in ways.items()}


def by_position(
    about: Row, model: TinyTransformer, held_out: text.Blocks, length: int
) -> list[Row]:
    """Mean loss in each 64 positions of pieces that are read from their first byte on."""
    curve = trained_models.loss_by_position(model, held_out, length=length)
    return [
        {**about, "first": first, "last": first + len(part) - 1, "loss": round(float(mean), 5)}
        for first, part in zip(range(0, length, BIN), curve.split(BIN), strict=True)
        for mean in [part.mean()]
    ]


def check(corpus: bytes, lengths: Iterable[int] = LENGTHS, *, length: int = 2) -> None:
    """Say what is wrong with a text, the lengths read or that of training, before training."""
    last = 0
    for n in lengths:
        validation.integer("lengths", n, minimum=2)
        if n <= last or n & (n - 1):
            raise ValueError(f"lengths must be ascending powers of two, got {n} after {last}")
        last = n
    if not last:
        raise ValueError("lengths must hold at least one length, got none")
    train, held_out = text.split(text.from_bytes(corpus))
    text.draw(train, length=length, batch=1, generator=torch.Generator())
    for n in lengths:
        text.sliding(held_out[:1], length=n, first=last // 2)
