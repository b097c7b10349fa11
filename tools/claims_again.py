"""Settle every claim again and compare: `python tools/claims_again.py [--lessons 02 closer/05]`.

Each lesson that data/claims.csv names is run once, from its notebook with solutions, up to its last
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
import nbformat
from build_notebooks import choose, kernel_environment, run_cells
from lesson_models import lacking
from nbformat import NotebookNode
from notebook_source import BuildError, find_lessons, lesson_name

Row = dict[str, str]
# What the ledger appends to its numbers where cases differ: "no mask: yes; a mask: no".
CASES = re.compile(r"(?:[^;]*: (?:yes|no); )+[^;]*: (?:yes|no)$")


def settle(root: Path, lesson: str) -> list[Row]:
    """What a lesson settles when it is run now: rows as in the ledger.

    Raises:
        BuildError: if a cell fails.
    """
    path = root / "notebooks" / "solutions" / f"{lesson}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    last = max(
        (n for n, cell in enumerate(notebook.cells) if claims_table.claims_in(cell)), default=-1
    )
    notebook.cells = notebook.cells[: last + 1]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    if notebook.cells:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
            run_cells(notebook, path, kernel_environment(root, scratch))
    return claims_table.settled(notebook, lesson)


def without_models(cells: Iterable[NotebookNode]) -> bool:
    """Whether a lesson asks a published model that is not installed here."""
    return bool(lacking(list(cells)))


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
    for key in old.keys() & new.keys():
        for suffix, where in (("", ""), ("_there", " in a real model"))[: 2 if models else 1]:
            before, now = (row[f"verdict{suffix}"] for row in (old[key], new[key]))
            if before != now:
                found.append(f"{key}{where}: {before or 'not asked'} is now {now or 'not asked'}")
                continue
            told = [cases(row[f"measured{suffix}"]) for row in (old[key], new[key])]
            if told[0] != told[1]:
                found.append(
                    f"{key}{where}: a case is another one; now: {new[key][f'measured{suffix}']}"
                )
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
    settling = {row["lesson"] for row in ledger}
    try:
        chosen = map(lesson_name, choose(find_lessons(root), options.lessons))
    except BuildError as error:
        parser.error(str(error))
    lessons, bad, count = [name for name in chosen if name in settling], [], 0
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        runs = {name: pool.submit(settle, root, name) for name in lessons}
        for name, run in runs.items():
            path = root / "notebooks" / "solutions" / f"{name}.ipynb"
            alone = without_models(nbformat.read(path, as_version=4).cells)
            shipped = [row for row in ledger if row["lesson"] == name]
            try:
                fresh = run.result()
                parted = differences(shipped, fresh, models=not alone)
            except BuildError as error:
                fresh, parted = [], [f"it stopped: {error}"]
            count += len(fresh)
            bad += parted
            note = " (published models are not installed; not asked)" if alone else ""
            print(f"{name}: {len(fresh)} claims, {len(parted)} differ{note}", flush=True)
            for line in parted:
                print(f"  {line}", flush=True)
    seconds = time.perf_counter() - begin
    print(f"{count} claims settled again in {seconds:.0f} s, {len(bad)} differences")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
