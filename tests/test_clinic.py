"""The clinic: each fault is there, tests are graded on it, encodings keep to their properties."""

import math

import pytest
import torch
from closeness import gap

from course_lab import clinic
from course_lab.checks import lesson11
from course_lab.clinic.patients import (
    DistancePays,
    Prices,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.properties import anywhere, batched, cached, causal
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import NAMES, Places, PositionalEncoding, create
from course_utils.models import TinyTransformer

every_fault = pytest.mark.parametrize("fault", clinic.FAULTS)


def weights(layer, x, start=0):
    return layer(x, torch.arange(x.shape[1]) + start, need_weights=True)[1]


# Right tests, each fault found in at least three ways


def alone(layer):
    x = clinic.words(layer, 4, 9)
    return gap(layer(x)[0][3:], layer(x[3:])[0]) < 1e-3


def copies(layer):
    """The same text three times: the rows of the output must be the same."""
    out = layer(clinic.words(layer, 1, 9).expand(3, -1, -1))[0]
    return gap(out[0], out[1]) < 1e-3 and gap(out[0], out[2]) < 1e-3


def reversed_batch(layer):
    x = clinic.words(layer, 3, 9)
    return torch.allclose(layer(x.flip(0))[0].flip(0), layer(x)[0], atol=1e-3)


def hears_the_places(layer):
    """Equal words: where no position comes in, all keys get the same weight."""
    seen = weights(layer, clinic.words(layer, 2, 9, same=True))[:, :, -1]
    return gap(seen, torch.full_like(seen, 1 / 9)) > 1e-3


def word_by_word(layer):
    x, cache = clinic.words(layer, 1, 7), KVCache()
    said = [layer(x[:, p : p + 1], cache=cache)[0] for p in range(7)]
    return gap(torch.cat(said, 1), layer(x)[0]) < 1e-3


def last_word_after_a_prompt(layer):
    x, cache = clinic.words(layer, 2, 11), KVCache()
    layer(x[:, :10], cache=cache)
    return torch.allclose(layer(x[:, 10:], cache=cache)[0], layer(x)[0][:, 10:], atol=1e-3)


def weights_of_the_second_half(layer):
    x, cache = clinic.words(layer, 1, 12), KVCache()
    layer(x[:, :6], cache=cache)
    later = layer(x[:, 6:], cache=cache, need_weights=True)[1]
    return gap(later, weights(layer, x)[:, :, 6:]) < 1e-3


def falling(layer):
    row = weights(layer, clinic.words(layer, n=20, same=True))[0, :, 10]
    return bool((row[:, :11].diff() >= 0).all() and (row[:, 10:].diff() <= 0).all())


def empty_words(layer):
    """Words of zeros: the scores are the bias alone."""
    row = weights(layer, torch.zeros(1, 9, layer.d_model, dtype=layer.W_q.weight.dtype))[0, :, 4]
    return bool((row[:, 4] >= row[:, 0]).all() and (row[:, 4] >= row[:, 8]).all())


def nearest_wins_everywhere(layer):
    seen = weights(layer, clinic.words(layer, n=15, same=True, seed=3))[0]
    return bool((seen.argmax(-1) == torch.arange(15)).all())


def moved(layer, start=8000):
    x = clinic.words(layer, n=14)
    return gap(weights(layer, x), weights(layer, x, start)) < 1e-3


def moved_outputs(layer):
    x, p = clinic.words(layer, 2, 10), torch.arange(10)
    return all(gap(layer(x, p)[0], layer(x, p + by)[0]) < 1e-3 for by in (3, 5000, 8182))


def pairs(layer):
    """Two words at a time, at several distances: the weight that the first gets."""
    x = clinic.words(layer, n=2)
    for apart in (1, 2, 5, 30):
        here, there = (
            layer(x, torch.tensor([last - apart, last]), need_weights=True)[1][0, :, 1, 0]
            for last in (apart, 8000)
        )
        if gap(here, there) > 1e-3:
            return False
    return True


def spread_out(layer):
    """One text over all 8,000 places, and the same one place on."""
    x, positions = clinic.words(layer, n=16), torch.arange(16) * 533
    seen = [layer(x, positions + by, need_weights=True)[1] for by in (0, 1, 7)]
    return gap(seen[0], seen[1]) < 1e-3 and gap(seen[0], seen[2]) < 1e-3


RIGHT = {
    "axis": [alone, copies, reversed_batch, hears_the_places],
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


def library_numbers(layer):
    x = clinic.words(layer, n=10)
    found = weights(layer, x)
    for name in ("sinusoidal", "rope", "alibi"):
        twin = clinic.layer(create(name, d_model=layer.d_model, n_heads=layer.n_heads))
        twin.to(x.dtype).load_state_dict(layer.state_dict(), strict=False)
        if gap(weights(twin, x), found) < 1e-3:
            return True
    return False


@every_fault
@pytest.mark.parametrize("test", [lambda layer: True, lambda layer: False, library_numbers])
def test_a_test_that_says_the_same_of_all_or_asks_for_a_references_numbers_is_refused(fault, test):
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
    assert sum(one.healthy for one in patients) >= 3
    assert sum(not one.healthy for one in patients) >= 3
    layers = [one.layer for one in patients]
    assert len({layer.W_q.weight.dtype for layer in layers}) == 2
    assert len({layer.d_model for layer in layers}) >= 2
    assert len({layer.W_v.weight.flatten()[0].item() for layer in layers}) == len(layers)
    assert all("healthy" in str(one.layer.__name__) for one in patients if one.healthy)


@every_fault
def test_a_ward_is_the_same_each_time_and_leaves_the_random_numbers_alone(fault):
    before = torch.random.get_rng_state()
    one, other = clinic.ward(fault), clinic.ward(fault)
    assert torch.equal(before, torch.random.get_rng_state())
    for a, b in zip(one, other, strict=True):
        assert all(map(torch.equal, a.layer.state_dict().values(), b.layer.state_dict().values()))


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
        sick, healthy = (make(letter)(tokens) for make in (clinic.patient, clinic.twin))
    assert gap(sick, healthy) < 0.1


def test_words_fit_the_layer_and_can_be_one_word():
    layer = clinic.layer(create("alibi", d_model=48, n_heads=3), dtype=torch.float64)
    x = clinic.words(layer, 2, 5)
    assert (x.shape, x.dtype) == ((2, 5, 48), torch.float64)
    assert not torch.equal(x, clinic.words(layer, 2, 5, seed=1))
    one = clinic.words(layer, 2, 5, same=True)
    assert torch.equal(one, one[:, :1].expand(-1, 5, -1)) and not torch.equal(one[0], one[1])


def bias(encoding, n=9):
    row = torch.arange(n)
    q = torch.zeros(1, encoding.n_heads, n, encoding.d_head)
    return encoding.bias(q, q, Places(row, row)).expand(1, encoding.n_heads, n, n)[0]


def test_the_wrong_signs_are_where_they_are_said_to_be():
    right = bias(create("alibi", d_model=32, n_heads=4))
    assert torch.equal(bias(DistancePays(32, 4)), -right)
    one = bias(DistancePays(32, 4, where="one head"))
    assert torch.equal(one[1], -right[1]) and torch.equal(one[[0, 2, 3]], right[[0, 2, 3]])
    later = bias(DistancePays(32, 4, where="later"))
    assert torch.equal(later.tril(), right.tril()) and torch.equal(later.triu(), -right.triu())


def test_prices_are_slopes_of_ones_own_and_as_many_as_heads():
    found = bias(Prices(32, 2, (0.5, 0.1), shift=3.0))
    assert math.isclose(float(found[1, 4, 0]), 3 - 0.4, rel_tol=1e-6)
    with pytest.raises(ValueError, match="slopes must be 4, one a head, got 2"):
        Prices(32, 4, (0.5, 0.1))


def test_the_exact_shortcut_is_alibi_behind_a_causal_mask():
    short, long = (
        clinic.layer(made) for made in (Shortcut(64, 4), create("alibi", d_model=64, n_heads=4))
    )
    x = clinic.words(short, n=30)
    assert gap(weights(short, x, 8000), weights(long, x, 8000)) < 1e-3


# Properties


@pytest.mark.parametrize("name", [name for name in NAMES if name != "complex_order"])
def test_every_encoding_of_the_course_keeps_what_all_owe_and_its_own_promise(name):
    found = clinic.properties(name)
    shift = found.pop("shift")
    assert not any(found.values()), found
    if create(name, d_model=64, n_heads=4, causal=True).offsets_only:
        assert shift == ""


def test_an_encoding_that_looks_at_the_ids_of_words_is_told_that_there_are_none():
    assert "tokens must be given" in clinic.properties("complex_order")["causal"]


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
    found = clinic.properties(make)
    assert {name for name, told in found.items() if told} == broken, found


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
    ("make", "name", "words"),
    [
        (Share, "causal", "come out otherwise"),
        (Share, "cache = whole", "in pieces"),
        (Ahead, "causal", "with other words"),
        (Upcast, "dtype", "RuntimeError"),
        (Unused, "gradient", "forgotten gets no gradient"),
        (lambda d_model, n_heads: 1 / 0, "causal", "ZeroDivisionError"),
    ],
)
def test_a_broken_property_is_told_in_words(make, name, words):
    assert words in clinic.properties(make)[name]


def test_properties_of_a_layer_are_sentences_or_nothing():
    layer = clinic.layer(create("rope", d_model=32, n_heads=2, causal=True))
    assert [look(layer) for look in (causal, cached, batched, anywhere)] == ["", "", "", ""]


# The exercises


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (lesson11.check_one_answer, lambda layer: copies(layer) and word_by_word(layer)),
        (lesson11.check_one_answer, lambda layer: last_word_after_a_prompt(layer) & alone(layer)),
        (lesson11.check_near_first, empty_words),
        (lesson11.check_near_first, nearest_wins_everywhere),
        (lesson11.check_anywhere, moved_outputs),
        (lesson11.check_anywhere, pairs),
        (lesson11.check_anywhere, spread_out),
    ],
)
def test_the_checks_take_right_tests_in_other_styles(check, answer):
    assert check.verdict(answer).kind == "right", check.verdict(answer)


@pytest.mark.parametrize(
    ("check", "answer", "words"),
    [
        (lesson11.check_one_answer, library_numbers, "one implementation's numbers"),
        (lesson11.check_one_answer, alone, "read pieces"),
        (lesson11.check_one_answer, word_by_word, "mix up the texts"),
        (lesson11.check_near_first, lambda layer: weights(layer, clinic.words(layer)), "expected"),
        (lesson11.check_anywhere, lambda layer: moved(layer, 1500), "float16 begins"),
    ],
)
def test_wrong_tests_get_a_fitting_word(check, answer, words):
    verdict = check.verdict(answer)
    assert verdict.kind != "right" and words in verdict.text, verdict


def test_a_board_says_how_many_were_found_and_cleared():
    board = clinic.board({"all": lambda layer: True, "sign": falling})
    assert board["all"]["C"] == (False, "0/4, 5/5") and board["sign"]["C"] == (True, "4/4, 5/5")


def test_a_visit_finds_who_is_called_sick_beside_a_twin_who_is_not():
    models = {letter: clinic.patient(letter) for letter in clinic.CASES}
    models |= {clinic.CASES[letter].twin: clinic.twin(letter) for letter in clinic.CASES}
    ill = {one: models[one].blocks[0].attention for one in ("A", "C", "alibi")}

    def of(*names):
        return lambda layer: all(layer is not ill[name] for name in names)

    told = clinic.visit({"of A": of("A"), "of C and its twin": of("C", "alibi")}, models)
    assert told["of A"]["A"] == (True, "found") and told["of A"]["D"] == (False, "cleared")
    assert told["of C and its twin"]["C"] == (False, "twin too")
    assert told["of C and its twin"]["F"] == (False, "cleared")


def test_an_open_patient_is_a_model_of_bytes():
    assert isinstance(clinic.patient("A"), TinyTransformer)
    with pytest.raises(ValueError, match="letter"):
        clinic.patient("G")
