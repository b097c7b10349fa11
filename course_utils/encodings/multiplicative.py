"""Learned positions that multiply: x ⊙ table[position]. An experiment, not a published scheme."""

from course_utils.encodings.base import Embeddings, Look, Tokens
from course_utils.encodings.learned import Table
from course_utils.encodings.positions import Positions


class Multiplicative(Table):
    """Multiplies the embeddings, entry by entry, by a learned vector for each position, at door 1.

    A token whose embedding is zero cannot learn where it stands. Arguments as for
    :class:`~course_utils.encodings.Learned`; ``std`` is around 1, so a small one leaves embeddings
    nearly as they are.
    """

    look = Look("#290ba3", "p", "-")
    examples = ({"beyond": "interpolate"},)
    adjustable = {"beyond": "interpolate"}

    MEAN = 1.0

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x ⊙ table[positions], in the dtype of ``x``."""
        self._check_embeddings(x, positions)
        return x * self.rows(positions).to(x.dtype)
