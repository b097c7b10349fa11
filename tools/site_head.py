"""What search engines and messengers show of a page: its description, title and picture."""

import re

import lesson_titles
import yaml
from notebook_source import Project
from site_page import Page

PICTURE = "_static/card.png"  # 1200 × 630
LONGEST = 200  # characters of a description, which is cut after a word
MARKUP = re.compile(r"<[^>]+>|[*`_]|\[([^]]*)\]\([^)]*\)")


def with_head(page: Page, project: Project) -> str:
    """The page's Markdown below the settings that make its head."""
    heading, text = page.markdown.partition("\n")[0].removeprefix("# "), description(page)
    meta = {
        "description": text,
        "property=og:site_name": "Order Matters",
        "property=og:type": "website",
        "property=og:title": heading,
        "property=og:description": text,
        "name=twitter:card": "summary_large_image",
    }
    if project.address:
        meta["property=og:image"] = f"{pages_address(project.address)}/{PICTURE}"
    settings = yaml.safe_dump({"myst": {"html_meta": meta}}, allow_unicode=True, width=1000)
    return f"---\n{settings}---\n\n{page.markdown}"


def description(page: Page) -> str:
    """A lesson's question, or the first paragraph of another page, in plain words."""
    question = lesson_titles.read(page.opening).question
    blocks = page.markdown.split("\n\n")[1:]
    paragraphs = [block for block in blocks if not block.startswith(("#", "```", "---", "|"))]
    plain = [MARKUP.sub(r"\1", paragraph) for paragraph in [question, *paragraphs]]
    text = next((" ".join(words.split()) for words in plain if words.strip()), "")
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rpartition(' ')[0]} …"


def pages_address(repository: str) -> str:
    """Where GitHub Pages shows the site of a repository."""
    owner, name = repository.rstrip("/").split("/")[-2:]
    return f"https://{owner}.github.io/{name}"
