"""From numbers by offset to a matrix over queries and keys, without computing one number twice."""

from typing import Any

import torch
from jaxtyping import Num
from torch import Tensor

from course_utils import validation


def offset_matrix(
    q_pos: Num[Tensor, " q_len"], k_pos: Num[Tensor, " k_len"]
) -> Num[Tensor, "q_len k_len"]:
    """Offsets j − i, key position minus query position."""
    return k_pos[None, :] - q_pos[:, None]


def toeplitz(
    row: Num[Tensor, "*lead diagonals"], q_len: int, k_len: int
) -> Num[Tensor, "*lead q_len k_len"]:
    """The matrix whose diagonals are the entries of ``row``, from lower left to upper right.

    Entry (i, j) is row[j − i + q_len − 1], so ``row`` has q_len + k_len − 1 entries.
    """
    count = validation.integer("q_len", q_len) + validation.integer("k_len", k_len) - 1
    # No count in the shape's name: as a string it would fix a compiled length.
    if validation.tensor("row", row, "(…, q_len + k_len - 1)").shape[-1] != count:
        raise ValueError(
            f"row must have q_len + k_len - 1 = {count} entries, got {tuple(row.shape)}"
        )
    return skew(row.unsqueeze(-2).expand(*row.shape[:-1], q_len, count))


def skew(rows: Num[Tensor, "*lead q_len diagonals"]) -> Num[Tensor, "*lead q_len k_len"]:
    """From columns that count offsets to columns that count keys, without copying.

    Row i of ``rows`` has an entry for every offset that occurs anywhere in the matrix, the
    lowest first; row i of the result has those of the k_len keys. Laid out as one long line,
    each row starts one entry earlier than the row before, so cutting the line into pieces that
    are one shorter lines the keys up: entry (i, j) is rows[i, j − i + q_len − 1].
    The result is a view of ``rows`` where those are contiguous.

    Source: Huang et al. 2018, arXiv 1809.04281, "skewing"; here for keys on both sides.
    """
    shape = "(…, q_len, q_len + k_len - 1)"
    if validation.tensor("rows", rows, shape).ndim < 2 or rows.shape[-1] < rows.shape[-2]:
        raise ValueError(f"rows must have shape {shape} with k_len ≥ 1, got {tuple(rows.shape)}")
    q_len, width = rows.shape[-2:]
    if q_len == 1:
        return rows
    if torch.compiler.is_compiling():  # slices would ask whether there are more than two rows
        firsts = torch.arange(q_len - 1, -1, -1, device=rows.device)[:, None]  # (q_len, 1)
        columns = firsts + torch.arange(width - q_len + 1, device=rows.device)  # (q_len, k_len)
        return rows.gather(-1, columns.expand(*rows.shape[:-2], -1, -1))
    line = rows.flatten(-2)[..., q_len - 1 : q_len * width - 1]  # (… q_len·(width − 1))
    return line.unflatten(-1, (q_len, width - 1))[..., : width - q_len + 1]


def whole_offsets(offsets: Any) -> Tensor:
    """Return ``offsets`` as int64, or raise unless they are a tensor of integers."""
    checked = validation.tensor("offsets", offsets, "of integers, j - i")
    if checked.is_floating_point() or checked.is_complex() or checked.dtype == torch.bool:
        raise TypeError(f"offsets must hold integers, got {checked.dtype}")
    return checked.long()


def per_head(name: str, row: Any, distances: Tensor) -> Tensor:
    """A number a head, (heads,), shaped to multiply distances of any shape: (heads, 1, …).

    In the dtype of ``distances``, or its own if that is wider.
    """
    heads = validation.floating(name, row, "(heads,)", ndim=1)
    dtype = torch.promote_types(heads.dtype, distances.dtype)
    return heads.to(dtype).view(-1, *[1] * distances.ndim)
