"""CoPE: positions that are counted by content instead of by place.

    p_ij = Σ_{t=j..i} σ(q_i · k_t/√d),   bias_ij = q_i · e[p_ij]

A key counts by its gate, between 0 and 1; a count between whole numbers mixes two neighbours in the
table e.

Source: Golovneva et al. 2024, arXiv 2405.18719, section 4.
"""

from typing import Any

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import Bias, Keys, Look, PositionalEncoding, Queries, for_each_head
from course_utils.encodings.positions import Places

Scores = Float[Tensor, "*lead q_len k_len"]


def contextual_counts(
    logits: Scores, q_pos: Num[Tensor, " q_len"], k_pos: Num[Tensor, " k_len"]
) -> Scores:
    """How many keys that matter lie from key j to query i: p_ij, in keys.

    The sum runs over positions, not over places in the row, and holds both its ends. For keys
    after the query it is 0.

    ``logits`` are scores of the queries' words on the keys' words; keys may be in any order. The
    result is float64 if ``logits`` is, else float32.
    """
    shape = "(…, q_len, k_len)"
    logits = validation.floating("logits", logits, shape)
    q_pos, k_pos = validation.positions("q_pos", q_pos), validation.positions("k_pos", k_pos)
    if logits.shape[-2:] != (len(q_pos), len(k_pos)):
        raise ValueError(
            f"logits must have shape {shape} with {len(q_pos)} and {len(k_pos)}, "
            f"got {tuple(logits.shape)}"
        )
    rising = validation.readable(k_pos) and bool((k_pos[1:] > k_pos[:-1]).all())
    return _counts(logits, k_pos > q_pos[:, None], None if rising else k_pos)


def _counts(logits: Tensor, hidden: Tensor, unordered: Tensor | None) -> Tensor:
    """The sums; ``unordered`` are the keys' positions where these may not rise."""
    gates = logits.to(torch.promote_types(logits.dtype, torch.float32)).sigmoid()
    gates = gates.masked_fill(hidden, 0)
    if unordered is None:
        return _sums_to_the_end(gates)
    # Reordering takes longer than all the rest, so only where it is needed (or cannot be known).
    rising, order = unordered.sort()
    # Keys at one position share a count, that of the first of them: all keys from there on.
    first = torch.searchsorted(rising, unordered.contiguous())  # (…, k_len)
    if unordered.ndim == 1:
        return _sums_to_the_end(gates[..., order])[..., first]
    order = order[:, None, None].expand_as(gates)  # a row for each text, the same for all heads
    first = first[:, None, None].expand_as(gates)
    return _sums_to_the_end(gates.gather(-1, order)).gather(-1, first)


def _sums_to_the_end(gates: Tensor) -> Tensor:
    return gates.flip(-1).cumsum(-1).flip(-1)


def interpolated(
    table: Float[Tensor, "*lead n_positions"], places: Float[Tensor, "*lead count"]
) -> Float[Tensor, "*lead count"]:
    """Entries of ``table`` at fractional places: on the straight line between two whole ones.

    Places past the last entry get the last entry.
    """
    table = validation.floating("table", table, "(…, n_positions)")
    places = validation.floating("places", places, "(…, count)").clamp(0, table.shape[-1] - 1)
    whole = places.floor()
    row = validation.inside(whole.long(), table.shape[-1], "places must be numbers, got NaN")
    steps = F.pad(table.diff(dim=-1), (0, 1))  # from each entry to the next; 0 from the last
    return table.gather(-1, row) + (places - whole) * steps.gather(-1, row)


class CoPE(PositionalEncoding):
    """CoPE at door 3. All heads of a layer read one table; each layer has its own.

    Gates are σ of the same scaled scores that softmax sees. The term q_i · e[p_ij] is added as it
    is, not divided by √d_head, as in the code of the paper's appendix. (The authors' released
    training code divides it too unless told not to.) Counting ends at the query, so keys after it
    cannot be told apart: it needs a causal mask.

    The table has ``n_positions`` rows, at least 2, for counts 0, 1, …; larger ones read the last.
    """

    look = Look("#424400", "2", (0, (3, 1, 1, 1)))
    shared = False
    offsets_only = True
    causal = True

    def __init__(self, d_model: int, n_heads: int, n_positions: int = 64) -> None:
        super().__init__(d_model, n_heads)
        self.n_positions = validation.integer("n_positions", n_positions, minimum=2)
        self.table = nn.Parameter(torch.randn(self.n_positions, self.d_head) * 0.02)

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """It can count to the length."""
        return {"n_positions": length}

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return q_i · e[p_ij], float32 (float64 if ``q`` is). Keys after the query count 0."""
        at = self._check(q, k, at)
        k = for_each_head(k, self.n_heads)
        logits = self.scale(self.d_head) * q @ k.transpose(-1, -2)  # (batch, heads, q_len, k_len)
        counts = _counts(logits, at.hidden, None if at.rising else at.k)
        # q meets every row of the table first, then counts pick from those scores: that takes
        # q_len · n_positions numbers a head instead of q_len · k_len vectors.
        scores = (q @ self.table.to(q.dtype).T).to(counts.dtype)  # (…, q_len, n_positions)
        return interpolated(scores, counts)
