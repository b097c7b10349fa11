"""RoPE on a longer context: which pairs a scaling slows, and how long their waves then are."""

import math

from torch import Tensor

from course_lab.explorers.controls import Choice, Slider
from course_lab.explorers.explorer import Explorer
from course_utils.models.stretching import WAYS

HEAD = {"width": 128, "base": 10_000.0, "trained": 4096}  # a head of Llama 2, and its context

stretched_waves = Explorer(
    "stretched_waves",
    "a head of Llama 2 on a longer context",
    "Speed of each of its 64 pairs against the trained one, and how many positions make a turn, "
    "against the trained length, 4,096, and the new one. Crosses mark pairs that reach new angles.",
    {"way": Choice((*WAYS[5:], *WAYS[:5])), "factor": Slider(1, 32, 8)},
    lambda: HEAD,
)


def unseen(plain: Tensor, speeds: Tensor, trained: int, long: int) -> Tensor:
    """Return which pairs reach angles on a long text that training never showed: (pairs,) bools.

    Args:
        plain: radians a position in training, (pairs,).
        speeds: radians a position on the long text, (pairs,).
        trained: positions of a training text.
        long: positions of the long text.
    """
    before, after = plain * trained, speeds * long
    # A pair that finished a whole turn in training has seen every angle. 1 % more is rounding, not
    # a new angle.
    return (before < 2 * math.pi) & (after > 1.01 * before)
