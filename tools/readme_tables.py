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
from findings import as_trained, cost_of_slow_pairs, rises_by_encoding, verdicts
from notebook_source import Project, badge, is_closer, lesson_name, read_lesson

from course_lab import chooser
from course_utils import results
from course_utils.texts import data

CUT = "direct, cut off"
TOLD, DIGITS = (384, 3456), 4  # of two needles: where they are told, digits of a number
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
        f"- **{kind}:** {default.sentence}\n" for kind, default in chooser.DEFAULTS.items()
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


def which_one(linked: Callable[[Best], str] = lambda best: best.number) -> str:
    """What the chooser answers: a row for what is read, a column for each kind of kernel.

    Each cell has the first of those that are left, and its loss. ``linked`` writes the number, with
    a link perhaps.
    """
    kernels = chooser.QUESTIONS["attention"]
    head = ["it reads", "texts", *(f"kernel: {kernel}" for kernel in kernels)]
    rows = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for reads in chooser.TABLES:
        texts = TEXTS | (STREAM if reads == chooser.CAUSAL else {})
        for name, answers in texts.items():
            cells = [reads, name]
            for kernel in kernels:
                best = first_left(reads, {**answers, "attention": kernel})
                cells.append(f"`{best.name}` {linked(best)}" if best else "nobody")
            rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def first_left(reads: str, answers: dict[str, str]) -> Best | None:
    """The encoding of the lowest loss among those that the answers leave; None for nobody."""
    left = chooser.remaining(NO_LIMIT, reads=reads, **answers)
    if not left:
        return None
    read = chooser.times_read(chooser.TIMES[answers["texts"]])
    losses = _losses(chooser.TABLES[reads]).xs(read, level="read")
    mean, margin = (float(losses[column][left[0]]) for column in ("mean", "margin"))
    return Best(reads, left[0], read, mean, margin)


def _losses(table: str) -> pd.DataFrame:
    """Mean and margin by encoding and length."""
    return results.summary(as_trained(table), "encoding", "read")


def _names(chosen: pd.Series[bool]) -> str:
    """The names for which it is true, as Markdown."""
    return ", ".join(f"`{name}`" for name in chosen[chosen].index) or "none of them"


def findings() -> str:
    """What the course has found: sentences with their numbers, and where those come from."""
    rows = [*_of_lengths(), *_of_other_sizes(), *_of_a_published_model(), _of_claims()]
    return "".join(f"- {sentence} ({source})\n" for sentence, source in rows)


def _of_lengths() -> list[tuple[str, str]]:
    rises = rises_by_encoding()
    gains = [name for name, rise in rises.items() if rise.below()]
    holds = [name for name, rise in rises.items() if not rise.above(0.1)]
    command = "`make experiments`, lesson 07"
    return [
        (
            f"Trained at 64 bytes and read at 2048, the loss of {len(rises) - len(holds)} of "
            f"{len(rises)} encodings rises clearly by more than 0.1 nats a byte. RoPE's rises by "
            f"{rises['rope']}, ALiBi's by {rises['alibi']}.",
            command,
        ),
        (
            f"Of all {len(rises)}, {len(gains) or 'none'} gain{'s' if len(gains) == 1 else ''} "
            "clearly from the longer text. To survive is not to use.",
            command,
        ),
    ]


def _of_other_sizes() -> list[tuple[str, str]]:
    """What more steps do to models without positions and beyond 64, and another text to ranks."""

    def at(rows: pd.DataFrame, n: int) -> pd.DataFrame:
        return rows[rows["read"] == n].pivot(index="seed", columns="encoding", values="loss")

    usual, other = as_trained("extrapolation"), as_trained("larger")
    recipe = usual.iloc[0]
    longer = other[other["steps"] != recipe["steps"]]
    code = other[other["corpus"] != recipe["corpus"]]
    before, after = at(usual, 64).mean(), at(longer, 64).mean()
    rises = (at(longer, 2048) - at(usual, 2048)).dropna(how="all").dropna(axis=1, how="all")
    risen, fallen = _names((rises > 0).all()), _names((rises < 0).all())
    ranks = list(at(code, 2048).mean().sort_values().index)
    english = usual[usual["encoding"].isin(ranks)]
    same = ranks == list(at(english, 2048).mean().sort_values().index)
    command = "`make experiments EXPERIMENT=larger`, lesson 07"
    return [
        (
            f"Without positions a model learns order late. At 64 bytes its loss is "
            f"{before['none']:.2f} after {recipe['steps']:,} steps and {after['none']:.2f} "
            f"after ten times as many, RoPE's {before['rope']:.2f} and {after['rope']:.2f}. "
            f"At 2048 bytes the longer training makes {risen} worse in every seed, and {fallen} "
            "better.",
            command,
        ),
        (
            "Trained on source code, six encodings rank by their mean loss at 2048 bytes "
            f"{'as they do' if same else 'otherwise than'} on English: "
            f"{', '.join(f'`{name}`' for name in ranks)}.",
            command,
        ),
    ]


def _of_a_published_model() -> list[tuple[str, str]]:
    needles = data.results("real_needles")
    right = needles.groupby(["way", "place"])["right"].mean() / DIGITS
    early, late = TOLD
    lengths = data.results("real_lengths")
    last_third = lengths[(lengths["read"] == 12288) & (lengths["first"] >= 8192)]
    losses = last_third.groupby(["way", "seed"])["loss"].mean().reset_index()
    difference = results.change(losses, {"way": CUT}, {"way": "YaRN"})
    costs = cost_of_slow_pairs()
    return [
        (
            "SmolLM2-135M was made for 8,192 tokens. Over the last 4,096 of 12,288, YaRN's loss "
            f"less that of cutting off the first 4,096 is {difference} nats a token. Of a number "
            f"told at token {late:,}, YaRN has {right['YaRN', late]:.0%} of the digits right in "
            f"the end, of one told at token {early}, {right['YaRN', early]:.0%}; cutting off, "
            f"which saw neither, {right[CUT, late]:.0%} and {right[CUT, early]:.0%}. Equal loss "
            "is not equal use.",
            "`make experiments EXPERIMENT=real`, lesson 08",
        ),
        (
            "In the same model, RoPE's pairs 24 to 27 take 35,000 tokens and more for a turn. "
            f"Stopped, they cost {costs[512]:.2f} nats a token in texts of 512 tokens, and "
            f"{costs[8000]:.2f} at the end of 8,000.",
            "`python -m course_experiments.group_runs FOLDER`, lesson 05",
        ),
    ]


def _of_claims() -> tuple[str, str]:
    counts = verdicts()
    sentence = (
        f"Of {counts.total()} claims about positional encodings {counts['false']} are false, "
        f"{counts['true']} true, {counts['depends']} depend on a choice, and "
        f"{counts['not tested']} is not tested here."
    )
    return sentence, "`make notebooks`, the ledger in lesson 10's closer look"


def fill(text: str, project: Project, paths: list[Path]) -> str:
    """README with new blocks: what stands between <!-- name:start --> and its end."""
    makers: dict[str, Callable[[], str]] = {
        "install": lambda: install(project),
        "lessons": lambda: lessons(project, paths),
        "defaults": defaults,
        "which": which_one,
        "findings": findings,
    }

    def renewed(block: re.Match[str]) -> str:
        return f"{block[1]}{makers[block[2]]()}{block[3]}"

    names = "|".join(makers)
    return re.sub(rf"(?s)(<!-- ({names}):start -->\n).*?(<!-- \2:end -->)", renewed, text)
