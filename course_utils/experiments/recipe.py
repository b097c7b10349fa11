"""How one model of an experiment is made and trained: the same for every encoding.

A recipe and a text decide all numbers of a run. What differs between encodings is here, in one
place: the options that fit them to the trained length.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Callable
from typing import Any

import torch

from course_utils import sequence_tasks, text, validation
from course_utils.encodings import NAMES
from course_utils.models import TinyTransformer
from course_utils.sequence_tasks import Examples
from course_utils.session import pick_device
from course_utils.training import fit

_building = threading.Lock()  # PyTorch's default generator is one for all threads


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What one training run is made of, apart from the text.

    Attributes:
        encoding: one of ``course_utils.encodings.NAMES``.
        seed: of the initial weights and of the order of the text. The order is the same for every
            encoding.
        length: bytes a piece in training.
        steps: training steps.
        batch: pieces a step.
        lr: Adam's learning rate; it falls to 0 over the last half of the steps.
        d_model, n_layers, n_heads: the size of the model.

    Raises:
        TypeError, ValueError: if a value is not usable.
    """

    encoding: str
    seed: int = 0
    length: int = 64
    steps: int = 1200
    batch: int = 8
    lr: float = 2e-3
    d_model: int = 128
    n_layers: int = 4
    n_heads: int = 4

    def __post_init__(self) -> None:
        validation.choice("encoding", self.encoding, NAMES)
        if validation.integer("seed", self.seed, minimum=0) >= 2**32:
            raise ValueError(f"seed must be below 2**32, got {self.seed}")
        validation.integer("length", self.length, minimum=2)
        for name in ("steps", "batch", "d_model", "n_layers", "n_heads"):
            validation.integer(name, getattr(self, name))
        validation.positive("lr", self.lr)


PROTOCOL = 1  # one more when the same recipe would give other results: old ones are done again


def key(experiment: str, recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides a run's result, and so tells whether there is one already."""
    return {
        "experiment": experiment,
        "protocol": PROTOCOL,
        "options": options(recipe.encoding, recipe.length),
        **more,
        **dataclasses.asdict(recipe),
    }


def digest(content: Any) -> str:
    """SHA-256 of bytes, or of anything that JSON can hold."""
    if not isinstance(content, bytes):
        content = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def options(encoding: str, length: int) -> dict[str, Any]:
    """What an encoding needs to be trained fairly at ``length``: no part of it left untrained.

    Tables get one row a position, and read their last row beyond. Learned rows start about as long
    as word vectors, as in BERT: rows of 0.02 are not done growing when the training ends. T5's
    last bucket and DeBERTa's last offset begin at half the length, so that they are met often.
    CoPE can count to the length, and FIRE starts with it as its L₀.
    """
    half = length // 2
    known: dict[str, dict[str, Any]] = {
        "learned": {"beyond": "clamp", "std": 1.0},
        "multiplicative": {"beyond": "clamp"},
        "t5": {"n_buckets": max(2, min(32, half)), "max_distance": max(2, half)},
        "deberta": {"max_distance": half},
        "cope": {"n_positions": length},
        "fire": {"original_len": length},
    }
    return known.get(encoding, {})


# A number that is added to scores as it is has to come to several nats, and a step of Adam moves it
# by no more than the learning rate. Matrices of queries and keys move scores much faster.
FASTER = {"t5": {"encoding.table": 30.0}}


def build(recipe: Recipe, **changes: Any) -> TinyTransformer:
    """The untrained model of a recipe, its weights drawn from the recipe's seed.

    Args:
        recipe: what to build.
        **changes: arguments of TinyTransformer to set differently, such as ``log_n``.
    """
    settings: dict[str, Any] = {
        "vocab_size": text.VOCAB_SIZE,
        "encoding": recipe.encoding,
        "d_model": recipe.d_model,
        "n_layers": recipe.n_layers,
        "n_heads": recipe.n_heads,
        "max_len": recipe.length,
        **options(recipe.encoding, recipe.length),
        **changes,
    }
    with _building, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(recipe.seed)
        return TinyTransformer(**settings)


def pick() -> torch.device:
    """Where a run is done: a GPU if there is one, else one core, as a sweep fills the others."""
    device = pick_device()
    if device.type == "cpu":
        torch.set_num_threads(1)
    return device


def train(
    recipe: Recipe,
    draw: Callable[[torch.Generator], Examples],
    device: torch.device,
    *,
    bar: bool = True,
    **changes: Any,
) -> TinyTransformer:
    """Build the recipe's model and train it on fresh batches.

    Args:
        recipe: what to build and how to train it.
        draw: makes a batch with the random numbers of a generator, which starts from the recipe's
            seed.
        device: where to train.
        bar: whether to show a progress bar.
        **changes: as for :func:`build`.
    """
    model = build(recipe, **changes).to(device)
    generator = torch.Generator().manual_seed(recipe.seed)

    def loss() -> torch.Tensor:
        return sequence_tasks.loss(model, draw(generator).to(device))

    name = f"{recipe.encoding}, seed {recipe.seed}"
    faster = FASTER.get(recipe.encoding)
    taken = fit(model, loss, recipe.steps, lr=recipe.lr, name=name, bar=bar, faster=faster)
    if len(taken) < recipe.steps:  # a run is whole or it is not a run
        raise KeyboardInterrupt
    return model


def on_text(
    recipe: Recipe,
    corpus: text.Text,
    device: torch.device,
    *,
    bar: bool = True,
    **changes: Any,
) -> TinyTransformer:
    """Train the recipe's model to predict the next byte of a text.

    Args:
        recipe: what to build and how to train it.
        corpus: its part ``train`` is learned from.
        device: where to train.
        bar: whether to show a progress bar.
        **changes: as for :func:`build`.
    """

    def draw(generator: torch.Generator) -> Examples:
        size = {"length": recipe.length, "batch": recipe.batch}
        return text.draw(corpus.train, **size, generator=generator)

    return train(recipe, draw, device, bar=bar, **changes)
