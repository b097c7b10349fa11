"""Encodings that add a number to each attention score, by how far apart query and key are.

What they add does not depend on what the tokens are; contextual encodings do not live here.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import (
    KeyPositions,
    Keys,
    PositionalEncoding,
    Queries,
    QueryPositions,
)
from course_utils.encodings.functional.additive import (
    alibi_bias,
    alibi_slopes,
    fire_share,
    kerple_log,
    kerple_power,
    sandwich_bias,
)
from course_utils.encodings.functional.offsets import by_offset
from course_utils.encodings.memo import Memo

Bias = Float[Tensor, "1 heads q_len k_len"]


class ALiBi(PositionalEncoding):
    """Takes m_h · |j − i| off each score: distance costs, at a rate that is fixed for each head.

    Nothing is learned and nothing is stored, so there is no longest length. It looks both ways;
    with a causal mask only the way back is left, as in the paper. Fractional positions are fine.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.

    Source: Press et al. 2021, arXiv 2108.12409, section 3.
    """

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        self._slopes = Memo()

    def bias(self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions) -> Bias:
        """Return −m_h · |j − i|: (1, heads, q_len, k_len), float32 (float64 if ``q`` is).

        Raises:
            TypeError, ValueError: if shapes or positions do not fit this encoding.
        """
        self._check_heads(q, k, q_pos, k_pos)
        dtype = _dtype(q)

        def make_slopes() -> Tensor:
            return alibi_slopes(self.n_heads, dtype=dtype, device=q.device)

        slopes = self._slopes(make_slopes, (), (q.device, dtype))

        def bias(offsets: Tensor) -> Tensor:  # (…) -> (heads, …)
            return alibi_bias(offsets.to(dtype), slopes)

        return by_offset(bias, _wide(q_pos, q), _wide(k_pos, q))[None]


class Kerple(PositionalEncoding):
    """Takes a kernel of the distance off each score, with two learned numbers a head.

    The kernel is r1·log(1 + r2·|j − i|) or r1·|j − i|^r2. All layers share it, as in the paper
    (figure 1). Fractional positions are fine.

    The paper puts the kernel inside the division by √d_head, next to q·k; the code that made its
    numbers adds it after the division. The default is the code's; ``inside_scale`` is the paper's.

    Both numbers stay in their ranges because they are computed from free parameters: r1 and r2
    above 0 as softplus(free_r1) and softplus(free_r2), the power's r2 in (0, 2) as
    2·sigmoid(free_r2). The released code clamps them to at least 0.01 instead.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        kind: "log" or "power".
        inside_scale: True multiplies the kernel by the factor on q·k.

    Raises:
        TypeError, ValueError: if ``kind`` is neither, or ``inside_scale`` is not True or False.

    Source: Chi et al. 2022, arXiv 2205.09921.
    """

    def __init__(
        self, d_model: int, n_heads: int, kind: str = "log", inside_scale: bool = False
    ) -> None:
        super().__init__(d_model, n_heads)
        self.kind = validation.choice("kind", kind, ("log", "power"))
        self.inside_scale = validation.boolean("inside_scale", inside_scale)
        # Drawn as the released code draws them: the log's height and the power's exponent up to 2.
        low, log = 0.01, kind == "log"
        r1 = torch.empty(self.n_heads).uniform_(low, 2 if log else 1)
        r2 = torch.empty(self.n_heads).uniform_(low, 1 if log else 2)
        self.free_r1 = nn.Parameter(r1.expm1().log())  # the inverse of softplus
        self.free_r2 = nn.Parameter(r2.expm1().log() if log else (r2 / 2).logit())

    @property
    def r1(self) -> Float[Tensor, " heads"]:
        """Height of the kernel, (heads,), above 0; float32 at least."""
        return F.softplus(_full(self.free_r1))

    @property
    def r2(self) -> Float[Tensor, " heads"]:
        """Kind "log": inverse distance, above 0. Kind "power": exponent, in (0, 2). (heads,)."""
        free = _full(self.free_r2)
        return F.softplus(free) if self.kind == "log" else 2 * free.sigmoid()

    def bias(self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions) -> Bias:
        """Return minus the kernel: (1, heads, q_len, k_len), float32 (float64 if ``q`` is).

        Raises:
            TypeError, ValueError: if shapes or positions do not fit this encoding.
        """
        self._check_heads(q, k, q_pos, k_pos)
        kernel = kerple_log if self.kind == "log" else kerple_power
        dtype, r1, r2 = _dtype(q), self.r1, self.r2
        if self.inside_scale:
            r1 = r1 * self.scale(self.d_head)

        def bias(offsets: Tensor) -> Tensor:  # (…) -> (heads, …)
            return kernel(offsets.to(dtype), r1.to(dtype), r2.to(dtype))

        return by_offset(bias, _wide(q_pos, q), _wide(k_pos, q))[None]

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, kind={self.kind}, inside_scale={self.inside_scale}"


class Sandwich(PositionalEncoding):
    """Adds the product of the two positions' sinusoidal encodings, weaker from head to head.

    Nothing is learned and nothing is stored. It looks both ways alike. Fractional positions are
    fine.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        d_bar: width of the sinusoidal encodings, an even number; 128 in the paper, whatever
            ``d_model`` is.

    Raises:
        TypeError, ValueError: if ``d_bar`` is not even.

    Source: Chi et al. 2022, arXiv 2212.10356.
    """

    def __init__(self, d_model: int, n_heads: int, d_bar: int = 128) -> None:
        super().__init__(d_model, n_heads)
        self.d_bar = validation.even("d_bar", d_bar)

    def bias(self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions) -> Bias:
        """Return H/(8h) · (Σ_m cos((j − i)·ω_m) − d̄/2): (1, heads, q_len, k_len), float32 at least.

        Raises:
            TypeError, ValueError: if shapes or positions do not fit this encoding.
        """
        self._check_heads(q, k, q_pos, k_pos)

        def bias(offsets: Tensor) -> Tensor:  # (…) -> (heads, …)
            offsets = offsets.double() if q.dtype == torch.float64 else offsets
            return sandwich_bias(offsets, self.n_heads, self.d_bar)

        return by_offset(bias, _wide(q_pos, q), _wide(k_pos, q))[None].to(_dtype(q))

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, d_bar={self.d_bar}"


class FIRE(PositionalEncoding):
    """Lets a small network turn a key's share of the way back into what is added to its score.

    The share is ψ(|j − i|) / ψ(max(i, L₀)), as
    :func:`~course_utils.encodings.functional.fire_share` computes it. Rows of any length fill the
    same range from 0 to 1, so longer texts are interpolated, not extrapolated. The price: where
    all positions are shifted the bias changes. Without a causal mask it takes a later key by its
    distance, which the paper leaves open. Queries before L₀, negative ones too, are all measured
    by ψ(L₀). Fractional positions are fine.

    Learned beside the network are c of ψ and L₀, as exp(log_c) and exp(log_threshold), so that they
    stay above 0. L₀ has a gradient only from queries before it.

    Args:
        d_model: width of the embeddings.
        n_heads: number of attention heads; must divide ``d_model``.
        hidden: width of the network between its one input and its n_heads outputs.
        original_len: where L₀ starts, in positions; the length trained at.

    Raises:
        TypeError, ValueError: if ``hidden`` or ``original_len`` is not an integer of at least 1.

    Source: Li et al. 2023, arXiv 2310.04418, section 3; the network (one hidden layer of 32, ReLU)
        and the start values 0.1 for c and 512 for L₀ are those of its code in the appendix.
        That code has one more number a head, a constant, which no output depends on.
    """

    shared = False

    def __init__(
        self, d_model: int, n_heads: int, hidden: int = 32, original_len: int = 512
    ) -> None:
        super().__init__(d_model, n_heads)
        self.hidden = validation.integer("hidden", hidden)
        self.original_len = validation.integer("original_len", original_len)
        self.inner = nn.Linear(1, self.hidden)
        # No bias: softmax does not see one number added to all scores of a head.
        self.outer = nn.Linear(self.hidden, self.n_heads, bias=False)
        self.log_c = nn.Parameter(torch.tensor(0.1).log())
        self.log_threshold = nn.Parameter(torch.tensor(float(self.original_len)).log())

    def bias(self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions) -> Bias:
        """Return the network's output: (1, heads, q_len, k_len), float32 (float64 if ``q`` is).

        Raises:
            TypeError, ValueError: if shapes or positions do not fit this encoding.
        """
        self._check_heads(q, k, q_pos, k_pos)
        dtype = _dtype(q)
        q_pos, k_pos = _wide(q_pos, q).to(dtype), _wide(k_pos, q).to(dtype)
        c, threshold = _full(self.log_c).exp(), _full(self.log_threshold).exp()
        share = fire_share(q_pos, k_pos, c.to(dtype), threshold.to(dtype))  # (q_len, k_len)
        # The network runs as matrix products over all pairs at once, heads first in the result.
        weight, start = self.inner.weight.to(dtype), self.inner.bias.to(dtype)
        inside = F.relu(weight * share.reshape(1, -1) + start[:, None])  # (hidden, q_len · k_len)
        return (self.outer.weight.to(dtype) @ inside).view(1, self.n_heads, *share.shape)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, hidden={self.hidden}, original_len={self.original_len}"


def _dtype(q: Tensor) -> torch.dtype:
    """The dtype of a bias: float64 for float64 queries, else float32."""
    return torch.promote_types(q.dtype, torch.float32)


def _full(parameter: Tensor) -> Tensor:
    """``parameter`` in float32 at least."""
    return parameter.to(_dtype(parameter))


def _wide(positions: Tensor, q: Tensor) -> Tensor:
    """``positions`` on the device of ``q``, in a dtype whose differences neither wrap nor round."""
    floats = positions.is_floating_point()
    return positions.to(q.device, _dtype(positions) if floats else torch.int64)
