"""Build the site from the notebooks that were run: `python tools/build_site.py [--help]`.

Each notebook with solutions becomes a page of Markdown in site/build/source, and the pictures and
explorers that it shows become files; Sphinx makes site/build/html of them. Nothing is executed and
nothing is fetched.
"""

import argparse
import json
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import site_explorers
import site_glossary
import site_head
import site_index
import site_live
import site_page
import site_pages
import site_questions
from notebook_source import (
    BuildError,
    Project,
    find_lessons,
    lesson_name,
    read_notebook,
    read_project,
)


def notebooks(project: Project, name: str) -> tuple[Path, Path]:
    """A lesson's notebook with solutions, and the learners'."""
    folder = project.root / "notebooks"
    return folder / "solutions" / f"{name}.ipynb", folder / f"{name}.ipynb"


def lesson_pages(project: Project) -> list[site_page.Page]:
    """The pages of the lessons, in order, then of the closer looks."""
    glossary = site_glossary.read(project.root)
    pages = []
    for name in map(lesson_name, find_lessons(project.root)):
        solved, learners = map(read_notebook, notebooks(project, name))
        if not solved or not learners:
            raise BuildError(f"notebooks/{name}.ipynb was not built; make notebooks does it")
        links = site_glossary.Links(glossary, "../" * name.count("/"))
        pages.append(site_page.page(name, solved, learners, links.linked))
    return pages


def sources(project: Project) -> dict[str, bytes]:
    """All that Sphinx reads, by path: pages, pictures, explorers, live models, notebooks."""
    lessons = lesson_pages(project)
    others = site_pages.pages(project, lessons)
    names = [page.name for page in lessons]
    files = site_live.files(names)
    for page in (*lessons, *others):
        files |= page.files | site_explorers.files(page.explorers)
        closer = site_index.closer_looks(names, page.name)
        contents = [site_index.toctree(closer)] if closer else []
        markdown = site_head.with_head(page, project)
        files[f"{page.name}.md"] = "\n\n".join([markdown, *contents]).encode()
    asked = {page.name: site_questions.keys(page.markdown) for page in lessons}
    files["_static/questions.js"] = f"window.omQuestions = {json.dumps(asked)};\n".encode()
    for name in names:
        _, learners = notebooks(project, name)
        files[f"{site_page.NOTEBOOKS}/{name}.ipynb"] = learners.read_bytes()
    return files


def write(folder: Path, files: dict[str, bytes]) -> None:
    """Make the folder hold these files and no others."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def sphinx(builder: str, settings: Path, source: Path, out: Path, *options: str) -> None:
    """Run a builder of Sphinx with the conf.py in ``settings``; a warning is an error."""
    from sphinx.cmd.build import main as run

    shutil.rmtree(out, ignore_errors=True)
    arguments = ["-q", "-W", "--keep-going", "-b", builder, "-c", str(settings), *options]
    doctrees = source.with_name(f"{builder}-doctrees")
    if run([*arguments, "-d", str(doctrees), str(source), str(out)]) != 0:
        raise BuildError(f"Sphinx could not build the pages ({builder}); it says why above")


def build(root: Path, out: Path) -> None:
    """Build the site in ``out``."""
    project, source = read_project(root), out / "source"
    write(source, sources(project))
    static = f"html_static_path=static,{source.resolve() / '_static'}"
    release = f"release={project.version}"
    sphinx("html", root / "site", source, out / "html", "-D", static, "-D", release)


class Handler(SimpleHTTPRequestHandler):
    """Serves files quietly; JavaScript has its type whatever this computer's registry says."""

    extensions_map = {**SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript"}

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


def server(folder: Path, port: int = 0, handler: type[Handler] = Handler) -> ThreadingHTTPServer:
    """A server of the folder for this machine only; port 0 is one that is free."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(handler, directory=str(folder)))
    except OSError as error:
        hint = f"take another with make site-serve PORT={port + 1}"
        raise BuildError(f"port {port} cannot be had ({error.strerror}); {hint}") from None


@contextmanager
def served(folder: Path, handler: type[Handler] = Handler) -> Iterator[str]:
    """The address of a folder, as long as this process shows it."""
    with server(folder, handler=handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; the exit status is 0 when all is well."""
    parser = argparse.ArgumentParser(description="Build site/build/html from notebooks/.")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="in place of site/build")
    parser.add_argument("--serve", type=int, metavar="PORT", help="then show it on 127.0.0.1")
    options = parser.parse_args(arguments)
    out, start = options.out or options.root / "site" / "build", time.perf_counter()
    try:
        build(options.root, out)
        print(f"{out / 'html' / 'index.html'} was built in {time.perf_counter() - start:.0f} s")
        if options.serve is not None:
            with server(out / "html", options.serve) as running:
                address = f"http://127.0.0.1:{running.server_port}"
                print(f"{address} shows it, until Ctrl-C", flush=True)
                running.serve_forever()
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
