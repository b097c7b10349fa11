"""The panels of a figure, each by itself for a phone: with the numbers of an axis that they share.

Nothing is drawn again: what stands in the SVG of ``course_utils/plots/vector.py`` is shown in part.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from site_narrow import SVG, Box, box_of, commands_of, rectangle, texts_of, width_of_box

SAME = 1.0  # points by which two frames differ at most that share an axis
BESIDE = 14.0  # points from a frame, at most, to the numbers of its axis
LETTERS = 8.0  # points by which the lowest and the highest number stand out
MARGIN = 1.0  # points, left of the numbers
NAMED = re.compile(r"^#(.+)|url\(#([^)]+)\)")


def own(view: Box, views: Sequence[Box]) -> Box:
    """The view without what it shows of its neighbours, over which a long label of it reaches."""
    own = list(view)
    for low, high, across_low, across_high in ((0, 2, 1, 3), (1, 3, 0, 2)):
        for other in views:
            shared = min(view[across_high], other[across_high])
            shared -= max(view[across_low], other[across_low])
            is_beside = shared > (other[across_high] - other[across_low]) / 2
            if is_beside and other[high] - other[low] < view[high] - view[low]:
                if other[low] < own[low] < other[high]:
                    own[low] = other[high]
                if other[low] < own[high] < other[high]:
                    own[high] = other[low]
    return own[0], own[1], own[2], own[3]


def alone(svg: str, window: Box, views: Sequence[Box] = ()) -> str | None:
    """The drawing with the one panel that its view shows, and nothing of the others.

    ``views`` are those of all panels; they matter where one reaches over another. It is None where
    words of this panel would be lost, since they stand with another.
    """
    view, (left, top, right, bottom) = own(window, views), window
    root = ElementTree.fromstring(svg)
    words = _words_within(root, view)
    named = {name: element for element in root.iter() if (name := element.get("id"))}
    for figure in root.findall(f"{SVG}g"):
        for part in list(figure):
            box = _box(part)
            if box is None or not (_within(box, view) or _fills(box, root)):
                figure.remove(part)
    for defs in root.findall(f"{SVG}defs"):
        for clip in list(defs.iterfind(f"{SVG}clipPath")):
            rect = clip.find(f"{SVG}rect")
            if rect is not None and not _within(rectangle(rect), view):
                defs.remove(clip)
    if _words_within(root, view) != words:
        return None
    _restore(root, named)
    root.attrib |= {
        "width": f"{right - left:g}pt",
        "height": f"{bottom - top:g}pt",
        "viewBox": f"{left:g} {top:g} {right - left:g} {bottom - top:g}",
    }
    ElementTree.register_namespace("", SVG.strip("{}"))
    ElementTree.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    return ElementTree.tostring(root, encoding="unicode")


def lost_names(svg: str) -> list[str]:
    """The names that elements of a drawing refer to and none of them has."""
    return _lost_names(ElementTree.fromstring(svg))


def _lost_names(root: Element) -> list[str]:
    values = (value for element in root.iter() for value in element.attrib.values())
    matches = (names for value in values for names in NAMED.findall(value))
    referred_to = {name for names in matches for name in names if name}
    return sorted(referred_to - {element.get("id", "") for element in root.iter()})


def _restore(root: Element, named: Mapping[str, Element]) -> None:
    """Put back shapes that stood with another panel: Matplotlib writes each where it is first used.

    What they refer to comes too.
    """
    defs = ElementTree.Element(f"{SVG}defs")
    while lost := [name for name in _lost_names(root) if name in named]:
        defs.extend(named[name] for name in lost)
        if defs not in root:
            root.append(defs)


def shared_numbers(svg: str, views: Sequence[Box]) -> list[Box | None]:
    """Of each panel that has none of its own, where the numbers of its vertical axis stand.

    They are those of a panel beside it, if the frames of both have the same top and bottom and
    both have marks at the left. It is None for the others.
    """
    root = ElementTree.fromstring(svg)
    lines = [line.at() for text in texts_of(root, 0.0)[1] for line in text]
    frames = [_frame(root, view) for view in views]
    marks = [(float(use.get("x", 0)), float(use.get("y", 0))) for use in root.iter(f"{SVG}use")]

    def is_marked(frame: Box) -> bool:
        left, top, _, bottom = frame
        return any(abs(x - left) < SAME and top - SAME < y < bottom - 2 * SAME for x, y in marks)

    def numbers(frame: Box) -> Box | None:
        left, top, _, bottom = frame
        beside = [
            box
            for box in lines
            if left - BESIDE < box[2] < left and top < (box[1] + box[3]) / 2 < bottom + SAME
        ]
        start = min((box[0] for box in beside), default=left)
        strip = start - MARGIN, top - LETTERS, left, bottom + LETTERS
        return strip if beside else None

    strips: list[Box | None] = []
    for frame in frames:
        others = [
            strip
            for other in frames
            if other[0] < frame[0]
            and abs(other[1] - frame[1]) < SAME > abs(other[3] - frame[3])
            and (strip := numbers(other)) is not None
        ]
        shares = bool(others) and numbers(frame) is None and is_marked(frame)
        strips.append(others[-1] if shares else None)
    return strips


def _frame(root: Element, view: Box) -> Box:
    """The largest rectangle within a view that clips what is drawn, or the view."""
    clips = (rectangle(rect) for rect in root.iterfind(f".//{SVG}clipPath/{SVG}rect"))
    return max((clip for clip in clips if _within(clip, view)), key=width_of_box, default=view)


def _words_within(root: Element, view: Box) -> int:
    lines = (line.at() for text in texts_of(root, 0.0)[1] for line in text)
    return sum(_within(box, view) for box in lines)


def _box(part: Element) -> Box | None:
    """The first rectangle of a part, which is its paper, or where its words stand."""
    for path in part.iter(f"{SVG}path"):
        if path.get("id") is None and (commands := commands_of(path)):
            return box_of(commands)
    points = list(_points(part))
    return box_of([("M", [number for point in points for number in point])]) if points else None


def _points(part: Element) -> Iterator[tuple[float, float]]:
    for text in part.iter(f"{SVG}text"):
        if text.get("x"):
            yield float(text.get("x", 0)), float(text.get("y", 0))


def _within(box: Box, view: Box) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return view[0] <= x <= view[2] and view[1] <= y <= view[3]


def _fills(box: Box, root: Element) -> bool:
    """Whether it is the paper of the whole figure."""
    width, height = (float(number) for number in root.get("viewBox", "").split()[2:])
    return width_of_box(box) > width - SAME and box[3] - box[1] > height - SAME
