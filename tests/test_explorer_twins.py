"""What the explorers compute in the browser is what course_utils computes, at every end.

Run in Node if there is one, else in Chromium.
"""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from explorer_modules import ends, look

from course_utils import explorers
from course_utils.encodings.functional import (
    apply_rope,
    rope_angles,
    sinusoidal_table,
    wavelengths,
)

Numbers = dict[str, Any]
CLOSE = 1e-6


def places(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.float64)


def frequencies(base: float, d_model: int, length: int, pair: int) -> Numbers:
    table = sinusoidal_table(places(length), d_model, base)
    turns = wavelengths(d_model, base)
    return {
        "table": table,
        "wavelengths": turns,
        "sine": table[:, 2 * pair],
        "cosine": table[:, 2 * pair + 1],
        "slow": int((turns > length).sum()),
    }


def turned_pair(m: int, n: int, theta: float) -> Numbers:
    rows = torch.tensor([[1.0, 0.4], [-0.2, 0.9]], dtype=torch.float64)[:, None].expand(2, 41, 2)
    q, k = apply_rope(rows, rope_angles(places(41), torch.tensor([theta], dtype=torch.float64)))
    return {"query": q[m], "key": k[n], "products": q @ k.mT, "product": q[m] @ k[n]}


TWINS: dict[str, Callable[..., Numbers]] = {
    "frequencies": frequencies,
    "turned_pair": turned_pair,
}


def flat(value: Any) -> list[float]:
    """All numbers of a value; null, as JSON has NaN and infinities, as NaN."""
    if isinstance(value, torch.Tensor):
        value = value.double().tolist()
    if isinstance(value, list | tuple):
        return [number for one in value for number in flat(one)]
    return [math.nan if value is None or math.isinf(value) else float(value)]


def gap(found: Any, expected: Any) -> float:
    """The largest difference, relative where numbers are above 1; infinite where one is missing."""
    ours, theirs = (torch.tensor(flat(value), dtype=torch.float64) for value in (found, expected))
    if ours.shape != theirs.shape or not torch.equal(ours.isnan(), theirs.isnan()):
        return math.inf
    ours, theirs = ours[~ours.isnan()], theirs[~theirs.isnan()]
    return float(((ours - theirs).abs() / theirs.abs().clamp(min=1)).max()) if len(ours) else 0.0


def test_every_explorer_has_a_twin():
    assert TWINS.keys() == explorers.ALL.keys()


@pytest.mark.parametrize("name", TWINS)
def test_the_browsers_numbers_are_those_of_course_utils(name: str) -> None:
    for shown in look(explorers.ALL[name], ends(explorers.ALL[name]), numbers=True):
        expected = TWINS[name](**shown["state"])
        assert shown["found"].keys() == expected.keys()
        gaps = {key: gap(shown["found"][key], value) for key, value in expected.items()}
        assert max(gaps.values()) <= CLOSE, (shown["state"], gaps)
