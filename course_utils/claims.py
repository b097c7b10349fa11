"""Myth check: claims that tutorials make, a guess before, and a verdict computed from runs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import IPython.display

from course_utils.widgets import Prediction, predict

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

    Args:
        text: the claim, as tutorials make it.
        scope: what it speaks of, and by which yardstick it will be judged.
        evidence: what the verdict will rest on: one of ``EVIDENCE``.
        seeds: how many random starts the runs behind it had, where it rests on runs.
        choice: the practitioner's choice that its truth may turn on. Without one, a single
            counterexample within the scope makes the claim false.

    Raises:
        ValueError: if text or scope is empty, the evidence unknown, or the seeds do not fit it.
    """

    text: str
    scope: str = field(kw_only=True)
    evidence: str = field(kw_only=True)
    seeds: int | None = field(default=None, kw_only=True)
    choice: str = field(default="", kw_only=True)

    def __post_init__(self) -> None:
        for name in ("text", "scope"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} must not be empty, got {getattr(self, name)!r}")
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
        counted = f", {self.seeds} seed{'s' if self.seeds != 1 else ''}"
        return self.evidence + (counted if self.seeds is not None else "")

    def verdict(self, cases: Mapping[str, bool]) -> str:
        """The verdict that follows from the cases.

        Returns:
            ``"true"`` if the claim held in every case, ``"depends"`` if it held in some and turns
            on a choice, else ``"false"``.

        Raises:
            ValueError: if there is no case.
        """
        if not cases:
            raise ValueError("cases must name at least one measurement, got none")
        if all(cases.values()):
            return "true"
        return "depends" if self.choice and any(cases.values()) else "false"


class Myths:
    """The claims of one lesson: asks for a guess on each, then settles them one by one.

    Args:
        claims: id → the claim.
    """

    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self.claims = dict(claims)
        self.settled: dict[str, str] = {}  # id → verdict
        self._guesses: dict[str, Prediction] = {
            key: predict(f"{key}: {claim.text} ({claim.scope})", GUESSES)
            for key, claim in self.claims.items()
        }

    def settle(self, key: str, cases: Mapping[str, bool], measured: str) -> None:
        """Compute and show the verdict on a claim.

        Args:
            key: the claim's id.
            cases: what was tried → whether the claim held there, straight from measurements.
            measured: the numbers behind it, in a sentence.

        Raises:
            ValueError: if ``key`` is not one of this lesson's claims or there is no case.
        """
        held = {case: bool(ok) for case, ok in cases.items()}
        self._show(key, self._claim(key).verdict(held), measured, held)

    def leave_open(self, key: str, why: str) -> None:
        """Show that a claim is not tested here, and why.

        Raises:
            ValueError: if ``key`` is not one of this lesson's claims.
        """
        self._claim(key)
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
        claim = self.claims[key]
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
        text = "\n".join([f"{key}  {claim.text}", *map(_indented, lines)])
        IPython.display.display({CLAIM_MIME: told, "text/plain": text}, raw=True)


def _indented(text: str) -> str:
    return textwrap.fill(text, 90, initial_indent=" " * 5, subsequent_indent=" " * 5)
