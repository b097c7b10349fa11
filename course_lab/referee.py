"""The table of lesson 07 that a referee is sent: seven encodings, and flaws in the runs of four.

A run is a dictionary, as the tables in ``data`` have it: what was trained and how it was read.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from course_utils.results import AS_TRAINED, change
from course_utils.texts import data

Run = dict[str, Any]

ENCODINGS = ("alibi", "kerple", "transformer_xl", "deberta", "sandwich", "t5", "rope")
LENGTHS = (64, 1024)
SEEDS = (0, 1, 2)
SLIDING, PIECES = "sliding windows", "pieces"
CUT = "just cut to 64"  # the row that such a table should begin with
FREE = ("encoding", "seed", "read", "loss", "parameters", "seconds")  # may differ, the seed by rule
FLAWS = {  # what makes an encoding's runs unlike the others'; :func:`row_objections` lists all
    "rope": "judged",
    "alibi": "protocol",
    "kerple": "seed",
    "t5": "steps",
}


def _as_runs(rows: pd.DataFrame, protocol: str, name: str | None = None) -> list[Run]:
    """The rows of a table as runs, in the order of the table."""
    return [
        {
            "encoding": name or row["encoding"],
            "seed": int(row["seed"]),
            "steps": int(row["steps"]),
            "lr": float(row["lr"]),
            "parameters": int(row["parameters"]),
            "seconds": round(float(row["train_seconds"]), 1),
            "protocol": protocol,
            "judged": int(row["judged"]),
            "read": int(row["read"]),
            "loss": round(float(row["loss"]), 5),
        }
        for row in rows.to_dict("records")
    ]


def _shipped(table: str) -> pd.DataFrame:
    rows = data.results(table)
    rows = rows[(rows["reading"] == AS_TRAINED) & rows["read"].isin(LENGTHS)]
    return rows[rows["seed"].isin(SEEDS)]


def fair_runs(encoding: str) -> list[Run]:
    """Three seeds of an encoding, trained and read like all others."""
    rows = _shipped("extrapolation")
    return _as_runs(rows[rows["encoding"] == encoding], SLIDING)


def flawed_runs(encoding: str) -> list[Run]:
    """The runs of an encoding as the table has them; those without a flaw are the fair ones."""
    fair = fair_runs(encoding)
    flaw = FLAWS.get(encoding)
    if flaw == "judged":
        rows = _shipped("stretching")
        rows = rows.query("way == 'direct' and tuned == 0")
        rows = rows.assign(parameters=fair[0]["parameters"])
        return _as_runs(rows, SLIDING, encoding)
    if flaw == "protocol":
        rows = data.results("windows").query("way == 'pieces' and text in [0, 2, 5]")
        means = rows.groupby(["seed", "read"], as_index=False)["loss"].mean()
        usual = {name: fair[0][name] for name in ("steps", "lr", "parameters")}
        usual["train_seconds"] = fair[0]["seconds"]
        return _as_runs(means.assign(encoding=encoding, judged=3 * 7168, **usual), PIECES)
    if flaw == "seed":
        return [run for run in fair if run["seed"] == 1]
    if flaw == "steps":
        rows = _shipped("larger")
        longer = rows[(rows["encoding"] == encoding) & (rows["steps"] > fair[0]["steps"])]
        return _as_runs(longer, SLIDING)
    return fair


def published() -> list[Run]:
    """All runs behind the table that the referee is sent."""
    return [run for encoding in ENCODINGS for run in flawed_runs(encoding)]


def objections(runs: list[Run]) -> list[str]:
    """Settings that are not equal in all runs, "seed" and "cut", sorted.

    "seed" unless each encoding has the same seeds at each length, three or more; "cut" if no run
    is of a model whose texts were cut.
    """
    settings = set(runs[0]) - set(FREE)
    wrong = {key for key in settings if any(run[key] != runs[0][key] for run in runs)}
    seeds: dict[Any, set[int]] = {
        (row["encoding"], column["read"]): set() for row in runs for column in runs
    }
    for run in runs:
        seeds[run["encoding"], run["read"]].add(run["seed"])
    first, *others = seeds.values()
    if len(first) < 3 or any(other != first for other in others):
        wrong.add("seed")
    if all(run["encoding"] != CUT for run in runs):
        wrong.add("cut")
    return sorted(wrong)


def row_objections(encoding: str) -> list[str]:
    """The objections to a table in which only this row is as published."""
    others = [run for name in ENCODINGS if name != encoding for run in fair_runs(name)]
    return objections([*others, *flawed_runs(encoding), *cut_runs()])


def cut_runs() -> list[Run]:
    """The missing row: the best model at 64 bytes, given the last 64 of each text."""
    at_64 = [run for run in fair_runs(_best_at_64()) if run["read"] == LENGTHS[0]]
    return [{**run, "encoding": CUT, "read": read} for read in LENGTHS for run in at_64]


def cut_name() -> str:
    """What tables call the row of :func:`cut_runs`: whose model it is."""
    return f"{_best_at_64()}, just cut"


def _best_at_64() -> str:
    return min(ENCODINGS, key=lambda name: _mean(fair_runs(name), LENGTHS[0]))


def _mean(runs: list[Run], read: int) -> float:
    losses = [run["loss"] for run in runs if run["read"] == read]
    return sum(losses) / len(losses)


def fair_table() -> pd.DataFrame:
    """The row that was missing, then all rows from fair runs in the order that was published.

    Its columns are those of :func:`table`, "±", half of the rise's 95 % interval over seeds, and
    "objections", all that was to be said against the row as published.
    """
    short, long = ({"read": length} for length in LENGTHS)
    fair = {name: fair_runs(name) for name in table(published()).index}
    means = table([run for runs in fair.values() for run in runs] + cut_runs())
    rises = {name: change(pd.DataFrame(runs), short, long) for name, runs in fair.items()}
    means["±"] = pd.Series({name: rise.margin for name, rise in rises.items()} | {cut_name(): 0.0})
    objections_by_row = {name: row_objections(name) for name in fair} | {cut_name(): ["cut"]}
    means["objections"] = [", ".join(objections_by_row[name]) for name in means.index]
    return means.loc[[cut_name(), *fair]]


def evidence(runs: list[Run]) -> pd.DataFrame:
    """The different values behind each row, of the keys that may be said to be unlike."""
    rows = pd.DataFrame(runs).groupby("encoding", sort=False)
    return rows[["seed", "steps", "lr", "protocol", "judged"]].agg(_different)


def _different(values: pd.Series) -> str:
    return ", ".join(str(value) for value in sorted(set(values)))


def table(runs: list[Run]) -> pd.DataFrame:
    """Mean loss by encoding at 64 and at 1,024 bytes, and the rise, the least rise first."""
    means = pd.DataFrame(runs).pivot_table("loss", "encoding", "read", sort=False)
    means.columns = [f"at {read:,}" for read in means.columns]
    means["rise"] = means.iloc[:, -1] - means.iloc[:, 0]
    return means.sort_values("rise").rename(index={CUT: cut_name()})
