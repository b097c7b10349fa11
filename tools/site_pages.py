"""The pages besides the lessons: what stands on them, and in which order."""

import re
from collections.abc import Sequence

import site_choose
import site_glossary
import site_index
import site_ledger
import site_live
import site_myths
import site_pictures
import site_teaching
from notebook_source import Project
from site_page import Page

# In the table of contents, after the lessons. A page in site/pages that is not named comes last.
ORDER = (
    "pictures",
    "choose",
    "myths",
    "watch",
    "ledger",
    "glossary",
    "symbols",
    "reference",
    "teaching",
    "how_we_know",
    "changelog",
)
OF_THE_REPOSITORY = re.compile(r"^<!-- where published -->\n(?:.+\n)+\n?", re.MULTILINE)
TO_REPOSITORY = re.compile(r"\[([^]]*)\]\(\{(?:address|files)\}[^)]*\)")


def pages(project: Project, lessons: Sequence[Page]) -> list[Page]:
    """The first page and all that are no lesson."""
    titles = {page.name: page.opening for page in lessons}
    contents = texts(project)
    index = contents.pop("index")
    others = {name: Page(name, "", text) for name, text in contents.items()}
    others["choose"] = site_choose.page(contents["choose"])
    others["ledger"] = site_ledger.page(contents["ledger"])
    model = site_live.element("surprise", "", site_live.PROSE)
    text = contents["watch"].replace(site_live.HERE, model)
    others["watch"] = Page("watch", "", text, site_live.assets())
    others["myths"] = site_myths.page(contents["myths"])
    others["pictures"] = site_pictures.page(contents["pictures"], project.root)
    others["teaching"] = site_teaching.page(contents["teaching"], project.root)
    order = sorted(others, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))
    first = Page("index", "", site_index.first_page(index, titles, order))
    return [first, *others.values()]


def texts(project: Project) -> dict[str, str]:
    """What is written by hand of each page, by name."""
    paths = sorted((project.root / "site" / "pages").glob("*.md"))
    written = {path.stem: path.read_text("utf-8") for path in paths}
    written["glossary"] = site_glossary.without_forms(written["glossary"])
    written["changelog"] = (project.root / "CHANGELOG.md").read_text("utf-8")
    return {name: with_address(text, project) for name, text in written.items()}


def with_address(text: str, project: Project) -> str:
    """Text with its links into the repository.

    While that has no address, their words are left, and paragraphs that only it needs are left out.
    """
    if not project.address:
        return TO_REPOSITORY.sub(r"\1", OF_THE_REPOSITORY.sub("", text))
    files = f"{project.address}/blob/{project.tag}"
    return text.replace("{address}", project.address).replace("{files}", files)
