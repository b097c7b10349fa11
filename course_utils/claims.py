"""Myth check: claims that tutorials make, a guess before, and a verdict computed from runs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from course_utils.widgets import Prediction, predict

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("true", "false", "depends")


class Settled(NamedTuple):
    """One claim after the measurement; ``measured`` says in words and numbers what was found."""

    claim: str
    verdict: str
    measured: str


def verdict(cases: Mapping[str, bool]) -> str:
    """``"true"`` if the claim held in every case, ``"false"`` if in none, else ``"depends"``.

    Raises:
        ValueError: if there is no case.
    """
    if not cases:
        raise ValueError("cases must name at least one measurement, got none")
    held = sum(map(bool, cases.values()))
    return "true" if held == len(cases) else "false" if held == 0 else "depends"


class Myths:
    """The claims of one lesson: asks for a guess on each, then settles them one by one.

    Args:
        claims: id → the claim in words.
    """

    def __init__(self, claims: Mapping[str, str]) -> None:
        self.claims = dict(claims)
        self.settled: dict[str, Settled] = {}
        self._guesses: dict[str, Prediction] = {
            key: predict(f"{key}: {text}", VERDICTS) for key, text in self.claims.items()
        }

    def settle(self, key: str, cases: Mapping[str, bool], measured: str) -> None:
        """Compute and print the verdict on a claim.

        Args:
            key: the claim's id.
            cases: what was tried → whether the claim held there, straight from measurements.
            measured: the numbers behind it, in a sentence.

        Raises:
            ValueError: if ``key`` is not one of this lesson's claims or there is no case.
        """
        if key not in self.claims:
            raise ValueError(f"key must be one of {', '.join(self.claims)}, got {key!r}")
        found = verdict(cases)
        self.settled[key] = Settled(self.claims[key], found, measured)
        guess = self._guesses[key].answer
        said = "" if guess is None else f" (you said: {guess})"
        print(f"{key}  {self.claims[key]}\n{_indented(f'{found.upper()}{said}. {measured}')}")
        if found == "depends":
            each = (f"{case}: {'yes' if ok else 'no'}" for case, ok in cases.items())
            print(_indented("; ".join(each)))

    def table(self) -> pd.DataFrame:
        """The claims with their verdicts so far, for display."""
        import pandas as pd

        pd.set_option("display.max_colwidth", None)  # claims are sentences; show them whole
        rows = [(key, *self.settled[key][:2]) for key in self.claims if key in self.settled]
        return pd.DataFrame(rows, columns=["id", "claim", "verdict"]).set_index("id")


def _indented(text: str) -> str:
    return textwrap.fill(text, 90, initial_indent=" " * 5, subsequent_indent=" " * 5)
