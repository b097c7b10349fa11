"""Four ways to join a word's vector with its place's, whose first steps are equally large.

For lesson 09's second closer look; not published schemes, so ``course_utils`` has none of them.
"""

from typing import Any

import torch
from torch import nn

from course_utils import validation
from course_utils.encodings.base import Embeddings, PositionalEncoding, Tokens
from course_utils.encodings.positions import Positions

OPERATIONS = ("sum", "product", "projected sum", "bilinear")


class Joined(PositionalEncoding):
    """Joins x with the row p of a learned table at door 1.

    A ``"sum"`` is x + p. A ``"product"`` is x + x ⊙ p. The other two have three square matrices
    more: ``"bilinear"`` is x + C(Ax ⊙ Bp), and its control, the ``"projected sum"``, is
    x + C(Ax + Bp). Matrices start with standard deviation 1/√d_model, the control's A at zero. So
    where entries of x are of size 1, each of the four changes them by about ``std`` at first.

    Args:
        max_len: rows of the table, for positions 0 to max_len − 1.
        operation: one of ``OPERATIONS``.
        std: standard deviation of a fresh table.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        max_len: int = 512,
        operation: str = "sum",
        std: float = 1.0,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.max_len = validation.integer("max_len", max_len)
        self.operation = validation.choice("operation", operation, OPERATIONS)
        self.std = validation.positive("std", std)
        self.table = nn.Parameter(self.std * torch.randn(self.max_len, self.d_model))
        if self.operation in ("projected sum", "bilinear"):
            self.A, self.B, self.C = (self._matrix() for _ in range(3))
        if self.operation == "projected sum":
            nn.init.zeros_(self.A.weight)

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """A row for each position that is trained."""
        return {"max_len": length}

    def _matrix(self) -> nn.Linear:
        matrix = nn.Linear(self.d_model, self.d_model, bias=False)
        nn.init.normal_(matrix.weight, std=self.d_model**-0.5)
        return matrix

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x joined with table[positions]."""
        self._check_embeddings(x, positions)
        p = self.table[positions.to(x.device)]
        if self.operation == "sum":
            return x + p
        if self.operation == "product":
            return x + x * p
        if self.operation == "projected sum":
            return x + self.C(self.A(x) + self.B(p))
        return x + self.C(self.A(x) * self.B(p))
