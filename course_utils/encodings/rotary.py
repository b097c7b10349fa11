"""Encodings that turn queries and keys by their positions, door 2: RoPE, xPos, RoPE on a grid.

How frequencies change for a longer context is in ``scaling``.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from course_utils import validation
from course_utils.encodings.base import (
    KeyPositions,
    Keys,
    PositionalEncoding,
    Queries,
    QueryPositions,
)
from course_utils.encodings.functional.layouts import LAYOUTS, rotated_width
from course_utils.encodings.functional.rotary import (
    Scaling,
    axial_angles,
    rope_angles,
    rope_frequencies,
    rotate_pairs,
    xpos_scale,
)
from course_utils.encodings.memo import Memo

Table = tuple[Tensor, Tensor]  # cos and sin, (seq, pairs) each


class _Turning(PositionalEncoding):
    """Turns the first ``n_turned`` features of each head by tables that its subclasses compute."""

    whole_positions: bool = False

    def __init__(self, d_model: int, n_heads: int, base: float, layout: str, unit: int = 2) -> None:
        super().__init__(d_model, n_heads)
        if self.d_head % unit:
            step = unit * self.n_heads
            below, above = self.d_model // step * step, (self.d_model // step + 1) * step
            raise ValueError(
                f"d_model must make each head's width, d_model / n_heads, a multiple of {unit}, "
                f"got {self.d_model} / {self.n_heads} = {self.d_head}; "
                f"try d_model {f'{below} or ' if below else ''}{above}"
            )
        self.base = validation.positive("base", base)
        self.layout = validation.choice("layout", layout, LAYOUTS)
        self.n_turned = self.d_head
        self._memo = Memo()

    def rotate(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> tuple[Queries, Keys]:
        """Return queries and keys, turned, in their own dtype.

        Raises:
            TypeError, ValueError: if they do not fit this encoding or their positions.
        """
        self._check_heads(q, k, q_pos, k_pos, whole=self.whole_positions)
        dtype = torch.promote_types(q.dtype, torch.float32)
        q_cos, q_sin, k_cos, k_sin = self._memo(
            lambda: self._rounded_tables(q_pos.to(q.device), k_pos.to(q.device), dtype),
            (q_pos, k_pos),
            (q.device, dtype, *self._settings()),
        )
        return self._turn(q, q_cos, q_sin), self._turn(k, k_cos, k_sin)

    def _rounded_tables(
        self, q_pos: Tensor, k_pos: Tensor, dtype: torch.dtype
    ) -> tuple[Tensor, ...]:
        query, key = self._tables(q_pos, k_pos)
        return tuple(part.to(dtype) for part in (*query, *key))

    def _tables(self, q_pos: Tensor, k_pos: Tensor) -> tuple[Table, Table]:
        """Cos and sin of the queries and of the keys, with any factors in them."""
        raise NotImplementedError

    def _settings(self) -> tuple[object, ...]:
        """What the tables depend on beside the positions."""
        return (self.base,)

    def _turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        if self.n_turned == self.d_head:
            return rotate_pairs(x, cos, sin, self.layout)
        turned = rotate_pairs(x[..., : self.n_turned], cos, sin, self.layout)
        return torch.cat([turned, x[..., self.n_turned :]], dim=-1)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, base={self.base:g}, layout={self.layout!r}"


class Rotary(_Turning):
    """RoPE: turns pair m of every query and key by p·θ_m, so that q·k sees only the offset.

    Args:
        d_model: width of the embeddings; d_model / n_heads must be even.
        n_heads: number of attention heads; must divide ``d_model``.
        base: see :func:`~course_utils.encodings.functional.rope_frequencies`.
        layout: "interleaved" pairs features 2m and 2m + 1 of a head, "half" pairs m and
            m + d/2 of the d that turn. Weights trained with one can be made to fit the other,
            see :func:`~course_utils.encodings.functional.convert_layout`.
        fraction: the part of each head that turns, its first features; the rest stay.
        scaling: one of the classes in ``encodings.scaling``, or None. Its attention factor
            multiplies queries and keys, so that the scores get its square (where ``fraction`` is
            below 1: the share of the features that turn).

    A scaling that looks at the current length takes the last position among the keys, plus 1.
    Queries and keys of one call turn under the same frequencies: so cache keys before they are
    turned.

    Raises:
        TypeError, ValueError: if a head's width is odd, ``n_heads`` does not divide ``d_model``,
            ``base`` is not a number above 0, ``layout`` is unknown, ``fraction`` leaves no even
            number of features, or ``scaling`` is not a scaling or made for another width.

    Source: Su et al. 2021, arXiv 2104.09864, section 3.2.2; partial rotary: GPT-J, GPT-NeoX.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        layout: str = "interleaved",
        fraction: float = 1.0,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, base, layout)
        self.n_turned = rotated_width(self.d_head, fraction)
        self.fraction = float(fraction)
        rope_frequencies(self.n_turned, self.base, scaling)  # raises if the scaling does not fit
        self.scaling = scaling

    def _tables(self, q_pos: Tensor, k_pos: Tensor) -> tuple[Table, Table]:
        needs_length = self.scaling is not None and self.scaling.needs_length
        length = k_pos.max() + 1 if needs_length else None
        frequencies, factor = rope_frequencies(
            self.n_turned, self.base, self.scaling, length, device=k_pos.device
        )
        query = _table(rope_angles(q_pos, frequencies), factor)
        return query, query if q_pos is k_pos else _table(rope_angles(k_pos, frequencies), factor)

    def _settings(self) -> tuple[object, ...]:
        return (self.base, self.scaling)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, fraction={self.fraction:g}, scaling={self.scaling}"


class XPos(_Turning):
    """RoPE whose scores fade with distance: queries × ζ^(p/512), keys × ζ^(−p/512).

    The scores of keys after the query would grow without bound, hence ``causal``. Factors are
    taken from the middle of the positions in a call, so only distances within a call matter. They
    must not pass what the queries' dtype can hold, since attention computes hidden scores too:
    about 34 000 positions in float32 and bfloat16, 2600 in float16. Keys must be cached before
    they are turned.

    Args:
        d_model: width of the embeddings; d_model / n_heads must be even.
        n_heads: number of attention heads; must divide ``d_model``.
        base: as in :class:`Rotary`.
        scale_base: the 512 above, in positions; larger values fade more slowly.
        layout: as in :class:`Rotary`.

    Raises:
        TypeError, ValueError: as :class:`Rotary`, and if ``scale_base`` is not a number above 0.

    Source: Sun et al. 2022, arXiv 2212.10554, algorithm 1; 512 is its code's, TorchScale.
    """

    causal = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        base: float = 10000.0,
        scale_base: float = 512.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(d_model, n_heads, base, layout)
        self.scale_base = validation.positive("scale_base", scale_base)

    def rotate(
        self, q: Queries, k: Keys, q_pos: QueryPositions, k_pos: KeyPositions
    ) -> tuple[Queries, Keys]:
        """Return queries and keys, turned and scaled, in their own dtype.

        Raises:
            TypeError, ValueError: if they do not fit this encoding or their positions, or the
                positions are further apart than the dtype of ``q`` can hold.
        """
        self._check_heads(q, k, q_pos, k_pos)
        if not torch.compiler.is_compiling():
            # ζ_0 = 0.4/1.4 is the smallest: so far ahead, a score of 100 becomes the largest float.
            room = math.log(torch.finfo(q.dtype).max / 100)
            reach = self.scale_base * room / math.log(1.4 / 0.4)
            furthest = float(k_pos.max()) - float(q_pos.min())
            if furthest > reach:
                raise ValueError(
                    f"k_pos must be at most {int(reach)} after q_pos (where scores in {q.dtype} "
                    f"end), got {furthest:g}; a larger scale_base, now {self.scale_base:g}, "
                    "reaches further"
                )
        return super().rotate(q, k, q_pos, k_pos)

    def _tables(self, q_pos: Tensor, k_pos: Tensor) -> tuple[Table, Table]:
        frequencies, _ = rope_frequencies(self.d_head, self.base, device=k_pos.device)
        ends = torch.stack([*q_pos.aminmax(), *k_pos.aminmax()]).to(frequencies.dtype)
        middle = (ends.min() + ends.max()) / 2
        q_fade, k_fade = (
            xpos_scale(row, self.d_head, self.scale_base, middle) for row in (q_pos, k_pos)
        )
        query = _table(rope_angles(q_pos, frequencies), q_fade)
        return query, _table(rope_angles(k_pos, frequencies), 1 / k_fade)

    def _settings(self) -> tuple[object, ...]:
        return (self.base, self.scale_base)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, scale_base={self.scale_base:g}"


class AxialRotary(_Turning):
    """RoPE on a grid: half of each head's pairs turn by the row, half by the column.

    Position p is the patch in row p // width and column p % width. Scores depend on the offsets
    in rows and in columns, not on p − p' alone.

    Args:
        d_model: width of the embeddings; d_model / n_heads must be a multiple of 4.
        n_heads: number of attention heads; must divide ``d_model``.
        width: patches in a row of the grid.
        base: as in :class:`Rotary`, for each axis; grids are short, so it is small.
        layout: as in :class:`Rotary`.

    Raises:
        TypeError, ValueError: as :class:`Rotary`, and if ``width`` is not an integer of at least 1.

    Source: Heo et al. 2024, arXiv 2403.13298, section 3.2, with its base of 100.
    """

    whole_positions = True

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        width: int,
        base: float = 100.0,
        layout: str = "interleaved",
    ) -> None:
        super().__init__(d_model, n_heads, base, layout, unit=4)
        self.width = validation.integer("width", width)

    def _tables(self, q_pos: Tensor, k_pos: Tensor) -> tuple[Table, Table]:
        frequencies, _ = rope_frequencies(self.d_head // 2, self.base, device=k_pos.device)
        query = _table(self._grid_angles(q_pos, frequencies))
        return query, query if q_pos is k_pos else _table(self._grid_angles(k_pos, frequencies))

    def _grid_angles(self, row: Tensor, frequencies: Tensor) -> Tensor:
        columns = row % self.width
        return axial_angles((row - columns) / self.width, columns, frequencies)  # (seq, pairs)

    def _settings(self) -> tuple[object, ...]:
        return (self.base, self.width)

    def extra_repr(self) -> str:
        """What ``print(encoding)`` shows in brackets."""
        return f"{super().extra_repr()}, width={self.width}"


def _table(angles: Tensor, factor: float | Tensor = 1.0) -> Table:
    return factor * angles.cos(), factor * angles.sin()
