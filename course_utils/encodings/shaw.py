"""Shaw's relative positions: a learned vector for the clipped offset, added to key and to value.

    e_ij = q_i · (k_j + a^K_c)/√d,   z_i = Σ_j α_ij (v_j + a^V_c),   c = clip(j − i, −k, k)

Source: Shaw et al. 2018, arXiv 1803.02155, equations 3 to 5, section 3.2.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Keys, Look, PositionalEncoding, Queries, Weights
from course_utils.encodings.offsets import whole_offsets
from course_utils.encodings.positions import Places

Offsets = Int[Tensor, "*some q_len k_len"]
Table = Float[Tensor, "rows d_head"]


def clip_offsets(offsets: Int[Tensor, "*shape"], max_distance: int) -> Int[Tensor, "*shape"]:
    """Offsets beyond ``max_distance``, k for short, count as k: clip(j − i, −k, k), int64.

    Row c + k of a table with 2k + 1 rows belongs to the clipped offset c.
    """
    k = validation.integer("max_distance", max_distance)
    return whole_offsets(offsets).clamp(-k, k)


def shaw_scores(
    q: Float[Tensor, "*lead q_len d_head"], key_table: Table, offsets: Offsets
) -> Float[Tensor, "*lead q_len k_len"]:
    """The key term q_i · a^K_c, unscaled.

    Every query is multiplied with the 2k + 1 rows of the table once, and the products are dealt
    out. The formula read literally looks up a vector for each pair, q_len · k_len · d_head numbers.
    """
    row = _rows("key_table", key_table, offsets)
    products = q @ key_table.T  # (…, q_len, 2k + 1)
    return products.gather(-1, row.expand(*q.shape[:-1], row.shape[-1]))


def shaw_values(
    weights: Float[Tensor, "*lead q_len k_len"], value_table: Table, offsets: Offsets
) -> Float[Tensor, "*lead q_len d_head"]:
    """The value term Σ_j α_ij a^V_c: weights with the same row of the table are summed first."""
    row = _rows("value_table", value_table, offsets)
    by_row = weights.new_zeros(*weights.shape[:-1], len(value_table))  # (…, q_len, 2k + 1)
    return by_row.scatter_add(-1, row.expand(weights.shape), weights) @ value_table


class Shaw(PositionalEncoding):
    """Shaw's encoding at doors 3 and 4. All heads of a layer share the vectors.

    Args:
        max_distance: k, from which distance on all offsets share a vector, in positions.
        use_values: False leaves the values alone and keeps door 4 shut.
    """

    look = Look("#600870", "+", (0, (6, 2)))
    examples = ({"use_values": False},)
    shared = False
    offsets_only = True
    whole = True

    def __init__(
        self, d_model: int, n_heads: int, max_distance: int = 16, use_values: bool = True
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_distance = validation.integer("max_distance", max_distance)
        self.use_values = validation.boolean("use_values", use_values)
        rows = 2 * self.max_distance + 1
        self.key_table = nn.Parameter(torch.randn(rows, self.d_head) * 0.02)
        if use_values:
            self.value_table = nn.Parameter(torch.randn(rows, self.d_head) * 0.02)

    def bias(self, q: Queries, k: Keys, at: Places) -> Weights:
        """Return q_i · a^K_c/√d, in the dtype of ``q``."""
        at = self._check(q, k, at)
        return shaw_scores(q * self.scale(self.d_head), self.key_table.to(q.dtype), at.offsets)

    def values(self, weights: Weights, at: Places) -> Queries | None:
        """Return Σ_j α_ij a^V_c in the dtype of ``weights``, or None without ``use_values``."""
        at = self._check_weights(weights, at)
        if not self.use_values:
            return None
        # A sum of many small weights needs more digits than bfloat16 has.
        exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
        summed = shaw_values(exact, self.value_table.to(exact.dtype), at.offsets)
        return summed.to(weights.dtype)

    @property
    def doors(self) -> tuple[str, ...]:
        """Door 3, and door 4 unless ``use_values`` is False."""
        return ("bias", "values") if self.use_values else ("bias",)


def _rows(name: str, table: Table, offsets: Offsets) -> Offsets:
    """Which row of a table of 2k + 1 belongs to each offset, (q_len, k_len)."""
    k, rest = divmod(len(table), 2)
    if k < 1 or rest == 0:
        raise ValueError(f"{name} must have 2k + 1 rows, k at least 1, got {len(table)}")
    return clip_offsets(offsets, k) + k
