"""Run an experiment of the course from the command line."""

import argparse
import dataclasses
import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd

from course_experiments import (
    both_ways,
    checkpoints,
    extrapolation,
    larger_runs,
    published_model,
    stretching_runs,
    task_lengths,
)
from course_experiments.extrapolation import LENGTHS
from course_experiments.figure import draw
from course_experiments.plugins import import_encoding
from course_experiments.run_keys import pick
from course_experiments.store import Key, Store, write_tables
from course_experiments.sweep import Job, WorkerDiedError, sweep
from course_utils import validation
from course_utils.encodings import NAMES, options_of
from course_utils.models import shipped
from course_utils.models.training import Recipe, build
from course_utils.results import AS_TRAINED, as_text, summary
from course_utils.texts import data, text

SIZES = ("length", "steps", "batch", "d_model", "n_layers", "n_heads")  # of the recipe
OF_TRAINING = ("encodings", "option", "lr", *SIZES, "plot")  # options that real has no use for
# Columns that tell a seed's rows apart.
APART = (
    "corpus", "length", "steps", "task", "way", "tuned", "tuned_at", "factor", "lr", "first",
    "place",
)  # fmt: skip
ENDING = """
What is done already is kept: after an interruption the same command goes on. Tables are written to
FOLDER as runs are done. An encoding of your own is MODULE:CLASS, of a file MODULE.py in the current
folder or anywhere that Python imports from.
"""


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What the command has to know of an experiment, and what it takes if no option says more."""

    about: str  # for the help
    jobs: Callable[[list[Recipe], bytes, Sequence[int]], list[Job]]  # of recipes, text and lengths
    usual: Recipe = Recipe("none")  # its sizes
    encodings: Sequence[str] = NAMES
    seeds: Sequence[int] = (0, 1, 2)
    rates: Sequence[float] | None = None  # of learning; None for that of the recipe
    lengths: Sequence[int] | None = LENGTHS  # bytes read; None for the trained length alone
    of: tuple[str, str] = ("loss", "nats a byte")  # the column whose means are printed, its unit
    across: str = "read"  # the column whose values are printed side by side
    name: str = "encoding"  # the column that tells what was read with


EXPERIMENTS = {
    "extrapolation": Experiment(
        "train a small language model for each encoding and seed, read texts of many lengths.",
        extrapolation.jobs,
    ),
    "extrapolation-fire": Experiment(
        "the same for FIRE, its L₀ started at a quarter of the trained length.",
        extrapolation.fire_jobs,
        encodings=["fire"],
    ),
    "learning-rates": Experiment(
        "the same models at the trained length only, trained with several learning rates.",
        extrapolation.jobs,
        rates=(1e-3, 2e-3, 4e-3),
        lengths=None,
        across="lr",
    ),
    "stretching": Experiment(
        "train RoPE models, stretch them eight ways, fine-tune each briefly, hide needles.",
        stretching_runs.jobs,
        encodings=["rope"],
        seeds=(0, 1, 2, 3, 4),
        lengths=stretching_runs.LENGTHS,
    ),
    "tasks": Experiment(
        "train small models to copy, reverse and find, ask them rows up to 8 times as long.",
        lambda recipes, _text, _lengths: task_lengths.jobs(recipes),
        usual=task_lengths.DEFAULTS,
        lengths=None,
        of=("accuracy", "share right"),
    ),
    "real": Experiment(
        "read a text with a published language model, its positions changed in many ways.",
        lambda _recipes, _text, _lengths: [],
        of=("loss", "nats a token"),
        name="model",
    ),
    "larger": Experiment(
        "extrapolation once more: pieces of 256, ten times the steps, a text of source code.",
        larger_runs.jobs,
        encodings=larger_runs.ENCODINGS,
    ),
    "both-ways": Experiment(
        "train masked language models, which look both ways, read texts of many lengths.",
        both_ways.jobs,
        usual=both_ways.DEFAULTS,
        encodings=both_ways.ENCODINGS,
        lengths=both_ways.LENGTHS,
    ),
    "checkpoints": Experiment(
        "train one language model for each of five encodings and keep its weights.",
        lambda _recipes, _text, _lengths: [],
        encodings=shipped.NAMES,
        seeds=(0,),
    ),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    compared = EXPERIMENTS["learning-rates"].rates
    does = [f"{name}: {one.about}" for name, one in EXPERIMENTS.items()]
    made = argparse.ArgumentParser(
        "python -m course_experiments",
        description="\n".join([*does, ENDING]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = made.add_argument
    add("experiment", choices=EXPERIMENTS)
    add("--encodings", nargs="+", metavar="NAME", help=f"default: all, or the five; {NAMES}")
    about = "of the encodings that have one of this name; may be given several times"
    add("--option", type=option, action="append", metavar="NAME=VALUE", help=about)
    seeds = "default: 0 1 2; for stretching 3 4 too, for checkpoints 0; real: places in the text"
    add("--seeds", type=int, nargs="+", metavar="SEED", help=seeds)
    add("--lr", type=float, nargs="+", help=f"learning rates; default to compare: {compared}")
    about = f"bytes read, for real tokens; default: {LENGTHS}"
    add("--lengths", type=int, nargs="+", metavar="N", help=about)
    for name, known in (("tables", tuple(published_model.TABLES)), ("ways", published_model.WAYS)):
        add(f"--{name}", nargs="+", metavar="NAME", help=f"for real; default: all, {known}")
    for name in SIZES:
        usual = (getattr(recipe, name) for recipe in (Recipe("none"), task_lengths.DEFAULTS))
        told = "default: {}, tasks {}".format(*usual)
        add(f"--{name.replace('_', '-')}", type=int, metavar="N", help=told)
    add("--corpus", type=Path, metavar="FILE", help="default: the text that the course ships")
    add("--folder", type=Path, default=Path("results"), help="where results go; default: results")
    add("--jobs", type=int, metavar="N", help="processes; default: one a core, or one with a GPU")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, to do the runs there")
    add("--plot", action="store_true", help="draw the means into FOLDER")
    return made


def option(text: str) -> tuple[str, Any]:
    """``"window=16"`` as name and value; what is no JSON is text."""
    name, is_there, value = text.partition("=")
    if not is_there or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def recipes(given: argparse.Namespace) -> list[Recipe]:
    """One a seed, encoding and learning rate; all of a seed before the next."""
    asked = EXPERIMENTS[given.experiment]
    sizes = {name: getattr(given, name) for name in SIZES if getattr(given, name) is not None}
    first = dataclasses.replace(asked.usual, **sizes)
    takes = {name: options_of(import_encoding(name)) for name in given.encodings or asked.encodings}
    options = dict(given.option or ())
    for one in options:
        validation.choice("option", one, dict.fromkeys(sum(takes.values(), ())))
    found = dict.fromkeys(  # each once
        dataclasses.replace(
            first,
            encoding=name,
            seed=seed,
            lr=lr,
            options={one: value for one, value in options.items() if one in taken},
        )
        for seed in given.seeds or asked.seeds
        for name, taken in takes.items()
        for lr in given.lr or asked.rates or [first.lr]
    )
    for recipe in found:
        build(recipe)  # what cannot be built is found before anything is trained
    return list(found)


def to_do(given: argparse.Namespace) -> list[Job]:
    """The runs of a sweep, after a look at whether they can be done at all."""
    corpus = (given.corpus or data.verified("documentation.txt")).read_bytes()
    if given.experiment == "real":
        return published_model.jobs(corpus, given.tables, given.ways, given.seeds, given.lengths)
    asked, wanted = EXPERIMENTS[given.experiment], recipes(given)
    lengths = given.lengths or asked.lengths or [wanted[0].length]
    return asked.jobs(wanted, corpus, lengths)


def check(given: argparse.Namespace) -> None:
    """Raise for an option that would change nothing."""
    for name in OF_TRAINING if given.experiment == "real" else ("tables", "ways"):
        if value := getattr(given, name):
            raise ValueError(f"{name} must be left out for {given.experiment}, got {value}")


def write(
    given: argparse.Namespace, keys: list[Key], store: Store, *, partly: bool = False
) -> dict[str, Path]:
    """Write the tables; each of a key's own name gets that behind the experiment's."""
    stem = given.folder / given.experiment.replace("-", "_")
    written: dict[str, Path] = {}
    for table, found in groupby(keys, lambda key: key.get("table")):
        own = stem.with_name(f"{stem.name}_{table}") if table else stem
        written |= write_tables([*found], store, own, partly=partly)
    return written


def do_sweep(given: argparse.Namespace) -> None:
    """Do what is missing, write the tables as they grow, print the means and draw them."""
    todo, asked = to_do(given), EXPERIMENTS[given.experiment]
    store, keys = Store(given.folder / given.experiment), [key for key, _ in todo]
    sweep(
        todo,
        store,
        n_jobs=given.jobs,
        scheduler=given.scheduler,
        name=given.experiment,
        after=lambda: write(given, keys, store, partly=True),
    )
    written = write(given, keys, store)
    column, unit = asked.of
    rows = pd.read_csv(next(iter(written.values())))
    if "reading" in rows:
        rows = rows[rows["reading"] == AS_TRAINED]
    if column in rows:
        apart = [c for c in (*APART, "read") if c in rows and rows[c].nunique() > 1]
        by = list(dict.fromkeys([asked.name, *apart, asked.across]))
        apart_by = rows.groupby([*by, "seed"], sort=False, dropna=False)
        means = apart_by[column].mean().reset_index()
        print(f"{given.experiment}: {unit}, mean over seeds ± half of its 95 % interval")
        print(as_text(summary(means, *by, of=column), asked.across))
    if given.plot:
        written["picture"] = given.folder / f"{given.experiment}.png"
        written["picture"].write_bytes(draw(rows, asked.of, asked.across))
    for path in written.values():
        print(f"written: {path}")


def make_checkpoints(given: argparse.Namespace) -> None:
    """Train the models whose files are not there yet, and keep their weights."""
    if given.plot:
        raise ValueError("plot must be left out, as checkpoints has no results to draw, got --plot")
    corpus = given.corpus or data.verified("documentation.txt")
    known = text.split(text.from_file(corpus))
    given.folder.mkdir(parents=True, exist_ok=True)
    wanted = recipes(given)
    for recipe in wanted:  # one of a file could not be read where that is not
        validation.choice("encoding", recipe.encoding, NAMES)
    for recipe in wanted:
        path, new = checkpoints.make(recipe, known, given.folder, pick())
        print(f"{'written' if new else 'there already'}: {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    given = parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that workers end as well
    try:
        check(given)
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
