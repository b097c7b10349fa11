"""One colour, marker and dash for each encoding in the whole course, and for any other curve.

An encoding's class has its ``look``. The looks of the course's own were chosen together: families
share a hue by door (blues are added to embeddings, oranges rotate, greens are a bias, violet opens
two doors). Within these the colours were searched for the largest smallest distance as seen with
full colour vision, protanopia, deuteranopia and tritanopia; lightness or dash differ too, for
pictures in grey, and no two share a marker.
"""

import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb

from course_utils import validation
from course_utils.encodings import NAMES, Look, known_names, maker_of

Dash = str | tuple[int, tuple[float, ...]]

SOLID: Dash = "-"
DASHES: tuple[Dash, ...] = (  # strokes and gaps in line widths
    SOLID,
    (0, (6, 2)),
    (0, (2, 1.2)),
    (0, (7, 2, 1.5, 2)),
    (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    (0, (1, 1)),
    (0, (10, 2)),
    (0, (3, 1, 1, 1)),
)
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MOST_MARKERS = 12  # a curve of more points has its marker at some of them only
SIMILAR = 0.3  # colours nearer than this in red, green and blue, each from 0 to 1
PALE = 0.7  # luminance from which a line is hard to see on white

# Encodings of one's own without a look are pink, red, brown or grey.
OWN_COLOURS = ("#e0218a", "#9b1b30", "#8a5a44", "#7f7f7f")
OWN_MARKERS = ("8", "H", "4", "|", "3", "_")
N_OWN = 12
ABBREVIATIONS = {"noposition": "none", "noencoding": "none", "nope": "none"}

_own_places: dict[str, int] = {}  # encodings of one's own → their place among the looks for them


@dataclass(frozen=True)
class Identity(Look):
    """How a curve looks, in any figure."""

    def line(self, points: int) -> dict[str, Any]:
        """Keywords for ``ax.plot`` of a curve of so many points."""
        look = {"color": self.colour, "marker": self.marker, "linestyle": self.dash}
        return look if points <= MOST_MARKERS else {**look, "markevery": 0.12}


def encoding_named(curve: str) -> str | None:
    """The encoding that a curve's name names, as ``create`` calls it; None if it names none.

    Papers' spellings count: "ALiBi", "Transformer-XL", "no position".
    """
    if curve in known_names():
        return curve
    letters = _letters(curve)
    for name in NAMES:
        if _letters(name) == letters:
            return name
    return ABBREVIATIONS.get(letters)


def identity(name: str) -> Identity:
    """The colour, marker and dash of an encoding, the same in every figure.

    That is the ``look`` of its class. A name without one is taken for an encoding of one's own and
    gets one of twelve looks. Its place among them follows from the name, so it is the same in each
    run; where two names want one place, the later gets the next that is free.
    """
    validation.sentence("name", name)
    encoding = encoding_named(name) or name
    maker = maker_of(encoding) if encoding in known_names() else None
    look = vars(maker).get("look") if isinstance(maker, type) else None  # not an inherited one
    if look is not None:
        return Identity(look.colour, look.marker, look.dash)
    if encoding not in _own_places:
        first = zlib.crc32(encoding.encode()) % N_OWN
        places = [(first + step) % N_OWN for step in range(N_OWN)]
        free = [place for place in places if place not in _own_places.values()]
        _own_places[encoding] = free[0] if free else first
    place = _own_places[encoding]
    return Identity(
        OWN_COLOURS[place % len(OWN_COLOURS)],
        OWN_MARKERS[place % len(OWN_MARKERS)],
        DASHES[place % len(DASHES)],
    )


def identities_in_one_figure(curves: Iterable[str]) -> list[Identity]:
    """How the curves of one figure look: encodings as everywhere, others by their place.

    "rope, lr 0.01" is a case of RoPE: it keeps RoPE's colour, and from the second case on gets
    another dash and marker. What is no encoding takes the palette's colours in their order, without
    those that an encoding in the same figure comes close to, and has no marker.
    """
    encodings = [_encoding_or_case(curve) for curve in curves]
    palette = _palette_beside([identity(name).colour for name in encodings if name])
    identities: list[Identity] = []
    n_others = 0
    for place, encoding in enumerate(encodings):
        if encoding is None:
            colour = palette[n_others % len(palette)]
            identities.append(Identity(colour, "", DASHES[n_others % len(DASHES)]))
            n_others += 1
        else:
            earlier_cases = encodings[:place].count(encoding)
            identities.append(_case(identity(encoding), earlier_cases))
    return identities


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _encoding_or_case(curve: str) -> str | None:
    before_comma = curve.split(", ")[0]
    return encoding_named(curve) or encoding_named(before_comma.split(" (")[0])


def _case(encoding: Identity, number: int) -> Identity:
    """The look of an encoding's case; number 0 looks as the encoding does."""
    if number == 0:
        return encoding
    first = DASHES.index(encoding.dash) if encoding.dash in DASHES else 0
    dash = DASHES[(first + number) % len(DASHES)]
    return replace(encoding, dash=dash, marker=MARKERS[(number - 1) % len(MARKERS)])


def _palette_beside(used: list[str]) -> list[str]:
    """The style's colours, pale ones last, without those similar to the used ones."""
    cycle = [to_hex(colour) for colour in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]
    palette = sorted(cycle, key=_is_pale)
    free = [colour for colour in palette if not any(_is_similar(colour, other) for other in used)]
    return free or palette


def _is_similar(colour: str, other: str) -> bool:
    return math.dist(to_rgb(colour), to_rgb(other)) <= SIMILAR


def _is_pale(colour: str) -> bool:
    """Whether a line of this colour is hard to see on white."""
    red, green, blue = to_rgb(colour)
    return 0.21 * red + 0.72 * green + 0.07 * blue > PALE
