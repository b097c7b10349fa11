"""How the course trains: one loop for every model, one recipe for every encoding.

A recipe and a text decide all numbers of a run.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from course_utils import validation
from course_utils.devices import isolated_rng
from course_utils.encodings import PositionalEncoding, known_names, maker_of, options_of
from course_utils.models.transformer import TinyTransformer
from course_utils.texts import tasks, text


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
    """Train a model in place with Adam, and return the loss of every step that was taken.

    The learning rate falls linearly from ``lr`` to 0 over the last half of the steps. The model is
    left in evaluation mode. Interrupting keeps what was learned so far.

    Args:
        loss: called once a step; returns the scalar loss of a fresh batch.
        name: text before the progress bar, which needs the package tqdm.
        bar: False shows no progress bar, for trainings that run side by side.
        faster: name of a parameter → factor on its learning rate.
    """
    total = validation.integer("steps", steps)
    validation.positive("lr", lr)
    parameters = dict(model.named_parameters())
    factors = dict.fromkeys(parameters, 1.0) | dict(faster or {})
    by_factor: defaultdict[float, list[nn.Parameter]] = defaultdict(list)
    for parameter, factor in factors.items():
        validation.choice("faster", parameter, parameters)
        by_factor[validation.positive("faster", factor)].append(parameters[parameter])
    groups = [{"params": group, "lr": factor * lr} for factor, group in by_factor.items()]
    optimizer = torch.optim.Adam(groups)
    schedule = LambdaLR(optimizer, lambda step: min(1.0, 2 * (total - step) / total))
    history: list[float] = []
    model.train()
    try:
        for _ in _progress(total, name) if bar else range(total):
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


def _progress(steps: int, name: str) -> Any:  # of steps; a check for Iterable[int] takes the first
    try:
        from tqdm.auto import tqdm  # a widget in a notebook, which leaves nothing behind
    except ModuleNotFoundError:
        return range(steps)
    bar = tqdm(range(steps), desc=name, leave=False)
    if widget := getattr(bar, "container", None):

        def hide() -> None:
            widget.layout.display = "none"

        # JupyterLab may draw a bar late, or again, and calls a closed widget "model not found".
        widget.close = hide
    return bar


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that decides a training run, apart from the text."""

    encoding: str  # one of course_utils.encodings.known_names()
    seed: int = 0  # of weights and of the order of the text, the same order for every encoding
    length: int = 64  # bytes a piece in training
    steps: int = 1200
    batch: int = 8  # pieces a step
    lr: float = 2e-3  # Adam's; it falls to 0 over the last half of the steps
    d_model: int = 128
    n_layers: int = 4
    n_heads: int = 4
    options: Any = ()  # of the encoding, in place of its fair ones: a mapping, kept as sorted pairs

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


def _frozen(name: str, value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(name, entry) for entry in value)
    plain = "a finite number, text, True, False, None or a list of these"
    validation.instance(f"option {name}", value, (int, float, str, type(None)), plain)
    return validation.number(f"option {name}", value) if isinstance(value, float) else value


def encoding_class(recipe: Recipe) -> type[PositionalEncoding]:
    """The class of a recipe's encoding; where a function makes it, that of what it makes."""
    maker = maker_of(recipe.encoding)
    if isinstance(maker, type) and issubclass(maker, PositionalEncoding):
        return maker
    return type(_model(recipe, dict(recipe.options), n_layers=1).encoding)


def encoding_options(recipe: Recipe) -> dict[str, Any]:
    """The options that a recipe's encoding is made with: those of the recipe, else its fair ones.

    The fair ones are ``PositionalEncoding.fair_options`` of its class, less those that its maker
    does not take, or has settled itself as a ``functools.partial``.
    """
    maker = maker_of(recipe.encoding)
    settled = getattr(maker, "keywords", {})
    fair = encoding_class(recipe).fair_options(recipe.length)
    open_options = [name for name in fair if name in options_of(maker) and name not in settled]
    return {name: fair[name] for name in open_options} | dict(recipe.options)


def learning_rates(model: nn.Module) -> dict[str, float]:
    """The ``learning_rates`` of all encodings in a model, by the names of the model's parameters.

    ValueError if an encoding names a parameter that it does not have.
    """
    names = {parameter: name for name, parameter in model.named_parameters()}
    rates = {}
    for encoding in (part for part in model.modules() if isinstance(part, PositionalEncoding)):
        parameters = dict(encoding.named_parameters())
        for name, factor in encoding.learning_rates.items():
            validation.choice(f"learning_rates of {type(encoding).__name__}", name, parameters)
            rates[names[parameters[name]]] = factor
    return rates


def build(recipe: Recipe, **changes: Any) -> TinyTransformer:
    """The untrained model of a recipe, its weights drawn from the recipe's seed.

    ``changes`` are arguments of TinyTransformer to set differently, such as ``log_n``.
    """
    return _model(recipe, encoding_options(recipe), **changes)


def _model(recipe: Recipe, options: Mapping[str, Any], **changes: Any) -> TinyTransformer:
    settings: dict[str, Any] = {
        "vocab_size": text.VOCAB_SIZE,
        "encoding": recipe.encoding,
        "d_model": recipe.d_model,
        "n_layers": recipe.n_layers,
        "n_heads": recipe.n_heads,
        "max_len": recipe.length,
        **options,
        **changes,
    }
    with isolated_rng(recipe.seed):
        return TinyTransformer(**settings)


def train(
    recipe: Recipe,
    draw: Callable[[torch.Generator], tasks.Examples],
    device: torch.device,
    *,
    bar: bool = True,
    **changes: Any,
) -> TinyTransformer:
    """Build the recipe's model and train it on fresh batches, changed as in :func:`build`.

    ``draw`` makes a batch with a generator's random numbers, which start from the recipe's seed.
    """
    model = build(recipe, **changes).to(device)
    generator = torch.Generator().manual_seed(recipe.seed)

    name = f"{recipe.encoding}, seed {recipe.seed}"
    _fit_whole(model, lambda: draw(generator), recipe.steps, lr=recipe.lr, name=name, bar=bar)
    return model


def _fit_whole(
    model: TinyTransformer, draw: Callable[[], tasks.Examples], steps: int, **options: Any
) -> None:
    """:func:`fit` at the learning rates of the model's encodings; a run is whole or raises."""
    device = model.embedding.weight.device

    def loss() -> Tensor:
        return tasks.loss(model, draw().to(device))

    if len(fit(model, loss, steps, faster=learning_rates(model), **options)) < steps:
        raise KeyboardInterrupt


def train_on_text(
    recipe: Recipe, corpus: text.Text, device: torch.device, *, bar: bool = True, **changes: Any
) -> TinyTransformer:
    """Train the recipe's model, changed as in :func:`build`, to predict the next byte of a text."""

    def draw(rng: torch.Generator) -> tasks.Examples:
        return text.draw(corpus.train, length=recipe.length, batch=recipe.batch, generator=rng)

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
    batch, piece = max(1, recipe.batch * recipe.length // length), cut or length

    def draw() -> tasks.Examples:
        drawn = text.draw(known.train, length=length, batch=batch, generator=generator)
        return tasks.Examples(drawn.tokens.reshape(-1, piece), drawn.targets.reshape(-1, piece))

    _fit_whole(model, draw, steps, lr=recipe.lr / 2, name=f"fine-tuning at {piece}", bar=bar)
