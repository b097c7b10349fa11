"""What a cell has shown, as blocks of a page: texts, tables, pictures in files of their own."""

import base64
import hashlib
import math
import re
import statistics
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import site_columns
import site_explorers
import site_narrow
import site_panels
import site_questions
import stills
from nbformat import NotebookNode
from notebook_source import BuildError
from site_html import code_block, escaped, folded, opening, tag

from course_lab.claims import CLAIM_MIME

PICTURES = "_static/pictures"
PNG_SIZE = slice(16, 24)  # the bytes of a PNG with its width and height
SVG_SIZE = re.compile(r'<svg [^>]*width="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS = 96 / 72  # of CSS, to a point
PHONE, GAP = 358, 7  # pixels across a phone's page, and between two panels there
SMALLEST, LARGEST = 0.7, 1.1  # of a panel there, compared with how it was drawn
NARROW = 0.8  # of a single panel that is squeezed: rather so large than wide
IN_COLUMNS = 0.62  # of a drawing whose columns do not all stand side by side, at least
LEGIBLE = 9  # pixels: the size of letters, at least
FITS = 0.53  # of what stands alone in its row: rather so small than cut
PANEL = re.compile(r'<view id="(panel-\d+)" viewBox="(\S+) (\S+) (\S+) (\S+)"')
UNUSUAL = 1.25  # times as wide as the others: with a colour bar, which may stand alone
TITLE = 0.3  # of a door strip's height
DOOR_STRIP = re.compile(r"\b(?:door_strip\(|doors=)")  # in a cell that draws it
DOORS = 0.76  # of their size as drawn, on a phone: then their words have 9 pixels
CUT = 0.493  # of its width: left of the third door's leaf
GAPS = re.compile(r" {2,}")  # between the columns of a line of print
LAST_WORD = re.compile(r"(?<=.{30}) (\S{1,8})$", re.MULTILINE)  # if short, of a long line
NO_BREAK = "\u00a0"
CELL = 2  # words in a cell of a table, at most, after the label
INDEX_NAME = re.compile(  # which pandas writes into a second row of headings
    r"<thead>\s*<tr>\s*<th></th>(.*?)</tr>\s*<tr>\s*<th>(.+?)</th>(?:\s*<th></th>)+\s*</tr>\s*</thead>",
    re.DOTALL,
)
OPACITY = re.compile(r"(?<![-\w])opacity: ([\d.]+)")
GLASS = 0.3  # what is less opaque is meant to be seen through
IN_THE_DARK = re.compile(r"@media\(prefers-color-scheme:dark\)\{#[\w-]+\{")
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
Window = tuple[float, float, float, float]  # left, top, width, height
View = tuple[str, Window]  # its name, what it shows


@dataclass
class Outputs:
    """Turns the outputs of a page's cells into blocks, and collects the files that they need.

    ``root`` leads from the page to the site's first page. ``on_phones`` are what a phone shows of
    a figure, each by itself: numbers of panels, or windows in points (left, top, width, height);
    without them, all panels.
    """

    lesson: str
    root: str
    on_phones: Sequence[int | Window] | None = None
    files: dict[str, bytes] = field(default_factory=dict)  # by their paths on the site
    explorers: Counter[str] = field(default_factory=Counter)

    def blocks(self, cell: NotebookNode, keys: tuple[str, ...] = ()) -> list[str]:
        """The blocks of a cell that may answer the question with one of these keys.

        Questions and claims are left out: the page has forms for them. A phone shows the left half
        of the strip of doors above the right one, both without the title.
        """
        waiting = site_explorers.shown(cell, self.lesson)
        blocks: list[str] = []
        for output in cell.get("outputs", []):
            text = output.get("data", {}).get("text/plain", "")
            if text.startswith(stills.INTRODUCTION):
                name, start = waiting.pop(0)
                self.explorers[name] += 1
                number = self.explorers[name]
                blocks.append(site_explorers.mount(name, start, text, self.root, number))
            elif output.output_type == "stream":
                blocks += _stream(output.text, keys)
            elif output.output_type == "error":
                blocks.append(_printed(f"{output.ename}: {output.evalue}"))
            else:
                blocks += self._shown(cell, output.data)
        return blocks

    def _shown(self, cell: NotebookNode, data: NotebookNode) -> list[str]:
        text = data.get("text/plain", "")
        if CLAIM_MIME in data or site_questions.QUESTION.fullmatch(text):
            return []
        if "image/svg+xml" in data:
            return self._drawing(cell, data["image/svg+xml"], text)
        if "image/png" in data:
            picture = self._picture(cell, base64.b64decode(data["image/png"]), text)
            moves = text.startswith(site_explorers.IN_KERNEL)
            return folded(site_explorers.MOVES_ELSEWHERE, [picture]) if moves else [picture]
        if "text/markdown" in data:
            return [data["text/markdown"]]
        if "text/html" in data:
            return [_html(data["text/html"])]
        return [_printed(text)] if text else []

    def _drawing(self, cell: NotebookNode, svg: str, description: str) -> list[str]:
        """A figure whole and, if it has several panels, each by itself for a phone."""
        svg = _opaque_in_the_dark(svg)
        address = self._file(cell, "svg", svg.encode())
        words = self._words(cell, description)
        size = SVG_SIZE.search(svg)
        if size is None:
            raise BuildError(f"{self.lesson}, cell {cell.id} shows an SVG without width and height")
        width, height = (round(float(points) * PIXELS) for points in size.groups())
        whole = _image(address, words, width, height)
        halves = bool(DOOR_STRIP.search(cell.source))
        views = _halves(*map(float, size.groups())) if halves else _views(svg)
        if self.on_phones is not None:
            views = [
                views[part - 1] if isinstance(part, int) else _window(*part)
                for part in self.on_phones
            ]
        elif len(views) < 2:
            if width <= PHONE / NARROW:
                return [tag("div", whole, class_="om-figure")]
            return [tag("div", whole, class_="om-figure om-whole"), self._narrow(cell, svg, words)]
        if halves:
            parts, scale = [_Part(f"{address}#{name}", *window) for name, window in views], DOORS
        else:
            parts, scale = self._panels(cell, svg, address, views)
        kind = "om-figure om-stacked" + (" om-doors" if halves else "")
        stacked = tag("div", _stacked(parts, words, scale), class_=kind)
        return [tag("div", whole, class_="om-figure om-whole"), stacked]

    def _panels(
        self, cell: NotebookNode, svg: str, address: str, views: Sequence[View]
    ) -> tuple[list["_Part"], float]:
        """The panels of a figure for a phone, narrower where their words were too small."""
        boxes = [_box(window) for _, window in views]
        strips = site_panels.shared_numbers(svg, boxes)
        parts = [
            _Part(f"{address}#{name}", *window, address, strip)
            for (name, window), strip in zip(views, strips, strict=True)
        ]
        least = LEGIBLE / PIXELS / site_narrow.smallest_words(svg)
        scale = _scale([part.pixels for part in parts], least)
        if scale >= least or self.on_phones is not None:  # windows may cut through a panel
            return [
                self._without_neighbours(cell, svg, part, box, boxes)
                for part, box in zip(parts, boxes, strict=True)
            ], scale
        panels = [site_panels.alone(svg, box, boxes) for box in boxes]
        for number, (part, box, panel) in enumerate(zip(parts, boxes, panels, strict=True)):
            if panel is None:
                continue
            beside = part.pixels / PIXELS - part.width
            widest = PHONE / least / PIXELS - beside
            drawing = site_columns.cut(panel, widest) or site_narrow.narrow(panel, widest)
            file = self._file(cell, "svg", drawing.svg.encode())
            parts[number] = replace(
                part,
                address=file,
                top=box[3] - drawing.height,
                width=drawing.width,
                height=drawing.height,
                title=drawing.title,
            )
        return parts, _scale([part.pixels for part in parts], least)

    def _without_neighbours(
        self,
        cell: NotebookNode,
        svg: str,
        part: "_Part",
        box: site_narrow.Box,
        boxes: Sequence[site_narrow.Box],
    ) -> "_Part":
        """A panel as it is, or a drawing of it alone where it reaches over others."""
        if self.on_phones is not None or site_panels.own(box, boxes) == box:
            return part
        panel = site_panels.alone(svg, box, boxes)
        return (
            part
            if panel is None
            else replace(part, address=self._file(cell, "svg", panel.encode()))
        )

    def _narrow(self, cell: NotebookNode, svg: str, words: str) -> str:
        """A single wide panel for a phone, its title as text above it."""
        least = LEGIBLE / PIXELS / site_narrow.smallest_words(svg)
        drawing = (
            site_columns.cut(svg, PHONE / max(IN_COLUMNS, least) / PIXELS)
            or site_columns.cut(svg, PHONE / IN_COLUMNS / PIXELS)
            or site_narrow.narrow(svg, PHONE / max(NARROW, least) / PIXELS)
        )
        address = self._file(cell, "svg", drawing.svg.encode())
        part = _Part(address, 0.0, 0.0, drawing.width, drawing.height)
        title = _title(drawing.title) if drawing.title else ""
        stacked = _stacked([part], words, _scale([part.pixels], least))
        return tag("div", title + tag("div", stacked, class_="om-figure"), class_="om-stacked")

    def _picture(self, cell: NotebookNode, png: bytes, description: str) -> str:
        address, words = self._file(cell, "png", png), self._words(cell, description)
        width, height = struct.unpack(">II", png[PNG_SIZE])
        return tag("div", _image(address, words, width, height), class_="om-figure")

    def _file(self, cell: NotebookNode, kind: str, content: bytes) -> str:
        """The address, seen from the page, of a picture that becomes a file of the site.

        Pages that draw one cell in two ways share the folder: a name tells the content.
        """
        if kind == "svg" and (lost := site_panels.lost_names(content.decode())):
            raise BuildError(
                f"{self.lesson}, cell {cell.id}: a drawing refers to #{lost[0]}, not there"
            )
        digest = hashlib.sha256(content).hexdigest()[:8]
        path = f"{PICTURES}/{cell.id}-{digest}.{kind}"
        self.files[path] = content
        return self.root + path

    def _words(self, cell: NotebookNode, description: str) -> str:
        words = " ".join(description.split())
        if not words or words.startswith("<"):
            raise BuildError(f"{self.lesson}, cell {cell.id} shows a picture without a description")
        return words


@dataclass(frozen=True)
class _Part:
    """A part of a drawing as a phone shows it, in points, and the numbers beside it, if any."""

    address: str
    left: float
    top: float
    width: float
    height: float
    whole: str = ""  # the address of the drawing that has the numbers
    numbers: site_narrow.Box | None = None
    title: str = ""

    @property
    def pixels(self) -> float:
        """How wide it is as drawn, with the numbers."""
        beside = self.numbers[2] - self.numbers[0] if self.numbers else 0.0
        return (self.width + beside) * PIXELS

    @property
    def html(self) -> str:
        """The picture; the numbers of its axis are one of their own, at its left."""
        picture = _img(self.address, self.width, self.height)
        if self.numbers:
            left, top, right, bottom = self.numbers
            name, window = _window(left, self.top, right - left, self.height)
            above = 100 * max(0.0, top - self.top) / self.height
            below = 100 * max(0.0, self.top + self.height - bottom) / self.height
            clip = f"clip-path: inset({above:.1f}% 0 {below:.1f}% 0)"
            numbers = _img(f"{self.whole}#{name}", window[2], window[3], clip)
            picture = tag("span", numbers + picture, class_="om-numbered")
        return (_title(self.title) if self.title else "") + picture


def _stacked(parts: Sequence[_Part], words: str, scale: float) -> str:
    """Parts as a phone shows them."""
    style = f"--om-scale: {scale}"
    pictures = "".join(part.html for part in parts)
    return tag("div", pictures, class_="om-panels", role="img", aria_label=words, style=style)


def _img(address: str, width: float, height: float, more: str = "") -> str:
    style = "; ".join(filter(None, [_style(width * PIXELS, height * PIXELS), more]))
    return opening("img", src=address, alt="", loading="lazy", style=style)


def _title(title: str) -> str:
    return tag("p", escaped(title), class_="om-figure-title")


def _views(svg: str) -> list[View]:
    """The panels of a drawing; a colour bar that two in a row share goes to the last of them."""
    windows = {name: list(map(float, numbers)) for name, *numbers in PANEL.findall(svg)}
    drawn = {name: list(window) for name, window in windows.items()}
    for first, second in pairwise(windows.values()):
        end, floor = first[0] + first[2], first[1] + first[3]
        in_a_row = first[1] <= second[1] and second[1] + second[3] <= floor
        if in_a_row and first[0] < second[0] and second[0] + second[2] <= end:
            first[2], second[2] = second[0] - first[0], end - second[0]
    return [
        (name if window == drawn[name] else _window(*window)[0], (left, top, wide, high))
        for name, window in windows.items()
        for left, top, wide, high in [window]
    ]


def _box(window: Window) -> site_narrow.Box:
    left, top, width, height = window
    return left, top, left + width, top + height


def _halves(width: float, height: float) -> list[View]:
    """Views of the halves of a drawing, in points, below the title."""
    top, cut = TITLE * height, CUT * width
    return [_window(left, top, wide, height - top) for left, wide in ((0, cut), (cut, width - cut))]


def _window(left: float, top: float, width: float, height: float) -> View:
    """A view of a part of a drawing."""
    name = f"svgView(viewBox({left:g},{top:g},{width:g},{height:g}))"
    return name, (left, top, width, height)


def _opaque_in_the_dark(svg: str) -> str:
    """The drawing, in whose dark colours little of the paper shines through."""
    shares = sorted(set(OPACITY.findall(svg)), key=float)
    kept = [share for share in shares if GLASS <= float(share) < 1]
    if not kept:
        return svg
    dark = ";".join(f"--o{100 * float(a):.0f}:{1 - (1 - float(a)) / 3:.2f}" for a in kept)
    svg = OPACITY.sub(
        lambda match: (
            f"opacity: var(--o{100 * float(match[1]):.0f},{match[1]})"
            if match[1] in kept
            else match[0]
        ),
        svg,
    )
    return IN_THE_DARK.sub(lambda match: f"{match[0]}{dark};", svg, count=1)


def _image(address: str, words: str, width: int, height: int) -> str:
    style = f"--om-drawn: {width}"  # again, for site.css
    size: dict[str, int] = {"width": width, "height": height}
    return opening("img", src=address, alt=words, loading="lazy", style=style, **size)


def _style(width: float, height: float) -> str:
    """The shape of a panel, and its width as it was drawn."""
    return f"aspect-ratio: {width:.0f} / {height:.0f}; --om-drawn: {width:.0f}"


def _scale(widths: Sequence[float], least: float) -> float:
    """How large a phone shows panels that were drawn so wide.

    Two of them stand in a row where that leaves their words legible, else one.
    """
    median = statistics.median(widths)
    usual = max(width for width in widths if width <= UNUSUAL * median)
    smallest = max(SMALLEST, math.floor(100 * least) / 100)
    alone = max(FITS, PHONE / max(widths))
    scales = [(PHONE - GAP) / (2 * width) for width in (usual, median)]  # all in pairs, or most
    in_pairs = next((scale for scale in scales if scale >= smallest), None)
    return math.floor(100 * min(LARGEST, in_pairs or alone)) / 100


def _printed(text: str) -> str:
    """Printed text; where it is no table its lines may break, but not before a last short word."""
    if any(map(_is_row, text.splitlines())):
        return code_block(text, "text", "om-output")
    return code_block(LAST_WORD.sub(f"{NO_BREAK}\\1", text), "text", "om-output om-lines")


def _is_row(line: str) -> bool:
    """Whether a line has columns: a label and short cells, rather than a sentence with gaps."""
    _, *cells = GAPS.split(line.strip())
    return len(cells) > 1 and all(len(cell.split()) <= CELL for cell in cells)


def _stream(text: str, keys: tuple[str, ...]) -> list[str]:
    """What a cell printed; a line that compares a guess becomes one that knows the reader's."""
    blocks: list[str] = []
    for number, part in enumerate(site_questions.MEASURED.split(text)):
        if number % 2:
            if len(keys) != 1:
                raise BuildError(f"'Measured: {part}' does not answer one question")
            blocks.append(site_questions.HTML.reveal(keys[0], part))
        elif part.strip():
            blocks.append(_printed(part.strip("\n")))
    return blocks


def _html(text: str) -> str:
    """HTML as one block; a table of pandas comes without its own style."""
    if "<table" not in text:
        return " ".join(text.split())
    plain = STYLE.sub("", text).replace(' border="1" class="dataframe"', ' class="docutils"')
    plain = re.sub(r' style="text-align: \w+;"', "", plain)
    plain = INDEX_NAME.sub(r"<thead> <tr> <th>\2</th> \1</tr> </thead>", plain)
    plain = plain.replace("<th></th>", "<td></td>")  # a heading without words heads nothing
    in_one_line = " ".join(plain.split()).replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")
    return tag("div", in_one_line, class_="table-wrapper om-table")
