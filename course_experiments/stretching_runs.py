"""RoPE on texts longer than those of training: eight ways, before and after a short fine-tuning.

A model is trained as for :mod:`extrapolation`. Then its weights are read with other frequencies,
by the same protocol: windows of n bytes, their second halves judged, the same bytes for every n.
NTK-aware is read with factors above the extension as well. After that each way is trained on for
a few steps on long pieces and read again, beside a control that is trained on for as many steps on
the same bytes, cut into pieces of the trained length. The needle task asks the same of models that
learned to find a marked symbol: how deep in the past may it lie?
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from course_experiments import extrapolation, stretching_needles, task_lengths
from course_experiments.run_keys import (
    columns,
    conditions,
    digest,
    key,
    recipe_columns,
    run_device,
)
from course_experiments.sweep import Job
from course_utils.encodings import maker_of
from course_utils.encodings.rope import Rotary
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer
from course_utils.models.stretching import WAYS, WITHOUT_FACTOR, stretched
from course_utils.models.training import Recipe, fine_tune, train_on_text
from course_utils.results import AS_TRAINED
from course_utils.texts import text

FACTOR = 8  # by which the context is to grow
STEPS = 100  # of fine-tuning
LENGTHS = (64, 128, 256, 512, 1024)
SWEPT = ("NTK-aware",)  # read with more than the factor that fits, too
MULTIPLES = (1.25, 1.5, 2, 3, 4)  # of the factor that fits
# The held-out bytes that are read: so many stretches, each of so many of the longest windows.
STRETCHES = 3
LONGEST_WINDOWS = 3

Row = dict[str, Any]


def jobs(
    recipes: Iterable[Recipe],
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    finder: Recipe | None = None,
    steps: int = STEPS,
) -> list[Job]:
    """The jobs of a sweep over these recipes, each with the key of its result; see :func:`run`.

    The finder's seed is that of each recipe. Raises at once if an argument is of no use.
    """
    finder = finder or replace(task_lengths.DEFAULTS, encoding="rope")
    about = {
        "corpus": digest(corpus),
        "lengths": [*lengths],
        "factor": FACTOR,
        "tuned": steps,
        "finder": recipe_columns(finder),
        "ways": [*WAYS],
        "swept": [*SWEPT],
        "multiples": [*MULTIPLES],
        "needles": [*stretching_needles.WAYS],
    }
    keyed_jobs: list[Job] = []
    for recipe in recipes:
        _check(recipe, corpus, lengths)
        seeded_finder = replace(finder, seed=recipe.seed)
        job = partial(run, recipe, corpus, lengths, seeded_finder, steps, bar=False)
        keyed_jobs.append((key("stretching", recipe, **about), job))
    return keyed_jobs


def run(
    recipe: Recipe,
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    finder: Recipe | None = None,
    steps: int = STEPS,
    *,
    bar: bool = True,
) -> dict[str, list[Row]]:
    """Train one model, stretch it in every way, fine-tune each and read again; then the needles.

    ``recipe``, ``corpus`` and ``lengths`` are as for :func:`extrapolation.run`, the encoding is
    RoPE. ``finder`` is the recipe of the model for the needle task, if None that of the task
    experiment. ``steps`` are those of fine-tuning.

    Returns:
        Rows of two tables. ``losses``: one a way, factor, number of fine-tuning steps, length of
        their pieces (0 without any), reading and length, in nats a byte. ``needles``: one a way,
        length and depth, the share found.
    """
    _check(recipe, corpus, lengths)
    device = run_device()
    corpus_text = text.split(text.from_bytes(corpus))
    started = time.perf_counter()
    model = train_on_text(recipe, corpus_text, device, bar=bar)
    training_columns: Row = {
        "train_seconds": round(time.perf_counter() - started, 1),
        **conditions(corpus, device),
    }
    held_out = judged_part(corpus_text, max(lengths)).to(device)
    losses = []

    def read(reader: TinyTransformer, windows: Iterable[int], **about: Any) -> None:
        for n in windows:
            loss, judged = sliding_loss(reader, held_out, n, max(lengths))
            row = {**about, "read": n, "loss": round(loss, 5), "judged": judged}
            losses.append({**columns(recipe, model), **row, **training_columns})

    long = FACTOR * recipe.length
    for way in WAYS:
        factor = 1 if way in WITHOUT_FACTOR else FACTOR
        untuned: Row = {"way": way, "factor": factor, "tuned": 0, "tuned_at": 0}
        plain = stretched(model, way, factor, recipe.length)
        read(plain, lengths, **untuned, reading=AS_TRAINED)
        sharper = stretched(model, way, factor, recipe.length, log_n=recipe.length)
        read(sharper, [n for n in lengths if n == long], **untuned, reading="log-n")
        for n, other_factor in factors(way, recipe.length, lengths):
            fitted = stretched(model, way, other_factor, recipe.length)
            read(fitted, [n], **{**untuned, "factor": other_factor}, reading=AS_TRAINED)
        # Pieces of the trained length are the control.
        piece_lengths = (recipe.length, long) if way == "direct" else (long,)
        for piece_length in piece_lengths:
            tuned = stretched(model, way, factor, recipe.length)
            fine_tune(
                tuned, recipe, corpus_text, length=long, steps=steps, cut=piece_length, bar=bar
            )
            about: Row = {"way": way, "factor": factor, "tuned": steps, "tuned_at": piece_length}
            read(tuned, lengths, **about, reading=AS_TRAINED)
    finder = finder or replace(task_lengths.DEFAULTS, encoding="rope", seed=recipe.seed)
    return {"losses": losses, "needles": stretching_needles.run(finder, bar=bar)}


def factors(way: str, trained: int, lengths: Iterable[int]) -> list[tuple[int, float]]:
    """Lengths and the factors, other than ``FACTOR``, with which a way reads them: (n, s).

    The factor that fits a length, n / ``trained``, and for some ways multiples of it.
    """
    if way in WITHOUT_FACTOR:
        return []
    multiples = (1, *MULTIPLES) if way in SWEPT else (1,)
    pairs = [(n, n / trained * multiple) for n in lengths if n > trained for multiple in multiples]
    return [(n, factor) for n, factor in pairs if factor != FACTOR]


def judged_part(corpus_text: text.Text, longest: int) -> text.Blocks:
    """The held-out bytes that are read: a few stretches from all over the text."""
    return text.spread(corpus_text.held_out, STRETCHES)[:, : LONGEST_WINDOWS * longest + 1]


def _check(recipe: Recipe, corpus: bytes, lengths: Sequence[int]) -> None:
    if maker_of(recipe.encoding) is not Rotary:
        raise ValueError(f"encoding must be 'rope', only it is stretched, got {recipe.encoding!r}")
    if recipe.options:
        raise ValueError(f"options must be none, ways are for plain RoPE, got {recipe.options}")
    if not lengths or max(lengths) < recipe.length:
        raise ValueError(f"lengths must reach the trained length, {recipe.length}, got {lengths}")
    extrapolation.check(corpus, lengths, length=FACTOR * recipe.length)
