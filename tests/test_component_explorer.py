"""The explorer of the trained table's directions says what the table says."""

import re

import pytest
import torch
from matplotlib.figure import Figure

from course_utils import data, explorers, measures


def told(position, kept):
    """Variance held in percent, most similar position and its cosine, out of the sentence."""
    sentence = explorers.components(Figure(), position, kept)
    found = re.search(r"hold (\d+) %.*: position (\d+), cosine ([\d.]+\d)", sentence)
    assert found is not None, sentence
    held, like, cosine = found.groups()
    return int(held), int(like), float(cosine)


@pytest.mark.parametrize("position", [1, 100, 511])
@pytest.mark.parametrize("kept", [1, 3, 40])
def test_the_most_similar_position_is_that_of_the_rebuilt_table(position, kept):
    table = data.position_table()[1:].double()
    centred = table - table.mean(0)
    values, axes = torch.linalg.eigh(centred.T @ centred)  # ascending
    rebuilt = centred @ axes[:, -kept:] @ axes[:, -kept:].T
    alike = measures.similarity_matrix(rebuilt)[position - 1]
    alike[position - 1] = -1
    held, like, cosine = told(position, kept)
    assert held == pytest.approx(100 * float(values[-kept:].sum() / values.sum()), abs=0.51)
    assert cosine == pytest.approx(float(alike.max()), abs=0.006)
    assert float(alike[like - 1]) == pytest.approx(float(alike.max()), abs=1e-4)
