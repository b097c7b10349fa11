"""Figures of curves and matrices in one style, and one look for each encoding.

What a figure shows is computed elsewhere, in ``measures`` and ``results``.
"""

try:
    import matplotlib  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "course_utils.plots needs Matplotlib: pip install 'order-matters[plots]'"
    ) from error

from course_utils.plots.curves import entropy, lines, seed_curves, strips
from course_utils.plots.identities import Identity, identity
from course_utils.plots.matrices import (
    attention,
    fingerprint,
    heatmap,
    similarity,
)
from course_utils.plots.style import in_words, png, quick_png, show, use_style

__all__ = [
    "Identity",
    "attention",
    "entropy",
    "fingerprint",
    "heatmap",
    "identity",
    "in_words",
    "lines",
    "png",
    "quick_png",
    "seed_curves",
    "show",
    "similarity",
    "strips",
    "use_style",
]
