"""The tasks on made-up sequences ask what they say, and are fair."""

import pytest
import torch
from bad_calls import bad_calls
from hypothesis import given
from hypothesis import strategies as st

from course_experiments.tasks import backwards, token_after_marker
from course_utils.models import TinyTransformer
from course_utils.models.training import fit
from course_utils.texts import tasks

SMALL = {"length": 9, "batch": 4, "vocab_size": 5}


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@given(st.integers(-8, 8), st.integers(0, 2**16))
def test_the_answer_stands_at_the_offset(offset, seed):
    examples = tasks.token_at_offset(offset, **SMALL, generator=seeded(seed))
    for tokens, targets in zip(*examples, strict=True):
        for i in range(9):
            inside = 0 <= i + offset < 9
            assert targets[i] == (tokens[i + offset] if inside else tasks.IGNORED_TARGET)


@given(st.integers(0, 8), st.integers(0, 2**16))
def test_the_answer_stands_at_the_place(place, seed):
    examples = tasks.token_at_place(place, **SMALL, generator=seeded(seed))
    for tokens, targets in zip(*examples, strict=True):
        for i in range(9):
            assert targets[i] == (tokens[place] if i >= place else tasks.IGNORED_TARGET)


@given(st.integers(1, 9), st.integers(0, 2**16))
def test_a_row_is_answered_backwards_from_the_sign_on(length, seed):
    examples = backwards(**SMALL | {"length": length}, generator=seeded(seed))
    for tokens, targets in zip(*(part.tolist() for part in examples), strict=True):
        symbols, rest = tokens[:length], tokens[length:]
        assert rest[0] == 5 and 5 not in symbols + rest[1:]
        assert targets == [tasks.IGNORED_TARGET] * length + symbols[::-1]
        assert rest[1:] == targets[length:-1]  # each answer is the next token


@given(st.integers(3, 12), st.integers(0, 2**16))
def test_the_symbol_after_the_only_marker_is_asked_at_the_end(length, seed):
    examples = token_after_marker(**SMALL | {"length": length}, generator=seeded(seed))
    for tokens, targets in zip(*(part.tolist() for part in examples), strict=True):
        assert tokens.count(5) == 1 and tokens[-1] == 6
        assert targets == [tasks.IGNORED_TARGET] * (length - 1) + [tokens[tokens.index(5) + 1]]
        assert targets[-1] < 5


def test_the_marker_stands_at_every_place_where_a_symbol_follows():
    examples = token_after_marker(**SMALL | {"batch": 300}, generator=seeded())
    assert (examples.tokens == 5).nonzero()[:, 1].unique().tolist() == list(range(7))


@pytest.mark.parametrize("task", [tasks.token_at_offset, tasks.token_at_place])
def test_the_same_seed_draws_the_same_batch_and_the_next_draw_another(task):
    generator = seeded()
    first, second, again = (task(2, **SMALL, generator=g) for g in (generator, generator, seeded()))
    assert torch.equal(first.tokens, again.tokens)
    assert not torch.equal(first.tokens, second.tokens)


def test_guessing_is_right_as_often_as_there_are_words():
    examples = tasks.token_at_offset(-3, length=40, batch=200, vocab_size=5, generator=seeded())
    has_target = examples.targets != tasks.IGNORED_TARGET
    shares = [(examples.targets[has_target] == word).float().mean() for word in range(5)]
    assert all(abs(float(share) - 0.2) < 0.02 for share in shares)


def test_tokens_that_are_not_asked_count_neither_in_loss_nor_in_accuracy():
    model = TinyTransformer(5, "none", d_model=8, n_layers=1, n_heads=1).eval()
    examples = tasks.token_at_place(6, **SMALL, generator=seeded())
    logits = model(examples.tokens)[:, 6:].flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits, examples.targets[:, 6:].flatten())
    assert float(tasks.loss(model, examples).detach()) == pytest.approx(float(expected.detach()))
    right = (logits.argmax(-1) == examples.targets[:, 6:].flatten()).float().mean()
    assert tasks.accuracy(model, examples) == pytest.approx(float(right))


def test_a_model_that_sees_offsets_learns_to_name_the_token_before():
    model = TinyTransformer(5, "rope", d_model=32, n_layers=1, n_heads=2)
    generator = seeded()

    def batch_loss():
        return tasks.loss(
            model, tasks.token_at_offset(-1, **SMALL | {"batch": 64}, generator=generator)
        )

    fit(model, batch_loss, 150, lr=1e-2)
    held_out = tasks.token_at_offset(-1, **SMALL | {"batch": 100}, generator=seeded(1))
    assert tasks.accuracy(model, held_out) > 0.95


def test_examples_move_to_a_device():
    examples = tasks.token_at_place(1, **SMALL, generator=seeded()).to(torch.device("meta"))
    assert {part.device.type for part in examples} == {"meta"}


def draw(task, *where, generator=None, **options):
    return task(*where, **SMALL | options, generator=generator or seeded())


def at_offset(offset=1, **options):
    return draw(tasks.token_at_offset, offset, **options)


test_bad_input_names_the_argument_and_what_it_got = bad_calls(
    [
        (lambda: at_offset(9), ValueError, "offset", "9", "got 9"),
        (lambda: at_offset(-12), ValueError, "offset", "got -12"),
        (lambda: at_offset(1.0), TypeError, "offset", "float 1.0"),
        (lambda: at_offset(True), TypeError, "offset", "bool True"),
        (lambda: draw(tasks.token_at_place, 9), ValueError, "place", "got 9"),
        (lambda: draw(tasks.token_at_place, -1), ValueError, "place", "got -1"),
        (lambda: at_offset(length=0), ValueError, "length", "got 0"),
        (lambda: at_offset(batch=0), ValueError, "batch", "got 0"),
        (lambda: at_offset(vocab_size=1), ValueError, "vocab_size", "got 1"),
        (lambda: at_offset(generator=3), TypeError, "generator", "int 3"),
        (lambda: draw(token_after_marker, marker=7), ValueError, "marker", "below 7"),
        (lambda: draw(token_after_marker, length=2), ValueError, "length", "got 2"),
        (lambda: draw(backwards, length=0), ValueError, "length", "got 0"),
    ]
)
