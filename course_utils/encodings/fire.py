"""FIRE: a small network turns a key's share of the way back into what is added to its score.

    share = ψ(|j − i|) / ψ(max(i, L₀)),   ψ(x) = log(c·|x| + 1)

Rows of any length fill the same range from 0 to 1, so longer texts are interpolated, not
extrapolated. The price: where all positions are shifted the bias changes.

Source: Li et al. 2023, arXiv 2310.04418, section 3.
"""

from typing import Any

import torch
from jaxtyping import Float, Num
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import Bias, Keys, Look, PositionalEncoding, Queries, bias_dtype
from course_utils.encodings.positions import Places

Number = Float[Tensor, ""] | float


def fire_psi(x: Num[Tensor, "*shape"], c: Number) -> Float[Tensor, "*shape"]:
    """ψ(x) = log(c·|x| + 1), which spreads short distances and squeezes long ones.

    Args:
        x: distances in positions; signs do not matter.
        c: above 0; 1 / c is the distance where straight turns into logarithmic.
    """
    return (_positive("c", c) * validation.real("x", x).abs()).log1p()


def fire_share(
    q_pos: Num[Tensor, " q_len"], k_pos: Num[Tensor, " k_len"], c: Number, threshold: Number
) -> Float[Tensor, "q_len k_len"]:
    """What the network sees: ψ(i − j) / ψ(max(i, L₀)), between 0 and 1 for keys 0 … i.

    It asks how far back a key lies as a share of all there is to look back on. It is no function of
    j − i alone: other positions i give another share. Queries before L₀, negative ones
    too, are all measured by ψ(L₀). A key after its query counts by its distance.

    ``c`` is that of :func:`fire_psi`, ``threshold`` is L₀, above 0, in positions.
    """
    q_pos, k_pos = validation.positions("q_pos", q_pos), validation.positions("k_pos", k_pos)
    return _share(q_pos, k_pos - q_pos[:, None], c, threshold)


def _share(q_pos: Tensor, offsets: Tensor, c: Number, threshold: Number) -> Tensor:
    least = _positive("threshold", threshold)
    queries = validation.real("q_pos", q_pos)
    reach = queries.clamp(min=least) if isinstance(least, float) else queries.maximum(least)
    whole_way = fire_psi(reach, c)[..., None]  # (q_len, 1), or (batch, q_len, 1)
    return fire_psi(offsets, c) / (whole_way if offsets.ndim < 4 else whole_way[:, None])


def _positive(name: str, value: Any) -> Tensor | float:
    """Return ``value``, or raise unless it is a number above 0; a tensor keeps its gradient."""
    if not isinstance(value, Tensor):
        return validation.positive(name, value)
    validation.floating(name, value, "of one number", ndim=0)
    if validation.readable(value):
        validation.positive(name, float(value.detach()))
    return value


class FIRE(PositionalEncoding):
    """FIRE at door 3.

    Without a causal mask it takes a later key by its distance, which the paper leaves open.
    Fractional positions are fine. Learned beside the network are c of ψ and L₀, as exp(log_c) and
    exp(log_threshold), so that they stay above 0. L₀ has a gradient only from queries before it.
    The network (one hidden layer of 32, ReLU) and the start values 0.1 for c and 512 for L₀ are
    those of the code in the paper's appendix. That code has one more number a head, a constant,
    which no output depends on.

    Args:
        hidden: width of the network between its one input and its n_heads outputs.
        original_len: where L₀ starts, in positions; the length trained at.
    """

    look = Look("#80ab75", "<", (0, (6, 2)))
    examples = ({"original_len": 8},)
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

    @classmethod
    def fair_options(cls, length: int) -> dict[str, Any]:
        """L₀ starts at the length."""
        return {"original_len": length}

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """Return the network's output, float32 (float64 if ``q`` is)."""
        at, dtype = self._check(q, k, at), bias_dtype(q)
        full = bias_dtype(self.log_c)
        c = self.log_c.to(full).exp().to(dtype)
        threshold = self.log_threshold.to(full).exp().to(dtype)
        share = _share(at.q.to(dtype), at.offsets.to(dtype), c, threshold)  # (…, q_len, k_len)
        # The network runs as matrix products over all pairs at once, heads first in the result.
        weight, start = self.inner.weight.to(dtype), self.inner.bias.to(dtype)
        inside = F.relu(weight * share.reshape(1, -1) + start[:, None])  # (hidden, all pairs)
        bias = (self.outer.weight.to(dtype) @ inside).view(self.n_heads, *share.shape)
        return bias[None] if share.ndim == 2 else bias[:, :, 0].transpose(0, 1)
