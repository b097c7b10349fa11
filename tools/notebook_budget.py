"""The size of a lesson, counted in its source, and the limits it has to keep.

Words are those of Markdown cells, without formulas, addresses and comments. Lines of code are those
that a learner sees: no plumbing, solution or set-up cell, no blank line, no line of comment. A
figure is a call of ``plots.show`` or the strip of doors; an explorer is a call of
``widgets.explore`` or of a function in ``explorers``. The thread is all but the exercises.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
from nbformat import NotebookNode
from notebook_folds import PLUMBING, called

# Minutes that each takes, as readers with a clock needed them.
WORDS_A_MINUTE = 100
LINES_A_MINUTE = 6
EXPLORER = 4  # a figure and a prediction take one each
STARS = {1: 8, 2: 12, 3: 18}  # an exercise, by its stars
FORMULA = re.compile(r"\$\$.*?\$\$|\$.*?\$", re.DOTALL)
NO_PROSE = re.compile(r"<!--.*?-->|(?<=\])\([^)]*\)|https?://\S+", re.DOTALL)
MINUTES = "{minutes}"  # replaced by the counted time in a title cell
# Of a core lesson, for each column of the table.
LIMITS = {
    "thread": 50,
    "practice": 30,
    "words": 1400,
    "lines": 220,
    "figures": 8,
    "predictions": 4,
    "explorers": 2,
    "exercises": 3,
    "claims": 4,
    "mean cell": 8,
    "longest": 15,
}
# A closer look may take longer, and only its time and its cells are limited.
CLOSER_LIMITS = {"minutes": 60, "mean cell": 8, "longest": 15}


@dataclass(frozen=True)
class Budget:
    """The counts of one lesson."""

    words: int = 0
    cells: tuple[int, ...] = ()  # lines of each visible code cell
    figures: int = 0
    predictions: int = 0
    explorers: int = 0
    stars: tuple[int, ...] = ()  # of each exercise
    claims: int = 0

    @property
    def thread(self) -> float:
        """Minutes for all but the exercises."""
        reading = self.words / WORDS_A_MINUTE + sum(self.cells) / LINES_A_MINUTE
        return reading + self.figures + self.predictions + EXPLORER * self.explorers

    @property
    def practice(self) -> int:
        """Minutes for the exercises."""
        return sum(STARS[stars] for stars in self.stars)

    @property
    def minutes(self) -> float:
        """Minutes for the whole lesson."""
        return self.thread + self.practice

    def row(self) -> dict[str, float]:
        """The numbers of the table, by column."""
        return {
            "minutes": self.minutes,
            "thread": self.thread,
            "practice": self.practice,
            "words": self.words,
            "lines": sum(self.cells),
            "figures": self.figures,
            "predictions": self.predictions,
            "explorers": self.explorers,
            "exercises": len(self.stars),
            "claims": self.claims,
            "mean cell": sum(self.cells) / max(1, len(self.cells)),
            "longest": max(self.cells, default=0),
        }

    def over(self, limits: dict[str, int]) -> dict[str, float]:
        """The columns whose number is above its limit."""
        return {name: n for name, n in self.row().items() if n > limits.get(name, n)}


def count(cells: Iterable[NotebookNode]) -> Budget:
    """Count the cells of a lesson's source without its solutions."""
    shown = [cell for cell in cells if "solution" not in cell.metadata.get("tags", [])]
    code = [cell for cell in shown if cell.cell_type == "code"]
    visible = [cell for cell in code if PLUMBING not in cell.metadata.get("tags", [])]
    prose = "\n\n".join(cell.source for cell in shown if cell.cell_type == "markdown")
    calls = [name for cell in code for name in called(cell.source)]
    starts = [cell.source for cell in code if "course_lab.start(" in cell.source]
    mounted = [call for cell in code for call in explorer_calls(cell.source)]
    return Budget(
        words=words(prose),
        cells=tuple(lines(cell.source) for cell in visible),
        figures=calls.count("plots.show") + sum("doors=" in source for source in starts),
        predictions=sum(name in ("predict", "predict_number") for name in map(_last, calls)),
        explorers=sum(_last(name) == "explore" for name in calls) + len(mounted),
        stars=tuple(len(stars) for stars in re.findall(r"\*\*Exercise \d+ (★{1,3})", prose)),
        claims=sum(_last(name) == "Claim" for name in calls),
    )


def words(markdown: str) -> int:
    """The number of words in Markdown text."""
    prose = NO_PROSE.sub(" ", FORMULA.sub(" ", markdown))
    return len(re.findall(r"\w[\w'’-]*", prose))


def lines(source: str) -> int:
    """The number of lines that are neither blank nor a comment."""
    stripped = map(str.strip, source.splitlines())
    return sum(bool(line) and not line.startswith("#") for line in stripped)


def explorer_calls(source: str) -> list[ast.Call]:
    """The statements ``explorers.name(…)`` of a cell, each of which shows an explorer."""
    values = [part.value for part in ast.parse(source).body if isinstance(part, ast.Expr)]
    calls = [value for value in values if isinstance(value, ast.Call)]
    return [call for call in calls if ast.unparse(call.func).startswith("explorers.")]


def with_time(title: str, budget: Budget) -> str:
    """The title cell with the counted time, in steps of five minutes, in place of ``{minutes}``."""
    time = f"about {_in_fives(budget.thread)} minutes"
    if budget.practice:
        time += f", and {_in_fives(budget.practice)} for the exercises"
    return title.replace(MINUTES, time)


def _in_fives(minutes: float) -> int:
    return max(5, 5 * round(minutes / 5))


def table(budgets: dict[str, Budget], limits: dict[str, dict[str, int]]) -> str:
    """One row per lesson; numbers above the lesson's limits are marked with !."""
    rows = {
        name: _row(budget.row(), budget.over(limits.get(name, {})))
        for name, budget in budgets.items()
    }
    rows["at most, in a core lesson"] = _row(dict(LIMITS), {})
    return pd.DataFrame(rows.values(), index=list(rows)).to_string(na_rep="")


def _row(numbers: dict[str, float], marked: Iterable[str]) -> dict[str, str]:
    texts = {
        column: f"{number:.1f}" if isinstance(number, float) else f"{number:,}"
        for column, number in numbers.items()
    }
    return {column: text + "!" * (column in marked) for column, text in texts.items()}


def excess(name: str, budget: Budget, limits: dict[str, int]) -> str | None:
    """The limits that a lesson exceeds, in words; None when it keeps within all."""
    over = budget.over(limits)
    excesses = [f"{column} {over[column]:.4g}, at most {limits[column]}" for column in over]
    return f"{name} is over its budget: {'; '.join(excesses)}" if over else None


def _last(name: str) -> str:
    return name.rpartition(".")[2]
