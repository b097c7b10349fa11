"""Models that look both ways: small masked language models, trained short and read long.

Protocol. Of each piece of ``Recipe.length`` bytes 15 % are hidden, and the model names them from
what stands on both sides (Devlin et al. 2019, arXiv 1810.04805, section 3.1; what is hidden is
always replaced by the mask). It then reads held-out text in windows of n bytes that advance by n/2,
and what is hidden in the middle half of each is judged. So for every n the same bytes are judged,
the same ones are hidden, and each has between n/4 and 3n/4 bytes on either side.
"""

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import torch

from course_experiments import extrapolation
from course_experiments.run_keys import columns, conditions, digest, key, pick, training
from course_experiments.saved_models import Learner, Weights, packed, size_of, unpack
from course_experiments.sweep import Job
from course_utils.measures import trained_models
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, build, train
from course_utils.texts import text
from course_utils.texts.tasks import IGNORED_TARGET, Examples

ENCODINGS = (
    "learned", "sinusoidal", "alibi", "kerple", "t5", "rope", "transformer_xl", "deberta",
)  # fmt: skip
LENGTHS = (64, 128, 256, 512, 1024)
# With 2e-3, the other experiments' rate, T5 learns how often each byte occurs and nothing more, in
# 1,200 steps and in 4,800.
DEFAULTS = Recipe("none", lr=1e-3)
HIDDEN = 0.15  # share of the bytes
MASK = text.VOCAB_SIZE  # the id that stands for a hidden byte
CHANGES: dict[str, Any] = {"causal": False, "vocab_size": MASK + 1}
HELD_OUT = 2**31  # seed of what is hidden in the held-out text; no training has it


def jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS) -> list[Job]:
    """What a sweep over these recipes has to do, each with the key of its result; see :func:`run`.

    Raises at once what is wrong with the lengths or the text.
    """
    recipes = list(recipes)
    extrapolation.check(corpus, lengths, length=max((one.length for one in recipes), default=2))
    told = {"corpus": digest(corpus), "hidden": HIDDEN}
    found: list[Job] = []
    for one in recipes:
        job = partial(measured, recipe=one, corpus=corpus, lengths=lengths, bar=False)
        learner = Learner(training(one, **told, **CHANGES), size_of(one, **CHANGES), job)
        found.append((key("both-ways", one, **told, lengths=[*lengths]), learner))
    return found


def run(
    recipe: Recipe, corpus: bytes, lengths: Sequence[int] = LENGTHS, *, bar: bool = True
) -> dict[str, list[dict[str, Any]]]:
    """Train one model and read the held-out text at every length.

    ``lengths`` are of windows in bytes, ascending powers of two from 4 on. What comes back is one
    table, the loss in nats a hidden byte, a row a length.
    """
    return measured(None, recipe, corpus, lengths, bar=bar)[0]


def measured(
    weights: Weights | None, recipe: Recipe, corpus: bytes, lengths: Sequence[int], *, bar: bool
) -> tuple[dict[str, list[dict[str, Any]]], Weights]:
    """What :func:`run` returns, and the weights: those given, of the same training, or new ones."""
    device, known = pick(), text.split(text.from_bytes(corpus))
    if weights is None:
        started = time.perf_counter()
        model = learn(recipe, known, device, bar=bar)
        seconds = round(time.perf_counter() - started, 1)
        made = {"train_seconds": seconds, **conditions(corpus, device)}
        weights = packed(model, made)
    else:
        model = build(recipe, **CHANGES).to(device).eval()
        made = unpack(weights, model)
    blocks = text.spread(known.held_out, extrapolation.POSITION_BLOCKS)
    rows = []
    for n in lengths:
        asked = windows(blocks, n, max(lengths)).to(device)
        judged = asked.targets != IGNORED_TARGET
        loss = float(trained_models.losses(model, asked)[judged].mean())
        told = {"read": n, "loss": round(loss, 5), "judged": int(judged.sum())}
        rows.append({**columns(recipe, model), "hidden": HIDDEN, **told, **made})
    return {"losses": rows}, weights


def learn(
    recipe: Recipe, known: text.Text, device: torch.device, *, bar: bool = True
) -> TinyTransformer:
    """A model trained to name hidden bytes, fresh ones in each piece."""

    def draw(generator: torch.Generator) -> Examples:
        size = {"length": recipe.length, "batch": recipe.batch}
        return hide(text.draw(known.train, **size, generator=generator).tokens, generator)

    return train(recipe, draw, device, bar=bar, **CHANGES)


def hide(tokens: torch.Tensor, generator: torch.Generator) -> Examples:
    """Replace 15 % of the bytes, (…, seq), by the mask; they are asked, the others not.

    One at least is hidden in each row.
    """
    chance = torch.rand(tokens.shape, generator=generator).to(tokens.device)
    hidden = (chance < HIDDEN) | (chance == chance.amin(-1, keepdim=True))
    return Examples(tokens.masked_fill(hidden, MASK), tokens.masked_fill(~hidden, IGNORED_TARGET))


def windows(blocks: text.Blocks, length: int, longest: int) -> Examples:
    """Windows of a text, (windows, length), in which the hidden bytes of the middle half are asked.

    Which bytes are hidden depends on the text alone, and those asked are the same for every length
    that divides the longest.
    """
    tokens, targets = hide(blocks, torch.Generator().manual_seed(HELD_OUT))
    quarter, first = length // 4, longest // 4
    end = first + (blocks.shape[1] - longest) // (longest // 2) * (longest // 2) + longest // 2
    part = slice(first - quarter, end + quarter)
    read, asked = (
        one[:, part].unfold(-1, length, length // 2).flatten(0, 1) for one in (tokens, targets)
    )
    asked = asked.clone()
    asked[:, :quarter] = asked[:, length - quarter :] = IGNORED_TARGET
    return Examples(read, asked)
