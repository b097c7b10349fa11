"""Run an experiment of the course from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from course_utils import data
from course_utils.encodings import NAMES
from course_utils.experiments.extrapolation import AS_TRAINED, LENGTHS, check, jobs
from course_utils.experiments.recipe import Recipe
from course_utils.experiments.store import Store
from course_utils.experiments.sweep import WorkerDiedError, sweep
from course_utils.experiments.tables import as_text, summary, write_tables

DESCRIPTION = """
Train one small language model per encoding and seed, and measure how well each reads texts of many
lengths ("extrapolation"), or how well each learns at several learning rates ("learning-rates").
Results that are there already are kept: after an interruption the same command goes on. The tables
are written to FOLDER when all runs are done.
"""
EXPERIMENTS = ("extrapolation", "learning-rates")
RATES = (1e-3, 2e-3, 4e-3)
DEFAULTS = Recipe("none")
SIZES = ("length", "steps", "batch", "d_model", "n_layers", "n_heads")  # of the recipe


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser("python -m course_utils.experiments", description=DESCRIPTION)
    add = made.add_argument
    add("experiment", choices=EXPERIMENTS)
    add("--encodings", nargs="+", choices=NAMES, default=NAMES, metavar="NAME", help="default: all")
    add("--seeds", type=int, nargs="+", default=[0, 1, 2], metavar="SEED", help="default: 0 1 2")
    add("--lr", type=float, nargs="+", help=f"default: {DEFAULTS.lr}, or {RATES} to compare")
    add("--lengths", type=int, nargs="+", metavar="N", help=f"bytes read; default: {LENGTHS}")
    for name in SIZES:
        default = getattr(DEFAULTS, name)
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=int, default=default, metavar="N", help=f"default: {default}")
    add("--corpus", type=Path, metavar="FILE", help="default: the text that the course ships")
    add("--folder", type=Path, default=Path("results"), help="where results go; default: results")
    add("--jobs", type=int, metavar="N", help="processes; default: one a core, or one with a GPU")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, to do the runs there")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    compared = given.experiment == "learning-rates"
    try:
        corpus = (given.corpus or data.verified("documentation.txt")).read_bytes()
        lengths = given.lengths or ([given.length] if compared else LENGTHS)
        check(corpus, lengths)
        first = Recipe("none", **{name: getattr(given, name) for name in SIZES})
        recipes = [
            dataclasses.replace(first, encoding=name, seed=seed, lr=lr)
            for seed in given.seeds  # whole seeds first: a table is useful before all are done
            for name in given.encodings
            for lr in given.lr or (RATES if compared else [DEFAULTS.lr])
        ]
        todo = jobs(recipes, corpus, lengths)
        store = Store(given.folder / given.experiment)
        sweep(todo, store, n_jobs=given.jobs, scheduler=given.scheduler, name=given.experiment)
        stem = given.folder / given.experiment.replace("-", "_")
        written = write_tables([key for key, _ in todo], store, stem)
    except KeyboardInterrupt:
        print("\nStopped. What was done is kept; the same command goes on.", file=sys.stderr)
        return 130
    except (OSError, ValueError, TypeError, WorkerDiedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    rows = pd.read_csv(written["losses"])
    across = "lr" if compared else "length"
    print("Held-out loss in nats a byte, mean ± standard error over seeds")
    print(as_text(summary(rows[rows["reading"] == AS_TRAINED], "encoding", across), across))
    for path in written.values():
        print(f"written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
