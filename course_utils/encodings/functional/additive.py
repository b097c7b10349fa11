"""Biases that depend on how far apart query and key are: ALiBi, KERPLE, Sandwich, FIRE; log-n.

Contextual counts do not live here. Offsets are j − i, as everywhere in this package.
"""

from __future__ import annotations

import math
from typing import overload

import torch
from jaxtyping import Float, Num
from torch import Tensor

from course_utils import validation
from course_utils.encodings.functional.offsets import offset_matrix
from course_utils.encodings.functional.sinusoidal import sinusoidal_frequencies

Offsets = Num[Tensor, "*shape"]
PerHead = Float[Tensor, " heads"]
Bias = Float[Tensor, "heads *shape"]


def alibi_slopes(
    n_heads: int,
    *,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str | None = None,
) -> PerHead:
    """Slopes m_h of ALiBi: 2^(−8h/H) for heads h = 1 … H where H is a power of two.

    For another H: the slopes of the next lower power of two c, then every other slope of 2c,
    from its first, until there are H. So they do not fall from the first head to the last.

    Args:
        n_heads: number of heads H.
        dtype: of the result; slopes are computed in float64 and rounded once.
        device: where the result lives.

    Returns:
        (n_heads,), all above 0 and no two alike, in units of score per position.

    Raises:
        TypeError, ValueError: if ``n_heads`` is not an integer of at least 1.

    Source: Press et al. 2021, arXiv 2108.12409, section 3, and the authors' released code. The
        paper gives the formula for any H; the code, and models such as BLOOM, do the above where
        H is no power of two. The code calls it a workaround.
    """
    count = validation.integer("n_heads", n_heads)
    lower = 2 ** (count.bit_length() - 1)
    slopes = [2 ** (-8 * h / lower) for h in range(1, lower + 1)]
    between = [2 ** (-8 * h / (2 * lower)) for h in range(1, 2 * lower + 1, 2)]
    return torch.tensor((slopes + between)[:count], dtype=torch.float64).to(device, dtype)


def alibi_bias(offsets: Offsets, slopes: PerHead) -> Bias:
    """ALiBi: −m_h · |j − i|, a penalty that grows in a straight line with distance.

    Args:
        offsets: (…), j − i in positions, integers or floats.
        slopes: (heads,), see :func:`alibi_slopes`.

    Returns:
        (heads, …), float32, or float64 if either argument is.

    Raises:
        TypeError, ValueError: if an argument is no tensor, or slopes is no row of floats.

    Source: Press et al. 2021, arXiv 2108.12409, section 3.
    """
    distances, (slopes,) = _distances_and_heads(offsets, slopes=slopes)
    return -slopes * distances


def kerple_log(offsets: Offsets, r1: PerHead, r2: PerHead) -> Bias:
    """KERPLE's logarithmic kernel: −r1 · log(1 + r2 · |j − i|), steep nearby and flat far away.

    Args:
        offsets: (…), j − i in positions, integers or floats.
        r1: (heads,), height, above 0.
        r2: (heads,), above 0; 1 / r2 is the distance where straight turns into logarithmic.

    Returns:
        (heads, …), float32, or float64 if an argument is.

    Raises:
        TypeError, ValueError: if an argument is no tensor, or r1 or r2 is no row of floats.

    Source: Chi et al. 2022, arXiv 2205.09921. The paper divides it by √d_head together with q·k;
        its released code adds it after that. This is the kernel alone.
    """
    distances, (r1, r2) = _distances_and_heads(offsets, r1=r1, r2=r2)
    return -r1 * (r2 * distances).log1p()


def kerple_power(offsets: Offsets, r1: PerHead, r2: PerHead) -> Bias:
    """KERPLE's power kernel: −r1 · |j − i|^r2; with r2 = 1 it is ALiBi with slope r1.

    Args:
        offsets: (…), j − i in positions, integers or floats.
        r1: (heads,), height, above 0.
        r2: (heads,), exponent, above 0 and at most 2 (beyond 2 it is no kernel any more).

    Returns, raises, source: as :func:`kerple_log`.
    """
    distances, (r1, r2) = _distances_and_heads(offsets, r1=r1, r2=r2)
    return -r1 * distances**r2


def sandwich_bias(offsets: Offsets, n_heads: int, d_bar: int = 128) -> Bias:
    """Sandwich: H/(8h) · (Σ_m cos((j − i)·ω_m) − d̄/2) for heads h = 1 … H; 0 at offset 0.

    The sum is the product of two sinusoidal encodings of width d̄, PE(i) · PE(j).

    Args:
        offsets: (…), j − i in positions, integers or floats.
        n_heads: number of heads H.
        d_bar: width d̄ of the sinusoidal encodings, an even number, free of d_model.

    Returns:
        (n_heads, …), float64 if the offsets are, else float32. Angles are computed in float64.

    Raises:
        TypeError, ValueError: if ``offsets`` is no tensor, ``n_heads`` is below 1 or ``d_bar`` is
            not even.

    Source: Chi et al. 2022, arXiv 2212.10356. The term −d̄/2 shifts all scores of a row alike, so
        softmax does not see it.
    """
    count, _ = validation.integer("n_heads", n_heads), validation.even("d_bar", d_bar)
    offsets = _real("offsets", offsets)
    frequencies = sinusoidal_frequencies(d_bar, device=offsets.device)  # (pairs)
    wide = offsets.to(frequencies.dtype)
    # One frequency at a time: all at once would take d̄/2 times the memory of the result.
    total = torch.zeros_like(wide)
    for frequency in frequencies:
        total += (wide * frequency).cos()
    ratios = count / (8 * torch.arange(1, count + 1, device=wide.device, dtype=wide.dtype))
    bias = ratios.view(-1, *[1] * wide.ndim) * (total - len(frequencies))  # (heads, …)
    return bias.to(offsets.dtype)


def fire_psi(x: Num[Tensor, "*shape"], c: Float[Tensor, ""] | float) -> Float[Tensor, "*shape"]:
    """FIRE's ψ(x) = log(c·|x| + 1), which spreads short distances and squeezes long ones.

    Args:
        x: (…), distances in positions; signs do not matter.
        c: above 0; 1 / c is the distance where straight turns into logarithmic.

    Raises:
        TypeError, ValueError: if ``x`` is no tensor or ``c`` no number above 0.

    Source: Li et al. 2023, arXiv 2310.04418, section 3.
    """
    return (_positive("c", c) * _real("x", x).abs()).log1p()


def fire_share(
    q_pos: Num[Tensor, " q_len"],
    k_pos: Num[Tensor, " k_len"],
    c: Float[Tensor, ""] | float,
    threshold: Float[Tensor, ""] | float,
) -> Float[Tensor, "q_len k_len"]:
    """What FIRE's network sees: ψ(i − j) / ψ(max(i, L₀)), between 0 and 1 for keys 0 … i.

    It asks how far back a key lies as a share of all there is to look back on. It is no function of
    j − i alone: other positions i give another share. Queries before L₀, negative ones
    too, are all measured by ψ(L₀). A key after its query counts by its distance.

    Args:
        q_pos: (q_len,) positions of the queries.
        k_pos: (k_len,) positions of the keys.
        c: see :func:`fire_psi`.
        threshold: L₀ above 0, in positions.

    Raises:
        TypeError, ValueError: if positions are not rows of finite numbers or ``c`` or ``threshold``
            is no number above 0.

    Source: Li et al. 2023, arXiv 2310.04418, section 3.
    """
    q_pos, k_pos = validation.positions("q_pos", q_pos), validation.positions("k_pos", k_pos)
    least = _positive("threshold", threshold)
    queries = _real("q_pos", q_pos)
    reach = queries.clamp(min=least) if isinstance(least, float) else queries.maximum(least)
    return fire_psi(offset_matrix(q_pos, k_pos), c) / fire_psi(reach, c)[:, None]


@overload
def log_n_factor(n: Tensor, original_len: int) -> Tensor: ...


@overload
def log_n_factor(n: float, original_len: int) -> float: ...


def log_n_factor(n: Tensor | float, original_len: int) -> Tensor | float:
    """Log-n attention: the factor log n / log L on the logits of a query that sees n keys.

    It keeps the entropy of attention weights from growing with length: more keys, sharper scores.
    Below L it is less than 1, and 0 for n = 1; whoever wants no change below L clamps it to 1.

    Args:
        n: number of keys seen, at least 1; one number, or a tensor of any shape.
        original_len: length L trained at, at least 2.

    Returns:
        A float for a number; for a tensor a tensor of its shape, float32 (float64 if n is).

    Raises:
        TypeError, ValueError: if ``n`` is below 1 or not finite, or ``original_len`` is not an
            integer of at least 2.

    Source: Su Jianlin 2021, kexue.fm/archives/8823.
    """
    length = validation.integer("original_len", original_len, minimum=2)
    if not isinstance(n, Tensor):
        if validation.number("n", n) < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        return math.log(n) / math.log(length)
    counts = _real("n", n)
    if not torch.compiler.is_compiling():
        validation.finite("n", counts)
        if bool((counts < 1).any()):
            raise ValueError(f"n must be at least 1, got {float(counts.min())}")
    return counts.log() / math.log(length)


def _distances_and_heads(offsets: Tensor, **rows: Tensor) -> tuple[Tensor, list[Tensor]]:
    """|offsets| as floats, and each row (heads,) shaped to multiply them: (heads, 1, …)."""
    distances = _real("offsets", offsets).abs()
    count, widest = 0, distances.dtype
    for name, row in rows.items():
        found = len(validation.floating(name, row, "(heads,)", ndim=1))
        if count and found != count:
            raise ValueError(f"{name} must have one entry for each of {count} heads, got {found}")
        count, widest = found, torch.promote_types(widest, row.dtype)
    shape = (count, *[1] * distances.ndim)
    return distances.to(widest), [row.to(widest).view(shape) for row in rows.values()]


def _real(name: str, value: Tensor) -> Tensor:
    """``value`` as float64 if it is that, else float32; whole numbers below 2²⁴ stay exact."""
    found = validation.tensor(name, value, "(…) of numbers")
    if found.dtype == torch.bool or found.is_complex():
        raise TypeError(f"{name} must hold integers or floats, got {found.dtype}")
    return found if found.dtype == torch.float64 else found.to(torch.float32)


def _positive(name: str, value: Tensor | float) -> Tensor | float:
    """``value``, or raise unless it is a number above 0; a tensor keeps its gradient."""
    if not isinstance(value, Tensor):
        return validation.positive(name, value)
    validation.floating(name, value, "of one number", ndim=0)
    if not torch.compiler.is_compiling():
        validation.positive(name, float(value.detach()))  # reading it would break the graph
    return value
