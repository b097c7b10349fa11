"""The site's first page and its table of contents, from the title cells of the lessons."""

from collections.abc import Mapping, Sequence

import lesson_titles
from notebook_source import CLOSER

HERE = "<!-- lessons -->"  # in site/pages/index.md, where the table of lessons goes


def closer_looks(names: Sequence[str], lesson: str) -> list[str]:
    """The pages that look closer at a lesson."""
    return [name for name in names if name.startswith(f"{CLOSER}/{lesson[:2]}")]


def lessons(names: Sequence[str]) -> list[str]:
    """The pages of lessons, without closer looks, which stand below their lesson."""
    return [name for name in names if not name.startswith(CLOSER)]


def toctree(names: Sequence[str], caption: str = "") -> str:
    """A table of contents of the pages below this one; it shows in the sidebar only."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n".join(["```{toctree}", options, *(f"/{name}" for name in names), "```"])


def table(titles: Mapping[str, str]) -> str:
    """A row a lesson, from its title cell: link, question, minutes, doors."""
    rows = []
    for name in lessons(list(titles)):
        title = lesson_titles.read(titles[name])
        closer = [f"{look}.md" for look in closer_looks(list(titles), name)]
        question = title.question + lesson_titles.closer_links(closer)
        rows.append([f"[{title.heading}]({name}.md)", question, title.minutes, title.doors])
    return lesson_titles.markdown_table(["lesson", "question", "minutes", "doors"], rows)


def first_page(template: str, titles: Mapping[str, str], others: Sequence[str]) -> str:
    """The first page; ``others`` are pages besides lessons."""
    parts = [
        template.replace(HERE, table(titles)),
        toctree(lessons(list(titles)), "Lessons"),
        toctree(others, "Beside the lessons"),
    ]
    return "\n\n".join(parts) + "\n"
