"""The explorers of the lessons: pictures that follow their controls. Call one to show it.

They compute and draw in the browser, see ``browser``. ``ALL`` has them by name.
"""

from course_utils.explorers.browser import Explorer
from course_utils.explorers.chooser import chooser
from course_utils.explorers.components import components
from course_utils.explorers.formulas import (
    CLOCKS,
    buckets,
    clocks,
    distance_cost,
    frequencies,
    previous_token,
    profile,
    turned_pair,
    wanted_distance,
)
from course_utils.explorers.ledger import ledger, ledger_rows
from course_utils.explorers.lengths import VIEWS, lengths, measured
from course_utils.explorers.playground import playground_attention, sharpness, shuffle
from course_utils.explorers.stretched_waves import stretched_waves, unseen
from course_utils.explorers.xray import xray, xray_table

ALL = {name: one for name, one in globals().items() if isinstance(one, Explorer)}
