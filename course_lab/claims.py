"""Myth check: claims that tutorials make, a guess before, and a verdict computed from runs.

A claim may be judged a second time, by the same scope and logic, in a published model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import IPython.display

from course_lab.widgets import predict
from course_utils import validation

if TYPE_CHECKING:
    import pandas as pd

GUESSES = ("true", "false", "depends")
NOT_TESTED = "not tested"
CLAIM_MIME = "application/vnd.order-matters.claim+json"
# What a verdict rests on. The two in the middle are runs, so they say how many seeds.
EVIDENCE = ("exact", "trained here", "shipped results", "source")
_WITH_SEEDS = EVIDENCE[1:3]
# What a table adds for claims that were judged in a published model too.
IN_A_REAL_MODEL = ("verdict there", "measured there", "model")
NONE = ("", "", "")


@dataclass(frozen=True)
class Claim:
    """A claim in its usual words, and what is fixed about it before anybody guesses.

    Without a ``choice`` a single counterexample within the scope makes the claim false.
    """

    text: str  # the claim, as tutorials make it
    _: KW_ONLY
    scope: str  # what it speaks of, and by which yardstick it will be judged
    evidence: str  # what the verdict will rest on: one of EVIDENCE
    seeds: int | None = None  # random starts of the runs behind it, where it rests on runs
    choice: str = ""  # the practitioner's choice that its truth may turn on

    def __post_init__(self) -> None:
        for name in ("text", "scope"):
            validation.sentence(name, getattr(self, name))
        if self.evidence not in EVIDENCE:
            known = ", ".join(EVIDENCE)
            raise ValueError(f"evidence must be one of {known}, got {self.evidence!r}")
        runs = self.evidence in _WITH_SEEDS
        if runs != (self.seeds is not None) or (self.seeds is not None and self.seeds < 1):
            wanted = "at least 1" if runs else "None"
            raise ValueError(f"seeds must be {wanted} for {self.evidence!r}, got {self.seeds!r}")

    @property
    def grounds(self) -> str:
        """The evidence in words: ``"exact"`` or ``"trained here, 3 seeds"``."""
        if self.seeds is None:
            return self.evidence
        return f"{self.evidence}, {self.seeds} seed{'s' if self.seeds != 1 else ''}"

    def verdict(self, cases: Mapping[str, bool]) -> str:
        """The verdict that follows from what was tried.

        It is ``"true"`` if the claim held in every case, ``"depends"`` if it held in some and
        turns on a choice, else ``"false"``.
        """
        if not cases:
            raise ValueError("cases must name at least one measurement, got none")
        if all(cases.values()):
            return "true"
        return "depends" if self.choice and any(cases.values()) else "false"


class Myths:
    """One lesson's claims by id: asks for a guess on each, then settles them one by one."""

    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self.claims = dict(claims)
        self.settled: dict[str, str] = {}  # id → verdict
        self.in_real_models: dict[str, tuple[str, str, str]] = {}  # id → verdict, measured, model
        self._guesses = {
            key: predict(f"{key}: {claim.text} ({claim.scope})", GUESSES)
            for key, claim in self.claims.items()
        }

    def settle(self, key: str, cases: Mapping[str, bool], measured: str) -> None:
        """Compute and show the verdict on a claim.

        ``cases`` says of each thing tried whether the claim held there, straight from
        measurements; ``measured`` has the numbers behind it, in a sentence.
        """
        held = {case: bool(ok) for case, ok in cases.items()}
        self._show(key, self._claim(key).verdict(held), measured, held)

    def leave_open(self, key: str, why: str) -> None:
        """Show that a claim is not tested here, and why."""
        self._show(key, NOT_TESTED, why, {})

    def in_a_real_model(
        self, key: str, cases: Mapping[str, bool], measured: str, model: str
    ) -> None:
        """Judge a settled claim once more, in a published model; its first verdict stays.

        ``cases`` and ``measured`` are as for :meth:`settle`, within the scope that the claim had
        before the guess; ``model`` is the model's name. Where the two verdicts are not the same,
        the text shown says so.
        """
        claim = self._claim(key)
        for name, text in (("measured", measured), ("model", model)):
            validation.sentence(name, text)
        if key not in self.settled:
            raise ValueError(f"key must be settled before it is judged in a model, got {key!r}")
        held = {case: bool(ok) for case, ok in cases.items()}
        verdict, first = claim.verdict(held), self.settled[key]
        self.in_real_models[key] = (verdict, measured, model)
        beside = "as above" if verdict == first else f"unlike above, where it is {first.upper()}"
        if first == NOT_TESTED:
            beside = "which is not tested above"
        lines = [
            f"In a real model, {model}: {_in_capitals(claim, verdict)}, {beside}. {measured}",
            *_each(held),
            "Judged on the same scope.",
        ]
        told = {
            "id": key,
            "model": model,
            "verdict": verdict,
            "first_verdict": first,
            "measured": measured,
            "cases": held,
        }
        _display(key, claim, lines, told)

    def table(self) -> pd.DataFrame:
        """The claims with their verdicts so far, for display.

        Where any of them was judged in a real model, three columns more say how; they are empty
        for the others.
        """
        import pandas as pd

        pd.set_option("display.max_colwidth", None)  # claims are sentences; show them whole
        columns = ["id", "claim", "verdict", "evidence", *IN_A_REAL_MODEL]
        rows = [
            (key, claim.text, self.settled[key], claim.grounds, *self.in_real_models.get(key, NONE))
            for key, claim in self.claims.items()
            if key in self.settled
        ]
        found = pd.DataFrame(rows, columns=columns).set_index("id")
        return found if self.in_real_models else found.drop(columns=list(IN_A_REAL_MODEL))

    def _claim(self, key: str) -> Claim:
        if key not in self.claims:
            raise ValueError(f"key must be one of {', '.join(self.claims)}, got {key!r}")
        return self.claims[key]

    def _show(self, key: str, verdict: str, measured: str, cases: dict[str, bool]) -> None:
        claim = self._claim(key)
        self.settled[key] = verdict
        guess = self._guesses[key].answer
        said = "" if guess is None else f" (you said: {guess})"
        lines = [
            f"{_in_capitals(claim, verdict)}{said}. {measured}",
            *_each(cases),
            f"Judged on: {claim.scope}. Evidence: {claim.grounds}.",
        ]
        told = {
            "id": key,
            "claim": claim.text,
            "scope": claim.scope,
            "evidence": claim.grounds,
            "choice": claim.choice,
            "verdict": verdict,
            "measured": measured,
            "cases": cases,
        }
        _display(key, claim, lines, told)


def _in_capitals(claim: Claim, verdict: str) -> str:
    """The verdict as it is shown: ``"DEPENDS on the season"``."""
    return verdict.upper() + (f" on {claim.choice}" if verdict == "depends" else "")


def _each(cases: Mapping[str, bool]) -> list[str]:
    """A line that lists the cases, where they differ."""
    if len(set(cases.values())) < 2:
        return []
    return ["; ".join(f"{case}: {'yes' if ok else 'no'}" for case, ok in cases.items())]


def _display(key: str, claim: Claim, lines: list[str], told: dict[str, Any]) -> None:
    filled = "\n".join(textwrap.fill(line, 85) for line in lines)
    text = f"{key}  {claim.text}\n{textwrap.indent(filled, ' ' * 5)}"
    IPython.display.display({CLAIM_MIME: told, "text/plain": text}, raw=True)
