"""Which tests run when, and on which of pytest's workers.

A notebook's cells share a kernel and a module's fixtures cost time, so each of these is one group,
which stays in one piece on one worker. Groups start first, for a long one must not start last.
"""

import random
from collections.abc import Iterable, Sequence

import pytest


def is_cell(item: pytest.Item) -> bool:
    """Whether the item is a cell of a notebook."""
    return item.path.suffix == ".ipynb"


def is_learners(item: pytest.Item) -> bool:
    """Whether the item is a cell of a notebook that learners get, not of one with solutions."""
    folders = item.path.parts[-4:-1]
    return is_cell(item) and "notebooks" in folders and "solutions" not in folders


def expensive_fixtures(item: pytest.Item) -> bool:
    """Whether the item uses a fixture that its module computes once."""
    info = getattr(item, "_fixtureinfo", None)
    used = info.name2fixturedefs.values() if info else ()
    return any(one.scope == "module" for found in used for one in found)


def group(item: pytest.Item) -> str | None:
    """The group of an item: its notebook's or its module's; None where it may run anywhere."""
    if own := item.get_closest_marker("xdist_group"):
        return str(own.kwargs.get("name", own.args[0] if own.args else "default"))
    if is_cell(item) or expensive_fixtures(item):
        parts = item.path.with_suffix("").parts
        return "-".join(parts[-3:] if item.path.parent.name == "closer" else parts[-2:])
    return None


def mark(items: Iterable[pytest.Item]) -> None:
    """Say of each item what pytest has to know: its group, and that a learners' cell is thorough.

    Learners' notebooks are the ones with solutions but for their stubs, which a test holds, so
    their cells run once more only where everything does.
    """
    for item in items:
        if (name := group(item)) and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(name))
        if is_learners(item):
            item.add_marker(pytest.mark.thorough)


def ordered(items: Sequence[pytest.Item], seed: int | None = None) -> list[pytest.Item]:
    """Notebooks first, then other groups, then the rest; shuffled within these when seeded.

    A notebook's cells keep their order, and groups stay in one piece, whatever the seed.
    """
    units: dict[str, list[pytest.Item]] = {}
    for item in items:
        units.setdefault(group(item) or item.nodeid, []).append(item)
    chosen = list(units.values())
    if seed is not None:
        dice = random.Random(seed)
        dice.shuffle(chosen)
        for unit in chosen:
            if not is_cell(unit[0]):
                dice.shuffle(unit)

    def rank(unit: list[pytest.Item]) -> int:
        return 0 if is_cell(unit[0]) else 1 if group(unit[0]) else 2

    return [item for unit in sorted(chosen, key=rank) for item in unit]
