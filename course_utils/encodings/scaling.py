"""Which frequencies RoPE should turn by when the context grows past the length of training.

Each scaling is a small frozen dataclass with one method, from plain frequencies to scaled ones.
How frequencies are applied is another matter, see ``rope``.

L is the length of training (``original_len``, at least 1), s the factor by which the context grows
(``factor``, above 0), n the current length, λ_m = 2π/θ_m the wavelength of pair m, d the number of
features that turn.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from course_utils import validation

Pairs = Float[Tensor, " pairs"]
Scaled = tuple[Float[Tensor, "*batch pairs"], float]
Length = float | Tensor | None


class Scaling(ABC):
    """What RoPE turns by once the context is longer than in training."""

    needs_length: ClassVar[bool] = False  # True if the frequencies depend on the current length
    shortest: ClassVar[int] = 1  # that L may be
    factor: float

    def __post_init__(self) -> None:
        validation.positive("factor", self.factor)
        if hasattr(self, "original_len"):
            validation.integer("original_len", self.original_len, minimum=self.shortest)

    @abstractmethod
    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """The scaled frequencies, and the attention factor: on cos and sin, so squared on scores.

        Args:
            plain: unscaled frequencies θ_m, radians per position.
            base: what they were made from.
            length: how many positions are in use; None for no more than in training.
        """


@dataclass(frozen=True)
class Linear(Scaling):
    """Position interpolation: θ_m / s, the same as dividing every position by s.

    Source: Chen et al. 2023, arXiv 2306.15595, equation 4.
    """

    factor: float

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        return plain / self.factor, 1.0


@dataclass(frozen=True)
class NTK(Scaling):
    """NTK-aware scaling: a larger base, b·s^(d/(d−2)).

    The fastest pair stays as it is and the slowest is slowed by exactly s:
    θ_m → θ_m · s^(−2m/(d−2)).

    Source: bloc97 2023, a forum post; Peng et al. 2023, arXiv 2309.00071, section 3.1.
    """

    factor: float

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        return _with_larger_base(plain, self.factor), 1.0


@dataclass(frozen=True)
class DynamicNTK(Scaling):
    """NTK-aware scaling that starts at the length of training: b·(s·n/L − (s−1))^(d/(d−2)).

    Up to n = L nothing changes. Past it the base grows with n, also for s = 1. So keys must be
    cached before they are turned, and turned again under each new base.

    Source: emozilla 2023, a forum post; Peng et al. 2023, arXiv 2309.00071, section 3.3. The
        formula is the one of Hugging Face's transformers.
    """

    factor: float
    original_len: int
    needs_length: ClassVar[bool] = True

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        if length is None:
            return plain, 1.0
        n = torch.as_tensor(length, dtype=plain.dtype, device=plain.device)
        stretch = 1 + self.factor * (n / self.original_len - 1)
        return _with_larger_base(plain, stretch.clamp(min=1)), 1.0


@dataclass(frozen=True)
class YaRN(Scaling):
    """Slows pairs that turn rarely within L, keeps those that turn often, sharpens attention.

    θ_m → (1 − γ_m)·θ_m/s + γ_m·θ_m, and cos and sin × f(1), f(c) = 0.1·c·ln s + 1, or × 1 for
    s below 1.
    γ_m rises from 0 to 1 while the number of turns r_m = L/λ_m rises from ``beta_slow`` to
    ``beta_fast``. Paper and released code agree on the ends and differ in between:

    - the paper's γ is linear in r_m;
    - the code's is linear in the pair's index m, between the ends rounded outwards to whole m.
      Where its ends cross, as for an L below 2π, its ramp runs backwards; this one steps.

    Args:
        beta_fast: turns within L from which a pair is kept.
        beta_slow: turns within L up to which a pair is slowed by s.
        released_code: True for the code's γ, which checkpoints are trained with; False for the
            paper's.
        attention_factor: on cos and sin, in place of f(1).
        mscale, mscale_all_dim: both or none; the attention factor is then f of the first over f
            of the second, as DeepSeek's models have it. One that is given goes before.
        truncate: False leaves the ends of the code's γ where they fall between two pairs.

    Source: Peng et al. 2023, arXiv 2309.00071, sections 3.2 and 3.4; the code is its authors'
        and Hugging Face's transformers, which have the last four options.
    """

    factor: float
    original_len: int
    beta_fast: float = 32
    beta_slow: float = 1
    released_code: bool = True
    attention_factor: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    truncate: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_ends("beta_slow", self.beta_slow, "beta_fast", self.beta_fast)
        validation.boolean("released_code", self.released_code)
        validation.boolean("truncate", self.truncate)
        for name in ("attention_factor", "mscale", "mscale_all_dim"):
            if getattr(self, name) is not None:
                validation.positive(name, getattr(self, name))
        if (self.mscale is None) != (self.mscale_all_dim is None):
            raise ValueError(
                "mscale and mscale_all_dim must be given together or not at all, got "
                f"{self.mscale} and {self.mscale_all_dim}"
            )

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        if self.released_code:
            keep = self._ramp_over_pairs(plain, base)
        else:
            keep = _ramp_over_turns(plain, self.original_len, self.beta_slow, self.beta_fast)
        return _blend(plain, self.factor, keep), self._attention_factor()

    def _attention_factor(self) -> float:
        if self.attention_factor is not None:
            return float(self.attention_factor)
        growth = 0.1 * max(math.log(self.factor), 0.0)
        if self.mscale is None or self.mscale_all_dim is None:
            return growth + 1
        return (self.mscale * growth + 1) / (self.mscale_all_dim * growth + 1)

    def _ramp_over_pairs(self, plain: Tensor, base: float) -> Tensor:
        if base <= 1:
            raise ValueError(f"base must be above 1 for YaRN's released code, got {base}")
        d = 2 * len(plain)
        # The pair, fractional, that turns so many times within L. d − 1 is the code's.
        fast, slow = (
            d / 2 * math.log(self.original_len / (2 * math.pi * turns)) / math.log(base)
            for turns in (self.beta_fast, self.beta_slow)
        )
        if self.truncate:
            fast, slow = math.floor(fast), math.ceil(slow)
        kept, slowed = max(fast, 0), min(slow, d - 1)
        m = torch.arange(len(plain), dtype=plain.dtype, device=plain.device)
        width = slowed - kept if slowed > kept else 0.001  # as the code has it: a step
        return 1 - ((m - kept) / width).clamp(0, 1)


@dataclass(frozen=True)
class LongRoPE(Scaling):
    """A searched factor for each pair, θ_m/λ_m, and cos and sin × √(1 + ln s/ln L).

    λ_m is the paper's name for the searched factor, not a wavelength. Models that keep a second
    list for short contexts are two LongRoPE, chosen by the length. The paper also leaves the
    first tokens of a text unscaled, how many is searched too; that is left out here. For s below
    1 cos and sin stay.

    Args:
        factors: λ_0 … λ_(d/2−1), each above 0.
        original_len: at least 2 here.

    Source: Ding et al. 2024, arXiv 2402.13753, section 3.1, equation 3; the attention factor is
        its code's.
    """

    factors: Sequence[float]
    factor: float
    original_len: int
    shortest: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if isinstance(self.factors, Tensor | np.ndarray):
            object.__setattr__(self, "factors", self.factors.tolist())
        what = "a list of numbers, one for each pair"
        validation.instance("factors", self.factors, (list, tuple), what)
        factors = [validation.positive(f"factors[{m}]", f) for m, f in enumerate(self.factors)]
        object.__setattr__(self, "factors", tuple(factors))  # a tuple can be hashed
        super().__post_init__()

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        if len(self.factors) != len(plain):
            raise ValueError(
                f"factors must have one entry for each of the {len(plain)} pairs of features "
                f"that turn, got {len(self.factors)}"
            )
        each = torch.tensor(self.factors, dtype=plain.dtype, device=plain.device)
        growth = max(math.log(self.factor), 0) / math.log(self.original_len)
        return plain / each, math.sqrt(1 + growth)


@dataclass(frozen=True)
class Llama3(Scaling):
    """Slows pairs of wavelength above L/low_freq by s, keeps those below L/high_freq.

    In between θ_m → (1 − γ_m)·θ_m/s + γ_m·θ_m, with γ_m linear in the number of turns L/λ_m:
    the paper's ramp of YaRN with other ends and without its attention factor.

    Args:
        low_freq: turns within L up to which a pair is slowed by s.
        high_freq: turns within L from which a pair is kept.

    Source: the released code of Llama 3.1, arXiv 2407.21783.
    """

    factor: float
    original_len: int
    low_freq: float = 1
    high_freq: float = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_ends("low_freq", self.low_freq, "high_freq", self.high_freq)

    def frequencies(self, plain: Pairs, base: float, length: Length = None) -> Scaled:
        """See :meth:`Scaling.frequencies`."""
        keep = _ramp_over_turns(plain, self.original_len, self.low_freq, self.high_freq)
        return _blend(plain, self.factor, keep), 1.0


def _with_larger_base(plain: Tensor, stretch: float | Tensor) -> Tensor:
    """θ_m of base b·stretch^(d/(d−2)): (b·stretch^(d/(d−2)))^(−2m/d) = θ_m·stretch^(−2m/(d−2))."""
    m = torch.arange(len(plain), dtype=plain.dtype, device=plain.device)
    slowest = max(len(plain) - 1, 1)  # d/2 − 1; a lone pair does not change
    return plain * stretch ** -(m / slowest)


def _ramp_over_turns(plain: Tensor, length: int, slow: float, fast: float) -> Tensor:
    """0 for pairs that turn ``slow`` times or less within ``length``, 1 from ``fast`` times on."""
    turns = length * plain / (2 * math.pi)
    return ((turns - slow) / (fast - slow)).clamp(0, 1)


def _blend(plain: Tensor, factor: float, keep: Tensor) -> Tensor:
    """``plain`` where keep is 1, ``plain / factor`` where it is 0, a mixture in between."""
    return plain * (keep + (1 - keep) / factor)


def _check_ends(low_name: str, low: float, high_name: str, high: float) -> None:
    if validation.positive(high_name, high) <= validation.positive(low_name, low):
        raise ValueError(f"{high_name} must be above {low_name}, {low}, got {high}")
