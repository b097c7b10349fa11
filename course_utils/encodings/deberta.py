"""DeBERTa: content asks for positions, and positions ask for content.

    e_ij = (q_i · k_j + q_i · Kr_δ(i,j) + k_j · Qr_δ(j,i))/√(3d)

Kr and Qr are two projections of one table of 2k vectors; δ is :func:`deberta_index`.

Source: He et al. 2020, arXiv 2006.03654, equations 3 and 4.
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Bias, Keys, Look, PositionalEncoding, Queries, for_each_head
from course_utils.encodings.offsets import whole_offsets
from course_utils.encodings.positions import Places


def deberta_index(offsets: Int[Tensor, "*shape"], max_distance: int) -> Int[Tensor, "*shape"]:
    """δ(i, j): which of 2k rows belongs to query i and key j, from 0 to 2k − 1, int64.

    δ(i, j) = 0 where i − j ≤ −k, 2k − 1 where i − j ≥ k, else i − j + k. So distance k, and all
    beyond it, share a row with k − 1 when the key is earlier, and with nothing nearer when it is
    later. Note i − j, the opposite of an offset; ``deberta_index(-offsets, k)`` is δ(j, i).
    """
    k = validation.integer("max_distance", max_distance)
    return (k - whole_offsets(offsets)).clamp(0, 2 * k - 1)


def deberta_scores(
    q: Queries,
    k: Keys,
    position_keys: Float[Tensor, "heads rows d_head"],
    position_queries: Float[Tensor, "heads rows d_head"],
    offsets: Int[Tensor, "*some q_len k_len"],
    released_code: bool = False,
) -> Float[Tensor, "batch heads q_len k_len"]:
    """The content-to-position and position-to-content terms, unscaled.

    Args:
        position_keys, position_queries: Kr and Qr, a row for each of 2·max_distance values of δ.
        offsets: j − i.
        released_code: True reads Qr at δ(i, j), as the authors' released code does.
    """
    max_distance = position_keys.shape[-2] // 2
    here = deberta_index(offsets, max_distance)  # δ(i, j), (q_len, k_len)
    there = here if released_code else deberta_index(-offsets, max_distance)  # δ(j, i)
    shape = (*q.shape[:2], *offsets.shape[-2:])
    # One product for each row of the table, not one for each pair: O(n · rows) numbers.
    content_to_position = (q @ position_keys.mT).gather(-1, here.expand(shape))
    position_to_content = (position_queries @ k.mT).gather(-2, there.expand(shape))
    return content_to_position + position_to_content


class DeBERTa(PositionalEncoding):
    """DeBERTa's disentangled attention at door 3.

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
        max_distance: k, in positions, from where on offsets share a vector; 512 in the paper.
        released_code: True for δ(i, j) in the last term.
    """

    look = Look("#033638", "*", (0, (2, 1.2)))
    examples = ({"released_code": True},)
    adjustable = {"released_code": True}
    shared = False
    offsets_only = True
    whole = True

    def __init__(
        self, d_model: int, n_heads: int, max_distance: int = 64, released_code: bool = False
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_distance = validation.integer("max_distance", max_distance)
        self.released_code = validation.boolean("released_code", released_code)
        self.table = nn.Parameter(torch.randn(2 * self.max_distance, self.d_model) * 0.02)
        self.W_kr = nn.Linear(d_model, d_model, bias=False)
        self.W_qr = nn.Linear(d_model, d_model, bias=False)

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """The last offset of its own is half the length, so that all beyond are met often."""
        return {"max_distance": length // 2}

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return (q_i · Kr_δ(i,j) + k_j · Qr_δ(j,i))/√(3d), in the dtype of ``q``."""
        at = self._check(q, k, at)
        heads = (self.n_heads, self.d_head)
        table = self.scale(self.d_head) * self.table
        # Each (heads, 2k, d_head):
        Kr = self.W_kr(table).unflatten(-1, heads).transpose(0, 1).to(q.dtype)
        Qr = self.W_qr(table).unflatten(-1, heads).transpose(0, 1).to(q.dtype)
        k = for_each_head(k, self.n_heads)
        return deberta_scores(q, k, Kr, Qr, at.offsets, self.released_code)

    def scale(self, d_head: int) -> float:
        """1/√(3d_head): three terms of the same size are added."""
        return (3 * d_head) ** -0.5
