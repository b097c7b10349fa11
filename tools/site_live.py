"""Trained models that read on a page: where they stand, and the files that they need.

A live model is a pair of files in site/live: ``NAME.md`` says what to try and perhaps, below the
model, what there is to see; ``NAME.js`` has the controls. What all share lies beside them. The
weights are a file of ``data``, as it is.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from notebook_source import BuildError
from site_html import tag

from course_lab.explorers.explorer import JAVASCRIPT
from course_utils.encodings.functional import scaled_frequencies
from course_utils.measures import trained_models
from course_utils.models import shipped
from course_utils.models.stretching import BASE, way_to_stretch
from course_utils.pretrained.ablation import LeftOutPairs, StoppedPairs
from course_utils.texts import data, text

SOURCE = Path(__file__).resolve().parents[1] / "site" / "live"
MODEL = "rope"
HERE = "<!-- model -->"  # in NAME.md, where it does not stand last
NEEDS = "A trained model reads here where JavaScript runs, and no Python."
# Of what stretching.csv judges: one of three passages, its longest window, the factor of all ways.
PASSAGES, PASSAGE, LONGEST, FACTOR = 3, 1, 1024, 8
WAYS = ("direct", "interpolation", "NTK-aware", "YaRN", "step")
READ, PROSE = "passage.json", "prose.json"  # what the lessons' models read, and what one watches
# Prose of another passage, and how many bytes: most of the one above is tables.
PROSE_PASSAGE, PROSE_STARTS, PROSE_BYTES = 0, b'The "*" (multiplication)', 768


@dataclass(frozen=True)
class Place:
    """A live model, and where it stands in its lesson: before the paragraph that starts so."""

    name: str
    before: str


PLACES = {
    "05_rope": Place("pairs_off", "## Exercises"),
}


def inserted(cells: Sequence[NotebookNode], lesson: str) -> list[NotebookNode]:
    """A lesson's cells, with its live model as one more where it has one.

    Raises:
        BuildError: if the lesson's text has changed, so that its place is not clear.
    """
    place = PLACES.get(lesson)
    if place is None:
        return list(cells)
    start = re.compile(rf"(?:\A|(?<=\n\n)){re.escape(place.before)}")
    texts = [cell.source if cell.cell_type == "markdown" else "" for cell in cells]
    positions = [
        (n, match.start()) for n, source in enumerate(texts) for match in start.finditer(source)
    ]
    if len(positions) != 1:
        raise BuildError(
            f"{lesson} has not one paragraph that starts with {place.before!r}, before which "
            f"{place.name} stands; PLACES in tools/site_live.py can name another"
        )
    here, cut = positions[0]
    model = block(place.name, "../" * lesson.count("/"))
    sources = (texts[here][:cut], model, texts[here][cut:])
    new = [
        new_markdown_cell(source.strip(), id=f"{cells[here].id}-{n}")
        for n, source in enumerate(sources)
        if source.strip()
    ]
    return [*cells[:here], *new, *cells[here + 1 :]]


def block(name: str, root: str) -> str:
    """What to try, and the element that the module fills; ``root`` leads to the first page.

    The text below it may name the numbers of :func:`without_pairs`.
    """
    above, _, below = (SOURCE / f"{name}.md").read_text("utf-8").partition(HERE)
    blocks = [above.strip(), element(name, root)]
    if below.strip():
        blocks.append(below.format(**without_pairs()).strip())
    return "\n\n".join(blocks)


def element(name: str, root: str, reads: str = READ) -> str:
    """The element that the module fills, and the file of what its model reads."""
    fallback = tag("p", NEEDS, class_="om-fallback")
    model = _assets()["model.safetensors"]
    digest = hashlib.sha256(model).hexdigest()
    start = json.dumps({"bytes": len(model), "sha256": digest, "passage": reads})
    module = f"{root}{folder()}/{name}.js"
    return tag("div", fallback, class_="om-live", data_module=module, data_start=start)


def files(lessons: Iterable[str]) -> dict[str, bytes]:
    """What the live models of these lessons need, by path on the site; nothing if there is none."""
    return assets() if PLACES.keys() & set(lessons) else {}


def assets() -> dict[str, bytes]:
    """All files of live models, by path on the site."""
    return {f"{folder()}/{name}": content for name, content in _assets().items()}


@cache
def folder() -> str:
    """The folder of those files, named by their contents: browsers keep files they have seen."""
    digest = hashlib.sha256()
    for name, content in _assets().items():
        digest.update(name.encode() + content)
    return f"_static/live-{digest.hexdigest()[:8]}"


@cache
def _assets() -> dict[str, bytes]:
    assets = {
        path.name: path.read_bytes()
        for path in sorted(SOURCE.iterdir())
        if path.suffix in (".js", ".css")
    }
    assets["model.js"] = (JAVASCRIPT / "model.js").read_bytes()
    assets["model.safetensors"] = data.verified(shipped.file_name(MODEL)).read_bytes()
    assets[READ] = json.dumps(passage()).encode()
    assets[PROSE] = json.dumps(prose()).encode()
    return assets


def without_pairs() -> dict[str, float]:
    """Loss of the passage in pieces of 64, in nats a byte: all pairs on, and without some.

    ``fast`` is the fastest quarter of the pairs, ``slow`` the slower half.
    """
    reading, model = passage(), shipped.model(MODEL)
    tokens = torch.tensor([list(reading["text"].encode("latin-1"))])
    windows = text.sliding(tokens, length=reading["trained"], first=reading["first"])
    n_heads, d_head = model.encoding.n_heads, model.encoding.d_head
    pairs, models = d_head // 2, {"all": model}
    for kind, first, last in (("fast", 0, pairs // 4 - 1), ("slow", pairs // 2, pairs - 1)):
        without = LeftOutPairs(n_heads * d_head, n_heads, first=first, last=last)
        models[f"{kind}_stopped"] = shipped.model(MODEL, scaling=StoppedPairs(first, last))
        models[f"{kind}_out"] = model.changed(encoding=without)
    judged = windows.targets >= 0
    return {
        name: float(trained_models.losses(changed, windows)[judged].mean())
        for name, changed in models.items()
    }


def passage() -> dict[str, Any]:
    """What the model reads, and the ways to stretch that a page may choose.

    ``count`` bytes are predicted, the first of them by the byte at ``first``.
    """
    content, first = _held_out(PASSAGE), LONGEST // 2
    return _reading(content, first, len(content) - 1 - first)


def prose() -> dict[str, Any]:
    """The same for the page on which one watches it read: sentences, and no tables."""
    content = _held_out(PROSE_PASSAGE)
    return _reading(content, content.index(PROSE_STARTS) - 1, PROSE_BYTES)


def _held_out(number: int) -> bytes:
    """A passage that no model has seen."""
    held_out = text.spread(text.split(text.documentation()).held_out, PASSAGES)
    return bytes(held_out[number, : 3 * LONGEST + 1].tolist())


def _reading(content: bytes, first: int, count: int) -> dict[str, Any]:
    model, trained = shipped.model(MODEL), shipped.length(MODEL)
    d_head, ways = model.encoding.d_head, {}
    for way in WAYS:
        scaling = way_to_stretch(way, FACTOR, trained, d_head)
        speeds, factor = scaled_frequencies(d_head, BASE, scaling)
        ways[way] = {"speeds": speeds.tolist(), "sharpness": factor**2}
    return {
        "text": content.decode("latin-1"),
        "first": first,
        "count": count,
        "trained": trained,
        "ways": ways,
    }
