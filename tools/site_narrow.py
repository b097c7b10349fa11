"""A drawing for a phone: its panel squeezed sideways, its words as large as they were.

Nothing is drawn again: what stands in the SVG of ``course_utils/plots/vector.py`` is moved.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from matplotlib import font_manager
from PIL import ImageFont

from course_utils.plots import vector

SVG, HREF = f"{{{vector.SVG}}}", vector.HREF
SHARES = [share / 100 for share in range(95, 40, -5)]  # of its width that a panel may keep
TITLE = 12  # points: the size of a title's letters, at least
MARK, LARGEST_MARK = 4, 20  # points: half of a mark's width, and the width of the largest
SLIDES = sorted(range(-40, 41, 4), key=abs)  # points by which a word that is in the way may move
BAND = 0.9  # of a panel's height: what is as high is paper, and words may go beyond it
NEAR = 16  # points from a mark, at most, where a word stands beside it
GAP = 1  # points between two words, at least
ASCENT, DESCENT = 0.8, 0.2  # of the size of letters, above and below their line
COMMANDS = re.compile(r"([MLCQz])([^MLCQz]*)")
TRANSLATED = re.compile(r"translate\((\S+) ([^\s)]+)\)")
ROTATED = re.compile(r"rotate\((\S+) (\S+) ")
FONT_SIZE, ANCHOR = re.compile(r"font-size: ([\d.]+)px"), re.compile(r"text-anchor: (\w+)")
BOLD = "font-weight: 700"
RULE = re.compile(r"\.(s\d+)\{([^}]*)\}")

Squeeze = Callable[[float], float]  # from an x of the drawing to that of the narrow one
Commands = list[tuple[str, list[float]]]  # of a path, each with its numbers
Point = tuple[float, float]
Box = tuple[float, float, float, float]  # left, top, right, bottom


@dataclass(frozen=True)
class Drawing:
    """A drawing for a phone, its size in points, and the title that stands above it."""

    svg: str
    width: float
    height: float
    title: str


@dataclass(frozen=True)
class Line:
    """A line of a drawing: what says where it stands, its anchor there, its box from there."""

    parent: Element
    element: Element
    x: float
    y: float
    box: Box
    size: float
    text: str
    letters: int  # that have places of their own, in a formula
    mark: float | None = None  # the x of the mark beside which it stands, and with which it moves
    slide: float = 0.0  # how far it goes aside then

    def moved(self, squeeze: Squeeze) -> float:
        """How far it moves."""
        follows = self.x if self.mark is None else self.mark
        return squeeze(follows) - follows + self.slide

    def at(self, squeeze: Squeeze | None = None) -> Box:
        """Its box, where it is or goes to."""
        left, top, right, bottom = self.box
        x = self.x + (self.moved(squeeze) if squeeze else 0.0)
        return x + left, self.y + top, x + right, self.y + bottom

    def is_title(self, top: float) -> bool:
        """Whether it is a title of a panel that has its top there."""
        return self.size >= TITLE and self.y < top and not self.letters

    def gap(self, mark: Point) -> float:
        """How far its box is from a mark; 0 upon it."""
        x, y = mark
        left, top, right, bottom = self.at()
        return math.hypot(max(left - x, x - right, 0), max(top - y, y - bottom, 0))

    def anchored(self, x: float) -> "Line":
        """The same line with its anchor at this x."""
        left, top, right, bottom = self.box
        step = x - self.x
        return replace(self, x=x, box=(left - step, top, right - step, bottom))


def narrow(svg: str, wanted: float) -> Drawing:
    """The drawing as narrow as its words allow, at best of the ``wanted`` width in points.

    What has pictures or is round keeps its shape; only the title is taken out.
    """
    root = ElementTree.fromstring(svg)
    start, ceiling, width, floor = view_of(root)
    panel = left, top, right, bottom = panel_of(root)
    titles, texts = texts_of(root, top)
    marks = [mark for mark in _marks(root) if mark[0] > left]
    alone = [line for text in texts for line in text]
    beside = [line for text in texts for line in _beside(text, marks)]
    frames = [
        box
        for box in _frames(root)
        if width_of_box(box) < right - left - 1 and box[3] - box[1] < BAND * (bottom - top)
    ]

    def squeezed(share: float) -> Squeeze:
        lost = (1 - share) * (right - left)
        return lambda x: x - lost if x > right else left + share * (x - left) if x > left else x

    def width_of(squeeze: Squeeze, lines: Sequence[Line]) -> float:
        return max([squeeze(width), *(line.at(squeeze)[2] + GAP for line in lines)])

    keeps_shape = root.find(f".//{SVG}image") is not None or _is_round(root)
    possible = [(squeezed(1.0), alone)]
    for squeeze in [] if keeps_shape else map(squeezed, SHARES):
        slid = _slid(squeeze, texts, frames, marks, panel)
        possible += [
            (squeeze, lines)
            for lines in (alone, beside, slid)
            if _is_legible(squeeze, lines, [], frames, marks)
        ]
    fitting = [choice for choice in possible if width_of(*choice) - start <= wanted]
    squeeze, lines = fitting[0] if fitting else possible[-1]
    cut = max((line.y + 2 * DESCENT * line.size for line in titles), default=ceiling)
    cut = min([cut, *(line.at()[1] for line in lines)])
    for line in titles:
        line.parent.remove(line.element)
    _move(root, squeeze)
    for line in lines:
        _put(line, line.moved(squeeze))
    return drawing_of(root, (start, cut, width_of(squeeze, lines), floor), titles)


def view_of(root: Element) -> Box:
    """What a drawing shows."""
    left, top, width, height = (float(number) for number in root.get("viewBox", "").split())
    return left, top, left + width, top + height


def size_of(root: Element) -> tuple[float, float]:
    """The width and the height of a drawing."""
    width, height = (float(number) for number in root.get("viewBox", "").split()[2:])
    return width, height


def panel_of(root: Element) -> Box:
    """The widest panel of a drawing, or all of it."""
    clips = [rectangle(rect) for rect in root.iterfind(f".//{SVG}clipPath/{SVG}rect")]
    return max(clips, key=width_of_box, default=view_of(root))


def texts_of(root: Element, top: float) -> tuple[list[Line], list[list[Line]]]:
    """The lines of the titles above a panel that has its top there, and the other texts."""
    texts = list(_texts(root))
    titles = [line for text in texts for line in text if line.is_title(top)]
    return titles, [[line for line in text if not line.is_title(top)] for text in texts]


def smallest_words(svg: str) -> float:
    """The size of a drawing's smallest words in points, formulas aside."""
    lines = [line for text in _texts(ElementTree.fromstring(svg)) for line in text]
    return min((line.size for line in lines if not line.letters), default=TITLE)


def drawing_of(root: Element, box: Box, titles: Sequence[Line]) -> Drawing:
    """What a drawing shows within this box, under these titles."""
    left, top, right, bottom = box
    size = right - left, bottom - top
    root.attrib |= {
        "width": f"{size[0]:.1f}pt",
        "height": f"{size[1]:.1f}pt",
        "viewBox": f"{left:.1f} {top:.1f} {size[0]:.1f} {size[1]:.1f}",
    }
    title = " ".join(line.text for line in sorted(titles, key=lambda line: line.y))
    ElementTree.register_namespace("", vector.SVG)
    ElementTree.register_namespace("xlink", vector.XLINK)
    return Drawing(ElementTree.tostring(root, encoding="unicode"), *size, title)


def rectangle(rect: Element) -> Box:
    """The box of a rectangle."""
    x, y, width, height = (float(rect.get(key, 0)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def commands_of(path: Element) -> Commands:
    """What a path says."""
    commands = COMMANDS.findall(path.get("d", ""))
    return [(letter, [float(number) for number in numbers.split()]) for letter, numbers in commands]


def _is_round(root: Element) -> bool:
    """Whether something larger than a mark has curves."""
    return any(
        "C" in path.get("d", "") and width_of_box(box_of(commands_of(path))) > LARGEST_MARK
        for path in root.iter(f"{SVG}path")
    )


def _marks(root: Element) -> Iterator[Point]:
    for use in root.iter(f"{SVG}use"):
        yield float(use.get("x", 0)), float(use.get("y", 0))
    for path in root.iter(f"{SVG}path"):
        if "C" in path.get("d", "") and path.get("id") is None:
            left, top, right, bottom = box_of(commands_of(path))
            yield (left + right) / 2, (top + bottom) / 2


def box_of(commands: Commands) -> Box:
    """What a path takes."""
    xs, ys = ([n for _, numbers in commands for n in numbers[axis::2]] for axis in (0, 1))
    return min(xs), min(ys), max(xs), max(ys)


def width_of_box(box: Box) -> float:
    """How wide a box is."""
    return box[2] - box[0]


def _frames(root: Element) -> Iterator[Box]:
    """The rectangles of a drawing."""
    for path in root.iter(f"{SVG}path"):
        commands = commands_of(path)
        if [command for command, _ in commands] == ["M", "L", "L", "L", "z"]:
            yield box_of(commands)


def _texts(root: Element) -> Iterator[list[Line]]:
    """The lines of each text."""
    style = root.find(f"{SVG}style")
    rules = dict(RULE.findall(style.text or "")) if style is not None else {}
    for parent in root.iter():
        text = [
            _line(parent, element, rules)
            for element in parent
            if element.tag == f"{SVG}text" or element.find(f"{SVG}text/{SVG}tspan") is not None
        ]
        yield _aligned(text)


def _line(parent: Element, element: Element, rules: dict[str, str]) -> Line:
    """A line of text, or a formula, which is a group with letters in places of their own."""
    letters = list(element.iter(f"{SVG}tspan"))
    looks = [
        part.get("style") or rules.get(part.get("class", ""), "") for part in (element, *letters)
    ]
    size = max(float(match[1]) for look in looks if (match := FONT_SIZE.search(look)))
    text = "".join(element.itertext()).strip()
    if letters:
        length = max(float(letter.get("x", 0)) for letter in letters) + size / 2
    else:
        length = size * _length(text, BOLD in looks[0])
    anchor = ANCHOR.search(looks[0])
    before = {"middle": length / 2, "end": length}.get(anchor[1] if anchor else "", 0.0)
    box = -before, -ASCENT * size, length - before, DESCENT * size
    transform = element.get("transform", "")
    if "rotate(-90" in transform:
        box = box[1], -box[2], box[3], -box[0]
    place = TRANSLATED.match(transform)
    x, y = place.groups() if place else (element.get("x", "0"), element.get("y", "0"))
    return Line(parent, element, float(x), float(y), box, size, text, len(letters))


@cache
def _length(text: str, is_bold: bool) -> float:
    """How long a text is in letters of the size 1."""
    weight = "bold" if is_bold else "normal"
    path = font_manager.findfont(font_manager.FontProperties(family="DejaVu Sans", weight=weight))
    return ImageFont.truetype(path, 100).getlength(text) / 100


def _aligned(text: list[Line]) -> list[Line]:
    """Lines of one text, which Matplotlib places one by one, with the anchor that they share."""
    if not all(TRANSLATED.match(line.element.get("transform", "")) for line in text):
        return text
    lefts, rights = ([line.at()[side] for line in text] for side in (0, 2))
    middles = [(left + right) / 2 for left, right in zip(lefts, rights, strict=True)]
    anchors = min(middles, lefts, rights, key=_spread) if text else []
    return [line.anchored(sum(anchors) / len(anchors)) for line in text]


def _spread(numbers: Sequence[float]) -> float:
    return round(max(numbers) - min(numbers))


def _beside(text: list[Line], marks: Sequence[Point]) -> list[Line]:
    """The same text with the nearest mark, if one stands beside it."""
    gaps = {mark: min(line.gap(mark) for line in text) for mark in marks if text}
    near = min(gaps, key=lambda mark: gaps[mark], default=None)
    if near is None or not 0 < gaps[near] < NEAR:
        return text
    return [replace(line, mark=near[0]) for line in text]


def _slid(
    squeeze: Squeeze,
    texts: Sequence[list[Line]],
    frames: list[Box],
    marks: Sequence[Point],
    panel: Box,
) -> list[Line]:
    """The lines; those of a text that is in the way within the panel slide aside."""
    start, top, _, bottom = panel
    placed = [_beside(text, marks) for text in texts]
    for number, text in enumerate(placed):
        others = [line for other in placed if other is not text for line in other]
        inside = all(top < line.y < bottom and line.at()[0] > start for line in text)
        if not inside or _is_legible(squeeze, text, others, frames, marks):
            continue
        aside = ([replace(line, slide=step) for line in texts[number]] for step in SLIDES)
        legible = (
            lines
            for lines in aside
            if _is_legible(squeeze, lines, others, frames, marks)
            and all(line.at(squeeze)[0] > start for line in lines)
        )
        placed[number] = next(legible, text)
    return [line for text in placed for line in text]


def _is_legible(
    squeeze: Squeeze,
    lines: list[Line],
    others: list[Line],
    frames: list[Box],
    marks: Sequence[Point],
) -> bool:
    """Whether words stay apart, beside the marks, and within their frames or outside of them."""
    boxes, around = ([(line.at(), line.at(squeeze)) for line in part] for part in (lines, others))
    points = [(_around(x, y), _around(squeeze(x), y)) for x, y in marks]
    sides = [
        (frame, (squeeze(frame[0]), frame[1], squeeze(frame[2]), frame[3])) for frame in frames
    ]
    pairs = [*combinations(boxes, 2), *product(boxes, [*around, *points, *sides])]
    are_apart = all(
        _meet(first[0], second[0]) or not _meet(first[1], second[1], GAP) for first, second in pairs
    )
    return are_apart and all(
        not _within(box[0], frame[0]) or _within(box[1], frame[1])
        for box, frame in product(boxes, sides)
    )


def _around(x: float, y: float) -> Box:
    return x - MARK, y - MARK, x + MARK, y + MARK


def _meet(first: Box, second: Box, gap: float = 0.0) -> bool:
    sideways = first[0] < second[2] + gap and second[0] < first[2] + gap
    return sideways and first[1] < second[3] and second[1] < first[3]


def _within(box: Box, frame: Box) -> bool:
    sideways = frame[0] <= box[0] and box[2] <= frame[2]
    return sideways and frame[1] <= box[1] and box[3] <= frame[3]


def _move(root: Element, squeeze: Squeeze) -> None:
    """Move all but words, in place; marks keep their shape."""
    uses = [use for use in root.iter(f"{SVG}use") if float(use.get("x", 0))]
    marks = {use.get(HREF, "").removeprefix("#") for use in uses}
    for use in uses:
        use.set("x", f"{squeeze(float(use.get('x', 0))):.1f}")
    for rect in root.iterfind(f".//{SVG}clipPath/{SVG}rect"):
        left, _, right, _ = rectangle(rect)
        rect.attrib |= {
            "x": f"{squeeze(left):.1f}",
            "width": f"{squeeze(right) - squeeze(left):.1f}",
        }
    hatches = {path for pattern in root.iter(f"{SVG}pattern") for path in pattern}
    for path in {*root.iter(f"{SVG}path")} - hatches:
        if path.get("id", "") not in marks and (commands := commands_of(path)):
            path.set("d", " ".join(_moved(commands, squeeze)))


def _moved(commands: Commands, squeeze: Squeeze) -> Iterator[str]:
    """The path where it goes to; a mark keeps its shape."""
    is_mark = any(command == "C" for command, _ in commands)
    start = commands[0][1][0]
    step = squeeze(start) - start
    for command, numbers in commands:
        xs = [x + step if is_mark else squeeze(x) for x in numbers[::2]]
        moved = [number for point in zip(xs, numbers[1::2], strict=True) for number in point]
        yield " ".join([command, *(f"{number:.1f}" for number in moved)])


def _put(line: Line, step: float) -> None:
    """Move words by these points, in place."""
    element, transform = line.element, line.element.get("transform", "")
    if match := TRANSLATED.match(transform):
        moved = f"translate({float(match[1]) + step:.1f} {match[2]})"
        element.set("transform", moved + transform[match.end() :])
        return
    element.set("x", f"{float(element.get('x', 0)) + step:.1f}")
    if match := ROTATED.match(transform):
        moved = f"rotate({match[1]} {float(match[2]) + step:.1f} "
        element.set("transform", moved + transform[match.end() :])
