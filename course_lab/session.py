"""What the first cell of every lesson sets up: seed, device, CPU threads and figure style."""

import os

import torch

from course_utils import plots
from course_utils.devices import pick_device, seed_everything


def start(seed: int = 0, device: str = "auto") -> torch.device:
    """Set seed, CPU threads and figure style, print what was chosen, return the device.

    It may be called again. At most half of the machine's cores are used.
    """
    picked = pick_device(device)
    seed_everything(seed)
    # The lessons' matrices are small: threads that wait for a busy core cost far more than they
    # bring (14 times the training time was seen on two cores). So half of the cores stay free.
    threads = min(torch.get_num_threads(), max(1, (os.cpu_count() or 1) // 2))
    torch.set_num_threads(threads)
    plots.use_style()
    print(f"seed {seed} · device {picked} · {threads} CPU thread(s) · torch {torch.__version__}")
    return picked
