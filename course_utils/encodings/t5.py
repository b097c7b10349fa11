"""T5: one learned number for each head and bucket of offsets; near offsets have their own.

    e_ij = q_i · k_j + table[bucket(j − i), head]

Source: Raffel et al. 2019, arXiv 1910.10683, section 2.1; the rule of the buckets is in T5's code.
"""

import math
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import BiasByOffset, Look, Offsets, PositionalEncoding
from course_utils.encodings.offsets import whole_offsets


def t5_bucket(
    offsets: Int[Tensor, "*shape"], n_buckets: int, max_distance: int, bidirectional: bool
) -> Int[Tensor, "*shape"]:
    """T5's bucket of each offset, from 0 to n_buckets − 1, int64; far ones are wider and wider.

    With B buckets for one direction, distances below e = B // 2 have a bucket each. Distance n
    from e on falls into e + floor((B − e) · log(n/e) / log(max_distance/e)), at most B − 1.
    If ``bidirectional``, keys before the query have the first half of the buckets and keys
    after it the second; the first of the second half, distance 0, is never used. Otherwise
    all buckets are for keys before, and every key after falls into bucket 0.

    Args:
        offsets: j − i ("memory minus query" in T5's words).
        n_buckets: even and at least 4 if ``bidirectional``, else at least 2.
        max_distance: from here on all distances share a bucket, in positions; more than e.
        bidirectional: True if keys after the query are visible.
    """
    per_direction, exact = _bucket_counts(n_buckets, max_distance, bidirectional)
    back = -whole_offsets(offsets)  # distance to an earlier key
    distance = back.abs() if bidirectional else back.clamp(min=0)
    # float32, and the operations in this order, as T5's code has them: where the true value is
    # a whole number, rounding decides on the bucket, and trained tables rely on that.
    ratio = (distance.clamp(min=exact).float() / exact).log() / math.log(max_distance / exact)
    far = (exact + (ratio * (per_direction - exact)).long()).clamp(max=per_direction - 1)
    bucket = torch.where(distance < exact, distance, far)
    return bucket + per_direction * (back < 0) if bidirectional else bucket


def _bucket_counts(n_buckets: int, max_distance: int, bidirectional: bool) -> tuple[int, int]:
    """Buckets for one direction, and how many of them hold a single distance."""
    count = validation.integer("n_buckets", n_buckets)
    if validation.boolean("bidirectional", bidirectional):
        if count < 4 or count % 2:
            raise ValueError(
                "n_buckets must be an even number of at least 4 when keys ahead are visible "
                f"(half of them for each direction), got {n_buckets}"
            )
        count //= 2
    elif count < 2:
        raise ValueError(f"n_buckets must be at least 2, got {n_buckets}")
    exact = count // 2
    if validation.integer("max_distance", max_distance) <= exact:
        raise ValueError(
            f"max_distance must be more than {exact}, the distances that have a bucket each "
            f"when n_buckets is {n_buckets}, got {max_distance}"
        )
    return count, exact


class T5(PositionalEncoding):
    """T5's bias at door 3. All layers share one table.

    T5 does not divide by √d, which it folds into the initialisation of its projections
    (MultiHeadAttention here does not, so its scores start √d times as large as other schemes').

    Args:
        n_buckets, max_distance: see :func:`t5_bucket`.
        causal: True spends all buckets on keys before the query; False half of them.
    """

    look = Look("#0a5454", "P", (0, (5, 1.5, 1, 1.5, 1, 1.5)))
    examples = ({"n_buckets": 8, "max_distance": 20},)
    adjustable = {"max_distance": 40}
    whole = True
    offsets_only = True
    # A number that is added to scores as it is has to come to several nats, and a step of Adam
    # moves it by no more than the learning rate. Matrices of queries and keys move scores faster.
    learning_rates = {"table": 30.0}

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_buckets: int = 32,
        max_distance: int = 128,
        causal: bool = False,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.causal = validation.boolean("causal", causal)
        _bucket_counts(n_buckets, max_distance, not causal)  # refuse now, not at the first use
        self.n_buckets, self.max_distance = int(n_buckets), int(max_distance)
        # As wide as T5's own: the other scores are not divided by √d either.
        self.table = nn.Parameter(torch.randn(self.n_buckets, self.n_heads) * self.d_model**-0.5)

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """The last bucket begins at half the length, so that it is met often."""
        half = length // 2
        return {"n_buckets": max(2, min(32, half)), "max_distance": max(2, half)}

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return table[bucket(j − i), head], in the dtype of the table."""
        buckets = t5_bucket(offsets, self.n_buckets, self.max_distance, not self.causal)
        return self.table[buckets].T

    def scale(self, d_head: int) -> float:
        """1: T5 does not divide by √d_head."""
        return 1.0
