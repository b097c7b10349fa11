"""What the explorers of the lessons draw: plain functions for ``widgets.explore``.

Each takes a figure, empty on the first call, and the values of its controls. It makes its
artists once, later only updates them, and returns one sentence with the numbers to notice.
"""

from course_utils.explorers.buckets import DIRECTIONS, buckets
from course_utils.explorers.components import components
from course_utils.explorers.lengths import VIEWS, lengths, measured
from course_utils.explorers.playground import playground_attention, sharpness, shuffle
from course_utils.explorers.slopes import distance_cost
from course_utils.explorers.stretched_waves import stretched_waves, unseen
from course_utils.explorers.turning import turned_pair, wanted_distance
from course_utils.explorers.wavelengths import CLOCKS, clocks, frequencies
