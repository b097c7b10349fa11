"""One training loop for every experiment of the course."""

from __future__ import annotations

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
    """Train with Adam and show a bar; interrupting keeps what was learned so far.

    Args:
        model: its parameters are trained in place; it is left in evaluation mode.
        loss: called once a step, returns the scalar loss of a fresh batch.
        steps: how many steps.
        lr: learning rate, falling linearly to 0 over the last half of the steps.
        name: text before the bar.
        bar: False where many trainings run at once and their bars would be in each other's way.
        faster: parameter by name → by how much its learning rate is larger.

    Returns:
        The loss of every step that was taken, in the loss's own unit.

    Raises:
        TypeError, ValueError: if ``steps``, ``lr`` or a factor of ``faster`` is not above 0, or
            the model has no parameter of that name.
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
