"""Sentences, their reorderings, the order task and the training loop."""

from typing import Any

import pytest
import torch
import tqdm.notebook
from hypothesis import given
from hypothesis import strategies as st

from course_lab import sentences
from course_lab.chinese import PINYIN
from course_lab.sentences import SentenceClassifier
from course_utils.models import TinyTransformer, training

VOCABULARY = ["the", "cat", "sat", "on", "a", "mat", "我", "爱", "你"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=8)


@given(words=WORDS)
def test_the_same_word_has_the_same_vector_wherever_it_stands(words):
    vectors = sentences.word_vectors(words, 16)
    for word, vector in zip(words, vectors, strict=True):
        assert torch.equal(vector, sentences.word_vectors([word], 16)[0])


def test_different_words_have_different_vectors():
    words = [*sentences.FIRST_GROUP, *sentences.SECOND_GROUP, *sentences.VERBS, *PINYIN]
    assert len(sentences.word_vectors(words, 8).unique(dim=0)) == len(words)


@given(words=WORDS, seed=st.integers(0, 99))
def test_reordering_turns_one_order_into_the_other(words, seed):
    shuffle = torch.randperm(len(words), generator=torch.Generator().manual_seed(seed))
    other = [words[place] for place in shuffle]
    perm = sentences.reordering(words, other)
    assert [words[place] for place in perm] == other
    assert sorted(perm.tolist()) == list(range(len(words)))


def test_every_sentence_of_the_order_task_stands_beside_its_reversal_with_the_other_label():
    task = sentences.who_loves_whom()
    for rows, labels in ((task.train, task.train_labels), (task.test, task.test_labels)):
        label_of = {tuple(s): int(label) for s, label in zip(rows.tolist(), labels, strict=True)}
        assert all(label_of[s[::-1]] == 1 - label for s, label in label_of.items())


def test_no_pair_of_names_is_in_both_training_and_test():
    task = sentences.who_loves_whom()
    train, test = ({frozenset(s[::2]) for s in part.tolist()} for part in (task.train, task.test))
    assert not train & test
    assert len(train) + len(test) == len(sentences.FIRST_GROUP) * len(sentences.SECOND_GROUP)


def test_the_label_says_whether_the_first_group_acts():
    task = sentences.who_loves_whom()
    for sentence, label in zip(task.test.tolist(), task.test_labels.tolist(), strict=True):
        assert label == (task.words[sentence[0]] in sentences.FIRST_GROUP)


def test_without_position_a_classifier_is_right_exactly_half_of_the_time():
    task = sentences.who_loves_whom()
    body = TinyTransformer(len(task.words), "none", d_model=16, n_layers=1, n_heads=2, causal=False)
    model = SentenceClassifier(body).double()
    assert model.accuracy(task.test, task.test_labels) == 0.5


def test_fit_reduces_the_loss_and_leaves_the_model_in_evaluation_mode():
    model = torch.nn.Linear(2, 1)
    x = torch.randn(64, 2)
    losses = training.fit(model, lambda: (model(x) - x[:, :1]).square().mean(), 100, lr=0.05)
    assert len(losses) == 100 and losses[-1] < losses[0] / 100
    assert not model.training


def test_an_interrupted_fit_keeps_what_was_learned(capsys):
    model = torch.nn.Linear(2, 1)
    before, calls = model.weight.detach().clone(), []

    def loss():
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return model.weight.square().sum()

    losses = training.fit(model, loss, 100)
    assert len(losses) == 5
    assert not torch.equal(model.weight, before)
    assert "after 5 of 100 steps" in capsys.readouterr().out


def test_a_bar_in_a_notebook_is_hidden_at_the_end_and_not_closed(monkeypatch):
    shown: list[Any] = []
    monkeypatch.setattr("tqdm.auto.tqdm", tqdm.notebook.tqdm)
    monkeypatch.setattr("tqdm.notebook.display", shown.append)
    model = torch.nn.Linear(2, 1)
    training.fit(model, lambda: model.weight.square().sum(), 3)
    (bar,) = shown
    assert bar.comm is not None  # None after an ipywidget's `close`
    assert bar.layout.display == "none"


def no_loss():
    raise AssertionError("the arguments are looked at first")


@pytest.mark.usefixtures("plain_arguments")
@pytest.mark.parametrize(
    ("call", "kind", "named"),
    [
        (lambda: sentences.word_vectors([], 4), ValueError, "number of words"),
        (lambda: sentences.word_vectors(["a"], 0), ValueError, "d_model"),
        (lambda: sentences.reordering(["a"], ["b"]), ValueError, "other"),
        (lambda: sentences.reordering(["a", "a"], ["a"]), ValueError, "other"),
        (lambda: training.fit(torch.nn.Linear(1, 1), no_loss, 0), ValueError, "steps"),
        (lambda: training.fit(torch.nn.Linear(1, 1), no_loss, 5, lr=-1.0), ValueError, "lr"),
    ],
)
def test_bad_arguments_are_named(call, kind, named):
    with pytest.raises(kind, match=named):
        call()
