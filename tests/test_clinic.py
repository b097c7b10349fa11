"""The clinic: each fault is there, tests are graded on it, encodings keep to their properties."""

import math

import pytest
import torch
from closeness import gap
from layer_tests import (
    alone,
    copies,
    empty_words,
    falling,
    last_word_after_a_prompt,
    library_numbers,
    moved,
    moved_outputs,
    nearest_wins_everywhere,
    notices_positions,
    pairs,
    reversed_batch,
    spread_out,
    weights,
    weights_of_the_second_half,
    word_by_word,
)
from pairwise import some

from course_lab import clinic
from course_lab.clinic.faulty_encodings import (
    DistancePays,
    Prices,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.properties import anywhere, batched, cached, causal
from course_utils.encodings import NAMES, Places, PositionalEncoding, create
from course_utils.models import TinyTransformer

every_fault = pytest.mark.parametrize("fault", clinic.FAULTS)


RIGHT = {
    "axis": [alone, copies, reversed_batch, notices_positions],
    "cache": [word_by_word, last_word_after_a_prompt, weights_of_the_second_half],
    "sign": [falling, empty_words, nearest_wins_everywhere],
    "layouts": [moved, moved_outputs, pairs, spread_out],
    "angles": [moved, moved_outputs, pairs, spread_out],
    "shortcut": [moved, moved_outputs, pairs, spread_out],
}


@pytest.mark.parametrize(
    ("fault", "test"), [(fault, test) for fault, tests in RIGHT.items() for test in tests]
)
def test_right_tests_are_accepted_however_they_are_written(fault, test):
    assert clinic.accepts(test, fault), clinic.grade(test, fault)


# Wrong ones


@every_fault
@pytest.mark.parametrize("test", [lambda layer: True, lambda layer: False, library_numbers])
def test_a_test_that_calls_all_the_same_or_asks_for_a_references_numbers_is_refused(fault, test):
    assert not clinic.accepts(test, fault)


@every_fault
def test_a_test_for_another_fault_is_refused(fault):
    others = {"axis": word_by_word, "cache": copies, "sign": moved, "layouts": copies}
    assert not clinic.accepts(others.get(fault, lambda layer: moved(layer, 5)), fault)


def test_a_test_that_raises_has_called_the_layer_sick():
    def broken(layer):
        raise RuntimeError("no")

    assert clinic.grade(broken, "sign") == {"sign": (4, 4, 0, 5)}


# Patients


@every_fault
def test_each_ward_has_sick_and_healthy_ones_of_several_sizes_dtypes_and_seeds(fault):
    patients = clinic.ward(fault)
    assert sum(patient.healthy for patient in patients) >= 3
    assert sum(not patient.healthy for patient in patients) >= 3
    layers = [patient.layer for patient in patients]
    assert len({layer.W_q.weight.dtype for layer in layers}) == 2
    assert len({layer.d_model for layer in layers}) >= 2
    assert len({layer.W_v.weight.flatten()[0].item() for layer in layers}) == len(layers)
    for patient in patients:
        assert ("healthy" in str(patient.layer.__name__)) == patient.healthy


@every_fault
def test_a_ward_is_the_same_each_time_and_leaves_the_random_numbers_alone(fault):
    before = torch.random.get_rng_state()
    first, second = clinic.ward(fault), clinic.ward(fault)
    assert torch.equal(before, torch.random.get_rng_state())
    for patient, again in zip(first, second, strict=True):
        for name, value in patient.layer.state_dict().items():
            assert torch.equal(value, again.layer.state_dict()[name])


def test_an_unknown_fault_is_refused_by_name():
    with pytest.raises(ValueError, match="did you mean 'angles'"):
        clinic.ward("angels")


def test_the_six_open_patients_have_the_six_faults_and_the_weights_of_their_twins():
    assert sorted(case.fault for case in clinic.CASES.values()) == sorted(clinic.FAULTS)
    for letter in clinic.CASES:
        sick, healthy = clinic.patient(letter, seed=4), clinic.twin(letter, seed=4)
        for name, weight in healthy.state_dict().items():
            assert torch.equal(sick.state_dict()[name], weight), (letter, name)


@pytest.mark.parametrize("letter", ["B", "D", "F"])
def test_three_of_them_read_a_short_text_almost_as_their_twins_do(letter):
    tokens = torch.randint(256, (2, 32), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        sick, healthy = clinic.patient(letter)(tokens), clinic.twin(letter)(tokens)
    assert gap(sick, healthy) < 0.1


def test_words_fit_the_layer_and_can_be_one_word():
    layer = clinic.layer(create("alibi", d_model=48, n_heads=3), dtype=torch.float64)
    x = clinic.words(layer, 2, 5)
    assert (x.shape, x.dtype) == ((2, 5, 48), torch.float64)
    assert not torch.equal(x, clinic.words(layer, 2, 5, seed=1))
    same = clinic.words(layer, 2, 5, same=True)
    assert torch.equal(same, same[:, :1].expand(-1, 5, -1)) and not torch.equal(same[0], same[1])


def bias(encoding, n=9):
    positions = torch.arange(n)
    q = torch.zeros(1, encoding.n_heads, n, encoding.d_head)
    return encoding.bias(q, q, Places(positions, positions)).expand(1, encoding.n_heads, n, n)[0]


def test_the_wrong_signs_are_where_they_are_said_to_be():
    right = bias(create("alibi", d_model=32, n_heads=4))
    assert torch.equal(bias(DistancePays(32, 4)), -right)
    one_head = bias(DistancePays(32, 4, where="one head"))
    assert torch.equal(one_head[1], -right[1])
    assert torch.equal(one_head[[0, 2, 3]], right[[0, 2, 3]])
    later = bias(DistancePays(32, 4, where="later"))
    assert torch.equal(later.tril(), right.tril()) and torch.equal(later.triu(), -right.triu())


def test_prices_have_any_slopes_one_for_each_head():
    prices = bias(Prices(32, 2, (0.5, 0.1), shift=3.0))
    assert math.isclose(float(prices[1, 4, 0]), 3 - 0.4, rel_tol=1e-6)
    with pytest.raises(ValueError, match="slopes must be 4, one for each head, got 2"):
        Prices(32, 4, (0.5, 0.1))


def test_the_exact_shortcut_is_alibi_behind_a_causal_mask():
    shortcut = clinic.layer(Shortcut(64, 4))
    alibi = clinic.layer(create("alibi", d_model=64, n_heads=4))
    x = clinic.words(shortcut, n=30)
    assert gap(weights(shortcut, x, 8000), weights(alibi, x, 8000)) < 1e-3


# Properties


@some("name", NAMES, quick=["rope", "alibi", "t5", "shaw", "complex_order", "cope"])
def test_every_encoding_of_the_course_keeps_what_all_owe_and_its_own_promise(name):
    problems = clinic.properties(name)
    shift = problems.pop("shift")
    assert not any(problems.values()), problems
    if create(name, d_model=64, n_heads=4, causal=True).offsets_only:
        assert shift == ""


class NextId(PositionalEncoding):
    """Adds the id of the next token: a leak that only tokens changed later show."""

    def embed(self, x, positions, tokens=None):
        return x if tokens is None else x + tokens.roll(-1, 1)[..., None].to(x)


class LeakInLongTexts(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        return x if x.shape[1] <= 12 else x + x.roll(-1, 1)


class RowsOfTheBlock(PositionalEncoding):
    """Counts rows of what it gets, not positions: wrong where attention passes some queries."""

    def bias(self, q, k, at):
        return -(torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])).abs().to(q)


class RowsOfTheTable(PositionalEncoding):
    """A number by offset that forgets that each text of a batch may have its own."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.table = torch.nn.Parameter(torch.randn(n_heads, 17))

    def bias(self, q, k, at):
        return self.table[:, at.offsets.clamp(-8, 8) + 8]


class FarTurn(PositionalEncoding):
    """Rounds positions as bfloat16 does beyond 4096, where it knows every 32nd."""

    static_keys = True

    def rotate(self, q, k, at):
        rope = create("rope", d_model=self.d_model, n_heads=self.n_heads)
        rounded = torch.where(at.q >= 4096, at.q // 32 * 32, at.q)
        return rope.rotate(q, k, Places(rounded, rounded if at.k is at.q else at.k))


class SecondLayer(PositionalEncoding):
    """Alone in order; where several layers share it, each pass after the first looks ahead."""

    def rotate(self, q, k, at):
        again = "passed" in at.kept
        at.keep("passed", True)
        return (q, k.roll(-1, 2)) if again else (q, k)


class Share(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        return x + (positions / positions.max())[:, None].to(x)


class Ahead(PositionalEncoding):
    """Adds to each word the one after it."""

    def embed(self, x, positions, tokens=None):
        return x + x.roll(-1, 1)


class Upcast(PositionalEncoding):
    def values(self, weights, at):
        return torch.zeros(len(weights), self.n_heads, at.q_len, self.d_head, dtype=torch.float64)


class Unused(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.forgotten = torch.nn.Parameter(torch.ones(3))


@pytest.mark.parametrize(
    ("make", "broken", "words"),
    [
        (NextId, "causal", "with other words"),
        (LeakInLongTexts, "causal", "of 96 tokens"),
        (RowsOfTheBlock, "cache = whole", "in pieces"),
        (RowsOfTheTable, "batch = alone", "must broadcast to"),
        (FarTurn, "shift", "moved by 8000"),
        (SecondLayer, "causal", "in two layers"),
        (Share, "causal", "come out otherwise"),
        (Share, "cache = whole", "in pieces"),
        (Ahead, "causal", "with other words"),
        (Upcast, "dtype", "RuntimeError"),
        (Unused, "gradient", "forgotten gets no gradient"),
        (lambda d_model, n_heads: 1 / 0, "causal", "ZeroDivisionError"),
    ],
)
def test_a_broken_property_is_told_in_words_even_if_only_some_cases_show_it(make, broken, words):
    assert words in clinic.properties(make)[broken]


@pytest.mark.parametrize(
    ("make", "broken"),
    [
        (RowsByText, {"batch = alone"}),
        (RowsFromZero, {"cache = whole"}),
        (TwoLayouts, {"shift"}),
        (RoundedAngles, {"shift"}),
        (DistancePays, set()),
    ],
)
def test_a_fault_breaks_the_property_that_it_should(make, broken):
    problems = clinic.properties(make)
    assert {name for name, problem in problems.items() if problem} == broken, problems


def test_properties_of_a_layer_are_sentences_or_nothing():
    layer = clinic.layer(create("rope", d_model=32, n_heads=2, causal=True))
    assert [look(layer) for look in (causal, cached, batched, anywhere)] == ["", "", "", ""]


# Boards


def test_a_board_says_how_many_were_found_and_cleared():
    board = clinic.board({"all": lambda layer: True, "sign": falling})
    assert board["all"]["C"] == (False, "0/4, 5/5") and board["sign"]["C"] == (True, "4/4, 5/5")


def test_a_visit_finds_a_patient_that_is_called_sick_while_its_twin_is_not():
    models = {letter: clinic.patient(letter) for letter in clinic.CASES}
    models |= {clinic.CASES[letter].twin: clinic.twin(letter) for letter in clinic.CASES}

    def calls_sick(*names):
        layers = [models[name].blocks[0].attention for name in names]
        return lambda layer: all(layer is not sick for sick in layers)

    tests = {"A": calls_sick("A"), "C and its twin": calls_sick("C", "alibi")}
    outcomes = clinic.visit(tests, models)
    assert outcomes["A"]["A"] == (True, "found") and outcomes["A"]["D"] == (False, "cleared")
    assert outcomes["C and its twin"]["C"] == (False, "twin too")
    assert outcomes["C and its twin"]["F"] == (False, "cleared")


def test_an_open_patient_is_a_model_of_bytes():
    assert isinstance(clinic.patient("A"), TinyTransformer)
    with pytest.raises(ValueError, match="letter"):
        clinic.patient("G")
