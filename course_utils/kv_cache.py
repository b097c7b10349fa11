"""What causal attention keeps of the tokens it has read, so that it reads each of them once."""

import torch
from torch import Tensor

from course_utils import validation
from course_utils.encodings import Places


class KVCache:
    """Keys, values and positions of the tokens that one attention module has read.

    Keys are kept as they are before door 2. They are turned anew at every step, with all
    positions known, so that a rotation that depends on the current length (dynamic NTK) never
    meets keys turned under an old one. That costs one rotation of the keys a step.

    Start with an empty one, ``KVCache()``, and pass it to every call of the same module. A call
    that fails leaves it as it was.
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None  # (batch, heads, seq, d_head)
        self.values: Tensor | None = None  # (batch, heads, seq, d_head)
        self.positions: Tensor | None = None  # (seq,)
        self.consecutive = True  # whether the positions count up by one

    def __len__(self) -> int:
        """How many tokens have been read."""
        return 0 if self.positions is None else len(self.positions)

    def __repr__(self) -> str:
        return f"KVCache({len(self)} tokens)"

    def places(self, count: int, device: torch.device, positions: Tensor | None = None) -> Places:
        """Queries at these positions, and as keys all tokens read before and the queries' own.

        Without positions ``count`` are counted: one more than the largest so far, and so on.
        """
        if positions is not None:
            seen = [] if self.positions is None else [self.positions]
            return Places.known(positions, torch.cat([*seen, positions]) if seen else positions)
        row = torch.arange(count, device=device)
        if self.positions is None:
            return Places.known(row, row, ascending=True, consecutive=True)
        row = row + self.positions.max() + 1
        return Places.known(row, torch.cat([self.positions, row]), True, self.consecutive)

    def joined(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values with new ones after them; the cache itself stays as it is."""
        if self.keys is None or self.values is None:
            return k, v
        ours, theirs = self._kind(self.keys), self._kind(k)
        if ours != theirs:
            raise ValueError(
                "cache must be used with the same batch size, heads, width, dtype and device; "
                f"it holds {ours}, got {theirs}"
            )
        return torch.cat([self.keys, k], dim=2), torch.cat([self.values, v], dim=2)

    def keep(self, k: Tensor, v: Tensor, at: Places) -> None:
        """Hold these from now on: all tokens read so far, the last call's included."""
        self.keys, self.values = k, v
        self.positions, self.consecutive = at.k, at.consecutive

    @staticmethod
    def _kind(k: Tensor) -> str:
        return f"({k.shape[0]}, {k.shape[1]}, {k.shape[3]}) {k.dtype} on {k.device}"


def places(x: Tensor, positions: Tensor | None = None, cache: KVCache | None = None) -> Places:
    """Where the tokens of ``x``, (batch, seq, …), look from and at what; counted if not given."""
    count = x.shape[1]
    if positions is not None:
        positions = validation.positions("positions", positions, length=count).to(x.device)
    return (KVCache() if cache is None else cache).places(count, x.device, positions)
