"""What causal attention keeps of the tokens it has read, so that it reads each of them once."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor
from torch.nn import functional as F

from course_utils import validation
from course_utils.encodings.positions import Places


class KVCache:
    """Keys, values, positions and padding of the tokens that one attention module has read.

    Keys are kept as door 2 returns them where it turns each key by itself (``static_keys`` of the
    encoding). Otherwise they are kept as they were before it and pass it anew at every step, with
    all positions known, so that a rotation that depends on the current length (dynamic NTK) never
    meets keys turned under an old one.

    Start with an empty one, ``KVCache()``, and pass it to every call of the same module. A call
    that fails leaves it as it was.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None  # (batch, kv_heads, seq, d_head)
        self.values: Tensor | None = None  # (batch, kv_heads, seq, d_head)
        self.positions: Tensor | None = None  # (seq,) or (batch, seq)
        self.visible: Tensor | None = None  # (batch, seq), False for padding; None for no padding
        self.consecutive = True  # whether the positions count up by one

    def __len__(self) -> int:
        """How many tokens of each text have been read, padding included."""
        return 0 if self.positions is None else self.positions.shape[-1]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} tokens)"

    def places(
        self, x: Tensor, positions: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Places:
        """Positions of the queries, and as keys those of all tokens read before and their own.

        Without positions each text counts on from its largest so far; padding counts for nothing.
        Arguments as in :func:`places_of`.
        """
        visible = self._visible_keys(x, attention_mask)
        counted_without_padding = positions is None and visible is None
        if positions is None:
            before = None if visible is None else visible[:, : -x.shape[1]]
            positions = self._next_position(before) + _count_words(x, visible)
        return Places.unchecked(
            positions,
            _after(self.positions, positions),
            visible,
            ascending=True if counted_without_padding else None,
            consecutive=self.consecutive if counted_without_padding else None,
        )

    def joined(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values with new ones after them; the cache itself counts as it was."""
        if self.keys is None or self.values is None:
            return k, v
        _check_same_kind(self.keys, k)
        return torch.cat([self.keys, k], dim=2), torch.cat([self.values, v], dim=2)

    def store(self, k: Tensor, v: Tensor, at: Places) -> None:
        """Hold these from now on: all tokens read so far, the last call's included."""
        self.keys, self.values = k, v
        self.positions, self.visible, self.consecutive = at.k, at.visible, at.consecutive

    def select(self, rows: Sequence[int] | Tensor) -> None:
        """Go on with these texts of the batch, in this order; one may come several times.

        That is what a beam search needs, or a batch of which some texts have ended.
        """
        if self.keys is None or self.values is None:
            raise ValueError("rows must be those of texts that were read, the cache is empty")
        index = torch.as_tensor(rows)
        if index.ndim != 1 or not len(index) or index.dtype not in (torch.int64, torch.int32):
            raise ValueError(f"rows must be numbers of texts, (rows,), got {rows!r}")
        for row in index.tolist():
            validation.below("rows", row, len(self.keys), "the number of texts")
        index = index.to(self.keys.device)
        self.keys, self.values = self.keys[index], self.values[index]
        if self.positions is not None and self.positions.ndim == 2:
            self.positions = self.positions[index]
        if self.visible is not None:
            self.visible = self.visible[index]

    def keep_last(self, n: int, first: int = 0) -> None:
        """Forget all but the last n tokens of each text; what follows counts on as before.

        The ``first`` tokens stay too, at their positions: Xiao et al. 2023 (arXiv 2309.17453,
        section 3.2) keep four, the attention sinks, so that a window can slide.
        """
        kept = validation.integer("n", n) + validation.integer("first", first, minimum=0)
        if self.keys is None or self.values is None or self.positions is None or kept >= len(self):
            return
        self.keys, self.values = _ends(self.keys, first, n, 2), _ends(self.values, first, n, 2)
        self.positions = _ends(self.positions, first, n, -1)
        self.visible = None if self.visible is None else _ends(self.visible, first, n, 1)
        self.consecutive = self.consecutive and first == 0

    def _visible_keys(self, x: Tensor, attention_mask: Tensor | None) -> Tensor | None:
        """Which keys may be seen, (batch, keys), those read before and the new ones."""
        texts, count = x.shape[:2]
        if attention_mask is not None:
            new = f"{len(self)} of the cache and {count} new ones"
            keys = f"keys, {new}" if len(self) else "keys"
            if attention_mask.ndim == 3:
                raise ValueError(
                    "attention_mask must be (batch, keys) beside a cache, which remembers it, got "
                    f"{tuple(attention_mask.shape)}"
                )
            return _checked_mask(attention_mask, texts, len(self) + count, keys, x.device)
        if self.visible is None:
            return None
        if self.visible.shape[0] != texts:
            raise ValueError(
                f"cache must be used with the same batch size, {self.visible.shape[0]}, got {texts}"
            )
        return torch.cat([self.visible, self.visible.new_ones(texts, count)], dim=1)

    def _next_position(self, visible: Tensor | None) -> Tensor | int:
        """The position after the largest so far, (1,) or (batch, 1); 0 where all is padding."""
        if self.positions is None:
            return 0
        if visible is None:
            return self.positions.amax(-1, keepdim=True) + 1
        words = torch.where(visible, self.positions, self.positions.amin())
        return (words.amax(-1, keepdim=True) + 1).where(visible.any(-1, True), 0)


class FixedCache(KVCache):
    """A cache with room for ``capacity`` tokens of each text, whose tensors keep their shape.

    So a step that was compiled once serves all later ones, and nothing is copied when a token is
    added. The price: after the first call attention meets all of the room, with what is empty
    hidden from it. Keys and values are written in place, so not where gradients are wanted.
    A mask goes with the first call and is remembered.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = validation.integer("capacity", capacity)
        self.filled: Tensor | None = None  # (), how many tokens there are

    def __len__(self) -> int:
        return 0 if self.filled is None else int(self.filled)

    def places(
        self, x: Tensor, positions: Tensor | None = None, attention_mask: Tensor | None = None
    ) -> Places:
        """As for :class:`KVCache`; the keys are all that the cache has room for."""
        slots = self._slots(x.shape[1], x.device)
        if self.positions is None or self.visible is None:
            return super().places(x, positions, attention_mask)
        if attention_mask is not None:
            raise ValueError(
                "attention_mask must be given with the first tokens: a cache of fixed capacity "
                "remembers it"
            )
        row = positions
        if row is None:
            row = self._next_position(self.visible) + torch.arange(x.shape[1], device=x.device)
        dtype = torch.promote_types(self.positions.dtype, row.dtype)
        row = row.to(dtype).expand(x.shape[0], -1)
        keys = self.positions.to(dtype).index_copy(1, slots, row)
        visible = self.visible.index_fill(1, slots, True)
        return Places.unchecked(
            row, keys, visible, ascending=False, consecutive=False, padded_queries=False
        )

    def joined(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """All of the room, with new keys and values in it past those that count."""
        if self.keys is None or self.values is None:
            return k, v
        _check_same_kind(self.keys, k)
        slots = self._slots(k.shape[2], k.device)
        return self.keys.index_copy_(2, slots, k), self.values.index_copy_(2, slots, v)

    def store(self, k: Tensor, v: Tensor, at: Places) -> None:
        """Hold these from now on, at first by moving them into the room."""
        if self.filled is not None:
            self.positions, self.visible = at.k, at.visible
            self.filled = self.filled + at.q_len
            return
        room, texts = self.capacity - at.k_len, len(k)
        visible = at.visible
        if visible is None:
            visible = torch.ones(texts, at.k_len, dtype=torch.bool, device=k.device)
        self.keys, self.values = F.pad(k, (0, 0, 0, room)), F.pad(v, (0, 0, 0, room))
        self.positions = F.pad(at.k.expand(texts, -1), (0, room))
        self.visible = F.pad(visible, (0, room))
        self.filled = torch.tensor(at.k_len, device=k.device)

    def keep_last(self, n: int, first: int = 0) -> None:
        """Forget all but the last n tokens of each text; what follows counts on as before.

        ``first`` as for :class:`KVCache`.
        """
        kept = validation.integer("n", n) + validation.integer("first", first, minimum=0)
        used = len(self)
        if self.filled is None or self.visible is None or kept >= used:
            return
        slots = torch.arange(self.capacity, device=self.filled.device)
        order = torch.cat([slots[:first], slots[used - n :], slots[first : used - n]])
        for name, axis in (("keys", 2), ("values", 2), ("positions", 1), ("visible", 1)):
            setattr(self, name, getattr(self, name).index_select(axis, order))
        self.visible = self.visible & (slots < kept)
        self.filled = torch.full_like(self.filled, kept)

    def _slots(self, count: int, device: torch.device) -> Tensor:
        """Where the next tokens go."""
        used = self.filled
        if used is None:
            used = torch.zeros((), dtype=torch.long, device=device)
        if validation.readable(used) and int(used) + count > self.capacity:
            raise ValueError(
                f"cache must have room for {int(used)} + {count} tokens, got {self.capacity}"
            )
        slots = used + torch.arange(count, device=device)
        room = f"cache must have room for {count} more tokens, got {self.capacity} in all"
        return validation.inside(slots, self.capacity, room)


def places_of(
    x: Tensor,
    positions: Tensor | None = None,
    cache: KVCache | None = None,
    attention_mask: Tensor | None = None,
) -> Places:
    """Positions of the tokens of ``x``, (batch, seq, …), as queries and as keys.

    Args:
        x: what stands at those positions.
        positions: (seq,) or (batch, seq); counted if not given, from 0 or from what the cache has
            read, without padding.
        cache: what was read before: further keys.
        attention_mask: (batch, keys), True where a key may be seen, False where it is padding.
            Keys are those of the cache and those of ``x``; None hides of the cache what was hidden
            before, and nothing of ``x``. Without a cache it may be (batch, seq, seq), True where
            that query may see that key.
    """
    texts, count = x.shape[:2]
    if positions is not None:
        positions = validation.positions("positions", positions, length=count, texts=texts)
        positions = positions.to(x.device)
    if cache is not None:
        return cache.places(x, positions, attention_mask)
    visible = None
    if attention_mask is not None:
        visible = _checked_mask(attention_mask, texts, count, "keys", x.device, count)
    counted_without_padding = positions is None and visible is None
    if positions is None:
        positions = _count_words(x, visible)
    known = True if counted_without_padding else None
    return Places.unchecked(positions, positions, visible, ascending=known, consecutive=known)


def places_across(
    x: Tensor,
    memory: Tensor,
    positions: Tensor | None = None,
    memory_positions: Tensor | None = None,
    attention_mask: Tensor | None = None,
) -> Places:
    """Positions of the tokens of ``x`` as queries, and of another text, the memory, as keys.

    Both are (batch, seq, …), and are counted from 0 where positions are not given. The mask is
    (batch, memory), or (batch, seq, memory).
    """
    q_pos = _checked_positions("positions", x, positions)
    k_pos = _checked_positions("memory_positions", memory, memory_positions)
    visible = None
    if attention_mask is not None:
        texts, keys = memory.shape[:2]
        visible = _checked_mask(attention_mask, texts, keys, "keys", x.device, x.shape[1])
    # No query is among the keys: none is padding, and none stands in their order.
    return Places.unchecked(
        q_pos, k_pos, visible, ascending=False, consecutive=False, padded_queries=False
    )


def _checked_positions(name: str, text: Tensor, positions: Tensor | None) -> Tensor:
    """The positions of a text (batch, seq, …), from 0 where none are given."""
    if positions is None:
        return torch.arange(text.shape[1], device=text.device)
    row = validation.positions(name, positions, length=text.shape[1], texts=text.shape[0])
    return row.to(text.device)


def document_mask(documents: Int[Tensor, "batch seq"]) -> Bool[Tensor, "batch seq seq"]:
    """The attention mask of texts that are packed into rows: a token sees its own text only.

    ``documents`` has the same number at all tokens of a text. Positions that start again with each
    text go with it; the mask alone does not restart them.
    """
    validation.tensor("documents", documents, "(batch, seq)", ndim=2)
    return documents[:, :, None] == documents[:, None, :]


def _ends(held: Tensor, first: int, last: int, axis: int) -> Tensor:
    """The first and the last entries along an axis."""
    size = held.shape[axis]
    end = held.narrow(axis, size - last, last)
    return torch.cat([held.narrow(axis, 0, first), end], axis) if first else end


def layer_caches(cache: Sequence[KVCache] | None, layers: int) -> Sequence[KVCache | None]:
    """The caches of a model's layers, or None for each; TypeError or ValueError if they misfit."""
    if cache is None:
        return [None] * layers
    is_list = isinstance(cache, Sequence) and all(isinstance(layer, KVCache) for layer in cache)
    if not is_list or len(cache) != layers:
        raise TypeError(
            f"cache must be a list of {layers} KVCache, one a block, as new_cache() makes it, "
            f"got {cache!r}"
        )
    if not torch.compiler.is_compiling() and len({len(layer) for layer in cache}) > 1:
        raise ValueError(
            f"cache must have read the same tokens in every block, got {cache!r}; a call was "
            "interrupted: start again with new_cache()"
        )
    return cache


def _check_same_kind(held: Tensor, k: Tensor) -> None:
    if _kind(held) != _kind(k):
        raise ValueError(
            "cache must be used with the same batch size, heads, width, dtype and device; "
            f"it holds {_kind(held)}, got {_kind(k)}"
        )


def _kind(k: Tensor) -> str:
    return f"({k.shape[0]}, {k.shape[1]}, {k.shape[3]}) {k.dtype} on {k.device}"


def _checked_mask(
    mask: Tensor, texts: int, keys: int, what: str, device: torch.device, queries: int = 0
) -> Tensor | None:
    """The mask, as it is; None where it hides nothing, as far as that can be known."""
    mask = validation.mask("attention_mask", mask, texts, keys, what, queries).to(device)
    return None if validation.readable(mask) and bool(mask.all()) else mask


def _count_words(x: Tensor, visible: Tensor | None) -> Tensor:
    """0, 1, … for the tokens of ``x``, the last keys; with a mask (batch, seq), without padding.

    Padding before the first word gets numbers below 0, padding later that of the word before it.
    """
    row = torch.arange(x.shape[1], device=x.device)
    if visible is None or visible.ndim == 3:
        return row
    words = visible[:, -x.shape[1] :]
    # So all positions of a text count up by one where no padding stands after its first word.
    leading = (words.cumsum(-1) == 0).sum(-1, keepdim=True)
    return row - (~words).cumsum(-1).maximum(leading)


def _after(before: Tensor | None, new: Tensor) -> Tensor:
    """Positions of earlier tokens, and of new ones after them: (keys,) or (batch, keys)."""
    if before is None:
        return new
    if before.ndim != new.ndim:
        texts = before.shape[0] if before.ndim == 2 else new.shape[0]
        before, new = before.expand(texts, -1), new.expand(texts, -1)
    return torch.cat([before, new], dim=-1)
