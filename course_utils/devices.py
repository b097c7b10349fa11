"""Random seeds, and the device to compute on."""

import random

import numpy as np
import torch

from course_utils import validation

DEVICES = ("auto", "cuda", "mps", "cpu")


def seed_everything(seed: int = 0) -> None:
    """Seed Python's, NumPy's and PyTorch's generators with one integer from 0 to 2³² − 1."""
    validation.seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def pick_device(device: str = "auto") -> torch.device:
    """Turn a name into a device; ``"auto"`` takes cuda, else Apple's mps, else the CPU."""
    name = validation.choice("device", device, DEVICES)
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, found in here.items() if found)
    if not here[name]:
        found = ", ".join(kind for kind, there in here.items() if there)
        raise ValueError(f"device {name!r} is not on this machine; here: {found}")
    return torch.device(name)
