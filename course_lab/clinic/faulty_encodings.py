"""Encodings with a known fault each, for tests that learn to find it. Never use them in a model.

Every fault is one that people have made. Each faulty encoding knows the one that was meant. Beside
them are two that look unusual and are right.
"""

from abc import abstractmethod
from typing import Any, cast

import torch
from torch import Tensor

from course_utils import validation
from course_utils.encodings import Multiplicative, create
from course_utils.encodings.base import (
    BiasByOffset,
    Embeddings,
    Keys,
    Offsets,
    PositionalEncoding,
    Queries,
    Tokens,
    bias_dtype,
)
from course_utils.encodings.functional import (
    alibi_slopes,
    apply_rope,
    rope_angles,
    rope_frequencies,
    sinusoidal_table,
)
from course_utils.encodings.positions import Places, Positions

POSITIONS = 8192  # that a faulty encoding's layer may be asked about


class Faulty(PositionalEncoding):
    """An encoding with a fault."""

    @abstractmethod
    def meant(self) -> PositionalEncoding:
        """The library's encoding without the fault, with the same options."""

    def _library(self, name: str, **options: Any) -> PositionalEncoding:
        return create(name, d_model=self.d_model, n_heads=self.n_heads, **options)


class RowsByText(Faulty):
    """Sinusoids read along the wrong axis: text number n of a batch gets row n at every position.

    This is the result of ``table[: x.size(0)]`` where the first axis is the batch. ``how`` is "add"
    or "multiply".
    """

    def __init__(self, d_model: int, n_heads: int, how: str = "add", base: float = 1e4) -> None:
        super().__init__(d_model, n_heads)
        self.how, self.base = validation.choice("how", how, ("add", "multiply")), base

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x with the row of its text's number, (batch, 1, d_model), at each of its words."""
        numbers = torch.arange(len(x), device=x.device)
        rows = sinusoidal_table(numbers, self.d_model, self.base).to(x.dtype)[:, None]
        return x + rows if self.how == "add" else x * (1 + rows)

    def meant(self) -> PositionalEncoding:
        """Sinusoids, added; or the vectors of a table that multiply, 1 + sinusoids."""
        if self.how == "add":
            return self._library("sinusoidal", base=self.base)
        factors = cast(Multiplicative, self._library("multiplicative", max_len=POSITIONS))
        rows = sinusoidal_table(torch.arange(POSITIONS), self.d_model, self.base)
        factors.table = torch.nn.Parameter(1 + rows, requires_grad=False)
        return factors


class RowsFromZero(Faulty):
    """Positions counted from 0 in each call, so that what follows a cache starts at 0 again.

    ``door`` is "rotate" for RoPE, or "embed" for sinusoids. Without a cache nothing is wrong.
    """

    static_keys = True

    def __init__(self, d_model: int, n_heads: int, door: str = "rotate", base: float = 1e4) -> None:
        super().__init__(d_model, n_heads)
        self.door, self.base = validation.choice("door", door, ("rotate", "embed")), base

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x + PE(0 … seq − 1), whatever the positions are."""
        if self.door != "embed":
            return x
        counted = torch.arange(x.shape[1], device=x.device)
        return x + sinusoidal_table(counted, self.d_model, self.base).to(x.dtype)

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return both turned by 0 … seq − 1, whatever the positions are."""
        if self.door != "rotate":
            return q, k
        counted = torch.arange(at.q_len, device=q.device)
        angles = rope_angles(counted, rope_frequencies(self.d_head, self.base))
        return apply_rope(q, angles), apply_rope(k, angles)

    def meant(self) -> PositionalEncoding:
        """RoPE, or sinusoids."""
        return self._library("rope" if self.door == "rotate" else "sinusoidal", base=self.base)


class DistancePays(Faulty):
    """ALiBi's price with the wrong sign, so that distant keys are rewarded.

    ``where`` is "everywhere"; "one head", in the second head only; "last head"; or "later", only
    for keys after the query, as in −m·(i − j).
    """

    def __init__(self, d_model: int, n_heads: int, where: str = "everywhere") -> None:
        super().__init__(d_model, n_heads)
        valid = ("everywhere", "one head", "last head", "later")
        self.where = validation.choice("where", where, valid)

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return +m · |j − i| where the sign is wrong, −m · |j − i| elsewhere."""
        dtype = bias_dtype(q)
        slopes = alibi_slopes(self.n_heads, dtype=dtype, device=q.device)[:, None, None]
        if self.where == "later":
            return slopes * at.offsets.to(dtype)
        sign = torch.ones_like(slopes)
        if self.where != "everywhere":
            sign = -sign
            sign[1 if self.where == "one head" else -1] = 1
        return sign * slopes * at.offsets.abs().to(dtype)

    def meant(self) -> PositionalEncoding:
        """ALiBi."""
        return self._library("alibi")


class PriceStopsRising(Faulty):
    """A price that is right for the first steps and does not rise with every step after them.

    ``how`` is "flat", where it stays what it is after one step; "turning", where it falls again
    after four; or "absent", where nothing has a price.
    """

    offsets_only = True

    def __init__(self, d_model: int, n_heads: int, how: str = "flat") -> None:
        super().__init__(d_model, n_heads)
        self.how = validation.choice("how", how, ("flat", "turning", "absent"))

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset:
        """Return −m · the distance that is paid for."""
        distances = offsets.abs().double()
        paid = {
            "flat": distances.clamp(max=1),
            "turning": 4 - (distances - 4).abs(),
            "absent": 0 * distances,
        }
        slopes = alibi_slopes(self.n_heads, dtype=torch.float64, device=offsets.device)
        return -slopes[:, None] * paid[self.how]

    def meant(self) -> PositionalEncoding:
        """ALiBi."""
        return self._library("alibi")


class TwoLayouts(Faulty):
    """RoPE whose queries turn in pairs of neighbours, and whose keys in pairs across two halves."""

    static_keys = True

    def __init__(
        self, d_model: int, n_heads: int, base: float = 1e4, queries: str = "interleaved"
    ) -> None:
        super().__init__(d_model, n_heads)
        self.base, self.queries = base, queries
        self.keys = "half" if queries == "interleaved" else "interleaved"

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return both turned by the right angles, in two layouts."""
        speeds = rope_frequencies(self.d_head, self.base)
        turned_q = apply_rope(q, rope_angles(at.q, speeds), self.queries)
        return turned_q, apply_rope(k, rope_angles(at.k, speeds), self.keys)

    def meant(self) -> PositionalEncoding:
        """RoPE in the layout of the queries."""
        return self._library("rope", base=self.base, layout=self.queries)


class RoundedAngles(Faulty):
    """RoPE whose angles are computed in half precision: in all heads, or in the last ones only."""

    static_keys = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        rounding: torch.dtype = torch.bfloat16,
        base: float = 1e4,
        layout: str = "interleaved",
        faulty_heads: int | None = None,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.rounding, self.base, self.layout = rounding, base, layout
        self.faulty_heads = n_heads if faulty_heads is None else faulty_heads

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return both turned by p · θ, rounded in the faulty heads."""
        speeds = rope_frequencies(self.d_head, self.base, device=q.device)

        def turn(x: Tensor, positions: Tensor) -> Tensor:
            rounded = positions.to(self.rounding)[..., None] * speeds.to(self.rounding)
            turned = apply_rope(x, rope_angles(positions, speeds), self.layout)
            is_healthy = (
                torch.arange(self.n_heads, device=x.device) < self.n_heads - self.faulty_heads
            )
            faulty = apply_rope(x, rounded.double(), self.layout)
            return torch.where(is_healthy[:, None, None], turned, faulty)

        return turn(q, at.q), turn(k, at.k)

    def meant(self) -> PositionalEncoding:
        """RoPE."""
        return self._library("rope", base=self.base, layout=self.layout)


class Shortcut(Faulty):
    """ALiBi as m · j, one row for all queries: with a causal mask, softmax makes no difference.

    ``rounding`` is the dtype of the product. In half precision distant keys tie; float64 is right
    at every length that a model reads. With ``faulty_heads`` the last heads only are rounded, or,
    where it is negative, the first ones. ``steeper`` multiplies all slopes, of
    which ``meant`` knows nothing.
    """

    causal = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        rounding: torch.dtype = torch.float64,
        faulty_heads: int | None = None,
        steeper: float = 1.0,
    ) -> None:
        super().__init__(d_model, n_heads)
        self.rounding, self.steeper = rounding, steeper
        self.faulty_heads = n_heads if faulty_heads is None else faulty_heads

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return m · j, rounded in the faulty heads, (heads, 1, k_len), or (batch, heads, …)."""
        slopes = alibi_slopes(self.n_heads, dtype=torch.float64, device=q.device)[:, None, None]
        slopes = self.steeper * slopes
        keys = at.k[..., None, None, :]  # (1, 1, k_len), or (batch, 1, 1, k_len)
        price = slopes * keys.double()
        n_faulty = self.faulty_heads
        sick = slice(-n_faulty, None) if n_faulty > 0 else slice(-n_faulty)
        rounded = slopes[sick].to(self.rounding) * keys.to(self.rounding)
        price[..., sick, :, :] = rounded.double()
        return price if self.rounding == torch.float64 else price.to(bias_dtype(q))

    def meant(self) -> PositionalEncoding:
        """ALiBi."""
        return self._library("alibi")


class Prices(PositionalEncoding):
    """ALiBi with any slopes and a number added to all scores. Nothing is wrong with it.

    The number changes no weight, since softmax ignores what all scores of a query share.
    """

    offsets_only = True

    def __init__(
        self, d_model: int, n_heads: int, slopes: tuple[float, ...], shift: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads)
        if len(slopes) != n_heads:
            raise ValueError(f"slopes must be {n_heads}, one for each head, got {len(slopes)}")
        self.slopes, self.shift = slopes, shift

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return shift − m · |j − i|."""
        dtype = bias_dtype(q)
        slopes = torch.tensor(self.slopes, dtype=dtype, device=q.device)[:, None, None]
        return self.shift - slopes * at.offsets.abs().to(dtype)
