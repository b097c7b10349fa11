"""T5's buckets of offsets."""

import torch
from matplotlib.figure import Figure

from course_utils import plots
from course_utils.encodings.functional import offset_matrix, t5_bucket

FARTHEST = 200  # positions, on either side of the query
DIRECTIONS = ["both", "behind only"]


def buckets(fig: Figure, n_buckets: int, max_distance: int, direction: str) -> str:
    """T5's bucket of every offset, as a curve and as a matrix of 40 queries and keys."""
    offsets = torch.arange(-FARTHEST, FARTHEST + 1)
    both = direction == DIRECTIONS[0]
    found = t5_bucket(offsets, n_buckets, max_distance, both)
    behind = found[: FARTHEST + 1].flip(0)  # by distance
    last = int((behind == behind.max()).nonzero()[0])
    places = torch.arange(40)
    matrix = t5_bucket(offset_matrix(places, places), n_buckets, max_distance, both)
    if not fig.axes:
        left, right = fig.subplots(1, 2, width_ratios=(1.6, 1))
        left.plot([], [], drawstyle="steps-mid", linewidth=1.8)
        left.axvline(0, color="0.7", linewidth=1)
        left.set(title="bucket of each offset", xlabel="offset j − i (positions)", ylabel="bucket")
        left.set_xlim(-FARTHEST, FARTHEST)
        plots.heatmap(
            right, matrix, title="buckets of 40 tokens", xlabel="key", ylabel="query",
            signed=False, equal=True,
        )  # fmt: skip
    left, right = fig.axes
    left.lines[0].set_data(offsets.numpy(), found.numpy())
    left.set_ylim(-1, n_buckets)
    right.images[0].set_data(matrix.numpy())
    right.images[0].set_clim(0, n_buckets - 1)
    alone = int((behind.bincount() == 1).sum())
    return (
        f"Behind the query {alone} distances have a bucket of their own; all from {last} on share "
        f"one. Within {FARTHEST} positions {len(found.unique())} of {n_buckets} buckets are used."
    )
