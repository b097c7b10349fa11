"""Trained models that read on a page: where they stand, and the files that they need.

A live model is a pair of files in site/live: ``NAME.md`` says what to try and perhaps, below the
model, what there is to see; ``NAME.js`` has the controls. What all share lies beside them. The
weights are a file of ``data``, as it is.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode
from nbformat.v4 import new_markdown_cell
from notebook_source import BuildError
from site_html import tag

SOURCE = Path(__file__).resolve().parents[1] / "site" / "live"
MODEL = "rope"
HERE = "<!-- model -->"  # in NAME.md, where it does not stand last
NEEDS = "A trained model reads here where JavaScript runs, and no Python."
# What lesson 08 reads: one of three passages, the longest window, the factor of all its ways.
PASSAGES, PASSAGE, LONGEST, FACTOR = 3, 1, 1024, 8
WAYS = ("direct", "interpolation", "NTK-aware", "YaRN", "step")
PART = 256  # bytes; what is read before the page hears of it


@dataclass(frozen=True)
class Place:
    """A live model, and where it stands in its lesson: before the paragraph that starts so."""

    name: str
    before: str


PLACES = {
    "05_rope": Place("pairs_off", "**The X-ray.** Softmax sees"),
    "08_stretching_rope": Place("stretch", "## A short fine-tuning"),
}


def inserted(cells: Sequence[NotebookNode], lesson: str) -> list[NotebookNode]:
    """A lesson's cells, with its live model as one more where it has one.

    Raises:
        BuildError: if the lesson's text has changed, so that its place is not clear.
    """
    place = PLACES.get(lesson)
    if place is None:
        return list(cells)
    at = [n for n, cell in enumerate(cells) if cell.cell_type == "markdown"]
    at = [n for n in at if any(part.startswith(place.before) for part in _parts(cells[n]))]
    if len(at) != 1 or cells[at[0]].source.count(place.before) != 1:
        raise BuildError(
            f"{lesson} has not one paragraph that starts with {place.before!r}, before which "
            f"{place.name} stands; PLACES in tools/site_live.py can name another"
        )
    here = at[0]
    before, after = cells[here].source.split(place.before)
    texts = (before, block(place.name, "../" * lesson.count("/")), place.before + after)
    new = [
        new_markdown_cell(text.strip(), id=f"{cells[here].id}-{n}")
        for n, text in enumerate(texts)
        if text.strip()
    ]
    return [*cells[:here], *new, *cells[here + 1 :]]


def _parts(cell: NotebookNode) -> list[str]:
    return cell.source.split("\n\n")


def block(name: str, root: str) -> str:
    """What to try, and the element that the module fills; ``root`` leads to the first page.

    What stands below it may name the numbers of :func:`without_pairs`.
    """
    above, _, below = (SOURCE / f"{name}.md").read_text("utf-8").partition(HERE)
    told_below = below.format(**without_pairs()) if below.strip() else ""
    parts = (above.strip(), element(name, root), told_below.strip())
    return "\n\n".join(part for part in parts if part)


def element(name: str, root: str) -> str:
    """The element that the module fills."""
    told = tag("p", NEEDS, class_="om-fallback")
    model = _assets()["model.safetensors"]
    start = json.dumps({"bytes": len(model), "sha256": hashlib.sha256(model).hexdigest()})
    return tag(
        "div", told, class_="om-live", data_module=f"{root}{folder()}/{name}.js", data_start=start
    )


def files(lessons: Iterable[str]) -> dict[str, bytes]:
    """What the live models of these lessons need, by path on the site; nothing if there is none."""
    if not PLACES.keys() & set(lessons):
        return {}
    return {f"{folder()}/{name}": content for name, content in _assets().items()}


@cache
def folder() -> str:
    """The folder of those files; other contents have another, as browsers keep what they have."""
    found = hashlib.sha256()
    for name, content in _assets().items():
        found.update(name.encode() + content)
    return f"_static/live-{found.hexdigest()[:8]}"


@cache
def _assets() -> dict[str, bytes]:
    from course_utils.models import shipped
    from course_utils.texts import data

    made = {
        path.name: path.read_bytes()
        for path in sorted(SOURCE.iterdir())
        if path.suffix in (".js", ".css")
    }
    made["model.safetensors"] = data.verified(shipped.file_name(MODEL)).read_bytes()
    made["passage.json"] = json.dumps(passage()).encode()
    return made


@cache
def without_pairs() -> dict[str, float]:
    """Loss of the passage in pieces of 64, in nats a byte: all pairs on, and without some.

    ``fast`` is the fastest quarter of the pairs, ``slow`` the slower half.
    """
    import torch

    from course_utils.measures import trained_models
    from course_utils.models import shipped
    from course_utils.pretrained.ablation import LeftOut, Still
    from course_utils.texts import text

    told, model = passage(), shipped.model(MODEL)
    read = torch.tensor([list(told["text"].encode("latin-1"))])
    windows = text.sliding(read, length=told["trained"], first=told["first"])
    n_heads, d_head = model.encoding.n_heads, model.encoding.d_head
    pairs, models = d_head // 2, {"all": model}
    for kind, ends in {"fast": (0, pairs // 4 - 1), "slow": (pairs // 2, pairs - 1)}.items():
        without = LeftOut(n_heads * d_head, n_heads, first=ends[0], last=ends[1])
        models[f"{kind}_stopped"] = shipped.model(MODEL, scaling=Still(*ends))
        models[f"{kind}_out"] = model.changed(encoding=without)
    judged = windows.targets >= 0
    return {
        name: float(trained_models.losses(one, windows)[judged].mean())
        for name, one in models.items()
    }


def passage() -> dict[str, Any]:
    """What the model reads, as lesson 08 cuts it, and the ways to stretch that it compares.

    ``parts`` of ``part`` bytes are judged; the byte at ``first`` is the first that foretells one.
    """
    from course_utils.encodings.functional import scaled_frequencies
    from course_utils.models import shipped
    from course_utils.models.stretching import BASE, way_to_stretch
    from course_utils.texts import text

    model, trained = shipped.model(MODEL), shipped.length(MODEL)
    held_out = text.spread(text.split(text.documentation()).held_out, PASSAGES)
    found = bytes(held_out[PASSAGE, : 3 * LONGEST + 1].tolist())
    d, ways = model.encoding.d_head, {}
    for way in WAYS:
        scaling = way_to_stretch(way, FACTOR, trained, d)
        speeds, factor = scaled_frequencies(d, BASE, scaling)
        ways[way] = {"speeds": speeds.tolist(), "sharpness": factor**2}
    return {
        "text": found.decode("latin-1"),
        "first": LONGEST // 2,
        "part": PART,
        "parts": (len(found) - 1 - LONGEST // 2) // PART,
        "trained": trained,
        "ways": ways,
    }
