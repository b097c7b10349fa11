"""A drawing of columns for a phone: a few of them at a time, each time beside their labels.

It is for tables and for rows of small pictures. Nothing is drawn again: the parts are views of the
one drawing, one below the other.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from site_narrow import (
    HREF,
    SVG,
    Box,
    Drawing,
    box_of,
    commands_of,
    drawing_of,
    panel_of,
    size_of,
    texts_of,
    width_of_box,
)

WIDE = 0.6  # of a drawing: what is wider, as paper or a rule, goes on in each part
GAP = 0.5  # points between two columns, at least
MARGIN = 2.0  # points on each side of a view
BETWEEN = 16.0  # points between two parts

Span = tuple[float, float]  # left, right


def cut(svg: str, widest: float) -> Drawing | None:
    """The drawing in parts of at most the ``widest`` points, or None if it has no such columns.

    Words alone at the left are the labels of the rows: they stand in each part. Without them, rows
    of pictures are parts too, so that they are read from left to right.
    """
    root = ElementTree.fromstring(svg)
    width = size_of(root)[0]
    if width <= widest or root.find(f".//{SVG}use") is not None:  # which draws the ticks of an axis
        return None
    titles, texts = texts_of(root, panel_of(root)[1])
    words = [line.at() for text in texts for line in text]
    drawn = [box_of(commands_of(path)) for path in root.iterfind(f"{SVG}g//{SVG}path")]
    drawn = [box for box in drawn if width_of_box(box) < WIDE * width]
    boxes = [*words, *drawn]
    columns = list(_columns(boxes))
    first = min((left for left, *_ in drawn), default=0.0)
    labels = [column for column in columns if column[1] <= first]
    parts = _parts(columns[len(labels) :], widest - sum(map(_width, labels)))
    if len(parts) < 2 or len(labels) > 1:
        return None
    for line in titles:
        line.parent.remove(line.element)
    rows = [[*labels, part] for part in parts]
    bands = [boxes] if labels else _bands(drawn, words)  # pictures are read row by row
    if not all(_inside(row, band) for band in bands for row in rows):  # they are no rows
        bands = [boxes]
    shown = [(row, _height(row, band)) for band in bands for row in rows]
    heights = [height for _, height in shown]
    _show(root, [row for row, _ in shown], heights)
    size = max(map(_width, parts)) + sum(map(_width, labels))
    length = sum(map(_width, heights)) + (len(shown) - 1) * BETWEEN
    return drawing_of(root, (0.0, 0.0, size, length), titles)


def _columns(boxes: Iterable[Box]) -> Iterator[Span]:
    """What stands between gaps that go from the top of a drawing to its bottom."""
    start = end = -math.inf
    for left, _, right, _ in sorted(boxes):
        if left > end + GAP:
            if end > start:
                yield start, end
            start, end = left, right
        end = max(end, right)
    yield start, end


def _bands(drawn: Sequence[Box], words: Sequence[Box]) -> list[list[Box]]:
    """What stands between gaps that go from left to right, words with the nearest pictures."""
    turned = [(top, left, bottom, right) for left, top, right, bottom in drawn]
    spans = list(_columns(turned))
    bands: list[list[Box]] = [[] for _ in spans]
    for box in [*drawn, *words]:
        gaps = [max(top - box[3], box[1] - bottom, 0.0) for top, bottom in spans]
        bands[gaps.index(min(gaps))].append(box)
    return bands


def _parts(columns: Sequence[Span], widest: float) -> list[Span]:
    """As few groups of columns as fit, as narrow as that many can be; none if a column does not."""
    if not columns or max(map(_width, columns)) > widest:
        return []
    fewest = len(_filled(columns, widest))
    limits = sorted(_width((left, right)) for left, _ in columns for _, right in columns)
    groups = (_filled(columns, limit) for limit in limits if limit <= widest)
    return next(group for group in groups if len(group) == fewest)


def _filled(columns: Sequence[Span], limit: float) -> list[Span]:
    """Columns side by side, up to this width."""
    parts = [columns[0]]
    for left, right in columns[1:]:
        joined = parts[-1][0], right
        if _width(joined) <= limit:
            parts[-1] = joined
        else:
            parts.append((left, right))
    return parts


def _width(span: Span) -> float:
    return span[1] - span[0] + 2 * MARGIN


def _height(columns: Sequence[Span], boxes: Iterable[Box]) -> Span:
    """From where to where these columns go, down the drawing."""
    inside = _inside(columns, boxes)
    return min(top for _, top, *_ in inside), max(bottom for *_, bottom in inside)


def _inside(columns: Sequence[Span], boxes: Iterable[Box]) -> list[Box]:
    return [
        box for box in boxes if any(start <= box[0] and box[2] <= end for start, end in columns)
    ]


def _show(root: Element, rows: Sequence[Sequence[Span]], heights: Sequence[Span]) -> None:
    """Show spans of a drawing, in rows of these heights, in place."""
    name = root.attrib.pop("id")  # by which its style finds what it is for
    whole = ElementTree.Element(f"{SVG}g", id=name)
    for child in [child for child in root if child.tag not in (f"{SVG}style", f"{SVG}view")]:
        root.remove(child)
        whole.append(child)
    ElementTree.SubElement(root, f"{SVG}defs").append(whole)
    y = 0.0
    for row, height in zip(rows, heights, strict=True):
        x, tall = 0.0, _width(height)
        for span in row:
            size = {"width": f"{_width(span):.1f}", "height": f"{tall:.1f}"}
            box = f"{span[0] - MARGIN:.1f} {height[0] - MARGIN:.1f} {_width(span):.1f} {tall:.1f}"
            place = {"x": f"{x:.1f}", "y": f"{y:.1f}", "viewBox": box}
            view = ElementTree.SubElement(root, f"{SVG}svg", place | size)
            ElementTree.SubElement(view, f"{SVG}use", {HREF: f"#{name}"})
            x += _width(span)
        y += tall + BETWEEN
