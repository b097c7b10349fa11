"""Figures of curves and matrices in one style, and one look for each encoding.

What a figure shows is computed elsewhere, in ``measures`` and ``results``.
"""

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "course_utils.plots needs Matplotlib: pip install matplotlib"
    ) from error

from course_utils.plots.curves import lines as lines
from course_utils.plots.curves import seed_curves as seed_curves
from course_utils.plots.identities import Identity as Identity
from course_utils.plots.identities import identity as identity
from course_utils.plots.matrices import heatmap as heatmap
from course_utils.plots.style import png as png
from course_utils.plots.style import quick_png as quick_png
from course_utils.plots.style import show as show
from course_utils.plots.style import use_style as use_style
from course_utils.plots.vector import svg as svg
