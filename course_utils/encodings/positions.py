"""Positions of queries and keys in one pass through attention, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.offsets import toeplitz

Positions = Num[Tensor, "*batch seq"]


class Places:
    """Positions of queries and keys, checked once, and the offsets and masks derived from them.

    An *offset* is j − i, key position minus query position, in this whole package: negative
    offsets look back, positive ones ahead. Row i, column j of a matrix of scores is query i and
    key j. A model makes its places once; all of its layers share them, and what encodings
    :meth:`keep` there.

    Args:
        q_pos: (q_len,) or (batch, q_len), integers or finite floats.
        k_pos: (k_len,) or (batch, k_len); None for those of the queries.
        visible: (batch, k_len), True where a key may be seen, False where it is padding; or
            (batch, q_len, k_len), True where that query may see it; None where all may. The last
            q_len keys are those of the queries.

    Attributes:
        q, k: the positions, int64 or at least float32, so that differences neither wrap nor round.
        q_len, k_len: how many there are.
        ascending: whether each query stands after the one before it and after all keys that are no
            query. Then all keys that stand after it come behind its own key, and can be cut off.
        consecutive: whether positions count up by one, so that each diagonal has one offset.
        kept: what encodings have kept for this pass.

    For texts of 3 and 5 words, padded at the left, a model counts q = [[−2, −1, 0, 1, 2],
    [0, 1, 2, 3, 4]]: words from 0 on, padding before them below 0, so that positions still count
    up by one. ``visible`` is False at −2 and −1.

    ``ascending`` and ``consecutive`` are False where they are not known: reading positions would
    break up a compiled model and make a GPU wait.
    """

    def __init__(
        self, q_pos: Tensor, k_pos: Tensor | None = None, visible: Tensor | None = None
    ) -> None:
        q = validation.positions("q_pos", q_pos, batches=True)
        k = q if k_pos is None else validation.positions("k_pos", k_pos, batches=True)
        if q.ndim == k.ndim == 2 and len(q) != len(k):
            raise ValueError(f"k_pos must have {len(q)} rows, as q_pos, got {len(k)}")
        if visible is not None:
            texts = len(q) if q.ndim == 2 else len(k) if k.ndim == 2 else len(visible)
            validation.mask("visible", visible, texts, k.shape[-1], "keys", q.shape[-1])
        self._fill(q, k, visible)

    @classmethod
    def unchecked(
        cls,
        q_pos: Tensor,
        k_pos: Tensor,
        visible: Tensor | None = None,
        *,
        ascending: bool | None = None,
        consecutive: bool | None = None,
        padded_queries: bool = True,
    ) -> Places:
        """Places of positions that were checked, or counted, before.

        ``ascending`` and ``consecutive`` are looked up where they are None. With ``padded_queries``
        False no query is padding, and their keys may stand anywhere among the keys.
        """
        places = cls.__new__(cls)
        places._fill(q_pos, k_pos, visible, ascending, consecutive)
        if not padded_queries:
            places._padded_queries = None
        return places

    def _fill(
        self,
        q: Tensor,
        k: Tensor,
        visible: Tensor | None,
        ascending: bool | None = None,
        consecutive: bool | None = None,
    ) -> None:
        self.q = _widened(q)
        self.k = self.q if k is q else _widened(k)
        self.q_len, self.k_len = q.shape[-1], k.shape[-1]
        self.visible = visible
        self.ascending = _in_order(self.q, self.k) if ascending is None else ascending
        self.consecutive = _count_up(self.q, self.k) if consecutive is None else consecutive
        self.kept: dict[Hashable, Any] = {}
        self._parent = self  # of a block: the places that it is a part of
        self._first_diagonal = 0  # the block's first among the diagonals of the whole pass
        self._padded_queries: Tensor | None = None
        if visible is not None and visible.ndim == 2:
            self._padded_queries = ~visible[:, -self.q_len :]

    # Offsets and masks

    @property
    def offsets(self) -> Num[Tensor, "*batch q_len k_len"]:
        """The offset of each pair: (q_len, k_len); or (batch, 1, q_len, k_len), 1 for heads."""
        if self.q.ndim == self.k.ndim == 1:
            return self.k - self.q[:, None]
        return (self.k[..., None, :] - self.q[..., :, None])[:, None]

    @property
    def diagonal_offsets(self) -> Num[Tensor, " diagonals"]:
        """The offset of each diagonal, lowest first: q_len + k_len − 1 of them.

        Diagonal t holds the pairs j − i = t − q_len + 1: two queries after one key have the
        offsets −1, 0, 1 and three keys 0, 1, 2 seen from queries 1, 2 have −2, −1, 0, 1.

        Raises ValueError if positions are not known to be consecutive.
        """
        if not self.consecutive:
            raise ValueError(f"positions must be consecutive for one offset a diagonal, got {self}")
        first = (self.k[..., 0] - self.q[..., 0]).flatten()[0]
        return torch.arange(1 - self.q_len, self.k_len, device=self.k.device) + first

    @property
    def later(self) -> Bool[Tensor, "*batch q_len k_len"]:
        """Which keys stand after the query; shaped as the offsets."""
        return self.offsets > 0

    @property
    def padding(self) -> Bool[Tensor, "batch 1 #q_len k_len"] | None:
        """Which keys may not be seen, whatever their position; None where all may."""
        if self.visible is None:
            return None
        return ~(self.visible[:, None, None] if self.visible.ndim == 2 else self.visible[:, None])

    @property
    def hidden(self) -> Bool[Tensor, "*batch q_len k_len"]:
        """Which keys a query of causal attention may not see: later ones and padding."""
        return self.later if self.padding is None else self.later | self.padding

    # Positions in other forms

    @property
    def queries_alone(self) -> Places:
        """The queries among themselves, without what was read before them."""
        if self.k is self.q:
            return self
        places = self.kept.get("queries alone")
        if places is None:
            places = self.unchecked(
                self.q, self.q, ascending=self.ascending, consecutive=self.consecutive
            )
            self.keep("queries alone", places)
        return places

    @property
    def embedding_positions(self) -> Num[Tensor, "*batch q_len"]:
        """The positions of the queries as door 1 takes them: 0 for padding, whatever it has."""
        if self._padded_queries is None:
            return self.q
        return torch.where(self._padded_queries, 0, self.q)

    @property
    def length(self) -> Num[Tensor, "*batch_and_1"]:
        """The position of the last visible key, plus 1: one number, or (batch, 1)."""
        if self.visible is not None and self.visible.ndim == 3:
            raise ValueError(
                "attention_mask must be (batch, keys) for an encoding that looks at the length: "
                "with a mask for each query there is no one length"
            )
        k = self.k if self.visible is None else torch.where(self.visible, self.k, -1)
        return k.amax(-1, keepdim=k.ndim == 2) + 1

    @property
    def rising(self) -> bool:
        """Whether each key stands after the one before it; False where that is not known."""
        if self.consecutive:
            return True
        return validation.readable(self.k) and bool((self.k.diff() > 0).all())

    def whole(self) -> Places:
        """These places in whole numbers, for tables read at a row; ValueError for fractions."""
        if not (self.q.is_floating_point() or self.k.is_floating_point()):
            return self
        for name, row in (("q_pos", self.q), ("k_pos", self.k)):
            validation.positions(name, row, whole=True, batches=True)
        q = self.q.long()
        k = q if self.k is self.q else self.k.long()
        return self.unchecked(q, k, self.visible, ascending=self.ascending)

    # What encodings compute from them

    def keep(self, key: Hashable, value: Any) -> Any:
        """Put a table into ``kept``, so that it is computed once a pass, and return it.

        ``key`` holds the object that made the table and whatever else it depends on beside these
        places. It must not depend on parameters, which may change while these places do not.
        In inference mode nothing is kept: its tensors could not be used outside of it.
        """
        if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
            self.kept[key] = value
        return value

    def diagonals(
        self, function: Callable[[Tensor], Tensor], key: Hashable
    ) -> Num[Tensor, "*lead diagonals"]:
        """A function of the offset of each diagonal, computed once a pass; blocks get their part.

        Only where positions are consecutive. ``function`` takes offsets (n,) and returns (…, n),
        ``key`` is as for :meth:`keep`.
        """
        parent = self._parent
        values = parent.kept.get(key)
        if values is None:
            values = parent.keep(key, function(parent.diagonal_offsets))
        return values[..., self.own_diagonals]

    @property
    def own_diagonals(self) -> slice:
        """Of a block: which of the diagonals of the whole pass are its own."""
        return slice(self._first_diagonal, self._first_diagonal + self.q_len + self.k_len - 1)

    def by_offset(
        self, function: Callable[[Tensor], Tensor]
    ) -> Num[Tensor, "#batch heads q_len k_len"]:
        """A function of the offset at every query and key.

        ``function`` takes offsets (n,) and returns (heads, n). Where positions are consecutive it
        gets each offset once.
        """
        if self.consecutive:
            return toeplitz(function(self.diagonal_offsets), self.q_len, self.k_len)[None]
        offsets = self.offsets
        values = function(offsets.flatten()).unflatten(-1, offsets.shape)
        if offsets.ndim == 2:  # values are (heads, q_len, k_len)
            return values[None]
        return values[:, :, 0].transpose(0, 1)  # from (heads, batch, 1, q_len, k_len)

    def blocks(self, size: int, causal: bool) -> Iterator[tuple[slice, Places]]:
        """Slices of at most ``size`` queries, and their places with the keys that they may see."""
        cut = causal and self.ascending  # later keys can be left out
        for start in range(0, self.q_len, size):
            stop = min(start + size, self.q_len)
            seen = self.k_len - self.q_len + stop if cut else self.k_len
            visible = None if self.visible is None else self.visible[..., :seen]
            if visible is not None and visible.ndim == 3:
                visible = visible[:, start:stop]
            block = self.unchecked(
                self.q[..., start:stop],
                self.k[..., :seen],
                visible,
                ascending=cut,
                consecutive=self.consecutive,
            )
            block._parent = self
            block._first_diagonal = self.q_len - stop
            yield slice(start, stop), block

    def __repr__(self) -> str:
        return f"Places({self.q_len} queries, {self.k_len} keys)"


def by_offset(
    function: Callable[[Tensor], Tensor], q_pos: Tensor, k_pos: Tensor
) -> Float[Tensor, "heads q_len k_len"]:
    """Apply ``function``, from offsets (n,) to (heads, n), to the offset of every query and key.

    ``q_pos`` and ``k_pos`` are one row of positions each; see :meth:`Places.by_offset`.
    """
    return Places(q_pos, k_pos).by_offset(function)[0]


def angle_dtype(device: torch.device) -> torch.dtype:
    """float64 wherever the device has it: a float32 product p·θ is off by 1e-4 rad at p = 2048."""
    return torch.float32 if device.type == "mps" else torch.float64


def _widened(row: Tensor) -> Tensor:
    """Positions as int64 or at least float32, so that differences neither wrap nor round."""
    if row.is_floating_point():
        return row.to(torch.promote_types(row.dtype, torch.float32))
    return row.to(torch.int64)


def _in_order(q: Tensor, k: Tensor) -> bool:
    """Whether each query stands after the one before it and after all keys that are no query."""
    if not validation.readable(q) or k.shape[-1] < q.shape[-1]:
        return False
    before = k.shape[-1] - q.shape[-1]
    if not (k is q or torch.equal(k[..., before:], q)) or bool((q.diff() <= 0).any()):
        return False
    return before == 0 or bool((k[..., :before].amax(-1) < q[..., 0]).all())


def _count_up(q: Tensor, k: Tensor) -> bool:
    """Whether positions count up by one, and offsets are the same in every row of a batch."""
    if not validation.readable(q) or q.is_floating_point() or k.is_floating_point():
        return False
    steps = bool((q.diff() == 1).all()) and (k is q or bool((k.diff() == 1).all()))
    if not steps or q.ndim == k.ndim == 1:
        return steps
    between = k[..., 0] - q[..., 0]  # (batch,), where one of the two has rows
    return bool((between == between.flatten()[0]).all())
