"""What the explorers of the lessons draw: plain functions for ``widgets.explore``.

Each takes a figure, empty on the first call, and the values of its controls. It makes its
artists once, later only updates them, and returns one sentence with the numbers to notice.
"""

from course_utils.explorers.additive import distance_cost
from course_utils.explorers.attention import playground_attention, sharpness, shuffle
from course_utils.explorers.learned import components
from course_utils.explorers.lengths import VIEWS, WITH_ALIBI, WITH_ROPE, lengths
from course_utils.explorers.relative import DIRECTIONS, buckets
from course_utils.explorers.rotary import turned_pair, wanted_distance
from course_utils.explorers.sinusoidal import CLOCKS, clocks, frequencies
from course_utils.explorers.stretching import stretched_waves, unseen

__all__ = [
    "CLOCKS",
    "DIRECTIONS",
    "VIEWS",
    "WITH_ALIBI",
    "WITH_ROPE",
    "buckets",
    "clocks",
    "components",
    "distance_cost",
    "frequencies",
    "lengths",
    "playground_attention",
    "sharpness",
    "shuffle",
    "stretched_waves",
    "turned_pair",
    "unseen",
    "wanted_distance",
]
