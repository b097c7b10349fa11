"""One colour, marker and dash for each encoding in the whole course, and for any other curve."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import matplotlib as mpl
from matplotlib.colors import to_hex, to_rgb

from course_utils import validation
from course_utils.encodings import known_names

Dash = str | tuple[int, tuple[float, ...]]

# Lengths of strokes and gaps, in line widths.
DASHES: tuple[Dash, ...] = (
    "-", (0, (6, 2)), (0, (2, 1.2)), (0, (7, 2, 1.5, 2)), (0, (5, 1.5, 1, 1.5, 1, 1.5)),
    (0, (1, 1)), (0, (10, 2)), (0, (3, 1, 1, 1)),
)  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MARKED = 12  # a longer curve has its marker at some of its points only


@dataclass(frozen=True)
class Identity:
    """How an encoding's curve looks; ``dash`` is a line style of matplotlib."""

    colour: str
    marker: str
    dash: Dash

    def line(self, points: int) -> dict[str, Any]:
        """Keywords for ``ax.plot`` of a curve of so many points."""
        every = {} if points <= MARKED else {"markevery": 0.12}
        return {"color": self.colour, "marker": self.marker, "linestyle": self.dash, **every}


# Families share a hue by door: blues are added to embeddings, oranges rotate, greens are a bias,
# violet opens two doors. Within these the colours were searched for the largest smallest distance
# as seen with full colour vision, protanopia, deuteranopia and tritanopia; lightness or dash
# differ too, for pictures in grey, and no two share a marker.
_COURSE = {
    "none": Identity("#171717", "x", DASHES[5]),
    "sinusoidal": Identity("#05589c", "o", DASHES[1]),
    "learned": Identity("#7c7dff", "s", DASHES[2]),
    "multiplicative": Identity("#290ba3", "p", DASHES[0]),
    "floater": Identity("#7970ac", "h", DASHES[4]),
    "complex_order": Identity("#5056e3", "1", DASHES[6]),
    "shaw": Identity("#600870", "+", DASHES[1]),
    "transformer_xl": Identity("#02adb4", "X", DASHES[6]),
    "t5": Identity("#0a5454", "P", DASHES[4]),
    "deberta": Identity("#033638", "*", DASHES[2]),
    "rope": Identity("#f65403", "D", DASHES[0]),
    "xpos": Identity("#481e01", "d", DASHES[3]),
    "alibi": Identity("#149e3e", "^", DASHES[3]),
    "kerple": Identity("#098463", "v", DASHES[0]),
    "fire": Identity("#80ab75", "<", DASHES[1]),
    "sandwich": Identity("#5e6102", ">", DASHES[5]),
    "cope": Identity("#424400", "2", DASHES[7]),
}
# Encodings of one's own are pink, red, brown or grey.
_OWN = tuple(
    Identity(("#e0218a", "#9b1b30", "#8a5a44", "#7f7f7f")[place % 4], marker, dash)
    for place, (marker, dash) in enumerate(zip("8H4|3_8H4|3_", (*DASHES, *DASHES[:4]), strict=True))
)
_SPOKEN = {"noposition": "none", "noencoding": "none", "nope": "none"}
_taken: dict[str, int] = {}  # encodings of one's own → place in _OWN


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def known(name: str) -> str | None:
    """The encoding that a curve's name names, as ``create`` calls it; None if it names none.

    Papers' spellings count: "ALiBi", "Transformer-XL", "no position".
    """
    if name in known_names():
        return name
    plain = _plain(name)
    found = next((one for one in _COURSE if _plain(one) == plain), None)
    return found or _SPOKEN.get(plain)


def identity(name: str) -> Identity:
    """The colour, marker and dash of an encoding, the same in every figure.

    Any name that is not the course's is taken for an encoding of one's own. Its place among twelve
    looks follows from the name, so it is the same in each run; where two names want one place, the
    later gets the next that is free.
    """
    validation.sentence("name", name)
    encoding = known(name) or name
    if encoding in _COURSE:
        return _COURSE[encoding]
    if encoding not in _taken:
        wanted = zlib.crc32(encoding.encode()) % len(_OWN)
        places = [(wanted + step) % len(_OWN) for step in range(len(_OWN))]
        free = [place for place in places if place not in _taken.values()]
        _taken[encoding] = (free or places)[0]
    return _OWN[_taken[encoding]]


def looks(names: Iterable[str]) -> list[Identity]:
    """How curves of one figure look, by their names: encodings as everywhere, others by place.

    "rope, lr 0.01" is a case of RoPE: it keeps RoPE's colour, and from the second case on gets
    another dash and marker. What is no encoding takes the palette's colours in their order, without
    those that an encoding in the same figure comes close to, and has no marker.
    """
    every = list(names)
    encodings = [known(name) or known(name.split(", ")[0].split(" (")[0]) for name in every]
    used = [identity(one).colour for one in encodings if one]
    cycle = [to_hex(colour) for colour in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]
    palette = sorted(cycle, key=_is_pale)
    free = [colour for colour in palette if all(_gap(colour, one) > 0.3 for one in used)] or palette
    found, others = [], 0
    for place, encoding in enumerate(encodings):
        if encoding is None:
            colour = free[others % len(free)]
            look = Identity(colour, "", DASHES[others % 8])
            others += 1
        else:
            look, cases = identity(encoding), encodings[:place].count(encoding)
            if cases:
                start = DASHES.index(look.dash)
                dash, marker = DASHES[(start + cases) % 8], MARKERS[(cases - 1) % 8]
                look = replace(look, dash=dash, marker=marker)
        found.append(look)
    return found


def _gap(one: str, other: str) -> float:
    """How far two colours are apart: the distance in red, green and blue, each from 0 to 1."""
    pairs = zip(to_rgb(one), to_rgb(other), strict=True)
    return float(sum((a - b) ** 2 for a, b in pairs) ** 0.5)


def _is_pale(colour: str) -> bool:
    """Whether a line of this colour is hard to see on white."""
    red, green, blue = to_rgb(colour)
    return 0.21 * red + 0.72 * green + 0.07 * blue > 0.7
