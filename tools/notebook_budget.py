"""How much a lesson asks of a learner: counted in its source, with limits.

Words are those of Markdown cells, without formulas, addresses and comments. Lines of code are those
that a learner sees: not of plumbing, solutions and the set-up cell, not blank ones, not those with
a comment only. A figure is a call of ``plots.show`` or the strip of doors, an explorer a call of
``widgets.explore`` or of one in ``explorers``.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

from nbformat import NotebookNode
from notebook_folds import PLUMBING

STARS = {1: 4, 2: 7, 3: 10}  # minutes that an exercise takes, by its stars
FORMULA = re.compile(r"\$\$.*?\$\$|\$.*?\$", re.DOTALL)
NO_PROSE = re.compile(r"<!--.*?-->|(?<=\])\([^)]*\)|https?://\S+", re.DOTALL)
MINUTES = "{minutes}"  # where a title cell gets the time that was counted
COLUMNS = (
    "minutes", "words", "lines", "figures", "predictions", "explorers", "exercises", "claims",
    "mean cell", "longest",
)  # fmt: skip
# Of a core lesson. A closer look may take longer, and only its time and its cells are limited.
LIMITS = dict(zip(COLUMNS, (45, 1400, 220, 8, 5, 2, 3, 4, 8, 15), strict=True))
CLOSER_LIMITS = {"minutes": 60, "mean cell": 8, "longest": 15}


@dataclass(frozen=True)
class Budget:
    """What a lesson has."""

    words: int
    cells: tuple[int, ...]  # lines of each visible code cell
    figures: int
    predictions: int
    explorers: int
    stars: tuple[int, ...]  # of each exercise
    claims: int

    @property
    def minutes(self) -> float:
        """How long a learner takes, by the course's formula."""
        looking = (self.figures + self.predictions) / 2 + 2 * self.explorers
        working = sum(STARS[stars] for stars in self.stars)
        return self.words / 150 + sum(self.cells) / 12 + looking + working

    def row(self) -> dict[str, float]:
        """The numbers of the table, by column."""
        mean = sum(self.cells) / max(1, len(self.cells))
        numbers = (
            self.minutes, self.words, sum(self.cells), self.figures, self.predictions,
            self.explorers, len(self.stars), self.claims, mean, max(self.cells, default=0),
        )  # fmt: skip
        return dict(zip(COLUMNS, numbers, strict=True))

    def over(self, limits: dict[str, int]) -> dict[str, float]:
        """The columns whose number is above its limit."""
        return {name: n for name, n in self.row().items() if n > limits.get(name, n)}


def count(cells: Iterable[NotebookNode]) -> Budget:
    """Count the cells of a lesson's source; solutions are left out."""
    every = [cell for cell in cells if "solution" not in cell.metadata.get("tags", [])]
    code = [cell for cell in every if cell.cell_type == "code"]
    visible = [cell for cell in code if PLUMBING not in cell.metadata.get("tags", [])]
    prose = "\n\n".join(cell.source for cell in every if cell.cell_type == "markdown")
    calls = [name for cell in code for name in called(cell.source)]
    return Budget(
        words=words(prose),
        cells=tuple(lines(cell.source) for cell in visible),
        figures=calls.count("plots.show") + sum(map(shows_strip, code)),
        predictions=sum(name in ("predict", "predict_number") for name in map(_last, calls)),
        explorers=sum(_last(name) == "explore" for name in calls) + shown_explorers(code),
        stars=tuple(len(found) for found in re.findall(r"\*\*Exercise \d+ (★{1,3})", prose)),
        claims=sum(_last(name) == "Claim" for name in calls),
    )


def words(markdown: str) -> int:
    """The words of a text in Markdown."""
    prose = NO_PROSE.sub(" ", FORMULA.sub(" ", markdown))
    return len(re.findall(r"\w[\w'’-]*", prose))


def lines(source: str) -> int:
    """The lines of code: not blank, and not a comment only."""
    every = map(str.strip, source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in every)


def called(source: str) -> list[str]:
    """What a cell calls, once for each call in its source."""
    nodes = ast.walk(ast.parse(source))
    return [ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)]


def shows_strip(cell: NotebookNode) -> bool:
    """Whether ``course_lab.start`` draws the strip of doors in this cell."""
    return "course_lab.start(" in cell.source and "doors=" in cell.source


def shown_explorers(code: Iterable[NotebookNode]) -> int:
    """Statements ``explorers.name(…)``: each shows an explorer of the browser."""
    statements = [part for cell in code for part in ast.parse(cell.source).body]
    return sum(
        isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Call)
        and ast.unparse(part.value.func).startswith("explorers.")
        for part in statements
    )


def with_time(title: str, minutes: float) -> str:
    """The title cell with the counted time, in steps of five minutes, in place of ``{minutes}``."""
    return title.replace(MINUTES, f"about {rounded(minutes)} minutes")


def rounded(minutes: float) -> int:
    """Minutes as a reader is told them: in steps of five, at least one."""
    return max(5, 5 * round(minutes / 5))


def table(budgets: dict[str, Budget], limits: dict[str, dict[str, int]]) -> str:
    """A row a lesson, by name; what is above the limits of a lesson that has some is marked."""
    width = max([len("at most, in a core lesson"), *map(len, budgets)])
    out = [" ".join([" " * width, *(f"{name:>11}" for name in COLUMNS)])]
    for name, budget in budgets.items():
        over = budget.over(limits.get(name, {}))
        out.append(_row(name.ljust(width), budget.row(), over))
    return "\n".join([*out, _row("at most, in a core lesson".ljust(width), dict(LIMITS), {})])


def _row(name: str, numbers: dict[str, float], marked: Iterable[str]) -> str:
    told = []
    for column, number in numbers.items():
        text = f"{number:.1f}" if isinstance(number, float) else f"{number:,}"
        told.append(f"{text + '!' * (column in marked):>11}")
    return " ".join([name, *told])


def excess(name: str, budget: Budget, limits: dict[str, int]) -> str | None:
    """What is too much in a lesson, in words; None when nothing is."""
    found = budget.over(limits)
    told = [f"{column} {found[column]:.4g}, at most {limits[column]}" for column in found]
    return f"{name} is over its budget: {'; '.join(told)}" if found else None


def _last(name: str) -> str:
    return name.rpartition(".")[2]
