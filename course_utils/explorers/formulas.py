"""Explorers that are formulas: they need their controls and nothing else."""

from course_utils.explorers.browser import Explorer, Slider

BASE = Slider(2, 1_000_000, 10_000, ratio=True)

frequencies = Explorer(
    "frequencies",
    "the sinusoidal table",
    "The table as colours, one pair of its columns as waves, and the wavelength of every pair.",
    {
        "base": BASE,
        "d_model": Slider(8, 128, 64, step=2, label="width"),
        "length": Slider(8, 256, 128),
        "pair": Slider(0, 31, 4),
    },
)

turned_pair = Explorer(
    "turned_pair",
    "one pair of numbers that RoPE turns",
    "A query and a key as arrows, before and after they turn with their positions m and n by θ "
    "radians a position, and their product at all places.",
    {
        "m": Slider(0, 40, 12, label="m (query)"),
        "n": Slider(0, 40, 9, label="n (key)"),
        "theta": Slider(0.05, 1.5, 0.3, step=0.05, label="θ"),
    },
)
