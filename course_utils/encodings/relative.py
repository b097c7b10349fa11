"""Encodings that see the offset between query and key: Shaw, Transformer-XL, T5, DeBERTa.

Rotations, and biases without a learned table such as ALiBi's, do not live here.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import (
    KeyPositions,
    Keys,
    PositionalEncoding,
    Queries,
    QueryPositions,
)
from course_utils.encodings.functional.offsets import by_offset, counts_up, offset_matrix, skew
from course_utils.encodings.functional.relative import (
    deberta_scores,
    shaw_scores,
    shaw_values,
    sinusoidal_scores,
    t5_bucket,
    t5_bucket_counts,
)
from course_utils.encodings.functional.sinusoidal import sinusoidal_table
from course_utils.encodings.memo import Memo


class Shaw(PositionalEncoding):
    """Adds a learned vector for the clipped offset to every key and to every value.

    e_ij = q_i · (k_j + a^K_c)/√d and z_i = Σ_j α_ij (v_j + a^V_c), with c = clip(j − i, −k, k).
    All heads of a layer share the vectors.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        max_distance: k, from which distance on all offsets share a vector, in positions.
        use_values: False leaves the values alone and keeps door 4 shut.

    Raises:
        TypeError, ValueError: if an argument has the wrong type or is below 1.

    Source: Shaw et al. 2018, arXiv 1803.02155, equations 3 to 5.
    """

    shared = False

    def __init__(
        self, d_model: int, n_heads: int, max_distance: int = 16, use_values: bool = True
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_distance = validation.integer("max_distance", max_distance)
        self.use_values = validation.boolean("use_values", use_values)
        rows = 2 * self.max_distance + 1
        self.key_table = _normal(rows, self.d_head)
        if use_values:
            self.value_table = _normal(rows, self.d_head)

    def bias(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> Float[Tensor, "batch heads q_len k_len"]:
        """Return q_i · a^K_c/√d, in the dtype of ``q``.

        Raises:
            TypeError, ValueError: if q, k and their positions do not fit, or a position is not
                a whole number.
        """
        self._check_heads(q, k, q_pos, k_pos, whole=True)
        scaled = q * self.scale(self.d_head)
        return shaw_scores(scaled, self.key_table.to(q.dtype), _offsets(q_pos, k_pos, q.device))

    def values(
        self,
        weights: Float[Tensor, "batch heads q_len k_len"],
        q_pos: QueryPositions,
        k_pos: KeyPositions,
    ) -> Float[Tensor, "batch heads q_len d_head"] | None:
        """Return Σ_j α_ij a^V_c in the dtype of ``weights``, or None without ``use_values``.

        Raises:
            TypeError, ValueError: if the weights do not fit the positions, or a position is not
                a whole number.
        """
        shape = f"(batch, {self.n_heads}, q_len, k_len)"
        validation.floating("weights", weights, shape, ndim=4)
        if weights.shape[1] != self.n_heads:
            raise ValueError(f"weights must have shape {shape}, got {tuple(weights.shape)}")
        validation.positions("q_pos", q_pos, weights.shape[2], whole=True)
        validation.positions("k_pos", k_pos, weights.shape[3], whole=True)
        if not self.use_values:
            return None
        # A sum of many small weights needs more digits than bfloat16 has.
        exact = weights.to(torch.promote_types(weights.dtype, torch.float32))
        table = self.value_table.to(exact.dtype)
        return shaw_values(exact, table, _offsets(q_pos, k_pos, weights.device)).to(weights.dtype)

    @property
    def doors(self) -> tuple[str, ...]:
        """Door 3, and door 4 unless ``use_values`` is False."""
        return ("bias", "values") if self.use_values else ("bias",)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        own = f"max_distance={self.max_distance}, use_values={self.use_values}"
        return f"{super().extra_repr()}, {own}"


class TransformerXL(PositionalEncoding):
    """Compares each query with the sinusoidal encoding of i − j, and with two learned vectors.

    The score is [(q_i + u) · k_j + (q_i + v) · W_r R(i − j)]/√d; what goes beyond q_i · k_j is
    the bias. R has its sines in the even columns and cosines in the odd ones, as everywhere in
    this course. The authors' released code and XLNet put all sines first (the paper does not
    say), so their W_r has its columns in another order: column m of theirs is column 2m of
    ours, D/2 + m of theirs 2m + 1 of ours.

    Args:
        d_model: width of the embeddings, an even number.
        n_heads: number of attention heads; must divide ``d_model``.

    Raises:
        TypeError, ValueError: if ``d_model`` is not even or ``n_heads`` does not divide it.

    Source: Dai et al. 2019, arXiv 1901.02860, section 3.3.
    """

    shared = False

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        validation.even("d_model", d_model)
        self.u = _normal(n_heads, self.d_head)
        self.v = _normal(n_heads, self.d_head)
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        self._tables = Memo()

    def bias(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> Float[Tensor, "batch heads q_len k_len"]:
        """Return [u · k_j + (q_i + v) · W_r R(i − j)]/√d, in float32 at least.

        Positions may be fractions.

        Raises:
            TypeError, ValueError: if q, k and their positions do not fit.
        """
        self._check_heads(q, k, q_pos, k_pos)
        dtype = torch.promote_types(q.dtype, torch.float32)
        q, k, u, v = (one.to(dtype) for one in (q, k, self.u, self.v))
        q_pos, k_pos = q_pos.to(q.device), k_pos.to(q.device)
        scale = self.scale(self.d_head)
        W = self.W_r.weight.to(dtype).unflatten(0, (self.n_heads, self.d_head))  # (h, d_head, D)
        asked = scale * (q + v[:, None])  # (batch, h, q_len, d_head)
        # Consecutive positions share their offsets: each is projected once. A single query
        # shares nothing, and projecting an R for every key would cost more than the scores.
        if len(q_pos) > 1 and counts_up(q_pos) and counts_up(k_pos):
            projected = self._encoded(q_pos, k_pos, dtype) @ W.mT  # (h, diagonals, d_head)
            by_position = skew(asked @ projected.mT)
        else:
            by_position = sinusoidal_scores(asked @ W, q_pos, k_pos)
        return by_position + (scale * u[:, None]) @ k.mT

    def _encoded(self, q_pos: Tensor, k_pos: Tensor, dtype: torch.dtype) -> Tensor:
        """R(i − j) for each diagonal of the scores, from lower left: (q_len + k_len − 1, D)."""
        last, count = int(q_pos[-1]) - int(k_pos[0]), len(q_pos) + len(k_pos) - 1

        def table() -> Tensor:
            row = torch.arange(last, last - count, -1, device=q_pos.device)
            row = row.double() if dtype == torch.float64 else row
            return sinusoidal_table(row, self.d_model).to(dtype)

        return self._tables(table, (), (last, count, q_pos.device, dtype))


class T5(PositionalEncoding):
    """Adds one learned number for each head and bucket of offsets; near offsets have their own.

    The score is q_i · k_j + table[bucket(j − i), head] without 1/√d, which T5 folds into the
    initialisation of its projections (MultiHeadAttention here does not, so its scores start √d
    times as large as other schemes'). All layers share one table.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        n_buckets: see :func:`~course_utils.encodings.functional.t5_bucket`.
        max_distance: from here on all distances share a bucket, in positions.
        causal: True spends all buckets on keys behind the query; False half of them.

    Raises:
        TypeError, ValueError: if an argument has the wrong type, or the buckets do not work out.

    Source: Raffel et al. 2019, arXiv 1910.10683, section 2.1.
    """

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
        t5_bucket_counts(n_buckets, max_distance, not causal)  # refuse now, not at the first use
        self.n_buckets, self.max_distance = int(n_buckets), int(max_distance)
        # As wide as T5's own: the other scores are not divided by √d either.
        self.table = _normal(self.n_buckets, self.n_heads, std=self.d_model**-0.5)

    def bias(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> Float[Tensor, "1 heads q_len k_len"]:
        """Return table[bucket(j − i), head], in the dtype of the table.

        Raises:
            TypeError, ValueError: if q, k and their positions do not fit, or a position is not
                a whole number.
        """
        self._check_heads(q, k, q_pos, k_pos, whole=True)

        def numbers(offsets: Tensor) -> Tensor:  # (…) → (heads, …)
            bucket = t5_bucket(offsets, self.n_buckets, self.max_distance, not self.causal)
            return nn.functional.embedding(bucket, self.table).movedim(-1, 0)

        return by_offset(numbers, *_whole(q_pos, k_pos, q.device))[None]

    def scale(self, d_head: int) -> float:
        """1: T5 does not divide by √d_head."""
        return 1.0

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        own = f"n_buckets={self.n_buckets}, max_distance={self.max_distance}, causal={self.causal}"
        return f"{super().extra_repr()}, {own}"


class DeBERTa(PositionalEncoding):
    """Disentangled attention: content asks for positions, and positions ask for content.

    The score is (q_i · k_j + q_i · Kr_δ(i,j) + k_j · Qr_δ(j,i))/√(3d), where Kr and Qr are two
    projections of one table of 2k vectors.

    The paper shares the table across all layers. Here each layer has its own, so that an encoding
    stands alone.

    The authors' released code, and versions 1 and 2 in transformers, read Qr at δ(i, j) in the
    last term (microsoft/DeBERTa, issue 162): they multiply all keys with all rows, pick for key j
    and query i the row clip(i − j + k), and transpose. ``released_code=True`` does the same.
    Besides, that code counts the terms switched on for the factor (1 + 2 = 3 here). Version 1
    shortens the table to the sequence, which changes no score, and gives the projection for Qr
    alone a bias. Version 2 can share projections with the content and widen far offsets into
    buckets. None of these is in the paper or here.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        max_distance: k, from which distance on offsets share a vector, in positions; 512 in
            the paper.
        released_code: True for δ(i, j) in the last term.

    Raises:
        TypeError, ValueError: if an argument has the wrong type or is below 1.

    Source: He et al. 2020, arXiv 2006.03654, equations 3 and 4.
    """

    shared = False

    def __init__(
        self, d_model: int, n_heads: int, max_distance: int = 64, released_code: bool = False
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_distance = validation.integer("max_distance", max_distance)
        self.released_code = validation.boolean("released_code", released_code)
        self.table = _normal(2 * self.max_distance, self.d_model)
        self.W_kr = nn.Linear(d_model, d_model, bias=False)
        self.W_qr = nn.Linear(d_model, d_model, bias=False)

    def bias(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> Float[Tensor, "batch heads q_len k_len"]:
        """Return (q_i · Kr_δ(i,j) + k_j · Qr_δ(j,i))/√(3d), in the dtype of ``q``.

        Raises:
            TypeError, ValueError: if q, k and their positions do not fit, or a position is not
                a whole number.
        """
        self._check_heads(q, k, q_pos, k_pos, whole=True)
        heads = (self.n_heads, self.d_head)
        position_keys, position_queries = (
            (self.scale(self.d_head) * W(self.table)).unflatten(-1, heads).transpose(0, 1)
            for W in (self.W_kr, self.W_qr)
        )  # (heads, 2k, d_head) each
        offsets = _offsets(q_pos, k_pos, q.device)
        return deberta_scores(
            q,
            k,
            position_keys.to(q.dtype),
            position_queries.to(q.dtype),
            offsets,
            self.released_code,
        )

    def scale(self, d_head: int) -> float:
        """1/√(3d_head): three terms of the same size are added."""
        return (3 * d_head) ** -0.5

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        own = f"max_distance={self.max_distance}, released_code={self.released_code}"
        return f"{super().extra_repr()}, {own}"


def _normal(rows: int, columns: int, std: float = 0.02) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, columns) * std)


def _whole(q_pos: Tensor, k_pos: Tensor, device: torch.device) -> tuple[Tensor, Tensor]:
    return q_pos.to(device).long(), k_pos.to(device).long()


def _offsets(q_pos: Tensor, k_pos: Tensor, device: torch.device) -> Int[Tensor, "q_len k_len"]:
    return offset_matrix(*_whole(q_pos, k_pos, device))
