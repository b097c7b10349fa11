"""What make test runs, in which order and on which worker."""

import re
import subprocess
import sys
import tomllib
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace

import pytest
import run_order
from hypothesis import given
from hypothesis import strategies as st
from pairwise import covering, each_once, pairwise
from pairwise import some as quick_few

ROOT = Path(__file__).resolve().parents[1]


class Item(SimpleNamespace):
    """As much of pytest's items as the order looks at."""

    def get_closest_marker(self, name):
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark):
        self.marks.append(mark.mark)


def item(path, name, *marks, scopes=()):
    fixtures = {scope: [SimpleNamespace(scope=scope)] for scope in scopes}
    return Item(
        path=Path(path), nodeid=f"{path}::{name}", marks=[mark.mark for mark in marks],
        _fixtureinfo=SimpleNamespace(name2fixturedefs=fixtures),
    )  # fmt: skip


def some():
    return [
        item("tests/test_a.py", "one"),
        item("tests/test_b.py", "costly", scopes=("module",)),
        item("tests/test_a.py", "two", scopes=("function", "session")),
        item("tests/test_b.py", "costlier", scopes=("module",)),
        item("tests/test_c.py", "slow", pytest.mark.xdist_group("own")),
        item("notebooks/01_x.ipynb", "Cell 0"),
        item("notebooks/01_x.ipynb", "Cell 1"),
        item("notebooks/solutions/01_x.ipynb", "Cell 0"),
        item("notebooks/solutions/01_x.ipynb", "Cell 1"),
    ]


def closer():
    return [
        item("notebooks/closer/01_x.ipynb", "Cell 0"),
        item("notebooks/solutions/closer/01_x.ipynb", "Cell 0"),
    ]


def test_notebooks_and_modules_with_costly_fixtures_are_groups_and_the_rest_is_free():
    assert [run_order.group(one) for one in some()] == [
        None, "tests-test_b", None, "tests-test_b", "own",
        "notebooks-01_x", "notebooks-01_x", "solutions-01_x", "solutions-01_x",
    ]  # fmt: skip


def test_a_closer_look_is_a_group_of_its_own_and_thorough_as_learners_get_it():
    items = [*some(), *closer()]
    run_order.mark(items)
    groups = [run_order.group(one) for one in items]
    assert groups[-2:] == ["notebooks-closer-01_x", "solutions-closer-01_x"]
    assert [bool(one.get_closest_marker("thorough")) for one in items[-2:]] == [True, False]


def test_only_learners_cells_become_thorough():
    items = some()
    run_order.mark(items)
    thorough = [one.nodeid for one in items if one.get_closest_marker("thorough")]
    assert thorough == ["notebooks/01_x.ipynb::Cell 0", "notebooks/01_x.ipynb::Cell 1"]


@given(st.none() | st.integers(0, 2**31))
def test_groups_start_first_in_one_piece_and_cells_keep_their_order(seed):
    items = some()
    found = run_order.ordered(items, seed)
    assert sorted(map(id, found)) == sorted(map(id, items))
    groups = [run_order.group(one) for one in found]
    assert None not in groups[:7] and groups[7:] == [None, None]
    assert all(run_order.is_cell(one) for one in found[:4])
    pieces = [name for place, name in enumerate(groups[:7]) if name != groups[place - 1]]
    assert len(pieces) == len(set(groups[:7]))
    cells = [one.nodeid for one in found if run_order.is_cell(one)]
    for first in (0, 2):
        assert cells[first + 1] == cells[first].replace("Cell 0", "Cell 1")


def test_a_seed_gives_one_order_and_seeds_give_several():
    items = some()
    orders = [[one.nodeid for one in run_order.ordered(items, seed)] for seed in (*range(9), 0)]
    assert orders[0] == orders[-1]
    assert len({tuple(order) for order in orders}) > 3


@pytest.mark.thorough
def test_two_workers_shuffle_alike_though_neither_was_given_a_seed():
    options = ["-q", "-n", "2", "-p", "no:cacheprovider", "--no-loadscope-reorder", "--shuffle"]
    command = [sys.executable, "-m", "pytest", *options, "--dist=loadgroup", "tests/test_counts.py"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout


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
    assert [[mark.name for mark in case.marks] for case in cases] == [
        ["thorough"],
        [],
        ["thorough"],
    ]


def test_thorough_tests_and_those_in_a_browser_have_commands_of_their_own():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    options = pyproject["tool"]["pytest"]["ini_options"]["addopts"]
    assert options[options.index("-m") + 1] == "not thorough and not browser"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    everything = r'^test-all:\n\t.*-m pytest \$\(WORKERS\) -m "" --shuffle'
    assert re.search(everything, makefile, re.M)
    in_browser = r'^test-browser:\n\t.*-m pytest \$\(WORKERS\) \\\n\t+-m "browser and not'
    assert re.search(in_browser, makefile, re.M)
    for place in (".ci/run", ".github/workflows/test.yml"):
        assert "make test-browser" in (ROOT / place).read_text(encoding="utf-8")
    assert re.search(r"^WORKERS = .*--dist loadgroup --no-loadscope-reorder$", makefile, re.M)
