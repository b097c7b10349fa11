"""The real trained position table, rebuilt from its principal components."""

from functools import cache

import torch
from matplotlib.figure import Figure
from torch import Tensor

from course_utils import data


def components(fig: Figure, position: int, kept: int) -> str:
    """A trained table rebuilt from its first principal components: whom a position resembles."""
    scores, held = _principal()
    rebuilt = scores[:, :kept]  # its own axes will do: a rotation changes no cosine
    like = torch.nn.functional.cosine_similarity(rebuilt[position - 1], rebuilt, dim=1)
    at = torch.arange(1, len(rebuilt) + 1).numpy()
    if not fig.axes:
        left, right = fig.subplots(1, 2)
        left.plot(at, like.numpy(), linewidth=1.2)
        left.axvline(position, color="0.5", linewidth=1)
        left.set(xlabel="position", ylabel="cosine similarity", ylim=(-1.05, 1.05))
        right.plot(at, scores[:, 0].numpy(), linewidth=1.2, color="#de8f05")
        right.axvline(position, color="0.5", linewidth=1)
        right.set(xlabel="position", ylabel="value along the component", ylim=(-0.5, 0.5))
    left, right = fig.axes
    left.lines[0].set_ydata(like.numpy())
    right.lines[0].set_ydata(scores[:, kept - 1].numpy())
    for ax in (left, right):
        ax.lines[1].set_xdata([position, position])
    left.set_title(f"similarity to position {position}, {kept} kept")
    left.set_xlim(position - 40, position + 40)
    right.set_title(f"component {kept}")
    alike = like.clone()
    alike[position - 1] = -torch.inf  # not itself
    return (
        f"{kept} of {scores.shape[1]} components hold {100 * float(held[kept - 1]):.0f} % of the "
        f"variance. Most like position {position}: position {int(alike.argmax()) + 1}, "
        f"cosine {float(alike.max()):.2f}."
    )


@cache
def _principal() -> tuple[Tensor, Tensor]:
    """The trained table from row 1 on: each row along each component, and variance held so far."""
    table = data.position_table()[1:]
    u, sizes, _ = torch.linalg.svd(table - table.mean(0), full_matrices=False)
    signs = u[99].sign()  # a component's sign is free: positive at position 100 everywhere
    return u * sizes * signs, sizes.square().cumsum(0) / sizes.square().sum()
