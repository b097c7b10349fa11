"""Seed, device and figure style of a session: what the first cell of every lesson sets up."""

import os
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


def start(seed: int = 0, device: str = "auto") -> torch.device:
    """Set seed, CPU threads and figure style, print what was found, return the device.

    It may be called again. At most half of the machine's cores are used.
    """
    from course_utils import plots  # matplotlib loads here, not with the package

    picked = pick_device(device)
    seed_everything(seed)
    # The lessons' matrices are small: threads that wait for a busy core cost far more than they
    # bring (14 times the training time was seen on two cores). So half of the cores stay free.
    threads = min(torch.get_num_threads(), max(1, (os.cpu_count() or 1) // 2))
    torch.set_num_threads(threads)
    plots.use_style()
    print(f"seed {seed} · device {picked} · {threads} CPU thread(s) · torch {torch.__version__}")
    return picked
