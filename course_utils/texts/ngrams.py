"""Text told in advance without a network: tables of counts, and a cache of what stood before.

A yardstick for models: what order alone gives, and what a longer text has to offer.
"""

import math
from collections import Counter, defaultdict

from course_utils import validation
from course_utils.texts import text


class _Runs:
    """How often each byte followed each run of up to ``order`` bytes."""

    def __init__(self, order: int) -> None:
        self.tables: list[dict[bytes, Counter[int]]] = [
            defaultdict(Counter) for _ in range(order + 1)
        ]

    def count(self, known: bytes, at: int, times: int = 1) -> None:
        """Count the byte at a place after all runs that end before it; −1 takes it away again."""
        for looks, table in enumerate(self.tables[: at + 1]):
            followers = table[known[at - looks : at]]
            followers[known[at]] += times
            if not followers[known[at]]:
                del followers[known[at]]

    def share(self, known: bytes, at: int, last: int) -> float:
        """Probability of the byte at a place, after the ``last`` bytes before it.

        Blended with those of shorter runs: the more different bytes have followed a run, the more
        the shorter one says (Witten and Bell 1991).
        """
        share = 1 / text.VOCAB_SIZE
        for looks, table in enumerate(self.tables[: last + 1]):
            if found := table.get(known[at - looks : at]):
                share = (found[known[at]] + len(found) * share) / (found.total() + len(found))
        return share


class Counts:
    """Tables of how often each byte of a known text followed each run of up to ``order`` bytes."""

    def __init__(self, known: text.Bytes, order: int) -> None:
        self.order = validation.integer("order", order, minimum=0)
        self._runs = _Runs(self.order)
        content = bytes(known.tolist())
        for at in range(len(content)):
            self._runs.count(content, at)

    def loss(
        self,
        blocks: text.Blocks,
        last: int,
        *,
        first: int | None = None,
        cache: int = 0,
        weight: float = 0.1,
    ) -> float:
        """Mean loss of a text, in nats a byte.

        Args:
            last: how many bytes the tables look at; 0 for the frequencies alone.
            first: the first byte of each block that is judged, counted from 0; ``last`` if None.
            cache: how many bytes before the judged one are counted too, in tables of their own, as
                far as the block has them; 0 for none.
            weight: of what the cache says, below 1; the rest is for the tables of the known text.
        """
        if validation.integer("last", last, minimum=0) > self.order:
            raise ValueError(f"last must be at most {self.order}, the order, got {last}")
        first = last if first is None else first
        validation.below("first", first, blocks.shape[1], "the bytes of a block")
        validation.integer("cache", cache, minimum=0)
        if not 0 <= validation.number("weight", weight) < 1:
            raise ValueError(f"weight must be at least 0 and below 1, got {weight}")
        lost = []
        for block in (bytes(row) for row in blocks.tolist()):
            seen = _Runs(last)
            for at in range(0 if cache else first, len(block)):
                if at >= first:
                    share = self._runs.share(block, at, last)
                    if cache:
                        share = (1 - weight) * share + weight * seen.share(block, at, last)
                    lost.append(-math.log(share))
                if cache:
                    seen.count(block, at)
                    if at >= cache:
                        seen.count(block, at - cache, -1)
        return sum(lost) / len(lost)
