"""What door 3 adds is the formula of each paper, at any positions."""

import pytest
import torch
from bias_formulas import bias_by_formula
from closeness import gap
from hypothesis import given
from hypothesis import strategies as st

from course_utils.encodings import (
    FIRE,
    T5,
    ALiBi,
    DeBERTa,
    Kerple,
    Places,
    Sandwich,
    Shaw,
    TransformerXL,
)

WIDTH, HEADS = st.just(12), st.just(3)
ENCODINGS = {
    "alibi": st.builds(ALiBi, WIDTH, st.sampled_from([1, 2, 3, 4, 6, 12])),
    "kerple": st.builds(Kerple, WIDTH, HEADS, st.sampled_from(["log", "power"]), st.booleans()),
    "sandwich": st.builds(Sandwich, WIDTH, HEADS, st.sampled_from([2, 8, 128])),
    "fire": st.builds(FIRE, WIDTH, HEADS, st.integers(1, 9), st.integers(1, 700)),
    "transformer_xl": st.builds(TransformerXL, WIDTH, HEADS),
    "shaw": st.builds(Shaw, WIDTH, HEADS, max_distance=st.just(3)),
    "t5": st.builds(
        T5, WIDTH, HEADS, n_buckets=st.just(8), max_distance=st.just(10), causal=st.booleans()
    ),
    "deberta": st.builds(
        DeBERTa, WIDTH, HEADS, max_distance=st.just(3), released_code=st.booleans()
    ),
}
WHOLE_POSITIONS_ONLY = ("shaw", "t5", "deberta")

whole_numbers = st.integers(-40, 40)
counted = st.builds(torch.arange, st.integers(-40, 0), st.integers(1, 6))
scattered = st.lists(whole_numbers, min_size=1, max_size=5).map(torch.tensor)
fractions = st.lists(st.floats(-3000, 3000), min_size=1, max_size=6).map(
    lambda row: torch.tensor(row, dtype=torch.float64)
)


@pytest.mark.parametrize("name", ENCODINGS)
@given(data=st.data(), seed=st.integers(0, 2**16))
def test_a_bias_is_its_papers_formula_to_1e_10_at_any_positions(name, data, seed):
    torch.manual_seed(seed)
    encoding = data.draw(ENCODINGS[name]).double()
    positions = counted | scattered
    if name not in WHOLE_POSITIONS_ONLY:
        positions = (positions | fractions).map(torch.Tensor.double)
    q_pos, k_pos = data.draw(positions), data.draw(positions)
    with torch.no_grad():
        for parameter in encoding.parameters():  # so that every term shows
            parameter.add_(torch.randn_like(parameter))
        shape = (1, encoding.n_heads, -1, encoding.d_head)
        q, k = (torch.randn(12 * len(row)).double().reshape(shape) for row in (q_pos, k_pos))
        expected = bias_by_formula(name, encoding, q, k, q_pos, k_pos)
        bias = encoding.bias(q, k, Places(q_pos, k_pos))
    # KERPLE's power of a distance is up to 6000² = 3.6e7, so its error is relative to that.
    scale = max(1.0, float(expected.abs().max())) if name == "kerple" else 1.0
    assert gap(bias, expected) <= 1e-10 * scale
