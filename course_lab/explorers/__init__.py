"""The explorers of the lessons: pictures that follow their controls. Call one to show it.

They compute and draw in the browser, see ``explorer``. ``ALL`` has them by name.
"""

from course_lab.explorers.chooser import chooser
from course_lab.explorers.components import components
from course_lab.explorers.explorer import Explorer
from course_lab.explorers.formulas import (
    buckets,
    counting,
    distance_cost,
    frequencies,
    previous_token,
    profile,
    turned_pair,
    wanted_distance,
)
from course_lab.explorers.ladder import ladder
from course_lab.explorers.ledger import ledger, ledger_rows
from course_lab.explorers.lengths import VIEWS, lengths, measured
from course_lab.explorers.short_sentence import doors, playground_attention, shuffle
from course_lab.explorers.stretched_waves import stretched_waves, unseen
from course_lab.explorers.xray import xray, xray_table

__all__ = [
    "doors",
    "Explorer",
    "VIEWS",
    "buckets",
    "chooser",
    "components",
    "counting",
    "distance_cost",
    "frequencies",
    "ladder",
    "ledger",
    "ledger_rows",
    "lengths",
    "measured",
    "playground_attention",
    "previous_token",
    "profile",
    "shuffle",
    "stretched_waves",
    "turned_pair",
    "unseen",
    "wanted_distance",
    "xray",
    "xray_table",
]

ALL = {name: value for name, value in globals().items() if isinstance(value, Explorer)}
