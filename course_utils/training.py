"""One training loop for every experiment of the course."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from tqdm import tqdm

from course_utils import validation


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
