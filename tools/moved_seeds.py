"""Shift the seeds of all random generators of a kernel: seed n becomes n + offset.

rehearse.py runs this in a kernel before a lesson's first cell. A sentence that still holds does not
depend on the numbers of one seed.
"""

import random
from typing import Any

import numpy as np
import torch


def move(offset: int) -> None:
    """From here on, add ``offset`` to each seed given to torch, NumPy or random."""
    torch_seed, numpy_seed, python_seed = torch.manual_seed, np.random.seed, random.seed
    default_rng, default_generator = np.random.default_rng, torch.default_generator

    class Generator(torch.Generator):
        def manual_seed(self, seed: int) -> torch.Generator:
            return super().manual_seed(seed + offset)

    class Random(random.Random):
        def seed(self, a: Any = None, version: int = 2) -> None:
            super().seed(shifted(a), version)

    class Default:
        """Wraps torch's default generator, whose methods cannot be replaced."""

        def manual_seed(self, seed: int) -> torch.Generator:
            return torch_seed(seed + offset)

        def __getattr__(self, name: str) -> Any:
            return getattr(default_generator, name)

    def shifted(seed: Any) -> Any:
        return seed + offset if isinstance(seed, (int, np.integer)) else seed

    torch.Generator = Generator  # type: ignore[misc]
    torch.default_generator = Default()  # type: ignore[assignment]
    torch.manual_seed = torch.random.manual_seed = lambda seed: torch_seed(seed + offset)
    np.random.seed = lambda seed=None: numpy_seed(shifted(seed))
    np.random.default_rng = lambda seed=None: default_rng(shifted(seed))
    random.seed = lambda a=None, version=2: python_seed(shifted(a), version)
    random.Random = Random  # type: ignore[misc]
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
