"""Checks for lesson 07: windows that slide, objections to a table of results.

Of its closer looks: paired seeds, log-n scaling.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from course_lab.checks.core import Check, Mistake, randn
from course_lab.referee import CUT, Run

LossOf = Callable[[Tensor, Tensor], Tensor]


def by_context(tokens: Tensor, targets: Tensor) -> Tensor:
    """Losses (n,) that depend on all tokens before, on the targets and on the place."""
    if tokens.ndim != 1 or tokens.shape != targets.shape:
        raise ValueError(
            "loss_of takes tokens (n,) and targets (n,), "
            f"got {tuple(tokens.shape)} and {tuple(targets.shape)}"
        )
    places = torch.arange(len(tokens))
    return (tokens.cumsum(0) * 3 + targets * 17 + places**2).float() % 101


def _bytes(count: int, seed: int = 0) -> Tensor:
    return torch.randint(256, (count,), generator=torch.Generator().manual_seed(seed))


def _windows(
    *,
    step: Callable[[int], int] = lambda n: n // 2,
    judged: Callable[[Tensor, int], Tensor] = lambda losses, n: losses[n // 2 :],
    last: Callable[[Tensor, int], int] = lambda block, n: len(block) - n,
    longer: int = 1,
    follow: Callable[[Tensor], tuple[Tensor, Tensor]] = lambda window: (window[:-1], window[1:]),
    joined: Callable[[list[Tensor]], Any] = torch.cat,
) -> Callable[[LossOf, Tensor, int], Any]:
    """Return an answer to the exercise; the arguments are what may go wrong in it."""

    def answer(loss_of: LossOf, block: Tensor, n: int) -> Any:
        losses = []
        for start in range(0, last(block, n), step(n)):
            window = block[start : start + n + longer]
            losses.append(judged(loss_of(*follow(window)), n))
        return joined(losses)

    return answer


def _first_window_whole(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    first = loss_of(block[:n], block[1 : n + 1])[: n // 2]
    return torch.cat([first, _windows()(loss_of, block, n)])


def _blocks_after_each_other(loss_of: LossOf, block: Tensor, n: int) -> Tensor:
    losses = loss_of(block[:-1], block[1:])
    return losses[n // 2 : len(_windows()(loss_of, block, n)) + n // 2]


check_sliding = Check(
    "sliding_from_scratch",
    _windows(),
    cases=[
        (by_context, _bytes(33), 8),
        (by_context, _bytes(20, 1), 4),
        (by_context, _bytes(17, 2), 16),
        (by_context, _bytes(47, 3), 6),
        (by_context, _bytes(30, 4), 10),
    ],
    mistakes=[
        Mistake(
            "the first half of each window is judged",
            "Which half has at least n/2 bytes before it?",
            _windows(judged=lambda losses, n: losses[: n // 2]),
        ),
        Mistake(
            "whole windows are judged",
            "How often does a byte in the middle of the block come up in your result?",
            _windows(judged=lambda losses, n: losses),
        ),
        Mistake(
            "whole windows are judged, side by side",
            "What does the first byte of such a window have to go by?",
            _windows(step=lambda n: n, judged=lambda losses, n: losses),
        ),
        Mistake(
            "bytes are left out",
            "The first window judges n/2 … n − 1. Where must the next one start to go on at n?",
            _windows(step=lambda n: n),
        ),
        Mistake(
            "windows advance by one byte",
            "By how much do windows move on? How often is each byte judged then?",
            _windows(step=lambda n: 1),
        ),
        Mistake(
            "the first half of the first window is judged too",
            "How many bytes stand before the first prediction of the block?",
            _first_window_whole,
        ),
        Mistake(
            "a byte is to be named that the model has just read",
            "The target of each byte is the one after it. Which slice of the block is that?",
            _windows(longer=0, follow=lambda window: (window, window)),
        ),
        Mistake(
            "tokens and targets have changed places",
            "Which of the two stands one byte further on in the block?",
            _windows(follow=lambda window: (window[1:], window[:-1])),
        ),
        Mistake(
            "the windows are a byte too short",
            "n tokens and the byte after the last of them: how many bytes does that take?",
            _windows(longer=0),
        ),
        Mistake(
            "the last window is missing",
            "A block of n + 1 bytes has room for one window. What is your range then?",
            _windows(last=lambda block, n: len(block) - n - 1),
        ),
        Mistake(
            "the last windows are missing",
            "Where may the last window start, if it needs n + 1 bytes?",
            _windows(last=lambda block, n: max(1, len(block) - n - n // 2)),
        ),
        Mistake(
            "the block is read whole",
            "How many bytes does `loss_of` see at once? And how many should it?",
            _blocks_after_each_other,
        ),
        Mistake(
            "each window has a row of its own",
            "The result has one axis. How do you put pieces end to end?",
            _windows(joined=torch.stack),
        ),
        Mistake(
            "this is the mean",
            "How many numbers does the result hold: one, or one for each judged byte?",
            _windows(joined=lambda losses: torch.cat(losses).mean()),
        ),
    ],
    hints=(
        "For n = 8 write down by hand where the first three windows start, and which of their "
        "predictions are judged.",
        "A window takes n + 1 bytes of the block. Its tokens are all but the last, its targets all "
        "but the first.",
        "Loop over range(0, len(block) - n, n // 2), keep loss_of(…)[n // 2 :] of each window, and "
        "join them with torch.cat.",
    ),
)


# Objections to a table

FREE = ("encoding", "seed", "read", "loss", "parameters", "seconds")  # may differ, the seed by rule
USUAL = {"steps": 1200, "lr": 0.002, "protocol": "sliding windows", "judged": 18432}


def _runs(
    encoding: str, seeds: Iterable[int] = (0, 1, 2), reads: Sequence[int] = (64, 1024), **other: Any
) -> list[Run]:
    number = sum(map(ord, encoding))
    return [
        {
            "encoding": encoding,
            "seed": seed,
            **USUAL,
            "parameters": 824064 if encoding == CUT else 824064 + number,
            "seconds": 60.0 + (number + 7 * seed) % 31,
            "read": read,
            "loss": round(1.2 + (number + 3 * seed + read) % 97 / 500, 3),
            **other,
        }
        for seed in seeds
        for read in reads
    ]


def _changed(runs: list[Run], **changes: Any) -> list[Run]:
    return [{**run, **changes} for run in runs]


_SOUND = [*_runs("shaw"), *_runs("xpos"), *_runs("fire"), *_runs(CUT)]
PILES = [
    _SOUND,
    [*_runs("shaw"), *_runs("xpos", steps=2400), *_runs("fire"), *_runs(CUT)],
    [  # longer training behind one column only
        *_runs("shaw"),
        *_runs("fire", reads=[64]),
        *_runs("fire", reads=[1024], steps=12000),
        *_runs(CUT),
    ],
    [*_runs("shaw"), *_runs("xpos", seeds=(1, 1, 1)), *_runs("fire"), *_runs(CUT)],
    [*_runs("shaw", seeds=(0,)), *_runs("xpos", seeds=(0,)), *_runs(CUT, seeds=(0,))],
    [*_runs("shaw"), *_runs("xpos", seeds=(3, 4, 5)), *_runs(CUT)],
    [  # two seeds at the longer length
        *_runs("shaw"),
        *_runs("fire", reads=[64]),
        *_runs("fire", reads=[1024], seeds=(0, 1)),
        *_runs(CUT),
    ],
    _changed([*_runs("shaw"), *_runs("fire"), *_runs("xpos")], corpus="docs"),
    [
        *_changed([*_runs("shaw"), *_runs("fire"), *_runs(CUT)], corpus="docs"),
        *_runs("xpos", corpus="code"),
    ],
    [*_runs("shaw"), *_runs("fire", protocol="pieces", judged=21504), *_runs("xpos")],
    [  # the last run alone was read another way
        *_runs("shaw"),
        *_runs(CUT),
        *_runs("fire")[:-1],
        {**_runs("fire")[-1], "judged": 7680},
    ],
    [*_runs("shaw"), *_runs("xpos", lr=1e-3), *_runs("fire"), *_runs(CUT)],
    [*_runs("shaw", seeds=(0, 1)), *_runs("xpos", seeds=(0, 1)), *_runs(CUT, seeds=(0, 1))],
    [*_runs("shaw"), *_runs("xpos", seeds=(0, 1, 2, 3)), *_runs(CUT)],
    [  # each column fair in itself, and read in another way
        *(run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[64])),
        *_changed(
            [run for name in ("shaw", "fire", CUT) for run in _runs(name, reads=[1024])],
            protocol="pieces",
        ),
    ],
    [*_runs("shaw"), *_changed(_runs("fire"), corpus="docs"), *_runs(CUT)],
    [*_changed(_runs("shaw"), corpus="docs"), *_runs("fire"), *_runs(CUT)],
    [*_runs("shaw"), *_runs("fire"), *_runs(CUT, steps=2400)],
    [*_runs("shaw"), *_runs("shortcut"), *_runs("fire")],
]


def _sets(runs: list[Run], *by: str) -> list[set[int]]:
    """The different seeds of the runs that share these keys."""
    seeds: dict[Any, set[int]] = {}
    for run in runs:
        seeds.setdefault(tuple(run[key] for key in by), set()).add(run["seed"])
    return list(seeds.values())


def _differing(runs: list[Run], free: Iterable[str] = FREE) -> set[str]:
    keys = {key for run in runs for key in run} - set(free)
    return {key for key in keys if len({run.get(key) for run in runs}) > 1}


def _too_few(sets: list[set[int]]) -> set[str]:
    return {"seed"} if any(len(seeds) < 3 or seeds != sets[0] for seeds in sets) else set()


def _no_cut(runs: list[Run]) -> set[str]:
    return set() if any(run["encoding"] == CUT for run in runs) else {"cut"}


def _objections(runs: list[Run]) -> list[str]:
    seeds = _too_few(_sets(runs, "encoding", "read"))
    return sorted(_differing(runs) | seeds | _no_cut(runs))


def _with_seeds(rule: Callable[[list[Run]], set[str]]) -> Callable[[list[Run]], list[str]]:
    """Return an answer with another rule for seeds."""
    return lambda runs: sorted(_differing(runs) | rule(runs) | _no_cut(runs))


def _with_keys(rule: Callable[[list[Run]], set[str]]) -> Callable[[list[Run]], list[str]]:
    """Return an answer with another rule for the keys that must not differ."""

    def answer(runs: list[Run]) -> list[str]:
        seeds = _too_few(_sets(runs, "encoding", "read"))
        return sorted(rule(runs) | seeds | _no_cut(runs))

    return answer


def _rows_counted(runs: list[Run]) -> set[str]:
    rows: dict[Any, int] = {}
    for run in runs:
        place = run["encoding"], run["read"]
        rows[place] = rows.get(place, 0) + 1
    return {"seed"} if min(rows.values()) < 3 else set()


def _first_of_each(runs: list[Run]) -> set[str]:
    return _differing(list({run["encoding"]: run for run in reversed(runs)}.values()))


def _in_each_column(runs: list[Run]) -> set[str]:
    lengths = {run["read"] for run in runs}
    return {key for n in lengths for key in _differing([run for run in runs if run["read"] == n])}


def _at_64(runs: list[Run]) -> list[str]:
    return _objections([run for run in runs if run["read"] == 64])


def _names(answer: Any) -> list[str] | None:
    """The names that an answer holds; None if it is no list of names."""
    if not isinstance(answer, (list, tuple, set, frozenset)):
        return None
    names = [name for name in answer if isinstance(name, str)]
    return names if len(names) == len(answer) else None


def _flags(answer: Any, runs: list[Run]) -> Any:
    """Which names an answer holds, as numbers; the last one counts those that are none."""
    objections = _names(answer)
    if objections is None:
        return answer
    names = [*sorted({key for run in runs for key in run}), "cut"]
    unknown = sum(name not in names for name in objections)
    return torch.tensor([float(name in objections) for name in names] + [float(unknown)])


def _judged(answer: Any, runs: list[Run]) -> str:
    objections = _names(answer)
    if objections is None:
        return f"return a list of names, got {answer!r:.60}."
    right, named = set(_objections(runs)), set(objections)
    missing, unfounded = len(right - named), len(named - right)
    if not (missing or unfounded):
        return ""
    encodings = ", ".join(dict.fromkeys(run["encoding"] for run in runs))
    return (
        f"on {len(runs)} runs of {encodings} it misses {missing} and raises {unfounded} that "
        "no referee would."
    )


check_objections = Check(
    "objections",
    _objections,
    cases=[(pile,) for pile in PILES],
    mistakes=[
        Mistake(
            "it raises a false alarm over what belongs to an encoding, or comes out of a run",
            "Must all encodings have as many parameters? Is a time set beforehand, or measured?",
            _with_keys(lambda runs: _differing(runs, ("encoding", "seed", "read", "loss"))),
        ),
        Mistake(
            "it raises a false alarm over a number of parameters",
            "A learned table has more of them than RoPE. Is that unfair, or is it the encoding?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"parameters"})),
        ),
        Mistake(
            "it raises a false alarm over times",
            "Does a machine that is busy change what a model has learned?",
            _with_keys(lambda runs: _differing(runs, set(FREE) - {"seconds"})),
        ),
        Mistake(
            "it only knows the keys of the first table",
            "What if the next table's runs have a key of which yours never heard?",
            _with_keys(lambda runs: _differing(runs) & set(USUAL)),
        ),
        Mistake(
            "it looks at one column of the table only",
            "A run belongs to an encoding and a length. Which lengths does your function look at?",
            _at_64,
        ),
        Mistake(
            "it compares within each length only",
            "A rise is a difference of two columns. May they have been read in two ways?",
            _with_keys(_in_each_column),
        ),
        Mistake(
            "it knows the keys of the first run only",
            "Where do your keys come from? Has each run the same ones?",
            _with_keys(lambda runs: _differing(runs) & set(runs[0])),
        ),
        Mistake(
            "it passes over keys that some runs lack",
            "A setting that is told of some runs only: are the others known to be alike?",
            _with_keys(lambda runs: {k for k in _differing(runs) if all(k in run for run in runs)}),
        ),
        Mistake(
            "the learning rate may differ",
            "Is a learning rate a property of the encoding, or a choice of who trained it?",
            _with_keys(lambda runs: _differing(runs, {*FREE, "lr"})),
        ),
        Mistake(
            "the row that is cut need not be made like the others",
            "Which rows does your function compare?",
            _with_keys(lambda runs: _differing([run for run in runs if run["encoding"] != CUT])),
        ),
        Mistake(
            "it looks at one run of each encoding",
            "A row is a mean. Were all the runs behind it made alike?",
            _with_keys(_first_of_each),
        ),
        Mistake(
            "it counts rows as seeds",
            "Three copies of one run: how many seeds are these?",
            _with_seeds(_rows_counted),
        ),
        Mistake(
            "seeds may be other ones from row to row",
            "You count seeds. Does each encoding have the *same* ones?",
            _with_seeds(
                lambda runs: (
                    {"seed"} if min(map(len, _sets(runs, "encoding", "read"))) < 3 else set()
                )
            ),
        ),
        Mistake(
            "one seed is enough if it is the same for all",
            "You compare the seeds. Do you count them too?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if any(
                        seeds != _sets(runs, "encoding", "read")[0]
                        for seeds in _sets(runs, "encoding", "read")
                    )
                    else set()
                )
            ),
        ),
        Mistake(
            "two seeds are enough if they are the same for all",
            "How many seeds does the rule ask for?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if any(
                        len(seeds) < 2 or seeds != _sets(runs, "encoding", "read")[0]
                        for seeds in _sets(runs, "encoding", "read")
                    )
                    else set()
                )
            ),
        ),
        Mistake(
            "one row may have more seeds than another",
            "Three seeds in common: are these the *same* seeds, if one row has four?",
            _with_seeds(
                lambda runs: (
                    {"seed"}
                    if len(set.intersection(*_sets(runs, "encoding", "read"))) < 3
                    else set()
                )
            ),
        ),
        Mistake(
            "seeds of all lengths are thrown together",
            "May a mean at 1,024 have fewer seeds than the one at 64?",
            _with_seeds(lambda runs: _too_few(_sets(runs, "encoding"))),
        ),
        Mistake(
            "seeds are not looked at",
            "What stands behind a mean?",
            _with_seeds(lambda runs: set()),
        ),
        Mistake(
            "any two seeds make it object",
            "Should all runs of a table have one seed?",
            _with_seeds(lambda runs: {"seed"} if len({run["seed"] for run in runs}) > 1 else set()),
        ),
        Mistake(
            "it never misses the simplest row",
            "What would a table without the row “just cut to 64” hide?",
            lambda runs: sorted(_differing(runs) | _too_few(_sets(runs, "encoding", "read"))),
        ),
        Mistake(
            "any name with “cut” in it is taken for the simplest row",
            "How exactly is the row called?",
            lambda runs: sorted(
                _differing(runs)
                | _too_few(_sets(runs, "encoding", "read"))
                | (set() if any("cut" in run["encoding"] for run in runs) else {"cut"})
            ),
        ),
        Mistake(
            "it always misses the simplest row",
            "In which key of a run does the name of its row stand?",
            lambda runs: sorted({*_objections(runs), "cut"}),
        ),
    ],
    hints=(
        "Write down which keys may vary in a fair table: those that name a row or a column, those "
        "that belong to the encoding, and those that are measured. All others must be equal.",
        "For each other key that any run has, make the set of its values: one value, or more? For "
        "seeds make a set for each encoding and length.",
        'seeds.setdefault((run["encoding"], run["read"]), set()).add(run["seed"]) gathers them. '
        "Then all sets must be equal and hold three or more.",
    ),
    judge=_judged,
    effect=_flags,
)


# Closer looks


def _standard_error(changes: Tensor) -> Tensor:
    return changes.std() / len(changes) ** 0.5


def _paired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    return (long - short).mean(), _standard_error(long - short)


def _unpaired(short: Tensor, long: Tensor) -> tuple[Tensor, Tensor]:
    squares = _standard_error(short) ** 2 + _standard_error(long) ** 2
    return (long - short).mean(), squares.sqrt()


def _with_error(error: Callable[[Tensor], Tensor]) -> Callable[[Tensor, Tensor], Any]:
    """Return an answer with the right mean and this error of the changes."""
    return lambda short, long: ((long - short).mean(), error(long - short))


check_paired = Check(
    "paired",
    _paired,
    cases=[
        (torch.tensor([1.2, 1.5, 1.1]), torch.tensor([1.3, 1.7, 1.2])),
        (torch.tensor([2.0, 1.0, 3.0, 2.5, 1.5]), torch.tensor([2.4, 1.1, 3.6, 2.6, 1.9])),
        (torch.tensor([1.4, 1.0]), torch.tensor([1.3, 0.8])),
    ],
    mistakes=[
        Mistake(
            "the spread is that of the models, not of their changes",
            "Does a model that is bad at both lengths change by more than the others?",
            _unpaired,
        ),
        Mistake(
            "the change has the wrong sign",
            "If a loss grows with the length, is the change above or below zero?",
            lambda short, long: ((short - long).mean(), _standard_error(long - short)),
        ),
        Mistake(
            "this is the spread of single seeds",
            "With a hundred seeds, would you know the mean no better than with two?",
            _with_error(lambda changes: changes.std()),
        ),
        Mistake(
            "it divides by the number of seeds",
            "With four times as many seeds, by what factor does the error of a mean shrink?",
            _with_error(lambda changes: changes.std() / len(changes)),
        ),
        Mistake(
            "the spread is divided by n, not by n − 1",
            "The mean was computed from the same few seeds. Does the spread around it come out "
            "too small? What does `correction` do in torch.std?",
            _with_error(lambda changes: changes.std(correction=0) / len(changes) ** 0.5),
        ),
        Mistake(
            "the error is that of the long reading alone",
            "Of which numbers do you take the spread: the losses at one length, or their changes?",
            lambda short, long: ((long - short).mean(), _standard_error(long)),
        ),
        Mistake(
            "the error is squared",
            "In which unit is a variance, if the losses are in nats?",
            _with_error(lambda changes: _standard_error(changes) ** 2),
        ),
    ],
    hints=(
        "Write the change of each model first. There is one for each seed.",
        "The standard error of a mean is the standard deviation of what was averaged, over √n.",
        "With change = long − short: its mean, and its std() over len(change) ** 0.5.",
    ),
)


def _log_ratio(n: int, trained: int) -> Tensor:
    """Return log-n's factor of each query, (n,), which may be below 1."""
    return (torch.arange(n) + 1.0).log() / math.log(trained)


def _factor(n: int, trained: int) -> Tensor:
    return _log_ratio(n, trained).clamp(min=1)


def _log_n(scores: Tensor, trained: int) -> Tensor:
    return scores * _factor(len(scores), trained)[:, None]


def _one_key_too_few(scores: Tensor, trained: int) -> Tensor:
    ratio = torch.arange(len(scores)).log() / math.log(trained)
    return scores * ratio.clamp(min=1)[:, None]


def _without_logarithms(scores: Tensor, trained: int) -> Tensor:
    ratio = (torch.arange(len(scores)) + 1) / trained
    return scores * ratio.clamp(min=1)[:, None]


check_log_n = Check(
    "log_n_scores",
    _log_n,
    cases=[(randn(9, 9), 3), (randn(12, 12), 4), (randn(5, 5), 8), (torch.ones(1, 1), 2)],
    mistakes=[
        Mistake(
            "early queries are flattened",
            "Query 0 sees one key. What is your factor for it? What should happen to short texts?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained)[:, None],
        ),
        Mistake(
            "a key is missing",
            "Query 0 sees itself. How many keys does query i see?",
            _one_key_too_few,
        ),
        Mistake(
            "the factor belongs to the key",
            "Rows are queries. Along which axis does your factor change?",
            lambda scores, trained: scores * _factor(len(scores), trained),
        ),
        Mistake(
            "all queries have the same factor",
            "In a causal text, does the query in the middle see as many keys as the last one?",
            lambda scores, trained: scores * max(1.0, math.log(len(scores)) / math.log(trained)),
        ),
        Mistake(
            "this spreads attention even thinner",
            "When scores are divided by a number above 1, is their softmax sharper or flatter?",
            lambda scores, trained: scores / _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "the factor is added",
            "What does the softmax do with a number that all keys of a query share?",
            lambda scores, trained: scores + _factor(len(scores), trained)[:, None],
        ),
        Mistake(
            "this is n / L, without logarithms",
            "The entropy of n equal weights is log n. Which growth is to be undone?",
            _without_logarithms,
        ),
        Mistake(
            "the factor never gets above 1",
            "Which texts are to stay as they were: the short ones or the long ones?",
            lambda scores, trained: scores * _log_ratio(len(scores), trained).clamp(max=1)[:, None],
        ),
    ],
    hints=(
        "How many factors are there: one in all, one for each query, or one for each key?",
        "Make a tensor of how many keys each query sees. Divide its log by log(trained).",
        "factor.clamp(min=1)[:, None] has shape (n, 1) and multiplies row by row.",
    ),
)
