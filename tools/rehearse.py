"""Run the lessons again under other random numbers and other arithmetic; no sentence may change.

    python tools/rehearse.py [--lessons 03 04]

Each notebook with solutions is run in several ways. With other seeds numbers may change but words
may not: no reveal, no verdict, no "3 of 5 seeds". With other arithmetic numbers have to agree too,
as in the tests. A table counts the changes; the exit status is 1 if there are any. Each way takes
some minutes, so this is no part of make test.
"""

import argparse
import re
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import nbformat
import pandas as pd
from build_notebooks import choose, kernel_environment, run_cells
from claims_table import claims_in
from lesson_models import has_tag, lacking
from nbformat import NotebookNode
from notebook_comparison import NUMBER, drift, text_changes, texts
from notebook_outputs import clean
from notebook_source import BuildError, find_lessons, lesson_name

COUNT = re.compile(r"\b\d+ of (?:the )?\d+\b")
REVEAL = re.compile(r"^Measured: .*", re.MULTILINE)
MOVE = "import sys; sys.path.append({folder!r}); import moved_seeds; moved_seeds.move({offset})"
# The oldest instructions that PyTorch, MKL and oneDNN support, for the results of another
# processor. The settings do nothing on processors other than x86.
OLD_INSTRUCTIONS = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "ONEDNN_MAX_CPU_ISA": "SSE41",
    "OMP_NUM_THREADS": "1",
}


@dataclass(frozen=True)
class Way:
    """One way to run a lesson again."""

    name: str
    offset: int = 0
    environment: dict[str, str] = field(default_factory=dict)


WAYS = [
    Way("seeds + 1000", 1000),
    Way("seeds + 2000", 2000),
    Way("seeds + 3000", 3000),
    Way("old processor", environment=OLD_INSTRUCTIONS),
    Way("AVX2, 2 threads", environment={"ATEN_CPU_CAPABILITY": "avx2", "OMP_NUM_THREADS": "2"}),
]


@dataclass
class Outcome:
    """The result of one lesson run in one way: how many texts were compared, and which changed."""

    compared: int = 0
    changes: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{len(self.changes)} of {self.compared}"


def words_changed(reference: str, fresh: str) -> list[str]:
    """The changes of words, counts ("3 of 5") and revealed numbers; other numbers may move."""
    words = [[" ".join(part.split()) for part in NUMBER.split(text)] for text in (reference, fresh)]
    if words[0] != words[1]:
        return [f"the words differ\n    reference: {reference}\n    fresh:     {fresh}"]
    lines = []
    for old, new in zip(COUNT.findall(reference), COUNT.findall(fresh), strict=True):
        if old != new:
            lines.append(f"a count differs: {old!r} is now {new!r}")
    for old, new in zip(REVEAL.findall(reference), REVEAL.findall(fresh), strict=True):
        pairs = zip(NUMBER.findall(old), NUMBER.findall(new), strict=True)
        if any(abs(float(a) - float(b)) > 0.1 * abs(float(a)) for a, b in pairs):
            lines.append(f"a revealed number moved by more than a tenth: {old!r} is now {new!r}")
    return lines


def compare(reference: NotebookNode, fresh: NotebookNode, moved: bool) -> Outcome:
    """Compare a rehearsal with the notebook, cell by cell; ``moved``: with other seeds."""
    outcome = Outcome()
    without_model = bool(lacking(reference.cells))
    for old, new in zip(reference.cells, fresh.cells, strict=True):
        if old.cell_type != "code" or "nbval-ignore-output" in old.metadata.get("tags", []):
            continue
        if without_model and has_tag(old):
            continue
        old_texts, new_texts = texts(old.outputs), texts(clean(new.outputs))
        old_claims, new_claims = claims_in(old), claims_in(new)
        outcome.compared += sum(map(len, old_texts.values())) + len(old_claims)
        changes = text_changes(old_texts, new_texts, words_changed if moved else drift)
        for before, after in zip(old_claims, new_claims, strict=False):
            if (before.verdict, before.cases) != (after.verdict, after.cases):
                changes.append(f"{before.id}: the verdict or one of its cases changed")
        if changes:
            outcome.changes.append("\n".join([f"cell {old.id}:", *changes]))
    return outcome


def rehearse(root: Path, lesson: Path, way: Way) -> Outcome:
    """Run one lesson's notebook with solutions in one way."""
    path = root / "notebooks" / "solutions" / f"{lesson_name(lesson)}.ipynb"
    reference = nbformat.read(path, as_version=4)
    fresh = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        if way.offset:
            startup = Path(scratch, "profile_default", "startup")
            startup.mkdir(parents=True)
            move = MOVE.format(folder=str(Path(__file__).parent), offset=way.offset)
            (startup / "move.py").write_text(move)
        try:
            run_cells(fresh, path, {**kernel_environment(root, scratch), **way.environment})
        except BuildError as error:
            return Outcome(1, [f"it stopped: {error}"])
    return compare(reference, fresh, moved=way.offset != 0)


def table(outcomes: dict[tuple[str, str], Outcome]) -> str:
    """One row per lesson: how many of the compared texts and verdicts changed in each way."""
    columns: dict[str, dict[str, str]] = {}
    for (lesson, way), outcome in outcomes.items():
        columns.setdefault(way, {})[lesson] = str(outcome)
    return pd.DataFrame(columns).to_string()


def main(arguments: list[str] | None = None) -> int:
    """The command line; the exit status is 0 if nothing changed."""
    parser = argparse.ArgumentParser(description="Run the lessons again; no sentence may change.")
    parser.add_argument("--lessons", nargs="+", default=[], metavar="NN", help="only these")
    parser.add_argument("--ways", nargs="+", metavar="WORD", help="only ways with such a word")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="lessons at a time")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    try:
        lessons = choose(find_lessons(root), options.lessons)
    except BuildError as error:
        parser.error(str(error))
    ways = [way for way in WAYS if not options.ways or any(w in way.name for w in options.ways)]
    if not ways:
        parser.error(f"no way has {options.ways}; there are: {', '.join(w.name for w in WAYS)}")
    with ThreadPoolExecutor(max_workers=options.jobs) as pool:
        futures = {
            (lesson_name(lesson), way.name): pool.submit(rehearse, root, lesson, way)
            for way in ways
            for lesson in lessons
        }
        outcomes = {}
        for (lesson, way), future in futures.items():
            outcomes[lesson, way] = future.result()
            for change in outcomes[lesson, way].changes:
                print(f"{lesson}, {way}, {change}\n", flush=True)
    print(table(outcomes))
    compared = sum(outcome.compared for outcome in outcomes.values())
    changed = sum(len(outcome.changes) for outcome in outcomes.values())
    print(f"{changed} changed of {compared} texts and verdicts in {len(outcomes)} runs")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
