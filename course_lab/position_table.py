"""The trained position table that lessons look into, tables that only look like it, and a test."""

import cmath
import math

import numpy as np
import torch
from jaxtyping import Complex, Float
from torch import Tensor

from course_utils import measures, validation
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
    """Tables as large as ``rows`` in which nothing turns, by name.

    A random walk; noise in a running mean of 20 rows; and the waves (Fourier) of the ten main
    directions of ``rows``, each shifted at random on its own, so that no two of them keep step.
    (Waves shifted alike in all directions are no decoy: a clock so treated is still a clock. Nor is
    noise with the power of ``rows`` at each period: from a clock it has a clock's narrow waves.)
    """
    validation.matrix("rows", rows, "(rows, width)")
    generator = torch.Generator().manual_seed(seed)
    steps = torch.randn(*rows.shape, generator=generator).to(rows)
    noise = torch.randn(len(rows) + 19, rows.shape[1], generator=generator).to(rows)
    axes = measures.main_directions(rows, 10)
    waves = torch.fft.rfft((rows - rows.mean(0)) @ axes.T, dim=0)
    angles = 2 * math.pi * torch.rand(waves.shape, generator=generator).to(rows)
    shifted = waves * torch.polar(torch.ones_like(angles), angles)
    return {
        "random walk": steps.cumsum(0),
        "smooth noise": noise.unfold(0, 20, 1).mean(-1),
        "waves out of step": torch.fft.irfft(shifted, n=len(rows), dim=0) @ axes,
    }


def very_smooth(rows: Float[Tensor, "rows width"], seed: int = 0) -> Float[Tensor, "rows width"]:
    """A table as large as ``rows`` whose columns are slow random curves, so that nothing turns.

    A running mean of random rows, weighted by a bell that falls to 1/e at 200 rows.
    """
    validation.matrix("rows", rows, "(rows, width)")
    generator = torch.Generator().manual_seed(seed)
    reach, scale = 1000, 200.0  # past 1000 rows the bell is below 1e-10
    noise = torch.randn(len(rows) + 2 * reach, rows.shape[1], generator=generator).to(rows)
    positions = torch.arange(len(noise)).to(rows) - reach
    bell = (-((positions - positions[reach : reach + len(rows), None]) / scale).square()).exp()
    return bell @ noise / bell.sum(1, keepdim=True)


def planted_clock(rows: Float[Tensor, "rows width"], seed: int = 0) -> Float[Tensor, "rows width"]:
    """A table as large as ``rows`` in which five hands turn evenly, at the speeds of its hands.

    Their planes, where they start and the noise are drawn. Noise has as much of the variance as
    ``rows`` have outside their ten main directions.
    """
    validation.matrix("rows", rows, "(rows, width)")
    generator = torch.Generator().manual_seed(seed)
    inside = (rows - rows.mean(0)) @ measures.main_directions(rows, 10).T
    periods = measures.hands(measures.turn(inside)).periods
    draw = torch.randn(rows.shape[1], 10, generator=generator).to(rows)
    planes = torch.linalg.qr(draw)[0].T
    starts = torch.rand(len(periods), generator=generator).to(rows)
    positions = torch.arange(len(rows)).to(rows)
    angles = 2 * math.pi * (positions[:, None] / periods + starts)  # (rows, hands)
    table = torch.cat([angles.cos(), angles.sin()], 1) @ planes
    noise = torch.randn(*rows.shape, generator=generator).to(rows)
    share = 1 - inside.square().sum() / (rows - rows.mean(0)).square().sum()
    return (
        table + noise * (share / (1 - share)).sqrt() * (table - table.mean(0)).norm() / noise.norm()
    )


def miss(hand: Complex[Tensor, " rows"], period: float, ahead: int) -> float:
    """What is missed by forecasts of a hand, each ``ahead`` rows on and turned on evenly.

    Squares of what is missed, over those of hand and forecast. 0: exact; 1: nothing in common; 2:
    opposite.
    """
    later, forecast = hand[ahead:], hand[:-ahead] * cmath.exp(2j * math.pi * ahead / period)
    missed = (later - forecast).abs().square().sum()
    return float(missed / (later.abs().square() + forecast.abs().square()).sum())


def largest_miss(hand: Complex[Tensor, " rows"], period: float) -> float:
    """The largest miss of forecasts up to half a turn, and 200 rows, ahead."""
    rows = len(hand)
    ahead = torch.arange(1, min(round(period / 2), 200, rows - 1) + 1)
    # |later - forecast|² = |later|² + |forecast|² - 2 Re(later · forecast*): all sums at once, the
    # last by Fourier's way from a hand to its correlations with itself.
    waves = torch.fft.fft(hand.resolve_conj(), n=2 * rows)  # as many zeros: no row meets itself
    together = torch.fft.ifft(waves.abs().square())[ahead]  # sum of h[p + ahead] · h[p]*
    squares = hand.abs().square().cumsum(0)
    lengths = (squares[-1] - squares[ahead - 1]) + squares[rows - 1 - ahead]
    turned = torch.polar(torch.ones_like(lengths), 2 * math.pi * ahead.to(lengths) / period)
    missed = lengths - 2 * (together * turned.conj()).real
    return float((missed / lengths).max())
