"""The trained position table that lessons look into, and tables that only look like it."""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation
from course_utils.encodings.functional import sinusoidal_table
from course_utils.texts import data


def position_table() -> Float[Tensor, "positions width"]:
    """A real trained position table: (512, 384) float32, from a BERT-like sentence encoder.

    Row p was added to the word vectors at position p. Kept as float16, so rounded to 11 bits.
    """
    with np.load(data.verified("position_table.npz"), allow_pickle=False) as arrays:
        return torch.from_numpy(arrays["table"].astype(np.float32))


def decoys(
    rows: Float[Tensor, "rows width"], seed: int = 0
) -> dict[str, Float[Tensor, "rows width"]]:
    """Tables as large as ``rows`` that nobody trained, by name.

    A random walk; noise with as much power at each period as ``rows`` have; the sinusoidal
    encoding of positions from 1 on; and plain noise.
    """
    validation.matrix("rows", rows, "(rows, width)")
    noise = torch.randn(*rows.shape, generator=torch.Generator().manual_seed(seed)).to(rows)
    spectrum = torch.fft.rfft(rows - rows.mean(0), dim=0)
    size = spectrum.abs().square().sum(1, keepdim=True).sqrt()
    smooth = torch.fft.irfft(torch.fft.rfft(noise, dim=0) * size, n=len(rows), dim=0)
    positions = torch.arange(1, len(rows) + 1, dtype=rows.dtype)
    return {
        "random walk": noise.cumsum(0),
        "noise as smooth": smooth,
        "sinusoidal": sinusoidal_table(positions, rows.shape[1]),
        "noise": noise,
    }


def with_random_phases(
    rows: Float[Tensor, "rows width"], seed: int = 0
) -> Float[Tensor, "rows width"]:
    """``rows`` with every wave in them shifted at random, by the same angle in all columns.

    Each column keeps its mean and its power at each period, and each two columns what they share.
    Only how the waves stand to each other is left to chance.

    Source: Prichard and Theiler 1994, "Generating surrogate data for time series with several
    simultaneously measured variables".
    """
    validation.matrix("rows", rows, "(rows, width)")
    spectrum = torch.fft.rfft(rows - rows.mean(0), dim=0)
    generator = torch.Generator().manual_seed(seed)
    angles = 2 * math.pi * torch.rand(len(spectrum), 1, generator=generator).to(rows)
    shifted = spectrum * torch.polar(torch.ones_like(angles), angles)
    return torch.fft.irfft(shifted, n=len(rows), dim=0) + rows.mean(0)
