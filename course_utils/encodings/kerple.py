"""KERPLE: takes r1·log(1 + r2·|j − i|) or r1·|j − i|^r2, a learned kernel, off each score.

Source: Chi et al. 2022, arXiv 2205.09921. The paper divides the kernel by √d_head together with
q·k; its released code, which made its numbers, adds it after the division.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import BiasByOffset, Look, Offsets, PositionalEncoding, bias_dtype
from course_utils.encodings.offsets import per_head

PerHead = Float[Tensor, " heads"]


def kerple_log(
    offsets: Num[Tensor, "*shape"], r1: PerHead, r2: PerHead
) -> Float[Tensor, " heads *shape"]:
    """The logarithmic kernel −r1 · log(1 + r2 · |j − i|), steep nearby and flat far away.

    r1 is its height; 1 / r2 the distance where straight turns into logarithmic; both above 0.
    float32, or float64 if an argument is.
    """
    distances = validation.real("offsets", offsets).abs()
    height, inverse_distance = _pair(r1, r2, distances)
    return -height * (inverse_distance * distances).log1p()


def kerple_power(
    offsets: Num[Tensor, "*shape"], r1: PerHead, r2: PerHead
) -> Float[Tensor, " heads *shape"]:
    """The power kernel −r1 · |j − i|^r2; with r2 = 1 it is ALiBi with slope r1.

    r2 is above 0 and at most 2 (beyond 2 it is no kernel any more).
    """
    distances = validation.real("offsets", offsets).abs()
    height, exponent = _pair(r1, r2, distances)
    return -height * distances**exponent


def _pair(r1: PerHead, r2: PerHead, distances: Tensor) -> tuple[Tensor, Tensor]:
    """Both parameters shaped to multiply distances; raises unless they have as many heads."""
    first, second = per_head("r1", r1, distances), per_head("r2", r2, distances)
    if len(first) != len(second):
        raise ValueError(f"r2 must have one entry for each of {len(r1)} heads, got {len(r2)}")
    return first, second


class Kerple(PositionalEncoding):
    """KERPLE at door 3, with two learned numbers a head; all layers share them (figure 1).

    Both stay in their ranges because they are computed from free parameters: r1 and r2 above 0 as
    softplus(free_r1) and softplus(free_r2), the power's r2 in (0, 2) as 2·sigmoid(free_r2). The
    released code clamps them to at least 0.01 instead. Fractional positions are fine.

    Args:
        kind: "log" or "power".
        inside_scale: True multiplies the kernel by the factor on q·k, as the paper writes it.
    """

    look = Look("#098463", "v", "-")
    examples = ({"kind": "power"},)
    adjustable = {"inside_scale": True}
    offsets_only = True

    def __init__(
        self, d_model: int, n_heads: int, kind: str = "log", inside_scale: bool = False
    ) -> None:
        super().__init__(d_model, n_heads)
        self.kind = validation.choice("kind", kind, ("log", "power"))
        self.inside_scale = validation.boolean("inside_scale", inside_scale)
        # Drawn as the released code draws them: the log's height and the power's exponent up to 2.
        low, log = 0.01, kind == "log"
        r1 = torch.empty(self.n_heads).uniform_(low, 2 if log else 1)
        r2 = torch.empty(self.n_heads).uniform_(low, 1 if log else 2)
        self.free_r1 = nn.Parameter(r1.expm1().log())  # the inverse of softplus
        self.free_r2 = nn.Parameter(r2.expm1().log() if log else (r2 / 2).logit())

    @property
    def r1(self) -> PerHead:
        """Height of the kernel, above 0; float32 at least."""
        return F.softplus(self.free_r1.to(bias_dtype(self.free_r1)))

    @property
    def r2(self) -> PerHead:
        """Kind "log": inverse distance, above 0. Kind "power": exponent, in (0, 2)."""
        free = self.free_r2.to(bias_dtype(self.free_r2))
        return F.softplus(free) if self.kind == "log" else 2 * free.sigmoid()

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return minus the kernel, float32 at least."""
        kernel = kerple_log if self.kind == "log" else kerple_power
        r1 = self.r1 * self.scale(self.d_head) if self.inside_scale else self.r1
        return kernel(offsets, r1, self.r2)
