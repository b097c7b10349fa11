"""The four doors through which position can enter attention, as one base class.

An encoding overrides the doors it uses. Attention calls all four and knows no scheme by name.
"""

import inspect
from collections.abc import Callable, Hashable
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.positions import Places, Positions

Embeddings = Float[Tensor, "batch seq d_model"]
Tokens = Int[Tensor, "batch seq"]
Queries = Float[Tensor, "batch heads q_len d_head"]
Keys = Float[Tensor, "batch kv_heads k_len d_head"]  # as many heads as queries, or fewer
Weights = Float[Tensor, "batch heads q_len k_len"]
Bias = Float[Tensor, "#batch #heads #q_len #k_len"]

DOORS = ("embed", "rotate", "bias", "values")


def parameters_of(maker: Callable[..., Any]) -> tuple[str, ...]:
    """Names of what a maker of encodings takes after ``d_model`` and ``n_heads``."""
    return tuple(inspect.signature(maker).parameters)[2:]


class PositionalEncoding(nn.Module):
    """Leaves attention as it is; subclasses open doors by overriding the methods below.

    Positions are always passed in, never counted inside. Attention passes doors 3 and 4 with a
    block of the queries at a time, and with the keys that those may see: so each door must be
    right for any queries and keys, in any order.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.

    Attributes:
        shared: True if one instance serves all layers, False if every layer needs its own.
        every_layer: True if door 1 is passed again before every layer's attention.
        causal: True if it is only right where keys after the query are hidden; attention
            without a causal mask refuses it.
        whole: True if positions must be whole numbers.
        offsets_only: True if attention stays the same when all positions move together.
        static_keys: True if what door 2 makes of a key depends on the key and its position alone:
            a cache then keeps it turned. Else keys are turned anew at every step.
        learning_rates: by which factor a parameter of the scheme, by its name in the encoding,
            must learn faster than the rest of a model.
    """

    shared: bool = True
    every_layer: bool = False
    causal: bool = False
    whole: bool = False
    offsets_only: bool = False
    static_keys: bool = False
    learning_rates: ClassVar[dict[str, float]] = {}
    _options: tuple[str, ...] = ()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._options = parameters_of(cls)

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.d_head = validation.heads(d_model, n_heads)
        self.d_model, self.n_heads = int(d_model), int(n_heads)
        self._last: tuple[Hashable, Tensor, Tensor] | None = None

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """Options with which a comparison of encodings, trained at ``length``, is fair to this one.

        They leave no part of the encoding untrained, and none too small for the length.
        """
        return {}

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Door 1, token embeddings: return ``x`` with position in it."""
        return x

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Door 2, queries and keys: return both with position in them."""
        return q, k

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias | None:
        """Door 3, attention scores: what is added to the scaled scores, or None for nothing.

        Anything that broadcasts to (batch, heads, q_len, k_len).
        """
        return None

    def values(self, weights: Weights, at: Places) -> Queries | None:
        """Door 4, what is summed: what is added to weights · v, or None for nothing."""
        return None

    def scale(self, d_head: int) -> float:
        """The factor on q · k; 1/√d_head as in Vaswani et al. 2017, equation 1."""
        return d_head**-0.5

    def _check_embeddings(self, x: Any, positions: Any) -> None:
        """Raise unless x and positions fit door 1."""
        validation.floating("x", x, "(batch, seq, d_model)", ndim=3)
        if x.shape[-1] != self.d_model:
            raise ValueError(
                f"x must be {self.d_model} wide, as this encoding's d_model, got {x.shape[-1]}"
            )
        validation.positions(
            "positions", positions, length=x.shape[-2], whole=self.whole, texts=len(x)
        )

    def _check(self, q: Any, k: Any, at: Any) -> Places:
        """The places, in whole numbers if need be; raises unless queries and keys fit them."""
        for name, vectors in (("q", q), ("k", k)):
            shape = f"(batch, {self.n_heads}, seq, {self.d_head})"
            _, heads, _, width = validation.floating(name, vectors, shape, ndim=4).shape
            fits = heads == self.n_heads or (name == "k" and self.n_heads % heads == 0)
            if not fits or width != self.d_head:
                raise ValueError(f"{name} must have shape {shape}, got {tuple(vectors.shape)}")
        if (k.shape[0], k.dtype) != (q.shape[0], q.dtype):
            raise ValueError(
                f"k must have the batch size and dtype of q, {q.shape[0]} and {q.dtype}, "
                f"got {k.shape[0]} and {k.dtype}"
            )
        return self._placed(at, q.shape[0], q.shape[2], k.shape[2])

    def _check_weights(self, weights: Any, at: Any) -> Places:
        """As :meth:`_check`, for the weights at door 4."""
        shape = f"(batch, {self.n_heads}, q_len, k_len)"
        validation.floating("weights", weights, shape, ndim=4)
        if weights.shape[1] != self.n_heads:
            raise ValueError(f"weights must have shape {shape}, got {tuple(weights.shape)}")
        return self._placed(at, weights.shape[0], *weights.shape[2:])

    def _placed(self, at: Any, texts: int, q_len: int, k_len: int) -> Places:
        validation.instance("at", at, Places, "Places, as Places(q_pos, k_pos) makes them")
        for name, row, tokens in (("q_pos", at.q, q_len), ("k_pos", at.k, k_len)):
            validation.one_each(name, row.shape[-1], tokens)
            validation.row_each(name, row, texts)
        return at.whole() if self.whole else at

    def check_fits(self, d_model: int, n_heads: int, causal: bool) -> None:
        """Raise unless attention of these sizes can use this encoding."""
        if (self.d_model, self.n_heads) != (d_model, n_heads):
            raise ValueError(
                "encoding must be made for this attention's d_model and n_heads, "
                f"{d_model} and {n_heads}, got {self.d_model} and {self.n_heads}"
            )
        if self.causal and not causal:
            raise ValueError(
                f"causal must be True with {self!r}, which cannot serve queries that see "
                "keys after themselves, got False"
            )

    def _again(self, row: Tensor, key: Hashable, make: Callable[[], Tensor]) -> Tensor:
        """What ``make`` returned last time, if the row of positions and the key are the same."""
        if not validation.readable(row) or torch.is_inference_mode_enabled():
            return make()
        if self._last is None or self._last[0] != key or not torch.equal(self._last[1], row):
            self._last = (key, row.clone(), make())
        return self._last[2]

    @property
    def options(self) -> dict[str, Any]:
        """What its constructor takes beside ``d_model`` and ``n_heads``, with today's values."""
        return {name: getattr(self, name) for name in self._options if hasattr(self, name)}

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        sizes = {"d_model": self.d_model, "n_heads": self.n_heads}
        return ", ".join(
            f"{name}={_shown(value)}" for name, value in (sizes | self.options).items()
        )

    @property
    def doors(self) -> tuple[str, ...]:
        """The doors this encoding opens, found by looking which methods it overrides."""
        return tuple(
            door
            for door in DOORS
            if getattr(type(self), door) is not getattr(PositionalEncoding, door)
        )


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)


def bias_dtype(q: Tensor) -> torch.dtype:
    """The dtype of a bias, which wants more than half precision: float64 for that, else float32."""
    return torch.promote_types(q.dtype, torch.float32)


def for_each_head(k: Keys, n_heads: int) -> Queries:
    """Keys or values for each head of the queries: a group of query heads reads the same ones."""
    return k if k.shape[1] == n_heads else k.repeat_interleave(n_heads // k.shape[1], dim=1)


class NoEncoding(PositionalEncoding):
    """No position at all (NoPE): every door stays shut.

    With a causal mask the model can still tell positions apart; lesson 01 shows how.

    Source: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.
    """

    offsets_only = True
