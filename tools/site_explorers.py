"""Explorers on a page: which a cell shows, where it is mounted, and the files of their modules."""

import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache

import stills
from nbformat import NotebookNode
from notebook_source import BuildError
from site_html import escaped, tag

from course_lab import explorers

FOLDER = "_static/explorers"
PLACE = re.compile(r'id="(explorer-(\w+)-\d+)"')
IN_KERNEL = "Explorer with sliders"  # the same for one that needs Python; course_lab.widgets
RUN = "Run the cell to move them."
MOVES_ELSEWHERE = "A picture with sliders, in the notebook. Here is how it starts"


def shown(cell: NotebookNode, lesson: str) -> list[tuple[str, dict[str, object]]]:
    """The explorers that a cell shows, with the values from which their controls start."""
    try:
        return list(stills.calls(cell.source))
    except ValueError:
        raise BuildError(
            f"{lesson}, cell {cell.id}: an explorer cannot be shown on the site, where no Python "
            "runs: its values must be written out"
        ) from None


def title(name: str) -> str:
    """An explorer's title as a heading."""
    words = explorers.ALL[name].title
    return words[0].upper() + words[1:]


def mount(name: str, start: dict[str, object], description: str, root: str, number: int = 1) -> str:
    """A card with an explorer's title, and where ``site.js`` puts the explorer itself.

    There its description stands for those without JavaScript.

    ``root`` leads from the page to the site's first page; ``number`` counts the explorers of this
    name on the page.
    """
    text = escaped(description.replace(RUN, "").strip())
    fallback = tag("p", f"{text} (It moves where JavaScript runs.)", class_="om-fallback")
    values, address = json.dumps(start, ensure_ascii=False), f"{root}{path(name)}"
    place = tag("div", fallback, class_="om-mount", data_module=address, data_start=values)
    heading = tag("p", escaped(title(name)), class_="om-explorer-title")
    return tag("div", heading + place, class_="om-explorer", id=f"explorer-{name}-{number}")


def mounted(block: str) -> list[tuple[str, str]]:
    """The explorers in a block of a page: where each stands, and its title."""
    return [(match[1], title(match[2])) for match in PLACE.finditer(block)]


def path(name: str) -> str:
    """An explorer's file on the site; another content has another address."""
    version = hashlib.sha256(module(name).encode()).hexdigest()[:8]
    return f"{FOLDER}/{name}.js?v={version}"


def files(names: Iterable[str]) -> dict[str, bytes]:
    """The modules of these explorers, by their paths on the site."""
    return {f"{FOLDER}/{name}.js": module(name).encode() for name in names}


@cache
def module(name: str) -> str:
    """The explorer as a JavaScript module."""
    if name not in explorers.ALL:
        raise BuildError(f"there is no explorer {name!r}; there are {', '.join(explorers.ALL)}")
    return explorers.ALL[name].module
