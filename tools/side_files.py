"""The build's files beside the notebooks: README's tables and pictures, the ledger of claims."""

import base64
import re
from pathlib import Path

import claims_table
import readme_tables
from nbformat import NotebookNode
from notebook_source import BuildError, Project, Target, badge, lesson_name, read_notebook

SHIELD = "https://img.shields.io/badge"
BADGES = re.compile(r"(?<=<!-- badges:start -->\n).*?(?=<!-- badges:end -->)", re.DOTALL)


def badges(project: Project, lessons: list[Path]) -> str:
    """README's badges: the two licences; Colab, Binder and the tests once there is an address."""
    lines = [
        f"[![Code: MIT]({SHIELD}/code-MIT-blue.svg)](LICENSE)",
        f"[![Text: CC BY 4.0]({SHIELD}/text-CC%20BY%204.0-blue.svg)](LICENSE-text)",
    ]
    if project.address:
        first = f"notebooks/{lessons[0].stem}.ipynb" if lessons else ""
        binder = f"https://mybinder.org/v2/gh/{project.slug}/{project.tag}?urlpath=lab/tree/{first}"
        workflow = f"{project.address}/actions/workflows/test.yml"
        lines = [
            badge(project, first),
            f"[![Open in Binder](https://mybinder.org/badge_logo.svg)]({binder})",
            f"[![Tests]({workflow}/badge.svg)]({workflow})",
            *lines,
        ]
    return "\n".join(lines) + "\n"


def citation(text: str, project: Project) -> str:
    """CITATION.cff with the repository's address, if there is one."""
    text = re.sub(r"(?m)^repository-code:.*\n", "", text)
    if not project.address:
        return text
    return re.sub(r"(?m)^version:", f'repository-code: "{project.address}"\nversion:', text)


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
    """README.md with its tables, CITATION.cff, data/claims.csv and docs/LESSON.png, by path.

    The last two are made from the notebooks with solutions, which have every output.
    """
    files: dict[Path, bytes] = {}
    solutions = {lesson_name(t.lesson): read_notebook(t.path) for t in targets if t.solutions}
    full = {name: notebook for name, notebook in solutions.items() if notebook}
    if (project.root / "data").is_dir():
        files[project.root / "data" / "claims.csv"] = ledger(full)
    cited = project.root / "CITATION.cff"
    if cited.exists():
        files[cited] = citation(cited.read_text(encoding="utf-8"), project).encode()
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
