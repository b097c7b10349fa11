"""Train short, test long: one language model per encoding and seed, read far past its length.

Protocol. A model is trained on pieces of ``Recipe.length`` bytes. It then reads the held-out text
in windows of n bytes that advance by n/2, and the second half of each window is judged. So for
every n the same bytes are judged, and each has between n/2 and n bytes of context.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from course_utils import __version__, text, validation
from course_utils.experiments.recipe import Recipe, build, digest, key, on_text, pick
from course_utils.experiments.sweep import Job
from course_utils.models import TinyTransformer

LENGTHS = (32, 64, 128, 256, 512, 1024, 2048)
BIN = 64  # positions that one row of the losses by position covers
WINDOW_BLOCKS, POSITION_BLOCKS = 3, 6  # held-out blocks that are read: bounds the time

AS_TRAINED = "as trained"  # the name of reading without any change

Row = dict[str, Any]


def jobs(
    recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS, **changes: Any
) -> list[Job]:
    """What a sweep over these recipes has to do, each with the key of its result.

    Args:
        recipes: one a run.
        corpus: the text.
        lengths: window lengths in bytes.
        **changes: as for :func:`run`.

    Raises:
        TypeError, ValueError: if a length is not usable or the text is too short.
    """
    recipes = list(recipes)
    check(corpus, lengths, length=max((one.length for one in recipes), default=2))
    more = {"corpus": digest(corpus), "lengths": [*lengths], **changes}
    return [
        (
            key("extrapolation", recipe, **more),
            partial(run, recipe, corpus, lengths, bar=False, **changes),
        )
        for recipe in recipes
    ]


def fire_jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    """FIRE with L₀ started at a quarter of the trained length, as its authors start it.

    They train at 2048 and start at 512 (Li et al. 2023, arXiv 2310.04418). Queries beyond L₀ are
    what teaches the model to interpolate, and a start at the full length leaves none.
    """
    recipes = list(recipes)
    return [
        job
        for recipe in recipes
        for job in jobs([recipe], corpus, lengths, original_len=max(1, recipe.length // 4))
    ]


def run(
    recipe: Recipe,
    corpus: bytes,
    lengths: Sequence[int] = LENGTHS,
    *,
    bar: bool = True,
    **changes: Any,
) -> dict[str, list[Row]]:
    """Train one model and read the held-out text at every length.

    Args:
        recipe: the model and its training.
        corpus: the text; see :func:`course_utils.text.split` for what is held out.
        lengths: window lengths in bytes, ascending powers of two.
        bar: whether to show a progress bar.
        **changes: as for :func:`~course_utils.experiments.recipe.build`; a column each.

    Returns:
        Rows of two tables: ``losses``, one a length and way of reading, and ``positions``, one
        for each 64 positions of the longest windows. Losses are in nats a byte.

    Raises:
        TypeError, ValueError: if a length is not usable or the text is too short.
    """
    check(corpus, lengths)
    device = pick()
    known = text.split(text.from_bytes(corpus))
    started = time.perf_counter()
    model = on_text(recipe, known, device, bar=bar, **changes)
    seconds = time.perf_counter() - started
    about: Row = {**asdict(recipe), **changes}
    made: Row = {
        "parameters": sum(p.numel() for p in model.parameters()),
        "train_seconds": round(seconds, 1),
        "bytes_per_second": round(recipe.steps * recipe.batch * recipe.length / seconds),
        "corpus": digest(corpus)[:16],
        "device": device.type,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": __version__,
    }
    held_out = known.held_out.to(device)
    in_windows, in_pieces = (spread(held_out, n) for n in (WINDOW_BLOCKS, POSITION_BLOCKS))
    losses = [
        {**about, "reading": reading, "read": n, "loss": round(loss, 5), "judged": judged, **made}
        for reading, reader in readings(recipe, model, **changes).items()
        for n in lengths
        if reading == AS_TRAINED or n > recipe.length  # elsewhere they are the same
        for loss, judged in [read(reader, in_windows, n, max(lengths))]
    ]
    return {"losses": losses, "positions": by_position(about, model, in_pieces, max(lengths))}


def readings(recipe: Recipe, model: TinyTransformer, **changes: Any) -> dict[str, TinyTransformer]:
    """The trained model as it is, and with what is said to help on longer texts.

    Args:
        recipe: of the model.
        model: trained.
        **changes: with which it was built.
    """
    ways: dict[str, dict[str, Any]] = {"log-n": {"log_n": recipe.length}}
    if recipe.encoding in ("learned", "multiplicative"):
        ways["interpolated"] = {"beyond": "interpolate"}
    found = {AS_TRAINED: model}
    for name, way in ways.items():
        other = build(recipe, **{**changes, **way}).to(next(model.parameters()).device)
        other.load_state_dict(model.state_dict())
        found[name] = other.eval()
    return found


def spread(blocks: text.Blocks, most: int) -> Int[Tensor, "fewer block"]:
    """At most so many of the blocks, evenly spread over the text."""
    at = torch.linspace(0, len(blocks) - 1, min(most, len(blocks))).long()
    return blocks[at.to(blocks.device)]


def read(
    model: TinyTransformer, held_out: text.Blocks, length: int, longest: int
) -> tuple[float, int]:
    """Mean held-out loss with n/2 to n bytes of context, nats a byte, and how many were judged.

    The same bytes are judged for every length that divides the longest.
    """
    first = longest // 2
    end = (held_out.shape[1] - 1) // first * first  # where the last of the longest windows ends
    examples = text.sliding(held_out[:, : end + 1], length=length, first=first)
    judged = examples.targets >= 0
    return float(text.losses(model, examples)[judged].mean()), int(judged.sum())


def by_position(
    about: Row, model: TinyTransformer, held_out: text.Blocks, length: int
) -> list[Row]:
    """Mean loss in each 64 positions of pieces that are read from their first byte on."""
    curve = text.loss_by_position(model, held_out, length=length)
    return [
        {**about, "first": first, "last": first + len(part) - 1, "loss": round(float(mean), 5)}
        for first, part in zip(range(0, length, BIN), curve.split(BIN), strict=True)
        for mean in [part.mean()]
    ]


def check(corpus: bytes, lengths: Iterable[int] = LENGTHS, *, length: int = 2) -> None:
    """Find what is wrong with a text or the lengths before anything is trained.

    Args:
        corpus: the text.
        lengths: bytes to read.
        length: bytes a piece in training.

    Raises:
        TypeError, ValueError: naming it.
    """
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
