"""Myth check: claims that tutorials make, a guess before, and a verdict computed from runs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any

import IPython.display

from course_utils import validation
from course_utils.widgets import predict

if TYPE_CHECKING:
    import pandas as pd

GUESSES = ("true", "false", "depends")
NOT_TESTED = "not tested"
CLAIM_MIME = "application/vnd.order-matters.claim+json"
# What a verdict rests on. The two in the middle are runs, so they say how many seeds.
EVIDENCE = ("exact", "trained here", "shipped results", "source")
_WITH_SEEDS = EVIDENCE[1:3]


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

    def table(self) -> pd.DataFrame:
        """The claims with their verdicts so far, for display."""
        import pandas as pd

        pd.set_option("display.max_colwidth", None)  # claims are sentences; show them whole
        rows = [
            (key, claim.text, self.settled[key], claim.grounds)
            for key, claim in self.claims.items()
            if key in self.settled
        ]
        return pd.DataFrame(rows, columns=["id", "claim", "verdict", "evidence"]).set_index("id")

    def _claim(self, key: str) -> Claim:
        if key not in self.claims:
            raise ValueError(f"key must be one of {', '.join(self.claims)}, got {key!r}")
        return self.claims[key]

    def _show(self, key: str, verdict: str, measured: str, cases: dict[str, bool]) -> None:
        claim = self._claim(key)
        self.settled[key] = verdict
        guess = self._guesses[key].answer
        said = "" if guess is None else f" (you said: {guess})"
        on = f" on {claim.choice}" if verdict == "depends" else ""
        lines = [f"{verdict.upper()}{on}{said}. {measured}"]
        if len(set(cases.values())) > 1:
            each = (f"{case}: {'yes' if ok else 'no'}" for case, ok in cases.items())
            lines.append("; ".join(each))
        lines.append(f"Judged on: {claim.scope}. Evidence: {claim.grounds}.")
        told: dict[str, Any] = {
            "id": key,
            "claim": claim.text,
            "scope": claim.scope,
            "evidence": claim.grounds,
            "choice": claim.choice,
            "verdict": verdict,
            "measured": measured,
            "cases": cases,
        }
        filled = "\n".join(textwrap.fill(line, 85) for line in lines)
        text = f"{key}  {claim.text}\n{textwrap.indent(filled, ' ' * 5)}"
        IPython.display.display({CLAIM_MIME: told, "text/plain": text}, raw=True)
