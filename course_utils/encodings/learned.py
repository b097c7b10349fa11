"""Learned absolute positions: x + table[position].

Source: Devlin et al. 2019 (BERT), arXiv 1810.04805; Radford et al. 2019 (GPT-2). Interpolation:
Dosovitskiy et al. 2021 (ViT), arXiv 2010.11929, section 3.2, in two dimensions. Decomposition:
Su 2020, kexue.fm/archives/7947.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Embeddings, Look, PositionalEncoding, Tokens
from course_utils.encodings.positions import Positions, angle_dtype

BEYOND = ("error", "clamp", "interpolate")


def decomposed_table(
    table: Float[Tensor, "n d"], count: int, alpha: float = 0.4
) -> Float[Tensor, "count d"]:
    """The table continued to ``count`` rows, of which the first n are its own (Su 2020).

    Position i n + j gets α u(i) + (1 − α) u(j), where u(j) = (table[j] − α table[0]) / (1 − α).

    Raises:
        ValueError: if ``count`` is above n², where two digits end, or ``alpha`` is not above 0 and
            below 1.
    """
    n = len(table)
    validation.integer("count", count)
    if count > n * n:
        raise ValueError(f"count must be at most {n * n}, the square of the rows, got {count}")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be above 0 and below 1, got {alpha}")
    u = (table - alpha * table[:1]) / (1 - alpha)
    positions = torch.arange(count, device=table.device)
    return alpha * u[positions // n] + (1 - alpha) * u[positions % n]


class Table(PositionalEncoding):
    """A learned vector for each position, and what to read past the last.

    ``table`` is (max_len, d_model), normal with standard deviation ``std`` at first.

    Args:
        max_len: rows of the table, for positions 0 to max_len − 1.
        beyond: what a position past the last row does. ``"error"`` refuses it. ``"clamp"`` reads
            the last row. ``"interpolate"`` squeezes the whole row of positions by
            (max_len − 1) / largest, so that the largest falls on the last row, and reads
            linearly between rows, as ViTs do for larger images; the same position then reads
            something else in a longer sequence, so it does not go with a KV cache. Where all
            positions lie inside the table nothing is squeezed, and fractions are read too.
            Negative positions are refused always, fractions by the first two.
        std: standard deviation of a fresh table. 0.02 as in BERT, whose fresh word vectors have
            the same (OpenAI's GPT-2 has 0.01 for positions, 0.02 for words); where words are
            larger, rows of 0.02 are long in coming.
    """

    MEAN = 0.0  # of a fresh table

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """One row a position, the last row beyond."""
        return {"beyond": "clamp"}

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        max_len: int = 512,
        beyond: str = "error",
        std: float = 0.02,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_len = validation.integer("max_len", max_len)
        self.beyond = validation.choice("beyond", beyond, BEYOND)
        self.std = validation.positive("std", std)
        self.table = nn.Parameter(torch.empty(self.max_len, self.d_model))
        nn.init.normal_(self.table, self.MEAN, self.std)

    def rows(self, positions: Positions) -> Float[Tensor, "*batch seq d_model"]:
        """The table's rows at these positions, as ``beyond`` says."""
        interpolate = self.beyond == "interpolate"
        past = self.max_len if self.beyond == "error" else None
        row = validation.positions(
            "positions", positions, whole=not interpolate, past=past, batches=True
        )
        validation.from_zero("positions", row, "the table's first row")
        row, last = row.to(self.table.device), self.max_len - 1
        if interpolate:
            row = row.to(angle_dtype(row.device))
            # Multiplied before it is divided, so that 2·max_len − 1 positions hit rows exactly.
            row = row * last / row.amax(-1, keepdim=True).clamp(min=max(last, 1))
        below = (row.floor() if interpolate else row).long()
        if self.beyond == "clamp":
            below = below.clamp(max=last)
        below = validation.inside(below, self.max_len, f"positions must be from 0 to {last}")
        if not interpolate:
            return self.table[below]
        above = (below + 1).clamp(max=last)
        working = torch.promote_types(self.table.dtype, torch.float32)
        share = (row - below).to(working)[..., None]  # (seq, 1)
        return torch.lerp(self.table[below].to(working), self.table[above].to(working), share)


class Learned(Table):
    """Adds each position's vector to its embedding, at door 1. Arguments as for :class:`Table`."""

    look = Look("#7c7dff", "s", (0, (2, 1.2)))
    examples = ({"beyond": "clamp", "std": 1.0},)
    adjustable = {"beyond": "clamp"}

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """Rows start about as long as words, as in BERT: from 0.02 they grow too slowly."""
        return {**super().fair_options(length), "std": 1.0}

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x + table[positions], in the dtype of ``x``."""
        self._check_embeddings(x, positions)
        return x + self.rows(positions).to(x.dtype)
