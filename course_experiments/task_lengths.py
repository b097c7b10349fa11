"""Small tasks with a right answer, learned on short rows and asked on rows up to 8 times as long.

Copy: name the token five to the left. Reverse: say a row of symbols backwards. Find: name the
symbol after a marker that stands anywhere. A row of training has at most ``Recipe.length`` tokens,
and its length is drawn anew for each batch, so that a model meets every length up to that.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import torch

from course_experiments.run_keys import columns, key, run_device
from course_experiments.sweep import Job
from course_experiments.tasks import backwards, token_after_marker
from course_utils import validation
from course_utils.models import TinyTransformer
from course_utils.models.training import Recipe, train
from course_utils.texts import tasks
from course_utils.texts.tasks import Examples

SYMBOLS = 16
OFFSET = -5  # positions from a token to the one that it names in "copy"
FACTORS = (1, 2, 4, 8)  # of the rows' lengths, in trained lengths
ROWS = 128  # of each length
HELD_OUT_SEED = 2**31  # seeds of the rows asked start here: no training has one of these
DEFAULTS = Recipe("none", length=32, steps=2000, batch=32, lr=3e-3, d_model=64, n_layers=2)

Draw = Callable[[int, int, torch.Generator], Examples]  # tokens a row, rows, random numbers


def copy(tokens: int, batch: int, generator: torch.Generator) -> Examples:
    """Each token names the one five to the left."""
    return tasks.token_at_offset(
        OFFSET, length=tokens, batch=batch, vocab_size=SYMBOLS, generator=generator
    )


def reverse(tokens: int, batch: int, generator: torch.Generator) -> Examples:
    """Half of a row are symbols, the other half says them backwards."""
    return backwards(length=tokens // 2, batch=batch, vocab_size=SYMBOLS, generator=generator)


def find(tokens: int, batch: int, generator: torch.Generator) -> Examples:
    """The last token names the symbol after the marker."""
    return token_after_marker(length=tokens, batch=batch, vocab_size=SYMBOLS, generator=generator)


TASKS: dict[str, tuple[Draw, int]] = {  # with the shortest row that can be asked
    "copy": (copy, 1 - OFFSET),
    "reverse": (reverse, 2),
    "find": (find, 3),
}


def jobs(recipes: Iterable[Recipe], names: Sequence[str] = tuple(TASKS)) -> list[Job]:
    """The jobs of a sweep over these recipes and tasks, each with the key of its result."""
    return [
        (key("tasks", recipe, task=task), partial(run, recipe, task, bar=False))
        for recipe in recipes
        for task in names
    ]


def run(recipe: Recipe, task: str, *, bar: bool = True) -> dict[str, list[dict[str, Any]]]:
    """Train one model on one task and ask it rows of 1, 2, 4 and 8 times the trained length.

    Returns one table: the share of right answers, 0 to 1, by length.
    """
    draw, _ = TASKS[validation.choice("task", task, TASKS)]
    device = run_device()
    model = learn(recipe, task, device, bar=bar)
    rows = []
    for factor in FACTORS:
        read = factor * recipe.length
        generator = torch.Generator().manual_seed(HELD_OUT_SEED + factor)
        examples = draw(read, ROWS, generator).to(device)
        accuracy = round(tasks.accuracy(model, examples), 4)
        row = {"task": task, "read": read, "accuracy": accuracy}
        rows.append({**columns(recipe, model), **row})
    return {"accuracies": rows}


def learn(recipe: Recipe, task: str, device: torch.device, *, bar: bool = True) -> TinyTransformer:
    """A model trained on rows of one task, each batch of another length up to the recipe's."""
    draw, shortest = TASKS[validation.choice("task", task, TASKS)]
    if recipe.length < shortest:
        raise ValueError(f"length must be at least {shortest} for {task}, got {recipe.length}")

    def batch(generator: torch.Generator) -> Examples:
        tokens = int(torch.randint(shortest, recipe.length + 1, (), generator=generator))
        return draw(tokens, recipe.batch, generator)

    return train(recipe, batch, device, bar=bar, vocab_size=SYMBOLS + 2)
