"""Run an experiment of the course from the command line."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from course_utils import data, text
from course_utils.encodings import NAMES
from course_utils.experiments import algorithms, checkpoints, stretching
from course_utils.experiments.extrapolation import AS_TRAINED, LENGTHS, check, jobs
from course_utils.experiments.recipe import Recipe, build, pick
from course_utils.experiments.store import Store
from course_utils.experiments.sweep import Job, WorkerDiedError, sweep
from course_utils.experiments.tables import as_text, summary, write_tables

DESCRIPTION = """
extrapolation: train a small language model for each encoding and seed, read texts of many lengths.
learning-rates: the same models at the trained length only, trained with several learning rates.
stretching: train RoPE models, stretch them eight ways, fine-tune each briefly, hide needles.
tasks: train small models to copy, reverse and find, ask them rows up to 8 times as long.
checkpoints: train one language model for each of five encodings and keep its weights.

What is done already is kept: after an interruption the same command goes on. Tables are written to
FOLDER when all runs are done.
"""
RATES = (1e-3, 2e-3, 4e-3)
SIZES = ("length", "steps", "batch", "d_model", "n_layers", "n_heads")  # of the recipe
ACROSS = {"extrapolation": "read", "learning-rates": "lr", "stretching": "read", "tasks": "read"}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = argparse.ArgumentParser(
        "python -m course_utils.experiments",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("experiment", choices=[*ACROSS, "checkpoints"])
    add("--encodings", nargs="+", choices=NAMES, metavar="NAME", help="default: all, or the five")
    add("--seeds", type=int, nargs="+", metavar="SEED", help="default: 0 1 2, or 0 for checkpoints")
    add("--lr", type=float, nargs="+", help=f"learning rates; default to compare: {RATES}")
    add("--lengths", type=int, nargs="+", metavar="N", help=f"bytes read; default: {LENGTHS}")
    for name in SIZES:
        usual = (getattr(recipe, name) for recipe in (Recipe("none"), algorithms.DEFAULTS))
        told = "default: {}, tasks {}".format(*usual)
        add(f"--{name.replace('_', '-')}", type=int, metavar="N", help=told)
    add("--corpus", type=Path, metavar="FILE", help="default: the text that the course ships")
    add("--folder", type=Path, default=Path("results"), help="where results go; default: results")
    add("--jobs", type=int, metavar="N", help="processes; default: one a core, or one with a GPU")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, to do the runs there")
    return made


def recipes(given: argparse.Namespace) -> list[Recipe]:
    """One a seed, encoding and learning rate; all of a seed before the next."""
    first = algorithms.DEFAULTS if given.experiment == "tasks" else Recipe("none")
    sizes = {name: getattr(given, name) for name in SIZES if getattr(given, name) is not None}
    first = dataclasses.replace(first, **sizes)
    kept = given.experiment == "checkpoints"
    usual: Sequence[str] = checkpoints.NAMES if kept else NAMES
    if given.experiment == "stretching":
        usual = ["rope"]
    found = dict.fromkeys(  # each once
        dataclasses.replace(first, encoding=name, seed=seed, lr=lr)
        for seed in given.seeds or ([0] if kept else [0, 1, 2])
        for name in given.encodings or usual
        for lr in given.lr or (RATES if given.experiment == "learning-rates" else [first.lr])
    )
    for recipe in found:
        build(recipe)  # what cannot be built is found before anything is trained
    return list(found)


def to_do(given: argparse.Namespace) -> list[Job]:
    """The runs of a sweep, after a look at whether they can be done at all."""
    if given.experiment == "tasks":
        return algorithms.jobs(recipes(given))
    corpus = (given.corpus or data.verified("documentation.txt")).read_bytes()
    wanted = recipes(given)
    usual = {"learning-rates": [wanted[0].length], "stretching": stretching.LENGTHS}
    lengths = given.lengths or usual.get(given.experiment, LENGTHS)
    check(corpus, lengths, length=wanted[0].length)
    if given.experiment == "stretching":
        return stretching.jobs(wanted, corpus, lengths)
    return jobs(wanted, corpus, lengths)


def do_sweep(given: argparse.Namespace) -> None:
    """Do what is missing, write the tables, print the means."""
    todo = to_do(given)
    store = Store(given.folder / given.experiment)
    sweep(todo, store, n_jobs=given.jobs, scheduler=given.scheduler, name=given.experiment)
    stem = given.folder / given.experiment.replace("-", "_")
    written = write_tables([key for key, _ in todo], store, stem)
    across = ACROSS[given.experiment]
    rows = pd.read_csv(next(iter(written.values())))
    if "reading" in rows:
        rows = rows[rows["reading"] == AS_TRAINED]
    apart = [
        c
        for c in ("task", "tuned", "factor", "way", "lr", "read")
        if c in rows and rows[c].nunique() > 1
    ]
    by = list(dict.fromkeys(["encoding", *apart, across]))
    of, told = ("accuracy", "share right") if "accuracy" in rows else ("loss", "nats a byte")
    print(f"{given.experiment}: {told}, mean ± standard error over seeds")
    print(as_text(summary(rows, *by, of=of), across))
    for path in written.values():
        print(f"written: {path}")


def make_checkpoints(given: argparse.Namespace) -> None:
    """Train the models whose files are not there yet, and keep their weights."""
    corpus = given.corpus or data.verified("documentation.txt")
    known = text.split(text.from_file(corpus))
    given.folder.mkdir(parents=True, exist_ok=True)
    for recipe in recipes(given):
        path, new = checkpoints.make(recipe, known, given.folder, pick())
        print(f"{'written' if new else 'there already'}: {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that workers end as well
    try:
        if given.experiment == "checkpoints":
            make_checkpoints(given)
        else:
            do_sweep(given)
    except KeyboardInterrupt:
        print("\nStopped. What was done is kept; the same command goes on.", file=sys.stderr)
        return 130
    except (OSError, ValueError, TypeError, ImportError, WorkerDiedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
