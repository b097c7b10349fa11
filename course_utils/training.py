"""One training loop for every experiment of the course."""

from __future__ import annotations

from collections.abc import Callable

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
) -> list[float]:
    """Train with Adam and show a bar; interrupting keeps what was learned so far.

    Args:
        model: its parameters are trained in place; it is left in evaluation mode.
        loss: called once a step, returns the scalar loss of a fresh batch.
        steps: how many steps.
        lr: learning rate, falling linearly to 0 over the last half of the steps.
        name: text before the bar.
        bar: False where many trainings run at once and their bars would be in each other's way.

    Returns:
        The loss of every step that was taken, in the loss's own unit.

    Raises:
        TypeError, ValueError: if ``steps`` or ``lr`` is not above 0.
    """
    total = validation.integer("steps", steps)
    optimizer = torch.optim.Adam(model.parameters(), lr=validation.positive("lr", lr))
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
