"""Products of cases, of which make test runs some and make test-all runs all."""

from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import pytest


def covering(sizes):
    """A few rows of indices that have each pair of values of two arguments at least once."""

    def pairs(row):
        return set(combinations(enumerate(row), 2))

    everything = list(product(*map(range, sizes)))
    rows, missing = [], set().union(*map(pairs, everything))
    while missing:
        rows.append(max(everything, key=lambda row: len(pairs(row) & missing)))
        missing -= pairs(rows[-1])
    return rows


def pairwise(**values: Sequence[Any]):
    """All combinations of the values; those that a cover of all pairs can spare are thorough."""
    return _cases(values, set(covering([len(choices) for choices in values.values()])))


def each_once(**values: Sequence[Any]):
    """All combinations; make test runs each value of the first once, with the others in turn."""
    first, *others = values.values()
    turns = list(product(*(range(len(choices)) for choices in others)))
    chosen = {(number, *turns[number % len(turns)]) for number in range(len(first))}
    return _cases(values, chosen)


def some(name: str, values: Sequence[Any], quick: Sequence[Any]):
    """Each of the values; make test runs those in ``quick``."""
    assert set(quick) <= set(values)
    cases = [
        pytest.param(value, marks=() if value in quick else pytest.mark.thorough)
        for value in values
    ]
    return pytest.mark.parametrize(name, cases)


def _cases(values: dict[str, Sequence[Any]], chosen: set[tuple[int, ...]]):
    cases = []
    for row in product(*(range(len(choices)) for choices in values.values())):
        case = [choices[index] for choices, index in zip(values.values(), row, strict=True)]
        marks = () if row in chosen else pytest.mark.thorough
        cases.append(pytest.param(*case, marks=marks))
    return pytest.mark.parametrize(list(values), cases)
