"""PNG without paper, which can be read on a light page and on a dark one."""

import io
from collections.abc import Iterable

import numpy as np
from PIL import Image

# In place of black. No grey has a contrast of 4.5 with white and with JupyterLab's #111; this one
# comes nearest: 4.4 with the one, 4.3 with the other.
INK = (0x72, 0x79, 0x87)
BOLDER = 1.6  # how much more there is of a grey, so that soft words are in full ink too
GREY = 24  # of 255: how far apart red, green and blue of a grey are at most
LUMINANCE = np.array([0.2126, 0.7152, 0.0722])  # of red, green and blue
LEAST = 0.17  # of a colour's luminance: contrast 4.8 with white, and 3.9 with #111
Box = tuple[int, int, int, int]  # left, top, right, bottom


def without_paper(picture: bytes, kept: Iterable[Box] = ()) -> bytes:
    """The PNG, of at most 256 colours, with its white taken out and its black as a middling grey.

    On white other colours look as before, but for those too dark for a dark page. What lies in the
    boxes ``kept``, in pixels, stays as it is.
    """
    image = Image.open(io.BytesIO(picture)).convert("P")
    palette = np.array(image.getpalette("RGB"), dtype=np.uint8).reshape(-1, 3)
    places = np.asarray(image)
    drawn = _without_white(palette)[places]
    opaque = np.pad(palette, [(0, 0), (0, 1)], constant_values=255)
    for left, top, right, bottom in kept:
        drawn[top:bottom, left:right] = opaque[places[top:bottom, left:right]]
    return small(Image.fromarray(drawn, "RGBA"))


def _without_white(colours: np.ndarray) -> np.ndarray:
    """The (n, 4) colours that, seen on white, are the (n, 3) ones."""
    alpha = 1 - colours.min(axis=1, keepdims=True) / 255
    seen = _lightened(1 - (1 - colours / 255) / np.maximum(alpha, 1e-9))
    is_grey = np.ptp(colours, axis=1, keepdims=True) <= GREY
    seen = np.where(is_grey, np.array(INK) / 255, seen)
    alpha = np.where(is_grey, np.minimum(BOLDER * alpha, 1), alpha)
    return (255 * np.hstack([seen, alpha])).round().astype(np.uint8)


def _lightened(colours: np.ndarray) -> np.ndarray:
    """The (n, 3) colours with as much white as the dark ones need."""
    while (is_dark := luminance(colours) < LEAST).any():
        colours = np.where(is_dark[:, None], 0.95 * colours + 0.05, colours)
    return colours


def luminance(colours: np.ndarray) -> np.ndarray:
    """How bright sRGB colours (..., 3) from 0 to 1 are: (...), relative luminance (WCAG 2.2)."""
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    return linear @ LUMINANCE


def small(picture: Image.Image) -> bytes:
    """The picture as PNG, of 256 colours if it has more, but less than twice as many."""
    rgba = picture.convert("RGBA")
    if rgba.getcolors(512) and not rgba.getcolors(256):
        fewer = rgba.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        rgba = fewer.convert("RGBA")
    colours, places = np.unique(np.asarray(rgba).view(np.uint32), return_inverse=True)
    buffer = io.BytesIO()
    if len(colours) > 256:
        rgba.save(buffer, "png", optimize=True)
    else:
        indices = places.reshape(rgba.height, rgba.width).astype(np.uint8)
        values = colours.view(np.uint8).reshape(-1, 4)
        smaller = Image.fromarray(indices, "P")
        smaller.putpalette(values[:, :3].tobytes())
        smaller.save(buffer, "png", optimize=True, transparency=values[:, 3].tobytes())
    return buffer.getvalue()
