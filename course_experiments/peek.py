"""Two encodings of lesson 11: the start of its last exercise, and the one that cheats.

They are no encodings of the course; a test compares them with the classes in the lesson.
"""

import torch

from course_utils.encodings import PositionalEncoding

NAME = "peek"


class Roots(PositionalEncoding):
    """A price like ALiBi's, of the root of the distance (a case of KERPLE's power)."""

    power = 0.5

    def __init__(self, d_model, n_heads):  # type: ignore[no-untyped-def]
        super().__init__(d_model, n_heads)
        self.log_price = torch.nn.Parameter(torch.linspace(1, -2, n_heads))

    def bias_by_offset(self, offsets):  # type: ignore[no-untyped-def]
        """Return the price of each offset in each head, (heads, offsets)."""
        return -self.log_price.exp()[:, None] * offsets.abs() ** self.power


class Peek(PositionalEncoding):
    """Adds a learned vector of the next byte, at first 0."""

    def __init__(self, d_model, n_heads):  # type: ignore[no-untyped-def]
        super().__init__(d_model, n_heads)
        self.vectors = torch.nn.Parameter(torch.zeros(256, d_model))

    def embed(self, x, positions, tokens=None):  # type: ignore[no-untyped-def]
        """Return the words with their next byte's vector added, (batch, seq, d_model)."""
        return x + self.vectors[tokens.roll(-1, dims=1)].to(x.dtype)
