"""FLOATER: positions as places on the path of a learned differential equation.

    p(t) = p(s) + ∫ f(τ, p(τ)) dτ from s to t,   f(t, p) = W₂·tanh(W₁·[p, t] + b₁) + b₂

Position i stands at time t = i·delta.

Source: Liu et al. 2020, arXiv 2003.09229, section 3.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.base import Embeddings, Look, PositionalEncoding, Tokens
from course_utils.encodings.positions import Positions, angle_dtype


class Floater(PositionalEncoding):
    """Adds p(t) to what enters every layer, at door 1.

    There is no table, so no longest length, but time and memory grow with the largest position: to
    know p(t) one must travel there from p(0). For the same reason it waits for a GPU in each pass.

    A Runge-Kutta method of order 4 (the 3/8 rule) goes in steps of ``step`` positions from
    position 0, then with one shorter step from the last of these places to each position asked
    for. So p(t) depends on t alone, not on what else is asked for, and is continuous in t.

    In the paper every block has its own path, and all blocks can share the parameters of f. The
    authors' code for RoBERTa does so, learns three starts for each block (for queries, keys and
    values) and has delta = 0.01. Here all layers share one start too, and add the same p(t).

    Args:
        hidden: width of the hidden layer of f.
        delta: time from one position to the next.
        step: positions in one step of the solver; smaller is more exact and slower.

    Attributes:
        start: (d_model,), p(0).
        inner: the Linear W₁, b₁ from (d_model + 1) to ``hidden``; its last input is the time.
        outer: the Linear W₂, b₂ from ``hidden`` to ``d_model``.
    """

    look = Look("#7970ac", "h", (0, (5, 1.5, 1, 1.5, 1, 1.5)))
    adjustable = {"delta": 0.3, "step": 2.5}
    every_layer = True

    def __init__(
        self, d_model: int, n_heads: int, hidden: int = 64, delta: float = 0.1, step: float = 4.0
    ) -> None:
        super().__init__(d_model, n_heads)
        self.hidden = validation.integer("hidden", hidden)
        self.delta = validation.positive("delta", delta)
        self.step = validation.positive("step", step)
        self.start = nn.Parameter(torch.empty(self.d_model))
        self.inner = nn.Linear(self.d_model + 1, self.hidden)
        self.outer = nn.Linear(self.hidden, self.d_model)
        nn.init.normal_(self.start, std=0.02)
        # Small, for speeds add up: over the first 512 positions p's entries grow to a few units.
        nn.init.normal_(self.outer.weight, std=0.02)
        nn.init.zeros_(self.outer.bias)

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x + p(positions · delta), in the dtype of ``x``."""
        self._check_embeddings(x, positions)
        working = torch.promote_types(x.dtype, torch.float32)
        # How many steps it takes depends on the values of the positions, so it is not compiled.
        # Not a decorator: that would load the compiler, one second, with every import.
        path = torch.compiler.disable(self.path) if torch.compiler.is_compiling() else self.path
        row = positions.to(x.device)
        return x + path(row.flatten(), working).unflatten(0, row.shape).to(x.dtype)

    def path(
        self, positions: Positions, dtype: torch.dtype = torch.float32
    ) -> Float[Tensor, "seq d_model"]:
        """Places on the path, computed and returned in ``dtype``."""
        row = validation.positions("positions", positions)
        validation.from_zero("positions", row, "where the path starts")
        # Imported here: it brings SciPy in, a third of a second that only this encoding needs.
        try:
            from torchdiffeq import odeint
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "floater needs torchdiffeq: pip install torchdiffeq"
            ) from error

        with torch.autocast(row.device.type, enabled=False):
            # Places on the grid are found in float64; the path itself is in dtype.
            exact = row.to(angle_dtype(row.device))
            station = (exact / self.step).floor()  # (seq), counted in steps
            times = torch.arange(int(station.max()) + 1, device=row.device).to(exact)
            f, start = self._dynamics(dtype), self.start.to(dtype)
            stations = odeint(f, start, times * (self.step * self.delta), method="rk4")

            time = station * (self.step * self.delta)  # (seq)
            left = exact * self.delta - time  # (seq), the length of the last, shorter step

            def last_step(share: Tensor, p: Tensor) -> Tensor:
                """Velocity where ``share`` runs from 0 to 1 along each position's last step."""
                return left.to(dtype)[:, None] * f((time + share * left).to(dtype), p)

            ends = torch.tensor([0.0, 1.0], device=row.device).to(exact)
            return odeint(last_step, stations[station.long()], ends, method="rk4")[-1]

    def _dynamics(self, dtype: torch.dtype) -> Callable[[Tensor, Tensor], Tensor]:
        """The function f of times (…) and places (…, d_model), with its weights in ``dtype``."""
        inner, outer = self.inner.weight.to(dtype), self.outer.weight.to(dtype)
        inner_bias, outer_bias = self.inner.bias.to(dtype), self.outer.bias.to(dtype)

        def f(t: Tensor, p: Tensor) -> Tensor:
            hidden = F.linear(p, inner[:, :-1], inner_bias) + t[..., None] * inner[:, -1]
            return F.linear(hidden.tanh(), outer, outer_bias)

        return f
