"""Every figure of the course is drawn and shown here, in one style.

What a figure shows is computed elsewhere, in ``measures`` or ``experiments``. Pictures that follow
a slider are in ``explorers``.
"""

from course_utils.plots.curves import entropy, four_panel, lines, seed_curves, strips
from course_utils.plots.identities import Identity, identity
from course_utils.plots.matrices import (
    attention,
    fingerprint,
    heatmap,
    numbered,
    similarity,
    squares,
)
from course_utils.plots.style import in_words, labels, png, quick_png, show, use_style
