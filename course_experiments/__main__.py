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
    drawn_prices,
    extrapolation,
    larger_runs,
    mixed_layers,
    published_model,
    streams,
    stretching_runs,
    task_lengths,
)
from course_experiments.extrapolation import LENGTHS
from course_experiments.figure import draw
from course_experiments.plugins import import_encoding
from course_experiments.run_keys import run_device
from course_experiments.store import Key, Store, write_tables
from course_experiments.sweep import Job, WorkerDiedError, sweep
from course_utils import validation
from course_utils.encodings import NAMES, options_of
from course_utils.models import shipped
from course_utils.models.training import Recipe, build
from course_utils.results import AS_TRAINED, as_text, summary
from course_utils.texts import data, text

SIZES = ("length", "steps", "batch", "d_model", "n_layers", "n_heads")  # of the recipe
TRAINING_OPTIONS = ("encodings", "option", "lr", *SIZES, "plot")  # refused by "real"
READING_OPTIONS = ("tables", "ways")  # refused by all others
# Columns that tell the rows of a seed apart.
ROW_COLUMNS = (
    "corpus",
    "length",
    "steps",
    "task",
    "way",
    "tuned",
    "tuned_at",
    "factor",
    "lr",
    "first",
    "place",
)
EPILOG = """
What is done already is kept: after an interruption the same command goes on. Tables are written to
FOLDER as runs are done. An encoding of your own is MODULE:CLASS, of a file MODULE.py in the current
folder or anywhere that Python imports from.
"""


def _task_jobs(recipes: list[Recipe], corpus: bytes, lengths: Sequence[int]) -> list[Job]:
    return task_lengths.jobs(recipes)  # rows are drawn, and their lengths follow from training


@dataclasses.dataclass(frozen=True)
class Experiment:
    """What the command has to know of an experiment, and its defaults for the options."""

    description: str  # for the help
    # Makes jobs of recipes, text and lengths; None where the command itself does.
    jobs: Callable[[list[Recipe], bytes, Sequence[int]], list[Job]] | None
    recipe: Recipe = Recipe("none")  # its sizes
    encodings: Sequence[str] = NAMES
    seeds: Sequence[int] = (0, 1, 2)
    learning_rates: Sequence[float] | None = None  # None for that of the recipe
    lengths: Sequence[int] | None = LENGTHS  # bytes read; None for the trained length alone
    column: str = "loss"  # its means are printed and drawn
    unit: str = "nats a byte"  # of that column
    across: str = "read"  # the column whose values are printed side by side
    name_column: str = "encoding"  # the first column that is printed


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
    "extrapolation-mixed": Experiment(
        "the same for a mixed model: RoPE in three layers of four, no position in the fourth.",
        extrapolation.jobs,
        encodings=[mixed_layers.NAME],
        seeds=(0, 1, 2, 3, 4),
    ),
    "extrapolation-prices": Experiment(
        "the same for prices on distance that lesson 06 draws, and for ALiBi with eight heads.",
        extrapolation.price_jobs,
        encodings=[drawn_prices.TENTS, drawn_prices.STEEP, "alibi"],
        seeds=(0, 1, 2, 3, 4),
    ),
    "streams": Experiment(
        "train three of these models, read a stream with a cache that forgets, or keeps the start.",
        streams.jobs,
        encodings=streams.ENCODINGS,
        seeds=(0, 1, 2, 3, 4),
        lengths=(streams.STREAM,),
        across="first",
    ),
    "learning-rates": Experiment(
        "the same models at the trained length only, trained with several learning rates.",
        extrapolation.jobs,
        learning_rates=(1e-3, 2e-3, 4e-3),
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
        _task_jobs,
        recipe=task_lengths.DEFAULTS,
        lengths=None,
        column="accuracy",
        unit="share right",
    ),
    "real": Experiment(
        "read a text with a published language model, its positions changed in many ways.",
        None,
        unit="nats a token",
        name_column="model",
    ),
    "larger": Experiment(
        "extrapolation once more: pieces of 256, ten times the steps, a text of source code.",
        larger_runs.jobs,
        encodings=larger_runs.ENCODINGS,
    ),
    "both-ways": Experiment(
        "train masked language models, which look both ways, read texts of many lengths.",
        both_ways.jobs,
        recipe=both_ways.DEFAULTS,
        encodings=both_ways.ENCODINGS,
        lengths=both_ways.LENGTHS,
    ),
    "checkpoints": Experiment(
        "train one language model for each of five encodings and keep its weights.",
        None,
        encodings=shipped.NAMES,
        seeds=(0,),
    ),
}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    lines = [f"{name}: {experiment.description}" for name, experiment in EXPERIMENTS.items()]
    parser = argparse.ArgumentParser(
        "python -m course_experiments",
        description="\n".join([*lines, EPILOG]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("experiment", choices=EXPERIMENTS)
    add("--encodings", nargs="+", metavar="NAME", help=f"default: all, or the five; {NAMES}")
    add(
        "--option",
        type=option,
        action="append",
        metavar="NAME=VALUE",
        help="of the encodings that have one of this name; may be given several times",
    )
    add(
        "--seeds",
        type=int,
        nargs="+",
        metavar="SEED",
        help="default: 0 1 2; for stretching 3 4 too, for checkpoints 0; real: places in the text",
    )
    compared = EXPERIMENTS["learning-rates"].learning_rates
    add("--lr", type=float, nargs="+", help=f"learning rates; default to compare: {compared}")
    add(
        "--lengths",
        type=int,
        nargs="+",
        metavar="N",
        help=f"bytes read, for real tokens; default: {LENGTHS}",
    )
    tables, ways = tuple(published_model.ALL_TABLES), published_model.WAYS
    add(
        "--tables",
        nargs="+",
        metavar="NAME",
        help=f"for real; default: all but the last two, {tables}",
    )
    add("--ways", nargs="+", metavar="NAME", help=f"for real; default: all, {ways}")
    for name in SIZES:
        usual, for_tasks = getattr(Recipe("none"), name), getattr(task_lengths.DEFAULTS, name)
        flag = f"--{name.replace('_', '-')}"
        add(flag, type=int, metavar="N", help=f"default: {usual}, tasks {for_tasks}")
    add("--corpus", type=Path, metavar="FILE", help="default: the text that the course ships")
    add("--folder", type=Path, default=Path("results"), help="where results go; default: results")
    add("--jobs", type=int, metavar="N", help="processes; default: one a core, or one with a GPU")
    add("--scheduler", metavar="ADDRESS", help="of a running Dask cluster, to do the runs there")
    add("--plot", action="store_true", help="draw the means into FOLDER")
    return parser


def option(text: str) -> tuple[str, Any]:
    """``"window=16"`` as name and value; a value that is not JSON is text."""
    name, separator, value = text.partition("=")
    if not separator or not name:
        raise argparse.ArgumentTypeError(f"must be NAME=VALUE, got {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def recipes(arguments: argparse.Namespace) -> list[Recipe]:
    """A recipe for each seed, encoding and learning rate; all of a seed before the next."""
    experiment = EXPERIMENTS[arguments.experiment]
    encodings = [import_encoding(name) for name in arguments.encodings or experiment.encodings]
    valid_options = {name: options_of(name) for name in encodings}
    options = dict(arguments.option or ())
    for name in options:
        validation.choice("option", name, dict.fromkeys(sum(valid_options.values(), ())))
    sizes = {name: getattr(arguments, name) for name in SIZES}
    sizes = {name: size for name, size in sizes.items() if size is not None}
    base = dataclasses.replace(experiment.recipe, **sizes)
    rates = arguments.lr or experiment.learning_rates or [base.lr]
    unique: dict[Recipe, None] = {}
    for seed in arguments.seeds or experiment.seeds:
        for encoding, names in valid_options.items():
            own_options = {name: value for name, value in options.items() if name in names}
            for lr in rates:
                recipe = dataclasses.replace(
                    base, encoding=encoding, seed=seed, lr=lr, options=own_options
                )
                unique[recipe] = None
    for recipe in unique:
        build(recipe)  # what cannot be built raises before anything is trained
    return list(unique)


def jobs(arguments: argparse.Namespace) -> list[Job]:
    """The jobs of a sweep; raises at once if they cannot be done."""
    corpus = (arguments.corpus or data.verified("documentation.txt")).read_bytes()
    if arguments.experiment == "real":
        return published_model.jobs(
            corpus, arguments.tables, arguments.ways, arguments.seeds, arguments.lengths
        )
    experiment = EXPERIMENTS[arguments.experiment]
    assert experiment.jobs is not None
    all_recipes = recipes(arguments)
    lengths = arguments.lengths or experiment.lengths or [all_recipes[0].length]
    return experiment.jobs(all_recipes, corpus, lengths)


def check(arguments: argparse.Namespace) -> None:
    """Raise for an option that would change nothing."""
    refused = TRAINING_OPTIONS if arguments.experiment == "real" else READING_OPTIONS
    for name in refused:
        if value := getattr(arguments, name):
            raise ValueError(f"{name} must be left out for {arguments.experiment}, got {value}")


def write(
    arguments: argparse.Namespace, keys: list[Key], store: Store, *, partly: bool = False
) -> dict[str, Path]:
    """Write the tables. Where keys name one, as those of "real" do, its name ends the file's."""
    stem = arguments.folder / arguments.experiment.replace("-", "_")
    paths: dict[str, Path] = {}
    for table, table_keys in groupby(keys, lambda key: key.get("table")):
        table_stem = stem.with_name(f"{stem.name}_{table}") if table else stem
        paths |= write_tables([*table_keys], store, table_stem, partly=partly)
    return paths


def run_sweep(arguments: argparse.Namespace) -> None:
    """Do what is missing, write the tables as they grow, print the means and draw them."""
    keyed_jobs = jobs(arguments)
    keys = [key for key, _ in keyed_jobs]
    store = Store(arguments.folder / arguments.experiment)
    sweep(
        keyed_jobs,
        store,
        n_jobs=arguments.jobs,
        scheduler=arguments.scheduler,
        name=arguments.experiment,
        after=lambda: write(arguments, keys, store, partly=True),
    )
    paths = write(arguments, keys, store)
    experiment = EXPERIMENTS[arguments.experiment]
    rows = pd.read_csv(next(iter(paths.values())))
    if "reading" in rows:
        rows = rows[rows["reading"] == AS_TRAINED]
    if experiment.column in rows:
        measure = f"{experiment.unit}, mean over seeds ± half of its 95 % interval"
        print(f"{arguments.experiment}: {measure}")
        print(means_as_text(rows, experiment))
    if arguments.plot:
        paths["figure"] = arguments.folder / f"{arguments.experiment}.png"
        png = draw(rows, experiment.column, experiment.unit, experiment.across)
        paths["figure"].write_bytes(png)
    for path in paths.values():
        print(f"written: {path}")


def means_as_text(rows: pd.DataFrame, experiment: Experiment) -> str:
    """The means over seeds of a table, by the columns in which its rows differ."""
    candidates = [column for column in (*ROW_COLUMNS, "read") if column in rows]
    varying = [column for column in candidates if rows[column].nunique() > 1]
    by = list(dict.fromkeys([experiment.name_column, *varying, experiment.across]))
    # Rows that differ in none of these columns, as layers and heads do, are averaged in each seed.
    groups = rows.groupby([*by, "seed"], sort=False, dropna=False)
    means = groups[experiment.column].mean().reset_index()
    return as_text(summary(means, *by, of=experiment.column), experiment.across)


def make_checkpoints(arguments: argparse.Namespace) -> None:
    """Train the models whose files are not there yet, and keep their weights."""
    if arguments.plot:
        raise ValueError("plot must be left out, as checkpoints has no results to draw, got --plot")
    corpus = arguments.corpus or data.verified("documentation.txt")
    corpus_text = text.split(text.from_file(corpus))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    all_recipes = recipes(arguments)
    for recipe in all_recipes:  # where a file is read, an encoding of module:Class may be missing
        validation.choice("encoding", recipe.encoding, NAMES)
    for recipe in all_recipes:
        path, new = checkpoints.make(recipe, corpus_text, arguments.folder, run_device())
        print(f"{'written' if new else 'there already'}: {path}")


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status."""
    arguments = parser().parse_args(words)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that workers end as well
    try:
        check(arguments)
        if arguments.experiment == "checkpoints":
            make_checkpoints(arguments)
        else:
            run_sweep(arguments)
    except KeyboardInterrupt:
        print("\nStopped. What was done is kept; the same command goes on.", file=sys.stderr)
        return 130
    except (OSError, ValueError, TypeError, ImportError, WorkerDiedError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
