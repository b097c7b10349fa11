"""What a published language model does when position is changed in it; nothing is trained.

SmolLM2-135M reads a text from eight places spread over it, one a seed. Six tables: ``positions``,
its loss when positions or frequencies are not those of its training; ``pairs``, what each pair of
features that RoPE turns contributes to a head's scores; ``entropy``, how its heads spread their
attention as the text grows; ``lengths``, its loss past its context, by each way to stretch RoPE;
``needles``, what it then knows of numbers that stand in the text; ``streams``, its loss when
it sees the last tokens only, with the first few or without. Two more are made if they are asked for
by name, see ``published_groups``.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from course_experiments import plugins, published_groups, published_tables, streams
from course_experiments.published_changes import CHANGES, STRETCHES
from course_experiments.published_needles import SHORTEST, haystack
from course_experiments.published_tables import Row
from course_experiments.run_keys import conditions, digest
from course_experiments.sweep import Job
from course_utils import validation
from course_utils.devices import pick_device
from course_utils.encodings.rope import Rotary
from course_utils.models.transformer import Tokens
from course_utils.pretrained import SmolLM2, smollm2
from course_utils.pretrained.language_model import FILE
from course_utils.pretrained.wheel_files import FILES
from course_utils.results import AS_TRAINED

PROTOCOL = 2  # raised when the same run gives another result: stored ones are then done again
PLACES = 8  # in the text, where a reading may begin


@dataclass(frozen=True)
class Table:
    """What one table measures, and the runs that fill it unless options ask for others."""

    measure: Callable[[SmolLM2, Tokens, str], list[Row]]
    ways: Iterable[str]
    seeds: Mapping[int, Sequence[int]]  # tokens read → seeds
    shortest: int = published_tables.SHORTEST  # tokens


TABLES = {
    "positions": Table(published_tables.positions, CHANGES, {512: range(PLACES)}),
    "pairs": Table(published_tables.pairs, [AS_TRAINED], {512: (0, 3, 6)}),
    "entropy": Table(published_tables.spread, [AS_TRAINED], {8192: (0, 3, 6)}),
    "streams": Table(streams.published, streams.PUBLISHED_WAYS, {2048: (0, 3, 6)}),
    "needles": Table(haystack, STRETCHES, {12_288: (1, 3, 5, 6)}, SHORTEST),
    "lengths": Table(published_tables.lengths, STRETCHES, {12_288: (1, 3, 5, 6), 16_384: (3,)}),
}
BY_NAME_ALONE = {  # tables for ``group_runs``, which reads other texts too
    "groups": Table(
        published_groups.groups,
        [AS_TRAINED, *published_groups.GROUP_WAYS],
        {8000: (3, 6)},
        published_groups.READ[0],
    ),
    "shares": Table(
        published_groups.shares, [AS_TRAINED, published_groups.SHUFFLED], {512: (3, 6)}
    ),
}
ALL_TABLES = TABLES | BY_NAME_ALONE
WAYS = tuple(dict.fromkeys(way for table in ALL_TABLES.values() for way in table.ways))


def jobs(
    corpus: bytes,
    tables: Sequence[str] | None = None,
    ways: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    lengths: Sequence[int] | None = None,
) -> list[Job]:
    """The jobs of a sweep, each with the key of its result; None takes all, or the usual ones.

    ``lengths`` are tokens read, at least 64, for needles 512. A seed, below 8, says where in the
    text they begin.
    """
    names = tables or list(TABLES)
    _check(names, ways or (), seeds or (), lengths or ())
    about = {
        "experiment": "real",
        "protocol": PROTOCOL,
        "code": plugins.code("rope", Rotary),
        "encoding": "rope",
        "weights": FILES[FILE][1],
        "corpus": digest(corpus),
    }
    keyed_jobs: list[Job] = []
    for name in names:
        table = ALL_TABLES[name]
        usual_seeds = next(iter(table.seeds.values()))
        table_ways = [way for way in table.ways if ways is None or way in ways]
        for read in lengths or table.seeds:
            for seed in seeds or table.seeds.get(read, usual_seeds):
                for way in table_ways:
                    key = {**about, "table": name, "way": way, "seed": seed, "read": read}
                    keyed_jobs.append((key, partial(run, corpus, name, way, seed, read)))
    if ways is not None and not keyed_jobs:
        raise ValueError(f"ways must be of the tables {[*names]}, got {[*ways]}")
    return keyed_jobs


def _check(
    tables: Sequence[str], ways: Sequence[str], seeds: Sequence[int], lengths: Sequence[int]
) -> None:
    for way in ways:
        validation.choice("ways", way, WAYS)
    for seed in seeds:
        validation.below("seeds", validation.seed(seed), PLACES, "the number of places")
    for name in tables:
        table = ALL_TABLES[validation.choice("tables", name, ALL_TABLES)]
        for read in lengths:
            validation.integer("lengths", read, minimum=table.shortest)


def run(corpus: bytes, table: str, way: str, seed: int, read: int) -> dict[str, list[Row]]:
    """Rows of one table: so many tokens of the text, from the seed's place on, read in one way."""
    model, tokens = language_model(), _tokens(corpus)
    start = tokens.shape[1] * seed // PLACES
    if start + read > tokens.shape[1]:
        raise ValueError(
            f"lengths must be at most {tokens.shape[1] - start}, the tokens of the text from "
            f"seed {seed} on, got {read}"
        )
    about: Row = {"model": "SmolLM2-135M", "seed": seed, "start": start, "read": read, "way": way}
    rows = ALL_TABLES[table].measure(model, tokens[:, start : start + read], way)
    last_columns = conditions(corpus, tokens.device)
    return {table: [{**about, **row, **last_columns} for row in rows]}


@functools.cache
def language_model() -> SmolLM2:
    """The model, loaded once by each process that reads."""
    return smollm2().to(pick_device())


@functools.cache
def _tokens(corpus: bytes) -> Tokens:
    return language_model().encode(corpus.decode())
