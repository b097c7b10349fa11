"""Encodings at door 1: learned tables, complex order and the sinusoidal grid."""

import cmath
import math

import pytest
import torch
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from pairwise import each_once
from positional_encodings.torch_encodings import PositionalEncoding2D
from torch.nn import functional as F
from transformers.models.bert.modeling_bert import BertConfig, BertEmbeddings
from transformers.models.vit_mae.modeling_vit_mae import build_2d_sinusoidal_position_embedding

from course_utils.encodings import ComplexOrder, Learned, Multiplicative, Sinusoidal, Sinusoidal2D
from course_utils.encodings.functional import (
    decomposed_table,
    sinusoidal_frequencies,
    sinusoidal_grid,
    sinusoidal_table,
)

quarter_widths = st.integers(1, 16).map(lambda quarter: 4 * quarter)
both = pytest.mark.parametrize("kind", [Learned, Multiplicative])
SHAPES = [(1, 1, 4), (2, 7, 8), (3, 33, 24), (1, 120, 64)]
shapes = pytest.mark.parametrize(("batch", "seq", "d_model"), SHAPES)


def applied(encoding, x, rows):
    """What an encoding makes of x and the rows of its table."""
    return x + rows if isinstance(encoding, Learned) else x * rows


@given(st.integers(2, 9), st.integers(0, 80), st.floats(0.1, 0.9))
def test_a_decomposed_table_keeps_its_rows_and_has_two_digits_beyond(n, row, alpha):
    table = torch.randn(n, 5, generator=torch.Generator().manual_seed(n)).double()
    row = row % (n * n)
    longer = decomposed_table(table, n * n, alpha)
    assert gap(longer[:n], table) < 1e-12
    digits = [(table[digit] - alpha * table[0]) / (1 - alpha) for digit in divmod(row, n)]
    assert gap(longer[row], alpha * digits[0] + (1 - alpha) * digits[1]) < 1e-12


def shuffled_alike(encoding, x, row, order, tokens=None):
    """Whether shuffled tokens at shuffled positions give the shuffled result, to the bit."""
    mixed = None if tokens is None else tokens[:, order]
    shuffled = encoding.embed(x[:, order], row[order], mixed)
    return torch.equal(shuffled, encoding.embed(x, row, tokens)[:, order])


# Learned tables


@both
@shapes
def test_a_table_is_read_at_each_position(kind, batch, seq, d_model):
    encoding = kind(d_model, 2, max_len=seq + 3)
    x, row = torch.randn(batch, seq, d_model), torch.randperm(seq + 3)[:seq]
    out = encoding.embed(x, row)
    for place, position in enumerate(row.tolist()):
        read = encoding.table[position]
        assert torch.equal(out[:, place], applied(encoding, x[:, place], read))


@shapes
def test_learned_agrees_with_berts_embeddings(batch, seq, d_model):
    config = BertConfig(
        vocab_size=11,
        hidden_size=d_model,
        max_position_embeddings=seq + 5,
        hidden_dropout_prob=0.0,
        type_vocab_size=1,
        num_attention_heads=1,
    )
    bert = BertEmbeddings(config).eval()
    ours = Learned(d_model, 1, max_len=seq + 5)
    ours.load_state_dict({"table": bert.position_embeddings.weight})
    words, row = torch.randint(11, (batch, seq)), torch.randperm(seq + 5)[:seq]
    x = bert.word_embeddings(words) + bert.token_type_embeddings.weight[0]
    expected = bert(input_ids=words, position_ids=row.expand(batch, -1))
    normalised = F.layer_norm(
        ours.embed(x, row), (d_model,), bert.LayerNorm.weight, bert.LayerNorm.bias, 1e-12
    )
    assert gap(normalised, expected) <= 1e-5


@both
@given(st.permutations(range(9)))
def test_shuffled_tokens_at_shuffled_positions_give_the_shuffled_result(kind, order):
    for beyond in ["error", "clamp", "interpolate"]:
        encoding = kind(8, 2, max_len=12, beyond=beyond)
        assert shuffled_alike(encoding, torch.randn(2, 9, 8), torch.arange(9) + 3, list(order))


@both
@given(st.lists(st.integers(0, 19), min_size=1, max_size=12))
def test_inside_the_table_all_three_kinds_of_beyond_agree(kind, row):
    x = torch.randn(1, len(row), 8)
    outs = []
    for beyond in ["error", "clamp", "interpolate"]:
        encoding = kind(8, 2, max_len=20, beyond=beyond)
        torch.nn.init.uniform_(encoding.table, generator=torch.Generator().manual_seed(1))
        outs.append(encoding.embed(x, torch.tensor(row)))
    assert torch.equal(outs[0], outs[1])
    assert torch.equal(outs[0], outs[2])


@both
def test_clamp_reads_the_last_row_past_the_end(kind):
    encoding = kind(8, 2, max_len=5, beyond="clamp")
    x = torch.randn(2, 4, 8)
    out = encoding.embed(x, torch.tensor([3, 4, 5, 10**9]))
    assert torch.equal(out, applied(encoding, x, encoding.table[[3, 4, 4, 4]]))


@both
@given(st.integers(1, 40))
def test_interpolating_to_twice_the_length_hits_the_old_rows_at_even_places(kind, max_len):
    encoding = kind(8, 2, max_len=max_len, beyond="interpolate")
    longer = 2 * max_len - 1
    rows = encoding.rows(torch.arange(longer))
    assert torch.equal(rows[::2], encoding.table)
    between = (encoding.table[1:] + encoding.table[:-1]) / 2
    assert max_len == 1 or gap(rows[1::2], between) <= 1e-6


@given(st.integers(2, 30), st.integers(1, 90))
def test_interpolation_agrees_with_torchs_where_the_ends_are_aligned(max_len, longer):
    encoding = Learned(8, 2, max_len=max_len, beyond="interpolate")
    length = max_len + longer
    oracle = F.interpolate(encoding.table.T[None], length, mode="linear", align_corners=True)
    assert gap(encoding.rows(torch.arange(length)), oracle[0].T) <= 1e-5


@given(st.lists(st.floats(0, 300), min_size=1, max_size=9))
def test_interpolation_is_the_formula_to_1e_10_in_float64(row):
    encoding = Learned(4, 1, max_len=50, beyond="interpolate").double()
    squeeze = min(1.0, 49 / max(max(row), 1e-9))
    table = encoding.table.tolist()
    for position, read in zip(
        row, encoding.rows(torch.tensor(row, dtype=torch.float64)), strict=True
    ):
        place = position * squeeze
        below = min(int(place), 48)
        share = place - below
        expected = [a + share * (b - a) for a, b in zip(*table[below : below + 2], strict=True)]
        assert gap(read, torch.tensor(expected, dtype=torch.float64)) <= 1e-10


@pytest.mark.parametrize("beyond", ["error", "clamp"])
def test_positions_that_are_whole_may_be_floats(beyond):
    encoding = Learned(8, 2, max_len=5, beyond=beyond)
    assert torch.equal(encoding.rows(torch.tensor([4.0, 1.0])), encoding.table[[4, 1]])


@both
def test_a_fresh_table_has_shape_and_scale(kind):
    table = kind(64, 2, max_len=500).table.detach()
    assert table.shape == (500, 64)
    assert float(table.std()) == pytest.approx(0.02, rel=0.05)
    assert float(table.mean()) == pytest.approx(float(kind is Multiplicative), abs=1e-3)


@both
def test_only_the_rows_that_are_read_get_a_gradient(kind):
    encoding = kind(8, 2, max_len=6)
    encoding.embed(torch.ones(2, 3, 8), torch.tensor([1, 4, 1])).sum().backward()
    assert encoding.table.grad.sum(dim=1).tolist() == [0, 32, 0, 0, 16, 0]


@each_once(beyond=("error", "clamp", "interpolate"), kind=(Learned, Multiplicative))
def test_tables_compile_to_one_graph(kind, beyond, plain_arguments):
    encoding, x, row = kind(8, 2, max_len=6, beyond=beyond), torch.randn(1, 6, 8), torch.arange(6)
    graph = torch.compile(encoding.embed, fullgraph=True, backend="eager")
    assert torch.equal(graph(x, row), encoding.embed(x, row))


@both
@pytest.mark.parametrize("beyond", ["clamp", "interpolate"])
def test_a_bfloat16_table_is_read_at_the_right_rows_far_out(kind, beyond):
    encoding = kind(8, 2, max_len=2001, beyond=beyond).bfloat16()
    row = torch.arange(1990, 2001)
    x = torch.randn(1, 11, 8, dtype=torch.bfloat16)
    out = encoding.embed(x, row)
    assert out.dtype == torch.bfloat16
    assert torch.equal(out, applied(encoding, x, encoding.table[row]))


# Complex order


def slow_complex_order(x, positions, tokens, frequencies):
    """Wang et al. 2020, one complex number at a time: r·exp(i(ω_w·p + φ))."""
    out = torch.zeros_like(x)
    for b, t, m in torch.cartesian_prod(*map(torch.arange, (*x.shape[:2], x.shape[2] // 2))):
        radius, phase = cmath.polar(complex(*x[b, t, 2 * m : 2 * m + 2].tolist()))
        turn = frequencies[tokens[b, t], m].item() * positions[t].item()
        number = cmath.rect(radius, phase + turn)
        out[b, t, 2 * m], out[b, t, 2 * m + 1] = number.real, number.imag
    return out


@pytest.mark.parametrize(("batch", "seq", "d_model"), [(1, 1, 2), (2, 5, 8), (3, 4, 14)])
def test_complex_order_is_the_papers_formula_to_1e_10(batch, seq, d_model):
    encoding = ComplexOrder(d_model, 2 if d_model > 2 else 1, vocab_size=11).double()
    torch.nn.init.normal_(encoding.frequencies)
    x = torch.randn(batch, seq, d_model, dtype=torch.float64)
    tokens, row = torch.randint(11, (batch, seq)), torch.randint(-900, 900, (seq,))
    expected = slow_complex_order(x, row, tokens, encoding.frequencies)
    assert gap(encoding.embed(x, row, tokens), expected) <= 1e-10


@shapes
def test_complex_order_agrees_with_torchs_complex_numbers(batch, seq, d_model):
    encoding = ComplexOrder(d_model, 1, vocab_size=30)
    x, tokens = torch.randn(batch, seq, d_model), torch.randint(30, (batch, seq))
    row = torch.rand(seq) * 5000
    numbers = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    turns = torch.exp(1j * encoding.frequencies.double()[tokens] * row.double()[:, None])
    expected = torch.view_as_real(numbers * turns).flatten(-2)
    assert gap(encoding.embed(x, row, tokens), expected) <= 1e-5


def a_case(seq=6, d_model=8):
    x, tokens = torch.randn(2, seq, d_model, dtype=torch.float64), torch.randint(9, (2, seq))
    return ComplexOrder(d_model, 2, vocab_size=9).double(), x, tokens


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=9))
def test_complex_order_keeps_the_length_of_every_pair(row):
    encoding, x, tokens = a_case(len(row))
    out = encoding.embed(x, torch.tensor(row), tokens)
    lengths = [each.unflatten(-1, (-1, 2)).norm(dim=-1) for each in (x, out)]
    assert gap(*lengths) <= 1e-12


@given(st.lists(st.integers(-(10**5), 10**5), min_size=1, max_size=9))
def test_turning_by_p_and_then_by_minus_p_changes_nothing(row):
    encoding, x, tokens = a_case(len(row))
    there = encoding.embed(x, torch.tensor(row), tokens)
    assert gap(encoding.embed(there, -torch.tensor(row), tokens), x) <= 1e-10


@given(st.permutations(range(9)))
def test_complex_order_follows_its_tokens_when_they_are_shuffled(order):
    encoding, x, tokens = a_case(9)
    assert shuffled_alike(encoding, x, torch.arange(9), list(order), tokens)


def test_words_with_frequency_zero_have_no_position():
    encoding, x, tokens = a_case()
    with torch.no_grad():
        encoding.frequencies[tokens[0, 2]] = 0
    out = encoding.embed(x, torch.arange(6) + 1, tokens)
    still = tokens == tokens[0, 2]
    assert torch.equal(out[still], x[still])
    assert bool((out[~still] != x[~still]).any(dim=-1).all())


def test_the_same_embedding_turns_with_its_word():
    encoding, x, _ = a_case()
    third_word, fourth_word = (
        encoding.embed(x, torch.arange(6), torch.full((2, 6), w)) for w in (3, 4)
    )
    assert torch.equal(third_word[:, 0], fourth_word[:, 0])  # at position 0 nothing has turned
    assert bool((third_word[:, 1:] != fourth_word[:, 1:]).all())


def test_fresh_frequencies_are_the_sinusoidal_ones_within_a_tenth():
    ratios = ComplexOrder(32, 4, vocab_size=50).frequencies.detach() / sinusoidal_frequencies(32)
    assert ratios.shape == (50, 16)
    assert float((ratios - 1).abs().max()) < 0.1
    assert float(ratios.std()) == pytest.approx(0.02, rel=0.1)


def test_complex_order_far_out_is_as_exact_as_its_float32_frequencies():
    encoding = ComplexOrder(16, 2, vocab_size=5)
    x, tokens, row = torch.randn(1, 3, 16), torch.tensor([[0, 1, 2]]), torch.tensor([10**6] * 3)
    exact = ComplexOrder(16, 2, vocab_size=5).double()
    exact.load_state_dict({"frequencies": encoding.frequencies.double()})
    exact_words = exact.embed(x.double(), row, tokens)
    assert gap(encoding.embed(x, row, tokens), exact_words) <= 1e-6


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_complex_order_of_a_half_precision_model_is_right_to_its_own_rounding(dtype):
    encoding = ComplexOrder(16, 2, vocab_size=5).to(dtype)
    x, tokens = torch.randn(1, 4, 16).to(dtype), torch.tensor([[0, 1, 2, 4]])
    row = torch.tensor([0, 700, 1500, 3001])
    exact = ComplexOrder(16, 2, vocab_size=5).double()
    exact.load_state_dict({"frequencies": encoding.frequencies.double()})
    expected = exact.embed(x.double(), row, tokens)
    out = encoding.embed(x, row, tokens)
    assert out.dtype == dtype
    assert gap(out, expected) <= 4 * torch.finfo(dtype).eps


def test_every_frequency_of_a_word_that_was_read_gets_a_gradient():
    encoding, x, tokens = a_case()
    (encoding.embed(x, torch.arange(6) + 1, tokens) * torch.randn(8)).sum().backward()
    read = torch.zeros(9, dtype=torch.bool).scatter(0, tokens.flatten(), True)
    assert torch.equal((encoding.frequencies.grad != 0).all(dim=1), read)


def test_complex_order_compiles_to_one_graph(plain_arguments):
    encoding, x, tokens = a_case()
    graph = torch.compile(encoding.embed, fullgraph=True, backend="eager")
    row = torch.arange(6)
    assert torch.equal(graph(x, row, tokens), encoding.embed(x, row, tokens))


# The grid


def slow_grid(rows, columns, d_model, base):
    half = d_model // 2
    table = []
    for place in zip(rows, columns, strict=True):
        line = []
        for coordinate in place:
            for pair in range(half // 2):
                angle = coordinate / base ** (2 * pair / half)
                line += [math.sin(angle), math.cos(angle)]
        table.append(line)
    return torch.tensor(table, dtype=torch.float64)


coordinates = st.lists(
    st.tuples(st.floats(-3000, 3000), st.floats(-3000, 3000)), min_size=1, max_size=9
)


@given(coordinates, quarter_widths, st.floats(1.5, 1e6))
def test_the_grid_is_its_formula_to_1e_10_in_float64(places, d_model, base):
    rows, columns = torch.tensor(places, dtype=torch.float64).T
    expected = slow_grid(rows.tolist(), columns.tolist(), d_model, base)
    assert gap(sinusoidal_grid(rows, columns, d_model, base), expected) <= 1e-10


sizes = pytest.mark.parametrize(("height", "width"), [(1, 1), (3, 5), (14, 14), (16, 2)])


@sizes
@pytest.mark.parametrize("d_model", [4, 12, 64, 192])
def test_the_grid_agrees_with_positional_encodings(height, width, d_model):
    oracle = PositionalEncoding2D(d_model)(torch.zeros(1, height, width, d_model)).flatten(1, 2)
    x, row = torch.randn(2, height * width, d_model), torch.arange(height * width)
    ours = Sinusoidal2D(d_model, 1, width).embed(x, row)
    assert gap(ours, x + oracle) <= 1e-5


@sizes
@pytest.mark.parametrize("d_model", [4, 12, 64, 192])
def test_the_grid_agrees_with_vit_mae_once_its_columns_are_sorted(height, width, d_model):
    oracle = build_2d_sinusoidal_position_embedding(height, width, d_model)
    # There: all sines, then all cosines, for each axis. Here they take turns.
    oracle = oracle.unflatten(-1, (2, 2, -1)).transpose(-1, -2).flatten(-3)
    row = torch.arange(height * width)
    ours = sinusoidal_grid(row // width, row % width, d_model)
    assert gap(ours, oracle) <= 1e-5


@given(quarter_widths, st.integers(-50, 50), st.integers(-50, 50))
def test_the_two_axes_do_not_mix(d_model, row, column):
    """Patches in a row share the first half, patches in a column the second."""
    place = torch.tensor([row, row, row + 1]), torch.tensor([column, column + 1, column])
    a, right, down = sinusoidal_grid(*place, d_model)
    half = d_model // 2
    assert torch.equal(a[:half], right[:half]) and torch.equal(a[half:], down[half:])
    assert not torch.equal(a[half:], right[half:]) and not torch.equal(a[:half], down[:half])


def test_a_grid_of_one_column_is_the_sinusoidal_table_beside_a_constant():
    out = Sinusoidal2D(16, 2, width=1).embed(torch.zeros(1, 9, 16), torch.arange(9))[0]
    assert torch.equal(out[:, :8], sinusoidal_table(torch.arange(9), 8))
    assert torch.equal(out[:, 8:], torch.tensor([0.0, 1.0] * 4).expand(9, 8))


@given(st.permutations(range(12)))
def test_the_grid_follows_its_patches_when_they_are_shuffled(order):
    encoding = Sinusoidal2D(8, 2, width=5)
    assert shuffled_alike(encoding, torch.randn(2, 12, 8), torch.arange(12), list(order))


def test_a_float64_model_gets_a_float64_grid():
    out = Sinusoidal2D(8, 2, width=7).embed(torch.zeros(1, 60, 8).double(), torch.arange(60))
    row = torch.arange(60)
    assert gap(out[0], slow_grid((row // 7).tolist(), (row % 7).tolist(), 8, 1e4)) <= 1e-12


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        (Sinusoidal(8, 2, base=50), "Sinusoidal(d_model=8, n_heads=2, base=50)"),
        (Learned(8, 2, 5), "Learned(d_model=8, n_heads=2, max_len=5, beyond='error', std=0.02)"),
        (
            Multiplicative(8, 2, 5, "clamp"),
            "Multiplicative(d_model=8, n_heads=2, max_len=5, beyond='clamp', std=0.02)",
        ),
        (ComplexOrder(8, 2, 5), "ComplexOrder(d_model=8, n_heads=2, vocab_size=5)"),
        (Sinusoidal2D(8, 2, 5), "Sinusoidal2D(d_model=8, n_heads=2, width=5, base=10000)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_absolute_encodings_show_their_arguments_and_their_door(encoding, shown):
    assert repr(encoding) == shown
    assert encoding.doors == ("embed",)


@pytest.mark.parametrize(
    ("encoding", "change"),
    [(Sinusoidal(8, 2), {"base": 50.0}), (Sinusoidal2D(8, 2, width=4), {"width": 3})],
)
def test_a_setting_changed_by_hand_is_seen(encoding, change):
    x, row = torch.zeros(1, 9, 8), torch.arange(9)
    before = encoding.embed(x, row)
    for name, value in change.items():
        setattr(encoding, name, value)
    assert float((encoding.embed(x, row) - before).abs().max()) > 0.1
