"""The sinusoidal encoding: its frequencies, its table, the matrix that shifts it.

    PE[p, 2m] = sin(p·θ_m),   PE[p, 2m+1] = cos(p·θ_m),   θ_m = base^(−2m/d_model)

Source: Vaswani et al. 2017, arXiv 1706.03762, section 3.5.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import Embeddings, Look, PositionalEncoding, Tokens
from course_utils.encodings.positions import Positions, angle_dtype

Pairs = Float[Tensor, " pairs"]
Table = Float[Tensor, "*batch seq d_model"]


def sinusoidal_frequencies(
    d_model: int, base: float = 10000.0, *, device: torch.device | str | None = None
) -> Pairs:
    """Angular frequencies θ_m, radians per position, from 1 downwards; float64 (float32 on mps).

    Args:
        d_model: width of the encoding, an even number.
        base: what the slowest wavelength grows towards, in units of 2π positions.
    """
    width, base = validation.even("d_model", d_model), validation.positive("base", base)
    dtype = angle_dtype(torch.device(device or "cpu"))
    return base ** -(torch.arange(0, width, 2, device=device, dtype=dtype) / width)


def wavelengths(d_model: int, base: float = 10000.0) -> Pairs:
    """Positions in one full turn of each pair, 2π/θ_m."""
    return 2 * math.pi / sinusoidal_frequencies(d_model, base)


def sinusoidal_table(positions: Positions, d_model: int, base: float = 10000.0) -> Table:
    """PE of each position, on the positions' device: float64 if they are, else float32.

    Angles are computed in float64 before rounding (float32 on mps).

    Args:
        positions: integers or floats, in any order; negative ones are allowed.
        d_model, base: see :func:`sinusoidal_frequencies`.
    """
    row = validation.positions("positions", positions, batches=True)
    frequencies = sinusoidal_frequencies(d_model, base, device=row.device)  # (pairs)
    angles = row.to(frequencies.dtype)[..., None] * frequencies  # (seq, pairs)
    table = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # (seq, d_model)
    return table if row.dtype == torch.float64 else table.to(torch.float32)


def shift_matrix(
    k: float, d_model: int, base: float = 10000.0, dtype: torch.dtype = torch.float32
) -> Float[Tensor, "d_model d_model"]:
    """The matrix M_k that moves the encoding by k positions: PE(p + k) = M_k · PE(p).

    It is block-diagonal. Block m is [[cos kθ, sin kθ], [−sin kθ, cos kθ]] with θ = θ_m:
    a rotation, the same for every p. That there is one is the paper's claim; the blocks follow from
    the addition theorems of sin and cos. Angles are computed in float64.

    Args:
        k: by how many positions to shift; negative or fractional shifts are allowed.
        d_model, base: see :func:`sinusoidal_frequencies`.
        dtype: of the result, which is on the CPU.
    """
    turn = validation.number("k", k) * sinusoidal_frequencies(d_model, base)  # (pairs)
    blocks = torch.stack(
        [torch.stack([turn.cos(), turn.sin()], -1), torch.stack([-turn.sin(), turn.cos()], -1)], -2
    )  # (pairs, 2, 2)
    return torch.block_diag(*blocks).to(dtype)


class Sinusoidal(PositionalEncoding):
    """x + PE(positions) at door 1. It has no parameters and no table, so no longest length.

    Args:
        d_model: an even number.
        base: see :func:`sinusoidal_frequencies`.
    """

    look = Look("#05589c", "o", (0, (6, 2)))
    examples = ({"base": 50.0},)
    adjustable = {"base": 77.0}

    def __init__(self, d_model: int, n_heads: int, base: float = 10000.0) -> None:
        super().__init__(d_model, n_heads)
        validation.even("d_model", d_model)
        self.base = validation.positive("base", base)

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x + PE(positions), in the dtype of ``x``."""
        self._check_embeddings(x, positions)
        row = positions.to(x.device)
        row = row.double() if x.dtype == torch.float64 else row  # a float64 row gives float64
        return x + self._table(row).to(x.dtype)

    def _table(self, row: Tensor) -> Tensor:
        return sinusoidal_table(row, self.d_model, self.base)
