"""The sinusoidal table against code that others wrote."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from positional_encodings.torch_encodings import PositionalEncoding1D

from course_utils.encodings.functional import sinusoidal_table


# At most 128 positions: the oracle computes its angles in float32, so its own error grows by
# about 1e-7 a position (ours does not, see test_encodings.py).
@pytest.mark.parametrize("length", [1, 2, 17, 64, 128])
@pytest.mark.parametrize("d_model", [2, 6, 16, 64, 130, 512])
def test_sinusoidal_agrees_with_positional_encodings_to_1e_5(length, d_model):
    oracle = PositionalEncoding1D(d_model)(torch.zeros(1, length, d_model))[0]
    ours = sinusoidal_table(torch.arange(length), d_model)
    assert float((ours - oracle).abs().max()) <= 1e-5


def rotating_pairs(positions, d_model, base):
    """The same encoding as complex numbers: pair m is i·exp(−i·p·θ_m) = sin(pθ) + i·cos(pθ)."""
    pairs = np.arange(d_model // 2)
    theta = np.exp(-2 * pairs / d_model * np.log(base))
    turned = 1j * np.exp(-1j * np.outer(positions, theta))
    return turned.view(np.float64)  # real and imaginary parts in turn: sin, cos, sin, cos, …


@given(
    st.lists(st.integers(-(10**5), 10**5), min_size=1, max_size=20),
    st.integers(1, 64).map(lambda half: 2 * half),
    st.floats(2, 1e6),
)
def test_sinusoidal_agrees_with_a_rotating_complex_number(positions, d_model, base):
    ours = sinusoidal_table(torch.tensor(positions, dtype=torch.float64), d_model, base)
    oracle = rotating_pairs(np.array(positions, dtype=np.float64), d_model, base)
    assert np.abs(ours.numpy() - oracle).max() <= 1e-9
