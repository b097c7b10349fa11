"""Every figure of the course is drawn here, in one style. Plots never compute: measures do."""

from course_utils.plots.curves import entropy, four_panel, lines
from course_utils.plots.doors import door_strip
from course_utils.plots.matrices import attention, fingerprint, heatmap, similarity
from course_utils.plots.results import numbered, seed_curves, squares
from course_utils.plots.style import (
    DIVERGING,
    SEQUENTIAL,
    label,
    labels,
    png,
    quick_png,
    show,
    shrink,
    use_style,
)

__all__ = [
    "DIVERGING",
    "SEQUENTIAL",
    "attention",
    "door_strip",
    "entropy",
    "fingerprint",
    "four_panel",
    "heatmap",
    "label",
    "labels",
    "lines",
    "numbered",
    "png",
    "quick_png",
    "seed_curves",
    "show",
    "shrink",
    "similarity",
    "squares",
    "use_style",
]
