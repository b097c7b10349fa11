"""N-gram tables of bytes, and a cache of the bytes just before: prediction without a network.

A yardstick for models: what order alone gives, and what a longer text has to offer.
"""

import math
from collections import Counter, defaultdict

from course_utils import validation
from course_utils.texts import text


class _FollowerCounts:
    """How often each byte followed each run of up to ``order`` bytes."""

    def __init__(self, order: int) -> None:
        self.tables: list[dict[bytes, Counter[int]]] = [
            defaultdict(Counter) for _ in range(order + 1)
        ]  # run length → run → following byte → count

    def add(self, content: bytes, at: int, times: int = 1) -> None:
        """Count the byte at a place after every run that ends before it; −1 takes it away."""
        for length, table in enumerate(self.tables[: at + 1]):
            followers = table[content[at - length : at]]
            followers[content[at]] += times
            if not followers[content[at]]:
                del followers[content[at]]

    def probability(self, content: bytes, at: int, order: int) -> float:
        """Probability of the byte at a place, after the ``order`` bytes before it.

        Blended with those of shorter runs: the more different bytes have followed a run, the more
        weight the shorter one gets (Witten and Bell 1991).
        """
        probability = 1 / text.VOCAB_SIZE
        for length, table in enumerate(self.tables[: order + 1]):
            followers = table.get(content[at - length : at])
            if followers:
                total, kinds = followers.total(), len(followers)
                probability = (followers[content[at]] + kinds * probability) / (total + kinds)
        return probability


class NGrams:
    """Predicts each byte of a text from the few before it, as they were followed in a known text.

    Args:
        known: the text to count.
        order: the longest run of bytes that is looked at.
    """

    def __init__(self, known: text.Bytes, order: int) -> None:
        self.order = validation.integer("order", order, minimum=0)
        self._counts = _FollowerCounts(self.order)
        content = bytes(known.tolist())
        for at in range(len(content)):
            self._counts.add(content, at)

    def loss(
        self,
        blocks: text.Blocks,
        order: int,
        *,
        first: int | None = None,
        cache: int = 0,
        weight: float = 0.1,
        decoy: text.Bytes | None = None,
    ) -> float:
        """Mean loss of a text, in nats a byte.

        Args:
            blocks: the text; nothing before a block is looked at.
            order: how many bytes the tables look at; 0 for the frequencies alone.
            first: the first byte of each block that is judged, counted from 0; ``order`` if None.
            cache: how many bytes before the judged one are counted too, in tables of their own, as
                far as the block has them; 0 for none.
            weight: of the cache's probability, below 1; the rest is for the known text's.
            decoy: bytes to count in place of those before the judged one, the same for all; with a
                cache, in place of those further back than it.
        """
        if validation.integer("order", order, minimum=0) > self.order:
            raise ValueError(f"order must be at most {self.order}, that of the tables, got {order}")
        first = order if first is None else first
        validation.below("first", first, blocks.shape[1], "the bytes of a block")
        validation.integer("cache", cache, minimum=0)
        if not 0 <= validation.number("weight", weight) < 1:
            raise ValueError(f"weight must be at least 0 and below 1, got {weight}")
        unrelated = bytes(decoy.tolist()) if decoy is not None else b""
        losses = []
        for row in blocks.tolist():
            block = bytes(row)
            recent = _FollowerCounts(order)
            for at in range(len(unrelated)):
                recent.add(unrelated, at)
            for at in range(0 if cache else first, len(block)):
                if at >= first:
                    probability = self._counts.probability(block, at, order)
                    if cache or unrelated:
                        of_recent = recent.probability(block, at, order)
                        probability = (1 - weight) * probability + weight * of_recent
                    losses.append(-math.log(probability))
                if cache:
                    recent.add(block, at)
                if cache and at >= cache:
                    recent.add(block, at - cache, -1)
        return sum(losses) / len(losses)
