"""Comparison of two runs of a notebook: words must be equal, numbers agree to their last digit.

nbval alone compares text exactly, which differs between machines.
"""

import re
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from notebook_folds import is_withheld
from notebook_outputs import is_progress

UNITS = Decimal("1.5")  # how far a number may drift, in units of the reference's last printed digit
NOISE = Decimal("1e-5")  # numbers in scientific notation below this are rounding errors
# Digits within names (l02, x1) and versions (2.13.0) are text, hence the looking behind and ahead.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?!\.\d)(?:e[-+]?\d++(?!\w))?", re.IGNORECASE
)
TEXTS = {"text/plain", "text/html", "text/markdown", "text/latex", "ename", "evalue"}


def tolerance(reference: str) -> Decimal:
    """The difference that a printed number allows; 0 where it shows no decimals."""
    number = Decimal(reference)
    decimals = reference.lower().partition("e")[0].partition(".")[2]
    if not decimals and "e" not in reference.lower():
        return Decimal(0)
    return UNITS * Decimal(1).scaleb(int(number.as_tuple().exponent))


def is_noise(reference: str, fresh: str) -> bool:
    """Whether both are rounding errors such as 1.2e-07, whose very size is chance."""
    small = all(abs(Decimal(text)) < NOISE for text in (reference, fresh))
    return small and all("e" in text.lower() or not Decimal(text) for text in (reference, fresh))


def drift(reference: str, fresh: str) -> list[str]:
    """A line for each difference of two texts; empty when they agree."""
    words = [[" ".join(part.split()) for part in NUMBER.split(text)] for text in (reference, fresh)]
    if words[0] != words[1]:
        return [f"the text differs\n    reference: {reference}\n    fresh:     {fresh}"]
    lines = []
    pairs = zip(NUMBER.findall(reference), NUMBER.findall(fresh), strict=True)
    for count, (old, new) in enumerate(pairs, start=1):
        error, allowed = abs(Decimal(old) - Decimal(new)), tolerance(old)
        if error > allowed and not is_noise(old, new):
            lines.append(
                f"number {count}: reference {old}, fresh {new}: off by {error} > {allowed}"
            )
    return lines


def texts(outputs: list[Any]) -> dict[str, list[str]]:
    """All texts of a cell's outputs by kind, without stderr and progress bars."""
    by_kind = defaultdict(list)
    for output in outputs:
        if output["output_type"] == "stream":
            items = {output["name"]: output["text"]} if output["name"] != "stderr" else {}
        else:
            items = {} if is_progress(output) else output.get("data", output)
        for kind, text in items.items():
            if kind in TEXTS or kind == "stdout":
                by_kind[kind].append(text)
    return by_kind


def text_changes(
    old: dict[str, list[str]],
    new: dict[str, list[str]],
    compare: Callable[[str, str], list[str]] = drift,
) -> list[str]:
    """A line for each difference of two cells' texts, which come by kind."""
    lines = []
    for kind in sorted(old.keys() | new.keys()):
        before, after = old.get(kind, []), new.get(kind, [])
        if len(before) == len(after):
            pairs = zip(before, after, strict=True)
            lines += [f"{kind}: {line}" for pair in pairs for line in compare(*pair)]
        else:
            count = f"the notebook has {len(before)} outputs, this run gave {len(after)}"
            lines.append(f"{kind}: {count}")
            lines += [f"    in the notebook: {text}" for text in before]
            lines += [f"    in this run:     {text}" for text in after]
    return lines


def compare_outputs(cell: Any, test: list[Any], ref: list[Any], skip_compare: Any = None) -> bool:
    """Replace nbval's comparison of one cell, and write the differences into its report.

    Answers that the learners' notebook withholds are not compared; those with solutions are.
    """
    report = [] if is_withheld(ref) else text_changes(texts(ref), texts(test))
    cell.comparison_traceback = report
    return not report
