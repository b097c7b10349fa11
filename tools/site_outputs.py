"""What a cell has shown, as blocks of a page: texts, tables, pictures in files of their own."""

import base64
import hashlib
import math
import re
import statistics
import struct
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import site_columns
import site_explorers
import site_narrow
import site_questions
import stills
from nbformat import NotebookNode
from notebook_source import BuildError
from site_html import code_block, escaped, opening, tag

from course_lab.claims import CLAIM_MIME

PICTURES = "_static/pictures"
PNG_SIZE = slice(16, 24)  # the bytes of a PNG with its width and height
SVG_SIZE = re.compile(r'<svg [^>]*width="([\d.]+)pt" height="([\d.]+)pt"')
PIXELS = 96 / 72  # of CSS, to a point
PHONE, GAP = 358, 7  # pixels across a phone's page, and between two panels there
SMALLEST, LARGEST = 0.7, 1.1  # of a panel there, compared with how it was drawn
NARROW = 0.8  # of a single panel that is squeezed: rather so large than wide
IN_COLUMNS = 0.62  # of a drawing whose columns do not all stand side by side, at least
FITS = 0.53  # of what stands alone in its row: rather so small than cut
PANEL = re.compile(r'<view id="(panel-\d+)" viewBox="\S+ \S+ (\S+) (\S+)"')
TITLE = 0.2  # of a door strip's height
CUT = 0.493  # of its width: left of the third door's leaf
COLUMNS = re.compile(
    r"\S {4,}\S|\S {2,}\S(?:.*\S)? {2,}\S"
)  # in a line: gaps that stand in a table
INDEX_NAME = re.compile(  # which pandas writes into a second row of headings
    r"<thead>\s*<tr>\s*<th></th>(.*?)</tr>\s*<tr>\s*<th>(.+?)</th>(?:\s*<th></th>)+\s*</tr>\s*</thead>",
    re.DOTALL,
)
STYLE = re.compile(r"<style.*?</style>", re.DOTALL)
Window = tuple[float, float, float, float]


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

    def blocks(
        self, cell: NotebookNode, keys: tuple[str, ...] = (), halves: bool = False
    ) -> list[str]:
        """The blocks of a cell that may answer the question with one of these keys.

        Questions and claims are left out: the page has forms for them. With ``halves`` a phone
        shows the left half of a drawing above the right one, both without the title.
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
                blocks += self._shown(cell, output.data, halves)
        return blocks

    def _shown(self, cell: NotebookNode, data: NotebookNode, halves: bool) -> list[str]:
        text = data.get("text/plain", "")
        if CLAIM_MIME in data or site_questions.QUESTION.fullmatch(text):
            return []
        if "image/svg+xml" in data:
            return self._drawing(cell, data["image/svg+xml"], text, halves)
        if "image/png" in data:
            picture = self._picture(cell, base64.b64decode(data["image/png"]), text)
            moves = text.startswith(site_explorers.IN_KERNEL)
            note = tag("p", site_explorers.MOVES_ELSEWHERE, class_="om-note")
            return [picture, note] if moves else [picture]
        if "text/markdown" in data:
            return [data["text/markdown"]]
        if "text/html" in data:
            return [_html(data["text/html"])]
        return [_printed(text)] if text else []

    def _drawing(self, cell: NotebookNode, svg: str, description: str, halves: bool) -> list[str]:
        """A figure whole and, if it has several panels, each by itself for a phone."""
        address = self._file(cell, "svg", svg.encode())
        words = self._words(cell, description)
        size = SVG_SIZE.search(svg)
        if size is None:
            raise BuildError(f"{self.lesson}, cell {cell.id} shows an SVG without width and height")
        width, height = (round(float(points) * PIXELS) for points in size.groups())
        whole = _image(address, words, width, height)
        panels = _halves(*map(float, size.groups())) if halves else PANEL.findall(svg)
        if self.on_phones is not None:
            panels = [
                panels[part - 1] if isinstance(part, int) else _window(*part)
                for part in self.on_phones
            ]
        elif len(panels) < 2:
            if width <= PHONE / NARROW:
                return [tag("div", whole, class_="om-figure")]
            return [tag("div", whole, class_="om-figure om-whole"), self._narrow(cell, svg, words)]
        sizes = [(float(width) * PIXELS, float(height) * PIXELS) for _, width, height in panels]
        addresses = [f"{address}#{name}" for name, *_ in panels]
        stacked = tag("div", _stacked(addresses, sizes, words), class_="om-figure om-stacked")
        return [tag("div", whole, class_="om-figure om-whole"), stacked]

    def _narrow(self, cell: NotebookNode, svg: str, words: str) -> str:
        """A single wide panel for a phone, its title as text above it."""
        columns = site_columns.cut(svg, PHONE / IN_COLUMNS / PIXELS)
        drawing = columns or site_narrow.narrow(svg, PHONE / NARROW / PIXELS)
        address = self._file(cell, "svg", drawing.svg.encode())
        size = drawing.width * PIXELS, drawing.height * PIXELS
        title = tag("p", escaped(drawing.title), class_="om-figure-title") if drawing.title else ""
        panel = tag("div", _stacked([address], [size], words), class_="om-figure")
        return tag("div", title + panel, class_="om-stacked")

    def _picture(self, cell: NotebookNode, png: bytes, description: str) -> str:
        address, words = self._file(cell, "png", png), self._words(cell, description)
        width, height = struct.unpack(">II", png[PNG_SIZE])
        return tag("div", _image(address, words, width, height), class_="om-figure")

    def _file(self, cell: NotebookNode, kind: str, content: bytes) -> str:
        """The address, seen from the page, of a picture that becomes a file of the site.

        Pages that draw one cell in two ways share the folder: a name tells the content.
        """
        digest = hashlib.sha256(content).hexdigest()[:8]
        path = f"{PICTURES}/{cell.id}-{digest}.{kind}"
        self.files[path] = content
        return self.root + path

    def _words(self, cell: NotebookNode, description: str) -> str:
        words = " ".join(description.split())
        if not words or words.startswith("<"):
            raise BuildError(f"{self.lesson}, cell {cell.id} shows a picture without a description")
        return words


def _stacked(addresses: Sequence[str], sizes: Sequence[tuple[float, float]], words: str) -> str:
    """Panels of these sizes in pixels as a phone shows them."""
    parts = "".join(
        opening("img", src=address, alt="", loading="lazy", style=_style(*size))
        for address, size in zip(addresses, sizes, strict=True)
    )
    scale = f"--om-scale: {_scale([width for width, _ in sizes])}"
    return tag("div", parts, class_="om-panels", role="img", aria_label=words, style=scale)


def _halves(width: float, height: float) -> list[tuple[str, float, float]]:
    """Views of the halves of a drawing, in points, below the title."""
    top, cut = TITLE * height, CUT * width
    return [_window(left, top, wide, height - top) for left, wide in ((0, cut), (cut, width - cut))]


def _window(left: float, top: float, width: float, height: float) -> tuple[str, float, float]:
    """A view of a part of a drawing, and its size."""
    return f"svgView(viewBox({left:g},{top:g},{width:g},{height:g}))", width, height


def _image(address: str, words: str, width: int, height: int) -> str:
    style = f"--om-drawn: {width}"  # again, for site.css
    size: dict[str, int] = {"width": width, "height": height}
    return opening("img", src=address, alt=words, loading="lazy", style=style, **size)


def _style(width: float, height: float) -> str:
    """The shape of a panel, and its width as it was drawn."""
    return f"aspect-ratio: {width:.0f} / {height:.0f}; --om-drawn: {width:.0f}"


def _scale(widths: Sequence[float]) -> float:
    """How large a phone shows panels that were drawn so wide.

    Two of them stand in a row where that leaves their words legible, else one.
    """
    in_pairs = (PHONE - GAP) / (2 * statistics.median(widths))
    alone = max(FITS, PHONE / max(widths))
    return math.floor(100 * min(LARGEST, in_pairs if in_pairs >= SMALLEST else alone)) / 100


def _printed(text: str) -> str:
    """Printed text; without columns its lines may break."""
    return code_block(text, "text", "om-output" if COLUMNS.search(text) else "om-output om-lines")


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
    return tag("div", " ".join(plain.split()), class_="table-wrapper om-table")
