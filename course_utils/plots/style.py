"""The course's figure style, and the one way to show a figure."""

import html
import io
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

from course_utils import validation
from course_utils.plots.paper import without_paper
from course_utils.plots.vector import cells, svg

DIVERGING = "RdBu_r"  # signed quantities, centred at zero
SEQUENTIAL = "YlGnBu"  # weights and other quantities from zero upwards

STYLE = Path(__file__).with_name("course.mplstyle")


def use_style(*fallback_fonts: str) -> None:
    """Set fonts, colours and sizes for every figure that follows; safe to call again.

    Its ten colours can be told apart by people with colour blindness. ``fallback_fonts`` have what
    DejaVu Sans lacks.
    """
    plt.style.use(STYLE)
    mpl.rcParams["font.family"] = ["DejaVu Sans", *fallback_fonts]
    mpl.set_loglevel("ERROR")  # no warning for a missing glyph


def png(fig: Figure) -> bytes:
    """The figure as PNG bytes at its own size, without paper, small enough for a notebook.

    Its colour bars get ticks at both ends.
    """
    validation.instance("fig", fig, Figure, "a matplotlib Figure")
    for ax in fig.axes:
        for artist in (*ax.images, *ax.collections):
            if artist.colorbar is not None:
                _tick_ends(artist.colorbar)
    opaque = shrink(quick_png(fig))
    height = fig.bbox.height
    boxes = [Bbox.intersection(cell, ax.bbox) for ax in fig.axes for cell in cells(ax)]
    kept = [(box.x0, height - box.y1, box.x1, height - box.y0) for box in boxes if box is not None]
    return without_paper(opaque, np.rint(kept).astype(int).tolist())


def _tick_ends(bar: Any) -> None:
    """Put ticks at both ends of a colour bar that has none there, unless it is logarithmic."""
    low, high = bar.mappable.get_clim()
    near = 0.12 * (high - low)  # ticks nearer to an end than this give way to it
    ticks = list(bar.get_ticks())
    has_ends = all(any(abs(tick - end) < 0.1 * near for tick in ticks) for end in (low, high))
    if has_ends or isinstance(bar.norm, LogNorm):
        return
    ticks = [low, *(tick for tick in ticks if low + near < tick < high - near), high]
    bar.set_ticks(ticks, labels=[f"{tick:.2g}".replace("-", "−") for tick in ticks])


def shrink(picture: bytes) -> bytes:
    """The same PNG in at most 256 colours: for plots a third of the size, and no worse to see."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    # The method that keeps rare colours too: with others colour bars come out in bands.
    reduced = image.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    reduced.save(buffer, "png", optimize=True)
    return buffer.getvalue()


def quick_png(fig: Figure) -> bytes:
    """Like :func:`png` in full colour: larger but faster, for pictures that follow a slider."""
    validation.instance("fig", fig, Figure, "a matplotlib Figure")
    buffer = io.BytesIO()
    fast = {"compress_level": 1}
    FigureCanvasAgg(fig).print_png(buffer, metadata={"Software": None}, pil_kwargs=fast)
    return buffer.getvalue()


def show(fig: Figure, description: str) -> None:
    """Display the figure once and close it, with its description folded under it.

    The description says what the picture shows, with its key numbers, for readers who cannot see
    it. It is the alternative text of both pictures, of which a front end takes the SVG if it can,
    and an output of its own as HTML, since nearly every front end shows one kind of an output.
    """
    from IPython.display import display

    validation.sentence("description", description)
    words = " ".join(description.split())
    raster = png(fig)  # first: it gives the colour bars their ticks
    bundle = {"image/png": raster, "image/svg+xml": svg(fig, words), "text/plain": words}
    alternative = {kind: {"alt": words} for kind in ("image/png", "image/svg+xml")}
    display(bundle, metadata=alternative, raw=True)
    folded = f"<details><summary>In words</summary>{html.escape(words, quote=False)}</details>"
    display({"text/html": folded}, raw=True)
    plt.close(fig)
