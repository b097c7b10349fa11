"""The four doors through which position can enter attention, as one base class.

An encoding overrides the doors it uses. Attention knows no scheme by name. It passes door 1 itself
where it stands alone; in a model the model does, before its layers.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.positions import Places, Positions

Embeddings = Float[Tensor, "batch seq d_model"]
Tokens = Int[Tensor, "batch seq"]
Queries = Float[Tensor, "batch heads q_len d_head"]
Keys = Float[Tensor, "batch kv_heads k_len d_head"]  # as many heads as queries, or fewer
Weights = Float[Tensor, "batch heads q_len k_len"]
Bias = Float[Tensor, "#batch #heads #q_len #k_len"]
Offsets = Num[Tensor, " offsets"]
BiasByOffset = Float[Tensor, "heads offsets"]

DOORS = ("embed", "rotate", "bias", "values")
# What a model tells a maker of encodings that has an argument of this name; others are options.
FROM_MODEL = ("max_len", "causal", "layer")


@dataclass(frozen=True)
class Look:
    """How the curve of an encoding is drawn, the same in every figure.

    ``dash`` is matplotlib's "-", or an offset and lengths of strokes and gaps in line widths.
    """

    colour: str
    marker: str
    dash: str | tuple[int, tuple[float, ...]]


class PositionalEncoding(nn.Module):
    """Leaves attention as it is; subclasses open doors by overriding the methods below.

    Positions are always passed in, never counted inside. Attention may pass door 3 with some of
    the queries at a time, and with the keys that those may see: so each door must be right for
    any queries and keys, in any order.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.

    Attributes:
        shared: True if one instance serves all layers, as in the paper; else each has its own.
        every_layer: True if door 1 is passed again before every layer's attention.
        causal: True if keys after the query must be hidden: attention that sees them refuses it.
        whole: True if positions must be whole numbers; doors 2 to 4 then get them as integers.
        offsets_only: True if attention stays the same when all positions move together.
        static_keys: True if door 2 turns a key by the key and its position alone. A cache then
            keeps it turned; else all keys pass door 2 at every step.
        learning_rates: by name of a parameter, the factor on its rate where the course trains.
        look: how its curve is drawn; an encoding of one's own may do without and gets one by name.
        examples: options that tests try beside the defaults.
        adjustable: options that may be set later, as ``encoding.base = 77.0``, each with a value
            to try; the others decide on shapes or on what parameters start from.
    """

    shared: bool = True
    every_layer: bool = False
    causal: bool = False
    whole: bool = False
    offsets_only: bool = False
    static_keys: bool = False
    learning_rates: ClassVar[Mapping[str, float]] = {}
    look: ClassVar[Look | None] = None
    examples: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    adjustable: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.d_head = validation.heads(d_model, n_heads)
        self.d_model, self.n_heads = int(d_model), int(n_heads)

    # The doors

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Door 1, token embeddings: return ``x`` with position in it."""
        return x

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Door 2, queries and keys: return both with position in them."""
        return q, k

    def bias_by_offset(self, offsets: Offsets) -> BiasByOffset | None:
        """Door 3 where the offset alone matters: what is added to the scaled scores, by head.

        ``offsets`` are j − i in positions, int64, or floats where positions are; each head may
        have numbers of its own. None for nothing.
        """
        return None

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias | None:
        """Door 3 where more matters: what is added to the scaled scores, or None for nothing.

        Anything that broadcasts to (batch, heads, q_len, k_len). Without an override it is what
        :meth:`bias_by_offset` says of the offset of each pair.
        """
        if not self._overrides("bias_by_offset"):
            return None
        function = cast("Callable[[Tensor], Tensor]", self.bias_by_offset)
        return self._check(q, k, at).by_offset(function).to(bias_dtype(q))

    def values(self, weights: Weights, at: Places) -> Queries | None:
        """Door 4, what is summed: what is added to weights · v, or None for nothing."""
        return None

    def scale(self, d_head: int) -> float:
        """The factor on q · k; 1/√d_head as in Vaswani et al. 2017, equation 1."""
        return d_head**-0.5

    @property
    def doors(self) -> tuple[str, ...]:
        """The doors this encoding opens: those whose methods it overrides."""
        by_offset = {"bias"} if self._overrides("bias_by_offset") else set()
        return tuple(door for door in DOORS if self._overrides(door) or door in by_offset)

    @property
    def bias_needs_offsets_only(self) -> bool:
        """Whether door 3 is ``bias_by_offset`` alone."""
        return self._overrides("bias_by_offset") and not self._overrides("bias")

    def _overrides(self, method: str) -> bool:
        return getattr(type(self), method) is not getattr(PositionalEncoding, method)

    # What it says of itself

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """Options with which it is trained fairly at ``length``: no part of it left untrained.

        Sizes of tables above all, and starts that the paper sets by the length.
        """
        return {}

    @property
    def options(self) -> dict[str, Any]:
        """What its constructor takes beside ``d_model`` and ``n_heads``, with today's values.

        Raises TypeError if an option is not stored under its own name: saving and copying rely on
        that, and tables that are kept for a pass.
        """
        names = parameters_of(type(self))
        lost = [name for name in names if not hasattr(self, name) and name not in FROM_MODEL]
        if lost:
            raise TypeError(
                f"{type(self).__name__} must store each of its options under the option's own "
                f"name; missing: {', '.join(f'self.{name}' for name in lost)}"
            )
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        sizes = {"d_model": self.d_model, "n_heads": self.n_heads}
        return ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in {**sizes, **self.options}.items()
        )

    # Checks

    def check_fits(self, d_model: int, n_heads: int, causal: bool) -> None:
        """Raise unless attention of these sizes can use this encoding."""
        if (self.d_model, self.n_heads) != (d_model, n_heads):
            raise ValueError(
                "encoding must be made for this attention's d_model and n_heads, "
                f"{d_model} and {n_heads}, got {self.d_model} and {self.n_heads}"
            )
        options = self.options  # raises where one is not stored
        if self.causal and not causal:
            raise ValueError(
                f"causal must be True with {type(self).__name__}, options {options}, which cannot "
                "serve queries that see keys after themselves, got False"
            )

    def _check_embeddings(self, x: Any, positions: Any) -> None:
        """Raise unless x and positions fit door 1."""
        validation.floating("x", x, "(batch, seq, d_model)", ndim=3)
        if x.shape[-1] != self.d_model:
            raise ValueError(
                f"x must be {self.d_model} wide, as this encoding's d_model, got {x.shape[-1]}"
            )
        validation.positions(
            "positions", positions, length=x.shape[-2], whole=self.whole, texts=x.shape[0]
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
        return self._check_places(at, q.shape[0], q.shape[2], k.shape[2])

    def _check_weights(self, weights: Any, at: Any) -> Places:
        """As :meth:`_check`, for the weights at door 4."""
        shape = f"(batch, {self.n_heads}, q_len, k_len)"
        validation.floating("weights", weights, shape, ndim=4)
        if weights.shape[1] != self.n_heads:
            raise ValueError(f"weights must have shape {shape}, got {tuple(weights.shape)}")
        return self._check_places(at, weights.shape[0], *weights.shape[2:])

    def _check_places(self, at: Any, texts: int, q_len: int, k_len: int) -> Places:
        validation.instance("at", at, Places, "Places, as Places(q_pos, k_pos) makes them")
        for name, row, tokens in (("q_pos", at.q, q_len), ("k_pos", at.k, k_len)):
            validation.one_each(name, row.shape[-1], tokens)
            validation.row_each(name, row, texts)
        return at.whole() if self.whole else at


class NoEncoding(PositionalEncoding):
    """No position at all (NoPE): every door stays shut.

    With a causal mask the model can still tell positions apart; lesson 01 shows how.

    Source: Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466.
    """

    offsets_only = True
    look = Look("#171717", "x", (0, (1, 1)))


def parameters_of(maker: Callable[..., Any]) -> tuple[str, ...]:
    """Names of what a maker of encodings takes after ``d_model`` and ``n_heads``."""
    parameters = list(inspect.signature(maker).parameters.values())[2:]
    gathered = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return tuple(each.name for each in parameters if each.kind not in gathered)


def bias_dtype(numbers: Tensor) -> torch.dtype:
    """float64 for that, else float32: a bias needs more than half precision."""
    return torch.promote_types(numbers.dtype, torch.float32)


def for_each_head(k: Keys, n_heads: int) -> Queries:
    """Keys or values for each head of the queries: a group of query heads reads the same ones."""
    return k if k.shape[1] == n_heads else k.repeat_interleave(n_heads // k.shape[1], dim=1)
