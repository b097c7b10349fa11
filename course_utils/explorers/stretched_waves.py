"""RoPE on a longer context: which pairs a scaling slows, and how long their waves then are."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from course_utils.encodings.functional import rope_frequencies, scaled_frequencies
from course_utils.ways import way_to_stretch

WIDTH, BASE, TRAINED = 128, 10_000.0, 4096  # a head of Llama 2, and its context


def stretched_waves(fig: Figure, way: str, factor: int) -> str:
    """Speed of each pair against the trained one, and its wavelength against both lengths."""
    plain = rope_frequencies(WIDTH, BASE)
    scaling = way_to_stretch(way, factor, TRAINED, WIDTH)
    speeds, sharper = scaled_frequencies(WIDTH, BASE, scaling, factor * TRAINED)
    long = factor * TRAINED
    waves = 2 * math.pi / speeds
    if not fig.axes:
        left, right = fig.subplots(1, 2)
        _empty(left, right, plain)
    left, right = fig.axes
    left.lines[0].set_ydata((speeds / plain).numpy())
    right.lines[1].set_ydata(waves.numpy())
    right.lines[3].set_ydata([long, long])
    new = unseen(plain, speeds, TRAINED, long)
    right.lines[4].set_data(new.nonzero()[:, 0].numpy(), waves[new].numpy())
    return (
        f"{way}, {factor} × {TRAINED:,} = {long:,} positions. The fastest pair keeps "
        f"{float(speeds[0] / plain[0]):.2f} of its speed, the slowest "
        f"{float(speeds[-1] / plain[-1]):.2f}. {int(new.sum())} of {len(plain)} pairs reach angles "
        f"that training never showed. Scores × {sharper**2:.2f}."
    )


def unseen(plain: Tensor, speeds: Tensor, trained: int, long: int) -> Tensor:
    """Which pairs turn further in ``long`` positions than ever in ``trained``: (pairs,) bools.

    Pairs that finished a whole turn in training have seen every angle.
    """
    before, after = plain * trained, speeds * long
    # 1 % more is rounding, not a new angle.
    return (before < 2 * math.pi) & (after > 1.01 * before)


def _empty(left: Axes, right: Axes, plain: Tensor) -> None:
    pairs = range(len(plain))
    left.plot(pairs, [1.0] * len(plain), linewidth=2)
    left.set(
        ylim=(0.005, 1.5), yscale="log", xlabel="pair", ylabel="speed / trained speed",
        title="how much slower each pair turns",
    )  # fmt: skip
    trained = (2 * math.pi / plain).numpy()
    right.plot(pairs, trained, ":", color="0.5", label="as trained")
    right.plot(pairs, trained, color="C0", label="stretched")
    right.axhline(TRAINED, color="0.4", linewidth=1, label="trained length")
    right.axhline(TRAINED, color="C1", linestyle="--", linewidth=1, label="new length")
    right.plot([], [], "x", color="C3", markersize=4, label="new angles")
    right.set(
        ylim=(3, 3e7), yscale="log", xlabel="pair", ylabel="positions a turn",
        title="how many positions make a turn",
    )  # fmt: skip
    right.legend(loc="upper left", fontsize=9)
    for ax, ticks in ((left, (0.01, 0.1, 1)), (right, (10, 1000, 100_000))):
        ax.set_yticks(ticks, [f"{tick:,g}" for tick in ticks])
        ax.set_yticks([], minor=True)  # minor ticks would take half of the time of a change
        ax.set_xticks(range(0, len(plain) + 1, 16))
