"""The ledger of claims: a row of data/claims.csv each, to guess before the verdict unfolds.

The forms are the lessons' own, under the same keys: a guess made there counts here.
"""

from collections import Counter
from collections.abc import Sequence

import lesson_titles
import site_questions
import site_tables
from site_html import escaped, opening, tag
from site_page import Page
from site_questions import Question

from course_lab.recorded_claims import read_claims
from course_utils.texts import data

HERE = "<!-- claims -->"
COUNTS = "<!-- counts -->"
VERDICTS = ("true", "false", "depends", "not tested")
OPTIONS = VERDICTS[:3]
GUESSED = ("open", "right", "wrong", "shown")
LIST = "claims"
FILE = "_static/data/claims.csv"

Claim = dict[str, str]  # a row of the file


def page(markdown: str) -> Page:
    """The page, with all claims."""
    claims = read_claims()
    questions = [_question(claim) for claim in claims]
    blocks = [site_questions.score(questions), _filters(claims), opening("div", id=LIST)]
    for claim, question in zip(claims, questions, strict=True):
        blocks += _entry(claim, question)
    entries = "\n\n".join([*blocks, "</div>"])
    files = {FILE: (data.folder() / "claims.csv").read_bytes()}
    return Page(
        "ledger", "", markdown.replace(HERE, entries).replace(COUNTS, counts(claims)), files
    )


def evidence(claim: Claim) -> str:
    """The class of a claim's evidence, without the number of seeds."""
    return claim["evidence"].partition(",")[0]


def counts(claims: Sequence[Claim]) -> str:
    """A row a class of evidence: how many claims came out how."""
    numbers = Counter((evidence(claim), claim["verdict"]) for claim in claims)
    kinds = dict.fromkeys(map(evidence, claims))
    rows = [[kind, *(str(numbers[kind, verdict]) for verdict in VERDICTS)] for kind in kinds]
    return lesson_titles.markdown_table(["rests on", *VERDICTS], rows)


def _question(claim: Claim) -> Question:
    return Question(claim["id"], f"{claim['id']}: {claim['claim']}", OPTIONS)


def _filters(claims: Sequence[Claim]) -> str:
    return site_tables.filters(
        LIST,
        {
            "lesson": list(dict.fromkeys(sorted(map(_number, claims)))),
            "evidence": list(dict.fromkeys(map(evidence, claims))),
            "guess": GUESSED,
            "verdict": VERDICTS,
        },
        labels={"guess": "my guess", "verdict": "verdict (gives answers away)"},
        words="words",
        buttons='<button type="button" class="om-unfold">Unfold all verdicts shown here</button>',
    )


def _number(claim: Claim) -> str:
    """The number of the claim's lesson."""
    return claim["lesson"].rpartition("/")[2][:2]


def _entry(claim: Claim, question: Question) -> list[str]:
    verdict: site_questions.Verdict = {**claim, "cases": {}}
    model = verdict.pop("model")
    verdicts = [verdict]
    if model:
        there = {"verdict": claim["verdict_there"], "measured": claim["measured_there"]}
        verdicts.append({**verdict, **there, "model": model})
    start, *blocks, _ = site_questions.asks(question, verdicts)
    around = opening(
        "div",
        class_="om-row",
        data_lesson=_number(claim),
        data_evidence=evidence(claim),
        data_verdict=claim["verdict"],
    )
    return [around + start, *blocks, site_questions.END, _source(claim), "</div></div>"]


def _source(claim: Claim) -> str:
    """Where the claim stands, and the cell that settles it."""
    lesson, cell = claim["lesson"], claim["cell"]
    name = f"Lesson {_number(claim)}{', closer look' if '/' in lesson else ''}"
    stands = tag("a", name, href=f"{lesson}.html#claim-{claim['id']}")
    settled = tag("a", escaped(f"cell {cell}"), href=f"{lesson}.html#{cell}")
    return tag("p", f"{stands} · {settled}", class_="om-scope")
