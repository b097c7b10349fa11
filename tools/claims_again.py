"""Settle every claim again and compare: `python tools/claims_again.py [--lessons 02 closer/05]`.

Each lesson that data/claims.csv names is run once, from its source with solutions, up to its last
claim. A line says where a verdict or a case of one is no longer what the file says; the exit status
is 1 then. Nothing is written. ``rehearse.py`` does more, under other seeds and arithmetic.
"""

import argparse
import csv
import re
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import claims_table
from build_notebooks import choose, kernel_environment, run_cells
from lesson_models import lacking
from nbformat import NotebookNode
from notebook_source import (
    BuildError,
    Target,
    find_lessons,
    inputs,
    lesson_name,
    read_project,
)

Row = dict[str, str]
TELLING = re.compile(r"\.(?:settle|leave_open|in_a_real_model)\(")  # of course_utils.claims.Myths
# What the ledger appends to its numbers where cases differ: "no mask: yes; a mask: no".
CASES = re.compile(r"(?:[^;]*: (?:yes|no); )+[^;]*: (?:yes|no)$")


def until_the_last_claim(notebook: NotebookNode) -> NotebookNode:
    """The notebook without the cells after the last that settles a claim."""
    telling = [n for n, cell in enumerate(notebook.cells) if TELLING.search(cell.source)]
    notebook.cells = notebook.cells[: telling[-1] + 1 if telling else 0]
    return notebook


def settle(notebook: NotebookNode, target: Target) -> list[Row]:
    """What a lesson settles when it is run now: rows as in the ledger.

    Raises:
        BuildError: if a cell fails.
    """
    if notebook.cells:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            environment = kernel_environment(target.project.root, scratch)
            run_cells(notebook, target.path, environment)
    return claims_table.settled(notebook, lesson_name(target.lesson))


def cases(measured: str) -> list[tuple[str, str]]:
    """The cases of a row where they differ, and each one's yes or no; the first without its name.

    The name of the first cannot be told from the numbers before it.
    """
    found = CASES.search(measured)
    each = [part.rpartition(": ") for part in found[0].split("; ")] if found else []
    return [(name if n else "", said) for n, (name, _, said) in enumerate(each)]


def differences(shipped: Iterable[Row], fresh: Iterable[Row], models: bool = True) -> list[str]:
    """Where two ledgers of the same lessons part in a verdict or a case, a line each.

    Without ``models`` what the file says of published models is passed over.
    """
    old, new = ({row["id"]: row for row in rows} for rows in (shipped, fresh))
    found = [f"{key}: no longer settled" for key in old.keys() - new.keys()]
    found += [f"{key}: not in the file" for key in new.keys() - old.keys()]
    asked = [("", ""), ("_there", " in a real model")] if models else [("", "")]
    for key in old.keys() & new.keys():
        for suffix, where in asked:
            before, now = (row[f"verdict{suffix}"] for row in (old[key], new[key]))
            if before != now:
                found.append(f"{key}{where}: {before or 'not asked'} is now {now or 'not asked'}")
                continue
            told = [row[f"measured{suffix}"] for row in (old[key], new[key])]
            if cases(told[0]) != cases(told[1]):
                found.append(f"{key}{where}: a case is another one; now: {told[1]}")
    return sorted(found)


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 0 when every verdict and case is the same."""
    parser = argparse.ArgumentParser(description="Settle every claim again and compare.")
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="only these")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="lessons at a time")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args(arguments)
    root, begin = options.root.resolve(), time.perf_counter()
    with (root / "data" / "claims.csv").open(encoding="utf-8", newline="") as file:
        ledger = list(csv.DictReader(file))
    try:
        chosen = choose(find_lessons(root), options.lessons)
    except BuildError as error:
        parser.error(str(error))
    project, count, bad = read_project(root), 0, 0
    settling = {row["lesson"] for row in ledger}
    targets = [Target(project, path, True) for path in chosen if lesson_name(path) in settling]
    notebooks = [until_the_last_claim(inputs(target)) for target in targets]
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        runs = [pool.submit(settle, *pair) for pair in zip(notebooks, targets, strict=True)]
        for notebook, target, run in zip(notebooks, targets, runs, strict=True):
            name, missing = lesson_name(target.lesson), lacking(notebook.cells)
            shipped = [row for row in ledger if row["lesson"] == name]
            try:
                fresh = run.result()
                lines = differences(shipped, fresh, models=not missing)
            except BuildError as error:
                fresh, lines = [], [f"it stopped: {error}"]
            count, bad = count + len(fresh), bad + len(lines)
            note = f"; no model asked, without {', '.join(missing)}" if missing else ""
            print(f"{name}: {len(fresh)} claims, {len(lines)} differences{note}", flush=True)
            for line in lines:
                print(f"  {line}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"{count} claims settled again in {seconds:.0f} s, {bad} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
