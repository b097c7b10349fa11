"""The clinic: each fault is there, tests are graded on it, encodings keep to their properties."""

import functools
import importlib
import itertools
import math
import random
from functools import partial

import pytest
import torch
from closeness import gap
from hypothesis import given, settings
from hypothesis import strategies as st
from layer_tests import (
    alone,
    copies,
    every_row,
    falling,
    last_word_after_a_prompt,
    library_numbers,
    moved,
    moved_outputs,
    notices_positions,
    pairs,
    reversed_batch,
    spread_out,
    weights,
    weights_of_the_second_half,
    word_by_word,
)
from pairwise import some

from course_experiments import drawn_prices
from course_lab import clinic
from course_lab.clinic import trainings
from course_lab.clinic.faulty_encodings import (
    DistancePays,
    Prices,
    PriceStopsRising,
    RoundedAngles,
    RowsByText,
    RowsFromZero,
    Shortcut,
    TwoLayouts,
)
from course_lab.clinic.properties import _in_words, anywhere, batched, cached, causal, doors
from course_utils.attention.kv_cache import KVCache
from course_utils.encodings import NAMES, ALiBi, Places, PositionalEncoding, create
from course_utils.encodings.functional import sinusoidal_table
from course_utils.models import TinyTransformer
from course_utils.texts import data

every_fault = pytest.mark.parametrize("fault", clinic.FAULTS)


RIGHT = {
    "axis": [alone, copies, reversed_batch, notices_positions],
    "cache": [word_by_word, last_word_after_a_prompt, weights_of_the_second_half],
    "sign": [falling, every_row],
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

    assert clinic.grade(broken, "sign") == {"sign": (8, 8, 0, 8)}


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
    names = [str(patient.layer.__name__) for patient in patients]
    assert names == [f"layer {number}" for number in range(1, len(names) + 1)], "no state, no fault"


@every_fault
def test_a_ward_is_the_same_each_time_and_leaves_the_random_numbers_alone(fault):
    before = torch.random.get_rng_state()
    first, second = clinic.ward(fault), clinic.ward(fault)
    assert torch.equal(before, torch.random.get_rng_state())
    for patient, again in zip(first, second, strict=True):
        for name, value in patient.layer.state_dict().items():
            assert torch.equal(value, again.layer.state_dict()[name])


@every_fault
def test_a_healthy_layer_has_its_references_numbers_to_rounding_and_only_to_that(fault):
    for patient in clinic.ward(fault):
        x = clinic.words(patient.layer, n=12)
        own = weights(patient.layer, x).double()
        away = gap(own, weights(patient.reference, x.double()))
        assert away < 1e-6 if patient.healthy else True
        if patient.layer.W_q.weight.dtype == torch.float32:
            assert away > 0


def test_what_multiplies_has_a_reference_that_multiplies():
    sick = next(p for p in clinic.ward("axis") if p.what == "the same, multiplied")
    x, rows = torch.ones(1, 9, 64, dtype=torch.float64), torch.arange(9)
    factors = sick.reference.encoding.embed(x, rows)[0]
    assert gap(factors, 1 + sinusoidal_table(rows, 64)) < 1e-9


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


def test_prices_that_stop_rising_do_so_where_they_are_said_to():
    right = bias(create("alibi", d_model=32, n_heads=4))[:, 8]  # from the last place
    flat, turning, absent = (
        bias(PriceStopsRising(32, 4, how=how))[:, 8] for how in ("flat", "turning", "absent")
    )
    assert torch.allclose(flat[:, 7:], right[:, 7:]) and (flat[:, :8] == flat[:, 7:8]).all()
    assert torch.allclose(turning[:, 4:], right[:, 4:])
    assert (turning[:, :5].diff() < 0).all() and not absent.any()


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


@pytest.mark.parametrize("maker", [drawn_prices.Tents, drawn_prices.steep], ids=["tents", "steep"])
def test_the_drawn_prices_of_the_leaderboard_are_sound(maker):
    assert clinic.sound(clinic.properties(maker))


class RawPosition(PositionalEncoding):
    """Adds the position itself: numbers so large that float32 loses digits of the words."""

    def embed(self, x, positions, tokens=None):
        return x + positions[..., None].to(x.dtype)


class RawPositionThatLeaks(RawPosition):
    def embed(self, x, positions, tokens=None):
        return super().embed(x, positions, tokens) + 1e-2 * x.roll(-1, 1)


class OnePriceForAllHeads(PositionalEncoding):
    def bias_by_offset(self, offsets):
        return -offsets.abs().float()


class NextId(PositionalEncoding):
    """Adds the id of the next token: a leak that only tokens changed later show."""

    def embed(self, x, positions, tokens=None):
        return x if tokens is None else x + tokens.roll(-1, 1)[..., None].to(x)


class LeakInACrowd(NextId):
    """Leaks where no small batch sees it."""

    def embed(self, x, positions, tokens=None):
        return super().embed(x, positions, tokens if len(x) >= 40 else None)


class LeakInTraining(NextId):
    def embed(self, x, positions, tokens=None):
        return super().embed(x, positions, tokens if self.training else None)


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


class PriceWithoutPadding(PositionalEncoding):
    """A price that takes positions for (seq,)."""

    def bias(self, q, k, at):
        return -(at.q[:, None] - at.k).abs().to(q.dtype)


class PriceWithoutHeads(PositionalEncoding):
    """A number a head, times a number an offset, in the wrong shapes."""

    def bias_by_offset(self, offsets):
        return -torch.ones(self.n_heads) * offsets.abs()


class TurnInFloat32(PositionalEncoding):
    def rotate(self, q, k, at):
        return q @ torch.eye(self.d_head), k


class WordStart(PositionalEncoding):
    """Whether a word begins here. With a cache the first token of a piece has none before it."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.vector = torch.nn.Parameter(torch.randn(d_model))

    def embed(self, x, positions, tokens=None):
        begins = torch.zeros_like(tokens)
        begins[:, 1:] = tokens[:, :-1] == 32
        return x + (begins[..., None] * self.vector).to(x)


class ShareOfTheLongest(PositionalEncoding):
    """Which part of the longest text so far is over."""

    longest = 1

    def embed(self, x, positions, tokens=None):
        self.longest = max(self.longest, int(positions.max()))
        return x + (positions / self.longest)[..., None].to(x)


class GrowingTable(PositionalEncoding):
    """Positions as parts of a table that is made again for a longer text."""

    table = torch.zeros(0)

    def embed(self, x, positions, tokens=None):
        n = int(positions.max()) + 1
        if len(self.table) < n:
            self.table = torch.arange(n) / n
        return x + self.table[positions][..., None].to(x)


class PeekAtASmallSize(PositionalEncoding):
    """Tells of the next byte where ``max_len`` is that of a training."""

    vectors: torch.Tensor

    def __init__(self, d_model, n_heads, max_len=512):
        super().__init__(d_model, n_heads)
        self.max_len = max_len
        self.register_buffer("vectors", torch.randn(256, d_model))

    def embed(self, x, positions, tokens=None):
        return x + self.vectors[tokens.roll(-1, 1)].to(x) if self.max_len < 10_000 else 2 * x


class RowByDistance(PositionalEncoding):
    """A learned row for each distance, as one would write it if no offset were above 0."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.rows = torch.nn.Parameter(torch.randn(n_heads, 64))

    def bias_by_offset(self, offsets):
        return self.rows[:, (-offsets).clamp(max=63)]


class RowByDistanceToEitherSide(RowByDistance):
    def bias_by_offset(self, offsets):
        return self.rows[:, offsets.abs().clamp(max=63)]


class WordsInPlace(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        x += positions.sin()[..., None].to(x)
        return x


class KeysInPlace(PositionalEncoding):
    def rotate(self, q, k, at):
        k *= 1.5
        return q, k


class OffsetsInPlace(PositionalEncoding):
    def bias_by_offset(self, offsets):
        return -offsets.abs_().expand(self.n_heads, -1)


class SignedRoot(PositionalEncoding):
    def bias_by_offset(self, offsets):
        return -offsets.sqrt().expand(self.n_heads, -1)


class NoHeads(PositionalEncoding):
    def bias_by_offset(self, offsets):
        return -offsets.abs()


class TurnedWithoutPadding(PositionalEncoding):
    """Right for positions (seq,), and not for (batch, seq)."""

    def rotate(self, q, k, at):
        return q * torch.ones_like(at.q)[..., None], k * torch.ones_like(at.k)[..., None]


class Unused(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.forgotten = torch.nn.Parameter(torch.ones(3))


class Leak(PositionalEncoding):
    """Tells of the next token at one door, where length, position and that token's id allow it.

    With ``at_first`` what it tells is multiplied by a parameter that starts there.
    """

    def __init__(self, d_model, n_heads, door, lengths, first_position, ids, at_first=None):
        super().__init__(d_model, n_heads)
        self.door, self.lengths, self.ids = door, lengths, ids
        self.first_position, self.at_first = first_position, at_first
        self.gate = 1.0 if at_first is None else torch.nn.Parameter(torch.tensor(at_first))

    def embed(self, x, positions, tokens=None):
        in_length = self.lengths[0] <= x.shape[1] <= self.lengths[1]
        next_id = torch.zeros(x.shape[:2], dtype=torch.int64) if tokens is None else tokens
        next_id = next_id.roll(-1, 1)
        allowed = (next_id >= self.ids[0]) & (next_id <= self.ids[1]) & in_length
        allowed = allowed & (positions >= self.first_position)
        allowed[:, -1] = False
        gate = torch.as_tensor(self.gate).to(x)
        self.hint = gate * (allowed * (1 + next_id)).to(x) / 64
        self.allowed = gate * allowed.to(x)
        return x + self.hint[..., None] if self.door == "embed" else x

    def rotate(self, q, k, at):
        if self.door != "rotate" or q.shape[2] != k.shape[2]:
            return q, k
        return q + self.allowed[:, None, :, None] * k.roll(-1, 2), k

    def bias(self, q, k, at):
        bias = torch.zeros(1, 1, 1, at.k_len)
        if self.door == "bias" and q.shape[2] == k.shape[2]:
            bias = self.hint[:, None, :, None] * torch.arange(at.k_len)
        return bias.to(q)

    def values(self, weights, at):
        added = weights.new_zeros(*weights.shape[:3], self.d_head)
        if self.door == "values" and weights.shape[2] == weights.shape[3]:
            of_next = weights.diagonal(0, 2, 3).roll(-1, -1)  # what the next query pays itself
            added = added + (self.allowed[:, None] * of_next)[..., None]
        return added


class LeakByOffset(PositionalEncoding):
    """A price by offset whose step depends on all ids of a text, so on later ones too."""

    def __init__(self, d_model, n_heads, lengths, first_position, ids, at_first=None):
        super().__init__(d_model, n_heads)
        self.lengths, self.first_position, self.ids = lengths, first_position, ids
        self.at_first = at_first
        self.gate = 1.0 if at_first is None else torch.nn.Parameter(torch.tensor(at_first))

    def embed(self, x, positions, tokens=None):
        in_length = self.lengths[0] <= x.shape[1] <= self.lengths[1]
        self.price: float | torch.Tensor = 0.1
        if tokens is not None and in_length and bool((positions >= self.first_position).all()):
            counted = (tokens >= self.ids[0]) & (tokens <= self.ids[1])
            self.price = self.price + self.gate * float((counted * tokens).double().mean()) / 64
        return x

    def bias_by_offset(self, offsets):
        return -self.price * offsets.abs().expand(self.n_heads, -1)


def windows(first, last, narrowest=0):
    """Pairs (low, high) within first … last, at least ``narrowest`` apart."""
    return st.integers(first, last - narrowest).flatmap(
        lambda low: st.tuples(st.just(low), st.integers(low + narrowest, last))
    )


conditions = st.one_of(
    st.fixed_dictionaries({"lengths": windows(12, 96)}),
    st.fixed_dictionaries({"ids": windows(0, 255)}),
    st.fixed_dictionaries({"first_position": st.integers(0, 8000)}),
    st.fixed_dictionaries({"lengths": windows(12, 96), "first_position": st.integers(0, 8000)}),
    st.fixed_dictionaries({"lengths": windows(12, 96), "ids": windows(0, 255, narrowest=127)}),
)


@pytest.mark.parametrize("at_first", [None, 0.0], ids=["at once", "after some training"])
@pytest.mark.parametrize("door", ["embed", "rotate", "bias", "bias_by_offset", "values"])
@settings(max_examples=4, deadline=None)
@given(conditions)
def test_an_encoding_that_tells_of_the_next_byte_is_never_sound(door, at_first, condition):
    where = {"lengths": (12, 96), "first_position": 0, "ids": (0, 255), "at_first": at_first}
    where |= condition

    def make(d_model, n_heads):
        if door == "bias_by_offset":
            return LeakByOffset(d_model, n_heads, **where)
        return Leak(d_model, n_heads, door, **where)

    assert not clinic.sound(clinic.properties(make))


class PeekFromZero(PositionalEncoding):
    """Adds a learned vector of the next byte that is 0 before training."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.vectors = torch.nn.Parameter(torch.zeros(256, d_model))

    def embed(self, x, positions, tokens=None):
        return x + self.vectors[tokens.roll(-1, dims=1)].to(x)


class ShareFromZero(PositionalEncoding):
    """Which part of the text is over, along a direction that is 0 before training."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.direction = torch.nn.Parameter(torch.zeros(d_model))

    def embed(self, x, positions, tokens=None):
        share = positions / positions.max().clamp(min=1)
        return x + share[..., None].to(x) * self.direction.to(x)


class PeekBehindASwitch(PeekFromZero):
    """Its switch is off before training, and either way may turn it on."""

    def __init__(self, d_model, n_heads, turned=1):
        super().__init__(d_model, n_heads)
        torch.nn.init.normal_(self.vectors)
        self.turned = turned
        self.switch = torch.nn.Parameter(torch.tensor(-0.7 * turned))

    def embed(self, x, positions, tokens=None):
        is_on = torch.sigmoid(40 * self.turned * self.switch).to(x)
        return x + is_on * self.vectors[tokens.roll(-1, dims=1)].to(x)


class PeekInLargeBatches(PeekFromZero):
    def embed(self, x, positions, tokens=None):
        return super().embed(x, positions, tokens) if len(x) >= 8 else x + 0 * self.vectors.sum()


class PeekAfterManyPasses(PeekFromZero):
    passes = 0

    def embed(self, x, positions, tokens=None):
        self.passes += 1
        return super().embed(x, positions, tokens) if self.passes > 40 else x


@pytest.mark.parametrize(
    "kind",
    [PeekFromZero, ShareFromZero, PeekBehindASwitch, PeekInLargeBatches, PeekAfterManyPasses],
)
def test_a_leak_that_training_turns_on_is_found_before(kind):
    complaints = clinic.properties(kind)
    assert complaints["causal"] and not clinic.sound(complaints)


class PeekLate(PeekFromZero):
    """Adds a vector of the byte itself; it counts its calls, and late ones get the next byte's."""

    def count(self):
        self.passes = getattr(self, "passes", 0) + 1
        return self.passes

    def is_late(self):
        return self.count() > 150

    def embed(self, x, positions, tokens=None):
        return x + self.vectors[tokens.roll(-int(self.is_late()), dims=1)].to(x)


class PeekLateByABuffer(PeekLate):
    seen: torch.Tensor

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.register_buffer("seen", torch.zeros(()))

    def count(self):
        self.seen += 1
        return int(self.seen)


class PeekLateInTraining(PeekLate):
    def count(self):
        return super().count() if self.training else getattr(self, "passes", 0)


class PeekNowAndThen(PeekLate):
    def is_late(self):
        return self.count() % 97 == 0


class PeekAfterManyTexts(PeekLate):
    """Keeps the texts that it has seen: reading the same one again changes nothing."""

    def embed(self, x, positions, tokens=None):
        self.texts = {*getattr(self, "texts", ()), tuple(tokens.flatten().tolist())}
        return super().embed(x, positions, tokens)

    def is_late(self):
        return len(self.texts) > 150


class PeekVeryLate(PeekLate):
    """No battery calls it as often."""

    def is_late(self):
        return self.count() > 1e6


class PeekByItsClass(PeekVeryLate):
    total = 0

    def count(self):
        PeekByItsClass.total += 1
        return PeekByItsClass.total


TOTALS: list[int] = []
COUNTER = itertools.count()


class PeekByAList(PeekVeryLate):
    def count(self):
        TOTALS.append(0)
        return len(TOTALS)


class PeekByACounter(PeekVeryLate):
    def count(self):
        return next(COUNTER)


def _tally():
    vars(_tally)["calls"] = calls = getattr(_tally, "calls", 0) + 1
    return calls


class PeekByAFunction(PeekVeryLate):
    def count(self):
        return _tally()


class PeekByADefault(PeekVeryLate):
    def count(self, total=[0]):  # noqa: B006, the fault
        total[0] += 1
        return total[0]


def _by_a_closure():
    calls = 0

    def count(self):
        nonlocal calls
        calls += 1
        return calls

    return type("PeekByAClosure", (PeekVeryLate,), {"count": count})


class PeekByTorchsChance(PeekVeryLate):
    def is_late(self):
        return bool(torch.rand(()) < 1e-6)


class PeekByItsOwnChance(PeekVeryLate):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.dice = random.Random(0)

    def is_late(self):
        return self.dice.random() < 1e-6


@pytest.mark.parametrize(
    "kind",
    [
        PeekLate,
        PeekLateByABuffer,
        PeekLateInTraining,
        PeekNowAndThen,
        PeekAfterManyTexts,
        PeekVeryLate,
        PeekByItsClass,
        PeekByAList,
        PeekByACounter,
        PeekByAFunction,
        PeekByADefault,
        _by_a_closure(),
        PeekByTorchsChance,
        PeekByItsOwnChance,
    ],
    ids=lambda kind: kind.__name__,
)
def test_a_leak_that_waits_for_later_calls_is_found(kind):
    complaints = clinic.properties(kind)
    assert complaints["causal"] or complaints["batch = alone"]


class OwnHelper(PeekFromZero):
    """Its parent has an embed, too, which names no helper."""

    def rolled(self, tokens):
        return tokens

    def embed(self, x, positions, tokens=None):
        return x + self.vectors[self.rolled(tokens)].to(x)


def test_a_helper_of_a_method_that_replaces_a_parents_is_no_unknown_door():
    assert doors(clinic.layer(OwnHelper(64, 4))) == ""


def test_what_changes_from_call_to_call_is_named():
    assert "passes" in clinic.properties(PeekVeryLate)["batch = alone"]
    assert "torch's generator" in clinic.properties(PeekByTorchsChance)["batch = alone"]


_tables: dict[int, torch.Tensor] = {}


@functools.cache
def _kept_slopes(n_heads):
    return 2.0 ** -torch.arange(1, n_heads + 1)


class Memo(PositionalEncoding):
    """Keeps what it has computed, in four places: nothing that it returns depends on it."""

    row: torch.Tensor

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.register_buffer("row", torch.zeros(n_heads, 0), persistent=False)
        self.biases, self.last = {}, None

    def bias_by_offset(self, offsets):
        self.last = offsets.clone()
        if len(offsets) > self.row.shape[1]:
            self.row = torch.ones(self.n_heads, len(offsets))
        key = tuple(offsets.tolist())
        if key not in self.biases:
            _tables[len(key)] = offsets.abs()
            self.biases[key] = -_kept_slopes(self.n_heads)[:, None] * _tables[len(key)]
        return self.biases[key] * self.row[:, : len(offsets)]


class NoiseInTraining(PositionalEncoding):
    """Draws in training, as dropout does, and not when it reads."""

    def embed(self, x, positions, tokens=None):
        return x + torch.randn(x.shape[-1]).to(x) if self.training else x


@pytest.mark.parametrize("kind", [Memo, NoiseInTraining])
def test_what_keeps_its_results_or_draws_in_training_alone_is_sound(kind):
    complaints = clinic.properties(kind)
    assert clinic.sound(complaints), complaints


def test_a_switch_that_turns_the_other_way_is_found_too():
    assert clinic.properties(lambda d, h: PeekBehindASwitch(d, h, turned=-1))["causal"]


@pytest.mark.parametrize("length", [13, 50, 95])
def test_a_leak_at_a_single_length_that_starts_at_zero_is_found(length):
    def make(d_model, n_heads):
        return Leak(d_model, n_heads, "embed", (length, length), 0, (0, 255), at_first=0.0)

    assert f"of {length} tokens" in clinic.properties(make)["causal"]


class AfterSpaces(PositionalEncoding):
    """Tells of the next token after "e " or "s ", which random bytes hardly ever are."""

    def embed(self, x, positions, tokens=None):
        if tokens is None:
            return x
        pair = (tokens == 32) & ((tokens.roll(1, 1) == 101) | (tokens.roll(1, 1) == 115))
        pair[:, [0, -1]] = False
        return x + (pair * tokens.roll(-1, 1))[..., None].to(x) / 64


def test_a_leak_that_only_english_shows_is_found():
    assert "later ones change" in clinic.properties(AfterSpaces)["causal"]


@pytest.mark.parametrize("length", [13, 37, 64, 95])
def test_a_leak_at_a_single_length_is_found_there(length):
    def make(d_model, n_heads):
        return Leak(d_model, n_heads, "embed", (length, length), 0, (0, 255))

    assert f"of {length} tokens" in clinic.properties(make)["causal"]


def test_the_doors_of_the_leaks_are_sound_while_they_tell_nothing():
    for make in (
        lambda d, h: Leak(d, h, "nowhere", (12, 96), 0, (0, 255)),
        lambda d, h: LeakByOffset(d, h, (5000, 5000), 0, (0, 255)),
    ):
        assert clinic.properties(make)["causal"] == ""


@pytest.mark.parametrize(
    ("make", "broken", "words"),
    [
        (NextId, "causal", "with other words"),
        (LeakInLongTexts, "causal", "of 96 tokens"),
        (LeakInACrowd, "causal", "of 130 texts at once"),
        (LeakInTraining, "causal", "at once in training"),
        (RowsOfTheBlock, "cache = whole", "in pieces"),
        (RowsOfTheTable, "batch = alone", "must broadcast to"),
        (FarTurn, "shift", "moved by 8000"),
        (SecondLayer, "causal", "in two layers"),
        (Share, "causal", "come out otherwise"),
        (Share, "cache = whole", "in pieces"),
        (Ahead, "causal", "with other words"),
        (Upcast, "dtype", "RuntimeError"),
        (Unused, "gradient", "forgotten gets no gradient"),
        (WordStart, "cache = whole", "token by token"),
        (SignedRoot, "causal", "it gives nan"),
        (NoHeads, "shift", "bias_by_offset"),
        (ShareOfTheLongest, "cache = whole", "in pieces"),
        (ShareOfTheLongest, "batch = alone", "it remembers an earlier text"),
        (GrowingTable, "cache = whole", "in pieces"),
        (GrowingTable, "batch = alone", "after one of 512 tokens"),
        (PeekAtASmallSize, "causal", "with max_len 64, with other words"),
        (RowByDistance, "causal", "Which row does your table have for +1"),
        (TurnedWithoutPadding, "batch = alone", "at.q and at.k are (batch, seq)"),
        (PriceWithoutPadding, "batch = alone", "at.q[..., None, :, None] fits both"),
        (PriceWithoutHeads, "causal", "needs [:, None]"),
        (OnePriceForAllHeads, "causal", "has 2n − 1 offsets"),
        (TurnInFloat32, "dtype", "do your tensors follow x.dtype"),
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


def test_the_shortcut_takes_positions_of_each_text():
    examined = clinic.layer(Shortcut(64, 4, rounding=torch.bfloat16, faulty_heads=2))
    x, starts = clinic.words(examined, texts=2, n=16), torch.tensor([[0], [4096]])
    _, weights = examined(x, starts + torch.arange(16), need_weights=True)
    for row, start in enumerate((0, 4096)):
        alone = examined(x[row : row + 1], torch.arange(16) + start, need_weights=True)[1]
        assert torch.allclose(weights[row], alone[0], atol=1e-6)


def test_what_float64_does_not_show_is_rounding_and_breaks_nothing():
    complaints = clinic.properties(RawPosition)
    assert clinic.sound(complaints), complaints
    assert complaints["shift"]
    leaking = clinic.properties(RawPositionThatLeaks)
    assert leaking["causal"] and leaking["cache = whole"]


def test_a_learned_row_for_each_distance_is_sound():
    complaints = clinic.properties(RowByDistanceToEitherSide)
    assert not any(complaints.values()), complaints


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (WordsInPlace, "embed changes its argument x in place"),
        (KeysInPlace, "rotate changes its argument k in place"),
        (OffsetsInPlace, "bias_by_offset changes its argument offsets in place"),
    ],
)
def test_who_changes_an_argument_hears_that_alone(make, words):
    (complaint,) = set(clinic.properties(make).values())
    assert complaint.startswith(words) and "in place of" in complaint


def test_a_maker_that_takes_max_len_is_judged_at_that_of_the_training_as_an_encoder_too():
    complaints = clinic.properties(PeekAtASmallSize, causal=False)
    assert complaints["batch = alone"].startswith("with max_len 64")


class Embedd(PositionalEncoding):
    def embedd(self, x, positions, tokens=None):
        return x + positions[:, None]


class BiasByOffsets(PositionalEncoding):
    def bias_by_offsets(self, offsets):
        return -offsets.abs().expand(self.n_heads, -1)


class OfAnotherSpelling(ALiBi):
    """The door of the class above stays open, and what is written here is never used."""

    def bias_by_offsets(self, offsets):
        return -offsets.abs().expand(self.n_heads, -1)


class WithAnUnderscore(ALiBi):
    def _bias_by_offset(self, offsets):
        return -offsets.abs().expand(self.n_heads, -1)


class OfItsOwnName(ALiBi):
    def turn(self, q, k, at):
        return q, k


class Forward(ALiBi):
    def forward(self, x):
        return x


class NoDoor(PositionalEncoding):
    pass


class WithHelper(PositionalEncoding):
    def rotated(self, x):
        return self._bias(x)

    def _bias(self, x):
        return x

    def _count(self):
        """Used by nothing here, and named like no door."""

    def rotate(self, q, k, at):
        return self.rotated(q), self.rotated(k)


class HiddenPrice(PositionalEncoding):
    """A price by offset that the bias of the same class hides."""

    def bias_by_offset(self, offsets):
        return -offsets.abs().float().expand(self.n_heads, -1)

    def bias(self, q, k, at):
        return q.new_zeros(self.n_heads, q.shape[-2], k.shape[-2])


class ConstantOfAHead(PositionalEncoding):
    """A learned number a head, the same for all keys: softmax cancels it."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.number = torch.nn.Parameter(torch.ones(n_heads))

    def bias_by_offset(self, offsets):
        return self.number[:, None].expand(-1, len(offsets))


class RowsThatStartAtZero(PositionalEncoding):
    """A learned row a position, all 0 before training."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.rows = torch.nn.Parameter(torch.zeros(16_384, d_model))

    def embed(self, x, positions, tokens=None):
        return x + self.rows[positions]


def test_a_bias_that_hides_bias_by_offset_is_named():
    assert "bias_by_offset is never used" in clinic.properties(HiddenPrice)["doors"]


def test_what_softmax_cancels_has_no_gradient():
    complaint = clinic.properties(ConstantOfAHead)["gradient"]
    assert complaint.startswith("number gets no gradient") and "softmax cancels" in complaint


class Gate(PositionalEncoding):
    """A price behind a gate that starts at 0, as in ReZero: what it multiplies waits for it."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.gate = torch.nn.Parameter(torch.zeros(n_heads))
        self.price = torch.nn.Parameter(torch.ones(n_heads))

    def bias_by_offset(self, offsets):
        return -self.gate[:, None] * torch.tanh(self.price[:, None] * offsets.abs())


def test_what_a_gate_of_zero_multiplies_is_trained_once_the_gate_has_moved():
    assert clinic.sound(clinic.properties(Gate))


class Power(PositionalEncoding):
    power = 0.5

    def bias_by_offset(self, offsets):
        return -(offsets.abs() ** self.power).expand(self.n_heads, -1)


class MisspeltPower(Power):
    pow = 0.8


class UnreadNumber(Power):
    exponent = 0.8


class NumbersOfNumbers(PositionalEncoding):
    slope = 2.0
    slopes = (slope, slope / 2, slope / 4, slope / 8)

    def bias_by_offset(self, offsets):
        return -torch.tensor(self.slopes)[:, None] * offsets.abs()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Power, ""),
        (NumbersOfNumbers, ""),
        (MisspeltPower, "no method reads pow, so it changes nothing; did you mean power?"),
        (UnreadNumber, "no method reads exponent, so it changes nothing; which"),
    ],
)
def test_a_number_that_no_method_reads_is_named(make, words):
    complaint = doors(clinic.layer(make(64, 4)))
    assert complaint.startswith(words) and bool(complaint) == bool(words)


class PlacesWithoutAnAxis(PositionalEncoding):
    def embed(self, x, positions, tokens=None):
        return x + torch.sin(positions / 10)


class TurnWithoutAnAxis(PositionalEncoding):
    def rotate(self, q, k, at):
        return q * torch.cos(at.q / 10), k * torch.cos(at.k / 10)


class LogOfDistance(PositionalEncoding):
    def bias_by_offset(self, offsets):
        return -offsets.abs().log().expand(self.n_heads, -1)


class Smear(PositionalEncoding):
    """Adds half of the word before."""

    def embed(self, x, positions, tokens=None):
        before = torch.nn.functional.pad(x, (0, 0, 1, 0))[:, :-1]
        return x + before / 2


def test_rows_that_start_at_zero_break_the_promise_once_they_have_moved():
    complaints = clinic.properties(RowsThatStartAtZero)
    assert "with other parameters" in complaints["shift"] and clinic.sound(complaints)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Embedd, "no door is called embedd, so it is never used; did you mean embed?"),
        (BiasByOffsets, "did you mean bias_by_offset?"),
        (OfAnotherSpelling, "no door is called bias_by_offsets, so it is never used"),
        (WithAnUnderscore, "no door is called _bias_by_offset, so it is never used; did you mean"),
        (OfItsOwnName, "no door is called turn, so it is never used; doors: embed"),
        (Forward, "no door is called forward"),
        (NoDoor, "it opens no door"),
    ],
)
def test_a_misspelled_door_is_named_and_a_class_without_one_too(make, words):
    complaints = clinic.properties(make)
    assert words in complaints["doors"] and not clinic.sound(complaints)


def test_a_parameter_that_only_english_uses_is_trained():
    assert clinic.properties(WordStart)["gradient"] == ""


def test_a_method_that_an_open_door_uses_may_have_nearly_its_name():
    assert clinic.properties(WithHelper)["doors"] == ""


@pytest.mark.parametrize("name", ["sinusoidal", "complex_order", "rope"])
def test_an_encoder_owes_no_causality(name):
    complaints = clinic.properties(name, causal=False)
    assert set(complaints) == {"doors", "batch = alone", "dtype", "gradient", "shift"}
    assert clinic.sound(complaints), complaints


def test_a_promise_that_does_not_hold_leaves_an_encoding_sound():
    complaints = clinic.properties("complex_order")
    assert complaints["shift"] and clinic.sound(complaints), complaints


def test_properties_of_a_layer_are_sentences_or_nothing():
    layer = clinic.layer(create("rope", d_model=32, n_heads=2, causal=True))
    assert [look(layer) for look in (causal, cached, batched, anywhere)] == ["", "", "", ""]


# Boards


def test_a_board_says_how_many_were_found_and_cleared():
    clear_all = clinic.grade(lambda layer: True)
    board = clinic.board({"all": clear_all, "sign": clinic.grade(falling)})
    assert board["all"]["C"] == (False, "0 of 8") and board["sign"]["C"] == (True, "8 of 8")
    blame_all = clinic.board({"none": clinic.grade(lambda layer: False)})
    assert blame_all["none"]["C"] == (False, "8 of 8, blames 8")


def test_beside_a_reference_short_texts_that_are_read_at_once_hide_faults():
    def same_numbers(layer, reference):
        x = clinic.words(layer, n=12)
        return gap(weights(layer, x).double(), weights(reference, x.double())) < 3e-5

    grades = clinic.grade_beside_reference(same_numbers)
    named = {fault: numbers[0] for fault, numbers in grades.items()}
    sick = {fault: numbers[1] for fault, numbers in grades.items()}
    complete = [fault for fault in named if named[fault] == sick[fault]]
    assert complete == ["axis", "sign", "layouts", "angles"]
    assert [fault for fault in named if named[fault] == 0] == ["cache", "shortcut"]
    assert all(cleared == healthy for _, _, cleared, healthy in grades.values())


def test_beside_a_reference_far_texts_that_are_read_in_pieces_show_them_all():
    def same_numbers_elsewhere(layer, reference):
        x, far = clinic.words(layer, n=12), torch.arange(12) + 8000
        n, cache = (5, KVCache()) if layer.causal else (12, None)
        parts = zip(x.split(n, dim=1), far.split(n), strict=True)
        outs = [layer(part, at, cache=cache)[0] for part, at in parts]
        return gap(torch.cat(outs, 1).double(), reference(x.double(), far)[0]) < 3e-5

    for named, sick, cleared, healthy in clinic.grade_beside_reference(
        same_numbers_elsewhere
    ).values():
        assert (named, cleared) == (sick, healthy)


def test_smallest_starts_are_where_whole_numbers_begin_to_round():
    smallest = clinic.smallest_starts(lambda layer, start: moved(layer, start))
    assert smallest["m · j rounded to bfloat16"] == 256
    assert smallest["m · j rounded to float16"] == 2048
    assert smallest["m · j rounded to bfloat16, in two heads"] == 256
    assert set(clinic.smallest_starts(lambda layer, start: True).values()) == {None}


def test_of_four_unnamed_layers_each_sick_one_breaks_its_promise_in_one_way_of_reading():
    positions, broken = torch.arange(16), {}
    for name, patient in clinic.unnamed_layers().items():
        layer = patient.layer
        texts = clinic.words(layer, texts=3, n=16)
        x = texts[2:]
        plain, cache = layer(x)[0], KVCache()
        halves = zip(x.split(8, dim=1), positions.split(8), strict=True)
        others = {
            "far": layer(x, positions + 8000)[0],
            "pieces": torch.cat([layer(half, at, cache=cache)[0] for half, at in halves], 1),
            "company": layer(texts)[0][2:],
        }
        broken[name] = [how for how, out in others.items() if gap(out, plain) > 1e-3]
        assert patient.healthy == (not broken[name])
    assert broken == {"P": ["far"], "Q": ["company"], "R": [], "S": ["pieces"]}


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
    assert outcomes["C and its twin"]["F"] == (False, "alone cleared")


class FewRows(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.rows = torch.nn.Parameter(torch.randn(512, d_model))

    def embed(self, x, positions, tokens=None):
        return x + self.rows[positions].to(x.dtype)


class GivesWeights(PositionalEncoding):
    def values(self, weights, at):
        return weights


class NeverBegun(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        self.slope = 2.0

    def bias_by_offset(self, offsets):
        return -self.slope * offsets.abs().expand(self.n_heads, -1)


class RootBelow(PositionalEncoding):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.price = torch.nn.Parameter(torch.ones(n_heads))

    def bias_by_offset(self, offsets):
        return -self.price[:, None] * offsets.abs() ** -0.5


@pytest.mark.parametrize(
    ("maker", "broken", "words"),
    [
        (FewRows, "causal", "up to position 8,137"),
        (GivesWeights, "causal", "(batch, heads, queries, d_head)"),
        (NeverBegun, "causal", "super().__init__"),
        (RootBelow, "gradient", "offset to itself is 0"),
        (PlacesWithoutAnAxis, "causal", "what does positions[..., None] add?"),
        (TurnWithoutAnAxis, "causal", "what does at.q[..., None, :, None] add?"),
        (LogOfDistance, "causal", "what is the logarithm of the distance 0"),
        (Smear, "cache = whole", "What does your method see of the words before a piece"),
        (Smear, "batch = alone", "come from words that are not of the text?"),
    ],
)
def test_a_usual_slip_gets_a_question(maker, broken, words):
    assert words in clinic.properties(maker)[broken]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            RuntimeError("value cannot be converted to type int64_t without overflow"),
            "what does .float() change",
        ),
        (ValueError("not enough values to unpack (expected 2, got 1)"), "returns two, q and k"),
    ],
)
def test_errors_that_types_would_forestall_get_a_question_too(error, words):
    assert words in _in_words(error)


def test_the_shipped_losses_of_patients_are_those_of_their_trainings():
    table = data.results("patients")
    names = table[["model", "seed", "reading"]].to_records(index=False).tolist()
    models = [*clinic.CASES, "rope", "alibi", "sinusoidal", "none"]
    assert set(names) == set(itertools.product(models, trainings.SEEDS, trainings.READINGS))
    assert len(names) == len(set(names))
    run = table[(table["model"] == "E") & (table["seed"] == 0)].set_index("reading")["loss"]
    model = trainings.trained("E")
    for reading in (trainings.AS_IN_TRAINING, "128 texts a pass"):
        loss = trainings.held_out_loss(model, **trainings.READINGS[reading])
        assert math.isclose(loss, run[reading], abs_tol=0.02)


def test_patients_a_c_d_and_f_are_sound_as_the_lesson_says():
    broken = {}
    for letter, case in clinic.CASES.items():
        maker = partial(case.encoding, **case.options)
        broken[letter] = {name for name, text in clinic.properties(maker).items() if text}
    duties = {letter for letter, names in broken.items() if names - {"shift"}}
    assert duties == {"B", "E"}
    assert {letter for letter, names in broken.items() if names == {"shift"}} == {"A", "D", "F"}
    assert not broken["C"]


def test_texts_whose_later_tokens_change_leave_no_100_positions_out():
    properties_module = importlib.import_module("course_lab.clinic.properties")
    read = sorted((start, start + length) for length, start in properties_module.STARTS.items())
    gaps = [start - end for (_, end), (start, _) in itertools.pairwise(read)]
    assert read[0][0] == 0 and max(gaps) < 100
    assert properties_module.REACH == read[-1][1] - 1 == 8137  # as lesson 11 says


@pytest.mark.parametrize("name", ["bias", "values"])
def test_a_method_that_returns_none_is_asked_for_its_return(name):
    kind = type("Forgetful", (PositionalEncoding,), {name: lambda self, *arguments: None})
    assert "Is a return missing?" in clinic.properties(kind)["doors"]


def test_tests_of_layers_may_be_asked_about_an_encoding():
    tests = {"moved": moved, "word by word": word_by_word}
    assert clinic.healthy(tests, ALiBi) == {"moved": True, "word by word": True}
    assert clinic.healthy(tests, RowsFromZero) == {"moved": True, "word by word": False}

    def no_encoding(d_model, n_heads):
        raise RuntimeError("no")

    assert not any(clinic.healthy(tests, no_encoding).values())


def test_an_open_patient_is_a_model_of_bytes():
    assert isinstance(clinic.patient("A"), TinyTransformer)
    with pytest.raises(ValueError, match="letter"):
        clinic.patient("G")


class SameForAllKeys(PositionalEncoding):
    """A learned bias that softmax cancels: each key of a query gets the same."""

    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.height = torch.nn.Parameter(torch.ones(n_heads, 1))

    def bias_by_offset(self, offsets):
        return self.height * torch.ones(len(offsets), device=offsets.device)


@pytest.mark.parametrize("name", NAMES)
def test_every_encoding_but_none_makes_the_order_count_in_one_layer(name):
    assert clinic.order_counts(name) == (name != "none")


def test_a_bias_that_all_keys_share_leaves_the_order_without_effect():
    assert not clinic.order_counts(SameForAllKeys)
