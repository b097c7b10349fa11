"""README's blocks: the install command, the lessons, which encoding to take, the findings.

What stands in them is read from the lessons and computed from data/, so nothing in README that is
a number is typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import lesson_titles
import notebook_budget
import pandas as pd
import site_index
import twelve_pictures
from notebook_source import Project, badge, is_closer, lesson_name, read_lesson

from course_lab import chooser
from course_utils import results
from course_utils.texts import data

# The texts of "Which one?", a row each → their answers to the chooser's questions.
TEXTS: dict[str, dict[str, str]] = {answer: {"texts": answer} for answer in chooser.TIMES}
NO_LIMIT = 10.0  # nats behind the best: whatever the loss
STREAM = {"a stream, its keys in a cache": {"texts": chooser.MAY_CUT, "starts": "anywhere"}}


def install(project: Project) -> str:
    """The command that installs the reference: from the repository, or in a clone."""
    source = f"git+{project.address}@{project.tag}" if project.address else ".    # in a clone"
    return f"```\npip install {source}\n```\n"


def lessons(project: Project, paths: list[Path]) -> str:
    """A row a lesson: link, question, minutes by the build's count, doors, perhaps Colab."""
    head = ["lesson", "question", "minutes", "doors", *(["open"] if project.address else [])]
    rows = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    closer = [lesson_name(path) for path in paths if is_closer(path)]
    for path in paths:
        if is_closer(path):
            continue
        cells, page = read_lesson(path), f"notebooks/{path.stem}.ipynb"
        opening = notebook_budget.with_time(cells[0].source, notebook_budget.count(cells))
        title = lesson_titles.read(opening)
        looks = site_index.closer_looks(closer, path.stem)
        links = lesson_titles.closer_links([f"notebooks/{look}.ipynb" for look in looks])
        question = title.question + links
        heading = f"[{title.heading.replace(' ·', '')}]({page})"
        row = [heading, question, title.minutes, title.doors]
        if project.address:
            row.append(badge(project, page))
        rows.append(f"| {' | '.join(row)} |")
    return "\n".join(rows) + "\n"


def defaults() -> str:
    """What to take if nothing speaks against it, a line a kind of model."""
    return "".join(
        f"- **{kind}:** {default.sentence} {default.caveat}".rstrip() + "\n"
        for kind, default in chooser.DEFAULTS.items()
    )


class Best(NamedTuple):
    """The encoding that the chooser names first: what it reads, how many times as long, its loss.

    ``read`` is the length at which the loss is judged, in bytes.
    """

    reads: str
    name: str
    read: int
    mean: float
    margin: float

    @property
    def number(self) -> str:
        """The loss as it is written."""
        return f"{self.mean:.3f} ± {self.margin:.3f}"


def which_one() -> str:
    """What the chooser answers, as a table for README."""
    head, *rows = which_rows(lambda best: best.number)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def outside() -> str:
    """A sentence on the price that is none of the encodings of the table and does better."""
    losses = results.summary(chooser.steep_rows(), "read")
    at = {n: f"{losses.loc[n, 'mean']:.3f} ± {losses.loc[n, 'margin']:.3f}" for n in losses.index}
    trained, longest = chooser.TRAINED, max(chooser.times_read(n) for n in chooser.TIMES.values())
    return (
        "Outside the table, for earlier words only and in any kernel: ALiBi with the slopes "
        f"2, 1, ½, ¼, which this course drew (lesson 06), has {at[trained]} at {trained} bytes and "
        f"{at[longest]} at {longest:,}. Lesson 10 says what is not known of it."
    )


def which_rows(shown: Callable[[Best], str]) -> list[list[str]]:
    """What the chooser answers: headings, then a row for what is read and how long the texts are.

    Each column is a kind of kernel. A cell has the first of those that are left, and its loss,
    which ``shown`` writes, with a link perhaps.
    """
    kernels = chooser.QUESTIONS["attention"]
    rows = [["it reads", "texts", *(f"kernel: {kernel}" for kernel in kernels)]]
    for reads in chooser.TABLES:
        texts = TEXTS | (STREAM if reads == chooser.CAUSAL else {})
        for name, answers in texts.items():
            cells = [reads, name]
            for kernel in kernels:
                best = first_left(reads, {**answers, "attention": kernel})
                cells.append(f"`{best.name}` {shown(best)}" if best else "nobody")
            rows.append(cells)
    return rows


def first_left(reads: str, answers: dict[str, str]) -> Best | None:
    """The encoding of the lowest loss among those that the answers leave; None for nobody."""
    left = chooser.remaining(NO_LIMIT, reads=reads, **answers)
    if not left:
        return None
    read = chooser.times_read(chooser.TIMES[answers["texts"]])
    losses = _losses(chooser.TABLES[reads]).xs(read, level="read")
    mean, margin = (float(losses[column][left[0]]) for column in ("mean", "margin"))
    return Best(reads, left[0], read, mean, margin)


def as_trained(table: str) -> pd.DataFrame:
    """The rows of a shipped table in which a model reads as it was trained."""
    rows = data.results(table)
    return rows[rows["reading"] == results.AS_TRAINED] if "reading" in rows else rows


def _losses(table: str) -> pd.DataFrame:
    """Mean and margin by encoding and length."""
    return results.summary(as_trained(table), "encoding", "read")


def fill(text: str, project: Project, paths: list[Path]) -> str:
    """README with new blocks: what stands between <!-- name:start --> and its end."""
    makers: dict[str, Callable[[], str]] = {
        "install": lambda: install(project),
        "lessons": lambda: lessons(project, paths),
        "defaults": defaults,
        "which": lambda: f"{which_one()}\n{outside()}\n",
        "findings": lambda: twelve_pictures.readme_list(project.root),
    }

    def renewed(block: re.Match[str]) -> str:
        return f"{block[1]}{makers[block[2]]()}{block[3]}"

    names = "|".join(makers)
    return re.sub(rf"(?s)(<!-- ({names}):start -->\n).*?(<!-- \2:end -->)", renewed, text)
