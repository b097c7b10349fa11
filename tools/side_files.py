"""The build's files beside the notebooks: README's tables and pictures, the ledger of claims."""

import base64
import re
from pathlib import Path

import claims_table
import readme_tables
from nbformat import NotebookNode
from notebook_source import BuildError, Project, Target, badge, lesson_name, read_notebook

BADGES = re.compile(r"(?<=<!-- badges:start -->\n).*?(?=<!-- badges:end -->)", re.DOTALL)


def badges(project: Project, lessons: list[Path]) -> str:
    """README's badges: Colab and Binder on the first lesson, the tests, the two licences."""
    first = f"notebooks/{lessons[0].stem}.ipynb" if lessons else ""
    binder = f"https://mybinder.org/v2/gh/{project.slug}/{project.tag}?urlpath=lab/tree/{first}"
    workflow = f"{project.address}/actions/workflows/test.yml"
    shield = "https://img.shields.io/badge"
    licence = f"{project.address}/blob/{project.tag}/LICENSE"  # and LICENSE-text
    lines = [
        badge(project, first),
        f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})",
        f"[![Tests]({workflow}/badge.svg)]({workflow})",
        f"[![Code: MIT]({shield}/code-MIT-blue.svg)]({licence})",
        f"[![Text: CC BY 4.0]({shield}/text-CC%20BY%204.0-blue.svg)]({licence}-text)",
    ]
    return "\n".join(lines) + "\n"


def ledger(full: dict[str, NotebookNode]) -> bytes:
    """The content of data/claims.csv."""
    rows: list[dict[str, str]] = []
    for lesson, notebook in full.items():
        rows += claims_table.settled(notebook, lesson)
    try:
        return claims_table.table(rows)
    except ValueError as error:
        raise BuildError(f"data/claims.csv: {error}") from error


def pictures(full: dict[str, NotebookNode]) -> dict[str, bytes]:
    """The first picture of each lesson's cell tagged "readme", by the lesson's name."""
    by_lesson: dict[str, bytes] = {}
    for lesson, notebook in full.items():
        for cell in notebook.cells:
            shown = [output.get("data", {}) for output in cell.get("outputs", [])]
            images = [data["image/png"] for data in shown if "image/png" in data]
            if images and "readme" in cell.metadata.get("tags", []):
                by_lesson.setdefault(lesson, base64.b64decode(images[0]))
    return by_lesson


def side_files(project: Project, targets: list[Target]) -> dict[Path, bytes]:
    """README.md with its tables, data/claims.csv and docs/LESSON.png, by path.

    They are made from the notebooks with solutions, which have every output.
    """
    files: dict[Path, bytes] = {}
    solutions = {lesson_name(t.lesson): read_notebook(t.path) for t in targets if t.solutions}
    full = {name: notebook for name, notebook in solutions.items() if notebook}
    if (project.root / "data").is_dir():
        files[project.root / "data" / "claims.csv"] = ledger(full)
    readme = project.root / "README.md"
    if readme.exists():
        text = readme.read_text(encoding="utf-8")
        if not BADGES.search(text):
            raise BuildError("README.md has no lines <!-- badges:start --> and <!-- badges:end -->")
        lessons = list(dict.fromkeys(target.lesson for target in targets))
        text = BADGES.sub(lambda _: badges(project, lessons), text)
        files[readme] = readme_tables.fill(text, project, lessons).encode()
    for lesson, shown in pictures(full).items():
        files[project.root / "docs" / f"{lesson}.png"] = shown
    return files
