"""Ways to read a RoPE model past its trained length, by name: each changes its frequencies."""

import math
from typing import Any

import torch

from course_utils import validation
from course_utils.encodings import (
    NTK,
    DynamicNTK,
    Linear,
    Llama3,
    LongRoPE,
    Places,
    PositionalEncoding,
    Rotary,
    Scaling,
    YaRN,
)
from course_utils.encodings.base import Bias, Keys, Queries
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    rope_frequencies,
    scaled_frequencies,
)
from course_utils.models import TinyTransformer

WAYS = (
    "direct",
    "interpolation",
    "NTK-aware",
    "dynamic NTK",
    "by parts",
    "YaRN",
    "Llama 3.1",
    "step",
)
WITHOUT_FACTOR = ("direct", "dynamic NTK")  # for them the factor makes no difference
BASE = 10_000.0  # of the plain frequencies


def way_to_stretch(
    way: str, factor: float, original_len: int, d: int, base: float = BASE
) -> Scaling | None:
    """The scaling that reads ``factor`` times the trained length, by the name of its method.

    Args:
        way: one of ``WAYS``; "direct" is no scaling. "by parts" has YaRN's frequencies without its
            attention factor. "step" divides by s where a pair finishes no turn within L, and
            leaves the other pairs alone: a step in place of YaRN's ramp.
        factor: s. Dynamic NTK gets 1: it finds s from the length that it reads.
        original_len: L.
        d, base: features of a head that turn, and base; only "by parts" and "step" look at them.
    """
    validation.choice("way", way, WAYS)
    if way == "direct":
        return None
    if way == "interpolation":
        return Linear(factor)
    if way == "NTK-aware":
        return NTK(factor)
    if way == "dynamic NTK":
        return DynamicNTK(1.0, original_len)
    if way == "YaRN":
        return YaRN(factor, original_len)
    if way == "Llama 3.1":
        return Llama3(factor, original_len)
    # A factor for each pair is the shape of LongRoPE, which itself would search for its factors.
    plain = rope_frequencies(d, base)
    if way == "by parts":
        ramped, _ = scaled_frequencies(d, base, YaRN(factor, original_len))
        factors = (plain / ramped).tolist()
    else:
        turns = original_len * plain / (2 * math.pi)
        factors = [1.0 if count >= 1 else float(factor) for count in turns.tolist()]
    return LongRoPE(factors, 1.0, max(original_len, 2))


def scaling_for(
    encoding: PositionalEncoding, way: str, factor: float, original_len: int
) -> Scaling | None:
    """:func:`way_to_stretch` for the pairs and the base of a RoPE; TypeError for another encoding.

    What scaling it has already does not count.
    """
    if not isinstance(encoding, Rotary):
        raise TypeError(f"encoding must be RoPE, of the class Rotary, got {encoding!r}")
    return way_to_stretch(way, factor, original_len, encoding.n_turned, encoding.base)


class ClampedRotary(Rotary):
    """RoPE that sees no key farther back than ``farthest`` positions: all beyond seem that far.

    For attention to earlier keys only. Nothing is fused: the scores are computed twice.

    Source: Su 2023, ReRoPE (kexue.fm, archives 9708), without its factor on long texts.
    Jin et al. 2024, arXiv 2401.01325, group far offsets in place of clamping them.

    Args:
        farthest: positions; 63 for a model that was trained on pieces of 64.
        d_model, base, scaling: as for RoPE, in whole heads and the interleaved layout.
    """

    examples = ()

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        farthest: int,
        base: float = BASE,
        scaling: Scaling | None = None,
    ) -> None:
        super().__init__(d_model, n_heads, base, scaling=scaling)
        self.farthest = validation.integer("farthest", farthest)

    def rotate(self, q: Queries, k: Keys, at: Places) -> tuple[Queries, Keys]:
        """Leave both as they are: door 3 makes the scores."""
        return q, k

    def bias(self, q: Queries, k: Keys, at: Places) -> Bias:
        """What turns q·k into the clamped scores, (batch, heads, q_len, k_len)."""
        theta, _ = scaled_frequencies(self.n_turned, self.base, self.scaling, device=q.device)
        near = apply_rope(q, rope_angles(at.q, theta)) @ apply_rope(k, rope_angles(at.k, theta)).mT
        there = torch.full_like(at.q, self.farthest)
        far = apply_rope(q, rope_angles(there, theta)) @ k.mT  # a turn by `farthest`, keys by none
        scores = torch.where(at.offsets < -self.farthest, far, near)
        return (scores - q @ k.mT) * self.scale(self.d_head)


def stretched(
    model: TinyTransformer, way: str, factor: float, original_len: int, **changes: Any
) -> TinyTransformer:
    """A copy of a trained RoPE model that turns as :func:`way_to_stretch` says.

    ``changes`` are those of :meth:`TinyTransformer.changed`.
    """
    scaling = scaling_for(model.encoding, way, factor, original_len)
    return model.changed(**{"scaling": scaling, **changes})
