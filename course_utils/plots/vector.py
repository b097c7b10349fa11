"""A figure as SVG: sharp at any size, with light and dark colours, and a view for each panel."""

import base64
import colorsys
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import QuadMesh
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox
from PIL import Image

from course_utils import validation
from course_utils.plots.paper import luminance, small

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
HREF = f"{{{XLINK}}}href"
PICTURE = "data:image/png;base64,"
FONTS = "'DejaVu Sans', Verdana, sans-serif"  # Verdana's letters are as wide
POINTS = 72  # an inch
SETTINGS: Any = {  # of Matplotlib
    "svg.fonttype": "none",  # words as words
    "svg.hashsalt": "figure",  # the same names in every run
    "image.composite_image": False,  # each picture by its own cells, not by pixels of all together
}
AS_DRAWN = "as-drawn"  # marks what keeps its colours in the dark
COLOUR = re.compile(r"#([0-9a-f]{6})\b")
BLACK = "000000"
COORDINATES = ("d", "x", "y", "points")
NUMBER = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"(?:^#|url\(#)([\w.-]+)")
PAPER, INK = 0x11, 0xF0  # greys in the dark; JupyterLab's page has this one too
PALE = 0.65  # red, green and blue of a tint that words stand upon, at least
CONTRAST = 4.5  # of a colour on dark paper at least, as WCAG asks of words


def svg(fig: Figure, description: str = "") -> str:
    """The figure as SVG, which follows the reader's light or dark colour scheme.

    A ``description`` says what it shows to those who cannot see it.

    In the dark a grey (paper, ink, ticks, grids) becomes its opposite, a pale tint under words a
    dark one, and a colour too dark for it is lightened. Matrices, and all else whose colours are
    values, stay as they were drawn.
    The view ``panel-1`` shows the first panel with its labels and its colour bar alone,
    ``panel-2`` the second, and so on.
    """
    validation.instance("fig", fig, Figure, "a matplotlib Figure")
    buffer = io.StringIO()
    kept = list(_coloured_by_value(fig))
    names = [artist.get_gid() for artist in kept]
    for artist in kept:
        artist.set_gid(AS_DRAWN)
    with mpl.rc_context(SETTINGS):
        FigureCanvasSVG(fig).print_svg(buffer, metadata={"Date": None, "Creator": None})
    for artist, name in zip(kept, names, strict=True):
        artist.set_gid(name)
    root = ElementTree.fromstring(buffer.getvalue())
    metadata, styles = root[0], root[1]  # Matplotlib's own, always first
    root.remove(metadata)
    root.remove(styles)
    _simplify(root)
    rules, colours = _rules(root)
    _drop_unused_names(root, rules)
    views = [_view(number, box, fig) for number, box in enumerate(_panels(fig), start=1)]
    name = f"figure-{zlib.crc32(buffer.getvalue().encode()):08x}"
    root[:0] = [_style(rules, colours, name), *views]
    root.set("id", name)
    if description:
        root.set("role", "img")
        root.set("aria-label", description)
    ElementTree.register_namespace("", SVG)
    ElementTree.register_namespace("xlink", XLINK)
    return ElementTree.tostring(root, encoding="unicode")


def _panels(fig: Figure) -> list[Bbox]:
    """The box of each panel with its labels and its colour bar, in pixels of a drawn figure."""
    bars = {bar.ax: ax for ax in fig.axes for bar in _colour_bars(ax)}
    boxes: dict[Axes, list[Bbox]] = {
        ax: [] for ax in fig.axes if ax not in bars and ax.get_visible()
    }
    for ax in fig.axes:
        box = ax.get_tightbbox()
        if box is not None and (panel := bars.get(ax, ax)) in boxes:
            boxes[panel].append(box)
    return [Bbox.union(parts) for parts in boxes.values() if parts]


def _colour_bars(ax: Axes) -> list:
    drawn = (artist.colorbar for artist in (*ax.images, *ax.collections))
    return [bar for bar in drawn if bar is not None]


def _coloured_by_value(fig: Figure) -> Iterator[Artist]:
    """Cells and points whose colours are values, and the words upon cells, which suit theirs."""
    for ax in fig.axes:
        yield from (drawn for drawn in ax.collections if drawn.get_array() is not None)
        boxes = cells(ax)
        for words in ax.texts:
            x, y = words.get_transform().transform(words.get_unitless_position())
            if any(box.contains(x, y) for box in boxes):
                yield words


def cells(ax: Axes) -> list[Bbox]:
    """Where cells of a drawn figure's axes have colours that are values, in pixels."""
    boxes = [image.get_window_extent() for image in ax.images]
    for mesh in ax.collections:
        if isinstance(mesh, QuadMesh) and mesh.get_array() is not None:
            boxes.append(ax.transData.transform_bbox(mesh.get_datalim(ax.transData)))
    return boxes


def _simplify(element: ElementTree.Element) -> None:
    """Shorten numbers and pictures, and leave out what draws nothing, in place."""
    for key, value in element.items():
        if key in COORDINATES:
            value = NUMBER.sub(lambda match: f"{float(match[0]):.1f}".removesuffix(".0"), value)
        elif key == HREF and value.startswith(PICTURE):
            picture = Image.open(io.BytesIO(base64.b64decode(value.removeprefix(PICTURE))))
            value = PICTURE + base64.b64encode(small(picture)).decode()
        element.set(key, " ".join(value.split()))
    if element.tag != f"{{{SVG}}}text" and element.text and not element.text.strip():
        element.text = None
    for child in list(element):
        child.tail = (child.tail or "").strip()
        _simplify(child)
        is_empty_group = child.tag == f"{{{SVG}}}g" and not len(child)
        if is_empty_group or child.get("d") == "":
            element.remove(child)


def _rules(root: ElementTree.Element) -> tuple[dict[str, str], set[str]]:
    """Turn each style that recurs into a class, in place; returns the classes, and the colours.

    Colours become variables, but for those of what keeps its own.
    """
    counts = Counter(element.get("style") for element in root.iter())
    rules: dict[str, str] = {}
    colours: set[str] = set()

    def as_variable(match: re.Match[str]) -> str:
        colours.add(match[1])
        return f"var(--c{match[1]})"

    def walk(element: ElementTree.Element, is_kept: bool) -> None:
        if element.get("id") == AS_DRAWN:
            element.set("class", AS_DRAWN)
            is_kept = True
        for key in ("fill", "stroke"):  # a hatch has them outside of its style
            if not is_kept and COLOUR.fullmatch(element.get(key, "")):
                element.set("style", f"{key}: {element.attrib.pop(key)}")
        if style := element.attrib.pop("style", ""):
            look = style.replace("'DejaVu Sans'", FONTS)
            look = look if is_kept else COLOUR.sub(as_variable, look)
            if counts[style] > 1:
                element.set("class", rules.setdefault(look, f"s{len(rules)}"))
            else:
                element.set("style", look)
        for child in element:
            walk(child, is_kept)

    walk(root, is_kept=False)
    return rules, colours


def _drop_unused_names(root: ElementTree.Element, rules: dict[str, str]) -> None:
    values = [value for element in root.iter() for value in element.attrib.values()]
    used = {name for value in (*values, *rules) for name in REFERENCE.findall(value)}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)


def _style(rules: dict[str, str], colours: set[str], name: str) -> ElementTree.Element:
    """The rules of the drawing of this name, and of no other on the same page."""
    style = ElementTree.Element(f"{{{SVG}}}style")
    names = sorted({*colours, BLACK})
    light = ";".join(f"--c{colour}:#{colour}" for colour in names)
    dark = ";".join(f"--c{colour}:{_in_the_dark('#' + colour)}" for colour in names)
    style.text = (
        f"#{name}{{color-scheme:light dark;fill:var(--c{BLACK});{light}}}"  # Matplotlib omits black
        f"#{name} *{{stroke-linejoin:round;stroke-linecap:butt}}"  # what its own style says
        f"#{name} .{AS_DRAWN}{{fill:#{BLACK}}}"
        + "".join(f"#{name} .{kind}{{{look}}}" for look, kind in rules.items())
        + f"@media(prefers-color-scheme:dark){{#{name}{{{dark}}}}}"
    )
    return style


def _in_the_dark(colour: str) -> str:
    """The opposite of a grey or a pale tint; another colour, with as much white as it needs."""
    red, green, blue = to_rgb(colour)
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    if saturation == 0 or min(red, green, blue) > PALE:
        level = (INK - (INK - PAPER) * lightness) / 0xFF
        return to_hex(colorsys.hls_to_rgb(hue, level, saturation))
    parts, paper = np.array([red, green, blue]), np.full(3, PAPER / 0xFF)
    while (luminance(parts) + 0.05) / (luminance(paper) + 0.05) < CONTRAST:
        parts = 0.95 * parts + 0.05  # more white
    red, green, blue = parts.tolist()
    return to_hex((red, green, blue))


def _view(number: int, box: Bbox, fig: Figure) -> ElementTree.Element:
    """A named window on the drawing, cut to the paper, a little wider than its panel."""
    scale, margin = POINTS / fig.dpi, 3.0
    width, height = POINTS * fig.get_size_inches()
    left, right = max(0.0, box.x0 * scale - margin), min(width, box.x1 * scale + margin)
    top, bottom = (
        max(0.0, height - box.y1 * scale - margin),
        min(height, height - box.y0 * scale + margin),
    )
    window = f"{left:.0f} {top:.0f} {right - left:.0f} {bottom - top:.0f}"
    return ElementTree.Element(f"{{{SVG}}}view", id=f"panel-{number}", viewBox=window)
