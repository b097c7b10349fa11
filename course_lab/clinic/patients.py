"""Encodings with a known fault each, and attention layers to examine. For tests, never for use.

Every fault is one that people have made. Beside each stands what does it right.
"""

import torch
from torch import Tensor

from course_utils import validation
from course_utils.attention import MultiHeadAttention
from course_utils.devices import isolated_rng
from course_utils.encodings.base import (
    Embeddings,
    Keys,
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

GAIN = 3.0  # on the queries of a layer to examine: a fresh layer's weights are nearly uniform


class RowsByText(PositionalEncoding):
    """Sinusoids read along the wrong axis: text number n of a batch gets row n, at every place.

    What comes of ``table[: x.size(0)]`` where the first axis is the batch. ``how`` is "add" or
    "multiply".
    """

    def __init__(self, d_model: int, n_heads: int, how: str = "add", base: float = 1e4) -> None:
        super().__init__(d_model, n_heads)
        self.how, self.base = validation.choice("how", how, ("add", "multiply")), base

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x with the row of its text's number, (batch, 1, d_model), in each of its words."""
        numbers = torch.arange(len(x), device=x.device)
        rows = sinusoidal_table(numbers, self.d_model, self.base).to(x.dtype)[:, None]
        return x + rows if self.how == "add" else x * (1 + rows)


class RowsFromZero(PositionalEncoding):
    """Positions counted anew in each call, so that what follows a cache starts at 0 again.

    ``door`` is "rotate", for RoPE, or "embed", for sinusoids. Without a cache, nothing is wrong.
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
        row = torch.arange(x.shape[1], device=x.device)
        return x + sinusoidal_table(row, self.d_model, self.base).to(x.dtype)

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return both turned by 0 … seq − 1, whatever the positions are."""
        if self.door != "rotate":
            return q, k
        row = torch.arange(at.q_len, device=q.device)
        angles = rope_angles(row, rope_frequencies(self.d_head, self.base))
        return apply_rope(q, angles), apply_rope(k, angles)


class DistancePays(PositionalEncoding):
    """ALiBi's price with the wrong sign, so that far keys are rewarded.

    ``where`` is "everywhere"; "one head", the second alone; or "later", for keys after the query
    alone, as −m·(i − j) has it.
    """

    def __init__(self, d_model: int, n_heads: int, where: str = "everywhere") -> None:
        super().__init__(d_model, n_heads)
        self.where = validation.choice("where", where, ("everywhere", "one head", "later"))

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return +m · |j − i| where the sign is wrong, −m · |j − i| elsewhere."""
        dtype = bias_dtype(q)
        slopes = alibi_slopes(self.n_heads, dtype=dtype, device=q.device)[:, None, None]
        sign = torch.ones_like(slopes)
        if self.where == "later":
            return slopes * at.offsets.to(dtype)
        if self.where == "one head":
            sign = -sign
            sign[1] = 1
        return sign * slopes * at.offsets.abs().to(dtype)


class TwoLayouts(PositionalEncoding):
    """RoPE whose queries turn in pairs of neighbours, and whose keys in pairs of two halves."""

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


class RoundedAngles(PositionalEncoding):
    """RoPE whose angles are computed in half precision."""

    static_keys = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        rounding: torch.dtype = torch.bfloat16,
        base: float = 1e4,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(d_model, n_heads)
        self.rounding, self.base, self.layout = rounding, base, layout

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Return both turned by p · θ, rounded."""
        speeds = rope_frequencies(self.d_head, self.base).to(self.rounding)

        def turn(x: Tensor, row: Tensor) -> Tensor:
            angles = row.to(self.rounding)[..., None] * speeds
            return apply_rope(x, angles.double(), self.layout)

        return turn(q, at.q), turn(k, at.k)


class Shortcut(PositionalEncoding):
    """ALiBi as m · j, one row for all queries: the same to the softmax behind a causal mask.

    ``rounding`` is the dtype of the product. Half of the precision makes far keys tie; float64 is
    right at every length that a model reads.
    """

    causal = True

    def __init__(self, d_model: int, n_heads: int, rounding: torch.dtype = torch.float64) -> None:
        super().__init__(d_model, n_heads)
        self.rounding = rounding

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return m · j, rounded, (heads, 1, k_len)."""
        slopes = alibi_slopes(self.n_heads, dtype=self.rounding, device=q.device)
        price = slopes[:, None, None] * at.k.to(self.rounding)
        return price.double().to(bias_dtype(q)) if self.rounding != torch.float64 else price


class Prices(PositionalEncoding):
    """ALiBi with slopes of one's own and a number that is added to all scores: nothing is wrong.

    The number changes no weight, as the softmax takes it out again.
    """

    offsets_only = True

    def __init__(
        self, d_model: int, n_heads: int, slopes: tuple[float, ...], shift: float = 0.0
    ) -> None:
        super().__init__(d_model, n_heads)
        if len(slopes) != n_heads:
            raise ValueError(f"slopes must be {n_heads}, one a head, got {len(slopes)}")
        self.slopes, self.shift = slopes, shift

    def bias(self, q: Queries, k: Keys, at: Places) -> Tensor:
        """Return shift − m · |j − i|."""
        dtype = bias_dtype(q)
        slopes = torch.tensor(self.slopes, dtype=dtype, device=q.device)[:, None, None]
        return self.shift - slopes * at.offsets.abs().to(dtype)


def layer(
    encoding: PositionalEncoding,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    causal: bool = True,
    name: str = "a layer",
) -> MultiHeadAttention:
    """A fresh attention layer with this encoding, to examine: its weights follow from the seed.

    ``name`` is what messages call it.
    """
    with isolated_rng(seed):
        made = MultiHeadAttention(encoding.d_model, encoding.n_heads, encoding, causal)
    with torch.no_grad():
        made.W_q.weight *= GAIN
    made.__name__ = name  # type: ignore[assignment]
    return made.to(dtype).requires_grad_(False).eval()


def words(
    layer: MultiHeadAttention, texts: int = 1, n: int = 16, *, same: bool = False, seed: int = 0
) -> Tensor:
    """Made-up words that a layer can read: (texts, n, d_model), in its dtype.

    With ``same`` every word of a text is the same word.
    """
    dice = torch.Generator().manual_seed(seed)
    drawn = torch.randn(texts, 1 if same else n, layer.d_model, generator=dice)
    weight = layer.W_q.weight
    return drawn.expand(-1, n, -1).to(weight.device, weight.dtype).clone()
