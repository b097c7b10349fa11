"""RoPE on texts longer than those of training: eight ways, before and after a short fine-tuning.

A model is trained as for :mod:`extrapolation`. Then its weights are read with other frequencies,
by the same protocol: windows of n bytes, their second halves judged, the same bytes for every n.
After that each way is trained on for a few steps on long pieces and read again. The needle task
asks the same of models that learned to find a marked symbol: how deep in the past may it lie?
"""

from __future__ import annotations

import dataclasses
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from course_utils import __version__, sequence_tasks, text
from course_utils.experiments import algorithms, extrapolation, needles
from course_utils.experiments.extrapolation import AS_TRAINED, spread
from course_utils.experiments.recipe import Recipe, digest, key, on_text, pick
from course_utils.experiments.sweep import Job
from course_utils.experiments.ways import WAYS, WITHOUT_FACTOR, stretched
from course_utils.models import TinyTransformer
from course_utils.training import fit

FACTOR = 8  # the context is to grow by this
STEPS = 100  # of fine-tuning
LENGTHS = (64, 128, 256, 512, 1024)
STRETCHES, LONGEST = 3, 3  # held-out stretches, each of so many of the longest windows

Row = dict[str, Any]


def fine_tune(
    model: TinyTransformer,
    recipe: Recipe,
    known: text.Text,
    *,
    length: int,
    steps: int = STEPS,
    bar: bool = True,
) -> None:
    """Train on, in place, on pieces of ``length`` bytes: as many bytes a step as in training.

    The learning rate is half of the recipe's. Pieces and their order are the same for every way.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    batch = max(1, recipe.batch * recipe.length // length)
    device = model.embedding.weight.device

    def loss() -> torch.Tensor:
        drawn = text.draw(known.train, length=length, batch=batch, generator=generator)
        return sequence_tasks.loss(model, drawn.to(device))

    name = f"fine-tuning at {length}"
    if len(fit(model, loss, steps, lr=recipe.lr / 2, name=name, bar=bar)) < steps:
        raise KeyboardInterrupt  # a run is whole or it is not a run


def jobs(
    recipes: Iterable[Recipe],
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    finder: Recipe | None = None,
    steps: int = STEPS,
) -> list[Job]:
    """What a sweep over these recipes has to do, one run a seed, each with its key.

    Args:
        recipes: of RoPE models.
        corpus: the text.
        lengths: bytes to read.
        finder: how the models of the needle task are made, apart from the seed.
        steps: of fine-tuning.

    Raises:
        TypeError, ValueError: as :func:`run`.
    """
    finder = finder or dataclasses.replace(algorithms.DEFAULTS, encoding="rope")
    wanted = [(one, dataclasses.replace(finder, seed=one.seed)) for one in recipes]
    for one, _ in wanted:
        _check(one, corpus, lengths)
    about = {
        "corpus": digest(corpus), "lengths": [*lengths], "factor": FACTOR, "tuned": steps,
        "finder": asdict(finder),
    }  # fmt: skip
    return [
        (
            key("stretching", one, **about),
            partial(run, one, corpus, lengths, other, steps, bar=False),
        )
        for one, other in wanted
    ]


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

    Args:
        recipe: of a RoPE model.
        corpus: the text; see :func:`course_utils.text.split` for what is held out.
        lengths: window lengths in bytes, ascending powers of two.
        finder: how the model of the needle task is made; the task experiment's recipe if None.
        steps: of fine-tuning.
        bar: whether to show progress bars.

    Returns:
        Rows of two tables. ``losses``: one a way, factor, number of fine-tuning steps, reading
        and length, in nats a byte. ``needles``: one a way, length and depth, the share found.

    Raises:
        TypeError, ValueError: if the recipe is not of RoPE, a length is not usable or the text is
            too short.
    """
    _check(recipe, corpus, lengths)
    device = pick()
    known = text.split(text.from_bytes(corpus))
    started = time.perf_counter()
    model = on_text(recipe, known, device, bar=bar)
    made: Row = {
        "train_seconds": round(time.perf_counter() - started, 1),
        "corpus": digest(corpus)[:16],
        "device": device.type,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": __version__,
    }
    held_out = judged_part(known, max(lengths)).to(device)
    found = []

    def read(reader: TinyTransformer, at: Iterable[int], **how: Any) -> None:
        for n in at:
            loss, judged = extrapolation.read(reader, held_out, n, max(lengths))
            row = {**how, "read": n, "loss": round(loss, 5), "judged": judged}
            found.append({**asdict(recipe), **row, **made})

    for way in WAYS:
        factor = 1 if way in WITHOUT_FACTOR else FACTOR
        untuned: Row = {"way": way, "factor": factor, "tuned": 0}
        read(stretched(model, recipe, way, factor), lengths, **untuned, reading=AS_TRAINED)
        sharper = stretched(model, recipe, way, factor, log_n=recipe.length)
        read(sharper, [n for n in lengths if n > recipe.length], **untuned, reading="log-n")
        for n in lengths:
            fitting = n // recipe.length
            if fitting > 1 and fitting != FACTOR and way not in WITHOUT_FACTOR:
                fitted = stretched(model, recipe, way, fitting)
                read(fitted, [n], way=way, factor=fitting, tuned=0, reading=AS_TRAINED)
        tuned = stretched(model, recipe, way, factor)
        fine_tune(tuned, recipe, known, length=FACTOR * recipe.length, steps=steps, bar=bar)
        read(tuned, lengths, way=way, factor=factor, tuned=steps, reading=AS_TRAINED)
    finder = finder or dataclasses.replace(algorithms.DEFAULTS, encoding="rope", seed=recipe.seed)
    return {"losses": found, "needles": needles.run(finder, bar=bar)}


def judged_part(known: text.Text, longest: int) -> text.Blocks:
    """The held-out bytes that are read: a few stretches from all over the text."""
    return spread(known.held_out, STRETCHES)[:, : LONGEST * longest + 1]


def _check(recipe: Recipe, corpus: bytes, lengths: Sequence[int]) -> None:
    if recipe.encoding != "rope":
        raise ValueError(f"encoding must be 'rope', only it is stretched, got {recipe.encoding!r}")
    if not lengths or max(lengths) < recipe.length:
        raise ValueError(f"lengths must reach the trained length, {recipe.length}, got {lengths}")
    extrapolation.check(corpus, lengths, length=FACTOR * recipe.length)
