"""The pages besides the lessons: what stands on them, and in which order."""

import re
from collections.abc import Sequence
from pathlib import Path

import site_choose
import site_glossary
import site_index
import site_ledger
import site_reference
import site_teaching
from notebook_source import Project
from site_page import Page

# In the table of contents, after the lessons. A page in site/pages that is not named comes last.
ORDER = (
    "choose", "ledger", "glossary", "symbols", site_reference.INDEX, "teaching", "how_we_know",
    "changelog",
)  # fmt: skip
# What a quick build may leave out: lessons, and the reference.
TO_PAGE = re.compile(rf"\]\(((?:closer/)?\d\d_\w+|{site_reference.INDEX})\.md(?:#[^)]*)?\)")
LIBRARY = "docs/library.md"
ADDRESS = "{address}"  # on the first page: of the repository


def pages(project: Project, lessons: Sequence[Page], reference: bool = True) -> list[Page]:
    """The first page and all that are no lesson; those of the reference only where asked for."""
    titles = {page.name: page.opening for page in lessons}
    address = f"{project.address}/blob/{project.tag}"
    made = {page.name: page for page in _written(project.root / "site" / "pages")}
    made["choose"] = site_choose.page(made["choose"].markdown)
    made["ledger"] = site_ledger.page(made["ledger"].markdown, list(titles))
    made["glossary"] = site_glossary.page(made["glossary"].markdown)
    made["teaching"] = site_teaching.page(made["teaching"].markdown, project.root)
    made["changelog"] = _changelog(project.root)
    described = site_reference.pages() if reference else []
    index = made.pop("index").markdown.replace(ADDRESS, project.address)
    names = [*made, *(page.name for page in described[:1])]
    order = sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    there = [*titles, *(page.name for page in described)]
    first = Page("index", "", site_index.first_page(index, titles, order))
    return [
        Page(page.name, "", _to_pages(page.markdown, there, address), page.files,
             page.explorers)
        for page in (first, *made.values(), *described)
    ]  # fmt: skip


def _written(folder: Path) -> list[Page]:
    """The pages that are written by hand, or the part of them that is."""
    paths = sorted(folder.rglob("*.md"))
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in paths]
    return [
        Page(name, "", path.read_text("utf-8")) for name, path in zip(names, paths, strict=True)
    ]


def _changelog(root: Path) -> Page:
    return Page("changelog", "", (root / "CHANGELOG.md").read_text("utf-8"))


def _to_pages(markdown: str, names: Sequence[str], address: str) -> str:
    """Links to pages that are not on this site lead to what is in the repository instead."""

    def link(match: re.Match[str]) -> str:
        if match[1] in names:
            return match[0]
        file = LIBRARY if match[1] == site_reference.INDEX else f"notebooks/{match[1]}.ipynb"
        return f"]({address}/{file})"

    return TO_PAGE.sub(link, markdown)
