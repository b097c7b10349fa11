"""Products of cases: make test runs some, make test-all all of them."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest


def covering(sizes):
    """Few rows of indices in which each pair of values of two arguments meets at least once."""

    def pairs(row):
        return set(combinations(enumerate(row), 2))

    every = list(product(*map(range, sizes)))
    rows, left = [], set().union(*map(pairs, every))
    while left:
        rows.append(max(every, key=lambda row: len(pairs(row) & left)))
        left -= pairs(rows[-1])
    return rows


def pairwise(**values: Sequence[Any]):
    """All combinations of the values; those that a cover of all pairs can spare are thorough."""
    return _cases(values, set(covering([len(found) for found in values.values()])))


def each_once(**values: Sequence[Any]):
    """All combinations; make test runs each value of the first once, with the others in turn."""
    first, *others = values.values()
    turns = list(product(*(range(len(found)) for found in others)))
    chosen = {(number, *turns[number % len(turns)]) for number in range(len(first))}
    return _cases(values, chosen)


def some(name: str, values: Sequence[Any], quick: Sequence[Any]):
    """Each of the values; make test runs those that are named as quick."""
    assert set(quick) <= set(values)
    waits = [() if value in quick else pytest.mark.thorough for value in values]
    cases = [pytest.param(value, marks=marks) for value, marks in zip(values, waits, strict=True)]
    return pytest.mark.parametrize(name, cases)


def _cases(values: dict[str, Sequence[Any]], chosen: set[tuple[int, ...]]):
    cases = [
        pytest.param(
            *(found[index] for found, index in zip(values.values(), row, strict=True)),
            marks=() if row in chosen else pytest.mark.thorough,
        )
        for row in product(*(range(len(found)) for found in values.values()))
    ]
    return pytest.mark.parametrize(list(values), cases)
