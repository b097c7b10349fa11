"""ALiBi: what distance costs a head, and whom the head therefore looks at."""

import math

import torch
from matplotlib.figure import Figure

from course_utils import measures, plots
from course_utils.encodings.functional import alibi_bias, alibi_slopes, offset_matrix

CHEAPEST = -8.0  # scores below this have one colour: such a key weighs less than e⁻⁸ of the best


def distance_cost(fig: Figure, heads: int, head: int, length: int, symmetric: bool) -> str:
    """One ALiBi head over tokens of equal scores: its bias, its attention, one query's weights."""
    if head >= heads:
        raise ValueError(f"head must be below heads, {heads}, got {head}: they count from 0")
    slope = alibi_slopes(heads)[head : head + 1]
    offsets = offset_matrix(torch.arange(length), torch.arange(length))
    bias = alibi_bias(offsets, slope)[0]
    if not symmetric:
        bias = bias.masked_fill(offsets > 0, -torch.inf)
    weights = bias.softmax(-1)  # (length, length)
    query = length // 2 if symmetric else length - 1
    row = weights[query]
    if not fig.axes:
        left, middle, right = fig.subplots(1, 3)
        plots.heatmap(
            left, bias.clamp(min=CHEAPEST), title="bias (cut off at −8)", xlabel="key",
            ylabel="query", limit=-CHEAPEST, equal=True,
        )  # fmt: skip
        plots.heatmap(
            middle, weights, title="attention, equal scores", xlabel="key", signed=False, equal=True
        )
        middle.tick_params(labelleft=False)  # the same as on the left; each label costs time
        right.plot([], [], drawstyle="steps-mid", linewidth=1.5)
        right.set(xlabel="key", ylabel="weight / largest", ylim=(0, 1.05))
    left, middle, right = fig.axes
    plots.refill(left, bias.clamp(min=CHEAPEST))
    plots.refill(middle, weights)
    middle.images[0].set_clim(0, float(row.max()))
    right.lines[0].set_data(range(length), (row / row.max()).numpy())
    right.set(xlim=(-0.5, length - 0.5), title=f"weights of query {query}")
    distances = offsets[query].abs()
    held = torch.zeros(int(distances.max()) + 1).index_add(0, distances, row).cumsum(0)
    reach = int((held < 0.95).sum())  # the distance within which 95 % of the weights lie
    nats = float(measures.entropy(row[None])[0])
    seen = length if symmetric else query + 1
    return (
        f"Slope {float(slope):.4f}. Query {query} gives 95 % of its weight to keys at most "
        f"{reach} positions away; entropy {nats:.2f} of at most {math.log(seen):.2f} nats."
    )
