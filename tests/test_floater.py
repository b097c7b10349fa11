"""FLOATER: a path against its formula, exact solutions and other solvers."""

import copy
import math

import pytest
import torch
from closeness import gap
from hypothesis import given, settings
from hypothesis import strategies as st
from torchdiffeq import odeint

from course_utils.encodings import Floater

times = st.lists(st.floats(0, 60), min_size=1, max_size=9)


def lively(d_model=6, hidden=5, seed=3, **options):
    """A Floater in float64 whose path bends: with its first, small weights it hardly does."""
    torch.manual_seed(seed)
    encoding = Floater(d_model, 1, hidden=hidden, **options).double()
    torch.nn.init.normal_(encoding.outer.weight, std=0.5)
    torch.nn.init.normal_(encoding.start)
    return encoding


def velocity(encoding):
    """f(t, p) = W₂·tanh(W₁·[p, t] + b₁) + b₂, from the module's own layers."""

    def f(t, p):
        return encoding.outer(torch.tanh(encoding.inner(torch.cat([p, t.reshape(1)]))))

    return f


def slow_path(encoding, position):
    """RK4 by the 3/8 rule from position 0, in Python's own numbers, one position alone."""
    inner, outer = encoding.inner.weight.tolist(), encoding.outer.weight.tolist()
    inner_bias, outer_bias = encoding.inner.bias.tolist(), encoding.outer.bias.tolist()

    def f(t, p):
        hidden = [
            math.tanh(sum(w * v for w, v in zip(line, [*p, t], strict=True)) + b)
            for line, b in zip(inner, inner_bias, strict=True)
        ]
        return [
            sum(w * h for w, h in zip(line, hidden, strict=True)) + b
            for line, b in zip(outer, outer_bias, strict=True)
        ]

    def mix(p, *terms):
        return [v + sum(factor * k[i] for factor, k in terms) for i, v in enumerate(p)]

    p, here = encoding.start.tolist(), 0.0
    while here < position:
        there = min(here + encoding.step, position)
        t, h = here * encoding.delta, (there - here) * encoding.delta
        a = f(t, p)
        b = f(t + h / 3, mix(p, (h / 3, a)))
        c = f(t + 2 * h / 3, mix(p, (-h / 3, a), (h, b)))
        d = f(t + h, mix(p, (h, a), (-h, b), (h, c)))
        p, here = mix(p, (h / 8, a), (3 * h / 8, b), (3 * h / 8, c), (h / 8, d)), there
    return torch.tensor(p, dtype=torch.float64)


@settings(max_examples=10)
@given(times, st.sampled_from([0.5, 3.0, 4.0]))
def test_the_path_is_the_method_written_out_to_1e_10(row, step):
    encoding = lively(step=step)
    path = encoding.path(torch.tensor(row, dtype=torch.float64), torch.float64)
    for position, place in zip(row, path, strict=True):
        assert gap(place, slow_path(encoding, position)) <= 1e-10


@pytest.mark.parametrize("seed", range(3))
def test_the_path_agrees_with_an_adaptive_solver_of_another_family(seed):
    encoding = lively(seed=seed, step=1.0)
    row = torch.linspace(0, 80, 33, dtype=torch.float64)
    with torch.no_grad():
        start, moments = encoding.start, row * encoding.delta
        exact = odeint(velocity(encoding), start, moments, method="dopri5", rtol=1e-11, atol=1e-12)
        assert gap(encoding.path(row, torch.float64), exact) <= 1e-5
    assert gap(exact[0], exact[-1]) > 1  # it went somewhere


def test_at_whole_steps_the_path_is_torchdiffeqs_own_rk4():
    encoding = lively(step=2.0)
    row = torch.arange(0, 40, 2)
    theirs = odeint(velocity(encoding), encoding.start, row.double() * encoding.delta, method="rk4")
    assert gap(encoding.path(row, torch.float64), theirs) <= 1e-12


def test_the_error_falls_with_the_fourth_power_of_the_step():
    row = torch.tensor([64.0], dtype=torch.float64)
    exact = lively(step=1 / 16).path(row, torch.float64)
    coarse, fine = (gap(lively(step=s).path(row, torch.float64), exact) for s in (4, 2))
    assert 8 < coarse / fine < 32


def almost_linear(matrix, start, step):
    """A Floater with dp/dt = A·p to within 1e-10: tanh(x) = x − x³/3 + …, of a tiny x."""
    width, tiny = len(start), 1e-6
    encoding = Floater(width, 1, hidden=width, step=step).double()
    with torch.no_grad():
        encoding.inner.weight.zero_()[:, :width] = tiny * torch.eye(width)
        encoding.inner.bias.zero_()
        encoding.outer.weight.copy_(matrix / tiny)
        encoding.outer.bias.zero_()
        encoding.start.copy_(start)
    return encoding


def test_linear_dynamics_give_the_matrix_exponential():
    start = torch.randn(4, dtype=torch.float64)
    matrix = torch.randn(4, 4, dtype=torch.float64) / 2
    encoding = almost_linear(matrix - matrix.T, start, step=0.125)  # a rotation: it stays bounded
    row = torch.tensor([0.0, 1, 17.3, 64, 99.9], dtype=torch.float64)
    for position, place in zip(row, encoding.path(row, torch.float64), strict=True):
        turned = torch.linalg.matrix_exp((matrix - matrix.T) * position * encoding.delta) @ start
        assert gap(place, turned) <= 1e-7


def test_a_constant_velocity_gives_a_straight_line():
    encoding = Floater(8, 2, delta=0.5, step=3).double()
    with torch.no_grad():
        encoding.outer.weight.zero_()
        encoding.outer.bias.copy_(torch.arange(8))
    row = torch.tensor([7, 0, 100])
    line = encoding.start + 0.5 * row[:, None] * torch.arange(8)
    assert gap(encoding.path(row, torch.float64), line) <= 1e-12


# What the path depends on


def test_a_late_position_alone_is_its_row_of_the_full_pass():
    encoding = lively().float()
    full = encoding.path(torch.arange(513))
    for position in [0, 1, 3, 4, 5, 500, 512]:
        assert gap(encoding.path(torch.tensor([position]))[0], full[position]) <= 1e-6


@given(st.permutations(range(12)), st.lists(st.integers(0, 11), min_size=12, max_size=12))
def test_order_and_repetition_of_positions_do_not_matter(order, chosen):
    encoding, x = lively(), torch.randn(2, 12, 6, dtype=torch.float64)
    row = torch.tensor(chosen)
    there = encoding.embed(x, row)
    assert gap(encoding.embed(x[:, order], row[order]), there[:, order]) <= 1e-12


@given(st.floats(0.5, 60), st.sampled_from([1.0, 2.5, 4.0]))
def test_the_path_is_continuous_also_where_one_step_ends(position, step):
    encoding = lively(step=step)
    nearest = round(position / step) * step
    for place in (position, nearest):
        row = torch.tensor([max(place - 1e-7, 0), place + 1e-7], dtype=torch.float64)
        before, after = encoding.path(row, torch.float64)
        assert gap(before, after) <= 1e-6


def test_position_zero_is_the_start():
    encoding = Floater(8, 2)
    assert torch.equal(encoding.path(torch.tensor([0]))[0], encoding.start)


def test_embed_adds_the_path_to_every_sequence_of_the_batch():
    encoding, x, row = Floater(8, 2), torch.randn(3, 5, 8), torch.tensor([4, 0, 9, 2, 2])
    assert torch.equal(encoding.embed(x, row), x + encoding.path(row))


# Learning


def test_every_parameter_gets_a_gradient():
    encoding = Floater(8, 2)
    (encoding.embed(torch.zeros(1, 9, 8), torch.arange(9)) * torch.randn(9, 8)).sum().backward()
    for name, parameter in encoding.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.ne(0).any()), name
    assert sorted(dict(encoding.named_parameters())) == [
        "inner.bias",
        "inner.weight",
        "outer.bias",
        "outer.weight",
        "start",
    ]


def test_gradients_are_those_of_finite_differences():
    encoding, row = lively(d_model=2, hidden=3), torch.tensor([0.0, 2.5, 11.0])
    weights = tuple(encoding.parameters())  # which gradcheck moves in place
    assert torch.autograd.gradcheck(lambda *_: encoding.path(row, torch.float64), weights)


def test_a_path_to_a_given_shape_can_be_learned():
    encoding, row = Floater(4, 1, hidden=16), torch.arange(24)
    goal = torch.stack([(row / 5).sin(), (row / 5).cos(), row / 24, 0 * row], dim=1)
    optimiser = torch.optim.Adam(encoding.parameters(), lr=0.05)
    losses = []
    for _ in range(60):
        loss = (encoding.path(row) - goal).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10


# Memory: the path is kept where nothing is learned, and only as long as the weights are the same


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_half_precision_model_integrates_in_float32(dtype):
    half = Floater(16, 2).to(dtype)
    exact = copy.deepcopy(half).double()
    x, row = torch.zeros(1, 300, 16), torch.arange(300)
    expected = exact.embed(x.double(), row)
    out = half.embed(x.to(dtype), row)
    assert out.dtype == dtype
    assert gap(half.embed(x, row), expected) <= 1e-5
    eps = torch.finfo(dtype).eps
    assert bool(((out.double() - expected).abs() <= eps * expected.abs() + 1e-5).all())


def test_autocast_does_not_reach_the_solver():
    encoding, x, row = Floater(16, 2), torch.zeros(1, 60, 16), torch.arange(60)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = encoding.embed(x, row)
    assert torch.equal(inside, encoding.embed(x, row))


def test_a_compiled_floater_gives_the_same_and_still_looks_at_its_positions(plain_arguments):
    encoding, x = Floater(8, 2), torch.randn(1, 6, 8)
    compiled = torch.compile(encoding.embed, backend="eager")
    for row in [torch.arange(6), torch.arange(6) + 40]:
        assert torch.equal(compiled(x, row), encoding.embed(x, row))
    with pytest.raises(ValueError, match="positions must be 0 or more"):
        compiled(x, torch.arange(6) - 3)


def test_floater_is_added_at_every_layer_by_one_instance():
    encoding = Floater(8, 2, hidden=5, delta=0.05, step=2)
    assert (encoding.every_layer, encoding.shared, encoding.doors) == (True, True, ("embed",))
    assert repr(encoding).startswith(
        "Floater(\n  d_model=8, n_heads=2, hidden=5, delta=0.05, step=2\n"
    )
