"""The ledger of claims: a row of data/claims.csv each, to guess before the verdict unfolds.

The forms are the lessons' own, under the same keys: a guess made there counts here.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import lesson_titles
from site_html import macros
from site_page import Page
from site_questions import Question

from course_lab.recorded_claims import read_claims
from course_utils.texts import data

HERE = "<!-- claims -->"
COUNTS = "<!-- counts -->"
VERDICTS = ("true", "false", "depends", "not tested")
FILE = "_static/data/claims.csv"

Claim = dict[str, str]  # a row of the file


def page(markdown: str) -> Page:
    """The page, with all claims."""
    claims = read_claims()
    entries = macros("ledger.html").claims([entry(claim) for claim in claims])
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


def entry(claim: Claim) -> dict[str, Any]:
    """What the list shows of a claim: its form, and its verdicts with that in a published model."""
    verdicts = [{**claim, "cases": {}, "model": ""}]
    if claim["model"]:
        there = {"verdict": claim["verdict_there"], "measured": claim["measured_there"]}
        verdicts.append({**claim, "cases": {}, **there})
    return {
        "claim": claim,
        "lesson": claim["lesson"].rpartition("/")[2][:2],
        "evidence": evidence(claim),
        "question": Question(claim["id"], f"{claim['id']}: {claim['claim']}", VERDICTS[:3]),
        "verdicts": verdicts,
    }
