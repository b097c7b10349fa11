"""What the first cell of every lesson sets up: seed, device, CPU threads and styles."""

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import nn

from course_lab.chinese import chinese_font
from course_lab.door_strip import describe_doors, door_strip
from course_lab.widgets.last_cell import last_cell
from course_lab.widgets.meant_errors import meant_errors
from course_lab.widgets.notebook import use_notebook_style
from course_utils import plots
from course_utils.devices import pick_device, seed_everything

Model = TypeVar("Model", bound=nn.Module)


def start(
    seed: int = 0,
    device: str = "auto",
    *,
    doors: Iterable[str] | None = None,
    title: str = "",
    description: str = "",
) -> torch.device:
    """Set seed, CPU threads and styles, print what was chosen, return the device.

    It may be called again. At most half of the machine's cores are used. From the next cell on, a
    cell tagged ``raises-exception`` shows its error in one line.

    Args:
        seed: for Python, NumPy and PyTorch.
        device: ``"cpu"``, ``"cuda"``, ``"mps"``, or ``"auto"`` for the fastest one there is.
        doors: the doors that the lesson opens, as :func:`door_strip` names them. The strip of
            doors is drawn unless this is None.
        title: the title above the strip.
        description: the strip in words, instead of a list of the open doors.
    """
    picked = pick_device(device)
    seed_everything(seed)
    # The lessons' matrices are small: threads that wait for a busy core cost far more than they
    # bring (14 times the training time was seen on two cores). So half of the cores stay free.
    threads = min(torch.get_num_threads(), max(1, (os.cpu_count() or 1) // 2))
    torch.set_num_threads(threads)
    font = chinese_font()
    plots.use_style(*[font] if font else [])
    meant_errors.start()
    last_cell.start()
    print(f"seed {seed} · device {picked} · {threads} CPU thread(s) · torch {torch.__version__}")
    if doors is not None:
        doors = list(doors)
        plots.show(door_strip(doors, title), description or describe_doors(doors))
    use_notebook_style()
    return picked


def if_installed(
    load: Callable[[], Model], device: torch.device | str | None = None
) -> Model | None:
    """A published model; None, with a printed reason, where its files or readers are missing.

    It is moved to the ``device``, if one is given.

    The lesson then goes on without it.
    """
    try:
        model = load()
    except (OSError, ModuleNotFoundError) as error:
        print(f"This section is to be read only, for its model cannot be loaded.\n{error}")
        return None
    if device is not None:
        model.to(device)
    return model
