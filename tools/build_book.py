"""Build the book, the site's lessons as PDF and EPUB: `python tools/build_book.py [--help]`.

Its chapters are pages of the site (build_site.py), made fit for paper (book_page.py). Sphinx makes
one page of HTML of them, which Chromium prints, formulas set by MathJax; and an EPUB, which has the
formulas as MathML, by the same MathJax, for readers without JavaScript. Nothing is fetched.
"""

import argparse
import json
import re
import shutil
import sys
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import build_site
import lesson_titles
import site_index
import site_pages
from browser import SECONDS, chromium, find_chromium
from notebook_source import CLOSER, BuildError, Project, read_project

NAME = "order-matters"
BESIDE = ("symbols", "glossary")  # pages besides lessons that the book has
LISTED = "content.opf"  # in an EPUB: its files
HERE = "<!-- chapters -->"  # in site/book/index.md
TYPESET = "MathJax.startup && MathJax.startup.promise.then(() => true)"
FORMULAS = """() => [...MathJax.startup.document.math].map(
    (formula) => [formula.math.trim(), MathJax.startup.toMML(formula.root)])"""
PAPER = {
    "format": "A4",
    "margin": {"top": "18mm", "bottom": "20mm", "left": "20mm", "right": "20mm"},
    "print_background": True,
    "display_header_footer": True,
    "header_template": "<span></span>",
    "footer_template": '<div style="width: 100%; text-align: center; font: 8pt sans-serif">'
    '<span class="pageNumber"></span></div>',
    "tagged": True,
    "outline": True,
}


def chapters(names: Sequence[str]) -> list[str]:
    """The lessons in order, each before the closer looks at it."""
    order: list[str] = []
    for lesson in site_index.lessons(names):
        order += [lesson, *site_index.closer_looks(names, lesson)]
    return order


def sources(project: Project) -> dict[str, bytes]:
    """All that Sphinx reads, by path."""
    lessons = {page.name: page for page in build_site.lesson_pages(project)}
    texts = {name: lessons[name].markdown for name in chapters(list(lessons))}
    written = site_pages.texts(project)
    texts |= {name: written[name] for name in BESIDE}
    files = {f"{name}.md": text.encode() for name, text in texts.items()}
    for page in lessons.values():
        files |= page.files
    template = (project.root / "site" / "book" / "index.md").read_text("utf-8")
    titles = {name: lesson_titles.read(text) for name, text in texts.items()}
    return files | {"index.md": _index(template, project, titles).encode()}


def _index(template: str, project: Project, titles: dict[str, lesson_titles.Title]) -> str:
    """The first page: its text, a list of the chapters, the chapters themselves."""
    rows = []
    for name, title in titles.items():
        question = f": {title.question}" if title.question else ""
        indent = "  " if name.startswith(CLOSER) else ""
        rows.append(f"{indent}- [{title.heading}]({name}.md){question}")
    text = site_pages.with_address(template.replace("{version}", project.version), project)
    text = text.replace(HERE, "\n".join(rows))
    return f"{text}\n{site_index.toctree(list(titles))}\n"


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """The one page of the book in Chromium, its formulas set."""
    from playwright import sync_api as playwright

    with (
        build_site.served(folder) as address,
        playwright.sync_playwright() as play,
        chromium(play) as browser,
    ):
        page = browser.new_page()
        page.set_default_timeout(180 * SECONDS)
        page.goto(f"{address}/index.html")
        page.wait_for_function(TYPESET)
        page.wait_for_load_state("networkidle")
        yield page


def formulas(page: Any) -> dict[str, str]:
    """The page's formulas: TeX → MathML."""
    pairs = page.evaluate(FORMULAS)
    if wrong := [tex for tex, mathml in pairs if "<merror" in mathml]:
        raise BuildError(f"MathJax cannot set the formula {wrong[0]!r}")
    return {tex: " ".join(mathml.split()) for tex, mathml in pairs}


def declare_mathml(epub: Path) -> None:
    """Say in an EPUB's list of files which have formulas, as the format asks; Sphinx does not."""
    with zipfile.ZipFile(epub) as archive:
        files = {info: archive.read(info) for info in archive.infolist()}
    marked = {info.filename for info, content in files.items() if b"<math" in content}

    def item(match: re.Match[str]) -> str:
        properties = '<item properties="mathml"'
        return match[0].replace("<item", properties) if match[1] in marked else match[0]

    partial = epub.with_suffix(".partial")
    with zipfile.ZipFile(partial, "w") as archive:
        for info, content in files.items():
            if info.filename == LISTED:
                content = re.sub(r'<item [^>]*?href="([^"]+)"', item, content.decode()).encode()
            archive.writestr(info, content)
    partial.replace(epub)


def build(root: Path, out: Path) -> list[Path]:
    """Build the book in ``out``; its files."""
    if not find_chromium():
        raise BuildError("no Chromium on PATH prints the book; ORDER_MATTERS_CHROMIUM can name one")
    project, folder = read_project(root), out / "book"
    source, settings = folder / "source", root / "site" / "book"
    build_site.write(source, sources(project))
    options = ["-D", f"html_static_path=_static,{source.resolve() / '_static'}"]
    options += ["-D", f"release={project.version}", "-D", f"version={project.version}"]
    pdf, epub = out / f"{NAME}.pdf", out / f"{NAME}.epub"
    build_site.sphinx("singlehtml", settings, source, folder / "singlehtml", *options)
    with opened(folder / "singlehtml") as page:
        (source / "formulas.json").write_text(json.dumps(formulas(page)), encoding="utf-8")
        page.pdf(path=str(pdf), **PAPER)
    build_site.sphinx("epub", settings, source, folder / "epub", *options)
    shutil.copy(folder / "epub" / f"{NAME}.epub", epub)
    declare_mathml(epub)
    return [pdf, epub]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 0 when all is well."""
    parser = argparse.ArgumentParser(description="Build the book from notebooks/.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="in place of site/build")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    try:
        files = build(options.root, options.out or options.root / "site" / "build")
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    for path in files:
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"built in {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
