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

from course_experiments import extrapolation, needles, task_lengths
from course_experiments.run_keys import conditions, digest, key, pick
from course_experiments.sweep import Job
from course_utils.measures.trained_models import sliding_loss
from course_utils.models import TinyTransformer
from course_utils.models.stretching import WAYS, WITHOUT_FACTOR, stretched
from course_utils.models.training import Recipe, fine_tune, train_on_text
from course_utils.results import AS_TRAINED
from course_utils.texts import text

FACTOR = 8  # the context is to grow by this
STEPS = 100  # of fine-tuning
LENGTHS = (64, 128, 256, 512, 1024)
SWEPT = ("NTK-aware",)  # read with more than the factor that fits, too
MULTIPLES = (1.25, 1.5, 2, 3, 4)  # of the factor that fits
STRETCHES, LONGEST = 3, 3  # held-out stretches, each of so many of the longest windows

Row = dict[str, Any]


def jobs(
    recipes: Iterable[Recipe],
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    finder: Recipe | None = None,
    steps: int = STEPS,
) -> list[Job]:
    """What a sweep over these recipes has to do, each with the key of its result; see :func:`run`.

    The finder's seed is that of each recipe. Raises at once what is wrong.
    """
    finder = finder or replace(task_lengths.DEFAULTS, encoding="rope")
    about = {
        "corpus": digest(corpus), "lengths": [*lengths], "factor": FACTOR, "tuned": steps,
        "finder": finder.columns(), "ways": [*WAYS], "swept": [*SWEPT],
        "multiples": [*MULTIPLES], "needles": [*needles.WAYS],
    }  # fmt: skip
    found: list[Job] = []
    for one in recipes:
        _check(one, corpus, lengths)
        asker = replace(finder, seed=one.seed)
        job = partial(run, one, corpus, lengths, asker, steps, bar=False)
        found.append((key("stretching", one, **about), job))
    return found


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
    RoPE. ``finder`` makes the model of the needle task, if None by the task experiment's recipe.
    ``steps`` are those of fine-tuning.

    Returns:
        Rows of two tables. ``losses``: one a way, factor, number of fine-tuning steps, length of
        their pieces (0 without any), reading and length, in nats a byte. ``needles``: one a way,
        length and depth, the share found.
    """
    _check(recipe, corpus, lengths)
    device = pick()
    known = text.split(text.from_bytes(corpus))
    started = time.perf_counter()
    model = train_on_text(recipe, known, device, bar=bar)
    made: Row = {
        "train_seconds": round(time.perf_counter() - started, 1),
        **conditions(corpus, device),
    }
    held_out = judged_part(known, max(lengths)).to(device)
    found = []

    def read(reader: TinyTransformer, at: Iterable[int], **how: Any) -> None:
        for n in at:
            loss, judged = sliding_loss(reader, held_out, n, max(lengths))
            row = {**how, "read": n, "loss": round(loss, 5), "judged": judged}
            found.append({**recipe.columns(), **row, **made})

    long = FACTOR * recipe.length
    for way in WAYS:
        factor = 1 if way in WITHOUT_FACTOR else FACTOR
        untuned: Row = {"way": way, "factor": factor, "tuned": 0, "tuned_at": 0}
        read(stretched(model, way, factor, recipe.length), lengths, **untuned, reading=AS_TRAINED)
        sharper = stretched(model, way, factor, recipe.length, log_n=recipe.length)
        read(sharper, [n for n in lengths if n == long], **untuned, reading="log-n")
        for n, fitting in factors(way, recipe.length, lengths):
            fitted = stretched(model, way, fitting, recipe.length)
            read(fitted, [n], **{**untuned, "factor": fitting}, reading=AS_TRAINED)
        for at in (recipe.length, long) if way == "direct" else (long,):  # the first: the control
            tuned = stretched(model, way, factor, recipe.length)
            fine_tune(tuned, recipe, known, length=long, steps=steps, cut=at, bar=bar)
            told: Row = {"way": way, "factor": factor, "tuned": steps, "tuned_at": at}
            read(tuned, lengths, **told, reading=AS_TRAINED)
    finder = finder or replace(task_lengths.DEFAULTS, encoding="rope", seed=recipe.seed)
    return {"losses": found, "needles": needles.run(finder, bar=bar)}


def factors(way: str, trained: int, lengths: Iterable[int]) -> list[tuple[int, float]]:
    """Lengths and the factors, other than ``FACTOR``, with which a way reads them: (n, s).

    The factor that fits a length, n / ``trained``, and for some ways multiples of it.
    """
    if way in WITHOUT_FACTOR:
        return []
    multiples = (1, *MULTIPLES) if way in SWEPT else (1,)
    found = [(n, n / trained * times) for n in lengths if n > trained for times in multiples]
    return [(n, factor) for n, factor in found if factor != FACTOR]


def judged_part(known: text.Text, longest: int) -> text.Blocks:
    """The held-out bytes that are read: a few stretches from all over the text."""
    return text.spread(known.held_out, STRETCHES)[:, : LONGEST * longest + 1]


def _check(recipe: Recipe, corpus: bytes, lengths: Sequence[int]) -> None:
    if recipe.encoding != "rope":
        raise ValueError(f"encoding must be 'rope', only it is stretched, got {recipe.encoding!r}")
    if recipe.options:
        raise ValueError(f"options must be none, ways are for plain RoPE, got {recipe.options}")
    if not lengths or max(lengths) < recipe.length:
        raise ValueError(f"lengths must reach the trained length, {recipe.length}, got {lengths}")
    extrapolation.check(corpus, lengths, length=FACTOR * recipe.length)
