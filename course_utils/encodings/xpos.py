"""xPos: RoPE whose scores fade with distance, queries × ζ_m^(p/512) and keys × ζ_m^(−p/512).

Source: Sun et al. 2022, arXiv 2212.10554, algorithm 1; the division by 512 and γ = 0.4 are those of
its code, TorchScale.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import Keys, Look, Queries
from course_utils.encodings.positions import Places, Positions, angle_dtype
from course_utils.encodings.rope import Rotary, Turn, rope_angles, rope_frequencies, turn_by


def xpos_scale(
    positions: Positions, d: int, scale_base: float = 512.0, reference: float | Tensor = 0.0
) -> Float[Tensor, "*batch seq pairs"]:
    """What xPos multiplies a query by, ζ_m^((p − reference)/scale_base); a key by 1 over it.

    ζ_m = (2m + 0.4d)/(1.4d) is below 1 and grows with m: fast pairs fade sooner with distance. (The
    paper writes (m/(d/2) + γ)/(1 + γ), which is the same.) A score sees only the product of a
    query's and a key's factor, so any ``reference`` common to both gives the same scores. One in
    their midst keeps the factors within a float's range. They are float64 (float32 on mps).

    Args:
        d: features of a head, an even number.
        scale_base: positions after which pair m has faded by ζ_m.
        reference: the position whose factor is 1.
    """
    row = validation.positions("positions", positions, batches=True)
    width, scale_base = validation.even("d", d), validation.positive("scale_base", scale_base)
    dtype = angle_dtype(row.device)
    pairs = torch.arange(0, width, 2, device=row.device, dtype=dtype)
    zeta = (pairs + 0.4 * width) / (1.4 * width)  # (pairs)
    return zeta ** ((row.to(dtype) - reference) / scale_base)[..., None]


class XPos(Rotary):
    """xPos at door 2.

    The scores of keys after the query would grow without bound, hence ``causal``. Factors are
    taken from the middle of the positions in a call, so only distances within a call matter. They
    must not pass what the queries' dtype can hold, since attention computes hidden scores too:
    about 34 000 positions in float32 and bfloat16, 2600 in float16. Keys must be cached before
    they are turned.

    Args:
        d_model, n_heads, base, layout: as for RoPE.
        scale_base: the 512 above, in positions; larger values fade more slowly.
    """

    look = Look("#481e01", "d", (0, (7, 2, 1.5, 2)))
    examples = ({"layout": "half"},)
    adjustable = {"base": 77.0, "layout": "interleaved", "scale_base": 99.0}
    causal = True
    static_keys = False  # the middle moves

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        scale_base: float = 512.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(d_model, n_heads, base, layout)
        self.scale_base = validation.positive("scale_base", scale_base)

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return queries and keys, turned and scaled, in their own dtype.

        Raises ValueError if positions are further apart than the dtype of ``q`` can hold.
        """
        self._check(q, k, at)
        if validation.readable(at.q):
            # ζ_0 = 0.4/1.4 is the smallest: so far ahead, a score of 100 becomes the largest float.
            room = math.log(torch.finfo(q.dtype).max / 100)
            reach = self.scale_base * room / math.log(1.4 / 0.4)
            furthest = float(at.k.max()) - float(at.q.min())
            if furthest > reach:
                raise ValueError(
                    f"k_pos must be at most {int(reach)} after q_pos (where scores in {q.dtype} "
                    f"end), got {furthest:g}; a larger scale_base, now {self.scale_base:g}, "
                    "reaches further"
                )
        return super().rotate(q, k, at)

    def turns(self, at: Places) -> tuple[Turn, Turn]:
        """How the queries turn, and how the keys; their factors fade in opposite directions."""
        theta = rope_frequencies(self.d_head, self.base, device=at.k.device)
        ends = torch.stack([*at.q.aminmax(), *at.k.aminmax()]).to(theta.dtype)
        middle = (ends.min() + ends.max()) / 2
        q_fade = xpos_scale(at.q, self.d_head, self.scale_base, middle)
        k_fade = xpos_scale(at.k, self.d_head, self.scale_base, middle)
        query = turn_by(rope_angles(at.q, theta), q_fade)
        return query, turn_by(rope_angles(at.k, theta), 1 / k_fade)
