"""The memory for one table: when it answers from memory and when it must compute."""

import copy
import pickle

import pytest
import torch

from course_utils.encodings.memo import Memo


@pytest.fixture
def counted():
    """A computation that counts how often it ran."""

    class Compute:
        runs = 0

        def __call__(self):
            self.runs += 1
            return torch.full((2,), float(self.runs))

    return Compute()


def test_the_same_tensor_and_key_are_answered_from_memory(counted):
    memo, row = Memo(), torch.arange(3)
    first = memo(counted, (row,), "a")
    assert memo(counted, (row,), "a") is first
    assert counted.runs == 1


@pytest.mark.parametrize(
    "other",
    [
        lambda row: ((row.clone(),), "a"),
        lambda row: ((row,), "b"),
        lambda row: ((row, row), "a"),
        lambda row: ((row.add_(1),), "a"),
    ],
    ids=["equal but another tensor", "another key", "more tensors", "changed in place"],
)
def test_anything_else_is_computed(counted, other):
    memo, row = Memo(), torch.arange(3)
    memo(counted, (row,), "a")
    memo(counted, *other(row))
    assert counted.runs == 2


def test_only_the_last_result_is_kept(counted):
    memo, one, two = Memo(), torch.arange(3), torch.arange(4)
    for row in (one, two, one):
        memo(counted, (row,))
    assert counted.runs == 3


def test_results_with_gradients_are_never_kept():
    memo, row, weight = Memo(), torch.arange(3.0), torch.ones(3, requires_grad=True)
    assert memo(lambda: row * weight, (row,)) is not memo(lambda: row * weight, (row,))
    kept = memo(lambda: (row, row * weight), (row,))
    assert memo(lambda: (row, row * weight), (row,)) is not kept


def test_nothing_computed_in_inference_mode_is_kept(counted):
    memo, row = Memo(), torch.arange(3)
    with torch.inference_mode():
        memo(counted, (row,))
        memo(counted, (torch.arange(3),))
    assert not memo(counted, (row,)).is_inference()


def test_copies_and_pickles_start_empty(counted):
    memo, row = Memo(), torch.arange(3)
    memo(counted, (row,))
    for other in (copy.deepcopy(memo), pickle.loads(pickle.dumps(memo))):
        other(counted, (row,))
    assert counted.runs == 3
