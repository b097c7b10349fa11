"""Complex order: position turns each word's embedding at a speed of the word's own.

    word w at position p: r_w · exp(i(ω_w·p + φ_w)), in each complex dimension

Source: Wang et al. 2020, arXiv 1912.12333, section 2.3 (the general form).
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from course_utils import validation
from course_utils.encodings.base import Embeddings, Look, PositionalEncoding, Tokens
from course_utils.encodings.positions import Positions, angle_dtype
from course_utils.encodings.sinusoidal import sinusoidal_frequencies

# Relative differences between the words' first frequencies: enough to tell a word's turning
# from another's, too little to scramble the slower pairs.
NOISE = 0.02


class ComplexOrder(PositionalEncoding):
    """Turns the embedding of each word at door 1.

    Columns 2m and 2m + 1 of an embedding are read as the complex number r·exp(iφ), real part
    first; the encoding turns it by the angle ω_{w,m}·p. ``frequencies``, learned, has one row for
    each word: (vocab_size, d_model / 2), radians per position. They start as those of the
    sinusoidal encoding, as in the authors' code for transformers, times 1 + noise of standard
    deviation 0.02, so that words differ from the first step on; in that code all words start alike.

    The paper's network stays complex to its end. Here the turned pairs go on as 2m and 2m + 1,
    and what follows is an ordinary transformer.

    Args:
        d_model: an even number.
        vocab_size: number of token ids.
    """

    look = Look("#5056e3", "1", (0, (10, 2)))

    def __init__(self, d_model: int, n_heads: int, vocab_size: int = 256) -> None:
        super().__init__(d_model, n_heads)
        validation.even("d_model", d_model)
        self.vocab_size = validation.integer("vocab_size", vocab_size)
        first = sinusoidal_frequencies(self.d_model).float().repeat(self.vocab_size, 1)
        self.frequencies = nn.Parameter(first * (1 + NOISE * torch.randn_like(first)))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "ComplexOrder":
        """What ``to``, ``half`` and their kin do; the frequencies stay float32 at least."""
        exact = self.frequencies.data
        super()._apply(fn, recurse)
        if self.frequencies.dtype.itemsize < 4:
            self.frequencies.data = exact.to(self.frequencies.device)
        return self

    def embed(
        self, x: Embeddings, positions: Positions, tokens: Tokens | None = None
    ) -> Embeddings:
        """Return x with each pair turned by ω·p of its word, in the dtype of ``x``.

        ``tokens`` must be given, one id below ``vocab_size`` for each embedding: here position
        depends on the word. Negative positions turn backwards.
        """
        self._check_embeddings(x, positions)
        if tokens is None:
            raise TypeError(
                "tokens must be given, (batch, seq) ids: complex order turns each word at the "
                "word's own frequencies, got None"
            )
        words = validation.token_ids("tokens", tokens, self.vocab_size)
        if words.shape != x.shape[:2]:
            raise ValueError(
                f"tokens must have one id for each embedding, shape {tuple(x.shape[:2])}, "
                f"got {tuple(words.shape)}"
            )
        precise = angle_dtype(x.device)
        speeds = self.frequencies[words.to(x.device)].to(precise)  # (batch, seq, pairs)
        angles = speeds * positions.to(x.device, precise)[..., None]  # (batch, seq, pairs)
        working = torch.promote_types(x.dtype, torch.float32)
        cos, sin = angles.cos().to(working), angles.sin().to(working)
        real, imaginary = x.to(working).unflatten(-1, (-1, 2)).unbind(-1)  # (batch, seq, pairs)
        turned = torch.stack([real * cos - imaginary * sin, real * sin + imaginary * cos], dim=-1)
        return turned.flatten(-2).to(x.dtype)
