"""How the course trains: one loop for every model, one recipe for every encoding.

A recipe and a text decide all numbers of a run.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_utils import validation
from course_utils.encodings import known_names, options_of
from course_utils.models.transformer import TinyTransformer, apart
from course_utils.texts import tasks, text
from course_utils.texts.tasks import Examples


def fit(
    model: nn.Module,
    loss: Callable[[], Tensor],
    steps: int,
    *,
    lr: float = 3e-3,
    name: str = "training",
    bar: bool = True,
    faster: Mapping[str, float] | None = None,
) -> list[float]:
    """Train a model in place with Adam; interrupting keeps what was learned so far.

    ``loss`` is called once a step and returns the scalar loss of a fresh batch. The learning rate
    ``lr`` falls linearly to 0 over the last half of the steps; ``faster`` says by which factor
    that of a named parameter is larger. ``bar=False`` is for trainings that run at once, whose
    bars would be in each other's way. The model is left in evaluation mode. What comes back is
    the loss of every step that was taken.
    """
    total = validation.integer("steps", steps)
    validation.positive("lr", lr)
    named = dict(model.named_parameters())
    rates = dict.fromkeys(named, 1.0)
    for parameter, factor in (faster or {}).items():
        rates[validation.choice("faster", parameter, named)] = validation.positive("faster", factor)
    optimizer = torch.optim.Adam(
        [
            {"params": [named[name] for name in named if rates[name] == rate], "lr": rate * lr}
            for rate in sorted(set(rates.values()))
        ]
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, 2 * (total - step) / total)
    )
    history: list[float] = []
    model.train()
    try:
        for _ in tqdm(range(total), desc=name, leave=False, disable=not bar):
            value = loss()
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            schedule.step()
            history.append(float(value.detach()))
    except KeyboardInterrupt:
        print(f"{name}: stopped after {len(history)} of {total} steps; the model keeps them.")
    model.eval()
    return history


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
        validation.choice("encoding", self.encoding, known_names())
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


def train_on_text(
    recipe: Recipe, corpus: text.Text, device: torch.device, *, bar: bool = True, **changes: Any
) -> TinyTransformer:
    """Train the recipe's model, changed as in :func:`build`, to predict the next byte of a text."""

    def draw(generator: torch.Generator) -> Examples:
        size = {"length": recipe.length, "batch": recipe.batch}
        return text.draw(corpus.train, **size, generator=generator)

    return train(recipe, draw, device, bar=bar, **changes)


def fine_tune(
    model: TinyTransformer,
    recipe: Recipe,
    known: text.Text,
    *,
    length: int,
    steps: int = 100,
    cut: int | None = None,
    bar: bool = True,
) -> None:
    """Train on, in place, on pieces of ``length`` bytes: as many bytes a step as in training.

    The learning rate is half of the recipe's. Pieces and their order are the same for every way.
    With ``cut``, which divides ``length``, the same bytes are read in pieces of so many.
    """
    generator = torch.Generator().manual_seed(recipe.seed)
    batch = max(1, recipe.batch * recipe.length // length)
    device = model.embedding.weight.device

    def loss() -> torch.Tensor:
        drawn = text.draw(known.train, length=length, batch=batch, generator=generator)
        drawn = tasks.Examples(*(ids.reshape(-1, cut or length) for ids in drawn))
        return tasks.loss(model, drawn.to(device))

    name = f"fine-tuning at {cut or length}"
    if len(fit(model, loss, steps, lr=recipe.lr / 2, name=name, bar=bar)) < steps:
        raise KeyboardInterrupt  # a run is whole or it is not a run
