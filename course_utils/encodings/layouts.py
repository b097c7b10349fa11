"""How rotary features are paired up, and how weights move from one pairing to another."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_utils import validation

# "interleaved" pairs features 2m and 2m + 1 (the paper, GPT-J, Meta's Llama code); "half" pairs m
# and m + d/2 (GPT-NeoX, Hugging Face's Llama).
LAYOUTS = ("interleaved", "half")


def head_width(d_model: int, n_heads: int, unit: int) -> None:
    """Raise unless d_model / n_heads is a multiple of ``unit``."""
    width, step = d_model // n_heads, unit * n_heads
    if width % unit:
        below, above = d_model // step * step, (d_model // step + 1) * step
        raise ValueError(
            f"d_model must make each head's width, d_model / n_heads, a multiple of {unit}, "
            f"got {d_model} / {n_heads} = {width}; "
            f"try d_model {f'{below} or ' if below else ''}{above}"
        )


def rotated_width(d_head: int, fraction: float) -> int:
    """How many features of a head turn when only a fraction does: fraction · d_head.

    Raises ValueError unless that is an even whole number from 2 to ``d_head``.
    """
    d_head = validation.even("d_head", d_head)
    share = validation.positive("fraction", fraction) * d_head
    width = round(share)
    if abs(share - width) > 1e-6 or width % 2 or not 2 <= width <= d_head:  # 1/3 of 48 is 16
        steps = [f"{even / d_head:g}" for even in range(2, d_head + 1, 2)]
        valid = ", ".join(steps if len(steps) <= 4 else [steps[0], steps[1], "…", steps[-1]])
        raise ValueError(
            f"fraction must leave an even number of a head's {d_head} features to turn, "
            f"got {fraction} ({share:g} features); valid: {valid}"
        )
    return width


def layout_order(d: int, source: str, target: str) -> Int[Tensor, " d"]:
    """Where each feature of the layout ``target`` stands in the layout ``source``.

    With order = layout_order(d, source, target), x[..., order] holds in the layout ``target`` what
    x holds in the layout ``source``. Layouts are "interleaved" or "half"; ``d`` is even. The
    indices are on the CPU.
    """
    places = torch.arange(validation.even("d", d))
    validation.choice("source", source, LAYOUTS)
    validation.choice("target", target, LAYOUTS)
    if source == target:
        return places
    return places.view(-1, 2).T.flatten() if target == "half" else places.view(2, -1).T.flatten()


def convert_layout(
    weight: Float[Tensor, "d_model ..."],
    n_heads: int,
    source: str,
    target: str,
    fraction: float = 1.0,
    *,
    d_head: int | None = None,
) -> Float[Tensor, "d_model ..."]:
    """Reorder W_q or W_k, trained with one layout of RoPE, for the other.

    Convert both: the attention weights stay what they were. W_v and W_o stay as they are.

    Args:
        weight: (d_model, …), rows ordered head by head: a linear layer's weight, or its bias.
        n_heads: number of heads in these rows; under grouped queries W_k has fewer than W_q.
        source, target: the layout it was trained with, and the one wanted, of :data:`LAYOUTS`.
        fraction: the part of each head that turns; the rest stays in place.
        d_head: width of a head. With it, rows that are not ``n_heads`` times as many raise; without
            it W_k read with the queries' number of heads would be reordered wrongly.

    Returns a copy in the shape of ``weight``. Raises ValueError if ``n_heads`` does not divide its
    rows, or as :func:`rotated_width`.
    """
    shape = "(d_model, …)"
    if validation.floating("weight", weight, shape).ndim == 0:
        raise ValueError(f"weight must have shape {shape}, got a single number {weight.item()}")
    head = validation.heads(len(weight), n_heads)
    if d_head is not None and head != validation.integer("d_head", d_head):
        raise ValueError(
            f"n_heads must be {len(weight) / d_head:g} for {len(weight)} rows in heads of d_head = "
            f"{d_head}, got {n_heads}; under grouped queries W_k has fewer heads than W_q"
        )
    width = rotated_width(head, fraction)
    order = torch.cat([layout_order(width, source, target), torch.arange(width, head)])
    per_head = weight.unflatten(0, (n_heads, head))  # (heads, d_head, …)
    return per_head[:, order.to(weight.device)].flatten(0, 1)
