"""How one model of an experiment is made and trained: the same for every encoding.

A recipe and a text decide all numbers of a run. What differs between encodings is here, in one
place: the options that fit them to the trained length.
"""

import dataclasses
import hashlib
import json
import platform
from collections.abc import Callable, Mapping
from typing import Any

import torch

from course_utils import __version__, tasks, text, validation
from course_utils.encodings import known_names, maker_of, options_of
from course_utils.experiments import outside
from course_utils.models import TinyTransformer, apart
from course_utils.session import pick_device
from course_utils.tasks import Examples
from course_utils.training import fit


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What one training run is made of, apart from the text."""

    encoding: str  # one of course_utils.encodings.known_names(), or module:Class
    seed: int = 0  # of weights and of the order of the text, the same order for every encoding
    length: int = 64  # bytes a piece in training
    steps: int = 1200
    batch: int = 8  # pieces a step
    lr: float = 2e-3  # Adam's; it falls to 0 over the last half of the steps
    d_model: int = 128
    n_layers: int = 4
    n_heads: int = 4
    options: Any = ()  # of the encoding, beside the usual ones: a mapping, kept as sorted pairs

    def __post_init__(self) -> None:
        outside.find(self.encoding)
        validation.seed(self.seed)
        validation.integer("length", self.length, minimum=2)
        for name in ("steps", "batch", "d_model", "n_layers", "n_heads"):
            validation.integer(name, getattr(self, name))
        validation.positive("lr", self.lr)
        names = "a mapping from their names to their values"
        validation.instance("options", self.options, (Mapping, tuple, list), names)
        options = dict(self.options)
        for name, value in options.items():
            validation.choice(f"option of {self.encoding!r}", name, options_of(self.encoding))
            options[name] = _frozen(name, value)
        object.__setattr__(self, "options", tuple(sorted(options.items())))

    def columns(self) -> dict[str, Any]:
        """What tells its rows in a table; ``options`` is text, and there only where some are."""
        told = ", ".join(
            f"{name}={json.dumps(value)}" for name, value in dict(self.options).items()
        )
        rest = {**dataclasses.asdict(self), "options": told}
        return rest if told else {name: one for name, one in rest.items() if name != "options"}


def _frozen(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(name, one) for one in value)
    plain = "a finite number, text, True, False, None or a list of these"
    validation.instance(f"option {name}", value, (int, float, str, type(None)), plain)
    return validation.number(f"option {name}", value) if isinstance(value, float) else value


PROTOCOL = 1  # one more when the same recipe would give other results: old ones are done again


def key(experiment: str, recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides a run's result, and so tells whether there is one already."""
    return {"experiment": experiment, **training(recipe), **more, **recipe.columns()}


def training(recipe: Recipe, **more: Any) -> dict[str, Any]:
    """All that decides what a recipe's model has learned, ``more`` being what the recipe lacks."""
    maker = maker_of(recipe.encoding)
    kind = maker if isinstance(maker, type) else type(build(recipe).encoding)
    fair = {**options(recipe.encoding, recipe.length), **dict(recipe.options)}
    return {
        "protocol": PROTOCOL,
        "code": outside.code(recipe.encoding, kind),
        "built_with": json.loads(json.dumps(fair)),  # lists, as a file has them
        **more,
        **recipe.columns(),
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

    ``changes`` are arguments of TinyTransformer to set differently, such as ``log_n``.
    """
    if recipe.encoding not in known_names():  # another process made the recipe
        outside.find(recipe.encoding)
    settings: dict[str, Any] = {
        "vocab_size": text.VOCAB_SIZE,
        "encoding": recipe.encoding,
        "d_model": recipe.d_model,
        "n_layers": recipe.n_layers,
        "n_heads": recipe.n_heads,
        "max_len": recipe.length,
        **options(recipe.encoding, recipe.length),
        **dict(recipe.options),
        **changes,
    }
    with apart():
        torch.default_generator.manual_seed(recipe.seed)
        return TinyTransformer(**settings)


def conditions(corpus: bytes, device: torch.device) -> dict[str, Any]:
    """What a run was done with, apart from its recipe: columns of its rows."""
    return {
        "corpus": digest(corpus)[:16],
        "device": device.type,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "course": __version__,
    }


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
    """Build the recipe's model and train it on fresh batches, changed as in :func:`build`.

    ``draw`` makes a batch with the random numbers of a generator, which starts from the recipe's
    seed.
    """
    model = build(recipe, **changes).to(device)
    generator = torch.Generator().manual_seed(recipe.seed)

    def loss() -> torch.Tensor:
        return tasks.loss(model, draw(generator).to(device))

    name = f"{recipe.encoding}, seed {recipe.seed}"
    faster = FASTER.get(recipe.encoding)
    taken = fit(model, loss, recipe.steps, lr=recipe.lr, name=name, bar=bar, faster=faster)
    if len(taken) < recipe.steps:  # a run is whole or it is not a run
        raise KeyboardInterrupt
    return model


def on_text(
    recipe: Recipe, corpus: text.Text, device: torch.device, *, bar: bool = True, **changes: Any
) -> TinyTransformer:
    """Train the recipe's model, changed as in :func:`build`, to predict the next byte of a text."""

    def draw(generator: torch.Generator) -> Examples:
        size = {"length": recipe.length, "batch": recipe.batch}
        return text.draw(corpus.train, **size, generator=generator)

    return train(recipe, draw, device, bar=bar, **changes)
