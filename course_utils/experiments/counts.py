"""Text told in advance without a network: tables of counts, and a cache of what stood before.

A yardstick for models: what order alone gives, and what a longer text has to offer.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict

from course_utils import text, validation


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
    """Tables that say how often each byte followed each run of up to ``order`` bytes.

    Args:
        known: (bytes,) ids to count.
        order: the longest run, in bytes.

    Raises:
        TypeError, ValueError: if ``order`` is no whole number from 0.
    """

    def __init__(self, known: text.Bytes, order: int) -> None:
        self.order = validation.integer("order", order, minimum=0)
        self._runs = _Runs(self.order)
        content = bytes(known.tolist())
        for at in range(len(content)):
            self._runs.count(content, at)

    def loss(self, blocks: text.Blocks, last: int) -> float:
        """Loss in nats a byte of all but the first ``last`` bytes of each block.

        Args:
            blocks: (blocks, block) ids to judge.
            last: how many bytes the tables look at; 0 for the frequencies alone.

        Raises:
            TypeError, ValueError: if ``last`` is no whole number from 0 to ``order``, or a block
                is not longer.
        """
        if validation.integer("last", last, minimum=0) > self.order:
            raise ValueError(f"last must be at most {self.order}, the order, got {last}")
        shares = [
            self._runs.share(block, at, last)
            for block in _from(blocks, last)
            for at in range(last, len(block))
        ]
        return _mean_loss(shares)

    def loss_with_cache(
        self, blocks: text.Blocks, cache: int, *, first: int, weight: float = 0.1
    ) -> float:
        """Loss in nats a byte if the bytes just before are counted too, in tables of their own.

        Args:
            blocks: (blocks, block) ids to judge.
            cache: how many bytes before the judged one are counted, as far as its block has them;
                0 for none.
            first: the first byte of each block that is judged.
            weight: of what the cache says; the rest is for the tables of the known text.

        Raises:
            TypeError, ValueError: if ``cache`` or ``first`` is no whole number from 0, a block is
                not longer than ``first``, or ``weight`` is not between 0 and 1.
        """
        validation.integer("cache", cache, minimum=0)
        if not 0 <= validation.number("weight", weight) < 1:
            raise ValueError(f"weight must be at least 0 and below 1, got {weight}")
        shares = []
        for block in _from(blocks, validation.integer("first", first, minimum=0)):
            seen = _Runs(self.order)
            for at in range(len(block)):
                if at >= first:
                    known = self._runs.share(block, at, self.order)
                    fresh = seen.share(block, at, self.order) if cache else known
                    shares.append((1 - weight) * known + weight * fresh)
                if cache:
                    seen.count(block, at)
                    if at >= cache:
                        seen.count(block, at - cache, -1)
        return _mean_loss(shares)


def _from(blocks: text.Blocks, first: int) -> list[bytes]:
    if first >= blocks.shape[1]:
        raise ValueError(f"first must be below the {blocks.shape[1]} bytes of a block, got {first}")
    return [bytes(row) for row in blocks.tolist()]


def _mean_loss(shares: list[float]) -> float:
    return -sum(map(math.log, shares)) / len(shares)
