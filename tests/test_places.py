"""Places: what is known of positions, blocks of queries, what a pass keeps, who reads values."""

import contextlib
import inspect

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pairwise import pairwise

from course_utils import encodings
from course_utils.attention import KVCache, MultiHeadAttention, attention_weights, blocks
from course_utils.encodings import NAMES, Places, PositionalEncoding, Rotary, alibi, create, rope
from course_utils.encodings.offsets import skew, toeplitz
from course_utils.models import TinyTransformer

lengths = st.integers(1, 12)
rows = st.lists(st.integers(-3, 8), min_size=1, max_size=6)


def two_heads(offsets):
    return torch.stack([offsets.double().sin(), offsets.double() / 3])


@given(rows, rows)
def test_an_offset_is_key_minus_query(q_row, k_row):
    at = Places(torch.tensor(q_row), torch.tensor(k_row))
    assert at.offsets.tolist() == [[j - i for j in k_row] for i in q_row]
    assert torch.equal(at.later, at.offsets > 0)


def test_rows_of_a_batch_have_their_own_offsets():
    q, k = torch.tensor([[0, 1], [5, 9]]), torch.tensor([[0, 1, 2], [4, 5, 9]])
    at = Places(q, k)
    assert at.offsets.shape == (2, 1, 2, 3)
    for offsets, q_row, k_row in zip(at.offsets, q, k, strict=True):
        assert torch.equal(offsets[0], Places(q_row, k_row).offsets)


@given(rows, rows)
def test_order_is_known_exactly_where_positions_can_be_read(before, q_row):
    keys = [*before, *q_row]
    at = Places(torch.tensor(q_row), torch.tensor(keys))
    rises = all(a < b for a, b in zip(q_row, q_row[1:], strict=False))
    assert at.ascending == (rises and max(before) < q_row[0])
    counts = [all(b - a == 1 for a, b in zip(row, row[1:], strict=False)) for row in (q_row, keys)]
    assert at.consecutive == all(counts)
    assert at.rising == all(a < b for a, b in zip(keys, keys[1:], strict=False))


def test_rows_are_consecutive_together_only_where_all_have_the_same_offsets():
    keys = torch.arange(4) + torch.tensor([[0], [7]])
    assert Places(keys[:, 2:], keys).consecutive
    assert not Places(torch.tensor([[2, 3], [8, 9]]), keys).consecutive


def test_a_pass_with_a_bias_by_offset_looks_for_no_later_keys(monkeypatch):
    """One row says it for the whole block: no matrix of what is hidden is made."""
    looked_at = []
    monkeypatch.setattr(Places, "later", property(lambda at: looked_at.append(at)))
    attention = MultiHeadAttention(16, 2, create("alibi", d_model=16, n_heads=2), causal=True)
    attention(torch.randn(1, 300, 16))
    assert looked_at == []


@pytest.mark.parametrize("name", ["alibi", "transformer_xl"])
def test_positions_counted_on_from_gaps_are_not_taken_for_consecutive(name):
    encoding = create(name, d_model=16, n_heads=2, causal=True)
    attention, cache = MultiHeadAttention(16, 2, encoding, causal=True), KVCache()
    x = torch.randn(1, 5, 16)
    attention(x[:, :3], torch.tensor([0, 2, 5]), cache=cache)
    later = attention(x[:, 3:], cache=cache)[0]
    at_once = attention(x, torch.tensor([0, 2, 5, 6, 7]))[0]
    assert float((later - at_once[:, 3:]).detach().abs().max()) <= 1e-5


def test_queries_that_are_not_the_last_keys_are_in_no_order():
    assert not Places(torch.tensor([1, 2]), torch.tensor([1, 2, 3])).ascending
    assert not Places(torch.tensor([4, 5]), torch.tensor([3, 4])).ascending


@given(lengths, st.integers(0, 9), st.integers(1, 5), st.booleans(), st.booleans())
def test_blocks_hold_every_query_once_and_all_keys_that_it_may_see(
    q_len, before, size, causal, counted
):
    keys = torch.arange(before + q_len) if counted else torch.randperm(before + q_len)
    at, queries = Places(keys[before:], keys), []
    for rows, block in at.blocks(size, causal):
        assert block.q.tolist() == keys[before:][rows].tolist()
        queries += block.q.tolist()
        for query in block.q.tolist():
            left_out = set(keys.tolist()) - set(block.k.tolist())
            assert not left_out or (causal and min(left_out) > query)
    assert queries == keys[before:].tolist()


@given(lengths, st.integers(0, 9), st.integers(1, 5), st.booleans())
def test_a_bias_by_offset_is_the_same_in_blocks(q_len, before, size, causal):
    at = Places(torch.arange(before, before + q_len), torch.arange(before + q_len))
    whole = at.by_offset(two_heads)
    assert torch.equal(whole, two_heads(at.offsets.flatten()).view(1, 2, q_len, -1))
    for rows, block in at.blocks(size, causal):
        assert torch.equal(block.by_offset(two_heads), whole[:, :, rows, : block.k_len])
        row = at.diagonals(two_heads, "two heads")[:, block.own_diagonals]
        assert torch.equal(row, block.diagonals(two_heads, "two heads"))
        matrix = toeplitz(row, block.q_len, block.k_len)
        assert torch.equal(matrix[None], whole[:, :, rows, : block.k_len])


@given(lengths, st.integers(0, 9), st.integers(1, 4), st.sampled_from([1, 2]), st.integers(0, 99))
def test_the_fast_path_gives_what_its_slow_twin_gives(q_len, before, size, group, seed):
    torch.manual_seed(seed)
    at = Places(torch.arange(before, before + q_len), torch.arange(before + q_len))
    q = torch.randn(2, 2, q_len, 4, dtype=torch.float64)
    k, v = torch.randn(2, 2, 2 // group, at.k_len, 4, dtype=torch.float64)
    bias = 30 * torch.randn(2, q_len + at.k_len - 1, dtype=torch.float64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK", size)
        fast = blocks.attend_by_offset(q, k, v, at, bias, 0.5)
    slow = blocks.attend_by_offset_at_once(q, k, v, at, bias, 0.5)
    torch.testing.assert_close(fast, slow, rtol=0, atol=1e-10)
    hidden = bias.masked_fill(at.diagonal_offsets > 0, -torch.inf)
    weights = attention_weights(
        q, k.repeat_interleave(group, 1), 0.5, toeplitz(hidden, at.q_len, at.k_len)
    )
    expected = weights @ v.repeat_interleave(group, 1)
    torch.testing.assert_close(slow, expected, rtol=0, atol=1e-10)


class Reworked(PositionalEncoding):
    """A steep bias by offset, then taken back or outweighed by something else."""

    def __init__(self, d_model, n_heads, way):
        super().__init__(d_model, n_heads)
        self.way = way

    def bias(self, q, k, at):
        steep = at.by_offset(lambda offsets: -offsets.abs().float().expand(2, *offsets.shape))
        return steep * 0.0 if self.way == "times 0" else steep + (at.k == 0) * 500.0


@pytest.mark.parametrize("way", ["times 0", "plus"])
@torch.no_grad()
def test_an_encoding_may_go_on_with_what_it_got_by_offset(way):
    attention = MultiHeadAttention(16, 2, Reworked(16, 2, way), causal=True)
    x = torch.randn(1, 400, 16)
    assert (attention(x)[0] - attention(x, need_weights=True)[0]).abs().max() <= 1e-5


@given(lengths, st.integers(0, 9), st.integers(1, 5))
def test_what_belongs_to_queries_and_diagonals_is_the_same_in_blocks(q_len, before, size):
    at = Places(torch.arange(before, before + q_len), torch.arange(before + q_len))
    values = torch.randn(q_len)
    whole = skew(values[:, None] * at.diagonals(torch.Tensor.double, "offsets"))
    assert torch.equal(whole, values[:, None] * at.offsets.double())
    for rows, block in at.blocks(size, causal=True):
        part = values[rows][:, None] * block.diagonals(torch.Tensor.double, "offsets")
        assert torch.equal(skew(part), whole[rows, : block.k_len])


def test_a_table_of_diagonals_is_computed_once_a_pass():
    computed = []
    at = Places(torch.arange(300))

    def noted(offsets):
        computed.append(len(offsets))
        return offsets

    for _ in range(2):
        at.diagonals(noted, "noted")
        for _, block in at.blocks(128, causal=True):
            block.diagonals(noted, "noted")
    at.diagonals(noted, "other")
    assert computed == [599, 599]


def test_nothing_computed_in_inference_mode_is_kept():
    at = Places(torch.arange(3))
    with torch.inference_mode():
        at.keep("table", torch.zeros(1))
    assert "table" not in at.kept
    assert at.keep("table", torch.zeros(1)) is at.kept["table"]


class Told(Rotary):
    """RoPE with an option that is not among RoPE's: both layers have the same options but this."""

    def __init__(self, d_model, n_heads, speed=1.0):
        super().__init__(d_model, n_heads)
        self.speed = speed

    def turns(self, at):
        return super().turns(Places(at.q * self.speed, at.k * self.speed))


@pytest.mark.parametrize("kind", [Rotary, Told])
def test_layers_with_encodings_of_their_own_never_read_each_others_tables(kind):
    slow, fast = kind(16, 2), kind(16, 2)
    fast.base = 50.0
    q, at = torch.randn(1, 2, 5, 8), Places(torch.arange(5))
    slow_q, fast_q = slow.rotate(q, q, at)[0], fast.rotate(q, q, at)[0]
    assert torch.equal(fast_q, fast.rotate(q, q, Places(torch.arange(5)))[0])
    assert float((slow_q - fast_q).abs().max()) > 0.1


def test_all_layers_share_one_table_of_angles(monkeypatch):
    model, angles = TinyTransformer(5, "rope", d_model=8, n_layers=3, n_heads=2), []
    real = rope.rope_angles

    def counted(*given):
        angles.append(1)
        return real(*given)

    monkeypatch.setattr(rope, "rope_angles", counted)
    model(torch.zeros(1, 4, dtype=torch.long))
    assert len(angles) == 1


DOORS = [
    name
    for name in NAMES
    if {"rotate", "bias", "values"} & set(create(name, d_model=16, n_heads=2).doors)
]


@pytest.mark.parametrize("name", DOORS)
def test_texts_with_positions_of_their_own_get_what_each_gets_alone(name):
    encoding = create(name, d_model=16, n_heads=2, causal=True).double()
    q, k = torch.randn(2, 3, 2, 5, 8, dtype=torch.float64)
    positions = torch.stack([torch.arange(5), torch.arange(5) + 40, torch.tensor([7, 1, 3, 0, 9])])
    weights = torch.rand(3, 2, 5, 5, dtype=torch.float64)

    def added(q, k, weights, at):
        turned, keys = encoding.rotate(q, k, at)
        return turned @ keys.mT, encoding.bias(q, k, at), encoding.values(weights, at)

    together = added(q, k, weights, Places(positions))
    for text, row in enumerate(positions):
        alone = added(q[text, None], k[text, None], weights[text, None], Places(row))
        for in_batch, expected in zip(together, alone, strict=True):
            assert (in_batch is None) == (expected is None)
            if expected is not None:
                in_batch = in_batch.expand(3, *in_batch.shape[1:])[text]
                torch.testing.assert_close(in_batch, expected[0], rtol=0, atol=1e-10)


# On this device no value can be read: whoever tries to, which on a GPU means to wait, fails.
READS = {"floater": "how far its path goes depends on the largest position"}


@pairwise(
    name=[name for name in NAMES if name not in READS], counted=(True, False), length=(6, 300)
)
def test_no_value_is_read_in_a_pass_on_a_gpu(name, counted, length, monkeypatch):
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())
    model = TinyTransformer(7, name, d_model=16, n_layers=2, n_heads=2).to("meta")
    ids = torch.zeros(1, length, dtype=torch.long, device="meta")
    positions = None if counted else torch.arange(length, device="meta")
    with torch.no_grad():
        assert model(ids, positions).shape == (1, length, 7)


@pytest.mark.parametrize(
    ("name", "module", "formula", "door"),
    [
        ("rope", rope, "rope_frequencies", ["Rotary.rotate", "Rotary.turns"]),
        ("alibi", alibi, "alibi_bias", ["MultiHeadAttention._attend", "ALiBi.bias_by_offset"]),
    ],
)
def test_from_the_model_to_a_formula_it_is_seven_calls(name, module, formula, door, monkeypatch):
    """The formula is the seventh: each of the six before is a step that a reader wants to see."""
    calls = []
    real = getattr(module, formula)

    def inside(frame):
        return "/course_utils/" in frame.f_code.co_filename.replace("\\", "/")

    def watched(*args, **options):
        frames = [info.frame for info in inspect.stack()[1:]]
        calls.append([frame.f_code.co_qualname for frame in frames if inside(frame)])
        return real(*args, **options)

    model = TinyTransformer(5, name, d_model=8, n_layers=1, n_heads=2)
    monkeypatch.setattr(module, formula, watched)
    model(torch.zeros(1, 4).long())
    assert list(reversed(calls[0])) == [
        "TinyTransformer.forward",
        "Stack.hidden_and_weights",
        "Block.forward",
        "MultiHeadAttention.forward",
        *door,
    ]
    assert getattr(encodings.functional, formula) is real


# Keys that a bias leaves no weight are hidden too


class Given(PositionalEncoding):
    """A bias by offset that a test chooses."""

    def __init__(self, function, n_heads=8, d_model=32):
        super().__init__(d_model, n_heads)
        self.function = function

    def bias_by_offset(self, offsets):
        return self.function(offsets)


def straight(steepest, at_home=0.0):
    """Each head's slope half of the one before, as ALiBi's are; ``at_home`` at offset 0."""
    slopes = steepest / 2 ** torch.arange(8)
    return lambda offsets: at_home + slopes[:, None] * offsets.abs()


BIASES = {
    "ALiBi": straight(-0.5),
    "all far below 0": straight(-0.5, at_home=-100.0),
    "largest far away": straight(0.5),
    "largest at later keys": lambda offsets: straight(-0.5)(offsets) + 200 * (offsets > 0),
}


def short_vectors(length):
    return torch.randn(1, length, 32) / 4


def long_vectors(length):
    """Words of which some late ones ask for the first, not for themselves: a score of 128."""
    x = torch.randn(1, length, 32) / 4
    x[:, 0], x[:, length // 2 :: 7] = 8, -8
    return x


def attended(function, x, projections=1.0):
    attention = MultiHeadAttention(32, 8, Given(function), causal=True)
    torch.manual_seed(1)
    with torch.no_grad():
        attention.W_q.weight.copy_(-projections * torch.eye(32))
        attention.W_k.weight.copy_(projections * torch.eye(32))
        for W in (attention.W_v, attention.W_o):
            W.weight.copy_(torch.randn(32, 32) / 32**0.5)
        return attention(x)[0]


def changed_by_hiding(monkeypatch, *case):
    """By how much the rule changes an output."""
    with_it = attended(*case)
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "NEGLIGIBLE_LOG_WEIGHT", float("inf"))
        return float((with_it - attended(*case)).abs().max())


@pytest.fixture
def hidden_diagonals(monkeypatch):
    """How many diagonals have been hidden that no query comes before."""
    count, real = [0], blocks.without_negligible

    def watched(bias, *rest):
        left = real(bias, *rest)
        count[0] += int((left.isinf() & ~bias.isinf()).sum())
        return left

    monkeypatch.setattr(blocks, "without_negligible", watched)
    return count


@pytest.mark.parametrize("function", BIASES.values(), ids=BIASES)
@pytest.mark.parametrize("words", [short_vectors, long_vectors])
def test_keys_without_weight_are_hidden_and_no_output_changes(
    function, words, monkeypatch, hidden_diagonals
):
    assert changed_by_hiding(monkeypatch, function, words(1024)) <= 1e-6
    if words is short_vectors and function is BIASES["ALiBi"]:
        assert hidden_diagonals[0] > 1024


def test_what_long_vectors_say_outweighs_a_bias_of_minus_100(monkeypatch):
    """Where scores were not looked at, far keys that matter most would be hidden."""
    x = long_vectors(1024)
    assert changed_by_hiding(monkeypatch, BIASES["ALiBi"], x) <= 1e-6
    monkeypatch.setattr(blocks, "score_spread", lambda q, k, scale: torch.zeros(8))
    assert changed_by_hiding(monkeypatch, BIASES["ALiBi"], x) > 0.1


def test_no_weight_is_little_enough(monkeypatch):
    """Scores that are all 0 leave the bias alone to decide: at 4 below, 2 % would be lost."""
    x = torch.randn(1, 1024, 32)
    assert changed_by_hiding(monkeypatch, BIASES["ALiBi"], x, 0.0) <= 1e-6
    monkeypatch.setattr(blocks, "NEGLIGIBLE_LOG_WEIGHT", 4.0)
    assert changed_by_hiding(monkeypatch, BIASES["ALiBi"], x, 0.0) > 1e-3


def test_grouped_queries_are_measured_against_the_keys_that_they_share():
    q, k = torch.randn(2, 8, 5, 4), torch.randn(2, 2, 9, 4)
    scores = 0.5 * q @ k.repeat_interleave(4, dim=1).mT
    most = (scores.amax(-1) - scores.amin(-1)).amax((0, 2))
    assert bool((blocks.score_spread(q, k, 0.5) >= most).all())
    alike = torch.ones(1, 8, 1, 4), torch.tensor([1.0, -1.0])[:, None].expand(1, 2, 2, 4)
    assert blocks.score_spread(*alike, 0.5).tolist() == pytest.approx([4.0] * 8)
