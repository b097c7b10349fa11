"""Encodings that give each position a vector of its own and let it in through door 1.

Relative, rotary and additive schemes do not live here.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import PositionalEncoding, Positions
from course_utils.encodings.functional.grid import quarters, sinusoidal_grid
from course_utils.encodings.functional.precision import angle_dtype
from course_utils.encodings.functional.sinusoidal import sinusoidal_table
from course_utils.encodings.memo import Memo

BEYOND = ("error", "clamp", "interpolate")


class NoEncoding(PositionalEncoding):
    """No position at all (NoPE): every door stays shut.

    With a causal mask the model can still tell positions apart; lesson 01 shows how.

    Source: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.
    """


class Sinusoidal(PositionalEncoding):
    """Adds sin and cos of the position, at geometrically falling frequencies, to the embeddings.

    It has no parameters and no table, so no longest length.

    Args:
        d_model: width of the embeddings, an even number.
        n_heads: number of attention heads; must divide ``d_model``.
        base: see :func:`~course_utils.encodings.functional.sinusoidal_frequencies`.

    Raises:
        TypeError, ValueError: if ``d_model`` is not even, ``n_heads`` does not divide it, or
            ``base`` is not a number above 0.

    Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
    """

    whole = False  # whether positions must be whole numbers

    def __init__(self, d_model: int, n_heads: int, base: float = 10000.0) -> None:
        super().__init__(d_model, n_heads)
        validation.even("d_model", d_model)
        self.base = validation.positive("base", base)
        self._tables = Memo()

    def embed(
        self,
        x: Float[Tensor, "batch seq d_model"],
        positions: Positions,
        tokens: Int[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return x + PE(positions), in the dtype of ``x``.

        Raises:
            TypeError, ValueError: if ``x`` is not ``d_model`` wide or ``positions`` do not fit it.
        """
        self._check_embeddings(x, positions, whole=self.whole)

        def table() -> Tensor:  # (seq, d_model)
            row = positions.to(x.device)
            row = row.double() if x.dtype == torch.float64 else row  # a float64 row gives float64
            return self._table(row).to(x.dtype)

        return x + self._tables(table, (positions,), (x.device, x.dtype, *self._settings()))

    def _settings(self) -> tuple[float, ...]:
        """What the table depends on beside the positions."""
        return (self.base,)

    def _table(self, row: Tensor) -> Tensor:
        """Encodings of positions: (seq,) → (seq, d_model)."""
        return sinusoidal_table(row, self.d_model, self.base)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, base={self.base:g}"


class Sinusoidal2D(Sinusoidal):
    """Adds sin and cos of a patch's row, then of its column, to the embeddings.

    Positions number the patches of an image row by row: position p is row p // width, column
    p mod width. Half of the channels belong to each axis.

    Args:
        d_model: width of the embeddings, divisible by 4.
        n_heads: number of attention heads; must divide ``d_model``.
        width: patches in a row of the image.
        base: see :func:`~course_utils.encodings.functional.grid.sinusoidal_grid`.

    Raises:
        TypeError, ValueError: if ``d_model`` is not divisible by 4, ``n_heads`` does not divide
            it, ``width`` is not a whole number of at least 1 or ``base`` not a number above 0.

    Source: He et al. 2022 (MAE), arXiv 2111.06377; see
        :func:`~course_utils.encodings.functional.grid.sinusoidal_grid` for the order of channels.
    """

    whole = True

    def __init__(self, d_model: int, n_heads: int, width: int, base: float = 10000.0) -> None:
        super().__init__(quarters("d_model", d_model), n_heads, base)
        self.width = validation.integer("width", width)

    def _settings(self) -> tuple[float, ...]:
        return (self.base, self.width)

    def _table(self, row: Tensor) -> Tensor:
        columns = row % self.width
        return sinusoidal_grid((row - columns) / self.width, columns, self.d_model, self.base)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, width={self.width}"


class _Table(PositionalEncoding):
    """A learned table with one row a position, and what to read beyond its end."""

    MEAN = 0.0  # of a fresh table

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

    def rows(self, positions: Positions) -> Float[Tensor, "seq d_model"]:
        """The table's rows at these positions, (seq,) → (seq, d_model), as ``beyond`` says.

        Raises:
            TypeError, ValueError: if ``positions`` is not one row of finite numbers, or one of
                them is negative, past the end or fractional where ``beyond`` does not allow it.
        """
        row = validation.positions(
            "positions",
            positions,
            whole=self.beyond != "interpolate",
            past=self.max_len if self.beyond == "error" else None,
        ).to(self.table.device)
        if not torch.compiler.is_compiling() and bool((row < 0).any()):
            place = int((row < 0).nonzero()[0])
            raise ValueError(
                f"positions must be 0 or more, the table's first row, got {row[place].item()} "
                f"at place {place}"
            )
        if self.beyond == "interpolate":
            return self._between_rows(row)
        row = row.long()
        return self.table[row.clamp(max=self.max_len - 1) if self.beyond == "clamp" else row]

    def _between_rows(self, row: Tensor) -> Tensor:
        last = self.max_len - 1
        place = row.to(angle_dtype(row.device))
        # Multiplied before it is divided, so that 2·max_len − 1 positions hit rows exactly.
        place = place * last / place.max().clamp(min=max(last, 1))
        below = place.long()
        above = (below + 1).clamp(max=last)
        working = torch.promote_types(self.table.dtype, torch.float32)
        share = (place - below).to(working)[:, None]  # (seq, 1)
        return torch.lerp(self.table[below].to(working), self.table[above].to(working), share)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        own = f"max_len={self.max_len}, beyond={self.beyond!r}, std={self.std}"
        return f"{super().extra_repr()}, {own}"


class Learned(_Table):
    """Adds a learned vector for each position to the embeddings.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
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

    Attributes:
        table: (max_len, d_model), normal with standard deviation ``std`` at first.

    Raises:
        TypeError, ValueError: if ``n_heads`` does not divide ``d_model``, ``max_len`` is not a
            whole number of at least 1, ``beyond`` is unknown or ``std`` is not above 0.

    Source: Devlin et al. 2019 (BERT), arXiv 1810.04805; Radford et al. 2019 (GPT-2).
        Interpolation: Dosovitskiy et al. 2021 (ViT), arXiv 2010.11929, section 3.2, in two
        dimensions.
    """

    def embed(
        self,
        x: Float[Tensor, "batch seq d_model"],
        positions: Positions,
        tokens: Int[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return x + table[positions], in the dtype of ``x``.

        Raises:
            TypeError, ValueError: if ``x`` is not ``d_model`` wide, or ``positions`` do not fit
                it or the table.
        """
        self._check_embeddings(x, positions)
        return x + self.rows(positions).to(x.dtype)


class Multiplicative(_Table):
    """Multiplies the embeddings, entry by entry, by a learned vector for each position.

    An experiment rather than a published scheme: what :class:`Learned` adds, this one
    multiplies. A token whose embedding is zero cannot learn where it stands.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        max_len: as for :class:`Learned`.
        beyond: as for :class:`Learned`.
        std: standard deviation of a fresh table around 1. A small one leaves embeddings nearly
            as they are.

    Attributes:
        table: (max_len, d_model), normal around 1 with standard deviation ``std`` at first.

    Raises:
        TypeError, ValueError: as :class:`Learned`.

    Source: none; a variant of learned absolute positions.
    """

    MEAN = 1.0

    def embed(
        self,
        x: Float[Tensor, "batch seq d_model"],
        positions: Positions,
        tokens: Int[Tensor, "batch seq"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """Return x ⊙ table[positions], in the dtype of ``x``.

        Raises:
            TypeError, ValueError: if ``x`` is not ``d_model`` wide, or ``positions`` do not fit
                it or the table.
        """
        self._check_embeddings(x, positions)
        return x * self.rows(positions).to(x.dtype)
