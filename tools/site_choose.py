"""Choose: which encoding, in a minute, with the rows behind each number.

Losses and their intervals come from data/, prices from running each encoding.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pandas as pd
import readme_tables
import site_explorers
from markupsafe import Markup
from site_html import macros, tag
from site_page import Page

from course_lab import chooser, explorers
from course_lab.spelling import printed
from course_utils import measures
from course_utils import results as measured
from course_utils.texts import data

EXPLORER = "chooser"
START: dict[str, object] = {"attention": chooser.PLAIN}  # as the advice above the picture has it
CODE = re.compile("`(.*?)`")
FILES = "_static/data"
SOURCE_CODE = "11fac7920fef1d73"  # the corpus of data/larger.csv that is not English
# What a price is measured on, as in lesson 10.
PRICED: dict[str, Any] = {"length": 64, "batch": 1, "causal": True, "max_len": 64}


class Kind(NamedTuple):
    """What was measured: its name on the page, its table, what to average and over which rows."""

    name: str
    table: str
    column: str
    only: dict[str, Any]


KINDS = {
    "causal": Kind("loss, earlier words only", "extrapolation", "loss", {}),
    "both": Kind("loss, both ways", "both_ways", "loss", {}),
    "longer": Kind("loss, pieces of 256", "larger", "loss", {"length": 256}),
    "steps": Kind("loss, ten times the steps", "larger", "loss", {"steps": 12_000}),
    "code": Kind("loss, source code", "larger", "loss", {"corpus": SOURCE_CODE}),
    "copy": Kind("share right, copy", "tasks", "accuracy", {"task": "copy"}),
    "reverse": Kind("share right, reverse", "tasks", "accuracy", {"task": "reverse"}),
    "find": Kind("share right, find", "tasks", "accuracy", {"task": "find"}),
}
READERS = {chooser.CAUSAL: "causal", chooser.BOTH_WAYS: "both"}
MORE_STEPS = "ten times the steps"
OTHER_SIZES = {"pieces of 256": ("longer", 256), MORE_STEPS: ("steps", 64)}
KERNELS = {
    chooser.NOTHING: "plain",
    chooser.STRAIGHT: "plain, one number more",
    chooser.NUMBERS: "takes a bias",
    chooser.BY_WORD: "asks words",
}


def page(markdown: str) -> Page:
    """The page: its text with the tables and the explorer."""
    description = explorers.ALL[EXPLORER].describe(**START)
    defaults = chooser.DEFAULTS.items()
    parts = {
        "defaults": _list({kind: default.sentence for kind, default in defaults}),
        "caveats": _list({kind: default.caveat for kind, default in defaults if default.caveat}),
        "why": why(),
        "bridge": bridge(),
        "which": which(),
        "outside": readme_tables.outside(),
        EXPLORER: site_explorers.mount(EXPLORER, START, description, ""),
        "encodings": encodings(chooser.facts().sort_values("loss")),
        "results": macros("choose.html").results([row for key in KINDS for row in _results(key)]),
    }
    for name, block in parts.items():
        markdown = markdown.replace(f"<!-- {name} -->", block)
    tables = sorted({kind.table for kind in KINDS.values()})
    files = {f"{FILES}/{name}.csv": data.verified(f"{name}.csv").read_bytes() for name in tables}
    return Page("choose", "", markdown, files, frozenset({EXPLORER}))


def _list(sentences: dict[str, str]) -> str:
    return "\n".join(f"- **{kind}:** {sentence}" for kind, sentence in sentences.items())


# ------------------------------------------------------------------------- which one


def why() -> str:
    """What the picture's first state takes for granted, and who is first without that."""
    first = printed(str(chooser.facts().sort_values("loss").index[0]))
    return (
        "The picture starts with a plain attention kernel, as most libraries have it. Allow *any*, "
        f"and {first} comes first: it has the lowest loss of the small models, and asks the words "
        "for it."
    )


def bridge() -> str:
    """Why the advice is RoPE, where the table's first cell names another."""
    short, steps = chooser.facts().sort_values("loss")["loss"], chooser.other_sizes()[MORE_STEPS]
    first = short.index[0]
    runner_up = next(name for name in short.index[1:] if name in steps.dropna().index)
    ahead = {name: short["rope"] - short[name] for name in (first, runner_up)}
    left = steps["rope"] - steps[runner_up]
    winner, second = printed(first), printed(runner_up)
    return (
        f"Below, {winner} has the lowest loss, {ahead[first]:.3f} nats a byte ahead of RoPE. It "
        f"is a small model after a short training, and {winner} asks the words, which no plain "
        "fused kernel does; RoPE turns queries and keys before any kernel, at little cost. Nor "
        f"need a lead last: that of {second} over RoPE, {ahead[runner_up]:.3f} here, is "
        f"{left:.3f} after ten times the steps."
    )


def which() -> str:
    """README's table, each number a link to its row; a phone shows a block a row."""

    def linked(best: readme_tables.Best) -> str:
        row = anchor(READERS[best.reads], best.name, best.read)
        return tag("a", best.number, href=f"#{row}", class_="om-number")

    head, *rows = readme_tables.which_rows(linked)
    as_html = [
        [Markup(CODE.sub(lambda name: printed(name[1]), cell)) for cell in row] for row in rows
    ]
    return str(macros("choose.html").which(head, as_html))


# ------------------------------------------------------------------------- every encoding


def encodings(facts: pd.DataFrame) -> str:
    """A row an encoding: losses with intervals, what it can do, what it costs."""
    longer = [times for times in sorted(set(chooser.TIMES.values())) if times > 1]
    lengths = [chooser.times_read(times) for times in (1, *longer)]
    masked, sizes = chooser.facts(chooser.BOTH_WAYS)["loss"], chooser.other_sizes()
    rows = [
        _encoding(str(name), fact, longer, masked[str(name)], sizes)
        for name, fact in facts.iterrows()
    ]
    return macros("choose.html").encodings(rows, lengths, list(OTHER_SIZES))


def _encoding(
    name: str, fact: "pd.Series[Any]", longer: list[int], masked: float, sizes: pd.DataFrame
) -> dict[str, Any]:
    loss = fact["loss"]
    losses = [(f"{loss:.3f}", loss, anchor("causal", name, chooser.TRAINED))]
    for times in longer:
        row = anchor("causal", name, chooser.times_read(times))
        rise = fact[f"rise_{times}"]
        losses.append((str(rise).replace("± ", "±\N{NO-BREAK SPACE}"), rise.mean, row))
    others = [(masked, anchor("both", name, chooser.TRAINED))]
    for size, (kind, read) in OTHER_SIZES.items():
        others.append((sizes[size].get(name, float("nan")), anchor(kind, name, read)))
    for mean, row in others:
        losses.append(("–", float("inf"), "") if pd.isna(mean) else (f"{mean:.3f}", mean, row))
    return {
        "name": name,
        "printed": printed(name),
        "doors": fact["doors"],
        "losses": losses,
        "masked": "measured" if not pd.isna(masked) else "not measured",
        "still": "yes" if fact["shift"] <= chooser.ROUNDING else "no",
        "kernel": KERNELS[fact["adds"]],
        "price": measures.passport(name, **PRICED),
    }


# ------------------------------------------------------------------------- every result


def anchor(kind: str, name: str, read: int, reading: str = measured.AS_TRAINED) -> str:
    """The name of a result's row on the page."""
    how = "" if reading == measured.AS_TRAINED else f"-{reading}"
    return f"{kind}-{name}-{read}{how}"


def _results(key: str) -> Iterator[dict[str, Any]]:
    """The rows of one kind: mean and interval over seeds, each seed's value, its lines in data/."""
    kind = KINDS[key]
    runs = data.results(kind.table)
    runs["line"] = runs.index + 2  # of the file, whose first line has the names of the columns
    if "reading" not in runs:
        runs["reading"] = measured.AS_TRAINED
    for column, value in kind.only.items():
        runs = runs[runs[column] == value]
    by = ["encoding", "read", "reading"]
    means = measured.summary(runs, *by, of=kind.column)
    case: Any
    for case, group in runs.groupby(by, sort=False):
        name, read, reading = case
        seeds = group.sort_values("seed")
        yield {
            "anchor": anchor(key, name, read, reading),
            "encoding": printed(name),
            "mean": means.loc[case, "mean"],
            "margin": means.loc[case, "margin"],
            "read": read,
            "kind": kind.name,
            "reading": reading,
            "seeds": list(seeds[kind.column]),
            "file": kind.table,
            "lines": list(seeds["line"]),
        }
