"""Positions on a grid, for patches of an image: sinusoidal vectors and RoPE, half for each axis.

Positions number the patches row by row: position p is row p // width, column p mod width.

Source: sinusoidal: He et al. 2022 (MAE), arXiv 2111.06377, and Chen et al. 2021 (MoCo v3), arXiv
2104.02057. RoPE: the "axial frequency" of Heo et al. 2024, arXiv 2403.13298, section 3.2, who
compare it with their own RoPE-Mixed, whose directions are learned.
"""

import torch
from jaxtyping import Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.positions import Places
from course_utils.encodings.rope import Rotary, Turn, rope_angles, rope_frequencies, turn_by
from course_utils.encodings.sinusoidal import Sinusoidal, sinusoidal_table

Row = Num[Tensor, "*batch seq"]


def sinusoidal_grid(
    rows: Row, columns: Row, d_model: int, base: float = 10000.0
) -> Float[Tensor, "*batch seq d_model"]:
    """Sinusoidal encoding of places in a plane: of the row, width d_model / 2, then of the column.

    The ViT family has other orders of the same numbers: MAE's code puts the column first, and all
    sines of a half before its cosines.

    ``d_model`` is divisible by 4; the frequencies are those of width d_model / 2. The result is
    float64 if ``rows`` or ``columns`` are, else float32.
    """
    half = validation.quarters("d_model", d_model) // 2
    places = validation.positions("rows", rows, batches=True)
    others = validation.positions("columns", columns, length=places.shape[-1], batches=True)
    if torch.float64 in (places.dtype, others.dtype):
        places, others = places.double(), others.double()
    return torch.cat(
        [sinusoidal_table(places, half, base), sinusoidal_table(others, half, base)], dim=-1
    )


def axial_angles(
    rows: Row, columns: Row, frequencies: Float[Tensor, " pairs"]
) -> Float[Tensor, "*batch seq both"]:
    """Angles on a grid: the first half of the pairs turns by the row, the rest by the column.

    The paper gives pairs to the two axes in turn, and its code puts the columns first: weights
    trained with either want their pairs reordered.

    ``frequencies`` are those of one axis; both use the same. Fractions are fine.
    """
    down = validation.positions("rows", rows, batches=True)
    across = validation.positions("columns", columns, length=down.shape[-1], batches=True)
    return torch.cat([rope_angles(down, frequencies), rope_angles(across, frequencies)], dim=-1)


class Sinusoidal2D(Sinusoidal):
    """x + the sinusoidal vector of each patch's row and column, at door 1.

    Args:
        d_model: divisible by 4.
        width: patches in a row of the image.
        base: see :func:`sinusoidal_grid`.
    """

    whole = True

    def __init__(self, d_model: int, n_heads: int, width: int, base: float = 10000.0) -> None:
        super().__init__(validation.quarters("d_model", d_model), n_heads, base)
        self.width = validation.integer("width", width)

    def _table(self, row: Tensor) -> Tensor:
        return sinusoidal_grid(*_on_grid(row, self.width), self.d_model, self.base)


class AxialRotary(Rotary):
    """RoPE on a grid, at door 2: half of each head's pairs turn by the row, half by the column.

    Scores depend on the offsets in rows and in columns, not on p − p' alone.

    Args:
        d_model: d_model / n_heads must be a multiple of 4.
        width: patches in a row of the grid.
        base: for each axis; grids are short, so it is small: 100 as in the paper.
        layout: as for RoPE.
    """

    whole = True
    offsets_only = False  # but in each axis
    unit = 4

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        width: int,
        base: float = 100.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(d_model, n_heads, base, layout)
        self.width = validation.integer("width", width)

    def turns(self, at: Places) -> tuple[Turn, Turn]:
        """How the queries turn, and how the keys: each by its row and by its column."""
        theta = rope_frequencies(self.d_head // 2, self.base, device=at.k.device)
        query = turn_by(axial_angles(*_on_grid(at.q, self.width), theta))
        if at.q is at.k:
            return query, query
        return query, turn_by(axial_angles(*_on_grid(at.k, self.width), theta))


def _on_grid(row: Tensor, width: int) -> tuple[Tensor, Tensor]:
    """Row and column of each position."""
    columns = row % width
    return (row - columns) / width, columns
