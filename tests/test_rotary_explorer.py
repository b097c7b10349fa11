"""The explorers of lesson 05 show what RoPE itself computes."""

import re

import pytest
import torch
from matplotlib.figure import Figure

from course_utils import explorers
from course_utils.encodings import Places, create
from course_utils.encodings.functional import apply_rope, rope_angles
from course_utils.explorers.turning import KEY, QUERY


@pytest.mark.parametrize(("m", "n", "theta"), [(0, 0, 0.3), (12, 9, 0.3), (3, 40, 1.5)])
def test_the_dot_product_of_the_turned_pair_is_that_of_rope(m, n, theta):
    sentence = explorers.turned_pair(Figure(), m, n, theta)
    angles = rope_angles(torch.tensor([m, n]), torch.tensor([theta]))
    q, k = apply_rope(torch.tensor([QUERY, KEY]), angles)
    shown = re.search(r"q·k = (-?[\d.]+\d)", sentence)
    assert shown and float(shown[1]) == pytest.approx(float(q @ k), abs=6e-4)


def test_all_places_with_one_offset_have_one_colour():
    fig = Figure()
    explorers.turned_pair(fig, 12, 9, 0.3)
    matrix = torch.tensor(fig.axes[1].images[0].get_array())
    for offset in (-7, 0, 3):
        diagonal = matrix.diagonal(offset)
        assert torch.allclose(diagonal, diagonal[0].expand_as(diagonal), atol=1e-5)


@pytest.mark.parametrize(("wanted", "base", "d_head"), [(0, 10_000, 64), (50, 500, 16)])
def test_the_curves_are_the_scores_of_rope(wanted, base, d_head):
    fig = Figure()
    explorers.wanted_distance(fig, wanted, base, d_head)
    q = torch.ones(1, 1, 1, d_head) / d_head**0.5
    encoding = create("rope", d_model=d_head, n_heads=1, base=base)
    places = torch.tensor([wanted])
    key = encoding.rotate(q, q, Places(places))[1]  # the query, turned on by the distance
    behind = torch.arange(301)
    turned, keys = encoding.rotate(
        q, key.expand(-1, -1, 301, -1), Places(torch.tensor([300]), 300 - behind)
    )
    shown = torch.tensor(fig.axes[0].lines[1].get_ydata()).float()
    assert torch.allclose(shown, (turned @ keys.mT)[0, 0, 0], atol=1e-5)
    assert int(shown.argmax()) == wanted
