"""Names at the right ends of curves, for figures with more curves than a legend can tell apart."""

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist, allow_rasterization
from matplotlib.axes import Axes
from matplotlib.backend_bases import RendererBase
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox, BboxBase, IdentityTransform

MANY = 6  # from so many curves on they are named at their ends
GAP = 26  # pixels at 80 dots an inch from the axes to the names, for the leading lines


class LineEnds(Artist):
    """The names of curves, right of the axes, each beside the end of its curve.

    They are placed when the figure is drawn: lessons set limits and scales after the curves. Two
    names are at least ``spacing`` heights of a name apart.
    """

    def __init__(
        self, ax: Axes, curves: Sequence[Line2D], names: Sequence[str], spacing: float = 0.95
    ) -> None:
        super().__init__()
        self.spacing = spacing
        self.curves = list(curves)
        self.names = [
            ax.text(0, 0, name, color="0.15", fontsize=10, va="center", clip_on=False)
            for name in names
        ]
        self.leaders = [
            Line2D([], [], color=curve.get_color(), linewidth=1.2, clip_on=False)
            for curve in curves
        ]
        for part in (*self.names, *self.leaders):
            part.set_transform(IdentityTransform())
            part.set_in_layout(False)  # this artist answers for them
        self.set_clip_on(False)
        ax.add_artist(self)
        for leader in self.leaders:
            leader.set_figure(ax.figure)

    def place(self, renderer: RendererBase) -> None:
        """Put every name at its curve's last point within the axes, and none over another."""
        ax = self.axes
        assert ax is not None
        box, scale = ax.get_window_extent(renderer), ax.figure.dpi / 80
        ends = [_end(curve, box) for curve in self.curves]
        height = max(name.get_window_extent(renderer).height for name in self.names)
        height *= self.spacing
        upwards = sorted(range(len(ends)), key=lambda number: ends[number][1])
        desired = np.array([ends[number][1] for number in upwards])
        left = box.x1 + GAP * scale
        for number, y in zip(upwards, _spaced(desired, height, box.y0, box.y1), strict=True):
            end_x, end_y = ends[number]
            self.names[number].set_position((left, y))
            leader_x = [end_x, box.x1 + 4 * scale, left - 3 * scale]
            self.leaders[number].set_data(leader_x, [end_y, end_y, y])

    def get_tightbbox(self, renderer: RendererBase | None = None) -> Bbox | None:
        """The room that the names take, for the layout."""
        if renderer is None or not self.names:
            return None
        self.place(renderer)
        return Bbox.union([name.get_window_extent(renderer) for name in self.names])

    @allow_rasterization
    def draw(self, renderer: RendererBase) -> None:
        """Place the names anew and draw the lines that lead to them; the axes draw the names."""
        self.place(renderer)
        for leader in self.leaders:
            leader.draw(renderer)


def _end(curve: Line2D, box: BboxBase) -> tuple[float, float]:
    """A curve's last point, in pixels, moved into the axes where it lies outside."""
    points = curve.get_transform().transform(curve.get_xydata())
    seen = points[np.isfinite(points).all(1) & (points[:, 0] <= box.x1 + 0.5)]
    x, y = seen[-1] if len(seen) else (box.x1, box.y0)
    return float(x), float(np.clip(y, box.y0, box.y1))


def _spaced(desired: np.ndarray, height: float, low: float, high: float) -> np.ndarray:
    """Ascending places as near as can be to the desired ones, each a height above the last."""
    from scipy.optimize import isotonic_regression  # takes 0.2 s to load

    steps = height * np.arange(len(desired))
    first = isotonic_regression(desired - steps).x  # where each of them wants the first to be
    highest = max(low, high - steps[-1])
    return np.asarray(np.clip(first, low, highest) + steps)
