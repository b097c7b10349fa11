"""Who looks from where at what: the positions of one pass through attention."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import TypeVar

import torch
from jaxtyping import Bool, Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.offsets import skew, toeplitz
from course_utils.encodings.rows import count_up, in_order, wide

# A weight of e^−40 of the largest: a million of them are 4e-12 of the sum. Smaller ones change no
# digit of it, but near 1e-38 they are so small that some processors take a hundred times as long.
NOTHING = 40.0
SLOW = 80.0  # a bias of more than −80 at the first key brings few there: looking costs more

Positions = Num[Tensor, "*batch seq"]
T = TypeVar("T")


class Places:
    """The positions of queries and keys, checked once; all layers of a pass share them.

    An *offset* is j − i, key position minus query position, in this whole package: negative ones
    look back, positive ones ahead. Row i, column j of a matrix of scores is query i and key j.

    Args:
        q_pos: (q_len,) or (batch, q_len), integers or finite floats.
        k_pos: (k_len,) or (batch, k_len); None for those of the queries.
        visible: (batch, k_len), True where a key may be seen, False where it is padding; None
            where all may. The last q_len keys are those of the queries.

    Attributes:
        q, k: the positions, int64 or at least float32, so that differences neither wrap nor round.
        visible: as given.
        ascending: whether each query stands after the one before it and after all keys that are
            no query. Then query i comes before all keys past the first k_len − q_len + i + 1.
        consecutive: whether positions count up by one, so that each diagonal has one offset.

    Both are False where they are not known: reading positions would break up a compiled model, and
    make a GPU wait.
    """

    def __init__(
        self, q_pos: Tensor, k_pos: Tensor | None = None, visible: Tensor | None = None
    ) -> None:
        q = validation.positions("q_pos", q_pos, batches=True)
        k = q if k_pos is None else validation.positions("k_pos", k_pos, batches=True)
        if q.ndim == k.ndim == 2 and len(q) != len(k):
            raise ValueError(f"k_pos must have {len(q)} rows, as q_pos, got {len(k)}")
        if visible is not None:
            texts = next((len(one) for one in (q, k) if one.ndim == 2), len(visible))
            validation.mask("visible", visible, texts, k.shape[-1], "keys")
        self._fill(q, k, visible)

    @classmethod
    def known(
        cls,
        q_pos: Tensor,
        k_pos: Tensor,
        ascending: bool | None = None,
        consecutive: bool | None = None,
        visible: Tensor | None = None,
        words: Tensor | None = None,
    ) -> Places:
        """Places of positions that were checked, or counted: what is known need not be read.

        ``words`` are the positions for door 1 where the queries' keys are not the last ones.
        """
        made = cls.__new__(cls)
        made._fill(q_pos, k_pos, visible, ascending, consecutive)
        made._words = words
        return made

    def _fill(
        self,
        q: Tensor,
        k: Tensor,
        visible: Tensor | None,
        ascending: bool | None = None,
        consecutive: bool | None = None,
    ) -> None:
        self.visible = visible
        self.q = wide(q)
        self.k = self.q if k is q else wide(k)
        self.q_len, self.k_len = q.shape[-1], k.shape[-1]
        self.ascending = in_order(self.q, self.k) if ascending is None else ascending
        self.consecutive = count_up(self.q, self.k) if consecutive is None else consecutive
        self._kept: dict[Hashable, object] = {}
        self._words: Tensor | None = None

    def blocks(self, size: int, causal: bool) -> Iterator[tuple[slice, Places]]:
        """At most ``size`` queries at a time, last first, with the keys that they may see.

        Last first, for then a matrix over offsets is a view of its diagonals: offsets grow by one
        from row to row as they do from column to column.
        """
        known = causal and self.ascending
        for start in range(0, self.q_len, size):
            stop = min(start + size, self.q_len)
            seen = self.k_len - self.q_len + stop if known else self.k_len
            yield slice(start, stop), _Block(self, start, stop, seen, causal)

    @property
    def offsets(self) -> Num[Tensor, "*batch q_len k_len"]:
        """The offset of each pair: (q_len, k_len); or (batch, 1, q_len, k_len), 1 for heads."""
        if self.q.ndim == self.k.ndim == 1:
            return self.k - self.q[:, None]
        return (self.k[..., None, :] - self.q[..., :, None])[:, None]

    @property
    def later(self) -> Bool[Tensor, "*batch q_len k_len"]:
        """Which keys stand after the query; shaped as the offsets."""
        if self.q.ndim == self.k.ndim == 1:
            return self.k > self.q[:, None]
        return (self.k[..., None, :] > self.q[..., :, None])[:, None]

    @property
    def padding(self) -> Bool[Tensor, "batch 1 1 k_len"] | None:
        """Which keys are padding; None where none is."""
        return None if self.visible is None else ~self.visible[:, None, None]

    @property
    def hidden(self) -> Bool[Tensor, "*batch q_len k_len"]:
        """Which keys a query of causal attention may not see: later ones and padding."""
        return self.later if self.padding is None else self.later | self.padding

    @property
    def own(self) -> Places:
        """The queries among themselves, without what was read before them."""
        if self.k is self.q:
            return self
        known = (self.q, self.q, self.ascending, self.consecutive)
        return self.keep("own", lambda: self.known(*known))

    @property
    def words(self) -> Num[Tensor, "*batch q_len"]:
        """The positions of the queries as door 1 wants them: 0 for padding, whatever it has."""
        if self._words is not None:
            return self._words
        if self.visible is None:
            return self.q
        return torch.where(self.visible[:, -self.q_len :], self.q, 0)

    @property
    def length(self) -> Num[Tensor, "*batch_and_1"]:
        """The position of the last visible key, plus 1: one number, or (batch, 1)."""
        k = self.k if self.visible is None else torch.where(self.visible, self.k, -1)
        return k.amax(-1, keepdim=k.ndim == 2) + 1

    @property
    def rising(self) -> bool:
        """Whether each key stands after the one before it; False where that is not known."""
        return self.consecutive or self.keep(
            "rising", lambda: validation.readable(self.k) and bool((self.k.diff() > 0).all())
        )

    def by_offset(self, function: Callable[[Tensor], Tensor], key: Hashable = None) -> Tensor:
        """A function of the offset at every query and key: (1 or batch, heads, q_len, k_len).

        Where positions are consecutive each offset is looked at once instead of once a query.
        ``function`` takes offsets (…) and returns (heads, …); ``key`` is that of :meth:`diagonals`.
        """
        if self.consecutive:
            return self.matrix(self.diagonals(function, key))[None]
        found = function(self.offsets)  # (heads, q_len, k_len) or (heads, batch, 1, q_len, k_len)
        return found[None] if found.ndim == 3 else found[:, :, 0].transpose(0, 1)

    def diagonals(self, function: Callable[[Tensor], Tensor], key: Hashable = None) -> Tensor:
        """A function of the offset of each diagonal, from lower left: (…, q_len + k_len − 1).

        Only where positions are consecutive. ``function`` takes offsets (n,) and returns (…, n);
        ``key`` names what it depends on if it has no parameters: its values are then kept.
        """

        def values() -> Tensor:
            row = torch.arange(1 - self.q_len, self.k_len, device=self.k.device)
            return function(row + (self.k[..., 0] - self.q[..., 0]).flatten()[0])

        return values() if key is None else self.keep(key, values)

    def matrix(self, row: Num[Tensor, "*lead diagonals"]) -> Num[Tensor, "*lead q_len k_len"]:
        """From what belongs to each diagonal to the matrix over queries and keys."""
        return toeplitz(row, self.q_len, self.k_len)

    def skewed(
        self, rows: Num[Tensor, "*lead q_len diagonals"]
    ) -> Num[Tensor, "*lead q_len k_len"]:
        """From what belongs to each query and diagonal to the matrix over queries and keys."""
        return skew(rows)

    def masked(self, bias: Tensor | None, spread: Callable[[], Tensor] | None) -> Tensor | None:
        """A bias with −inf for keys after the query; None if they must be hidden another way.

        It is known for what :meth:`by_offset` returned last, unchanged, in a block of causal
        attention. ``spread`` returns how far apart two of a query's scores can be without it,
        (heads,); where given, keys that the bias leaves no weight to speak of are hidden too.
        """
        return None

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What ``make`` returns, made once a pass: for tables that all layers read.

        ``key`` names all that it depends on beside these places. It must not depend on parameters,
        which may change while these places do not.
        """
        if key in self._kept:
            return self._kept[key]  # type: ignore[return-value]
        made = make()
        if torch.compiler.is_compiling() or not torch.is_inference_mode_enabled():
            self._kept[key] = made
        return made

    def whole(self) -> Places:
        """These places in whole numbers, for tables that are read at a row.

        Raises:
            ValueError: if a position is a fraction.
        """
        if not (self.q.is_floating_point() or self.k.is_floating_point()):
            return self
        for name, row in (("q_pos", self.q), ("k_pos", self.k)):
            validation.positions(name, row, whole=True, batches=True)
        q = self.q.long()
        k = q if self.k is self.q else self.k.long()
        return self.known(q, k, self.ascending, visible=self.visible)

    def __repr__(self) -> str:
        return f"Places({self.q_len} queries, {self.k_len} keys)"


class _Block(Places):
    """Some queries of a pass, last first, and the keys that they may see."""

    def __init__(self, of: Places, start: int, stop: int, seen: int, causal: bool) -> None:
        q, k = of.q[..., start:stop].flip(-1), of.k[..., :seen]
        visible = None if of.visible is None else of.visible[:, :seen]
        self._fill(q, k, visible, stop - start == 1 and causal and of.ascending, of.consecutive)
        self._of, self._causal = of, causal
        first = of.q_len - stop  # of its diagonals among those of the whole
        self._own = slice(first, first + self.q_len + self.k_len - 1)
        self._plain: Tensor | None = None

    @property
    def rising(self) -> bool:
        return self._of.rising

    def by_offset(self, function: Callable[[Tensor], Tensor], key: Hashable = None) -> Tensor:
        if not (self.consecutive and self._causal):
            return super().by_offset(function, key)
        self._row = self.diagonals(function, key)
        self._plain = self._row.unfold(-1, self.k_len, 1)[None]
        return self._plain

    def masked(self, bias: Tensor | None, spread: Callable[[], Tensor] | None) -> Tensor | None:
        if bias is None or bias is not self._plain or self.visible is not None:
            return None
        row, hidden = self._row, self._offset_row() > 0
        if spread and self._of.ascending and validation.readable(row):
            own = row[..., self.k_len - 1]  # of each query's own key
            if bool((row[..., 0] < own - SLOW).any()):
                hidden = hidden | (row < (own - NOTHING - spread())[:, None])
        return self.matrix(row.masked_fill(hidden, -torch.inf))[None]

    def diagonals(self, function: Callable[[Tensor], Tensor], key: Hashable = None) -> Tensor:
        if key is None:
            return function(self._offset_row())
        return self._of.diagonals(function, key)[..., self._own]

    def _offset_row(self) -> Tensor:
        return self._of.diagonals(lambda offsets: offsets, ("places", "offsets"))[self._own]

    def matrix(self, row: Num[Tensor, "*lead diagonals"]) -> Num[Tensor, "*lead q_len k_len"]:
        found = row.unfold(-1, self.k_len, 1)  # no copy: each row starts one entry later
        return found if found.device.type == "cpu" else found.contiguous()  # a GPU reads it aligned

    def skewed(
        self, rows: Num[Tensor, "*lead q_len diagonals"]
    ) -> Num[Tensor, "*lead q_len k_len"]:
        rows, width = rows.contiguous(), rows.shape[-1]
        shape = (*rows.shape[:-1], self.k_len)
        return rows.as_strided(shape, (*rows.stride()[:-2], width + 1, 1))


def by_offset(
    function: Callable[[Tensor], Tensor], q_pos: Tensor, k_pos: Tensor
) -> Float[Tensor, "heads q_len k_len"]:
    """Apply ``function``, from offsets (…) to (heads, …), to the offset of every query and key.

    See :meth:`Places.by_offset`; positions are one row each.
    """
    return Places(q_pos, k_pos).by_offset(function)[0]
