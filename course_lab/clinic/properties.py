"""What any encoding should keep to, whatever it computes: six properties and a promise, tried out.

Each function takes a causal attention layer and says what is wrong, "" if nothing is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor

from course_lab.clinic.layers import layer, words
from course_utils.attention import MultiHeadAttention
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import Maker, create

LENGTH = 12  # words of the texts that are tried
FAR = 1000  # positions by which a text is moved
ROUNDING = 1e-4  # in an output: more than float32 loses, less than a fault changes


def _gap(one: Tensor, other: Tensor) -> float:
    return float((one.double() - other.double()).abs().max().nan_to_num(nan=torch.inf))


def causal(examined: MultiHeadAttention) -> str:
    """What comes later, or that anything does, changes nothing that came before."""
    x, half = words(examined, 2, LENGTH), LENGTH // 2
    whole = examined(x)[0][:, :half]
    other = torch.cat([x[:, :half], words(examined, 2, half, seed=1)], 1)
    for name, seen in (("with other words", other), ("without words", x[:, :half])):
        gap = _gap(whole, examined(seen)[0][:, :half])
        if not gap < ROUNDING:
            return f"{name} after the first {half}, these come out otherwise, by up to {gap:.2g}"
    return ""


def cached(examined: MultiHeadAttention) -> str:
    """Read in pieces with a cache, a text comes out as when it is read whole."""
    x, cache = words(examined, 2, LENGTH), KVCache()
    parts = [examined(part, cache=cache)[0] for part in x.split((5, 1, LENGTH - 6), dim=1)]
    gap = _gap(torch.cat(parts, 1), examined(x)[0])
    return "" if gap < ROUNDING else f"in pieces the output differs by up to {gap:.2g}"


def batched(examined: MultiHeadAttention) -> str:
    """A text comes out alone as it does among others."""
    x = words(examined, 3, LENGTH)
    gap = _gap(examined(x)[0], torch.cat([examined(one[None])[0] for one in x]))
    return "" if gap < ROUNDING else f"alone the output differs by up to {gap:.2g}"


def any_dtype(examined: MultiHeadAttention) -> str:
    """The output has the dtype of the words; float32 and float64 agree to rounding."""
    x, found = words(examined, 1, LENGTH), {}
    for dtype in (torch.float64, torch.float32, torch.bfloat16):
        found[dtype] = copy.deepcopy(examined).to(dtype)(x.to(dtype))[0]
        if found[dtype].dtype != dtype:
            return f"{dtype} goes in, {found[dtype].dtype} comes out"
    gap = _gap(found[torch.float64], found[torch.float32])
    return "" if gap < ROUNDING else f"float32 and float64 differ by up to {gap:.2g}"


def trained(examined: MultiHeadAttention) -> str:
    """Every parameter of the encoding gets a gradient: finite, and not 0 everywhere."""
    able = copy.deepcopy(examined).requires_grad_(True)
    able(words(able, 2, LENGTH))[0].square().sum().backward()
    for name, parameter in able.encoding.named_parameters():
        if parameter.grad is None or not bool(parameter.grad.any()):
            return f"{name} gets no gradient"
    for name, parameter in able.named_parameters():
        if parameter.grad is not None and not bool(parameter.grad.isfinite().all()):
            return f"{name} gets a gradient that is not finite"
    return ""


def anywhere(examined: MultiHeadAttention) -> str:
    """Moved as a whole, a text has the same attention weights."""
    x, row = words(examined, 2, LENGTH), torch.arange(LENGTH)
    near, far = (examined(x, row + start, need_weights=True)[1] for start in (0, FAR))
    assert near is not None and far is not None
    gap = _gap(near, far)
    return "" if gap < 10 * ROUNDING else f"moved by {FAR}, weights differ by up to {gap:.2g}"


PROPERTIES: dict[str, Callable[[MultiHeadAttention], str]] = {
    "causal": causal,
    "cache = whole": cached,
    "batch = alone": batched,
    "dtype": any_dtype,
    "gradient": trained,
    "shift": anywhere,
}


def properties(maker: str | Maker, d_model: int = 64, n_heads: int = 4) -> dict[str, str]:
    """What is wrong with an encoding, by property; "" where it holds.

    ``maker`` is a name or a class, as for ``create``. "shift" is no duty but a promise: schemes
    that see places, such as sinusoids, break it and are right all the same. An error that the
    encoding raises is what is wrong with it; one that looks at the ids of words raises, as made-up
    words have none.
    """
    found = {}
    for name, holds in PROPERTIES.items():
        try:
            made = create(maker, d_model=d_model, n_heads=n_heads, max_len=2 * FAR, causal=True)
            found[name] = holds(layer(made))
        except Exception as error:  # it is somebody's first try
            found[name] = f"{type(error).__name__}: {error}"
    return found
