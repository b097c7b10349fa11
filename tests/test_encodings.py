"""The four doors, create(), and the two encodings that lessons 00 to 02 use."""

import math

import jaxtyping
import pytest
import torch
from bad_calls import bad_calls
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_utils import encodings
from course_utils.encodings import (
    NAMES,
    ALiBi,
    Places,
    PositionalEncoding,
    Sinusoidal,
    create,
    known_names,
    options_of,
    register,
)
from course_utils.encodings.base import DOORS
from course_utils.encodings.functional import (
    shift_matrix,
    sinusoidal_frequencies,
    sinusoidal_table,
    wavelengths,
)

widths = st.integers(1, 40).map(lambda half: 2 * half)
bases = st.floats(1.5, 1e6)
shifts = st.floats(-2000, 2000) | st.integers(-2000, 2000)
every_name = pytest.mark.parametrize("name", NAMES)


def slow_table(positions, d_model, base=10000.0):
    """Vaswani et al. 2017, section 3.5, one entry at a time in Python's own float64."""
    table = []
    for position in positions:
        row = []
        for dimension in range(d_model):
            pair = dimension // 2
            angle = position / base ** (2 * pair / d_model)
            row.append(math.sin(angle) if dimension % 2 == 0 else math.cos(angle))
        table.append(row)
    return torch.tensor(table, dtype=torch.float64)


def test_shapes_are_checked_in_these_tests():
    with pytest.raises(jaxtyping.TypeCheckError):
        Sinusoidal(8, 2).embed(torch.zeros(1, 3, 8), torch.arange(4))


def test_types_are_checked_in_these_tests_where_no_array_is_named():
    with pytest.raises(jaxtyping.TypeCheckError):
        options_of(3)  # type: ignore[arg-type]


def test_a_test_of_plain_arguments_gets_them_past_the_checks(plain_arguments):
    with pytest.raises(TypeError, match="name must be a string, got int 3"):
        options_of(3)  # type: ignore[arg-type]


# The sinusoidal table


@given(st.lists(st.floats(-5000, 5000), min_size=1, max_size=12), widths, bases)
def test_sinusoidal_table_is_the_papers_formula_to_1e_10_at_float64_positions(row, d_model, base):
    table = sinusoidal_table(torch.tensor(row, dtype=torch.float64), d_model, base)
    assert gap(table, slow_table(row, d_model, base)) <= 1e-10


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=12), widths)
def test_sinusoidal_table_is_within_1e_6_up_to_position_a_million(row, d_model):
    table = sinusoidal_table(torch.tensor(row), d_model)
    assert table.dtype == torch.float32
    assert gap(table, slow_table(row, d_model)) <= 1e-6


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=12), widths)
def test_sinusoidal_table_is_within_1e_6_at_fractional_float32_positions(row, d_model):
    table = sinusoidal_table(torch.tensor(row), d_model)
    assert gap(table, slow_table(row, d_model)) <= 1e-6


@given(st.permutations(range(20)), widths)
def test_permuted_positions_give_permuted_rows(order, d_model):
    table = sinusoidal_table(torch.arange(20), d_model)
    assert torch.equal(sinusoidal_table(torch.tensor(order), d_model), table[list(order)])


@given(st.integers(-1000, 1000), widths)
def test_a_row_does_not_depend_on_its_neighbours(position, d_model):
    alone = sinusoidal_table(torch.tensor([position]), d_model)
    among = sinusoidal_table(torch.tensor([7, position, -3]), d_model)
    assert alone.shape == (1, d_model)
    assert torch.equal(alone[0], among[1])


def test_position_zero_is_zeros_and_ones():
    assert sinusoidal_table(torch.tensor([0]), 8)[0].tolist() == [0, 1] * 4


def test_negative_positions_flip_the_sines_only():
    here, there = sinusoidal_table(torch.tensor([5, -5]), 16)
    assert torch.equal(here[0::2], -there[0::2])
    assert torch.equal(here[1::2], there[1::2])


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float16, torch.float32])
def test_sinusoidal_table_is_float32_for_positions_of_32_bits_or_integers(dtype):
    assert sinusoidal_table(torch.arange(3).to(dtype), 4).dtype == torch.float32


def test_sinusoidal_table_is_float64_for_float64_positions():
    assert sinusoidal_table(torch.arange(3, dtype=torch.float64), 4).dtype == torch.float64


@given(st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=12), widths, bases)
def test_sinusoidal_rows_all_have_norm_root_half_d(row, d_model, base):
    norms = sinusoidal_table(torch.tensor(row, dtype=torch.float64), d_model, base).norm(dim=1)
    assert gap(norms, torch.full_like(norms, math.sqrt(d_model / 2))) <= 1e-12


# Frequencies and wavelengths


@given(widths, bases)
def test_frequencies_fall_geometrically_from_one(d_model, base):
    frequencies = sinusoidal_frequencies(d_model, base)
    assert frequencies.shape == (d_model // 2,)
    assert frequencies[0] == 1
    ratios = frequencies[1:] / frequencies[:-1]
    assert torch.allclose(ratios, torch.full_like(ratios, base ** (-2 / d_model)), rtol=1e-12)


@given(widths.filter(lambda d: d >= 4), bases)
def test_wavelengths_grow_from_two_pi_and_stay_below_two_pi_times_base(d_model, base):
    waves = wavelengths(d_model, base)
    assert waves[0] == pytest.approx(2 * math.pi)
    assert bool((waves.diff() > 0).all())
    assert waves[-1] == pytest.approx(2 * math.pi * base ** (1 - 2 / d_model))


@given(st.integers(-50, 50), widths)
def test_a_pair_repeats_after_its_wavelength(position, d_model):
    for pair, wave in enumerate(wavelengths(d_model).tolist()):
        here, later = sinusoidal_table(
            torch.tensor([position, position + wave], dtype=torch.float64), d_model
        )[:, 2 * pair : 2 * pair + 2]
        assert gap(here, later) <= 1e-9


# The shift matrix


def exact_shift(k, d_model, base=10000.0):
    return shift_matrix(k, d_model, base, dtype=torch.float64)


@given(shifts, st.floats(-1000, 1000), widths, bases)
def test_shift_matrix_moves_an_encoding_by_k(k, position, d_model, base):
    row = torch.tensor([position, position + k], dtype=torch.float64)
    here, there = sinusoidal_table(row, d_model, base)
    assert gap(exact_shift(k, d_model, base) @ here, there) <= 1e-9


@given(shifts, shifts, widths)
def test_shift_matrices_compose_by_adding_their_shifts(a, b, d_model):
    product = exact_shift(a, d_model) @ exact_shift(b, d_model)
    assert gap(product, exact_shift(a + b, d_model)) <= 1e-9


@given(shifts, widths, bases)
def test_shift_matrices_are_orthogonal(k, d_model, base):
    matrix = exact_shift(k, d_model, base)
    assert gap(matrix @ matrix.T, torch.eye(d_model)) <= 1e-12


@given(shifts, widths)
def test_shifting_back_is_the_transpose(k, d_model):
    assert torch.equal(exact_shift(-k, d_model), exact_shift(k, d_model).T)


@given(widths)
def test_shift_by_zero_is_the_identity(d_model):
    assert torch.equal(exact_shift(0, d_model), torch.eye(d_model, dtype=torch.float64))


# create()


def test_create_passes_base_on():
    x, row = torch.zeros(1, 6, 8), torch.arange(6)
    out = create("sinusoidal", d_model=8, n_heads=2, base=50.0).embed(x, row)
    assert torch.equal(out[0], sinusoidal_table(row, 8, 50.0))


@every_name
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_embed_keeps_dtype_and_shape(name, dtype):
    encoding = create(name, d_model=16, n_heads=4).to(dtype)
    x = torch.randn(2, 5, 16, dtype=dtype)
    out = encoding.embed(x, torch.arange(5), torch.randint(9, (2, 5)))
    assert (out.dtype, out.shape) == (dtype, x.shape)


# register()


class Window(PositionalEncoding):
    def __init__(self, d_model, n_heads, max_len, causal, width=4):
        super().__init__(d_model, n_heads)
        self.given = (max_len, causal, width)


@pytest.mark.usefixtures("scheme")  # so that it is forgotten afterwards
def test_a_registered_encoding_is_created_by_name_with_its_options():
    before = known_names()
    register("window", Window)
    assert known_names() == (*before, "window") and "window" not in NAMES
    assert options_of("window") == ("width",)
    window = create("window", d_model=8, n_heads=2, max_len=3, causal=True, width=5)
    assert isinstance(window, Window) and window.given == (3, True, 5)
    register("window", Window)  # the same class again
    register("window", lambda d_model, n_heads: ALiBi(d_model, n_heads), replace=True)
    assert isinstance(create("window", d_model=8, n_heads=2), ALiBi)


def test_a_maker_is_created_without_a_name():
    window = create(Window, d_model=8, n_heads=2, width=5)
    assert isinstance(window, Window) and window.given == (512, False, 5)


def small(maker, **options):
    return create(maker, d_model=8, n_heads=2, **options)


def no_arguments():
    return ALiBi(8, 2)


def another(d_model, n_heads):
    return ALiBi(d_model, n_heads)


def register_two():
    register("window", Window)
    register("window", another)


test_bad_registration_names_the_argument_and_what_it_got = pytest.mark.usefixtures("scheme")(
    bad_calls(
        [
            (lambda: register("alibi", Window), ValueError, "name", "'alibi' is taken", "rope"),
            (lambda: register("rope", Window, replace=True), ValueError, "name", "is taken"),
            (lambda: register("", Window), ValueError, "name", "empty"),
            (lambda: register(" ", Window), ValueError, "name", "' '"),
            (lambda: register(3, Window), TypeError, "name", "int 3"),  # type: ignore[arg-type]
            (lambda: register("window", 3), TypeError, "maker", "got 3"),  # type: ignore[arg-type]
            (lambda: register("window", no_arguments), TypeError, "maker", "(d_model, n_heads)"),
            (lambda: register("window", ALiBi(8, 2)), TypeError, "maker", "ALiBi(d_model=8"),
            (register_two, ValueError, "name", "'window' is taken", "replace=True"),
            (lambda: small(nn.Linear), TypeError, "Linear", "must be a PositionalEncoding"),
            (lambda: small(Window, widht=3), ValueError, "option", "did you mean 'width'"),
        ]
    )
)


# Doors


@given(st.sets(st.sampled_from(DOORS)))
def test_doors_are_the_methods_a_subclass_overrides_in_order(chosen):
    overridden = {door: lambda self, *args: None for door in chosen}
    kind = type("Some", (PositionalEncoding,), overridden)
    assert kind(8, 2).doors == tuple(door for door in DOORS if door in chosen)


def test_a_changed_scale_is_no_door():
    kind = type("Unscaled", (PositionalEncoding,), {"scale": lambda self, d_head: 1.0})
    assert kind(8, 2).doors == ()


def test_doors_of_a_grandchild_include_its_parents():
    child = type("Child", (Sinusoidal,), {"bias": lambda self, q, k, q_pos, k_pos: None})
    assert child(8, 2).doors == ("embed", "bias")


def test_shut_doors_hand_everything_through():
    encoding = PositionalEncoding(8, 2)
    x, row = torch.randn(1, 3, 8), torch.arange(3)
    q, k = torch.randn(2, 1, 2, 3, 4)
    assert encoding.embed(x, row) is x
    assert encoding.rotate(q, k, Places(row)) == (q, k)
    assert encoding.bias(q, k, Places(row)) is None
    assert encoding.values(torch.full((1, 2, 3, 3), 1 / 3), Places(row)) is None
    assert encoding.scale(4) == 0.5


# The sinusoidal encoding as a module


def test_sinusoidal_adds_its_table_to_every_sequence_of_the_batch():
    x, row = torch.randn(3, 5, 8), torch.tensor([4, 0, 9, 2, 2])
    out = Sinusoidal(8, 2).embed(x, row)
    assert gap(out, x + sinusoidal_table(row, 8)) == 0


def test_sinusoidal_has_nothing_to_learn_or_to_keep():
    assert Sinusoidal(8, 2).state_dict() == {}
    assert not list(Sinusoidal(8, 2).parameters())


def test_sinusoidal_ignores_the_tokens():
    encoding, x, row = Sinusoidal(8, 2), torch.zeros(2, 3, 8), torch.arange(3)
    with_tokens = encoding.embed(x, row, torch.tensor([[1, 2, 3], [4, 5, 6]]))
    assert torch.equal(with_tokens, encoding.embed(x, row))


def test_a_float64_model_gets_a_float64_table():
    encoding = create("sinusoidal", d_model=16, n_heads=2)
    x = torch.zeros(1, 50, 16, dtype=torch.float64)
    exact = encodings.functional.sinusoidal_table(torch.arange(50.0, dtype=torch.float64), 16)
    assert torch.equal(encoding.embed(x, torch.arange(50))[0], exact)


def test_a_shift_matrix_fits_the_table_of_whole_positions_as_it_is():
    row = torch.arange(9)
    table, moved = sinusoidal_table(row, 16), sinusoidal_table(row + 3, 16)
    assert gap(table @ shift_matrix(3, 16).T, moved) <= 1e-6
