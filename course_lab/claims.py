"""Myth check: claims that tutorials make, a guess before, and a verdict computed from runs.

A claim may be judged a second time, by the same scope and logic, in a published model.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import IPython.display

from course_lab.widgets import card, predict
from course_utils import validation

GUESSES = ("true", "false", "depends")
NOT_TESTED = "not tested"
CLAIM_MIME = "application/vnd.order-matters.claim+json"
# What a verdict may rest on. The kinds that are runs must say how many seeds.
EVIDENCE = ("exact", "drawn here", "trained here", "shipped results", "source")
RUNS = ("drawn here", "trained here", "shipped results")


@dataclass(frozen=True)
class Claim:
    """A claim in its usual words, and what is fixed about it before anybody guesses.

    Without a ``choice`` a single counterexample within the scope makes the claim false.

    Attributes:
        text: the claim, as tutorials make it.
        scope: what it speaks of, and the yardstick by which it will be judged.
        evidence: what the verdict will rest on, one of ``EVIDENCE``.
        seeds: how many random starts the runs behind it had, where it rests on runs.
        choice: the practitioner's choice that its truth may turn on.
    """

    text: str
    _: KW_ONLY
    scope: str
    evidence: str
    seeds: int | None = None
    choice: str = ""

    def __post_init__(self) -> None:
        validation.sentence("text", self.text)
        validation.sentence("scope", self.scope)
        if self.evidence not in EVIDENCE:
            known = ", ".join(EVIDENCE)
            raise ValueError(f"evidence must be one of {known}, got {self.evidence!r}")
        if self.evidence in RUNS:
            if self.seeds is None or self.seeds < 1:
                raise ValueError(
                    f"seeds must be at least 1 for {self.evidence!r}, got {self.seeds!r}"
                )
        elif self.seeds is not None:
            raise ValueError(f"seeds must be None for {self.evidence!r}, got {self.seeds!r}")

    @property
    def grounds(self) -> str:
        """The evidence in words: ``"exact"`` or ``"trained here, 3 seeds"``."""
        if self.seeds is None:
            return self.evidence
        return f"{self.evidence}, {self.seeds} seed{'s' if self.seeds != 1 else ''}"

    def verdict(self, cases: Mapping[str, bool]) -> str:
        """Return the verdict that follows from the cases that were tried.

        It is ``"true"`` if the claim held in every case, ``"depends"`` if it held in some and has
        a ``choice``, else ``"false"``.
        """
        if not cases:
            raise ValueError("cases must name at least one measurement, got none")
        if all(cases.values()):
            return "true"
        return "depends" if self.choice and any(cases.values()) else "false"


class Myths:
    """The claims of one lesson by id: asks for a guess on each, then settles them one by one."""

    def __init__(self, claims: Mapping[str, Claim]) -> None:
        self.claims = dict(claims)
        self.settled: dict[str, str] = {}  # id → verdict
        self.in_real_models: dict[str, tuple[str, str, str]] = {}  # id → verdict, measured, model
        self._guesses = {
            key: predict(f"{key}: {claim.text} ({claim.scope})", GUESSES, name=key)
            for key, claim in self.claims.items()
        }

    def settle(self, key: str, cases: Mapping[str, bool], measured: str) -> None:
        """Compute and show the verdict on a claim.

        ``cases`` says of each case that was tried whether the claim held there, straight from
        measurements; ``measured`` gives the numbers behind it, in a sentence.
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
        before the guess; ``model`` is the model's name. The text that is shown says whether the
        two verdicts agree.
        """
        claim = self._claim(key)
        validation.sentence("measured", measured)
        validation.sentence("model", model)
        if key not in self.settled:
            raise ValueError(f"key must be settled before it is judged in a model, got {key!r}")
        held = {case: bool(ok) for case, ok in cases.items()}
        verdict, first = claim.verdict(held), self.settled[key]
        self.in_real_models[key] = (verdict, measured, model)
        if first == NOT_TESTED:
            agreement = "which is not tested above"
        elif verdict == first == "false" and any(held.values()):
            agreement = f"by {sum(not ok for ok in held.values())} of {len(held)} cases"
        elif verdict == first:
            agreement = "as above"
        else:
            agreement = f"unlike above, where it is {first.upper()}"
        there = f"{_in_capitals(claim, verdict)}, {agreement}."
        sentence = (f"In a real model, {model}: ", there, f" {measured}")
        record = {
            "id": key,
            "model": model,
            "verdict": verdict,
            "first_verdict": first,
            "measured": measured,
            "cases": held,
        }
        _display(key, claim, sentence, "Judged on the same scope.", record)

    def _claim(self, key: str) -> Claim:
        if key not in self.claims:
            raise ValueError(f"key must be one of {', '.join(self.claims)}, got {key!r}")
        return self.claims[key]

    def _show(self, key: str, verdict: str, measured: str, cases: dict[str, bool]) -> None:
        claim = self._claim(key)
        self.settled[key] = verdict
        self._guesses[key].judge(verdict)
        sentence = ("", f"{_in_capitals(claim, verdict)}.", f" {measured}")
        scope = f"Judged on: {claim.scope}. Evidence: {claim.grounds}."
        record = {
            "id": key,
            "claim": claim.text,
            "scope": claim.scope,
            "evidence": claim.grounds,
            "choice": claim.choice,
            "verdict": verdict,
            "measured": measured,
            "cases": cases,
        }
        _display(key, claim, sentence, scope, record)


def _in_capitals(claim: Claim, verdict: str) -> str:
    """Return the verdict as it is shown: ``"DEPENDS on the season"``."""
    return verdict.upper() + (f" on {claim.choice}" if verdict == "depends" else "")


def _differing_cases(cases: Mapping[str, bool]) -> list[str]:
    """Return a line that lists the cases; none where they all say the same."""
    if len(set(cases.values())) < 2:
        return []
    return ["; ".join(f"{case}: {'yes' if ok else 'no'}" for case, ok in cases.items())]


def _display(
    key: str,
    claim: Claim,
    sentence: tuple[str, str, str],
    scope: str,
    record: dict[str, Any],
) -> None:
    """Show a verdict as data, text and card; of the sentence's parts the second is the verdict."""
    cases = _differing_cases(record["cases"])
    filled = "\n".join(textwrap.fill(line, 85) for line in ("".join(sentence), *cases, scope))
    text = f"{key}  {claim.text}\n{textwrap.indent(filled, ' ' * 5)}"
    before, verdict, measured = sentence
    as_html = card.card(
        f"{card.bold(key)} {card.inline(claim.text)}",
        card.inline(before) + card.bold(verdict) + card.inline(measured),
        *map(card.inline, cases),
        card.small(scope),
    )
    bundle = {CLAIM_MIME: record, "text/plain": text, "text/html": as_html}
    IPython.display.display(bundle, raw=True)
