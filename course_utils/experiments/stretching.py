"""RoPE on texts longer than those of training: eight ways, before and after a short fine-tuning.

A model is trained as for :mod:`extrapolation`. Then its weights are read with other frequencies,
by the same protocol: windows of n bytes, their second halves judged, the same bytes for every n.
After that each way is trained on for a few steps on long pieces and read again. The needle task
asks the same of models that learned to find a marked symbol: how deep in the past may it lie?
"""

from __future__ import annotations

import dataclasses
import math
import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch

from course_utils import __version__, sequence_tasks, text, validation
from course_utils.encodings import (
    NTK,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Scaling,
    YaRN,
)
from course_utils.encodings.functional import rope_frequencies
from course_utils.experiments import algorithms, extrapolation
from course_utils.experiments.extrapolation import AS_TRAINED, spread
from course_utils.experiments.recipe import Recipe, build, digest, key, on_text, pick, train
from course_utils.experiments.sweep import Job
from course_utils.models import TinyTransformer
from course_utils.sequence_tasks import NOTHING, Examples
from course_utils.training import fit

WAYS = (
    "direct", "interpolation", "NTK-aware", "dynamic NTK", "by parts", "YaRN", "Llama 3.1",
    "LongRoPE",
)  # fmt: skip
WITHOUT_FACTOR = ("direct", "dynamic NTK")  # they are told no factor
FACTOR = 8  # the context is to grow by this
STEPS = 100  # of fine-tuning
LENGTHS = (64, 128, 256, 512, 1024)
STRETCHES, LONGEST = 3, 3  # held-out stretches, each of so many of the longest windows
BASE = 10_000.0

NEEDLES = ("direct", "interpolation", "NTK-aware", "YaRN")
TIMES = (1, 2, 4, 8)  # lengths of the rows asked, in trained lengths
DEPTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # 0 is next to the question, 1 the start of the row
ASKED = 256

Row = dict[str, Any]


def slow_factors(d: int, base: float, factor: float, original_len: int) -> list[float]:
    """Factors for LongRoPE without a search: s for pairs that do not finish a turn within L.

    The others stay: (d / 2,) numbers, ``factor`` or 1.

    Raises: as :func:`~course_utils.encodings.functional.rope_frequencies`.
    """
    turns = original_len * rope_frequencies(d, base)[0] / (2 * math.pi)
    return [1.0 if one >= 1 else float(factor) for one in turns.tolist()]


def ramp_alone(d: int, base: float, factor: float, original_len: int) -> LongRoPE:
    """YaRN's frequencies without its attention factor, NTK-by-parts: the shape of LongRoPE."""
    plain = rope_frequencies(d, base)[0]
    ramped = rope_frequencies(d, base, YaRN(factor, original_len), None)[0]
    return LongRoPE((plain / ramped).tolist(), 1.0, max(original_len, 2))


def way_to_stretch(
    way: str, factor: float, original_len: int, d: int, base: float = BASE
) -> Scaling | None:
    """The scaling that reads ``factor`` times the trained length, by the name of its method.

    Args:
        way: one of ``WAYS``; "direct" is no scaling, "by parts" YaRN without temperature.
        factor: s. Dynamic NTK gets 1: it finds s from the length that it reads.
        original_len: L.
        d: features of a head, for the ways that have a factor for each pair.
        base: of the plain frequencies.

    Raises:
        TypeError, ValueError: if ``way`` is unknown or a number is not usable.
    """
    made = {
        "direct": lambda: None,
        "interpolation": lambda: Linear(factor),
        "NTK-aware": lambda: NTK(factor),
        "dynamic NTK": lambda: DynamicNTK(1.0, original_len),
        "by parts": lambda: ramp_alone(d, base, factor, original_len),
        "YaRN": lambda: YaRN(factor, original_len),
        "Llama 3.1": lambda: Llama3(factor, original_len),
        "LongRoPE": lambda: LongRoPE(
            slow_factors(d, base, factor, original_len), factor, original_len
        ),
    }
    return made[validation.choice("way", way, made)]()


def stretched(
    model: TinyTransformer, recipe: Recipe, way: str, factor: float, **changes: Any
) -> TinyTransformer:
    """A copy of a trained RoPE model that turns by other frequencies.

    Args:
        model: trained by the recipe, with any vocabulary.
        recipe: says the trained length and the size.
        way: see :func:`way_to_stretch`.
        factor: likewise.
        **changes: more arguments of TinyTransformer, such as ``log_n``.
    """
    scaling = way_to_stretch(way, factor, recipe.length, recipe.d_model // recipe.n_heads)
    changes = {"vocab_size": model.vocab_size, "scaling": scaling, **changes}
    made = build(recipe, **changes).to(model.embedding.weight.device)
    made.load_state_dict(model.state_dict())
    return made.eval()


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
    """
    finder = finder or dataclasses.replace(algorithms.DEFAULTS, encoding="rope")
    wanted = [(one, dataclasses.replace(finder, seed=one.seed)) for one in recipes]
    for one, _ in wanted:
        _check(one, lengths)
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
    _check(recipe, lengths)
    extrapolation.check(corpus, lengths, length=FACTOR * recipe.length)
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
    return {"losses": found, "needles": needles(finder, bar=bar)}


def judged_part(known: text.Text, longest: int) -> text.Blocks:
    """The held-out bytes that are read: a few stretches from all over the text."""
    return spread(known.held_out, STRETCHES)[:, : LONGEST * longest + 1]


def needles(recipe: Recipe, *, bar: bool = True) -> list[Row]:
    """Train a model to find a marked symbol, then hide it at each depth of longer rows.

    Args:
        recipe: of a RoPE model.
        bar: whether to show a progress bar.

    Returns:
        One row a way, length and depth, with the share of symbols named right, 0 to 1.
    """
    device = pick()

    def batch(generator: torch.Generator) -> Examples:
        tokens = int(torch.randint(3, recipe.length + 1, (), generator=generator))
        return algorithms.find(tokens, recipe.batch, generator)

    model = train(recipe, batch, device, bar=bar, vocab_size=algorithms.SYMBOLS + 2)
    found = []
    for way in NEEDLES:
        for times in TIMES:
            reader = stretched(model, recipe, way, times)
            for depth in DEPTHS:
                asked = needle(times * recipe.length, depth).to(device)
                right = round(sequence_tasks.accuracy(reader, asked), 4)
                row = {"way": way, "factor": times, "read": times * recipe.length, "depth": depth}
                found.append({**asdict(recipe), **row, "accuracy": right})
    return found


def needle(length: int, depth: float, rows: int = ASKED) -> Examples:
    """Rows of the find task with the marker at one depth: 0 next to the question, 1 at the start.

    Rows of one length differ in the marker's place only, whatever the depth.

    Raises:
        TypeError, ValueError: if ``length`` is below 3 or ``depth`` not from 0 to 1.
    """
    validation.integer("length", length, minimum=3)
    if not 0 <= depth <= 1:
        raise ValueError(f"depth must be from 0 to 1, got {depth}")
    generator = torch.Generator().manual_seed(algorithms.HELD_OUT + length)
    tokens = torch.randint(algorithms.SYMBOLS, (rows, length), generator=generator)
    at = round((1 - depth) * (length - 3))
    tokens[:, at], tokens[:, -1] = algorithms.SYMBOLS, algorithms.SYMBOLS + 1
    targets = torch.full_like(tokens, NOTHING)
    targets[:, -1] = tokens[:, at + 1]
    return Examples(tokens, targets)


def _check(recipe: Recipe, lengths: Sequence[int]) -> None:
    if recipe.encoding != "rope":
        raise ValueError(f"encoding must be 'rope', only it is stretched, got {recipe.encoding!r}")
    if not lengths or max(lengths) < recipe.length:
        raise ValueError(f"lengths must reach the trained length, {recipe.length}, got {lengths}")
