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
from course_experiments.kept_weights import TrainingJob, Weights, packed, unpack, weights_bytes
from course_experiments.run_keys import columns, conditions, digest, key, run_device, training_key
from course_experiments.sweep import Job
from course_utils.measures import trained_models
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, build, train
from course_utils.texts import text
from course_utils.texts.tasks import IGNORED_TARGET, Examples

ENCODINGS = (
    "learned",
    "sinusoidal",
    "alibi",
    "kerple",
    "t5",
    "rope",
    "transformer_xl",
    "deberta",
)
LENGTHS = (64, 128, 256, 512, 1024)
# With 2e-3, the other experiments' rate, T5 learns how often each byte occurs and nothing more, in
# 1,200 steps and in 4,800.
DEFAULTS = Recipe("none", lr=1e-3)
HIDDEN_SHARE = 0.15  # of the bytes
MASK = text.VOCAB_SIZE  # the id that stands for a hidden byte
CHANGES: dict[str, Any] = {"causal": False, "vocab_size": MASK + 1}
HELD_OUT_SEED = 2**31  # of what is hidden in the held-out text; no training has it

Tables = dict[str, list[dict[str, Any]]]


def jobs(recipes: Iterable[Recipe], corpus: bytes, lengths: Sequence[int] = LENGTHS) -> list[Job]:
    """The jobs of a sweep over these recipes, each with the key of its result; see :func:`run`.

    Raises at once if the lengths or the text are of no use.
    """
    recipes = list(recipes)
    longest_training = max((recipe.length for recipe in recipes), default=2)
    extrapolation.check(corpus, lengths, length=longest_training)
    about = {"corpus": digest(corpus), "hidden": HIDDEN_SHARE}
    keyed_jobs: list[Job] = []
    for recipe in recipes:
        job = TrainingJob(
            training_key(recipe, **about, **CHANGES),
            weights_bytes(recipe, **CHANGES),
            partial(measured, recipe=recipe, corpus=corpus, lengths=lengths, bar=False),
        )
        keyed_jobs.append((key("both-ways", recipe, **about, lengths=[*lengths]), job))
    return keyed_jobs


def run(
    recipe: Recipe, corpus: bytes, lengths: Sequence[int] = LENGTHS, *, bar: bool = True
) -> Tables:
    """Train one model and read the held-out text at every length.

    ``lengths`` are of windows in bytes, ascending powers of two from 4 on. Returns one table,
    ``losses``, with a row a length: the loss in nats a hidden byte.
    """
    tables, _ = measured(None, recipe, corpus, lengths, bar=bar)
    return tables


def measured(
    weights: Weights | None, recipe: Recipe, corpus: bytes, lengths: Sequence[int], *, bar: bool
) -> tuple[Tables, Weights]:
    """The tables of :func:`run`, and the weights: those passed, or new ones after a training."""
    device = run_device()
    corpus_text = text.split(text.from_bytes(corpus))
    if weights is None:
        started = time.perf_counter()
        model = learn(recipe, corpus_text, device, bar=bar)
        seconds = round(time.perf_counter() - started, 1)
        training_columns = {"train_seconds": seconds, **conditions(corpus, device)}
        weights = packed(model, training_columns)
    else:
        model = build(recipe, **CHANGES).to(device).eval()
        training_columns = unpack(weights, model)
    blocks = text.spread(corpus_text.held_out, extrapolation.POSITION_BLOCKS)
    rows = []
    for n in lengths:
        examples = windows(blocks, n, max(lengths)).to(device)
        judged = examples.targets != IGNORED_TARGET
        loss = float(trained_models.losses(model, examples)[judged].mean())
        row = {"read": n, "loss": round(loss, 5), "judged": int(judged.sum())}
        rows.append({**columns(recipe, model), "hidden": HIDDEN_SHARE, **row, **training_columns})
    return {"losses": rows}, weights


def learn(
    recipe: Recipe, corpus_text: text.Text, device: torch.device, *, bar: bool = True
) -> TinyTransformer:
    """A model trained to name hidden bytes, fresh ones in each piece."""

    def draw(generator: torch.Generator) -> Examples:
        pieces = text.draw(
            corpus_text.train, length=recipe.length, batch=recipe.batch, generator=generator
        )
        return hide(pieces.tokens, generator)

    return train(recipe, draw, device, bar=bar, **CHANGES)


def hide(tokens: torch.Tensor, generator: torch.Generator) -> Examples:
    """Replace 15 % of the bytes, (…, seq), by the mask; only these have targets.

    At least one is hidden in each row.
    """
    chance = torch.rand(tokens.shape, generator=generator).to(tokens.device)
    hidden = (chance < HIDDEN_SHARE) | (chance == chance.amin(-1, keepdim=True))
    return Examples(tokens.masked_fill(hidden, MASK), tokens.masked_fill(~hidden, IGNORED_TARGET))


def windows(blocks: text.Blocks, length: int, longest: int) -> Examples:
    """Windows of a text, (windows, length), with the hidden bytes of the middle half as targets.

    Which bytes are hidden depends on the text alone, and the targets are the same for every length
    that divides the longest.
    """
    hidden = hide(blocks, torch.Generator().manual_seed(HELD_OUT_SEED))
    quarter, first = length // 4, longest // 4
    step = longest // 2
    end = first + (blocks.shape[1] - longest) // step * step + step
    part = slice(first - quarter, end + quarter)

    def cut(rows: torch.Tensor) -> torch.Tensor:
        return rows[:, part].unfold(-1, length, length // 2).flatten(0, 1)

    targets = cut(hidden.targets).clone()
    targets[:, :quarter] = IGNORED_TARGET
    targets[:, length - quarter :] = IGNORED_TARGET
    return Examples(cut(hidden.tokens), targets)
