"""How one model of an experiment is made and trained: the same for every encoding.

A recipe and a text decide all numbers of a run. What differs between encodings is here, in one
place: the options that fit them to the trained length.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from typing import Any

import torch

from course_utils import sequence_tasks, text, validation
from course_utils.encodings import NAMES
from course_utils.models import TinyTransformer
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
        validation.integer("seed", self.seed, minimum=0)
        validation.integer("length", self.length, minimum=2)
        for name in ("steps", "batch", "d_model", "n_layers", "n_heads"):
            validation.integer(name, getattr(self, name))
        validation.positive("lr", self.lr)


def digest(content: Any) -> str:
    """SHA-256 of bytes, or of anything that JSON can hold."""
    if not isinstance(content, bytes):
        content = json.dumps(content, sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()


def options(encoding: str, length: int) -> dict[str, Any]:
    """What an encoding needs to be trained fairly at ``length``: no part of it left untrained.

    Tables get one row a position, and read their last row beyond. T5's last bucket and DeBERTa's
    last offset begin at half the length, so that they are met often. CoPE can count to the length,
    and FIRE starts with it as its L₀.
    """
    half = length // 2
    known: dict[str, dict[str, Any]] = {
        "learned": {"beyond": "clamp"},
        "multiplicative": {"beyond": "clamp"},
        "t5": {"n_buckets": max(2, min(32, half)), "max_distance": max(2, half)},
        "deberta": {"max_distance": half},
        "cope": {"n_positions": length},
        "fire": {"original_len": length},
    }
    return known.get(encoding, {})


def build(recipe: Recipe, **changes: Any) -> TinyTransformer:
    """The untrained model of a recipe, its weights drawn from the recipe's seed.

    Args:
        recipe: what to build.
        **changes: arguments of TinyTransformer to set differently, such as ``log_n``.
    """
    settings = {
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
        return TinyTransformer(text.VOCAB_SIZE, **settings)


def train(
    recipe: Recipe, train_ids: text.Bytes, device: torch.device, *, bar: bool = True
) -> TinyTransformer:
    """Build the recipe's model and train it to predict the next byte.

    Args:
        recipe: what to build and how to train it.
        train_ids: (bytes,) the text to learn from.
        device: where to train.
        bar: whether to show a progress bar.
    """
    model = build(recipe).to(device)
    generator = torch.Generator().manual_seed(recipe.seed)

    def loss() -> torch.Tensor:
        examples = text.draw(
            train_ids, length=recipe.length, batch=recipe.batch, generator=generator
        )
        return sequence_tasks.loss(model, examples.to(device))

    name = f"{recipe.encoding}, seed {recipe.seed}"
    taken = fit(model, loss, recipe.steps, lr=recipe.lr, name=name, bar=bar)
    if len(taken) < recipe.steps:  # a run is whole or it is not a run
        raise KeyboardInterrupt
    return model
