"""The table that lesson 07's referee is sent: each flaw in it changes a ranking."""

from itertools import product

import pytest
from explorer_modules import look

from course_lab import explorers, referee

COLUMNS = ("at 64", "at 1,024", "rise")


def ranks(runs):
    table = referee.table(runs)
    return {column: list(table[column].sort_values().index) for column in COLUMNS}


def runs_with(flawed):
    """The runs of all rows, of which only these have their flaw."""
    return [
        run
        for name in referee.ENCODINGS
        for run in (referee.flawed_runs(name) if name in flawed else referee.fair_runs(name))
    ]


@pytest.mark.parametrize("name", referee.FLAWS)
def test_each_flaw_alone_changes_a_ranking(name):
    assert ranks(runs_with([name])) != ranks(runs_with([]))


@pytest.mark.parametrize("name", referee.FLAWS)
def test_each_repair_alone_changes_a_ranking(name):
    others = [flaw for flaw in referee.FLAWS if flaw != name]
    assert ranks(runs_with(others)) != ranks(referee.published())


@pytest.mark.parametrize(("name", "key"), referee.FLAWS.items())
def test_a_flaw_is_in_the_key_that_it_is_said_to_be_in(name, key):
    flawed = {run[key] for run in referee.flawed_runs(name)}
    assert flawed != {run[key] for run in referee.fair_runs(name)}


def test_the_row_that_is_missing_is_first_at_1024():
    runs = runs_with([]) + referee.cut_runs()
    assert ranks(runs)["at 1,024"][0] == referee.cut_name() == "deberta, just cut"
    assert ranks(runs_with([]))["at 1,024"][0] == "transformer_xl"


def test_as_published_alibi_gains():
    table = referee.table(referee.published())
    assert table.index[0] == "alibi" and table["rise"].iloc[0] < 0


def test_a_row_as_published_may_be_wrong_in_several_ways():
    column = referee.fair_table()["objections"]
    assert column["alibi"] == "judged, protocol, seed" and column["t5"] == "seed, steps"
    assert column["deberta"] == "" and column[referee.cut_name()] == "cut"
    assert referee.objections(referee.published()) == ["cut", "judged", "protocol", "seed", "steps"]


def test_the_evidence_shows_what_is_behind_each_row_without_a_verdict():
    evidence = referee.evidence(referee.published())
    assert list(evidence.index) == list(referee.ENCODINGS)
    assert evidence.loc["alibi", "seed"] == "0, 1" and evidence.loc["kerple", "seed"] == "1"
    assert evidence.loc["t5", "steps"] == "12000" and evidence.loc["rope", "judged"] == "7680"
    assert evidence["lr"].nunique() == 1


@pytest.mark.browser
def test_the_explorer_and_the_column_say_what_is_left_whichever_rows_are_ticked():
    explorer, column = explorers.referee, referee.fair_table()["objections"]
    ticks = [name for name in explorer.controls if name != "order"]
    rows = [(n, referee.flawed_runs(n), referee.fair_runs(n)) for n in referee.ENCODINGS]
    rows.append(("cut", [], referee.cut_runs()))
    states = [dict(zip(ticks, on, strict=True)) for on in product((False, True), repeat=len(ticks))]
    for state, seen in zip(states, look(explorer, states, numbers=True), strict=True):
        mended = {referee.cut_name() if name == "cut" else name for name in ticks if state[name]}
        left = column.drop(list(mended)).str.split(", ").explode()
        runs = sum((after if state.get(name) else before for name, before, after in rows), [])
        expected = referee.objections(runs)
        assert seen["numbers"]["objections"] == sorted(set(left) - {""}) == expected, state


def test_the_fair_table_keeps_the_published_order_and_says_how_far_seeds_spread():
    fair = referee.fair_table()
    assert list(fair.index) == [referee.cut_name(), *referee.table(referee.published()).index]
    spread, rise = fair["±"].to_dict(), fair["rise"].to_dict()
    assert spread["kerple"] > rise["kerple"]  # three seeds do not order it
    assert spread["alibi"] < 0.01 < rise["alibi"]
