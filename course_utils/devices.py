"""Random seeds, and the device to compute on."""

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from course_utils import validation

DEVICES = ("auto", "cuda", "mps", "cpu")

_generator_lock = threading.RLock()  # PyTorch's default generator is shared by all threads


def seed_everything(seed: int = 0) -> None:
    """Seed Python's, NumPy's and PyTorch's generators with one integer from 0 to 2³² − 1."""
    validation.seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


@contextmanager
def isolated_rng(seed: int | None = None) -> Iterator[None]:
    """Restore PyTorch's CPU generator at the end; with a ``seed``, start from it.

    Build a module inside, and random numbers outside go on as if it had not been built. Only one
    thread at a time can be inside.
    """
    with _generator_lock, torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would seed a GPU too
        yield


def pick_device(device: str = "auto") -> torch.device:
    """Turn a name into a device; ``"auto"`` takes cuda, else Apple's mps, else the CPU."""
    name = validation.choice("device", device, DEVICES)
    has = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    available = [kind for kind in ("cuda", "mps") if has[kind]] + ["cpu"]
    if name == "auto":
        name = available[0]
    if name not in available:
        raise ValueError(
            f"device {name!r} is not on this machine; available: {', '.join(available)}"
        )
    return torch.device(name)
