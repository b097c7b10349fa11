"""The ledger of claims: a row of data/claims.csv each, to guess before the verdict unfolds.

The forms are the lessons' own, under the same keys: a guess made there counts here.
"""

from collections import Counter
from collections.abc import Sequence

import site_questions
import site_tables
from site_html import escaped, opening, tag
from site_page import Page
from site_questions import Question

HERE = "<!-- claims -->"
COUNTS = "<!-- counts -->"
VERDICTS = ("true", "false", "depends", "not tested")
OPTIONS = VERDICTS[:3]
GUESSED = ("open", "right", "wrong", "shown")
LIST = "claims"
FILE = "_static/data/claims.csv"


def page(markdown: str, names: Sequence[str]) -> Page:
    """The page; only the lessons that are on this site, ``names``, are linked."""
    from course_utils.texts import data

    found = data.claims()
    questions = [_question(row) for row in found]
    blocks = [site_questions.score(questions), _filters(found), opening("div", id=LIST)]
    for row, question in zip(found, questions, strict=True):
        blocks += _entry(row, question, names)
    listed = "\n\n".join([*blocks, "</div>"])
    files = {FILE: (data.folder() / "claims.csv").read_bytes()}
    return Page("ledger", "", markdown.replace(HERE, listed).replace(COUNTS, counts(found)), files)


def evidence(row: dict[str, str]) -> str:
    """The class of a claim's evidence, without the number of seeds."""
    return row["evidence"].partition(",")[0]


def counts(found: Sequence[dict[str, str]]) -> str:
    """A row a class of evidence: how many claims came out how."""
    seen = Counter((evidence(row), row["verdict"]) for row in found)
    kinds = dict.fromkeys(evidence(row) for row in found)
    lines = [f"| rests on | {' | '.join(VERDICTS)} |", "|---" * (len(VERDICTS) + 1) + "|"]
    for kind in kinds:
        numbers = (str(seen[kind, verdict]) for verdict in VERDICTS)
        lines.append(f"| {kind} | {' | '.join(numbers)} |")
    return "\n".join(lines)


def _question(row: dict[str, str]) -> Question:
    return Question(row["id"], f"{row['id']}: {row['claim']}", OPTIONS)


def _filters(found: Sequence[dict[str, str]]) -> str:
    return site_tables.filters(
        LIST,
        {
            "lesson": list(dict.fromkeys(sorted(_number(row) for row in found))),
            "evidence": list(dict.fromkeys(evidence(row) for row in found)),
            "guess": GUESSED,
            "verdict": VERDICTS,
        },
        labels={"guess": "my guess", "verdict": "verdict (gives answers away)"},
        words="words",
        buttons='<button type="button" class="om-unfold">Unfold all verdicts shown here</button>',
    )


def _number(row: dict[str, str]) -> str:
    return row["lesson"].rpartition("/")[2][:2]


def _entry(row: dict[str, str], question: Question, names: Sequence[str]) -> list[str]:
    told = [{**row, "cases": {}}]
    if row["model"]:
        there = {"verdict": row["verdict_there"], "measured": row["measured_there"]}
        told.append({**row, **there, "cases": {}})
    told[0].pop("model")
    start, fold, *lines, _ = site_questions.asks(question, told)
    values = {"lesson": _number(row), "evidence": evidence(row), "verdict": row["verdict"]}
    around = opening(
        "div", class_="om-row", **{f"data_{key}": value for key, value in values.items()}
    )
    return [around + start, fold, *lines, site_questions.END, _source(row, names), "</div></div>"]


def _source(row: dict[str, str], names: Sequence[str]) -> str:
    """Where the claim stands, and the cell that settles it."""
    lesson, cell = row["lesson"], row["cell"]
    where = f"Lesson {_number(row)}{', closer look' if '/' in lesson else ''}"
    if lesson not in names:
        return tag("p", f"{where}, cell {escaped(cell)}.", class_="om-scope")
    places = {where: f"claim-{row['id']}", f"cell {cell}": cell}
    links = [tag("a", text, href=f"{lesson}.html#{anchor}") for text, anchor in places.items()]
    return tag("p", " · ".join(links), class_="om-scope")
