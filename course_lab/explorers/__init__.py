"""The explorers of the lessons: pictures that follow their controls. Call one to show it.

They compute and draw in the browser, see ``explorer``. ``ALL`` has them by name.
"""

from course_lab.explorers.chooser import chooser
from course_lab.explorers.clock_hands import (
    LINE_UP,
    clock_hands,
    explorer_tables,
    hand_coordinates,
)
from course_lab.explorers.explorer import Explorer
from course_lab.explorers.far_bands import far_bands
from course_lab.explorers.formulas import (
    buckets,
    counting,
    distance_cost,
    frequencies,
    previous_token,
    price,
    profile,
    turned_pair,
    wanted_distance,
)
from course_lab.explorers.four_layers import four_layers
from course_lab.explorers.ladder import ladder
from course_lab.explorers.ledger import ledger, ledger_rows
from course_lab.explorers.lengths import VIEWS, lengths, measured
from course_lab.explorers.referee import referee
from course_lab.explorers.short_sentence import doors, masked_sentence, sentence
from course_lab.explorers.stretch import stretch
from course_lab.explorers.stretched_waves import stretched_waves, unseen
from course_lab.explorers.xray import xray, xray_table

__all__ = [
    "LINE_UP",
    "doors",
    "Explorer",
    "VIEWS",
    "buckets",
    "chooser",
    "clock_hands",
    "counting",
    "distance_cost",
    "explorer_tables",
    "far_bands",
    "four_layers",
    "frequencies",
    "hand_coordinates",
    "ladder",
    "ledger",
    "ledger_rows",
    "lengths",
    "masked_sentence",
    "measured",
    "previous_token",
    "price",
    "profile",
    "referee",
    "sentence",
    "stretch",
    "stretched_waves",
    "turned_pair",
    "unseen",
    "wanted_distance",
    "xray",
    "xray_table",
]

ALL = {name: value for name, value in globals().items() if isinstance(value, Explorer)}
