"""Which of many cases make test runs, and the order in which make test-all runs tests."""

import re
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairwise import covering, each_once, pairwise
from pairwise import some as quick_few

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.thorough
def test_the_cells_of_a_notebook_keep_their_order_where_tests_are_shuffled():
    pytest.importorskip("pytest_randomly")
    options = ["-p", "randomly", "--randomly-seed=1", "-m", "", "--collect-only", "-q"]
    files = ["notebooks/00_start_here.ipynb", "notebooks/01_attention_is_blind_to_order.ipynb"]
    command = [sys.executable, "-m", "pytest", *options, *files, "tests/test_run_order.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    for file in files:
        cells = re.findall(rf"^{re.escape(file)}::Cell (\d+)$", done.stdout, re.MULTILINE)
        assert len(cells) > 9 and cells == [str(number) for number in range(len(cells))]
    tests = re.findall(r"^tests/test_run_order.py::(\w+)", done.stdout, re.MULTILINE)
    in_file = re.findall(r"^def (test_\w+)", Path(__file__).read_text("utf-8"), re.MULTILINE)
    assert sorted(tests) == sorted(in_file) and tests != in_file


@given(st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_a_cover_has_every_pair_of_values(sizes):
    rows = covering(sizes)
    for i, j in combinations(range(len(sizes)), 2):
        assert {(row[i], row[j]) for row in rows} == set(product(range(sizes[i]), range(sizes[j])))
    assert len(rows) == len(set(rows)) <= max(1, len(list(product(*map(range, sizes)))))


def test_cases_that_the_cover_can_spare_are_thorough_and_none_is_lost():
    _, cases = pairwise(a=[1, 2, 3], b="xy", c=[True, False]).args
    assert sorted(case.values for case in cases) == sorted(product([1, 2, 3], "xy", [True, False]))
    quick = [case.values for case in cases if not case.marks]
    assert 6 <= len(quick) < len(cases) == 12
    assert all(mark.name == "thorough" for case in cases for mark in case.marks)


def test_each_value_of_the_first_is_quick_once_and_all_of_the_others_are_in_turn():
    _, cases = each_once(a=range(7), b="xy", c=[True, False]).args
    assert len(cases) == len({case.values for case in cases}) == 28
    quick = [case.values for case in cases if not case.marks]
    assert [a for a, *_ in quick] == list(range(7))
    assert {(b, c) for _, b, c in quick} == set(product("xy", [True, False]))
    assert all(mark.name == "thorough" for case in cases for mark in case.marks)


def test_a_few_cases_are_quick_and_the_others_thorough():
    name, cases = quick_few("a", [1, 2, 3], quick=[2]).args
    assert name == "a" and [case.values for case in cases] == [(1,), (2,), (3,)]
    assert [bool(case.marks) for case in cases] == [True, False, True]
