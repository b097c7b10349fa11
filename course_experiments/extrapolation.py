"""Train short, test long: one language model per encoding and seed, read far past its length.

Protocol. A model is trained on pieces of ``Recipe.length`` bytes. It then reads the held-out text
in windows of n bytes that advance by n/2, and the second half of each window is judged. So for
every n the same bytes are judged, and each has between n/2 and n bytes of context.
"""

import dataclasses
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch

from course_experiments import drawn_prices, mixed_layers, peek
from course_experiments.kept_weights import TrainingJob, Weights, packed, unpack, weights_bytes
from course_experiments.run_keys import columns, conditions, digest, key, run_device, training_key
from course_experiments.sweep import Job
from course_utils import validation
from course_utils.encodings import register
from course_utils.encodings.learned import Table
from course_utils.measures import trained_models
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, build, train_on_text
from course_utils.results import AS_TRAINED
from course_utils.texts import text

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
BIN = 64  # positions that one row of the losses by position covers
# Held-out blocks that are read, few enough to bound the time.
WINDOW_BLOCKS = 3
POSITION_BLOCKS = 6

Row = dict[str, Any]

# Here, since workers import this module.
register(mixed_layers.NAME, mixed_layers.rope_mixed)
register(drawn_prices.TENTS, drawn_prices.Tents)
register(drawn_prices.STEEP, drawn_prices.steep)
register(peek.NAME, peek.Peek)
register("roots", peek.Roots)
register(drawn_prices.NEAR, drawn_prices.Near)
register(drawn_prices.SHARP, drawn_prices.sharp)
register(drawn_prices.ONE_BACK, drawn_prices.one_back)
register(drawn_prices.FIXED, drawn_prices.Fixed)
register(drawn_prices.ALL_OWN, drawn_prices.all_own)
register(drawn_prices.ALL_ONE_BACK, drawn_prices.all_one_back)
register(drawn_prices.NEAR_BY_HEAD, drawn_prices.near_by_head)
register(drawn_prices.WINDOWS, drawn_prices.Windows)
register(drawn_prices.NARROW, drawn_prices.narrow)
register(drawn_prices.STEEP_TENTS, drawn_prices.steep_tents)
register(drawn_prices.ONE_HEAD_BACK, drawn_prices.one_head_back)


def jobs(
    recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS, **changes: Any
) -> list[Job]:
    """The jobs of a sweep over these recipes, each with the key of its result; see :func:`run`.

    Raises at once if the lengths or the text are of no use.
    """
    recipes = list(recipes)
    longest_training = max((recipe.length for recipe in recipes), default=2)
    check(corpus, lengths, length=longest_training)
    about = {"corpus": digest(corpus), **changes}
    keyed_jobs: list[Job] = []
    for recipe in recipes:
        job = TrainingJob(
            training_key(recipe, **about),
            weights_bytes(recipe, **changes),
            partial(measured, recipe=recipe, corpus=corpus, lengths=lengths, bar=False, **changes),
        )
        keyed_jobs.append((key("extrapolation", recipe, **about, lengths=[*lengths]), job))
    return keyed_jobs


def fire_jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    """FIRE with L₀ started at a quarter of the trained length, as its authors start it.

    They train at 2048 and start at 512 (Li et al. 2023, arXiv 2310.04418). Queries beyond L₀ are
    what teaches the model to interpolate, and a start at the full length leaves none.
    """
    keyed_jobs = []
    for recipe in recipes:
        start = dict(recipe.options).get("original_len", max(1, recipe.length // 4))
        keyed_jobs += jobs([recipe], corpus, lengths, original_len=start)
    return keyed_jobs


def price_jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    """Prices on distance, drawn by hand, beside ALiBi with eight heads in place of four."""
    recipes = [
        dataclasses.replace(recipe, n_heads=8) if recipe.encoding == "alibi" else recipe
        for recipe in recipes
    ]
    return jobs(recipes, corpus, lengths)


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
    ascending powers of two; ``changes`` are those of ``training.build``, and columns of the tables.

    Returns:
        Rows of two tables: ``losses``, one a length and way of reading, and ``positions``, one
        for each 64 positions of the longest windows. Losses are in nats a byte.
    """
    tables, _ = measured(None, recipe, corpus, lengths, bar=bar, **changes)
    return tables


def measured(
    weights: Weights | None,
    recipe: Recipe,
    corpus: bytes,
    lengths: Sequence[int],
    *,
    bar: bool,
    **changes: Any,
) -> tuple[dict[str, list[Row]], Weights]:
    """The tables of :func:`run`, and the weights: those passed, or new ones after a training."""
    check(corpus, lengths)
    corpus_text = text.split(text.from_bytes(corpus))
    model, weights, training_columns = trained(weights, recipe, corpus, bar=bar, **changes)
    held_out = corpus_text.held_out.to(model.embedding.weight.device)
    about: Row = {**columns(recipe, model), **changes}
    in_windows = text.spread(held_out, WINDOW_BLOCKS)
    losses = []
    for reading, reader in readings(recipe, model).items():
        for n in lengths:
            if reading != AS_TRAINED and n <= recipe.length:
                continue  # the loss as trained
            loss, judged = sliding_loss(reader, in_windows, n, max(lengths))
            row = {"reading": reading, "read": n, "loss": round(loss, 5), "judged": judged}
            losses.append({**about, **row, **training_columns})
    in_pieces = text.spread(held_out, POSITION_BLOCKS)
    positions = by_position(about, model, in_pieces, max(lengths))
    return {"losses": losses, "positions": positions}, weights


def trained(
    weights: Weights | None, recipe: Recipe, corpus: bytes, *, bar: bool, **changes: Any
) -> tuple[TinyTransformer, Weights, Row]:
    """A model of the recipe, with the weights passed or trained now; its weights; columns.

    The columns say what it was trained with.
    """
    device = run_device()
    if weights is not None:
        model = build(recipe, **changes).to(device).eval()
        return model, weights, unpack(weights, model)
    started = time.perf_counter()
    corpus_text = text.split(text.from_bytes(corpus))
    model = train_on_text(recipe, corpus_text, device, bar=bar, **changes)
    seconds = time.perf_counter() - started
    training_columns: Row = {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "train_seconds": round(seconds, 1),
        "bytes_per_second": round(recipe.steps * recipe.batch * recipe.length / seconds),
        **conditions(corpus, device),
    }
    return model, packed(model, training_columns), training_columns


def readings(recipe: Recipe, model: TinyTransformer) -> dict[str, TinyTransformer]:
    """A trained model as it is, and with changes that may help it on long texts."""
    models = {AS_TRAINED: model, "log-n": model.changed(log_n=recipe.length)}
    if isinstance(model.encoding, Table) and "beyond" in model.encoding.options:
        models["interpolated"] = model.changed(beyond="interpolate")
    return models


def by_position(
    about: Row, model: TinyTransformer, held_out: text.Blocks, length: int
) -> list[Row]:
    """Mean loss in each 64 positions of pieces that are read from their first byte on."""
    curve = trained_models.loss_by_position(model, held_out, length=length)
    rows = []
    for first in range(0, length, BIN):
        part = curve[first : first + BIN]
        loss = round(float(part.mean()), 5)
        rows.append({**about, "first": first, "last": first + len(part) - 1, "loss": loss})
    return rows


def check(corpus: bytes, lengths: Iterable[int] = LENGTHS, *, length: int = 2) -> None:
    """Raise if a text, the lengths to read or the ``length`` to train at are of no use."""
    last = 0
    for n in lengths:
        validation.integer("lengths", n, minimum=2)
        if n <= last or n & (n - 1):
            raise ValueError(f"lengths must be ascending powers of two, got {n} after {last}")
        last = n
    if not last:
        raise ValueError("lengths must hold at least one length, got none")
    corpus_text = text.split(text.from_bytes(corpus))
    text.draw(corpus_text.train, length=length, batch=1, generator=torch.Generator())
    for n in lengths:
        text.sliding(corpus_text.held_out[:1], length=n, first=last // 2)
